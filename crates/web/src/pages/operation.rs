//! `/operations/{name}`: a form for what has no page of its own.

use maud::{Markup, html};
use ops::{Arguments, Effect, Entry};
use serde_json::{Map, Value, json};

use crate::form::{Field, form};
use crate::page::{Answers, Asked, Page, Problem, Question, Shown, View};
use crate::parts::{hidden, post};

/// The path without the name.
pub const OPERATION_FORM: &str = "/operations/";

pub const PAGE: Page = Page { path: "/operations/{name}", nav: None, ask, show };

fn ask(asked: &Asked, answers: &Answers) -> Vec<Question> {
    let Some(entry) = ops::find(asked.parameter("name")) else { return Vec::new() };
    if !answers.has("may") {
        return vec![Question::permission("may", entry)];
    }
    if answers.has("answer") || asked.first(ASK).is_none() || !is_asked(entry) {
        return Vec::new();
    }
    let schema = Arguments::new(entry.input_schema());
    let mut arguments = Map::new();
    for (name, value) in
        asked.query.iter().filter(|(name, value)| !name.starts_with('_') && !value.is_empty())
    {
        schema.add(&mut arguments, name, value);
    }
    vec![Question::optional("answer", entry, Value::Object(arguments))]
}

/// Says that the operation is to be asked with what the address says.
const ASK: &str = "_ask";

/// Whether an operation only reads, so that its form is a question whose address can be sent to somebody. What proves who
/// somebody is belongs in no address.
fn is_asked(entry: &Entry) -> bool {
    !entry.writes() && !entry.answers_file && entry.effect != Effect::Public && entry.proof.is_none()
}

fn show(view: &View<'_>) -> Shown {
    let name = view.asked.parameter("name");
    let values = view.asked.query.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
    let Some(entry) = ops::find(name) else {
        let body = html! {
            section.message {
                h1 { "Not found" }
                p { "There is no operation of that name." }
                p { a href=(super::operations::PAGE.path) { "All operations" } }
            }
        };
        return Shown { title: "Not found".to_owned(), project: None, body };
    };
    let problem = view.answers.problem("answer");
    let next = view.asked.first("_next").unwrap_or(super::operations::PAGE.path);
    let mut shown = operation_form(entry, &values, problem, next);
    if let Some(answer) = view.answers.get("answer") {
        shown.body = html! {
            (shown.body)
            section #answer.page.wide.result aria-label="Answer" { h2 { "Answer" } (crate::result::shown(answer)) }
        };
    }
    shown
}

/// The form of an operation, with what was typed and what is wrong with it.
pub fn operation_form(
    entry: &Entry,
    values: &Map<String, Value>,
    problem: Option<&Problem>,
    next: &str,
) -> Shown {
    let known = Arguments::new(entry.input_schema());
    let names: Vec<&str> = known.properties().map(|(name, _)| name).collect();
    let fields: Vec<Field<'_>> = names.iter().map(|name| Field::new(name)).collect();
    let title = entry.summary().trim_end_matches('.').to_owned();
    let documentation = entry.documentation();
    let inside = html! {
        (form(entry, &fields, values, problem))
        p.actions {
            button.primary { @if is_asked(entry) { "Show" } @else { "Run" } }
            a.quiet.button href=(next) { "Cancel" }
        }
    };
    let body: Markup = html! {
        div.page {
            h1 { (title) }
            @for paragraph in documentation.split("\n\n").skip(1) { p.muted { (crate::parts::coded(paragraph)) } }
            @if let Some(problem) = problem { p.error role="alert" { (problem.message) } }
            @if is_asked(entry) {
                form method="get" action={ (OPERATION_FORM) (entry.name) "#answer" } { (hidden(ASK, "yes")) (inside) }
            } @else {
                (post(entry, next, inside))
            }
        }
    };
    Shown { title, project: None, body }
}
