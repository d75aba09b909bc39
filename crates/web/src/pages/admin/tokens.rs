//! `/admin/tokens`: what agents and browsers sign in with, of everybody or of one user.

use maud::{Markup, html};
use ops::known;
use serde_json::{Value, json};

use crate::page::{Answers, Asked, Page, Question, Shown, View};
use crate::pages::USER;
use crate::parts::{Combobox, client, combobox, hidden, more, paged, post, scopes, section, text};
use crate::time::ago;

pub const PAGE: Page = Page { path: "/admin/tokens", nav: None, ask, show };

fn ask(asked: &Asked, answers: &Answers) -> Vec<Question> {
    if answers.has("tokens") {
        return Vec::new();
    }
    let whose = asked.first("user").map_or_else(|| json!({"all": true}), |user| json!({"user": user}));
    let mut questions = vec![
        Question::permission("may", known::LIST_USERS),
        Question::needed("tokens", known::LIST_TOKENS, paged(asked, whose)),
    ];
    if let Some(user) = asked.first("user") {
        let about = json!({"user": user, "limit": 100});
        questions.push(Question::needed("sessions", known::LIST_SESSIONS, about));
    }
    questions
}

fn show(view: &View<'_>) -> Shown {
    let user = view.asked.first("user");
    let (tokens, sessions) = (view.answers.list("tokens"), view.answers.list("sessions"));
    let next = view.asked.with("cursor", None);
    let chosen = Combobox {
        name: "user",
        what: USER,
        label: "User",
        value: user.unwrap_or_default(),
        hint: "Everybody",
        ..Combobox::default()
    };
    let body = html! {
        div.page.wide {
            h1 { "Tokens and sessions" }
            form.filters method="get" action=(PAGE.path) { (combobox(&chosen)) button { "Show" } }
            (section("Tokens", tokens.is_empty(), "No token.", html! {
                div.scrolled tabindex="0" role="region" aria-label="Tokens" {
                    table.records {
                        thead { tr { th { "User" } th { "Name" } th { "May" } th { "Used" } th { "Ends" } th { "Actions" } } }
                        tbody { @for token in tokens { (one_token(view, token, &next)) } }
                    }
                }
                (more(view, "tokens"))
            }))
            @if let Some(user) = user {
                (section("Sessions", sessions.is_empty(), "No session.", html! {
                    ul.rows { @for session in sessions { (one_session(view, session, &next)) } }
                    (post(known::REVOKE_OTHER_SESSIONS, &next, html! { (hidden("user", user)) button.quiet.danger { "End all of them" } }))
                }))
            } @else {
                p.muted { "Choose a user to see their sessions." }
            }
        }
    };
    Shown { title: "Tokens and sessions".to_owned(), project: None, body }
}

fn one_token(view: &View<'_>, token: &Value, next: &str) -> Markup {
    let (used, ends) = (text(token, "last_used_at"), text(token, "expires_at"));
    html! {
        tr {
            td { (text(token, "username")) (text(token, "user")) }
            td { b { (text(token, "name")) } " " code { (text(token, "prefix")) "…" } }
            td { (scopes(token)) }
            td { @if used.is_empty() { span.muted { "never" } } @else { (ago(used, view.now)) } }
            td { @if ends.is_empty() { span.muted { "never" } } @else { time datetime=(ends) { (ends.get(..10).unwrap_or(ends)) } } }
            td { (post(known::REVOKE_TOKEN, next, html! { (hidden("token_id", text(token, "id"))) button.quiet.danger { "Revoke" } })) }
        }
    }
}

fn one_session(view: &View<'_>, session: &Value, next: &str) -> Markup {
    html! {
        li.row {
            span.title title=(text(session, "user_agent")) { (client(text(session, "user_agent"))) }
            span.muted { (text(session, "address")) }
            span.muted { "since " (ago(text(session, "created_at"), view.now)) }
            (post(known::REVOKE_SESSION, next, html! { (hidden("session_id", text(session, "id"))) button.quiet.danger { "End" } }))
        }
    }
}
