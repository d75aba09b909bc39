//! The table of a kind: columns to choose, filters as chips, saved views, cells that are edited where they are, and many rows that
//! are changed at once.

mod address;
mod bar;
pub mod columns;
mod filters;
mod plan;
mod rows;
mod views;

use maud::{Markup, html};
use ops::{Entry, known};
use serde_json::{Value, json};
use store::model::Kind;

use self::address::DONE;
use self::columns::Column;
use crate::page::{Answers, Asked, Question, View};
use crate::pages::has_status;
use crate::parts::{kind_plural, kind_words, text};

pub use self::plan::{Selection, failed};

/// Rows of one page, and of one that was searched for, whose rows are read one by one.
const ROWS: usize = 100;
const HITS: usize = 50;

/// A table that is being shown.
struct Table<'a> {
    view: &'a View<'a>,
    /// The key of the project.
    key: &'a str,
    kind: Kind,
    /// What is shown after the reference.
    columns: Vec<Column>,
    /// What changes a row, where the caller may.
    update: Option<&'static Entry>,
}

/// The kind that the address names.
fn kind(asked: &Asked) -> Option<Kind> {
    Kind::ALL.into_iter().find(|kind| kind.name() == asked.parameter("kind"))
}

/// What the table wants to know. One row is asked for alone, after it was edited.
pub fn ask(asked: &Asked, answers: &Answers) -> Vec<Question> {
    let (key, kind) = (asked.parameter("key"), asked.parameter("kind"));
    if answers.has("rows") {
        // What a search finds is read in full, so that it can be edited like the rest.
        let is_read = asked.first("query").is_none() || answers.has("found");
        let hits = answers.list("rows").iter().filter(|_| !is_read);
        let read = |hit: &Value| {
            let about = json!({"reference": hit["reference_id"], "kind": kind});
            Question::optional("found", known::GET_ENTITY, about)
        };
        return hits.map(read).collect();
    }
    let mut questions = Vec::new();
    if self::kind(asked).is_some_and(has_status) {
        questions.push(Question::optional("statuses", known::GET_STATUS_MODEL, json!({"kind": kind})));
    }
    if let Some(reference) = asked.first(address::ROW) {
        let about = json!({"reference": reference, "kind": kind});
        questions.push(Question::needed("rows", known::GET_ENTITY, about));
        return questions;
    }
    questions.push(filters::question(asked, kind));
    questions.push(Question::optional("people", known::LIST_USER_DIRECTORY, json!({"limit": 100})));
    let views = json!({"project": key, "kind": kind, "limit": 100});
    questions.push(Question::optional("views", known::LIST_VIEWS, views));
    if self::kind(asked) == Some(Kind::Requirement) {
        questions.push(Question::optional("types", known::LIST_TYPES, json!({})));
    }
    questions
}

/// The table with everything around it.
pub fn show(view: &View<'_>) -> Markup {
    let Some(kind) = kind(view.asked) else { return html! {} };
    let (columns, unknown) = columns::chosen(view.asked, kind);
    let update = known::WRITES.iter().find(|(known, ..)| *known == kind).map(|(_, _, update)| *update);
    let update = update.filter(|update| view.me.may(update));
    let table = Table { view, key: view.asked.parameter("key"), kind, columns, update };
    if view.asked.first(address::ROW).is_some() {
        return table.rows(&[view.answers.get("rows").unwrap_or(&Value::Null)]);
    }
    let rows: Vec<&Value> = match view.asked.first("query") {
        Some(_) => view.answers.all("found").collect(),
        None => view.answers.list("rows").iter().collect(),
    };
    html! {
        (table.views())
        (table.filters())
        (table.notices(&unknown))
        @if rows.is_empty() {
            (table.nothing())
        } @else {
            (table.rows(&rows))
            (table.more(rows.len()))
            (table.bar())
        }
        datalist #people { @for person in view.answers.list("people") { option value=(text(person, "username")) {} } }
    }
}

impl Table<'_> {
    /// What the address says that could not be taken at its word, and what was just done.
    fn notices(&self, unknown: &[String]) -> Markup {
        let left_out = filters::left_out(self.view.asked);
        html! {
            @if let Some(count) = self.view.asked.first(DONE).and_then(|count| count.parse::<u32>().ok()) {
                p.notice role="status" { (count) @if count == 1 { " was changed." } @else { " were changed." } }
            }
            @if !unknown.is_empty() {
                p.notice { "There is no column " (unknown.join(", ")) " in a table of " (kind_plural(self.kind.name()).to_lowercase()) "." }
            }
            @if !left_out.is_empty() {
                p.notice { "Not applied while searching for words: " (left_out.join(", ")) "." }
            }
        }
    }

    /// What a table without rows says: nothing fits, or nothing is there yet.
    fn nothing(&self) -> Markup {
        let asked = self.view.asked;
        let kind = self.kind.name();
        html! {
            p.message {
                @if address::lasting(asked).any(|(name, _)| !["columns", "sort"].contains(&name)) || asked.first("cursor").is_some() {
                    "Nothing fits. " a href=(asked.path) { "Show everything" }
                } @else {
                    "There is no " (kind_words(kind)) " yet. "
                    @if self.view.me.may_create(kind) { a href={ "/p/" (self.key) "/new/" (kind) } { "Create the first" } }
                }
            }
        }
    }

    /// The way to the next rows.
    fn more(&self, n_rows: usize) -> Markup {
        let null = Value::Null;
        let page = self.view.answers.get("rows").unwrap_or(&null);
        let is_exact = page["total_count_exact"] != false && page["more_than_counted"] != true;
        let limit = if self.view.asked.first("query").is_some() { HITS } else { ROWS };
        html! {
            p.more data-more="" {
                span.count { (n_rows) " shown of " @if !is_exact { "more than " } (page["total_count"]) }
                @if let Some(cursor) = page["next_cursor"].as_str() {
                    a.button href=(address::with(self.view.asked, "cursor", cursor)) { "Next " (limit) }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
