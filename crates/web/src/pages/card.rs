//! `/r/{reference}/card`: one item at a glance, shown over a link to it.

use maud::html;
use ops::known;
use serde_json::{Value, json};

use crate::markdown;
use crate::page::{Answers, Asked, Page, Question, Shown, View};
use crate::parts::{kind_words, priority, status, text, title};

pub const PAGE: Page = Page { path: "/r/{reference}/card", nav: None, ask, show };

/// How much of a text is shown at a glance.
const TEXT_MAX_CHARS: usize = 600;

fn ask(asked: &Asked, answers: &Answers) -> Vec<Question> {
    if answers.has("entity") {
        return Vec::new();
    }
    let about = json!({"reference": asked.parameter("reference"), "include_deleted": true});
    vec![Question::needed("entity", known::GET_ENTITY, about)]
}

fn show(view: &View<'_>) -> Shown {
    let null = Value::Null;
    let entity = view.answers.get("entity").unwrap_or(&null);
    let description = text(entity, "description");
    let shown = match description.char_indices().nth(TEXT_MAX_CHARS) {
        Some((end, _)) => format!("{}…", &description[..end]),
        None => description.to_owned(),
    };
    let body = html! {
        div.card-head {
            span.muted { (kind_words(text(entity, "kind"))) " " } b { (text(entity, "reference_id")) }
            " " (status(text(entity, "status"))) " " (priority(&entity["priority"]))
        }
        @if !text(entity, "title").is_empty() { p { b { (title(entity)) } } }
        div.prose hx-ignore { (markdown::render(&shown)) }
    };
    Shown { title: title(entity), project: None, body }
}
