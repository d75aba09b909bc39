//! `/p/{key}/imports/{import}`: what came of an import, which can be taken back.

use maud::html;
use ops::known;
use serde_json::{Value, json};

use super::import::steps;
use super::imports::take_back;
use crate::page::{Answers, Asked, Page, Question, Shown, View};
use crate::parts::text;
use crate::time::ago;

pub const PAGE: Page = Page { path: "/p/{key}/imports/{import}", nav: None, ask, show };
/// The name of an import that has changed nothing.
pub const NOTHING: &str = "nothing";

fn ask(asked: &Asked, answers: &Answers) -> Vec<Question> {
    let import = asked.parameter("import");
    if answers.has("import") || import == NOTHING {
        return Vec::new();
    }
    vec![Question::needed("import", known::GET_IMPORT, json!({"import_id": import}))]
}

fn show(view: &View<'_>) -> Shown {
    let null = Value::Null;
    let key = view.asked.parameter("key");
    let import = view.answers.get("import").unwrap_or(&null);
    let heading = match text(import, "state") {
        "finished" => "Imported",
        "unfinished" => "The import is running, or has stopped",
        "undoing" => "The import is being taken back",
        "undone" => "The import was taken back",
        _ => "Nothing was changed",
    };
    let body = html! {
        div.page {
            (steps(3))
            h1 { (heading) }
            @if import.is_null() {
                p { "Everything in this file is here already." }
            } @else {
                p { (import["rows_done"]) " of " (import["rows_total"]) " items, by " (text(import, "actor")) " " (ago(text(import, "created_at"), view.now)) }
            }
            p.actions {
                a.button href={ "/p/" (key) "/tree" } { "See the tree" }
                @if view.me.may(known::IMPORT) { a.button href={ "/p/" (key) "/import" } { "Import another file" } }
                a.quiet href={ "/p/" (key) "/imports" } { "All imports" }
            }
            @if matches!(text(import, "state"), "finished" | "unfinished" | "undoing") && view.me.may(known::UNDO_IMPORT) {
                section.card {
                    h2 { "Take it back" }
                    p { "What the import has made is deleted, and what it has changed becomes what it was. What somebody has changed since stays." }
                    (take_back(view, &view.asked.here(), import))
                }
            }
        }
    };
    Shown { title: heading.to_owned(), project: Some(key.to_owned()), body }
}
