//! JSON lines of `go test -json`.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use serde::Deserialize;

use super::{Cases, json, libtest, message, milliseconds};
use crate::outcome::Outcome;
use crate::path::Source;
use crate::refusal::{Read, Wrong};
use crate::report::{Case, Form, Report, Scope, TestName, Tool};

/// The output of a test, which is kept until its result is known.
const OUTPUT_BYTES_MAX: usize = 8 << 10;

#[derive(Deserialize)]
struct Event<'t> {
    #[serde(borrow, rename = "Action")]
    action: Cow<'t, str>,
    #[serde(borrow, rename = "Package")]
    package: Option<Cow<'t, str>>,
    #[serde(borrow, rename = "Test")]
    test: Option<Cow<'t, str>>,
    #[serde(borrow, rename = "Output")]
    output: Option<Cow<'t, str>>,
    #[serde(rename = "Elapsed")]
    elapsed: Option<f64>,
}

#[derive(Default)]
struct Package {
    is_ended: bool,
    has_failed_test: bool,
    running: HashMap<String, (usize, String)>,
}

/// Before Go 1.24, a package that does not compile is a line of text among the JSON.
pub fn is_build_failure(text: &str) -> bool {
    text.starts_with("FAIL\t") || text.starts_with("# ")
}

pub fn read(_source: &Source<'_>, text: &str) -> Read<Report> {
    let mut cases = Cases::default();
    let mut packages: BTreeMap<String, Package> = BTreeMap::new();
    for (line, offset, is_last) in libtest::lines(text) {
        let at = |reason| Wrong::at(offset, reason);
        if !line.starts_with('{') {
            let failed = line.strip_prefix("FAIL\t").and_then(|rest| rest.split_once(" ["));
            if let Some((package, reason)) = failed {
                let reason = reason.trim_end_matches(']');
                cases.add(0, whole_package(package, reason)).map_err(at)?;
                packages.entry(package.to_owned()).or_default().is_ended = true;
            }
            continue;
        }
        let event: Event<'_> = json::parse_line(line, offset, is_last)?;
        let Some(name) = &event.package else { continue };
        let package = match packages.get_mut(&**name) {
            Some(package) => package,
            None => packages.entry(name.clone().into_owned()).or_default(),
        };
        match (&*event.action, &event.test) {
            ("run", Some(test)) => {
                package.running.insert(test.clone().into_owned(), (offset, String::new()));
            }
            ("output", Some(test)) => {
                if let (Some(output), Some((_, kept))) = (&event.output, package.running.get_mut(&**test))
                    && kept.len() < OUTPUT_BYTES_MAX
                    && !output.starts_with("=== ")
                {
                    kept.push_str(output);
                }
            }
            (action @ ("pass" | "fail" | "skip"), Some(test)) => {
                let output = package.running.remove(&**test).map(|(_, output)| output).unwrap_or_default();
                let outcome = match action {
                    "pass" => Outcome::Passed,
                    "skip" => Outcome::Skipped,
                    _ => Outcome::Failed,
                };
                package.has_failed_test |= outcome == Outcome::Failed;
                let case = Case {
                    attempts: vec![outcome],
                    outcome,
                    duration_ms: event.elapsed.and_then(|seconds| milliseconds(seconds * 1_000.0)),
                    message: message(&output).filter(|_| outcome != Outcome::Passed),
                    ..case(name, test)
                };
                cases.add(0, case).map_err(at)?;
            }
            (action @ ("pass" | "fail" | "skip"), None) => {
                package.is_ended = true;
                // A failed build, `TestMain` or `init`, unless a test failed.
                if action == "fail" && !package.has_failed_test && package.running.is_empty() {
                    cases.add(0, whole_package(name, "the package failed")).map_err(at)?;
                }
            }
            _ => {}
        }
    }
    let mut incomplete = None;
    for (name, package) in &mut packages {
        if !package.is_ended || !package.running.is_empty() {
            incomplete.get_or_insert_with(|| format!("the tests of {name} ended early"));
        }
        let mut left: Vec<_> = package.running.drain().collect();
        left.sort_unstable_by_key(|(_, (offset, _))| *offset);
        for (test, (offset, _)) in left {
            let message = Some("started and never ended".to_owned());
            let attempts = vec![Outcome::Failed];
            let case = Case { attempts, outcome: Outcome::Failed, message, ..case(name, &test) };
            cases.add(0, case).map_err(|reason| Wrong::at(offset, reason))?;
        }
    }
    Ok(Report { tool: Tool::GoTest, cases: cases.cases, incomplete, ..Report::default() })
}

fn case(package: &str, test: &str) -> Case {
    let (function, subtest) = test.split_once('/').unwrap_or((test, ""));
    let name = TestName {
        package: Some(package.to_owned()),
        path: vec![function.to_owned()],
        form: Form::Go,
        parameters: (!subtest.is_empty()).then(|| subtest.to_owned()),
        ..TestName::default()
    };
    Case { name, ..Case::default() }
}

fn whole_package(package: &str, reason: &str) -> Case {
    Case {
        name: TestName { package: Some(package.to_owned()), form: Form::Go, ..TestName::default() },
        scope: Scope::Group,
        attempts: vec![Outcome::Failed],
        outcome: Outcome::Failed,
        message: message(reason),
        ..Case::default()
    }
}
