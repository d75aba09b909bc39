//! The functions and tests that are found in source files, and the lines of their bodies.

use std::fmt::Write as _;

use evidence::{Language, enclosing, symbols};
use expect_test::{Expect, expect};
use proptest::prelude::*;

#[test]
fn rust() {
    check(
        Language::Rust,
        r#"/// Boils.
#[inline]
pub fn boil(celsius: u32) -> u32
{
    // Until it whistles.
    let target = 100;

    /* not
       yet */
    if celsius < target {
        return target;
    }
    celsius
}

impl<T> Kettle<T> {
    fn one_line() -> u32 { 100 }

    fn cool(&mut self) {
        self.celsius = 20; // cold
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn boils() {
        assert_eq!(boil(20), 100);
    }

    #[tokio::test(flavor = "current_thread")]
    async fn waits() {}

    #[rstest]
    #[case(80)]
    fn heats(#[case] celsius: u32) {
        boil(celsius);
    }

    proptest! {
        #[test]
        fn any_water_boils(celsius in 0u32..99) {
            prop_assert_eq!(boil(celsius), 100);
        }
    }

    fn helper() {}
}
"#,
        expect![[r#"
            boil: 1-14, body [6, 10, 11, 13]
            Kettle: 16-22, body [20]
            Kettle::one_line: 17-17, body []
            Kettle::cool: 19-21, body [20]
            tests: 24-48, body [28, 37, 43]
            tests::boils: 26-29, body [28] test
            tests::waits: 31-32, body [] test
            tests::heats: 34-38, body [37] test parameters
            tests::any_water_boils: 42-44, body [43] test
            tests::helper: 47-47, body []
        "#]],
    );
}

#[test]
fn python() {
    check(
        Language::Python,
        r#"import pytest

LIMIT = 100

class Kettle:
    size = 2

    @property
    def celsius(self):
        """How hot it is.

        In degrees."""
        # Not Fahrenheit.
        return (
            self._celsius
        )

    def fill(self, litres,
             water): return litres


@pytest.mark.parametrize("celsius", [80])
@pytest.mark.skip
async def test_heats(celsius):
    def helper():
        return celsius
    assert helper()


class TestKettle:
    def test_boils(self):
        pass
"#,
        expect![[r#"
            Kettle: 5-19, body [14, 15]
            Kettle.celsius: 8-16, body [14, 15]
            Kettle.fill: 18-19, body []
            test_heats: 22-27, body [25, 26, 27] test
            test_heats.helper: 25-26, body [26]
            TestKettle: 30-32, body [32]
            TestKettle.test_boils: 31-32, body [32] test
        "#]],
    );
}

#[test]
fn go() {
    check(
        Language::Go,
        r#"package kettle

// Boil heats.
func (k *Kettle[T]) Boil() int {
	// Until it whistles.
	k.celsius = 100
	return k.celsius
}

func TestBoils(t *testing.T) {
	t.Run("hot", func(t *testing.T) {
		Boil()
	})
}

func Testify() {}
func FuzzBoil(f *testing.F) {}
"#,
        expect![[r#"
            Kettle.Boil: 3-8, body [6, 7]
            TestBoils: 10-14, body [11, 12] test
            Testify: 16-16, body []
            FuzzBoil: 17-17, body [] test
        "#]],
    );
}

#[test]
fn java() {
    check(
        Language::Java,
        r#"package shop;

/** A kettle. */
class Kettle {
    int celsius = 20;

    /** Boils. */
    @Override
    public int boil()
        throws Exception {
        // Until it whistles.
        celsius = 100;
        return celsius;
    }
}

class KettleTest {
    @Test
    void boils() {
        new Kettle().boil();
    }

    @Nested
    class WhenEmpty {
        @ParameterizedTest
        @ValueSource(ints = {80, 100})
        void heats(int celsius) { }
    }

    public void testOldStyle() { }
    void helper() { }
}
"#,
        expect![[r#"
            Kettle: 3-15, body [12, 13]
            Kettle.boil: 7-14, body [12, 13]
            KettleTest: 17-32, body [20]
            KettleTest.boils: 18-21, body [20] test
            KettleTest.WhenEmpty: 23-28, body []
            KettleTest.WhenEmpty.heats: 25-27, body [] test
            KettleTest.testOldStyle: 30-30, body [] test
            KettleTest.helper: 31-31, body []
        "#]],
    );
}

#[test]
fn typescript() {
    check(
        Language::TypeScript,
        r#"export class Kettle<T> {
  // Boils.
  async boil(celsius: number): Promise<number> {
    /* until
       it whistles */
    return celsius + 80;
  }
}

export const cool = (kettle: Kettle<string>): number => {
  return <number>20;
};

const short = () => 1;

describe("kettle", () => {
  const helper = () => {
    return 1;
  };
  beforeEach(() => { reset(); });

  // Cited here.
  it("boils \"fast\"", async () => {
    expect(helper()).toBe(1);
  });

  it.each([[80, "hot"]])("heats to %i: %s, 100%%", (celsius) => {});
  it.each`celsius | ${"word"}`("heats to $celsius degrees", () => {});
  it.fails("leaks", () => {});
  test.skip(`pours ${cups} cups`, () => {});
  it(computed, () => {});
  describe.each([1])("cup %d", () => {
    it("is full", () => {});
  });
});

test("subtests", async (t) => {
  await t.test("first", () => {});
});

test.beforeAll("no test", () => {});
"#,
        expect![[r#"
            Kettle: 1-8, body [6]
            Kettle.boil: 2-7, body [6]
            cool: 10-12, body [11]
            short: 14-14, body []
            kettle: 16-35, body [18, 24] title
            helper: 17-19, body [18]
            kettle > boils "fast": 22-25, body [24] test title
            kettle > heats to …: …, 100%: 27-27, body [] test title pattern parameters
            kettle > heats to … degrees: 28-28, body [] test title pattern parameters
            kettle > leaks: 29-29, body [] test title fails
            kettle > pours … cups: 30-30, body [] test title pattern
            kettle > cup …: 32-34, body [] title pattern parameters
            kettle > cup … > is full: 33-33, body [] test title pattern
            subtests: 37-39, body [38] test title
            subtests > first: 38-38, body [] test title
        "#]],
    );
}

#[test]
fn jsx_parses_as_javascript() {
    check(
        Language::JavaScript,
        "function Kettle() {\n  return <b>{boil()}</b>;\n}\nit(\"renders\", function () {\n  render(<Kettle />);\n});\n",
        expect![[r#"
            Kettle: 1-3, body [2]
            renders: 4-6, body [5] test title
        "#]],
    );
}

#[test]
fn the_innermost_symbol_is_around_a_line() {
    let found = symbols(Language::Rust, "mod a {\n    // note\n    fn b() {\n        1;\n    }\n}\n");
    let at = |line| enclosing(&found, line).map(ToString::to_string);
    assert_eq!(at(1).as_deref(), Some("a"));
    assert_eq!(at(2).as_deref(), Some("a::b"), "a comment belongs to what it stands above");
    assert_eq!(at(4).as_deref(), Some("a::b"));
    assert_eq!(at(7), None);
}

#[test]
fn a_file_may_be_nested_very_deeply() {
    let source = format!("fn a() {{ {}1{} }}", "(".repeat(10_000), ")".repeat(10_000));
    assert_eq!(symbols(Language::Rust, &source).len(), 1);
    let source = format!("x = {}1{}", "[".repeat(10_000), "]".repeat(10_000));
    assert_eq!(symbols(Language::Python, &source), []);
}

proptest! {
    // Each text is parsed by six grammars, which the tests do not optimise.
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_text_has_symbols_or_none(text in "\\PC{0,200}") {
        check_any(&text);
    }

    #[test]
    fn any_pieces_of_source_have_symbols_or_none(pieces in proptest::collection::vec(piece(), 0..40)) {
        check_any(&pieces.concat());
    }
}

fn piece() -> impl Strategy<Value = &'static str> {
    proptest::sample::select(vec![
        "fn a",
        "(",
        ")",
        "{",
        "}",
        "\n",
        "#[test]",
        "def test_b",
        ":",
        "    ",
        "class C",
        "it(",
        "\"title\"",
        ",",
        "() =>",
        "`${x}`",
        ".each",
        "describe(",
        "func TestD",
        "@Test",
        "void e",
        ";",
        "proptest!",
        "// note\n",
        "# note\n",
        "%s",
        "$x",
        "\u{FDD0}",
        "ü",
        "\r\n",
        "/*",
        "*/",
        "'",
    ])
}

fn check_any(text: &str) {
    let n_lines = text.matches('\n').count() as u32 + 1;
    for language in [
        Language::Rust,
        Language::Python,
        Language::Go,
        Language::Java,
        Language::TypeScript,
        Language::JavaScript,
    ] {
        for symbol in symbols(language, text) {
            assert!(*symbol.lines.start() >= 1 && *symbol.lines.end() <= n_lines);
            assert!(symbol.body.iter().all(|line| symbol.lines.contains(line)), "{symbol:?} in {text:?}");
            assert!(symbol.body.is_sorted());
        }
    }
}

#[track_caller]
fn check(language: Language, source: &str, expected: Expect) {
    let mut shown = String::new();
    for symbol in symbols(language, source) {
        let marks = [
            (symbol.is_test, " test"),
            (symbol.is_title, " title"),
            (symbol.is_pattern, " pattern"),
            (symbol.has_parameters, " parameters"),
            (symbol.expects_failure, " fails"),
        ];
        let marks: String = marks.into_iter().filter(|(has, _)| *has).map(|(_, mark)| mark).collect();
        let (first, last) = (symbol.lines.start(), symbol.lines.end());
        writeln!(shown, "{symbol}: {first}-{last}, body {:?}{marks}", symbol.body).expect("memory");
    }
    expected.assert_eq(&shown);
}
