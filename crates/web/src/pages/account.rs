//! `/account`: one's own password, tokens and sessions.

use maud::{Markup, html};
use ops::known;
use serde_json::{Map, Value, json};

use crate::form::{Field, form};
use crate::page::{Answers, Asked, KEYS, PREFERENCES, Page, Question, Shown, THEME, THEMES, View};
use crate::parts::{client, hidden, post, scopes, section, text};
use crate::time::ago;

pub const PAGE: Page = Page { path: "/account", nav: None, ask, show };

fn ask(_: &Asked, answers: &Answers) -> Vec<Question> {
    if answers.has("me") {
        return Vec::new();
    }
    vec![
        Question::needed("me", known::WHO_AM_I, json!({})),
        Question::optional("tokens", known::LIST_TOKENS, json!({"limit": 100})),
        Question::optional("sessions", known::LIST_SESSIONS, json!({"limit": 100})),
    ]
}

fn show(view: &View<'_>) -> Shown {
    let null = Value::Null;
    let me = view.answers.get("me").unwrap_or(&null);
    let (tokens, sessions) = (view.answers.list("tokens"), view.answers.list("sessions"));
    let password = [Field::new("current_password"), Field::new("new_password")];
    let body = html! {
        div.page {
            h1 { "Account" }
            p { b { (text(me, "username")) } ", " (text(me, "email")) ", " (text(me, "role")) }
            div.columns {
                section {
                    h2 { "Password" }
                    (post(known::CHANGE_PASSWORD, "/account", html! {
                        // Password managers want to know whose password it is.
                        input type="text" name="_username" value=(text(me, "username")) autocomplete="username" hidden;
                        (hidden("cookie", "true"))
                        (form(known::CHANGE_PASSWORD, &password, &Map::new(), None))
                        p.actions { button { "Change the password" } }
                    }))
                }
                (section("Sessions", sessions.is_empty(), "No session.", html! {
                    ul.rows { @for session in sessions { (one_session(view, session)) } }
                    (post(known::REVOKE_OTHER_SESSIONS, "/account", html! { button.quiet { "End all other sessions" } }))
                }))
                (section("Tokens", tokens.is_empty(), "No token. Agents and programs need one.", html! {
                    ul.rows { @for token in tokens { (one_token(view, token)) } }
                }))
                section {
                    h2 { "Theme" }
                    form method="post" action=(PREFERENCES) {
                        div.inline {
                            select name=(THEME) aria-label="Theme" data-submit {
                                option value="" { "As the system" }
                                @for theme in THEMES {
                                    option value=(theme) selected[view.me.theme == Some(theme)] { (theme) }
                                }
                            }
                            button.no-script { "Set" }
                        }
                    }
                }
                section {
                    h2 { "Keys" }
                    form method="post" action=(PREFERENCES) {
                        div.inline {
                            select name=(KEYS) aria-label="Single keys" data-submit {
                                option value="on" { "Single keys are on" }
                                option value="off" selected[!view.me.has_keys] { "Single keys are off" }
                            }
                            button.no-script { "Set" }
                        }
                    }
                    p.muted { "Ctrl K always works. " a href="/keys" { "All keys" } }
                }
                section {
                    h2 { "New token" }
                    p.muted { "For an agent or a program. " a href="/connect" { "Connect an agent" } " makes one with its configuration." }
                }
            }
        }
    };
    Shown { title: "Account".to_owned(), project: None, body }
}

fn one_session(view: &View<'_>, session: &Value) -> Markup {
    html! {
        li.row {
            span.title title=(text(session, "user_agent")) { (client(text(session, "user_agent"))) }
            span.muted { "since " (ago(text(session, "created_at"), view.now)) }
            @if session["current"] == true { span.via { "this one" } } @else {
                (post(known::REVOKE_SESSION, "/account", html! { (hidden("session_id", text(session, "id"))) button.quiet { "End" } }))
            }
        }
    }
}

fn one_token(view: &View<'_>, token: &Value) -> Markup {
    let used = text(token, "last_used_at");
    html! {
        li.row {
            b { (text(token, "name")) } code { (text(token, "prefix")) "…" }
            span.muted { (scopes(token)) }
            span.muted { @if used.is_empty() { "never used" } @else { "used " (ago(used, view.now)) } }
            (post(known::REVOKE_TOKEN, "/account", html! { (hidden("token_id", text(token, "id"))) button.quiet.danger { "Revoke" } }))
        }
    }
}
