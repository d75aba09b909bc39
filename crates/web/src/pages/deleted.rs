//! `/p/{key}/deleted`: what is deleted, each with what went with it, to be restored or erased for good.

use maud::{Markup, html};
use ops::known;
use serde_json::{Value, json};

use crate::page::{Answers, Asked, Page, Question, Shown, View};
use crate::parts::{hidden, kind_words, link, more, named, paged, post, text};
use crate::time::ago;

pub const PAGE: Page = Page { path: "/p/{key}/deleted", nav: None, ask, show };

fn ask(asked: &Asked, answers: &Answers) -> Vec<Question> {
    if answers.has("deleted") {
        return Vec::new();
    }
    let about = paged(asked, json!({"project": asked.parameter("key")}));
    vec![Question::needed("deleted", known::LIST_DELETIONS, about)]
}

fn show(view: &View<'_>) -> Shown {
    let key = view.asked.parameter("key");
    let deleted = view.answers.list("deleted");
    let body = html! {
        div.page {
            h1 { "Deleted" }
            @if deleted.is_empty() { p.muted { "Nothing is deleted in this project." } }
            ul.rows { @for one in deleted { (shown(view, key, one)) } }
            (more(view, "deleted"))
        }
    };
    Shown { title: format!("Deleted in {key}"), project: Some(key.to_owned()), body }
}

fn shown(view: &View<'_>, key: &str, deleted: &Value) -> Markup {
    let next = format!("/p/{key}/deleted");
    let reference = text(deleted, "reference_id");
    let comment = deleted["comment_id"].as_str();
    let n_more = deleted["n_entities"].as_u64().unwrap_or_default().saturating_sub(1);
    let references = deleted["references"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let with_it: Vec<&str> = references.filter(|one| *one != reference).collect();
    html! {
        li.deletion {
            p.row {
                @if comment.is_some() { span.muted { "a comment on" } } @else { span.muted { (kind_words(text(deleted, "kind"))) } }
                (link(reference))
                span.title { (named(reference, text(deleted, "title"))) }
                span.muted { (text(deleted, "deleted_by")) ", " (ago(text(deleted, "deleted_at"), view.now)) }
            }
            @if n_more > 0 {
                p.muted.small {
                    "with " (n_more) " more: "
                    @for one in &with_it { (link(one)) " " }
                    @if n_more > with_it.len() as u64 { "…" }
                }
            }
            (what_to_do(view, deleted, &next))
        }
    }
}

fn what_to_do(view: &View<'_>, deleted: &Value, next: &str) -> Markup {
    let (argument, id, restore, purge) = match deleted["comment_id"].as_str() {
        Some(id) => ("comment_id", id, known::RESTORE_COMMENT, known::PURGE_COMMENT),
        None => ("reference", text(deleted, "reference_id"), known::RESTORE_ENTITY, known::PURGE_ENTITY),
    };
    if !text(deleted, "purged_at").is_empty() {
        return html! { p.muted.small { "Its text was erased for good " (ago(text(deleted, "purged_at"), view.now)) "." } };
    }
    html! {
        div.buttons {
            @if view.me.may(restore) {
                (post(restore, next, html! { (hidden(argument, id)) button { "Restore" } }))
            }
            @if view.me.may(purge) {
                (post(purge, next, html! { (hidden(argument, id)) (hidden("dry_run", "true")) button.quiet.danger { "Erase for good…" } }))
            }
        }
    }
}
