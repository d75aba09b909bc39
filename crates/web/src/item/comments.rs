//! What people say of one item: threads, on all of it or on a passage of its text.

use maud::{Markup, html};
use ops::known;
use serde_json::Value;
use store::model::Role;

use crate::markdown;
use crate::page::View;
use crate::parts::{hidden, post, text};
use crate::time::ago;

/// All threads, and a place to begin another.
pub fn comments(view: &View<'_>, reference: &str) -> Markup {
    let comments = view.answers.list("comments");
    let threads = comments.iter().filter(|comment| text(comment, "parent_id").is_empty());
    html! {
        section.comments #comments {
            h2 { "Comments" }
            @for comment in threads { (thread(view, reference, comment, 0)) }
            @if view.me.may(known::ADD_COMMENT) && !super::is_deleted(view) {
                (post(known::ADD_COMMENT, &super::back(view, reference), html! {
                    (hidden("reference", reference))
                    // A script fills this in from what is selected in the text.
                    div.field.quoting {
                        label for="comment-quote" { "On this passage" }
                        input #comment-quote type="text" name="quote" autocomplete="off" placeholder="all of it";
                        button.quiet.scripted-only type="button" data-clear="#comment-quote" { "On all of it" }
                    }
                    textarea #comment-new name="content" rows="3" placeholder="Write a comment (Markdown)" aria-label="Comment" required
                        data-key="m" data-markdown data-draft={ "comment " (reference) } {}
                    p.actions { button { "Comment" } }
                }))
            }
        }
    }
}

/// How deep answers are indented; deeper ones stay where they are.
const DEPTH_MAX: usize = 3;

fn thread(view: &View<'_>, reference: &str, comment: &Value, depth: usize) -> Markup {
    let id = text(comment, "id");
    let answers = view.answers.list("comments").iter().filter(|answer| text(answer, "parent_id") == id);
    let here = super::back(view, reference);
    let is_settled = comment["resolved"] == true;
    html! {
        div.comment.resolved[is_settled] id={ "comment-" (id) } {
            p.muted { b { (text(comment, "author")) } " " (ago(text(comment, "created_at"), view.now)) @if is_settled { " · resolved" } }
            @if !text(comment, "quote").is_empty() {
                blockquote data-quote=[(comment["detached"] != true).then_some(reference)] { (text(comment, "quote")) }
                @if comment["detached"] == true { p.muted.small { "This passage is no longer in the text." } }
            }
            div.prose hx-ignore { (markdown::render(text(comment, "content"))) }
            div.comment-actions {
                @if view.me.may(known::UPDATE_COMMENT) && depth == 0 {
                    (post(known::UPDATE_COMMENT, &here, html! {
                        (hidden("comment_id", id)) (hidden("resolved", if is_settled { "false" } else { "true" }))
                        button.quiet { @if is_settled { "Reopen" } @else { "Resolve" } }
                    }))
                }
                @if view.me.may(known::ADD_COMMENT) && !is_settled {
                    details.reply {
                        summary { "Reply" }
                        (post(known::ADD_COMMENT, &here, html! {
                            (hidden("reference", reference)) (hidden("parent", id))
                            textarea name="content" rows="2" aria-label={ "Reply to " (text(comment, "author")) } required
                                data-markdown data-draft={ "reply " (id) } {}
                            p.actions { button { "Reply" } }
                        }))
                    }
                }
                @if is_own(view, comment) { (change(comment, &here)) }
            }
            div.answers.flat[depth >= DEPTH_MAX] { @for answer in answers { (thread(view, reference, answer, depth + 1)) } }
        }
    }
}

/// Whether somebody may change the text of a comment: its author and administrators may.
fn is_own(view: &View<'_>, comment: &Value) -> bool {
    let is_author = text(comment, "author") == view.me.username;
    view.me.may(known::UPDATE_COMMENT) && (is_author || view.me.role == Role::Administrator)
}

/// Changes the text of a comment, or deletes it with its answers after showing how many.
fn change(comment: &Value, here: &str) -> Markup {
    let id = text(comment, "id");
    html! {
        details.reply {
            summary { "Edit" }
            (post(known::UPDATE_COMMENT, here, html! {
                (hidden("comment_id", id)) (hidden("expected_version", &comment["version"].to_string()))
                textarea name="content" rows="2" aria-label="Comment" required
                    data-markdown data-draft={ "comment " (id) } { (text(comment, "content")) }
                p.actions { button { "Save" } }
            }))
        }
        (post(known::DELETE_COMMENT, here, html! {
            (hidden("comment_id", id)) (hidden("dry_run", "true"))
            button.quiet.danger { "Delete…" }
        }))
    }
}
