//! `/operations/{name}`: a form for what has no page of its own.

use maud::{Markup, html};
use ops::{Arguments, Entry};
use serde_json::{Map, Value, json};

use crate::form::{Field, form};
use crate::page::{Answers, Asked, Page, Problem, Question, Shown, View};
use crate::parts::post;

/// The path without the name.
pub const OPERATION_FORM: &str = "/operations/";

pub const PAGE: Page = Page { path: "/operations/{name}", nav: None, ask, show };

fn ask(_: &Asked, _: &Answers) -> Vec<Question> {
    Vec::new()
}

fn show(view: &View<'_>) -> Shown {
    let name = view.asked.parameter("name");
    let values = view.asked.query.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
    match ops::find(name) {
        Some(entry) => operation_form(entry, &values, None, view.asked.first("_next").unwrap_or("/")),
        None => Shown {
            title: "Not found".to_owned(),
            project: None,
            body: html! { section.message { h1 { "Not found" } p { "There is no operation of that name." } } },
        },
    }
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
    let body: Markup = html! {
        div.page {
            h1 { (title) }
            @if let Some(problem) = problem { p.error role="alert" { (problem.message) } }
            (post(entry, next, html! {
                (form(entry, &fields, values, problem))
                p.actions { button.primary { "Do it" } a.quiet href=(next) { "Cancel" } }
            }))
        }
    };
    Shown { title, project: None, body }
}
