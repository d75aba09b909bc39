//! What came of an operation that has no page to go to: a secret that is shown once, or an answer.

use maud::{Markup, html};
use ops::Entry;
use serde_json::{Map, Value};

use crate::page::{Shown, Site};
use crate::pages::{configurations, waiting};
use crate::parts::{hidden, link, post, text};

/// A secret, which is shown now and never again.
pub fn secret(site: &Site, answer: &Value) -> Shown {
    let token = text(answer, "token");
    let body = html! {
        div.page {
            h1 { "Keep this token" }
            p { "It is shown now and never again." }
            pre { code { (token) } }
            p { button type="button" data-copy=(token) { "Copy" } }
            h2 { "Tell the host" }
            (configurations(&site.url, token))
            (waiting(text(answer, "id")))
            p.actions { a.button href="/account" { "Done" } }
        }
    };
    Shown { title: "New token".to_owned(), project: None, body }
}

/// An answer as it is. What was only tried can be done from here.
pub fn answered(entry: &Entry, arguments: &Map<String, Value>, answer: &Value, next: &str) -> Shown {
    let title = entry.summary().trim_end_matches('.').to_owned();
    let was_tried = arguments.get("dry_run") == Some(&Value::Bool(true));
    let body = html! {
        div.page {
            h1 { (title) }
            @if was_tried { p { "Nothing was changed yet. This is what would happen:" } }
            (shown(answer))
            @if was_tried {
                (post(entry, next, html! {
                    @for (name, value) in arguments.iter().filter(|(name, _)| name.as_str() != "dry_run") {
                        (hidden(name, &value.as_str().map_or_else(|| value.to_string(), str::to_owned)))
                    }
                    @if entry.input_schema()["properties"]["force"].is_object() && !arguments.contains_key("force") {
                        p { label { input type="checkbox" name="force" value="true"; " with everything that depends on it" } }
                    }
                    p.actions { button.primary { "Do it" } a.quiet href=(next) { "Cancel" } }
                }))
            } @else {
                p.actions { a.button href=(next) { "Go on" } }
            }
        }
    };
    Shown { title, project: None, body }
}

/// A value as a list of what it has.
fn shown(value: &Value) -> Markup {
    match value {
        Value::Object(members) => html! {
            dl.answer { @for (name, value) in members { dt { (name.replace('_', " ")) } dd { (shown(value)) } } }
        },
        Value::Array(items) => html! { ul { @for item in items { li { (shown(item)) } } } },
        Value::String(text) if crate::parts::kind_of(text).is_some() => link(text),
        Value::String(text) => html! { (text) },
        Value::Null => html! { span.muted { "nothing" } },
        other => html! { (other) },
    }
}
