//! JSON lines of libtest: `cargo test -- -Z unstable-options --format json --report-time`.

use std::borrow::Cow;
use std::collections::HashMap;

use serde::Deserialize;

use super::{Cases, json, message, milliseconds};
use crate::outcome::Outcome;
use crate::refusal::{Read, Wrong};
use crate::report::{Case, Form, Report, TestName, Tool};

#[derive(Deserialize)]
struct Event<'t> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'t, str>,
    #[serde(borrow)]
    event: Option<Cow<'t, str>>,
    #[serde(borrow)]
    name: Option<Cow<'t, str>>,
    exec_time: Option<f64>,
    #[serde(borrow)]
    stdout: Option<Cow<'t, str>>,
    #[serde(borrow)]
    message: Option<Cow<'t, str>>,
}

pub fn read(text: &str) -> Read<Report> {
    let mut cases = Cases::default();
    // Binaries run sequentially, and each has a suite: equal names in two of them are two tests.
    let mut suite = 0;
    let mut is_open = false;
    let mut incomplete = None;
    let mut running: HashMap<String, usize> = HashMap::new();
    for (line, offset, is_last) in lines(text) {
        if !line.starts_with('{') {
            continue;
        }
        let event: Event<'_> = json::parse_line(line, offset, is_last)?;
        let kind = event.event.as_deref().unwrap_or_default();
        match (&*event.kind, kind, &event.name) {
            ("suite", "started", _) => {
                fail_running(&mut running, &mut cases, suite, is_open, &mut incomplete)
                    .map_err(|reason| Wrong::at(offset, reason))?;
                suite += 1;
                is_open = true;
            }
            ("suite", "ok" | "failed", _) => {
                fail_running(&mut running, &mut cases, suite, false, &mut incomplete)
                    .map_err(|reason| Wrong::at(offset, reason))?;
                is_open = false;
            }
            ("test", "started", Some(name)) => {
                running.insert(name.clone().into_owned(), offset);
            }
            ("test", "ok" | "failed" | "ignored", Some(name)) => {
                running.remove(&**name);
                let outcome = match kind {
                    "ok" => Outcome::Passed,
                    "ignored" => Outcome::Skipped,
                    _ => Outcome::Failed,
                };
                let said = event.message.as_deref().or(event.stdout.as_deref().filter(|_| kind == "failed"));
                let case = Case {
                    attempts: vec![outcome],
                    duration_ms: event.exec_time.and_then(|seconds| milliseconds(seconds * 1_000.0)),
                    message: said.and_then(message),
                    ..case(name)
                };
                cases.add(suite, Case { outcome, ..case }).map_err(|reason| Wrong::at(offset, reason))?;
            }
            _ => {}
        }
    }
    fail_running(&mut running, &mut cases, suite, is_open, &mut incomplete).map_err(Wrong::whole)?;
    if suite == 0 {
        return Err(Wrong::whole("the report has no suite"));
    }
    Ok(Report { tool: Tool::Libtest, cases: cases.cases, incomplete, ..Report::default() })
}

/// A test that started but did not end has failed, and a suite that did not end is incomplete.
fn fail_running(
    running: &mut HashMap<String, usize>,
    cases: &mut Cases,
    suite: u32,
    is_open: bool,
    incomplete: &mut Option<String>,
) -> Result<(), String> {
    if is_open || !running.is_empty() {
        incomplete.get_or_insert_with(|| "a test binary ended before its tests did".to_owned());
    }
    let mut left: Vec<(usize, String)> = running.drain().map(|(name, offset)| (offset, name)).collect();
    left.sort_unstable();
    for (_, name) in left {
        let message = Some("started and never ended".to_owned());
        let attempts = vec![Outcome::Failed];
        cases.add(suite, Case { attempts, outcome: Outcome::Failed, message, ..case(&name) })?;
    }
    Ok(())
}

fn case(name: &str) -> Case {
    let name = name.strip_suffix(" - should panic").unwrap_or(name);
    let path = name.split("::").map(str::to_owned).collect();
    Case { name: TestName { path, form: Form::Rust, ..TestName::default() }, ..Case::default() }
}

/// Each line, where it begins, and whether it is the last one.
pub fn lines(text: &str) -> impl Iterator<Item = (&str, usize, bool)> {
    let mut offset = 0;
    text.split_inclusive('\n').map(move |line| {
        let at = offset;
        offset += line.len();
        (line.trim_matches(['\u{FEFF}', '\n', '\r', ' ', '\t']), at, offset == text.len())
    })
}
