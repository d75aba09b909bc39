//! What is read from reports that real tools wrote.

use evidence::{Outcome, Scope, Tool};
use expect_test::{Expect, expect};

use crate::kettle::{self, Kettle};

#[test]
fn pytest_xunit1_has_files_and_lines() {
    check(
        "pytest",
        &["pytest-xunit1.xml"],
        expect![[r#"
            TestKettle.test_boils: passed
            test_overflows: failed
            test_descales: skipped
            test_whistles: flaky (2 attempts)
            test_rattles: failed (2 attempts)
            test_holds_tight: skipped
            test_heats: passed
            test_leaks: failed
            test_pours: passed
            test_drips: failed
            test_idles: skipped
            test_plugs_in: failed
            test_hangs: failed
        "#]],
    );
}

#[test]
fn pytest_xunit2_has_neither() {
    check(
        "pytest",
        &["pytest-xunit2.xml"],
        expect![[r#"
            TestKettle.test_boils: passed
            test_overflows: failed
            test_descales: skipped
            test_whistles: flaky (2 attempts)
            test_rattles: failed (2 attempts)
            test_holds_tight: skipped
            test_heats: passed
            test_leaks: failed
            test_pours: passed
            test_drips: failed
            test_idles: skipped
            test_plugs_in: failed
            test_hangs: failed
        "#]],
    );
}

#[test]
fn vitest_hides_retries_in_junit() {
    check(
        "vitest",
        &["vitest.xml"],
        expect![[r#"
            kettle > boils: passed
            kettle > overflows: failed
            kettle > descales: skipped
            kettle > whistles: passed
            kettle > heats to … degrees: passed
            kettle > leaks at … degrees: failed
            kettle > pours > the first cup: passed
            kettle > pours > the second cup: passed
            kettle > sings: skipped
            kettle > hangs: failed
            kettle > socket > plugs in: failed
            cools: skipped
        "#]],
    );
}

#[test]
fn vitest_shows_retries_in_json() {
    check(
        "vitest",
        &["vitest.json"],
        expect![[r#"
            kettle > boils: passed
            kettle > overflows: failed
            kettle > descales: skipped
            kettle > whistles: flaky (2 attempts)
            kettle > heats to … degrees: passed
            kettle > leaks at … degrees: failed
            kettle > pours > the first cup: passed
            kettle > pours > the second cup: passed
            kettle > sings: skipped
            kettle > hangs: failed
            kettle > socket > plugs in: skipped
            cools: skipped
        "#]],
    );
}

#[test]
fn vitest_junit_and_json_of_one_run_are_not_two_attempts() {
    check(
        "vitest",
        &["vitest.xml", "vitest.json"],
        expect![[r#"
            kettle > boils: passed
            kettle > overflows: failed
            kettle > descales: skipped
            kettle > whistles: flaky (2 attempts)
            kettle > heats to … degrees: passed
            kettle > leaks at … degrees: failed
            kettle > pours > the first cup: passed
            kettle > pours > the second cup: passed
            kettle > sings: skipped
            kettle > hangs: failed
            kettle > socket > plugs in: failed
            cools: skipped
        "#]],
    );
}

#[test]
fn vitest_tests_that_bail_left_out_are_not_run() {
    check(
        "vitest",
        &["vitest-bail.xml"],
        expect![[r#"
        fails first: failed
        incomplete: vitest stopped before all tests had run
    "#]],
    );
    check(
        "vitest",
        &["vitest-bail.json"],
        expect![[r#"
        fails first: failed
        incomplete: vitest (JSON) stopped before all tests had run
    "#]],
    );
}

#[test]
fn vitest_tests_of_a_killed_worker_are_not_run() {
    check(
        "vitest",
        &["vitest-crash.xml"],
        expect![[r#"
        incomplete: vitest had an error outside of tests
    "#]],
    );
    check(
        "vitest",
        &["vitest-crash.json"],
        expect![[r#"
        incomplete: vitest (JSON) stopped before all tests had run
    "#]],
    );
}

#[test]
fn vitest_import_that_fails_fails_the_tests_of_the_file() {
    check(
        "vitest",
        &["vitest-broken.xml"],
        expect![[r#"
        imports: failed
    "#]],
    );
    check(
        "vitest",
        &["vitest-broken.json"],
        expect![[r#"
        imports: failed
    "#]],
    );
}

#[test]
fn jest_json_and_junit() {
    check(
        "jest",
        &["jest.json"],
        expect![[r#"
            kettle > boils: passed
            kettle > overflows: failed (3 attempts)
            kettle > descales: skipped
            kettle > whistles: flaky (2 attempts)
            kettle > heats to … degrees: passed
            kettle > leaks at … degrees: failed (3 attempts)
            kettle > pours > the first cup: passed
            kettle > pours > the second cup: passed
            kettle > sings: skipped
            kettle > hangs: failed (3 attempts)
            kettle > socket > plugs in: failed
            cools: skipped
        "#]],
    );
    check(
        "jest",
        &["jest.xml"],
        expect![[r#"
            kettle > boils: passed
            kettle > overflows: failed
            kettle > descales: skipped
            kettle > whistles: passed
            kettle > heats to … degrees: passed
            kettle > leaks at … degrees: failed
            kettle > pours > the first cup: passed
            kettle > pours > the second cup: passed
            kettle > sings: passed
            kettle > hangs: failed
            kettle > socket > plugs in: failed
            cools: skipped
        "#]],
    );
    check(
        "jest",
        &["jest-broken.xml"],
        expect![[r#"
        imports: failed (2 attempts)
    "#]],
    );
    check(
        "jest",
        &["jest-broken.json"],
        expect![[r#"
        imports: failed
    "#]],
    );
}

#[test]
fn node_junit() {
    check(
        "node",
        &["node.xml"],
        expect![[r#"
            kettle > boils: passed
            kettle > overflows: failed
            kettle > descales: skipped
            kettle > heats to … degrees: passed
            kettle > leaks at … degrees: failed
            kettle > pours: passed
            kettle > pours > the first cup: passed
            kettle > pours > the second cup: passed
            kettle > drips: failed
            kettle > idles: skipped
            kettle > idles > the first cup: skipped
            kettle > idles > the second cup: skipped
            kettle > sings: skipped
            kettle > hangs: failed
            kettle > socket > plugs in: failed
        "#]],
    );
    check(
        "node",
        &["node-crash.xml"],
        expect![[r#"
        was well before: failed
        explodes: failed
        comes after: failed
    "#]],
    );
}

#[test]
fn mocha_junit() {
    check(
        "mocha",
        &["mocha.xml"],
        expect![[r#"
        kettle > boils: passed
        kettle > overflows: failed
        kettle > whistles: passed
        kettle > heats to … degrees: passed
        kettle > leaks at … degrees: failed
        kettle > pours > the first cup: passed
        kettle > pours > the second cup: passed
        kettle > hangs: failed
        kettle > socket > plugs in: failed
    "#]],
    );
    check(
        "mocha",
        &["mocha-xunit.xml"],
        expect![[r#"
            kettle > boils: passed
            kettle > overflows: failed
            kettle > descales: skipped
            kettle > whistles: passed
            kettle > heats to … degrees: passed
            kettle > leaks at … degrees: failed
            kettle > pours > the first cup: passed
            kettle > pours > the second cup: passed
            kettle > sings: skipped
            kettle > hangs: failed
            kettle > socket > plugs in: failed
        "#]],
    );
}

#[test]
fn nextest_junit() {
    check(
        "cargo",
        &["nextest.xml"],
        expect![[r#"
            tests::boils: passed
            tests::overflows: failed (2 attempts)
            tests::descales: skipped
            tests::whistles: flaky (2 attempts)
            tests::heats: passed
            tests::leaks: failed (2 attempts)
            tests::explodes: failed (2 attempts)
            tests::hangs: failed (2 attempts)
        "#]],
    );
}

#[test]
fn libtest_json() {
    check(
        "cargo",
        &["libtest.json"],
        expect![[r#"
        tests::boils: passed
        tests::overflows: failed
        tests::descales: skipped
        tests::whistles: failed
        tests::heats: passed
        tests::leaks: failed
    "#]],
    );
    check(
        "cargo",
        &["libtest-crash.json"],
        expect![[r#"
        tests::explodes: failed
        incomplete: a test binary ended before its tests did
    "#]],
    );
}

#[test]
fn surefire() {
    check(
        "maven",
        &["surefire-kettle.xml", "surefire-socket.xml"],
        expect![[r#"
        KettleTest.boils: passed
        KettleTest.overflows: failed
        KettleTest.descales: skipped
        KettleTest.whistles: failed
        KettleTest.heats: passed
        KettleTest.leaks: failed
        KettleTest.pours: passed
        KettleTest.WhenEmpty.staysCold: passed
        KettleTest.hangs: failed
        SocketTest.plugsIn: failed
    "#]],
    );
    check(
        "junit4",
        &["surefire-rerun.xml"],
        expect![[r#"
        KettleTest.boils: passed
        KettleTest.overflows: failed (2 attempts)
        KettleTest.descales: skipped
        KettleTest.whistles: flaky (2 attempts)
    "#]],
    );
}

#[test]
fn pytest_module_that_cannot_be_imported_is_a_group() {
    let [report] = &kettle::read(&["pytest-broken.xml"])[..] else { panic!("one report") };
    assert_eq!(report.cases[0].scope, Scope::Group);
    assert_eq!(report.cases[0].name.path, ["test_broken"]);
    assert_eq!(report.cases[0].outcome, Outcome::Failed);
}

#[test]
fn behave_has_scenarios_and_no_symbols() {
    let [report] = &kettle::read(&["behave.xml"])[..] else { panic!("one report") };
    assert_eq!(report.tool, Tool::Behave);
    let cases = report.cases.iter().map(|case| format!("{}: {}\n", case.name, case.outcome.as_str()));
    expect![[r#"
        kettle.Kettle.boils: passed
        kettle.Kettle.overflows: failed
        kettle.Kettle.descales: skipped
        kettle.Kettle.heats to 80 [1.1]: passed
        kettle.Kettle.heats to 100 [1.2]: passed
    "#]]
    .assert_eq(&cases.collect::<String>());
}

#[test]
fn properties_verify() {
    for name in ["pytest-xunit1.xml", "pytest-xunit2.xml"] {
        let kettle = Kettle::new("pytest", &kettle::read(&[name]), None);
        let [test] = kettle.tests("boils")[..] else { panic!("one test") };
        assert!(kettle.results.tests[test].verifies.contains("REQ-027"));
    }
}

#[test]
fn go_test_json() {
    check(
        "go",
        &["go.json"],
        expect![[r#"
            TestBoils: passed
            TestOverflows: failed
            TestDescales: skipped
            TestHeats: passed
            TestLeaks: failed
            TestPours: passed
            TestIdles: skipped
        "#]],
    );
    check(
        "go",
        &["go-crash.json"],
        expect![[r#"
        TestBoils: passed
        TestExplodes: failed
        incomplete: the tests of example.com/kettle ended early
    "#]],
    );
    check(
        "go",
        &["go-timeout.json"],
        expect![[r#"
        TestBoils: passed
        TestHangs: failed
        incomplete: the tests of example.com/kettle ended early
    "#]],
    );
    check(
        "go",
        &["go-broken.json"],
        expect![[r#"
            TestImports: failed
        "#]],
    );
    check(
        "go",
        &["go-twice.json"],
        expect![[r#"
        TestBoils: passed (2 attempts)
    "#]],
    );
}

#[track_caller]
fn check(name: &str, reports: &[&str], expected: Expect) {
    expected.assert_eq(&Kettle::new(name, &kettle::read(reports), None).shown());
}
