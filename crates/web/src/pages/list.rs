//! `/p/{key}/list/{kind}`: a table with filters in the address, so that every view can be sent to someone.

use maud::{Markup, html};
use ops::known;
use serde_json::{Map, Value, json};
use store::model::Kind;

use crate::page::{Answers, Asked, Page, Question, Shown, View};
use crate::parts::{
    KINDS, PRIORITIES, hidden, kind_plural, kind_words, link, post, priority, status, text, title,
};
use crate::time::ago;

pub const PAGE: Page = Page { path: "/p/{key}/list/{kind}", nav: Some(("List", 'l')), ask, show };

/// Rows of one page.
const ROWS: usize = 50;
/// Orders of a table: the value, and its words.
const ORDERS: [(&str, &str); 5] = [
    ("number", "Oldest first"),
    ("number_descending", "Newest first"),
    ("title", "Title"),
    ("priority", "Priority"),
    ("updated", "Changed last"),
];

fn ask(asked: &Asked, answers: &Answers) -> Vec<Question> {
    if answers.has("rows") {
        return Vec::new();
    }
    let (key, kind) = (asked.parameter("key"), asked.parameter("kind"));
    let mut arguments = Map::new();
    for name in ["assignee", "type", "sort", "cursor"] {
        arguments.extend(asked.first(name).map(|value| (name.to_owned(), json!(value))));
    }
    let statuses: Vec<&str> = asked.all("status").collect();
    if !statuses.is_empty() {
        arguments.insert("status".into(), json!(statuses));
    }
    let priorities: Vec<i64> = asked.all("priority").filter_map(|value| value.parse().ok()).collect();
    if !priorities.is_empty() {
        arguments.insert("priority".into(), json!(priorities));
    }
    arguments.insert("project".into(), json!(key));
    arguments.insert("limit".into(), json!(ROWS));
    let rows = match asked.first("query") {
        Some(query) => {
            arguments.insert("query".into(), json!(query));
            arguments.insert("entity_types".into(), json!([kind]));
            arguments.shift_remove("sort");
            Question::needed("rows", known::SEARCH_GLOBAL, Value::Object(arguments))
        }
        None => {
            arguments.insert("kind".into(), json!(kind));
            Question::needed("rows", known::LIST_ENTITIES, Value::Object(arguments))
        }
    };
    vec![rows, Question::optional("statuses", known::GET_STATUS_MODEL, json!({"kind": kind}))]
}

fn show(view: &View<'_>) -> Shown {
    let (key, kind) = (view.asked.parameter("key"), view.asked.parameter("kind"));
    let rows = view.answers.list("rows");
    let null = Value::Null;
    let page = view.answers.get("rows").unwrap_or(&null);
    let total = page["total_count"].as_u64().unwrap_or_default();
    let more = if page["total_count_exact"] == false { "more than " } else { "" };
    let body = html! {
        div.page.wide {
            div.heading {
                h1 { (kind_plural(kind)) }
                p.count { (more) (total) }
                p.actions {
                    a.button href={ "/p/" (key) "/new/" (kind) } data-key="c" { "Create" }
                }
            }
            nav.kinds aria-label="Kind" {
                @for known in KINDS {
                    a href={ "/p/" (key) "/list/" (known) } aria-current=[(known == kind).then_some("page")] { (kind_plural(known)) }
                }
            }
            (filters(view, kind))
            @if rows.is_empty() {
                p.message { "Nothing fits. " a href=(view.asked.path) { "Show everything" } }
            } @else {
                (table(view, rows, kind))
                @if let Some(cursor) = page["next_cursor"].as_str() {
                    p.actions { a.button href=(view.asked.with("cursor", Some(cursor))) { "Next " (ROWS) } }
                }
            }
        }
    };
    Shown { title: kind_plural(kind).to_owned(), project: Some(key.to_owned()), body }
}

/// The statuses that a kind can have.
pub fn statuses(view: &View<'_>) -> Vec<String> {
    let model = view.answers.get("statuses").and_then(|model| model["statuses"].as_array());
    model.into_iter().flatten().map(|status| text(status, "name").to_owned()).collect()
}

fn filters(view: &View<'_>, kind: &str) -> Markup {
    let asked = view.asked;
    let is_chosen = |name: &str, value: &str| asked.all(name).any(|chosen| chosen == value);
    let statuses = statuses(view);
    html! {
        form.filters method="get" action=(asked.path) {
            input type="search" name="query" value=(asked.first("query").unwrap_or_default())
                placeholder={ "Find a " (kind_words(kind)) } aria-label="Find";
            @if !statuses.is_empty() {
                select name="status" aria-label="Status" data-submit {
                    option value="" { "Any status" }
                    @for name in &statuses { option value=(name) selected[is_chosen("status", name)] { (name) } }
                }
                select name="priority" aria-label="Priority" data-submit {
                    option value="" { "Any priority" }
                    @for (name, number) in PRIORITIES.iter().zip(1..) {
                        option value=(number) selected[is_chosen("priority", &number.to_string())] { (name) }
                    }
                }
                input type="text" name="assignee" value=(asked.first("assignee").unwrap_or_default()) placeholder="Assignee" aria-label="Assignee";
            }
            select name="sort" aria-label="Order" data-submit {
                @for (value, words) in ORDERS { option value=(value) selected[is_chosen("sort", value)] { (words) } }
            }
            button { "Show" }
            @if !asked.query.is_empty() { a.quiet href=(asked.path) { "Clear" } }
        }
    }
}

fn table(view: &View<'_>, rows: &[Value], kind: &str) -> Markup {
    let statuses = statuses(view);
    let update = known::WRITES.iter().find(|(known, ..)| known.name() == kind).map(|(_, _, update)| *update);
    let update = update.filter(|update| view.me.may(update) && !statuses.is_empty());
    html! {
        table.entities {
            thead { tr {
                th scope="col" { "Reference" } th scope="col" { "Title" } th scope="col" { "Status" }
                th scope="col" { "Priority" } th scope="col" { "Assignee" } th scope="col" { "Changed" }
            } }
            tbody {
                @for row in rows {
                    @let reference = text(row, "reference_id");
                    tr data-reference=(reference) {
                        td { (link(reference)) }
                        td.title { a href={ "/r/" (reference) } { (title(row)) } }
                        td {
                            @match update {
                                Some(update) => (post(update, &view.asked.with("cursor", None), html! {
                                    (hidden(&format!("{kind}_id"), reference))
                                    (chosen("status", &statuses, text(row, "status"), &format!("Status of {reference}")))
                                })),
                                None => (status(text(row, "status"))),
                            }
                        }
                        td { (priority(&row["priority"])) }
                        td { (text(row, "assignee")) }
                        td.muted { @if !text(row, "updated_at").is_empty() { (ago(text(row, "updated_at"), view.now)) } }
                    }
                }
            }
        }
    }
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
