//! lcov files: sections as functions, citations and tests as branches.

use expect_test::{Expect, expect};
use trace::report::gate::Gate;
use trace::report::{Report, lcov};

use crate::documents::load;

const COFFEE: &str = "# Coffee\n\n## Brewing\n\nThe pot MUST accept BREW.\nThe pot SHOULD be clean.\n";

#[test]
fn a_line_is_covered_when_it_is_cited_and_tested() {
    let source = "\
//= coffee.md#brewing
//# The pot MUST accept BREW.

//= coffee.md#brewing
//= type=exception
//= reason=nobody looks
//# The pot SHOULD be clean.
";
    let both = Gate { citations: true, tests: true };
    check(
        source,
        both,
        &expect![[r#"
            SF:coffee.md FN:1,Coffee FN:3,Brewing FNF:2
            5: cited 0 1, tested 0 0
            3: cited 0 0 1 0, tested 0 0 0 1
            6: cited 0 1, tested 0 1
            DA:5,0 DA:6,0 DA:3,1 DA:5,0 DA:6,1"#]],
    );
}

#[test]
fn the_gate_says_what_a_line_needs() {
    let source = "//= coffee.md#brewing\n//= type=test\n//# The pot MUST accept BREW.\n";
    for (citations, tests, expected) in [
        (true, true, expect!["DA:5,0 DA:6,0 DA:3,0 DA:5,0"]),
        (true, false, expect!["DA:5,0 DA:6,0 DA:3,0 DA:5,0"]),
        (false, true, expect!["DA:5,0 DA:6,0 DA:3,1 DA:5,1"]),
        (false, false, expect!["DA:5,0 DA:6,0 DA:3,1 DA:5,1"]),
    ] {
        let text = write("coffee.md", COFFEE, source, Gate { citations, tests });
        expected.assert_eq(&lines(&text, "DA:").join(" "));
    }
}

#[test]
fn a_section_may_be_named_without_its_prefix() {
    let text = "1.  Brewing\n\n   The pot MUST accept BREW.\n";
    let source = "//= coffee.txt#1\n//# The pot MUST accept BREW.\n";
    let written = write("coffee.txt", text, source, Gate { citations: true, tests: false });
    expect!["DA:3,0 DA:1,1 DA:3,1"].assert_eq(&lines(&written, "DA:").join(" "));
}

#[track_caller]
fn check(source: &str, gate: Gate, expected: &Expect) {
    let written = write("coffee.md", COFFEE, source, gate);
    let mut text = ["SF:", "FN:", "FNF:"].map(|start| lines(&written, start).join(" ")).join(" ");
    let branches = |line: u32, branch: u32| {
        let start = format!("BRDA:{line},{branch},0,");
        lines(&written, &start)
            .iter()
            .map(|line| line[start.len()..].to_owned())
            .collect::<Vec<_>>()
            .join(" ")
    };
    for line in [5, 3, 6] {
        text += &format!("\n{line}: cited {}, tested {}", branches(line, 0), branches(line, 1));
    }
    text += &format!("\n{}", lines(&written, "DA:").join(" "));
    expected.assert_eq(&text);
}

fn lines<'a>(text: &'a str, start: &str) -> Vec<&'a str> {
    text.lines().filter(|line| line.starts_with(start)).collect()
}

fn write(name: &str, text: &str, source: &str, gate: Gate) -> String {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (project, loaded) = load(folder.path(), &[(name, text), ("lib.rs", source)], name);
    assert!(!loaded.has_errors(), "{:?}", loaded.diagnostics());
    let mut out = Vec::new();
    lcov::write(&Report::of(&loaded).targets[0], &project.downloads, gate, &mut out)
        .expect("memory can be written");
    String::from_utf8(out).expect("lcov is text")
}
