//! `/admin/projects`: create, rename, close and delete projects.

use maud::{Markup, html};
use ops::known;
use serde_json::{Map, Value, json};

use crate::form::{Field, form};
use crate::page::{Answers, Asked, Page, Question, Shown, View, encode};
use crate::parts::{hidden, more, paged, post, text};
use crate::time::ago;

pub const PAGE: Page = Page { path: "/admin/projects", nav: None, ask, show };
/// Where the form for a new project is.
pub const NEW: &str = "/admin/projects#new";

fn ask(asked: &Asked, answers: &Answers) -> Vec<Question> {
    if answers.has("listed") {
        return Vec::new();
    }
    vec![
        Question::permission("may", known::CREATE_PROJECT),
        Question::needed("listed", known::LIST_PROJECTS, paged(asked, json!({}))),
    ]
}

fn show(view: &View<'_>) -> Shown {
    let access = [("open", "Everybody"), ("members", "Its members and administrators")];
    let access = access.map(|(value, words)| (value.to_owned(), words.to_owned())).to_vec();
    let fields = [
        Field::new("name"),
        Field::new("key"),
        Field::new("description"),
        Field::choosing("access", access).labelled("Who sees it"),
    ];
    let values = Map::from_iter([("access".to_owned(), json!("open"))]);
    let body = html! {
        div.page.wide {
            h1 { "Projects" }
            div.scrolled tabindex="0" role="region" aria-label="Projects" {
                table.records {
                    thead { tr { th { "Key" } th { "Name" } th { "Seen by" } th { "Since" } th { "Actions" } } }
                    tbody { @for project in view.answers.list("listed") { (one(view, project)) } }
                }
            }
            (more(view, "listed"))
            section.card #new {
                h2 { "New project" }
                (post(known::CREATE_PROJECT, "/p/{key}", html! {
                    (form(known::CREATE_PROJECT, &fields, &values, None))
                    p.actions { button.primary { "Create" } }
                }))
            }
        }
    };
    Shown { title: "Projects".to_owned(), project: None, body }
}

fn one(view: &View<'_>, project: &Value) -> Markup {
    let key = text(project, "key");
    let change = format!(
        "/operations/{}?project={}&name={}&description={}&_next={}",
        known::UPDATE_PROJECT.name,
        encode(key),
        encode(text(project, "name")),
        encode(text(project, "description")),
        PAGE.path
    );
    html! {
        tr {
            td { a href={ "/p/" (key) } { (key) } }
            td { (text(project, "name")) }
            td { @if text(project, "access") == "members" { "members" } @else { "everybody" } }
            td { (ago(text(project, "created_at"), view.now)) }
            td {
                div.buttons {
                    a.quiet.button href={ "/p/" (key) "/members" } { "Members" }
                    a.quiet.button href={ "/p/" (key) "/deleted" } { "Deleted" }
                    a.quiet.button href=(change) { "Rename" }
                    (post(known::DELETE_PROJECT, PAGE.path, html! {
                        (hidden("project", key)) (hidden("dry_run", "true")) button.quiet.danger { "Delete" }
                    }))
                }
            }
        }
    }
}
