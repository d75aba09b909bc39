//! What many pages are made of: forms that write, marks of states, rows.

use maud::{Markup, html};
use ops::Entry;
use serde_json::{Value, json};
use store::model::{Kind, Reference};

use crate::page::{Asked, View};

/// Where a write comes back to.
pub const NEXT: &str = "_next";

/// A form that runs an operation and then shows another page. With scripts, that page is put into this one, so that what is typed
/// elsewhere, the focus and the place stay; what is wrong is said at the fields.
pub fn post(operation: &Entry, next: &str, inside: Markup) -> Markup {
    let action = format!("/do/{}", operation.name);
    // A session that begins or ends makes another page of everything, and a file is no page.
    let is_page = operation.session.is_none() && !operation.answers_file;
    let swapped = is_page.then_some(action.as_str());
    html! {
        form method="post" action=(action) hx-post=[swapped] {
            input type="hidden" name=(NEXT) value=(next);
            (inside)
        }
    }
}

/// A field for something of a kind, or a user, with a list of what it may be completed with. Any text can be typed: the server decides.
#[derive(Default)]
pub struct Combobox<'a> {
    /// The argument.
    pub name: &'a str,
    /// What is asked for: a kind, or `user`.
    pub what: &'a str,
    /// What the field is called.
    pub label: &'a str,
    /// What is in it.
    pub value: &'a str,
    /// What is shown while it is empty.
    pub hint: &'a str,
    /// The key that leads to it.
    pub key: Option<char>,
    /// Whether its form is sent as soon as something else is in it.
    pub is_sent_at_once: bool,
    /// Whether it must not be empty.
    pub is_required: bool,
}

/// The field.
pub fn combobox(field: &Combobox<'_>) -> Markup {
    let list = format!("options-{}", field.name);
    let source = format!("/suggest/{}", field.what);
    html! {
        input type="text" name=(field.name) value=(field.value) placeholder=(field.hint) aria-label=(field.label) list=(list)
            autocomplete="off" required[field.is_required] data-suggest=(source) data-key=[field.key] data-submit[field.is_sent_at_once];
        datalist id=(list) {}
    }
}

/// A value that goes with a form and is not seen.
pub fn hidden(name: &str, value: &str) -> Markup {
    html! { input type="hidden" name=(name) value=(value); }
}

/// A text of an answer.
pub fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}

/// The names of kinds for people.
pub fn kind_words(kind: &str) -> &'static str {
    Kind::ALL.into_iter().find(|known| known.name() == kind).map_or("thing", Kind::words)
}

/// The same for several.
pub fn kind_plural(kind: &str) -> &'static str {
    match kind {
        "epic" => "Epics",
        "user_story" => "User stories",
        "acceptance_criteria" => "Acceptance criteria",
        "requirement" => "Requirements",
        "steering_document" => "Steering documents",
        _ => "Things",
    }
}

/// The kinds that people list and search, the most used first.
pub const KINDS: [&str; 5] =
    ["requirement", "user_story", "acceptance_criteria", "epic", "steering_document"];

/// A name of a program as the beginning of a sentence: `Without criteria`.
pub fn sentence(name: &str) -> String {
    let words = name.replace('_', " ");
    match words.split_at_checked(1) {
        Some((first, rest)) => first.to_uppercase() + rest,
        None => words,
    }
}

/// The kind that a reference id names.
pub fn kind_of(reference: &str) -> Option<Kind> {
    match Reference::parse(reference)? {
        Reference::Numbered { kind, .. } => Some(kind),
        Reference::Id(_) => None,
    }
}

/// A link to something, by its reference id.
pub fn link(reference: &str) -> Markup {
    html! { a.reference href={ "/r/" (reference) } { (reference) } }
}

/// How a status looks: done, under way, given up, or none of these.
pub fn state_class(status: &str) -> &'static str {
    match status {
        "Done" => "done",
        "Active" | "In Progress" => "needs-tests",
        "Cancelled" | "Obsolete" => "quoted",
        _ => "waiting",
    }
}

/// A status with its mark.
pub fn status(status: &str) -> Markup {
    html! {
        @if !status.is_empty() {
            span.status { i.mark.{ (state_class(status)) } aria-hidden="true" {} " " (status) }
        }
    }
}

/// What priorities are called.
pub const PRIORITIES: [&str; 4] = ["Critical", "High", "Medium", "Low"];

/// A priority.
pub fn priority(value: &Value) -> Markup {
    let name = value.as_u64().and_then(|number| PRIORITIES.get(number as usize - 1));
    html! { @if let Some(name) = name { span.priority.{ "p" (value) } { (name) } } }
}

/// The title of something, or the beginning of its text.
pub fn title(entity: &Value) -> String {
    match text(entity, "title") {
        "" => {
            let line: Vec<&str> = text(entity, "description").split_whitespace().collect();
            let line = line.join(" ");
            match line.char_indices().nth(100) {
                Some((end, _)) => format!("{}…", &line[..end]),
                None => line,
            }
        }
        title => title.to_owned(),
    }
}

/// A row of a short list.
pub fn row(entity: &Value) -> Markup {
    let reference = text(entity, "reference_id");
    html! {
        li.row {
            (link(reference))
            a.title href={ "/r/" (reference) } { (title(entity)) }
            (status(text(entity, "status")))
            (priority(&entity["priority"]))
        }
    }
}

/// A section with a heading, and a sentence where there is nothing in it.
pub fn section(heading: &str, is_empty: bool, nothing: &str, inside: Markup) -> Markup {
    html! {
        section {
            h2 { (heading) }
            @if is_empty { p.muted { (nothing) } } @else { (inside) }
        }
    }
}

/// The arguments of a list with the page that the address asks for.
pub fn paged(asked: &Asked, mut arguments: Value) -> Value {
    if let Some(cursor) = asked.first("cursor") {
        arguments["cursor"] = json!(cursor);
    }
    arguments
}

/// The way to the next page of a list, if there is one.
pub fn more(view: &View<'_>, list: &str) -> Markup {
    let cursor = view.answers.get(list).and_then(|page| page["next_cursor"].as_str());
    html! {
        @if let Some(cursor) = cursor { p.actions { a.button href=(view.asked.with("cursor", Some(cursor))) { "More" } } }
    }
}

/// A text in which what is between backticks is code.
pub fn coded(text: &str) -> Markup {
    html! {
        @for (index, part) in text.split('`').enumerate() {
            @if index % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}
