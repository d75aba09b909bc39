//! `/p/{key}/imports`: the imports into a project, each of which can be taken back.

use maud::{Markup, html};
use ops::known;
use serde_json::{Value, json};

use crate::page::{Answers, Asked, Page, Question, Shown, View};
use crate::parts::{hidden, more, paged, post, text};
use crate::time::ago;

pub const PAGE: Page = Page { path: "/p/{key}/imports", nav: None, ask, show };

fn ask(asked: &Asked, answers: &Answers) -> Vec<Question> {
    if answers.has("imports") {
        return Vec::new();
    }
    let about = paged(asked, json!({"project": asked.parameter("key")}));
    vec![Question::needed("imports", known::LIST_IMPORTS, about)]
}

fn show(view: &View<'_>) -> Shown {
    let key = view.asked.parameter("key");
    let imports = view.answers.list("imports");
    let body = html! {
        div.page {
            div.heading {
                h1 { "Imports" }
                @if view.me.may(known::IMPORT) { p.actions { a.button href={ "/p/" (key) "/import" } { "Import a file" } } }
            }
            p.muted { "Your own imports into this project; administrators see everybody's." }
            @if imports.is_empty() { p.message { "No file was imported into this project." } } @else {
                div.scrolled tabindex="0" role="region" aria-label="Imports" {
                    table.records {
                        thead { tr { th { "When" } th { "Who" } th { "Format" } th { "Items" } th { "State" } th { "Actions" } } }
                        tbody { @for import in imports { (row(view, key, import)) } }
                    }
                }
            }
            (more(view, "imports"))
        }
    };
    Shown { title: format!("Imports into {key}"), project: Some(key.to_owned()), body }
}

fn row(view: &View<'_>, key: &str, import: &Value) -> Markup {
    html! {
        tr {
            td { a href={ "/p/" (key) "/imports/" (text(import, "id")) } { (ago(text(import, "created_at"), view.now)) } }
            td { (text(import, "actor")) }
            td { (text(import, "format")) }
            td { (import["rows_done"]) " of " (import["rows_total"]) }
            td { (state(import)) }
            td { (take_back(view, &view.asked.here(), import)) }
        }
    }
}

/// Where an import stands, for people.
fn state(import: &Value) -> &'static str {
    match text(import, "state") {
        "finished" => "Imported",
        "unfinished" => "Running, or stopped",
        "undoing" => "Being taken back",
        _ => "Taken back",
    }
}

/// A button that shows what taking an import back would do, from where it can be done.
pub fn take_back(view: &View<'_>, next: &str, import: &Value) -> Markup {
    let is_there = matches!(text(import, "state"), "finished" | "unfinished" | "undoing");
    html! {
        @if is_there && view.me.may(known::UNDO_IMPORT) {
            (post(known::UNDO_IMPORT, next, html! {
                (hidden("import_id", text(import, "id")))
                (hidden("dry_run", "true"))
                button.quiet.danger { "Take back…" }
            }))
        }
    }
}
