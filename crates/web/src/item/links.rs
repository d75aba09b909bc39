//! How one requirement is related to others, and what became suspect.

use maud::{Markup, html};
use ops::known;
use serde_json::{Value, json};
use store::model::Kind;

use crate::page::{Answers, Question, View};
use crate::parts::{Combobox, combobox, hidden, kind_of, link, post, status, text, title};

/// What requirements at the other ends are called among the answers.
const RELATED: &str = "related";
/// How many of them are asked for; the others are shown by their ids.
const RELATED_MAX: usize = 20;

/// The questions about requirements at the other ends of links, once the links are known.
pub fn ask(answers: &Answers) -> Vec<Question> {
    if answers.has(RELATED) {
        return Vec::new();
    }
    let reference = answers.get("entity").map(|entity| text(entity, "reference_id")).unwrap_or_default();
    let others = answers.list("relationships").iter().map(|one| other_end(reference, one));
    let others = others.take(RELATED_MAX);
    others.map(|other| Question::optional(RELATED, known::GET_ENTITY, json!({"reference": other}))).collect()
}

fn other_end<'a>(reference: &str, one: &'a Value) -> &'a str {
    if text(one, "source") == reference { text(one, "target") } else { text(one, "source") }
}

/// The links of a requirement; nothing for other kinds.
pub fn relationships(view: &View<'_>, reference: &str) -> Markup {
    if kind_of(reference) != Some(Kind::Requirement) {
        return html! {};
    }
    let links = view.answers.list("relationships");
    html! {
        section #links {
            h2 { "Links" }
            @if links.is_empty() { p.muted { "Not related to any other requirement." } }
            ul.rows { @for one in links { (row(view, reference, one)) } }
            @if view.me.may(known::CREATE_RELATIONSHIP) && !super::is_deleted(view) { (new(view, reference)) }
        }
    }
}

fn row(view: &View<'_>, reference: &str, one: &Value) -> Markup {
    let is_source = text(one, "source") == reference;
    let other = other_end(reference, one);
    let words = if is_source { text(one, "type") } else { text(one, "inverse_type") };
    let related = view.answers.all(RELATED).find(|entity| text(entity, "reference_id") == other);
    let here = super::back(view, reference);
    html! {
        li.row id={ "link-" (text(one, "id")) } {
            span { (words.replace('_', " ")) } (link(other))
            span.title { @if let Some(related) = related { (title(related)) " " (status(text(related, "status"))) } }
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

fn new(view: &View<'_>, reference: &str) -> Markup {
    let types = view.answers.get("types").and_then(|types| types["relationship_types"].as_array());
    let types = types.into_iter().flatten().map(|one| text(one, "name"));
    let target = Combobox {
        name: "target_requirement_id",
        what: "requirement",
        label: "The other requirement",
        hint: "REQ-001 or a title",
        key: Some('r'),
        is_required: true,
        ..Combobox::default()
    };
    post(
        known::CREATE_RELATIONSHIP,
        &super::back(view, reference),
        html! {
            div.inline {
                (hidden("source_requirement_id", reference))
                select name="relationship_type_id" aria-label="How they are related" {
                    @for name in types { option value=(name) { (name.replace('_', " ")) } }
                }
                (combobox(&target))
                button { "Link" }
            }
        },
    )
}
