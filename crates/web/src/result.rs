//! What came of an operation that has no page to go to: a secret that is shown once, or an answer.

use maud::{Markup, html};
use ops::{Entry, known};
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
    let was_tried = arguments.get("dry_run") == Some(&Value::Bool(true));
    if let Some(asked) = Confirmation::of(entry, answer).filter(|_| was_tried) {
        return asked.page(entry, arguments, next);
    }
    let title = entry.summary().trim_end_matches('.').to_owned();
    let body = html! {
        div.page.result {
            h1 { (title) }
            @if was_tried { p { "Nothing was changed yet. This is what would happen:" } }
            (address(entry, answer))
            (shown(answer))
            @if was_tried {
                (post(entry, next, html! {
                    (for_good(arguments))
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

/// The arguments of what was only tried, to do it.
fn for_good(arguments: &Map<String, Value>) -> Markup {
    html! {
        @for (name, value) in arguments.iter().filter(|(name, _)| name.as_str() != "dry_run") {
            (hidden(name, &value.as_str().map_or_else(|| value.to_string(), str::to_owned)))
        }
    }
}

/// What people delete or take back every day, after it was tried: a question in their words.
struct Confirmation {
    question: String,
    about: Markup,
    /// What does it.
    button: &'static str,
    /// Whether other things go with it, which was shown.
    is_forced: bool,
}

impl Confirmation {
    fn of(entry: &Entry, answer: &Value) -> Option<Confirmation> {
        if entry == known::DELETE_ENTITY {
            return Some(deletes(answer));
        }
        if entry == known::DELETE_COMMENT {
            let answers = answer["answers"].as_u64().unwrap_or_default();
            let about = html! {
                blockquote { (text(answer, "content")) }
                @if answers > 0 { p { "With it " (go(answers)) " " (counted(answers, "answer", "answers")) "." } }
            };
            let question = format!("Delete this comment on {}?", text(answer, "entity"));
            return Some(Confirmation { question, about, button: "Delete", is_forced: false });
        }
        if entry == known::UNDO_IMPORT {
            let number = |name: &str| answer[name].as_u64().unwrap_or_default();
            let kept = answer["kept"].as_array().map(Vec::as_slice).unwrap_or_default();
            let about = html! {
                p { (counted(number("deleted"), "item", "items")) " would be deleted, and " (number("restored")) " would be what it was before." }
                @if !kept.is_empty() { p { "Somebody has changed these since, so they stay:" } (shown(&answer["kept"])) }
                @if number("kept_more") > 0 { p { (number("kept_more")) " more stay, too." } }
            };
            return Some(Confirmation {
                question: "Take back this import?".to_owned(),
                about,
                button: "Take back",
                is_forced: false,
            });
        }
        None
    }

    fn page(self, entry: &Entry, arguments: &Map<String, Value>, next: &str) -> Shown {
        let body = html! {
            div.page.result {
                h1 { (self.question) }
                p.muted { "Nothing was changed yet." }
                (self.about)
                (post(entry, next, html! {
                    (for_good(arguments))
                    @if self.is_forced && !arguments.contains_key("force") { (hidden("force", "true")) }
                    p.actions { button.primary { (self.button) } a.quiet href=(next) { "Cancel" } }
                }))
            }
        };
        Shown { title: self.question, project: None, body }
    }
}

/// Something that people work on, with what is below it.
fn deletes(answer: &Value) -> Confirmation {
    const BELOW: [(&str, &str, &str); 5] = [
        ("user_stories", "user story", "user stories"),
        ("acceptance_criteria", "acceptance criterion", "acceptance criteria"),
        ("requirements", "requirement", "requirements"),
        ("relationships", "link", "links"),
        ("comments", "comment", "comments"),
    ];
    let reference = text(answer, "reference_id");
    let below =
        BELOW.map(|(name, one, more)| (answer["with_it"][name].as_u64().unwrap_or_default(), one, more));
    let total = below.iter().map(|(count, ..)| count).sum();
    let words: Vec<String> = below
        .iter()
        .filter(|(count, ..)| *count > 0)
        .map(|(count, one, more)| counted(*count, one, more))
        .collect();
    let references =
        answer["with_it"]["references"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let others: Vec<&str> = references.filter(|other| *other != reference).collect();
    let about = html! {
        @if total > 0 { p { "With it " (go(total)) " " (words.join(", ")) "." } }
        @if !others.is_empty() { p { @for other in others { (link(other)) " " } } }
        p.muted { "What is deleted can be restored." }
    };
    Confirmation {
        question: format!("Delete {reference}?"),
        about,
        button: if total > 0 { "Delete all of it" } else { "Delete" },
        is_forced: total > 0,
    }
}

fn go(count: u64) -> &'static str {
    if count == 1 { "goes" } else { "go" }
}

fn counted(count: u64, one: &str, more: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { more })
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_would_go_is_asked_in_words() {
        let arguments =
            Map::from_iter([("reference".to_owned(), json!("US-001")), ("dry_run".to_owned(), json!(true))]);
        let page = |with_it: Value| {
            let answer = json!({"reference_id": "US-001", "deleted": false, "with_it": with_it});
            answered(known::DELETE_ENTITY, &arguments, &answer, "/r/US-001").body.into_string()
        };
        let below = json!({"user_stories": 0, "acceptance_criteria": 1, "requirements": 3, "relationships": 1, "comments": 0, "references": ["US-001", "AC-001"]});
        let html = page(below);
        for part in [
            "Delete US-001?",
            "Nothing was changed yet.",
            "With it go 1 acceptance criterion, 3 requirements, 1 link.",
            "href=\"/r/AC-001\"",
            "name=\"force\" value=\"true\"",
            "Delete all of it",
        ] {
            assert!(html.contains(part), "{part}: {html}");
        }
        assert!(
            !html.contains("href=\"/r/US-001\" class=\"reference\"") && !html.contains("dry_run"),
            "{html}"
        );
        // What has nothing below it is not forced, in case that something comes meanwhile.
        let html = page(json!({"requirements": 0, "references": ["US-001"]}));
        assert!(html.contains(">Delete</button>") && !html.contains("force"), "{html}");
    }
}
