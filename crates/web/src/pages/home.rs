//! `/`: what is mine, what needs a look, and the projects.

use maud::{Markup, html};
use ops::known;
use serde_json::{Value, json};

use super::NEW_PROJECT;
use super::activity::{deed, restore};
use crate::page::{Answers, Asked, Page, Question, Shown, View};
use crate::parts::{link, post, row, section, text};
use crate::time::ago;

pub const PAGE: Page = Page { path: "/", nav: None, ask, show };

fn ask(_: &Asked, answers: &Answers) -> Vec<Question> {
    if !answers.has("me") {
        return vec![Question::needed("me", known::WHO_AM_I, json!({}))];
    }
    if answers.has("mine") {
        return Vec::new();
    }
    let me = answers.get("me").map(|me| me["username"].clone()).unwrap_or_default();
    let agents = json!({"by_agents": true, "limit": 8});
    let mine = |kind: &str| json!({"kind": kind, "assignee": me, "sort": "updated", "limit": 10});
    vec![
        Question::optional("mine", known::LIST_ENTITIES, mine("requirement")),
        Question::optional("stories", known::LIST_ENTITIES, mine("user_story")),
        Question::optional("suspects", known::LIST_SUSPECT_LINKS, json!({"details": true, "limit": 10})),
        Question::optional("comments", known::LIST_COMMENTS, json!({"resolved": false, "limit": 10})),
        Question::optional("agents", known::LIST_CHANGES, agents),
    ]
}

fn show(view: &View<'_>) -> Shown {
    let list = |name: &str| view.answers.list(name);
    let (mine, stories, suspects, comments) =
        (list("mine"), list("stories"), list("suspects"), list("comments"));
    let is_empty = mine.is_empty() && stories.is_empty() && suspects.is_empty() && comments.is_empty();
    let body = html! {
        div.page {
            h1 { "Home" }
            @if is_empty { (welcome(view)) }
            div.columns {
                (section("My stories", stories.is_empty(), "No story is assigned to you.", html! {
                    ul.rows { @for story in stories { (row(story)) } }
                }))
                (section("My requirements", mine.is_empty(), "No requirement is assigned to you.", html! {
                    ul.rows { @for requirement in mine { (row(requirement)) } }
                }))
                (section("Suspect links", suspects.is_empty(), "No link is suspect: nothing changed under a requirement that rests on it.", html! {
                    ul.rows { @for suspect in suspects { (suspect_row(suspect, "/", view.me.may(known::CLEAR_SUSPECT_LINK))) } }
                }))
                (section("What agents changed", list("agents").is_empty(), "No agent has changed anything yet.", html! {
                    ul.rows { @for change in list("agents") { (agent_row(view, change)) } }
                }))
                (section("Open comments", comments.is_empty(), "Nobody waits for an answer.", html! {
                    ul.rows { @for comment in comments { (comment_row(comment, view.now)) } }
                }))
            }
        }
    };
    Shown { title: "Home".to_owned(), project: None, body }
}

/// What somebody sees who has nothing yet.
fn welcome(view: &View<'_>) -> Markup {
    let first = view.answers.list("projects").first().map(|project| text(project, "key").to_owned());
    html! {
        section.card {
            h2 { "Nothing here is yours yet" }
            p { @if view.me.may_create("epic") { "Look around in a project, or begin one." } @else { "Look around in a project." } }
            p.actions {
                @if let Some(key) = first {
                    a.button href={ "/p/" (key) } { "Open the project" }
                    @if view.me.may_create("epic") { a.button href={ "/p/" (key) "/new/epic" } { "Create an epic" } }
                    @if view.me.may(known::IMPORT) { a.button href={ "/p/" (key) "/import" } { "Import a file" } }
                }
                @if view.me.may(known::CREATE_PROJECT) { a.button href=(NEW_PROJECT) { "Create a project" } }
                a.button href="/connect" { "Connect an agent" }
            }
        }
    }
}

/// A suspect link, which can be confirmed; then the page `next` is shown.
pub fn suspect_row(suspect: &Value, next: &str, may_confirm: bool) -> Markup {
    html! {
        li.row {
            (link(text(suspect, "source")))
            span.title {
                (text(&suspect["source_says"], "title")) " " span.muted { (text(suspect, "type").replace('_', " ")) } " "
                (link(text(suspect, "target"))) " " (text(&suspect["target_says"], "title")) span.muted { ", which has changed" }
            }
            @if may_confirm {
                (post(known::CLEAR_SUSPECT_LINK, next, html! {
                    input type="hidden" name="id" value=(text(suspect, "id"));
                    button.quiet { "Still right" }
                }))
            }
        }
    }
}

fn comment_row(comment: &Value, now: i64) -> Markup {
    html! {
        li.row {
            (link(text(comment, "entity")))
            span.title { (text(comment, "content")) }
            span.muted { (text(comment, "author")) " " (ago(text(comment, "updated_at"), now)) }
        }
    }
}

/// A change by an agent, with the token that it used, and what takes it back.
fn agent_row(view: &View<'_>, change: &Value) -> Markup {
    html! {
        li.row {
            @if text(change, "reference_id").is_empty() {
                a href={ "/p/" (text(change, "project")) "/activity?by=agents" } { (text(change, "project")) }
            } @else { (link(text(change, "reference_id"))) }
            span.title { (text(change, "title")) }
            span.muted {
                (deed(change)) ", "
                @if !text(change, "token").is_empty() { (text(change, "token")) ", " }
                (ago(text(change, "created_at"), view.now))
            }
            (restore(view, change))
        }
    }
}
