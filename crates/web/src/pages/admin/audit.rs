//! `/admin/audit`: who did what, and who tried to sign in.

use maud::{Markup, html};
use ops::known;
use serde_json::{Value, json};

use crate::diff;
use crate::item::by;
use crate::page::{Answers, Asked, Page, Question, Shown, View};
use crate::pages::USER;
use crate::parts::{Combobox, combobox, link, more, named, paged, text};
use crate::time::ago;

pub const PAGE: Page = Page { path: "/admin/audit", nav: None, ask, show };

/// What the trail can be filtered by, and what each is called.
const FILTERS: [(&str, &str); 4] = [
    ("entity", "Reference id"),
    ("event", "Operation or event"),
    ("from", "From (date)"),
    ("to", "To (date)"),
];

fn ask(asked: &Asked, answers: &Answers) -> Vec<Question> {
    if answers.has("trail") {
        return Vec::new();
    }
    let mut about = json!({});
    for name in FILTERS.iter().map(|(name, _)| *name).chain(["actor"]) {
        if let Some(value) = asked.first(name) {
            about[name] = json!(value);
        }
    }
    vec![Question::needed("trail", known::LIST_AUDIT, paged(asked, about))]
}

fn show(view: &View<'_>) -> Shown {
    let entries = view.answers.list("trail");
    let actor = Combobox {
        name: "actor",
        what: USER,
        label: "Who",
        value: view.asked.first("actor").unwrap_or_default(),
        hint: "Anybody",
        ..Combobox::default()
    };
    let body = html! {
        div.page.wide {
            h1 { "Audit" }
            form.filters method="get" action=(PAGE.path) {
                (combobox(&actor))
                @for (name, label) in FILTERS {
                    input type="text" name=(name) aria-label=(label) placeholder=(label) value=(view.asked.first(name).unwrap_or_default());
                }
                button { "Show" }
                a.quiet.button href=(PAGE.path) { "All" }
            }
            @if entries.is_empty() { p.muted { "Nothing of this kind happened." } }
            div.scrolled tabindex="0" role="region" aria-label="Trail" {
                table.records.trail {
                    thead { tr { th { "When" } th { "Who" } th { "What" } th { "About" } th { "How it changed" } } }
                    tbody { @for entry in entries { (one(view, entry)) } }
                }
            }
            (more(view, "trail"))
        }
    };
    Shown { title: "Audit".to_owned(), project: None, body }
}

fn one(view: &View<'_>, entry: &Value) -> Markup {
    let changes = entry["changes"].as_object().into_iter().flatten();
    // Times and ids say nothing that the row does not say already.
    let shown: Vec<(&String, &Value)> = changes
        .filter(|(_, change)| !change[0].is_null() || !change[1].is_null())
        .filter(|(name, _)| {
            !matches!(name.as_str(), "kind" | "project")
                && *name != "id"
                && !name.ends_with("_id")
                && !name.ends_with("_at")
                && *name != "version"
        })
        .collect();
    html! {
        tr {
            td { (ago(text(entry, "created_at"), view.now)) }
            td {
                (text(entry, "actor")) " " @if !text(entry, "via").is_empty() { (by(entry)) }
                @if text(entry, "via").is_empty() && !text(entry, "token").is_empty() { " " span.muted { (text(entry, "token")) } }
                @if !text(entry, "address").is_empty() { " " span.muted { (text(entry, "address")) } }
            }
            td { (text(entry, "event").replace('_', " ")) }
            td {
                @if !text(entry, "reference_id").is_empty() { @match text(entry, "entity_kind") {
                    "prompt" => { (text(entry, "reference_id")) }
                    _ => { (link(text(entry, "reference_id"))) }
                } " " }
                (named(text(entry, "reference_id"), text(entry, "name")))
                @if !text(entry, "entity_kind").is_empty() { " " span.muted { (text(entry, "entity_kind").replace('_', " ")) } }
            }
            td {
                @for (name, change) in shown {
                    p { span.muted { (name.replace('_', " ")) " " } (diff::field(name, change)) }
                }
            }
        }
    }
}
