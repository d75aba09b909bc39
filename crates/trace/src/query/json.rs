//! Answers for programs.

use std::io::{self, Write};

use serde::Serialize;

use super::execution::LineExecution;
use super::{CitedAt, QueryAnswer, QueryFinding, QueryOutcome, Related};
use crate::report::Report;

/// Writes answers as one JSON document.
pub fn write(report: &Report<'_>, answers: &[QueryAnswer], out: &mut dyn Write) -> io::Result<()> {
    let places = super::places(report);
    let document = AnswerDocument {
        is_passed: answers.iter().all(QueryAnswer::is_passed),
        checks: answers.iter().map(|answer| check(report, &places, answer)).collect(),
    };
    serde_json::to_writer_pretty(&mut *out, &document)?;
    out.write_all(b"\n")
}

#[derive(Serialize)]
struct AnswerDocument<'a> {
    #[serde(rename = "passed")]
    is_passed: bool,
    checks: Vec<CheckRow<'a>>,
}

#[derive(Serialize)]
struct CheckRow<'a> {
    check: &'static str,
    #[serde(rename = "passed")]
    is_passed: bool,
    /// The number of findings with each outcome.
    counts: serde_json::Map<String, serde_json::Value>,
    #[serde(rename = "coverage_reports", skip_serializing_if = "Option::is_none")]
    n_measurements: Option<usize>,
    findings: Vec<FindingRow<'a>>,
}

#[derive(Serialize)]
struct FindingRow<'a> {
    outcome: &'static str,
    #[serde(rename = "passed")]
    is_passed: bool,
    #[serde(flatten)]
    annotation: AnnotationRow<'a>,
    quote: &'a str,
    /// Words that are neither implemented nor tested, if others are.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    missing: &'a [String],
    related: Vec<AnnotationRow<'a>>,
}

#[derive(Serialize)]
struct AnnotationRow<'a> {
    path: &'a str,
    line: u32,
    r#type: &'static str,
    target: &'a str,
    /// Where its text stands in the specification.
    #[serde(skip_serializing_if = "Option::is_none")]
    specification_line: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    execution: Option<&'static str>,
    /// The line that makes the execution unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    unknown_line: Option<u32>,
}

fn check<'a>(report: &'a Report<'a>, places: &[Option<CitedAt>], answer: &'a QueryAnswer) -> CheckRow<'a> {
    let count =
        |outcome: QueryOutcome| answer.findings.iter().filter(|finding| finding.outcome == outcome).count();
    let counts = QueryOutcome::ALL.into_iter().map(|outcome| (outcome.name(), count(outcome)));
    let counts = counts.filter(|(_, count)| *count > 0);
    CheckRow {
        check: answer.check.name(),
        is_passed: answer.is_passed(),
        counts: counts.map(|(name, count)| (name.to_owned(), count.into())).collect(),
        n_measurements: answer.n_measurements,
        findings: answer.findings.iter().map(|finding| row(report, places, finding)).collect(),
    }
}

fn row<'a>(report: &'a Report<'a>, places: &[Option<CitedAt>], finding: &'a QueryFinding) -> FindingRow<'a> {
    let own = Related { annotation: finding.annotation, execution: finding.execution };
    FindingRow {
        outcome: finding.outcome.name(),
        is_passed: finding.outcome.is_passed(),
        annotation: annotation(report, places, &own),
        quote: &report.annotations[finding.annotation as usize].annotation.quote,
        missing: &finding.missing,
        related: finding.related.iter().map(|related| annotation(report, places, related)).collect(),
    }
}

fn annotation<'a>(
    report: &'a Report<'a>,
    places: &[Option<CitedAt>],
    related: &Related,
) -> AnnotationRow<'a> {
    let numbered = &report.annotations[related.annotation as usize];
    let unknown_line = match related.execution {
        Some(LineExecution::Unknown(line)) if line > 0 => Some(line),
        _ => None,
    };
    AnnotationRow {
        path: &report.files[numbered.file as usize].path,
        line: numbered.annotation.line,
        r#type: numbered.annotation.kind.name(),
        target: &numbered.annotation.target,
        specification_line: places[related.annotation as usize].map(|place| place.line),
        execution: related.execution.map(|execution| match execution {
            LineExecution::Executed => "executed",
            LineExecution::NotExecuted => "not-executed",
            LineExecution::Structural => "structural",
            LineExecution::Unknown(_) => "unknown",
        }),
        unknown_line,
    }
}
