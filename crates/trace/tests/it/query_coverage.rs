//! Checks with coverage reports: what ran, and what that says about annotations.

use std::fmt::Write as _;
use std::sync::Arc;

use expect_test::{Expect, expect};
use proptest::prelude::*;
use trace::query::execution::{LineRuns, SourceCode};
use trace::query::{QueryCheck, jacoco, java};

use crate::query::{answer_with, open};

const TEST: &str = "//= spec.md#tea\n//= type=test\n//# Tea MAY be refused.\n";
const IMPLEMENTATION: &str = "//= spec.md#tea\n//# Tea MAY be refused.\n";

#[test]
fn a_test_must_run_together_with_what_it_tests() {
    let files = [
        ("src/pot.rs", format!("{IMPLEMENTATION}fn refuse() {{}}\n")),
        ("src/test.rs", format!("{TEST}fn refuses() {{}}\n")),
        ("both.xml", report(&[("src/pot.rs", "3+"), ("src/test.rs", "4+")])),
        ("one.xml", report(&[("src/pot.rs", "3+"), ("src/test.rs", "4-")])),
        ("other.xml", report(&[("src/pot.rs", "3-"), ("src/test.rs", "4+")])),
        ("none.xml", report(&[])),
    ];
    let both = expect![[r#"
        coverage: passed, 1 of 1 tests are shown to run what they test according to 1 coverage report
          + src/test.rs:1: ran, and so did what it tests (spec.md#tea)
              Tea MAY be refused.
              src/pot.rs:1: implementation, ran

        passed
    "#]];
    check(&files, QueryCheck::Coverage, &["both.xml"], both);
    check(
        &files,
        QueryCheck::Coverage,
        &["one.xml"],
        expect![[r#"
        coverage: failed, 0 of 1 tests are shown to run what they test according to 1 coverage report
          - src/test.rs:1: did not run (spec.md#tea)
              Tea MAY be refused.
              src/pot.rs:1: implementation

        failed
    "#]],
    );
    // Each ran somewhere, but nowhere together.
    check(
        &files,
        QueryCheck::Coverage,
        &["o*.xml"],
        expect![[r#"
        coverage: failed, 0 of 1 tests are shown to run what they test according to 2 coverage reports
          - src/test.rs:1: ran, but not all that it tests (spec.md#tea)
              Tea MAY be refused.
              src/pot.rs:1: implementation, did not run

        failed
    "#]],
    );
    check(
        &files,
        QueryCheck::ExecutedCoverage,
        &["one.xml"],
        expect![[r#"
            executed-coverage: passed, 0 of 0 tests are shown to run what they test (1 skipped that did not run) according to 1 coverage report
              + src/test.rs:1: did not run (spec.md#tea)
                  Tea MAY be refused.

            passed
        "#]],
    );
    check(
        &files,
        QueryCheck::ExecutedCoverage,
        &["none.xml", "no/*.xml"],
        expect![[r#"
            warning: `no/*.xml` matches no coverage report
            warning: none.xml knows none of the source files
            executed-coverage: passed, 0 of 0 tests are shown to run what they test (1 skipped that did not run) according to 1 coverage report
              + src/test.rs:1: did not run (spec.md#tea)
                  Tea MAY be refused.

            passed
        "#]],
    );
}

#[test]
fn a_test_without_an_implementation_fails() {
    let files = [
        ("src/test.rs", format!("{TEST}fn refuses() {{}}\n")),
        ("report.xml", report(&[("src/test.rs", "4+")])),
    ];
    check(
        &files,
        QueryCheck::ExecutedCoverage,
        &["report.xml"],
        expect![[r#"
        executed-coverage: failed, 0 of 1 tests are shown to run what they test according to 1 coverage report
          - src/test.rs:1: tests what nobody implements (spec.md#tea)
              Tea MAY be refused.

        failed
    "#]],
    );
}

#[test]
fn a_path_that_may_be_two_files_is_refused() {
    let files = [
        ("src/a/pot.rs", format!("{IMPLEMENTATION}fn refuse() {{}}\n")),
        ("src/b/pot.rs", format!("{TEST}fn refuse() {{}}\n")),
        ("short.xml", report(&[("pot.rs", "3+")])),
        ("long.xml", report(&[("a/pot.rs", "3+"), ("src/a/pot.rs", "3+"), ("b/pot.rs", "4+")])),
        ("right.xml", report(&[("a/pot.rs", "3+"), ("src\\b\\pot.rs", "4+"), ("t.rs", "1+")])),
    ];
    check(
        &files,
        QueryCheck::Coverage,
        &["short.xml"],
        expect![[r#"
        error: short.xml: `pot.rs` may be src/a/pot.rs or src/b/pot.rs
    "#]],
    );
    check(
        &files,
        QueryCheck::Coverage,
        &["long.xml"],
        expect![[r#"
        error: long.xml has several entries that may be src/a/pot.rs: a/pot.rs, src/a/pot.rs
    "#]],
    );
    check(
        &files,
        QueryCheck::Coverage,
        &["right.xml"],
        expect![[r#"
        coverage: passed, 1 of 1 tests are shown to run what they test according to 1 coverage report
          + src/b/pot.rs:1: ran, and so did what it tests (spec.md#tea)
              Tea MAY be refused.
              src/a/pot.rs:1: implementation, ran

        passed
    "#]],
    );
}

#[test]
fn a_broken_report_is_an_error_with_its_line() {
    for (text, expected) in [
        ("<report>\n<package>\n</package></report>", "2 is not a JaCoCo report: <package> has no `name`"),
        ("<report>\n\n</package>", "3 is not a JaCoCo report: "),
        ("<report>\n<package name='x'>\n", "3 is not a JaCoCo report: ends inside <report><package>"),
        ("<report>\n<package name='x'", "2 is not a JaCoCo report: "),
        (
            "<package name='x'><sourcefile name='y'>\n<line nr='x'/>",
            "2 is not a JaCoCo report: `nr` is not a number: \"x\"",
        ),
        (
            "<package name='x'><sourcefile name='y'>\n<line nr='1' mi='1' ci='0' mb='0'/>",
            "2 is not a JaCoCo report: <line> has no `cb`",
        ),
        (&"<a>".repeat(100), "1 is not a JaCoCo report: elements are nested deeper than 64"),
    ] {
        let problem = jacoco::read(&Arc::from("report.xml"), text).unwrap_err();
        let found = &problem.message;
        assert!(
            found.starts_with(&format!("report.xml:{expected}")),
            "{expected:?} for {text:?}, found {found:?}"
        );
    }
}

#[test]
fn a_line_ran_if_any_of_its_branches_did() {
    let text = "<report><group><package name='a/b'><class name='ignored'/><sourcefile name='C.java'>\
        <line nr='1' mi='1' ci='1' mb='0' cb='0'/><line nr='2' mi='1' ci='0' mb='0' cb='0'/>\
        <line nr='3' mi='0' ci='0' mb='0' cb='0'/><line nr='4' mi='9' ci='0' mb='1' cb='1'/>\
        <line nr='5' mi='0' ci='9' mb='2' cb='0'/></sourcefile></package></group></report>";
    let coverage = jacoco::read(&Arc::from("report.xml"), text).unwrap();
    assert_eq!(coverage.len(), 1);
    assert_eq!(coverage["a/b/C.java"], LineRuns::from([(1, true), (2, false), (4, true), (5, false)]));
}

#[test]
fn what_introduces_code_that_ran_has_run() {
    // Every line that has a `?` has an annotation above it.
    check_lines(
        "class Pot {               ?
             private int size;     ?
             private int milk = 1; ?
             // a comment          ?

             @Override             ?
             public void brew(     ?
                     int cups)     ?
             {                     ?
                 int heat;         ?
                 boil();           + ?
                 stir();           - ?
                 if (cups > 1) {   + ?
                     pour();       - ?
                 } else {          ?
                     drink();      + ?
                 }                 ?
                 try {             ?
                     wash();       + ?
                 } finally { }     ?
             }                     ?
         }",
        expect![[r#"
            class Pot {: NotExecuted
            private int size;: NotExecuted
            private int milk = 1;: NotExecuted
            // a comment: NotExecuted
            @Override: NotExecuted
            public void brew(: NotExecuted
            int cups): NotExecuted
            {: Executed
            int heat;: Executed
            boil();: Executed
            stir();: NotExecuted
            if (cups > 1) {: Executed
            pour();: NotExecuted
            } else {: NotExecuted
            drink();: Executed
            }: Structural
            try {: Executed
            wash();: Executed
            } finally { }: Structural
            }: Structural
        "#]],
    );
}

#[test]
fn what_cannot_run_is_told_apart_from_what_did_not() {
    check_lines(
        "package pots;             ?
         interface Pot {           ?
             void brew();          ?
         }                         ?
         enum Size {               ?
             SMALL,                ?
             LARGE(2);             ?
             void fill() {         ?
                 outer:            ?
                 while (true) {    ?
                     break outer;  - ?
                 }
             }
         }
         record Cup(int size) {    ?
             Cup {                 ?
                 Runnable r = () -> { ?
                     check();      + ?
                 };
             }
         }",
        expect![[r#"
            package pots;: NotExecuted
            interface Pot {: Structural
            void brew();: Structural
            }: Structural
            enum Size {: NotExecuted
            SMALL,: NotExecuted
            LARGE(2);: NotExecuted
            void fill() {: NotExecuted
            outer:: Unknown(18)
            while (true) {: NotExecuted
            break outer;: NotExecuted
            record Cup(int size) {: NotExecuted
            Cup {: NotExecuted
            Runnable r = () -> {: NotExecuted
            check();: Executed
        "#]],
    );
}

#[test]
fn code_that_is_not_java_says_nothing() {
    assert_eq!(java::read("class Pot {\n  void brew( {\n}\n").unwrap_err(), [2]);
    let files = [
        ("src/Pot.java", format!("class Pot {{\n{IMPLEMENTATION}int x = ;\n{TEST}int y = 1;\n}}\n")),
        ("report.xml", report(&[("src/Pot.java", "4+ 8+")])),
    ];
    check(
        &files,
        QueryCheck::ExecutedCoverage,
        &["report.xml"],
        expect![[r#"
            warning: src/Pot.java cannot be understood, so nobody knows what of it ran
            executed-coverage: failed, 0 of 1 tests are shown to run what they test according to 1 coverage report
              - src/Pot.java:5: may have run or not: line 4 is not known to be code (spec.md#tea)
                  Tea MAY be refused.
                  src/Pot.java:2: implementation

            failed
        "#]],
    );
}

#[test]
fn code_may_be_nested_deeper_than_a_stack() {
    let deep = format!("class A {{ int x = {}1{}; }}", "(".repeat(20_000), ")".repeat(20_000));
    assert!(java::read(&deep).is_ok());
}

proptest! {
    #[test]
    fn no_text_makes_readers_panic(text in "[<>/='\" \na-c{}();&\u{e9}*]{0,60}", line in 1u32..9, last in 0u32..9) {
        let _ = jacoco::read(&Arc::from("report.xml"), &text);
        for path in ["A.java", "a.rs"] {
            let code = SourceCode::read(path, &text, [(line, last)].into_iter());
            let _ = code.execution((line, last), &LineRuns::from([(line, true), (last, false)]));
        }
    }
}

/// Reads Java code whose lines end in `+` if they ran, in `-` if they did not, and in `?` if an annotation stands
/// above them, and shows what became of those.
#[track_caller]
fn check_lines(marked: &str, expected: Expect) {
    let mut source = String::new();
    let mut runs = LineRuns::new();
    let mut asked = Vec::new();
    let mut n_lines = 0;
    for line in marked.lines() {
        let (code, mark) =
            line.trim_end().strip_suffix('?').map_or((line, ""), |code| (code.trim_end(), "?"));
        let (code, ran) = match (code.strip_suffix('+'), code.strip_suffix('-')) {
            (Some(code), _) => (code, Some(true)),
            (_, Some(code)) => (code, Some(false)),
            _ => (code, None),
        };
        if mark == "?" {
            source += "//= spec.md#tea\n";
            n_lines += 1;
            asked.push((n_lines, code.trim()));
        }
        source += &format!("{code}\n");
        n_lines += 1;
        runs.extend(ran.map(|ran| (n_lines, ran)));
    }
    let code = SourceCode::read("Pot.java", &source, asked.iter().map(|(line, _)| (*line, *line)));
    let mut shown = String::new();
    for (line, text) in asked {
        let _ = writeln!(shown, "{text}: {:?}", code.execution((line, line), &runs));
    }
    expected.assert_eq(&shown);
}

/// Writes a report: files with lines that ran (`3+`) and lines that did not (`3-`).
fn report(files: &[(&str, &str)]) -> String {
    let mut text = "<?xml version=\"1.0\"?>\n<report name=\"test\">\n".to_owned();
    for (path, lines) in files {
        let (package, name) = path.rsplit_once('/').unwrap_or(("", path));
        let _ = writeln!(text, "<package name=\"{package}\"><sourcefile name=\"{name}\">");
        for line in lines.split(' ') {
            let (number, covered) = (line.trim_end_matches(['+', '-']), u8::from(line.ends_with('+')));
            let missed = 1 - covered;
            let _ =
                writeln!(text, "<line nr=\"{number}\" mi=\"{missed}\" ci=\"{covered}\" mb=\"0\" cb=\"0\"/>");
        }
        text += "</sourcefile></package>\n";
    }
    text + "</report>\n"
}

#[track_caller]
fn check(files: &[(&str, String)], check: QueryCheck, patterns: &[&str], expected: Expect) {
    let folder = tempfile::tempdir().unwrap();
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (*path, text.as_str())).collect();
    let loaded = open(folder.path(), &files);
    expected.assert_eq(&answer_with(&loaded, check, patterns));
}
