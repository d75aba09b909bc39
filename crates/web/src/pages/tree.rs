//! `/p/{key}/tree`: epics, stories, criteria and requirements as they hang together.

use maud::{Markup, html};
use ops::known;
use serde_json::{Value, json};

use crate::page::{Answers, Asked, Page, Question, Shown, View};
use crate::parts::{link, priority, status, text, title};

pub const PAGE: Page = Page { path: "/p/{key}/tree", nav: Some(("Tree", 't')), ask, show };

/// How many epics a page has.
const EPICS: usize = 20;

fn ask(asked: &Asked, answers: &Answers) -> Vec<Question> {
    if answers.has("tree") {
        return Vec::new();
    }
    let mut arguments = json!({"project": asked.parameter("key"), "limit": EPICS});
    if let Some(cursor) = asked.first("cursor") {
        arguments["cursor"] = json!(cursor);
    }
    vec![Question::needed("tree", known::GET_HIERARCHY, arguments)]
}

fn show(view: &View<'_>) -> Shown {
    let key = view.asked.parameter("key");
    let null = Value::Null;
    let page = view.answers.get("tree").unwrap_or(&null);
    let body = html! {
        div.page {
            div.heading {
                h1 { "Tree" }
                p.actions { a.button href={ "/p/" (key) "/new/epic" } data-key="c" { "Create an epic" } }
            }
            @if view.answers.list("tree").is_empty() { p.message { "There is no epic yet." } }
            ul.tree { @for epic in view.answers.list("tree") { (branch(epic, 0)) } }
            @if let Some(cursor) = page["next_cursor"].as_str() {
                p.actions { a.button href=(view.asked.with("cursor", Some(cursor))) { "Next " (EPICS) " epics" } }
            }
        }
    };
    Shown { title: "Tree".to_owned(), project: Some(key.to_owned()), body }
}

fn branch(entity: &Value, depth: usize) -> Markup {
    let children = entity["children"].as_array().map(Vec::as_slice).unwrap_or_default();
    let label = html! {
        span.row {
            (link(text(entity, "reference_id")))
            a.title href={ "/r/" (text(entity, "reference_id")) } { (title(entity)) }
            (status(text(entity, "status")))
            (priority(&entity["priority"]))
        }
    };
    html! {
        li.{ "kind-" (text(entity, "kind")) } {
            (label)
            @if !children.is_empty() {
                details open[depth < 2] {
                    summary { (children.len()) " below " (text(entity, "reference_id")) }
                    ul { @for child in children { (branch(child, depth + 1)) } }
                }
            }
        }
    }
}
