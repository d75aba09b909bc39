//! What many pages are made of: forms that write, marks of states, rows.

use maud::{Markup, html};
use ops::{Entry, SessionChange};
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
    let is_other = matches!(operation.session, Some(SessionChange::Begins | SessionChange::Ends));
    let is_page = !is_other && !operation.answers_file;
    let swapped = is_page.then_some(action.as_str());
    html! {
        form method="post" action=(action) hx-post=[swapped] data-forget[operation.session == Some(SessionChange::Ends)] {
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

/// What a token may be used for, such as `evidence (github.com/acme/shop)`.
pub fn scopes(token: &Value) -> String {
    let names = |field: &str| {
        let names = token[field].as_array().into_iter().flatten().filter_map(Value::as_str);
        names.collect::<Vec<_>>().join(", ")
    };
    match names("repositories") {
        none if none.is_empty() => names("scopes"),
        repositories => format!("{} ({repositories})", names("scopes")),
    }
}

/// The browser and the system that a session is in, in short; programs say themselves who they are.
pub fn client(user_agent: &str) -> String {
    let first = |known: &[(&str, &'static str)]| {
        known.iter().find(|(part, _)| user_agent.contains(part)).map(|(_, name)| *name)
    };
    // Most browsers also claim to be those after them.
    let browser = first(&[
        ("Edg/", "Edge"),
        ("OPR/", "Opera"),
        ("Firefox/", "Firefox"),
        ("Chrome/", "Chrome"),
        ("Safari/", "Safari"),
    ]);
    let system = first(&[
        ("Android", "Android"),
        ("iPhone", "iOS"),
        ("iPad", "iOS"),
        ("Windows", "Windows"),
        ("Mac OS X", "macOS"),
        ("Linux", "Linux"),
    ]);
    match (browser, system) {
        (Some(browser), Some(system)) => format!("{browser} on {system}"),
        (Some(browser), None) => browser.to_owned(),
        _ => user_agent.to_owned(),
    }
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

/// So much of the text of a criterion is told in its place.
const BEGINNING_CHARS: usize = 100;

/// A title as a list of changes has it: that of a criterion is the beginning of its text.
pub fn named(reference: &str, title: &str) -> String {
    let is_criterion = kind_of(reference) == Some(Kind::AcceptanceCriteria);
    let is_cut = is_criterion && title.chars().count() == BEGINNING_CHARS;
    if is_cut { format!("{title}…") } else { title.to_owned() }
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

#[cfg(test)]
mod tests {
    #[test]
    fn a_session_says_which_browser_it_is_in() {
        for (agent, expected) in [
            (
                "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36",
                "Chrome on Linux",
            ),
            (
                "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 Version/18.0 Safari/604.1",
                "Safari on iOS",
            ),
            ("curl/8.5.0", "curl/8.5.0"),
        ] {
            assert_eq!(super::client(agent), expected);
        }
    }
}
