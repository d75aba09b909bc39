//! One thing: its text, what is above, below and beside it, and what people say of it.

use maud::{Markup, html};
use ops::known;
use serde_json::{Value, json};
use store::model::Kind;

use crate::markdown;
use crate::page::{Answers, Asked, Question, Shown, View};
use crate::pages::{chosen, has_status, statuses};
use crate::parts::{
    hidden, kind_of, kind_plural, kind_words, link, post, priority, row, section, status, text, title,
};
use crate::time::ago;

/// What is directly below a kind: the kind, and the argument that says so.
const BELOW: &[(Kind, Kind)] = &[
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
        let about = json!({"reference": reference});
        return vec![Question::needed("entity", known::GET_ENTITY, about)];
    };
    if answers.has("path") {
        return Vec::new();
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

pub fn show(view: &View<'_>) -> Shown {
    let null = Value::Null;
    let entity = view.answers.get("entity").unwrap_or(&null);
    let reference = text(entity, "reference_id");
    let heading = title(entity);
    let body = html! {
        article.item data-live={ (reference) "@" (entity["version"]) } data-reference=(reference) {
            (way(view))
            header.item-head {
                    p.kind { (kind_words(text(entity, "kind"))) " " (link(reference)) }
                    @if !text(entity, "title").is_empty() { h1 { (heading) } }
                    p.actions {
                        @if may_change(view, reference) {
                            a.button href={ "/r/" (reference) "/edit" } data-key="e" { "Edit" }
                            @for (_, below) in BELOW.iter().filter(|(above, _)| Some(*above) == kind_of(reference)) {
                                a.button href={ "/p/" (text(entity, "project")) "/new/" (below.name()) "?under=" (reference) } {
                                    "Add " (below.words())
                                }
                            }
                        }
                        a.quiet href={ "/r/" (reference) "/history" } { "History" }
                        button.quiet type="button" data-copy={ (reference) " " (heading) } data-key="y" { "Copy link" }
                    }
            }
            div.item-main {
                @if text(entity, "deleted_at").is_empty() {} @else {
                    p.notice { "This is deleted. "
                        (post(known::RESTORE_ENTITY, &format!("/r/{reference}"), html! {
                            (hidden("reference", reference)) button { "Restore" }
                        }))
                    }
                }
                div.prose { (markdown::render(text(entity, "description"))) }
                @if !text(entity, "rationale").is_empty() {
                    h2 { "Why" }
                    div.prose { (markdown::render(text(entity, "rationale"))) }
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

fn may_change(view: &View<'_>, reference: &str) -> bool {
    let kind = kind_of(reference);
    known::WRITES.iter().any(|(known, _, update)| Some(*known) == kind && view.me.may(update))
}

/// The way from the epic down to here.
fn way(view: &View<'_>) -> Markup {
    let null = Value::Null;
    let path =
        view.answers.get("path").unwrap_or(&null)["path"].as_array().map(Vec::as_slice).unwrap_or_default();
    let above = &path[..path.len().saturating_sub(1)];
    html! {
        nav.way aria-label="Above" {
            @for entity in above {
                (link(text(entity, "reference_id"))) " " span.muted { (title(entity)) } span.muted { " / " }
            }
        }
    }
}

/// Status, priority and the rest, beside the text.
fn facts(view: &View<'_>, entity: &Value) -> Markup {
    let reference = text(entity, "reference_id");
    let kind = text(entity, "kind");
    let update = known::WRITES.iter().find(|(known, ..)| known.name() == kind).map(|(_, _, update)| *update);
    let update = update.filter(|update| view.me.may(update) && text(entity, "deleted_at").is_empty());
    let here = format!("/r/{reference}");
    let labels = entity["labels"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let change = |inside: Markup| {
        update
            .map(|update| post(update, &here, html! { (hidden(&format!("{kind}_id"), reference)) (inside) }))
    };
    let priorities: Vec<(usize, &str)> = (1..).zip(crate::parts::PRIORITIES).collect();
    html! {
        aside.facts {
            dl {
                @if !text(entity, "status").is_empty() {
                    dt { "Status" }
                    dd { @match change(chosen("status", &statuses(view), text(entity, "status"), "Status")) {
                        Some(form) => (form), None => (status(text(entity, "status"))),
                    } }
                }
                @if let Some(current) = entity["priority"].as_u64() {
                    dt { "Priority" }
                    dd { @match change(html! {
                        select.bare name="priority" aria-label="Priority" data-submit {
                            @for (number, name) in &priorities { option value=(number) selected[*number as u64 == current] { (name) } }
                        }
                        button.quiet.no-script { "Set" }
                    }) { Some(form) => (form), None => (priority(&entity["priority"])) } }
                }
                @if !text(entity, "type").is_empty() { dt { "Type" } dd { (text(entity, "type")) } }
                @if !text(entity, "assignee").is_empty() { dt { "Assignee" } dd { (text(entity, "assignee")) } }
                @for label in labels { dt { "Label" } dd { span.label { (label) } } }
                dt { "Version" } dd { (entity["version"]) }
                dt { "Created" } dd { (text(entity, "creator")) " " (ago(text(entity, "created_at"), view.now)) }
                dt { "Changed" } dd { (ago(text(entity, "updated_at"), view.now)) }
            }
            (recent(view, reference))
            @if view.me.may(known::DELETE_ENTITY) && text(entity, "deleted_at").is_empty() {
                p { a.quiet.danger href={ "/operations/" (known::DELETE_ENTITY.name) "?reference=" (reference) "&dry_run=true" } { "Delete…" } }
            }
        }
    }
}

/// The last changes.
fn recent(view: &View<'_>, reference: &str) -> Markup {
    html! {
        h2 { a href={ "/r/" (reference) "/history" } { "History" } }
        ul.history {
            @for revision in view.answers.list("history") {
                @let changes = revision["changes"].as_object();
                @let names: Vec<&str> = changes.into_iter().flatten().map(|(name, _)| name.as_str()).filter(|name| !name.ends_with("id")).collect();
                li {
                    (text(revision, "actor")) " " (by(revision)) " "
                    span.muted { @if revision["version"] == 1 { "created it " } @else { "changed " (names.join(", ")) " " } }
                    (ago(text(revision, "created_at"), view.now))
                }
            }
        }
    }
}

/// By which way a change came: a person in a page, or a program.
pub fn by(revision: &Value) -> Markup {
    let via = match text(revision, "via") {
        "web" => return html! {},
        "mcp" => "agent",
        "rest" => "program",
        "cli" => "command line",
        other => other,
    };
    html! { span.via { (via) } }
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
            (section(kind_plural(kind.name()), rows.is_empty(), "None yet.", html! { ul.rows { @for entity in rows { (row(entity)) } } }))
        }
    }
}

fn relationships(view: &View<'_>, reference: &str) -> Markup {
    if kind_of(reference) != Some(Kind::Requirement) {
        return html! {};
    }
    let links = view.answers.list("relationships");
    let types = view.answers.get("types").and_then(|types| types["relationship_types"].as_array());
    let types: Vec<String> = types.into_iter().flatten().map(|one| text(one, "name").to_owned()).collect();
    let here = format!("/r/{reference}");
    html! {
        section {
            h2 { "Links" }
            @if links.is_empty() { p.muted { "Not related to any other requirement." } }
            ul.rows {
                @for one in links {
                    @let is_source = text(one, "source") == reference;
                    @let other = if is_source { text(one, "target") } else { text(one, "source") };
                    @let words = if is_source { text(one, "type") } else { text(one, "inverse_type") };
                    li.row {
                        span { (words.replace('_', " ")) } (link(other))
                        @if one["suspect"] == true {
                            span.suspect { "suspect: " @if is_source { "it" } @else { "this" } " has changed since" }
                            @if view.me.may(known::CLEAR_SUSPECT_LINK) {
                                (post(known::CLEAR_SUSPECT_LINK, &here, html! { (hidden("id", text(one, "id"))) button.quiet { "Still right" } }))
                            }
                        }
                        @if view.me.may(known::DELETE_RELATIONSHIP) {
                            (post(known::DELETE_RELATIONSHIP, &here, html! {
                                (hidden("id", text(one, "id"))) button.quiet aria-label={ "Remove the link with " (other) } { "Remove" }
                            }))
                        }
                    }
                }
            }
            @if view.me.may(known::CREATE_RELATIONSHIP) {
                (post(known::CREATE_RELATIONSHIP, &here, html! {
                    div.inline {
                        (hidden("source_requirement_id", reference))
                        select name="relationship_type_id" aria-label="How they are related" {
                            @for name in &types { option value=(name) { (name.replace('_', " ")) } }
                        }
                        input type="text" name="target_requirement_id" placeholder="REQ-001" aria-label="The other requirement" required size="10";
                        button { "Link" }
                    }
                }))
            }
        }
    }
}

fn comments(view: &View<'_>, reference: &str) -> Markup {
    let comments = view.answers.list("comments");
    let here = format!("/r/{reference}");
    html! {
        section.comments {
            h2 { "Comments" }
            @for comment in comments {
                div.comment.resolved[comment["resolved"] == true] {
                    p.muted { (text(comment, "author")) " " (ago(text(comment, "created_at"), view.now))
                        @if comment["resolved"] == true { " · settled" } }
                    @if !text(comment, "quote").is_empty() { blockquote { (text(comment, "quote")) } }
                    div.prose { (markdown::render(text(comment, "content"))) }
                    @if comment["resolved"] != true && view.me.may(known::UPDATE_COMMENT) {
                        (post(known::UPDATE_COMMENT, &here, html! {
                            (hidden("comment_id", text(comment, "id"))) (hidden("resolved", "true"))
                            button.quiet { "Settle" }
                        }))
                    }
                }
            }
            @if view.me.may(known::ADD_COMMENT) {
                (post(known::ADD_COMMENT, &here, html! {
                    (hidden("reference", reference))
                    textarea name="content" rows="3" placeholder="Write a comment (Markdown)" aria-label="Comment" required data-key="m" {}
                    p.actions { button { "Comment" } }
                }))
            }
        }
    }
}
