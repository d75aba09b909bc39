//! `/r/{reference}/history`: who changed what, when and by which way, word by word.

use maud::{Markup, html};
use ops::known;
use serde_json::{Value, json};

use crate::diff;
use crate::item::{by, update_of};
use crate::page::{Answers, Asked, Page, Question, Shown, View};
use crate::parts::{hidden, link, post, text, title};
use crate::time::ago;

pub const PAGE: Page = Page { path: "/r/{reference}/history", nav: None, ask, show };

fn ask(asked: &Asked, answers: &Answers) -> Vec<Question> {
    if answers.has("entity") {
        return Vec::new();
    }
    let mut about = json!({"reference": asked.parameter("reference")});
    let entity = Question::needed("entity", known::GET_ENTITY, about.clone());
    if let Some(cursor) = asked.first("cursor") {
        about["cursor"] = json!(cursor);
    }
    vec![entity, Question::needed("history", known::GET_HISTORY, about)]
}

/// Fields that can be taken back to what they were.
const RESTORED: [&str; 3] = ["title", "description", "rationale"];

fn show(view: &View<'_>) -> Shown {
    let null = Value::Null;
    let entity = view.answers.get("entity").unwrap_or(&null);
    let reference = text(entity, "reference_id");
    let next = view.answers.get("history").and_then(|page| page["next_cursor"].as_str());
    let body = html! {
        div.page {
            h1 { "History of " (link(reference)) }
            p.muted { (title(entity)) }
            ol.revisions {
                @for revision in view.answers.list("history") { (one(view, entity, revision)) }
            }
            @if let Some(cursor) = next {
                p.actions { a.button href=(view.asked.with("cursor", Some(cursor))) { "Older" } }
            }
        }
    };
    Shown {
        title: format!("History of {reference}"),
        project: Some(text(entity, "project").to_owned()),
        body,
    }
}

fn one(view: &View<'_>, entity: &Value, revision: &Value) -> Markup {
    let changes = revision["changes"].as_object().into_iter().flatten();
    let shown = changes.filter(|(name, _)| {
        !name.ends_with("_id") && !matches!(name.as_str(), "id" | "kind" | "project" | "reference")
    });
    html! {
        li {
            p { b { (text(revision, "actor")) } " " (by(revision)) " " span.muted { "version " (revision["version"]) ", " }
                (ago(text(revision, "created_at"), view.now)) (restore_version(view, entity, revision)) }
            dl {
                @for (name, change) in shown {
                    dt { (name.replace('_', " ")) }
                    dd { (diff::field(name, change)) (restore(view, entity, name, &change[0])) }
                }
            }
        }
    }
}

/// A button that gives the item the text and fields of a version again.
fn restore_version(view: &View<'_>, entity: &Value, revision: &Value) -> Markup {
    let is_present = revision["version"].as_i64() >= entity["version"].as_i64();
    if is_present || update_of(view, entity).is_none() || !view.me.may(known::RESTORE_ENTITY) {
        return html! {};
    }
    let reference = text(entity, "reference_id");
    post(
        known::RESTORE_ENTITY,
        &format!("/r/{reference}/history"),
        html! {
            (hidden("reference", reference))
            (hidden("version", &revision["version"].to_string()))
            button.quiet { "Restore version " (revision["version"]) }
        },
    )
}

/// A button that takes a text back to what it was before.
fn restore(view: &View<'_>, entity: &Value, name: &str, old: &Value) -> Markup {
    let kind = text(entity, "kind");
    let (Some(update), Some(old)) = (update_of(view, entity), old.as_str()) else {
        return html! {};
    };
    if !RESTORED.contains(&name) || entity[name] == old {
        return html! {};
    }
    let reference = text(entity, "reference_id");
    post(
        update,
        &format!("/r/{reference}/history"),
        html! {
            (hidden(&format!("{kind}_id"), reference))
            (hidden("expected_version", &entity["version"].to_string()))
            (hidden(name, old))
            button.quiet { "Undo this change" }
        },
    )
}
