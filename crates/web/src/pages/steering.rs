//! `/steering`: rules and decisions to keep in mind, and the epics that they are for.

use maud::{Markup, html};
use ops::known;
use serde_json::{Value, json};

use crate::markdown;
use crate::page::{Answers, Asked, Page, Question, Shown, View};
use crate::parts::{Combobox, combobox, hidden, link, more, paged, post, text, title};

pub const PAGE: Page = Page { path: "/steering", nav: None, ask, show };

/// How many documents a page has. What each is linked with is a question of its own.
const DOCUMENTS_MAX: usize = 20;

fn ask(asked: &Asked, answers: &Answers) -> Vec<Question> {
    if !answers.has("documents") {
        let mut about = paged(asked, json!({"kind": "steering_document"}));
        about["limit"] = json!(DOCUMENTS_MAX);
        if let Some(key) = asked.first("project") {
            about["project"] = json!(key);
        }
        return vec![Question::needed("documents", known::LIST_ENTITIES, about)];
    }
    if answers.has("epics") {
        return Vec::new();
    }
    let linked = answers.list("documents").iter().map(|document| {
        let about = json!({"kind": "epic", "steering_document_id": document["reference_id"], "limit": 100});
        Question::needed("epics", known::LIST_ENTITIES, about)
    });
    linked.collect()
}

fn show(view: &View<'_>) -> Shown {
    let documents = view.answers.list("documents");
    let body = html! {
        div.page {
            div.heading {
                h1 { "Steering documents" }
                @if view.me.may(known::LINK_STEERING_DOCUMENT) {
                    p.actions {
                        @for project in view.answers.list("projects") {
                            @let key = text(project, "key");
                            a.button href={ "/p/" (key) "/new/steering_document" } { "New in " (key) }
                        }
                    }
                }
            }
            p.muted { "What to keep in mind while working on the epics that they are linked with." }
            @if documents.is_empty() { p.message { "There is no steering document yet." } }
            @for (document, epics) in documents.iter().zip(view.answers.all("epics")) { (one(view, document, epics)) }
            (more(view, "documents"))
        }
    };
    Shown { title: "Steering documents".to_owned(), project: None, body }
}

fn one(view: &View<'_>, document: &Value, epics: &Value) -> Markup {
    let id = text(document, "reference_id");
    let epics = epics["data"].as_array().map(Vec::as_slice).unwrap_or_default();
    let may = view.me.may(known::LINK_STEERING_DOCUMENT);
    let label = format!("Epic for {id}");
    let field = Combobox {
        name: "epic_id",
        what: "epic",
        label: &label,
        hint: "EP-001",
        is_required: true,
        ..Combobox::default()
    };
    html! {
        section.prompt {
            h2 { (link(id)) " " (title(document)) " " @if may { a.quiet.button href={ "/r/" (id) "/edit" } aria-label={ "Change " (id) } { "Change" } } }
            details { summary { "What it says" } div.prose hx-ignore { (markdown::render(text(document, "description"))) } }
            @if epics.is_empty() { p.muted { "Linked with no epic." } }
            ul.rows {
                @for epic in epics {
                    @let reference = text(epic, "reference_id");
                    li.row {
                        (link(reference)) span.title { (title(epic)) }
                        @if may {
                            (post(known::UNLINK_STEERING_DOCUMENT, PAGE.path, html! {
                                (hidden("epic_id", reference)) (hidden("steering_document_id", id))
                                button.quiet.danger aria-label={ "Unlink " (reference) " from " (id) } { "Unlink" }
                            }))
                        }
                    }
                }
            }
            @if may {
                (post(known::LINK_STEERING_DOCUMENT, PAGE.path, html! {
                    (hidden("steering_document_id", id))
                    div.inline { (combobox(&field)) button { "Link" } }
                }))
            }
        }
    }
}
