//! `/p/{key}/list/{kind}`: a table with filters in the address, so that every view can be sent to someone.

use maud::{Markup, html};
use serde_json::Value;
use store::model::Kind;

use crate::page::{Page, Shown, View};
use crate::parts::{KINDS, kind_plural, text};
use crate::table;

pub const PAGE: Page = Page { path: "/p/{key}/list/{kind}", nav: Some(("List", 'l')), ask: table::ask, show };

fn show(view: &View<'_>) -> Shown {
    let (key, kind) = (view.asked.parameter("key"), view.asked.parameter("kind"));
    let null = Value::Null;
    let page = view.answers.get("rows").unwrap_or(&null);
    let total = page["total_count"].as_u64().unwrap_or_default();
    let more = if page["total_count_exact"] == false || page["more_than_counted"] == true {
        "more than "
    } else {
        ""
    };
    let body = html! {
        div.page.full {
            div.heading {
                h1 { (kind_plural(kind)) }
                p.count { (more) (total) }
                @if view.me.may_create(kind) {
                    p.actions { a.button href={ "/p/" (key) "/new/" (kind) } data-key="c" { "Create" } }
                }
            }
            nav.kinds aria-label="Kind" {
                @for known in KINDS {
                    a href={ "/p/" (key) "/list/" (known) } aria-current=[(known == kind).then_some("page")] { (kind_plural(known)) }
                }
            }
            (table::show(view))
        }
    };
    Shown { title: kind_plural(kind).to_owned(), project: Some(key.to_owned()), body }
}

/// The statuses that a kind can have.
pub fn statuses(view: &View<'_>) -> Vec<String> {
    let model = view.answers.get("statuses").and_then(|model| model["statuses"].as_array());
    model.into_iter().flatten().map(|status| text(status, "name").to_owned()).collect()
}

/// A select that sends its form when something is chosen, with a button for browsers without scripts.
pub fn chosen(name: &str, choices: &[String], current: &str, label: &str) -> Markup {
    html! {
        select.bare name=(name) aria-label=(label) data-submit {
            @for choice in choices { option value=(choice) selected[choice == current] { (choice) } }
        }
        button.quiet.no-script { "Set" }
    }
}

/// Whether a kind has statuses.
pub fn has_status(kind: Kind) -> bool {
    matches!(kind, Kind::Epic | Kind::UserStory | Kind::Requirement)
}
