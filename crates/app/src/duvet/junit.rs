//! Problems as JUnit XML, which CI systems show as tests: a suite for each specification, a case for each requirement.

use std::fmt::Write as _;

use trace::Diagnostic;
use trace::model::{Model, TraceStatus};

use super::server::line as problem_line;

/// Writes the requirements as test cases, and the problems as a suite of their own.
pub fn write(model: &Model, problems: &[Diagnostic], is_denied: bool) -> String {
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"duvet\">\n");
    for specification in &model.catalogue.specifications {
        let numbers = model.catalogue.requirements_of(specification);
        let n_skipped =
            numbers.clone().filter(|number| model.state(*number).status != TraceStatus::Done).count();
        let _ = writeln!(
            text,
            "  <testsuite name=\"{}\" tests=\"{}\" failures=\"0\" skipped=\"{n_skipped}\">",
            escape(&specification.id),
            numbers.len(),
        );
        for number in numbers {
            let requirement = model.requirement(number);
            let (_, section) = model.catalogue.document(requirement.section);
            let (class, name) = (escape(&section.id), escape(model.catalogue.text(number)));
            let status = model.state(number).status;
            let _ = match status {
                TraceStatus::Done => writeln!(text, "    <testcase classname=\"{class}\" name=\"{name}\"/>"),
                _ => writeln!(
                    text,
                    "    <testcase classname=\"{class}\" name=\"{name}\"><skipped message=\"{}\"/></testcase>",
                    status.name()
                ),
            };
        }
        text += "  </testsuite>\n";
    }
    let is_failure = |problem: &Diagnostic| problem.is_error() || is_denied;
    let n_failures = problems.iter().filter(|problem| is_failure(problem)).count();
    let _ = writeln!(
        text,
        "  <testsuite name=\"problems\" tests=\"{}\" failures=\"{n_failures}\">",
        problems.len()
    );
    for problem in problems {
        let (class, message) = (problem.code.name(), escape(&problem_line(problem)));
        let _ = match is_failure(problem) {
            true => writeln!(
                text,
                "    <testcase classname=\"{class}\" name=\"{message}\"><failure message=\"{message}\"/></testcase>"
            ),
            false => writeln!(text, "    <testcase classname=\"{class}\" name=\"{message}\"/>"),
        };
    }
    text + "  </testsuite>\n</testsuites>\n"
}

/// Escapes what may not stand in an attribute; characters that XML does not have become `�`.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            '\t' | '\n' | '\r' => escaped.push(' '),
            '\0'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            _ => escaped.push(character),
        }
    }
    escaped
}
