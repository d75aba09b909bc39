//! Requirements in answers: their text, status, and how to cite them.

use mcp::{Failure, FailureKind, ToolOutput};
use serde_json::{Value, json};
use trace::Level;
use trace::model::{Citation, Model, Named};

use super::advice;
use super::list::{ListWindow, shorten, tokens_max_or};

/// How many citations of a requirement are listed.
const CITATIONS_MAX: usize = 20;
/// How many places of nearby code are listed.
const NEARBY_MAX: usize = 3;
/// The default length of an answer.
const TOKENS_DEFAULT: u64 = 8_000;

/// A requirement in searches and lists.
pub fn requirement(model: &Model, number: u32) -> Value {
    let mut row = json!({
        "identifier": model.catalogue.identifier(number),
        "full_path": model.catalogue.requirement_path(number),
        "text": model.catalogue.text(number),
    });
    add_place(&mut row, model, number);
    row
}

/// A requirement among those to work on next.
pub fn priority(model: &Model, number: u32) -> Value {
    let state = model.state(number);
    let mut row = json!({
        "full_path": model.catalogue.requirement_path(number),
        "level": level(model.requirement(number).level),
        "status": state.progress.name(),
        "todo_count": state.n_todos,
        "text": model.catalogue.text(number),
    });
    add_place(&mut row, model, number);
    row
}

/// Adds the place of a requirement, the target for its citations, and its short id.
fn add_place(row: &mut Value, model: &Model, number: u32) {
    let section = model.requirement(number).section;
    row["section"] = json!(model.catalogue.document(section).1.title);
    row["target"] = json!(model.catalogue.target(section));
    row["short_id"] = json!(model.catalogue.short_id(number));
}

/// The name of a level.
pub fn level(level: Level) -> &'static str {
    if level == Level::Auto { "unspecified" } else { level.name() }
}

/// Returns the status of the requirement that a reference names, with its text, place and citations. If it names several
/// requirements, the status is that of the least finished one, and all of them are listed.
//@= spexus://REQ-192
//@# 003 §4.3: get_requirement_status says what is done, needs tests, is in progress or not started
pub fn status(model: &Model, reference: &str, arguments: &Value) -> Result<ToolOutput, Failure> {
    let numbers = model.find(reference);
    let least = numbers.iter().copied().min_by_key(|number| model.state(*number).status);
    let Some(least) = least else {
        let message = match advice::requirement(model, reference) {
            Some(advice) => format!("Requirement not found\nreq_identifier: {advice}"),
            None => "Requirement not found".to_owned(),
        };
        return Err(Failure::new(FailureKind::NotFound, message));
    };
    let state = model.state(least);
    let mut answer = json!({"status": state.status.name(), "detail": state.label.name()});
    if let Some(note) = note_on_place(model, reference) {
        answer["note"] = json!(note);
    }
    if numbers.len() == 1 {
        describe(&mut answer, model, least);
        let budget = tokens_max_or(arguments, TOKENS_DEFAULT);
        return Ok(ToolOutput::json(shorten(answer, budget)));
    }
    let text = model.catalogue.text(least);
    let is_one_text = numbers.iter().all(|number| model.catalogue.text(*number) == text);
    if is_one_text {
        answer["text"] = json!(text);
    }
    let row = |index: usize| {
        let (number, state) = (numbers[index], model.state(numbers[index]));
        let mut row = json!({
            "full_path": model.catalogue.requirement_path(number),
            "status": state.status.name(),
            "detail": state.label.name(),
        });
        if !is_one_text {
            row["text"] = json!(model.catalogue.text(number));
        }
        add_place(&mut row, model, number);
        row
    };
    answer["match_count"] = json!(numbers.len());
    let window = ListWindow::read_or(arguments, tokens_max_or(arguments, TOKENS_DEFAULT))?;
    Ok(ToolOutput::json(window.fill(answer, "matches", numbers.len(), row)))
}

/// Adds details of a requirement.
fn describe(answer: &mut Value, model: &Model, number: u32) {
    answer["level"] = json!(level(model.requirement(number).level));
    answer["text"] = json!(model.catalogue.text(number));
    add_place(answer, model, number);
    answer["full_path"] = json!(model.catalogue.requirement_path(number));
    let cited = |citation: &Citation| json!({"id": citation.id(), "type": citation.kind().name()});
    answer["citations"] = model.citations_of(number).take(CITATIONS_MAX).map(cited).collect();
    let n_citations = model.citations_of(number).count();
    if n_citations > CITATIONS_MAX {
        answer["citation_count"] = json!(n_citations);
    }
    if n_citations == 0 {
        let near = model.nearby(number, NEARBY_MAX);
        answer["nearby"] = near.into_iter().map(Citation::id).collect();
    }
}

/// Says which citation was found by a line near it.
fn note_on_place(model: &Model, reference: &str) -> Option<String> {
    match model.named(reference)? {
        Named::Citation(citation) => note_on_line(reference, &citation),
        _ => None,
    }
}

/// The same for a citation that was found.
pub fn note_on_line(reference: &str, citation: &Citation) -> Option<String> {
    let line = reference.rsplit_once(':').and_then(|(_, line)| line.trim().parse::<u32>().ok())?;
    let own = citation.annotation().line;
    (line != own).then(|| format!("no citation begins at line {line}; the nearest is {}", citation.id()))
}
