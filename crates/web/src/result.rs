//! What came of an operation that has no page to go to: a secret that is shown once, or an answer.

use maud::{Markup, html};
use ops::Entry;
use serde_json::{Map, Value};

use crate::page::{Shown, Site};
use crate::pages::{configurations, waiting};
use crate::parts::{hidden, link, post, text};
use crate::time::when;

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
        div.page.result {
            h1 { (title) }
            @if was_tried { p { "Nothing was changed yet. This is what would happen:" } }
            (address(entry, answer))
            (shown(answer))
            @if was_tried {
                (post(entry, next, html! {
                    @for (name, value) in arguments.iter().filter(|(name, _)| name.as_str() != "dry_run") {
                        (hidden(name, &value.as_str().map_or_else(|| value.to_string(), str::to_owned)))
                    }
                    @if entry.input_schema()["properties"]["force"].is_object() && !arguments.contains_key("force") {
                        p { label { input type="checkbox" name="force" value="true"; " with everything that depends on it" } }
                    }
                    p.actions { button.primary { "Confirm" } a.quiet href=(next) { "Cancel" } }
                }))
            } @else {
                p.actions { a.button href=(next) { "Continue" } }
            }
        }
    };
    Shown { title, project: None, body }
}

/// A link that was made, to be handed on.
fn address(entry: &Entry, answer: &Value) -> Markup {
    let address = entry.answers_path.and_then(|field| answer[field].as_str());
    html! {
        @if let Some(address) = address {
            pre { code { (address) } }
            p.actions { button type="button" data-copy=(address) { "Copy" } }
        }
    }
}

/// A value as a list of what it has; things that are alike as a table. Ids are left out where there is a name for people.
pub(crate) fn shown(value: &Value) -> Markup {
    match value {
        Value::Object(members) => html! {
            dl.answer { @for (name, value) in members.iter().filter(|(name, _)| !is_id(name)) { dt { (name.replace('_', " ")) } dd { (shown(value)) } } }
        },
        Value::Array(items) if items.is_empty() => html! { span.muted { "none" } },
        Value::Array(items) if items.iter().any(Value::is_object) => table(items),
        Value::Array(items) => html! { ul { @for item in items { li { (shown(item)) } } } },
        Value::String(text) if crate::parts::kind_of(text).is_some() => link(text),
        Value::String(text) => html! { (when(text).unwrap_or_else(|| text.clone())) },
        Value::Null => html! { span.muted { "nothing" } },
        other => html! { (other) },
    }
}

/// What only programs compare.
fn is_id(name: &str) -> bool {
    name != "reference_id" && (name == "id" || name.ends_with("_id") || name.ends_with("_hash"))
}

fn table(items: &[Value]) -> Markup {
    let mut columns: Vec<&str> = Vec::new();
    for name in items.iter().filter_map(Value::as_object).flat_map(|members| members.keys()) {
        if !is_id(name) && !columns.contains(&name.as_str()) {
            columns.push(name);
        }
    }
    html! {
        div.scrolled tabindex="0" role="region" aria-label="List" {
            table.records {
                thead { tr { @for name in &columns { th { (name.replace('_', " ")) } } } }
                tbody { @for item in items { tr { @for name in &columns {
                    td { @match &item[*name] { Value::Null => {}, value => (shown(value)) } }
                } } } }
            }
        }
    }
}
