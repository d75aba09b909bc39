//! `/prompts`: what agents are told first. One of them is active.

use maud::{Markup, html};
use ops::known;
use serde_json::{Map, Value, json};

use crate::form::{Field, form};
use crate::markdown;
use crate::page::{Answers, Asked, Page, Question, Shown, View, encode};
use crate::parts::{hidden, more, paged, post, text};
use crate::time::ago;

pub const PAGE: Page = Page { path: "/prompts", nav: None, ask, show };

const FIELDS: [&str; 5] = ["name", "title", "description", "role", "content"];

fn ask(asked: &Asked, answers: &Answers) -> Vec<Question> {
    if answers.has("prompts") {
        return Vec::new();
    }
    let about = paged(asked, json!({"include_deleted": true}));
    let mut questions = vec![Question::needed("prompts", known::LIST_PROMPTS, about)];
    if let Some(prompt) = asked.first("change") {
        questions.push(Question::needed("changed", known::GET_PROMPT, json!({"prompt_id": prompt})));
    }
    questions
}

fn show(view: &View<'_>) -> Shown {
    let is_new = view.asked.first("change").is_none() && view.asked.first("new").is_some();
    let body = html! {
        div.page {
            div.heading {
                h1 { "Prompts" }
                @if view.me.may(known::CREATE_PROMPT) {
                    p.actions { a.button href={ (PAGE.path) "?new=yes" } data-key="c" { "New prompt" } }
                }
            }
            p.muted { "Agents are told the active one when they connect." }
            @if let Some(changed) = view.answers.get("changed") { (change(changed)) }
            @if is_new { (new()) }
            @for prompt in view.answers.list("prompts") { (one(view, prompt)) }
            (more(view, "prompts"))
        }
    };
    Shown { title: "Prompts".to_owned(), project: None, body }
}

fn new() -> Markup {
    let fields = FIELDS.map(Field::new);
    html! {
        section.card {
            h2 { "New prompt" }
            (post(known::CREATE_PROMPT, PAGE.path, html! {
                (form(known::CREATE_PROMPT, &fields, &Map::new(), None))
                p.actions { button.primary { "Create" } a.quiet.button href=(PAGE.path) { "Cancel" } }
            }))
        }
    }
}

fn change(prompt: &Value) -> Markup {
    let fields = FIELDS.map(Field::new);
    let values = FIELDS.iter().map(|field| ((*field).to_owned(), prompt[*field].clone())).collect();
    html! {
        section.card {
            h2 { "Change " (text(prompt, "reference_id")) }
            (post(known::UPDATE_PROMPT, PAGE.path, html! {
                (hidden("prompt_id", text(prompt, "reference_id")))
                (hidden("expected_version", &prompt["version"].to_string()))
                (form(known::UPDATE_PROMPT, &fields, &values, None))
                p.actions { button.primary { "Save" } a.quiet.button href=(PAGE.path) { "Cancel" } }
            }))
        }
    }
}

fn one(view: &View<'_>, prompt: &Value) -> Markup {
    let id = text(prompt, "reference_id");
    let is_deleted = !text(prompt, "deleted_at").is_empty();
    html! {
        section.prompt {
            h2 {
                (text(prompt, "title")) " " span.muted { (id) " " (text(prompt, "name")) } " "
                @if prompt["active"] == true { span.via { "active" } }
                @if is_deleted { span.via { "deleted " (ago(text(prompt, "deleted_at"), view.now)) } }
            }
            @if !text(prompt, "description").is_empty() { p { (text(prompt, "description")) } }
            details { summary { "What it says" } div.prose hx-ignore { (markdown::render(text(prompt, "content"))) } }
            @if view.me.may(known::UPDATE_PROMPT) { (what_to_do(prompt, id, is_deleted)) }
        }
    }
}

fn what_to_do(prompt: &Value, id: &str, is_deleted: bool) -> Markup {
    html! {
        div.buttons {
            @if is_deleted {
                (post(known::RESTORE_PROMPT, PAGE.path, html! { (hidden("prompt_id", id)) button { "Restore" } }))
                (post(known::PURGE_PROMPT, PAGE.path, html! {
                    (hidden("prompt_id", id)) (hidden("dry_run", "true")) button.quiet.danger { "Erase for good…" }
                }))
            } @else {
                @if prompt["active"] != true {
                    (post(known::ACTIVATE_PROMPT, PAGE.path, html! { (hidden("prompt_id", id)) button { "Activate" } }))
                }
                a.button href={ (PAGE.path) "?change=" (encode(id)) } { "Change" }
                (post(known::DELETE_PROMPT, PAGE.path, html! {
                    (hidden("prompt_id", id)) (hidden("dry_run", "true")) button.quiet.danger { "Delete" }
                }))
            }
        }
    }
}
