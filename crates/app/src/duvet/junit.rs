//! Problems as JUnit XML, which CI systems show as tests: a suite for each specification, a case for each requirement.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use trace::Diagnostic;
use trace::model::{Model, TraceStatus};

use super::server::line as problem_line;

/// Writes the requirements as test cases, and other problems as a separate suite. A missing requirement
/// fails; one that is incomplete but not required is skipped.
pub fn write(
    model: &Model,
    missing: &BTreeMap<u32, Diagnostic>,
    problems: &[Diagnostic],
    is_denied: bool,
) -> String {
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"duvet\">\n");
    for specification in &model.catalogue.specifications {
        let numbers = model.catalogue.requirements_of(specification);
        let n_failures = missing.range(numbers.clone()).count();
        let is_open = |number: &u32| model.state(*number).status != TraceStatus::Done;
        let n_skipped = numbers.clone().filter(is_open).count() - n_failures;
        let _ = writeln!(
            text,
            "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{n_failures}\" skipped=\"{n_skipped}\">",
            escape(&specification.id),
            numbers.len(),
        );
        for number in numbers {
            let requirement = model.requirement(number);
            let (_, section) = model.catalogue.document(requirement.section);
            let (class, name) = (escape(&section.id), escape(model.catalogue.text(number)));
            let status = model.state(number).status;
            let result = match missing.get(&number) {
                Some(problem) => format!("<failure message=\"{}\"/>", escape(&problem_line(problem))),
                None if status == TraceStatus::Done => String::new(),
                None => format!("<skipped message=\"{}\"/>", status.name()),
            };
            case(&mut text, &class, &name, &result);
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
        let message = escape(&problem_line(problem));
        // The corrected comment has several lines.
        let body: String = problem
            .help
            .iter()
            .filter(|help| help.contains('\n'))
            .flat_map(|help| help.lines())
            .map(|line| format!("\n{}", escape(line)))
            .collect();
        let failure = match body.as_str() {
            "" => format!("<failure message=\"{message}\"/>"),
            body => format!("<failure message=\"{message}\">{body}\n</failure>"),
        };
        case(&mut text, problem.code.name(), &message, if is_failure(problem) { &failure } else { "" });
    }
    text + "  </testsuite>\n</testsuites>\n"
}

fn case(text: &mut String, class: &str, name: &str, result: &str) {
    let _ = match result {
        "" => writeln!(text, "    <testcase classname=\"{class}\" name=\"{name}\"/>"),
        _ => writeln!(text, "    <testcase classname=\"{class}\" name=\"{name}\">{result}</testcase>"),
    };
}

/// Escapes characters for an attribute; those that XML does not allow become `�`.
pub fn escape(text: &str) -> String {
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
