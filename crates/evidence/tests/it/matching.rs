//! Which test a case is about, and when nobody can tell.

use evidence::{
    Form, HOLE, Language, Outcome, Report, Results, Scope, Source, TestName, TestPlace, Unmatched, matched,
    read, symbols,
};
use expect_test::{Expect, expect};

const PYTHON: &str =
    "class TestKettle:\n    def test_boils(self):\n        pass\n\n\ndef test_boils():\n    pass\n";

#[test]
fn a_line_inside_the_test_is_found_if_the_name_agrees() {
    let places = places(&[("tests/test_kettle.py", PYTHON)]);
    let name = |line, path: &[&str]| TestName {
        file: Some("tests/test_kettle.py".to_owned()),
        line: Some(line),
        ..dotted(path)
    };
    check(
        &name(2, &["tests", "test_kettle", "TestKettle", "test_boils"]),
        &places,
        expect!["tests/test_kettle.py:2 TestKettle.test_boils"],
    );
    check(
        &name(6, &["tests", "test_kettle", "test_boils"]),
        &places,
        expect!["tests/test_kettle.py:6 test_boils"],
    );
    // pytest ran in the folder below, so that its names are shorter than ours.
    check(&name(6, &["test_kettle", "test_boils"]), &places, expect!["tests/test_kettle.py:6 test_boils"]);
    check(
        &name(6, &["tests", "test_kettle", "test_cools"]),
        &places,
        expect!["name and line disagree: tests/test_kettle.py:6 test_boils"],
    );
    check(
        &name(5, &["tests", "test_kettle", "test_boils"]),
        &places,
        expect!["name and line disagree: tests/test_kettle.py:6 test_boils at lines 6 to 7"],
    );
}

#[test]
fn a_path_of_symbols_is_found_without_a_file() {
    let places = places(&[("py/tests/test_kettle.py", PYTHON), ("py/tests/test_pot.py", PYTHON)]);
    check(
        &dotted(&["tests", "test_kettle", "test_boils"]),
        &places,
        expect!["py/tests/test_kettle.py:6 test_boils"],
    );
    check(
        &dotted(&["test_pot", "TestKettle", "test_boils"]),
        &places,
        expect!["py/tests/test_pot.py:2 TestKettle.test_boils"],
    );
    // It says neither file nor class, so that it may be anything.
    check(
        &dotted(&["test_boils"]),
        &places,
        expect!["no test has this name; did you mean py/tests/test_kettle.py:2 TestKettle.test_boils?"],
    );
    check(
        &dotted(&["test_kettle", "test_boil"]),
        &places,
        expect!["no test has this name; did you mean py/tests/test_kettle.py:2 TestKettle.test_boils?"],
    );
}

#[test]
fn two_possible_tests_are_an_error_until_somebody_configures_a_name() {
    let mut places = places(&[("a/tests/test_kettle.py", PYTHON), ("b/tests/test_kettle.py", PYTHON)]);
    let name = dotted(&["tests", "test_kettle", "test_boils"]);
    check(
        &name,
        &places,
        expect!["several match: a/tests/test_kettle.py:6 test_boils, b/tests/test_kettle.py:6 test_boils"],
    );
    places[3].alias = Some("tests.test_kettle.test_boils".to_owned());
    check(&name, &places, expect!["b/tests/test_kettle.py:6 test_boils"]);
    places[1].alias = Some("tests.test_kettle.test_boils".to_owned());
    check(
        &name,
        &places,
        expect!["several match: a/tests/test_kettle.py:6 test_boils, b/tests/test_kettle.py:6 test_boils"],
    );
}

#[test]
fn a_test_of_rust_is_found_by_its_modules_and_its_binary() {
    let text = "#[cfg(test)]\nmod tests {\n    #[test]\n    fn boils() {}\n}\n";
    let plain = "#[test]\nfn boils() {}\n#[rstest]\n#[case(1)]\nfn heats(#[case] a: u8) {}\n";
    let places = places(&[
        ("crates/kettle/src/lib.rs", text),
        ("crates/kettle/src/pot/lid.rs", text),
        ("crates/kettle/src/pot/mod.rs", text),
        ("crates/kettle/tests/it/main.rs", plain),
        ("crates/kettle/tests/it/pot.rs", plain),
        ("crates/kettle/tests/other.rs", plain),
        ("crates/pan/src/lib.rs", text),
    ]);
    let rust = |binary: Option<&str>, path: &str| TestName {
        package: binary.map(str::to_owned),
        path: path.split("::").map(str::to_owned).collect(),
        form: Form::Rust,
        ..TestName::default()
    };
    check(
        &rust(None, "pot::lid::tests::boils"),
        &places,
        expect!["crates/kettle/src/pot/lid.rs:3 tests::boils"],
    );
    check(&rust(None, "pot::tests::boils"), &places, expect!["crates/kettle/src/pot/mod.rs:3 tests::boils"]);
    check(
        &rust(None, "tests::boils"),
        &places,
        expect![
            "several match: crates/kettle/src/lib.rs:3 tests::boils, crates/pan/src/lib.rs:3 tests::boils"
        ],
    );
    check(&rust(Some("kettle::it"), "boils"), &places, expect!["crates/kettle/tests/it/main.rs:1 boils"]);
    check(&rust(Some("kettle::it"), "pot::boils"), &places, expect!["crates/kettle/tests/it/pot.rs:1 boils"]);
    check(&rust(Some("kettle::other"), "boils"), &places, expect!["crates/kettle/tests/other.rs:1 boils"]);
    check(
        &rust(Some("kettle::it"), "pot::heats::case_1"),
        &places,
        expect!["crates/kettle/tests/it/pot.rs:3 heats"],
    );
    check(
        &rust(None, "boils"),
        &places,
        expect![
            "several match: crates/kettle/tests/it/main.rs:1 boils, crates/kettle/tests/other.rs:1 boils"
        ],
    );

    let mut named = places.clone();
    for place in &mut named {
        place.package = place.file.split('/').nth(1).map(str::to_owned);
    }
    check(&rust(Some("pan"), "tests::boils"), &named, expect!["crates/pan/src/lib.rs:3 tests::boils"]);
}

#[test]
fn a_function_of_go_is_found_in_its_package() {
    let text = "package a\nfunc TestBoils(t *testing.T) {}\n";
    let mut places = places(&[("pot/pot_test.go", text), ("lid/lid_test.go", text)]);
    let go = |package: &str| TestName {
        package: Some(package.to_owned()),
        path: vec!["TestBoils".to_owned()],
        form: Form::Go,
        ..TestName::default()
    };
    check(&go("example.com/kettle/pot"), &places, expect!["pot/pot_test.go:2 TestBoils"]);
    check(
        &go("example.com/kettle/cup"),
        &places,
        expect!["no test has this name; did you mean pot/pot_test.go:2 TestBoils?"],
    );
    places[0].package = Some("example.com/kettle/pot".to_owned());
    check(
        &go("example.org/other/pot"),
        &places,
        expect!["no test has this name; did you mean pot/pot_test.go:2 TestBoils?"],
    );
}

#[test]
fn titles_are_found_with_parameters_filled_in() {
    let text = "describe('kettle', () => {\n  it.each([80])('heats to %i', () => {});\n  it('boils > over', () => {});\n});\nit('boils', () => {});\n";
    let places = places(&[("kettle.test.ts", text), ("pot.test.ts", "it('boils', () => {});\n")]);
    let titles = |path: &[&str]| TestName { form: Form::Titles, ..dotted(path) };
    let joined = |title: &str, separator| TestName { form: Form::Joined(separator), ..dotted(&[title]) };
    check(&titles(&["kettle", "heats to 80"]), &places, expect!["kettle.test.ts:2 kettle > heats to …"]);
    check(&joined("kettle heats to 80", " "), &places, expect!["kettle.test.ts:2 kettle > heats to …"]);
    // A title may contain what the tool joins titles with.
    check(
        &joined("kettle > boils > over", " > "),
        &places,
        expect!["kettle.test.ts:3 kettle > boils > over"],
    );
    check(
        &titles(&["boils"]),
        &places,
        expect!["several match: kettle.test.ts:5 boils, pot.test.ts:1 boils"],
    );
    let in_file = TestName { file: Some("pot.test.ts".to_owned()), ..titles(&["boils"]) };
    check(&in_file, &places, expect!["pot.test.ts:1 boils"]);
    check(&titles(&["kettle", "heats"]), &places, expect!["no test has this name"]);
}

#[test]
fn two_patterns_that_fit_are_an_error() {
    let text = "it.each([1])('heats to %i', () => {});\nit.each([1])('heats %s', () => {});\n";
    let places = places(&[("kettle.test.ts", text)]);
    assert!(places[0].symbol.path[0].contains(HOLE));
    check(
        &TestName { form: Form::Titles, ..dotted(&["heats to 80"]) },
        &places,
        expect!["several match: kettle.test.ts:1 heats to …, kettle.test.ts:2 heats …"],
    );
    check(
        &TestName { form: Form::Titles, ..dotted(&["heats well"]) },
        &places,
        expect!["kettle.test.ts:2 heats …"],
    );
}

#[test]
fn a_group_is_all_tests_below_it() {
    let places = places(&[("tests/test_kettle.py", PYTHON), ("tests/test_pot.py", PYTHON)]);
    let found = matched(&dotted(&["tests", "test_kettle"]), Scope::Group, &places);
    assert_eq!(found, Ok(vec![0, 1]));
    let found = matched(&dotted(&["test_kettle", "TestKettle"]), Scope::Group, &places);
    assert_eq!(found, Ok(vec![0]));
    assert!(matched(&dotted(&["test_pan"]), Scope::Group, &places).is_err());
}

#[test]
fn a_file_that_only_its_end_is_known_of_must_be_the_only_one() {
    let report = |path: &str| {
        let text = format!(
            r#"<report name="a"><package name="shop"><sourcefile name="{path}"><line nr="3" mi="0" ci="1"/></sourcefile></package></report>"#
        );
        read(&Source { name: "jacoco.xml", root: "", folder: "" }, text.as_bytes()).expect("a report")
    };
    let places = places(&[("ShopTest.java", "class ShopTest { @Test void sells() {} }")]);
    let problems = |files: &[&str]| Results::new(&[report("Shop.java")], &places, files, None).problems;
    assert_eq!(problems(&["a/src/shop/Shop.java", "a/src/workshop/Shop.java"]), []);
    let several = problems(&["a/src/shop/Shop.java", "b/src/shop/Shop.java"]);
    assert_eq!(several[0].reason.to_string(), "several match: a/src/shop/Shop.java, b/src/shop/Shop.java");
    assert_eq!(problems(&["a/src/Shop.java"])[0].reason, Unmatched::NoMatch(None));
}

#[test]
fn a_test_around_subtests_passes_only_if_all_of_them_do() {
    let text = "test('pours', async (t) => {\n  await t.test('first', () => {});\n  await t.test('second', () => {});\n});\n";
    let places = places(&[("kettle.test.mjs", text)]);
    let xml = |second: &str| {
        format!(
            "<testsuites><testsuite name=\"pours\"><testcase name=\"first\" classname=\"test\"/><testcase name=\"second\" classname=\"test\">{second}</testcase></testsuite></testsuites>"
        )
    };
    let outcome = |second: &str| {
        let source = Source { name: "node.xml", root: "", folder: "" };
        let report: Report = read(&source, xml(second).as_bytes()).expect("a report");
        Results::new(&[report], &places, &[], None).tests[0].outcome
    };
    assert_eq!(outcome(""), Outcome::Passed);
    assert_eq!(outcome("<failure/>"), Outcome::Failed);
    assert_eq!(outcome("<skipped/>"), Outcome::Skipped);
}

fn dotted(path: &[&str]) -> TestName {
    let path = path.iter().map(|part| (*part).to_owned()).collect();
    TestName { path, form: Form::Dotted, ..TestName::default() }
}

fn places(files: &[(&str, &str)]) -> Vec<TestPlace> {
    let tests = |(file, text): &(&str, &str)| {
        let language = Language::of(file).expect("a known language");
        let tests = symbols(language, text).into_iter().filter(|symbol| symbol.is_test);
        let file = (*file).to_owned();
        let place = move |symbol| TestPlace { file: file.clone(), symbol, package: None, alias: None };
        tests.map(place).collect::<Vec<_>>()
    };
    files.iter().flat_map(tests).collect()
}

#[track_caller]
fn check(name: &TestName, places: &[TestPlace], expected: Expect) {
    let shown = match matched(name, Scope::Test, places) {
        Ok(found) => {
            let [at] = found[..] else { panic!("one test") };
            let place = &places[at];
            format!("{}:{} {}", place.file, place.symbol.lines.start(), place.symbol)
        }
        Err(reason) => reason.to_string(),
    };
    expected.assert_eq(&shown);
}
