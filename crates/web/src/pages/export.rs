//! `/p/{key}/export`: a project as a file.

use maud::html;
use ops::known;
use serde_json::json;

use crate::page::{Answers, Asked, Page, Question, Shown, View};
use crate::parts::hidden;

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
            form method="get" action=(EXPORT) {
                (hidden("project", key))
                (hidden("format", "csv"))
                div.field {
                    label for="columns" { "Columns" }
                    input #columns type="text" name="columns" required value="reference_id, title, status, priority, assignee" aria-describedby="help-columns";
                    p.help #help-columns { "Names of fields with commas between them. The kind comes first." }
                }
                p.actions { button { "Download" } }
            }
        }
    };
    Shown { title: "Export".to_owned(), project: Some(key.to_owned()), body }
}
