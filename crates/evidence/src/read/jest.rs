//! JSON of jest, and of vitest, which differs in the names for tests that did not run.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::{ATTEMPTS_MAX, Cases, json, message, milliseconds};
use crate::outcome::{self, Outcome};
use crate::path::Source;
use crate::refusal::{Read, Wrong};
use crate::report::{Case, Form, Report, Scope, TestName, Tool};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Document<'t> {
    /// vitest does not have it.
    was_interrupted: Option<bool>,
    #[serde(borrow)]
    test_results: Vec<File<'t>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct File<'t> {
    #[serde(borrow)]
    name: Cow<'t, str>,
    #[serde(borrow)]
    status: Cow<'t, str>,
    #[serde(borrow)]
    message: Option<Cow<'t, str>>,
    #[serde(borrow)]
    assertion_results: Vec<Assertion<'t>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Assertion<'t> {
    #[serde(borrow, default)]
    ancestor_titles: Vec<Cow<'t, str>>,
    #[serde(borrow)]
    title: Option<Cow<'t, str>>,
    #[serde(borrow)]
    status: Cow<'t, str>,
    duration: Option<f64>,
    #[serde(borrow)]
    failure_messages: Option<Vec<Cow<'t, str>>>,
    location: Option<Location>,
    invocations: Option<usize>,
    retry_reasons: Option<Vec<IgnoredAny>>,
    /// Whether the test is expected to fail.
    failing: Option<bool>,
}

#[derive(Deserialize)]
struct Location {
    line: u32,
}

pub fn read(source: &Source<'_>, text: &str, from: &str) -> Read<Report> {
    let document: Document<'_> = json::parse(text, from)?;
    let tool = if document.was_interrupted.is_some() { Tool::JestJson } else { Tool::VitestJson };
    let mut incomplete = (document.was_interrupted == Some(true)).then(|| "jest was interrupted".to_owned());
    let mut cases = Cases::default();
    for file in &document.test_results {
        let wrong = |reason: String| Wrong::where_found(text.as_bytes(), &file.name, reason);
        let path = source.test_file(&file.name).map_err(wrong)?;
        for assertion in &file.assertion_results {
            let case = assertion.case(&path, tool);
            if case.outcome == Outcome::NotRun {
                incomplete
                    .get_or_insert_with(|| format!("{} stopped before all tests had run", tool.as_str()));
            }
            cases.add(0, case).map_err(wrong)?;
        }
        // A failed import leaves no test to name.
        if file.assertion_results.is_empty() && file.status == "failed" {
            let said = file.message.as_deref().and_then(message);
            cases.add(0, whole_file(&path, said)).map_err(wrong)?;
        }
    }
    Ok(Report { tool, cases: cases.cases, incomplete, ..Report::default() })
}

impl Assertion<'_> {
    fn case(&self, file: &str, tool: Tool) -> Case {
        let messages = self.failure_messages.as_deref().unwrap_or_default();
        let said = messages.first().and_then(|first| message(first));
        let Some(title) = &self.title else { return whole_file(file, said) };
        let last = match &*self.status {
            "passed" if self.failing == Some(true) => Outcome::Skipped,
            "passed" => Outcome::Passed,
            // vitest uses this for tests left out by `--bail` or a killed worker, jest for skipped ones.
            "pending" if tool == Tool::VitestJson => Outcome::NotRun,
            "pending" | "skipped" | "todo" | "disabled" => Outcome::Skipped,
            _ => Outcome::Failed,
        };
        let n_retries = self.retry_reasons.as_ref().map_or(0, Vec::len);
        // A passing test has messages only from failed attempts.
        let n_messages = if last == Outcome::Passed { messages.len() } else { 0 };
        let n_earlier = n_retries.max(n_messages).max(self.invocations.unwrap_or(1).saturating_sub(1));
        let mut attempts = vec![Outcome::Failed; n_earlier.min(ATTEMPTS_MAX)];
        attempts.push(last);
        let path =
            self.ancestor_titles.iter().chain([title]).map(|title| title.clone().into_owned()).collect();
        Case {
            name: TestName {
                file: Some(file.to_owned()),
                line: self.location.as_ref().map(|location| location.line),
                path,
                form: Form::Titles,
                ..TestName::default()
            },
            outcome: outcome::of_attempts(&attempts),
            attempts,
            duration_ms: self.duration.and_then(milliseconds),
            message: said,
            ..Case::default()
        }
    }
}

fn whole_file(file: &str, message: Option<String>) -> Case {
    Case {
        name: TestName { file: Some(file.to_owned()), form: Form::Titles, ..TestName::default() },
        scope: Scope::Group,
        attempts: vec![Outcome::Failed],
        outcome: Outcome::Failed,
        message,
        ..Case::default()
    }
}
