//! One item: its text, what is above, below and beside it, and what people say of it.

mod comments;
mod facts;
mod links;

use maud::{Markup, html};
use ops::{Entry, known};
use serde_json::{Value, json};
use store::model::Kind;

use self::comments::comments;
use self::facts::facts;
use self::links::relationships;
use crate::markdown;
use crate::page::{Answers, Asked, Question, Shown, View, encode, own_path};
use crate::pages::has_status;
use crate::parts::{hidden, kind_of, kind_plural, kind_words, link, post, row, section, text, title};

/// What is directly below a kind: the kind, and the argument that says so.
pub const BELOW: &[(Kind, Kind)] = &[
    (Kind::Epic, Kind::UserStory),
    (Kind::UserStory, Kind::AcceptanceCriteria),
    (Kind::UserStory, Kind::Requirement),
    (Kind::AcceptanceCriteria, Kind::Requirement),
];
/// The names of the answers for what is below.
const NAMES: [&str; 2] = ["below", "below_too"];

pub fn ask(asked: &Asked, answers: &Answers) -> Vec<Question> {
    let reference = asked.parameter("reference");
    let Some(entity) = answers.get("entity") else {
        if answers.has("entity") {
            return Vec::new();
        }
        // What is deleted is shown, to be restored.
        let about = json!({"reference": reference, "include_deleted": true});
        return vec![Question::needed("entity", known::GET_ENTITY, about)];
    };
    if answers.has("path") {
        return links::ask(answers);
    }
    let id = text(entity, "reference_id");
    let about = json!({"reference": id});
    let mut questions = vec![
        Question::optional("path", known::GET_PATH, about.clone()),
        Question::optional("comments", known::LIST_COMMENTS, json!({"reference": id, "limit": 100})),
        Question::optional("history", known::GET_HISTORY, json!({"reference": id, "limit": 5})),
    ];
    let Some(kind) = kind_of(id) else { return questions };
    if has_status(kind) {
        questions.push(Question::optional("statuses", known::GET_STATUS_MODEL, json!({"kind": kind.name()})));
    }
    if kind == Kind::Requirement {
        let about = json!({"requirement_id": id, "limit": 100});
        questions.push(Question::optional("relationships", known::LIST_RELATIONSHIPS, about));
        questions.push(Question::optional("types", known::LIST_TYPES, json!({})));
    }
    let below = BELOW.iter().filter(|(above, _)| *above == kind);
    for ((above, below), name) in below.zip(NAMES) {
        let mut about = json!({"kind": below.name(), "limit": 100});
        about[format!("{}_id", above.name())] = json!(id);
        questions.push(Question::optional(name, known::LIST_ENTITIES, about));
    }
    questions
}

/// Where the forms of an item come back to: its own page, unless it is shown within another.
fn back(view: &View<'_>, reference: &str) -> String {
    let next = view.asked.first("next").and_then(own_path);
    next.map_or_else(|| format!("/r/{reference}"), str::to_owned)
}

pub fn show(view: &View<'_>) -> Shown {
    let null = Value::Null;
    let entity = view.answers.get("entity").unwrap_or(&null);
    let reference = text(entity, "reference_id");
    let heading = title(entity);
    let body = html! {
        article.item data-live={ (reference) "@" (entity["version"]) } data-reference=(reference) {
            (way(view))
            header.item-head { (head(view, entity)) }
            div.item-main {
                @if is_deleted(view) { (deleted(view, reference)) }
                div #text {
                    div.prose data-quotable=(reference) hx-ignore { (markdown::render(text(entity, "description"))) }
                    @if !text(entity, "rationale").is_empty() {
                        h2 { "Why" }
                        div.prose hx-ignore { (markdown::render(text(entity, "rationale"))) }
                    }
                }
                (children(view, reference))
                (relationships(view, reference))
                (comments(view, reference))
            }
            (facts(view, entity))
        }
    };
    Shown { title: format!("{reference} {heading}"), project: Some(text(entity, "project").to_owned()), body }
}

/// What it is, what it is called, and what can be done with it.
fn head(view: &View<'_>, entity: &Value) -> Markup {
    let reference = text(entity, "reference_id");
    let heading = title(entity);
    html! {
        p.kind { (kind_words(text(entity, "kind"))) " " (link(reference)) }
        @if !text(entity, "title").is_empty() { h1 { (heading) } }
        p.actions {
            @if update_of(view, entity).is_some() {
                @let edit = format!("/r/{reference}/edit?next={}", encode(&back(view, reference)));
                // With scripts, the form takes the place of the text.
                a.button href=(edit) hx-get={ (edit) "&only=text" } hx-target="#text" hx-select="#edit" hx-swap="innerHTML"
                    hx-push-url="false" data-key="e" { "Edit" }
                @for (_, below) in BELOW.iter().filter(|(above, _)| Some(*above) == kind_of(reference)) {
                    a.button href={ "/p/" (text(entity, "project")) "/new/" (below.name()) "?under=" (reference) } data-key="c" {
                        "Add " (below.words())
                    }
                }
            }
            a.quiet href={ "/r/" (reference) "/history" } { "History" }
            a.quiet href={ "/r/" (reference) "/impact" } { "Impact" }
            @if kind_of(reference) != Some(Kind::SteeringDocument) { a.quiet href={ "/r/" (reference) "/threats" } { "Threats" } }
            (thread_of(entity))
            button.quiet type="button" data-copy={ (reference) " " (heading) } data-key="y" { "Copy link" }
        }
    }
}

/// The way to the code and the tests of something that can be cited, or to the thread of what is above such things.
fn thread_of(entity: &Value) -> Markup {
    let reference = text(entity, "reference_id");
    html! {
        @match kind_of(reference) {
            Some(Kind::Requirement | Kind::AcceptanceCriteria) => {
                a.quiet href={ "/r/" (reference) "/code" } { "Code" } " "
                a.quiet href={ "/r/" (reference) "/tests" } { "Tests" }
            }
            Some(Kind::Epic | Kind::UserStory) => { a.quiet href={ "/p/" (text(entity, "project")) "/thread/" (reference) } { "Thread" } }
            _ => {}
        }
    }
}

/// Whether the item is deleted, so that nothing can be added to it.
fn is_deleted(view: &View<'_>) -> bool {
    view.answers.get("entity").is_some_and(|entity| !text(entity, "deleted_at").is_empty())
}

/// What is said of something that is deleted.
fn deleted(view: &View<'_>, reference: &str) -> Markup {
    html! {
        div.notice role="status" {
            span { (reference) " is deleted." }
            @if view.me.may(known::RESTORE_ENTITY) {
                (post(known::RESTORE_ENTITY, &back(view, reference), html! {
                    (hidden("reference", reference)) button { "Restore" }
                }))
            }
        }
    }
}

/// What changes an item, if whoever looks may and it is not deleted.
pub fn update_of(view: &View<'_>, entity: &Value) -> Option<&'static Entry> {
    let kind = text(entity, "kind");
    let update = known::WRITES.iter().find(|(known, ..)| known.name() == kind).map(|(_, _, update)| *update);
    update.filter(|update| view.me.may(update) && text(entity, "deleted_at").is_empty())
}

/// The way from the epic down to here.
fn way(view: &View<'_>) -> Markup {
    let null = Value::Null;
    let path =
        view.answers.get("path").unwrap_or(&null)["path"].as_array().map(Vec::as_slice).unwrap_or_default();
    let above = &path[..path.len().saturating_sub(1)];
    html! {
        nav.way aria-label="Above" {
            @for (index, entity) in above.iter().enumerate() {
                @if index > 0 { span.muted { " / " } }
                (link(text(entity, "reference_id"))) " " span.muted { (title(entity)) }
            }
        }
    }
}

/// By which way a change came, unless a person made it in a page: an agent or a program, and the name of its token.
pub fn by(revision: &Value) -> Markup {
    let via = match text(revision, "via") {
        "web" => return html! {},
        "mcp" => "agent",
        "rest" => "program",
        "cli" => "command line",
        other => other,
    };
    let token = text(revision, "token");
    html! { span.via { (via) @if !token.is_empty() { " · " (token) } } }
}

fn children(view: &View<'_>, reference: &str) -> Markup {
    let below: Vec<Kind> = BELOW
        .iter()
        .filter(|(above, _)| Some(*above) == kind_of(reference))
        .map(|(_, below)| *below)
        .collect();
    html! {
        @for (kind, name) in below.into_iter().zip(NAMES) {
            @let rows = view.answers.list(name);
            @let total = view.answers.get(name).and_then(|page| page["total_count"].as_u64()).unwrap_or_default();
            @let n_left = total.saturating_sub(rows.len() as u64);
            (section(kind_plural(kind.name()), rows.is_empty(), "None yet.", html! {
                ul.rows { @for entity in rows { (row(entity)) } }
                @if n_left > 0 { (others(view, reference, kind, n_left)) }
            }))
        }
    }
}

/// The way to the table, for children that a page does not show.
fn others(view: &View<'_>, reference: &str, kind: Kind, n_left: u64) -> Markup {
    let key = view.answers.get("entity").map(|entity| text(entity, "project")).unwrap_or_default();
    let above = kind_of(reference).map_or("epic", Kind::name);
    html! {
        p.actions { a href={ "/p/" (key) "/list/" (kind.name()) "?" (above) "_id=" (reference) } { (n_left) " more: open the table" } }
    }
}
