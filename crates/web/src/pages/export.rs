//! `/p/{key}/export`: a project as a file.

use maud::html;
use ops::known;
use serde_json::json;
use store::model::Kind;

use crate::page::{Answers, Asked, Page, Question, Shown, View};
use crate::parts::{KINDS, hidden, post};
use crate::table::columns::{self, Column};

pub const PAGE: Page = Page { path: "/p/{key}/export", nav: None, ask, show };

/// Where files come from. The answer is an attachment.
const EXPORT: &str = "/api/v1/export";
/// What can be had: the rest of the address, the name, and what it is for.
const FILES: [(&str, &str, &str); 7] = [
    (
        "format=html",
        "Specification",
        "one HTML file to read and print, with a title page, an outline and all links",
    ),
    ("format=csv", "Table", "CSV for spreadsheets, with what people look at"),
    (
        "format=csv&columns=all",
        "Table with everything",
        "CSV with ids, versions, times, comments and relationships; it can be imported elsewhere",
    ),
    ("format=markdown&for_reading=true", "Document", "Markdown for reading, in the order of the tree"),
    ("format=markdown", "Document with everything", "Markdown that can be imported elsewhere"),
    ("format=json", "JSON", "for programs, and for comparing two exports"),
    ("format=reqif", "ReqIF", "for other requirements tools"),
];

/// The columns of somebody who has not chosen others.
const CHOSEN: [&str; 5] = ["reference_id", "title", "status", "priority", "assignee"];

/// All columns that the kinds have in their tables, each once.
fn all_columns() -> Vec<Column> {
    let mut all = vec![Column("reference_id")];
    for column in KINDS.into_iter().filter_map(kind_named).flat_map(columns::of) {
        if !all.contains(&column) {
            all.push(column);
        }
    }
    all
}

fn kind_named(name: &str) -> Option<Kind> {
    Kind::ALL.into_iter().find(|kind| kind.name() == name)
}

fn ask(asked: &Asked, answers: &Answers) -> Vec<Question> {
    if answers.has("project") {
        return Vec::new();
    }
    vec![Question::needed("project", known::GET_PROJECT, json!({"project": asked.parameter("key")}))]
}

fn show(view: &View<'_>) -> Shown {
    let key = view.asked.parameter("key");
    let body = html! {
        div.page {
            h1 { "Export" }
            dl.files {
                @for (query, name, about) in FILES {
                    dt { a.button href={ (EXPORT) "?project=" (key) "&" (query) } download { (name) } }
                    dd.muted { (about) }
                }
            }
            h2 { "A table with columns of your choice" }
            (post(known::EXPORT, &format!("/p/{key}/export"), html! {
                (hidden("project", key))
                (hidden("format", "csv"))
                fieldset.boxes {
                    legend { "The kind comes first, then" }
                    @for column in all_columns() {
                        label.check { input type="checkbox" name="columns" value=(column.0) checked[CHOSEN.contains(&column.0)]; " " (column.heading()) }
                    }
                }
                p.actions { button { "Download" } }
            }))
        }
    };
    Shown { title: "Export".to_owned(), project: Some(key.to_owned()), body }
}
