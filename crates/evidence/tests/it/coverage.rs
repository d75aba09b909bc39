//! What was executed, and the verdicts that follow from it.

use std::slice::from_ref;

use evidence::{How, Outcome, Report, Source, Tool, Verdict, read};
use expect_test::{Expect, expect};

use crate::kettle::{self, Kettle};

#[test]
fn every_coverage_format_gives_the_same_lines() {
    let python = expect!["kettle.py: 4+ 5+ 7+ 9+ 11+ 12+ 14+ 15- 16-"];
    lines("pytest-cobertura.xml", Tool::Cobertura, "kettle.py", &python);
    lines("pytest-coverage.lcov", Tool::Lcov, "kettle.py", &python);
    lines("pytest-cov-contexts.json", Tool::CoveragePy, "kettle.py", &python);
    lines("vitest.lcov", Tool::Lcov, "kettle.js", &expect!["kettle.js: 3+ 8+ 9+ 13- 14-"]);
    // Cobertura of istanbul has the lines of signatures, too, which are not in any body.
    let more = expect!["kettle.js: 2+ 3+ 6+ 8+ 9+ 12- 13- 14-"];
    lines("vitest-cobertura.xml", Tool::Cobertura, "kettle.js", &more);
    lines(
        "jacoco.xml",
        Tool::Jacoco,
        "shop/Kettle.java",
        &expect!["shop/Kettle.java: 6+ 7+ 8+ 11+ 16+ 17+ 21+ 22+"],
    );
}

/// llvm-cov writes LCOV itself, from the same data: what it says about each line is what we derive from segments.
#[test]
fn segments_of_llvm_cov_give_the_lines_that_it_gives() {
    let [json, lcov] = &kettle::read(&["llvm-cov.json", "llvm-cov.lcov"])[..] else { panic!("two reports") };
    assert_eq!(json.tool, Tool::LlvmCov);
    assert_eq!(json.coverage, lcov.coverage);
}

#[test]
fn executed_by_the_test_itself_is_proven() {
    let kettle =
        Kettle::new("pytest", &kettle::read(&["pytest-xunit1.xml", "pytest-cov-contexts.json"]), None);
    let (boil, cool) = (kettle.code("kettle.py", "Kettle.boil"), kettle.code("kettle.py", "Kettle.cool"));
    let boils = kettle.tests("boils");
    assert_eq!(kettle.results.executes(boils[0], &boil), Some(How::ThisTest));
    assert_eq!(kettle.results.verdict(&boils, from_ref(&boil)), Verdict::Proven);
    // Its `def` line ran when the file was imported, its body did not.
    assert_eq!(kettle.results.executes(boils[0], &cool), None);
    assert_eq!(kettle.results.verdict(&boils, from_ref(&cool)), Verdict::Passed);
    assert_eq!(kettle.results.verdict(&boils, &[cool, boil.clone()]), Verdict::Proven);
    // Another test that passed did not execute it.
    assert_eq!(kettle.results.verdict(&kettle.tests("heats"), from_ref(&boil)), Verdict::Witnessed);
    // A test that failed proves nothing, though it executed the code.
    assert_eq!(kettle.results.verdict(&kettle.tests("overflows"), from_ref(&boil)), Verdict::Failed);
    let both = [kettle.tests("boils"), kettle.tests("overflows")].concat();
    assert_eq!(kettle.results.verdict(&both, from_ref(&boil)), Verdict::Failed);
    assert_eq!(kettle.results.verdict(&kettle.tests("whistles"), from_ref(&boil)), Verdict::Flaky);
    assert_eq!(kettle.results.verdict(&kettle.tests("descales"), from_ref(&boil)), Verdict::Skipped);
    assert_eq!(kettle.results.verdict(&kettle.tests("cools"), from_ref(&boil)), Verdict::NotRun);
    assert_eq!(kettle.results.verdict(&[], &[boil]), Verdict::NotRun);
}

#[test]
fn executed_in_the_same_run_is_witnessed() {
    let runs: [(&str, &[&str], &str, &str); 5] = [
        ("pytest", &["pytest-xunit2.xml", "pytest-cobertura.xml"], "kettle.py", "Kettle.boil"),
        ("vitest", &["vitest.json", "vitest.lcov"], "kettle.js", "Kettle.boil"),
        ("vitest", &["vitest.json", "vitest-cobertura.xml"], "kettle.js", "Kettle.boil"),
        ("cargo", &["libtest.json", "llvm-cov.json"], "src/lib.rs", "Kettle::boil"),
        ("maven", &["surefire-kettle.xml", "jacoco.xml"], "src/main/java/shop/Kettle.java", "Kettle.boil"),
    ];
    for (name, reports, file, function) in runs {
        let kettle = Kettle::new(name, &kettle::read(reports), None);
        let boil = kettle.code(file, function);
        assert_eq!(
            kettle.results.verdict(&kettle.tests("boils"), &[boil]),
            Verdict::Witnessed,
            "{reports:?}"
        );
    }
}

#[test]
fn a_report_that_hides_retries_proves_no_more_than_passed() {
    let verdict = |reports: &[&str]| {
        let kettle = Kettle::new("vitest", &kettle::read(reports), None);
        let boil = kettle.code("kettle.js", "Kettle.boil");
        kettle.results.verdict(&kettle.tests("boils"), &[boil])
    };
    assert_eq!(verdict(&["vitest.xml", "vitest.lcov"]), Verdict::Passed);
    assert_eq!(verdict(&["vitest.xml", "vitest.json", "vitest.lcov"]), Verdict::Witnessed);
    for tool in [Tool::VitestJunit, Tool::JestJunit, Tool::Mocha, Tool::Behave, Tool::Junit] {
        assert!(!tool.shows_retries(), "{tool:?}");
    }
}

#[test]
fn what_junit_of_jest_writes_as_a_pass_is_still_to_do_in_its_json() {
    let outcome = |reports: &[&str]| Kettle::new("jest", &kettle::read(reports), None).outcome("sings");
    assert_eq!(outcome(&["jest.xml"]), Outcome::Passed);
    assert_eq!(outcome(&["jest.xml", "jest.json"]), Outcome::Skipped);
    assert_eq!(outcome(&["jest.json", "jest.xml"]), Outcome::Skipped);
}

#[test]
fn a_report_given_twice_is_one() {
    let once = Kettle::new("pytest", &kettle::read(&["pytest-xunit1.xml"]), None);
    let twice = Kettle::new("pytest", &kettle::read(&["pytest-xunit1.xml", "pytest-xunit1.xml"]), None);
    assert_eq!(once.results.tests, twice.results.tests);
}

#[test]
fn files_outside_of_the_repository_are_left_out() {
    let text =
        "SF:/kettle/src/lib.rs\nDA:3,1\nend_of_record\nSF:/rustc/library/core.rs\nDA:1,1\nend_of_record\n";
    let report =
        read(&Source { name: "a.lcov", root: "/kettle", folder: "" }, text.as_bytes()).expect("a report");
    let [file] = &report.coverage[..] else { panic!("one file") };
    assert_eq!((file.file.as_str(), &file.lines[..]), ("src/lib.rs", &[(3, true)][..]));
}

#[test]
fn paths_are_relative_to_the_folder_that_the_tool_ran_in() {
    let text = "SF:src/a.ts\nDA:1,0\nend_of_record\nSF:../api/b.ts\nDA:1,2,abc=\nend_of_record\n";
    let report =
        read(&Source { name: "a.lcov", root: "", folder: "web" }, text.as_bytes()).expect("a report");
    let files: Vec<&str> = report.coverage.iter().map(|file| file.file.as_str()).collect();
    assert_eq!(files, ["web/src/a.ts", "api/b.ts"]);
}

#[track_caller]
fn lines(name: &str, tool: Tool, file: &str, expected: &Expect) {
    let [report]: [Report; 1] = kettle::read(&[name]).try_into().expect("one report");
    assert_eq!(report.tool, tool, "{name}");
    let found = report.coverage.iter().find(|found| found.file == file).expect("the file");
    let lines =
        found.lines.iter().map(|(line, was_hit)| format!(" {line}{}", if *was_hit { '+' } else { '-' }));
    expected.assert_eq(&format!("{file}:{}", lines.collect::<String>()));
}
