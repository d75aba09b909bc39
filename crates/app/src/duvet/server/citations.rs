//! Tools about citations, existing or proposed.

use std::sync::Arc;

use mcp::{Failure, ToolOutput};
use serde_json::{Value, json};
use trace::managed::ManagedName;
use trace::model::{CitationVerdict, Model, Quoted, QuotedUnit};
use trace::project::open_named;
use trace::{Code, Specification};

use super::TraceServer;
use super::list::ListWindow;
use super::paths::within;
use super::rows::requirement;
use super::tools::Scope;

/// Checks a citation.
//@= spexus://REQ-190
//@# 003 §4.1: validate_citation says whether a citation is valid, or what is wrong and the nearest that is right
pub fn validate(server: &TraceServer, model: &Model, arguments: &Value) -> ToolOutput {
    let text = |key: &str| arguments.get(key).and_then(Value::as_str);
    let file = text("file_path").map(|path| within(&server.options.root, path));
    let verdict = verdict(server, model, text("citation").unwrap_or_default(), file.as_deref());
    let mut answer = json!({"valid": verdict.is_valid()});
    add(&mut answer, "error", verdict.error.as_deref());
    add(&mut answer, "detail", verdict.detail.as_deref());
    add(&mut answer, "nearest", verdict.nearest.as_deref());
    add(&mut answer, "difference", verdict.difference.as_deref());
    let warning = verdict.warnings.join("; ");
    add(&mut answer, "warning", Some(warning.as_str()).filter(|warning| !warning.is_empty()));
    if verdict.is_fuzzy {
        answer["fuzzy"] = json!(true);
    }
    match verdict.requirements.as_slice() {
        [] => {}
        [only] => {
            answer["requirement"] = requirement(model, only.number);
            add_share(&mut answer, only.share, &only.rest);
        }
        several => {
            let item = |quoted: &Quoted| {
                let mut item = requirement(model, quoted.number);
                add_share(&mut item, quoted.share, &quoted.rest);
                item
            };
            answer["requirements"] = several.iter().take(REQUIREMENTS_MAX).map(item).collect();
        }
    }
    if !verdict.units.is_empty() {
        let unit = |unit: &QuotedUnit| {
            let mut item = json!({"text": unit.text});
            add_share(&mut item, unit.share, &unit.rest);
            item
        };
        answer["units"] = verdict.units.iter().take(REQUIREMENTS_MAX).map(unit).collect();
    }
    add(&mut answer, "lines", verdict.lines.as_deref());
    ToolOutput::json(answer)
}

/// How many of the requirements that a quote covers are listed.
const REQUIREMENTS_MAX: usize = 20;

/// How many characters of a text are shown. Text to paste is not cut, but left out if it is
/// longer than this many bytes.
const PROSE_CHARACTERS_MAX: usize = 400;
const PASTED_SIZE_MAX_BYTES: usize = 2_000;

fn add(answer: &mut Value, key: &str, value: Option<&str>) {
    let Some(value) = value else { return };
    match key {
        "nearest" | "lines" if value.len() > PASTED_SIZE_MAX_BYTES => {}
        "nearest" | "lines" => answer[key] = json!(value),
        _ => answer[key] = json!(words::cut(value, PROSE_CHARACTERS_MAX)),
    }
}

/// Says how much of a requirement is quoted. Only complete quotes have 1.
fn add_share(answer: &mut Value, share: f64, rest: &str) {
    let share = if share < 1.0 { (share * 100.0).floor() / 100.0 } else { 1.0 };
    answer["share"] = json!(share);
    add(answer, "rest", Some(rest).filter(|rest| !rest.is_empty()));
}

pub fn verdict(server: &TraceServer, model: &Model, citation: &str, file: Option<&str>) -> CitationVerdict {
    let environment = &crate::duvet::environment;
    model.validate(citation, file, &|annotation| open_named(&server.options, environment, annotation))
}

/// The document of a managed requirement, if the project can cite it.
pub fn managed(server: &TraceServer, name: &ManagedName) -> Option<Arc<Specification>> {
    server.options.managed.as_ref()?;
    let annotation = trace::Annotation {
        line: 1,
        last_line: 1,
        kind: trace::AnnotationKind::default(),
        level: trace::Level::Auto,
        format: trace::Format::Auto,
        target: name.to_string().into(),
        quote: "".into(),
        notes: None,
        places: Default::default(),
    };
    open_named(&server.options, &crate::duvet::environment, &annotation).ok()
}

/// Lists invalid citations.
//@= spexus://REQ-194
//@# 003 §4.5: list_invalid_citations lists every invalid citation with place and reason
pub fn invalid(server: &TraceServer, model: &Model, arguments: &Value) -> Result<ToolOutput, Failure> {
    let scope = Scope::read(model, arguments)?;
    let problems: Vec<_> = model
        .problems()
        .filter(|problem| problem.is_error() || problem.code == Code::SuspectCitation)
        .filter(|problem| {
            scope.as_ref().is_none_or(|scope| {
                let is_named =
                    |text: &str| scope.specification.spellings.iter().any(|name| names(text, name));
                is_named(&problem.message) || problem.places.iter().any(|place| is_named(&place.excerpt))
            })
        })
        .collect();
    let item = |index: usize| {
        let problem = problems[index];
        let place = problem.places.first();
        let own = place.map_or((0, ""), |place| (place.line, place.excerpt.trim()));
        let (line, text) = problem.annotation.as_ref().map_or(own, |(line, text)| (*line, &**text));
        let path = place.map_or("", |place| &place.path);
        let mut item = json!({
            "file_path": path,
            "line_number": line,
            "comment_text": text,
            "error": error_text(problem),
        });
        if error_text(problem) != problem.message {
            item["detail"] = json!(problem.message);
        }
        if let Some(help) = problem.help.first() {
            item["suggestion"] = json!(help);
        }
        let verdict = verdict(server, model, text, Some(path));
        if verdict.code == Some(problem.code) || problem.code == Code::SuspectCitation {
            add(&mut item, "nearest", verdict.nearest.as_deref().filter(|_| verdict.lines.is_some()));
            add(&mut item, "difference", verdict.difference.as_deref());
            add(&mut item, "lines", verdict.lines.as_deref());
        }
        item
    };
    Ok(ListWindow::read(arguments)?.answer(problems.len(), item))
}
/// Returns whether a text contains the name of a specification as a whole word.
fn names(text: &str, name: &str) -> bool {
    let is_part = |character: char| character.is_alphanumeric() || "-_./".contains(character);
    text.match_indices(name).any(|(start, _)| {
        let before = text[..start].chars().next_back();
        let mut after = text[start + name.len()..].chars();
        // A dot may end a sentence.
        let is_longer = match after.next() {
            Some('.') => after.next().is_some_and(is_part),
            next => next.is_some_and(is_part),
        };
        !is_longer && !before.is_some_and(is_part)
    })
}

/// The problem, in the words that clients expect.
fn error_text(problem: &trace::Diagnostic) -> &str {
    match problem.code {
        Code::MissingSpecification => "URL not found",
        Code::InvalidUrl => "Invalid URL",
        Code::MissingSection | Code::UnknownSection => "Section not found",
        Code::UnknownQuote | Code::EmptySection => "Requirement not found",
        _ => &problem.message,
    }
}
