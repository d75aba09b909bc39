//! `/admin/users`: who may sign in, and as what.

use maud::{Markup, html};
use ops::known;
use serde_json::{Map, Value, json};

use crate::form::{Field, form, roles};
use crate::page::{Answers, Asked, Page, Question, Shown, View, encode};
use crate::parts::{hidden, more, paged, post, text};
use crate::time::ago;

pub const PAGE: Page = Page { path: "/admin/users", nav: None, ask, show };

fn ask(asked: &Asked, answers: &Answers) -> Vec<Question> {
    if answers.has("users") {
        return Vec::new();
    }
    vec![Question::needed("users", known::LIST_USERS, paged(asked, json!({})))]
}

fn show(view: &View<'_>) -> Shown {
    let fields = [Field::new("username"), Field::new("email"), Field::new("role"), Field::new("password")];
    let body = html! {
        div.page.wide {
            h1 { "Users" }
            div.scrolled tabindex="0" role="region" aria-label="Users" {
                table.records {
                    thead { tr { th { "Name" } th { "Email" } th { "Role" } th { "Since" } th { "Actions" } } }
                    tbody { @for user in view.answers.list("users") { (one(view, user)) } }
                }
            }
            (more(view, "users"))
            section.card {
                h2 { "New user" }
                p.muted { "Without a password, make a sign-in link afterwards: whoever follows it sets one." }
                (post(known::CREATE_USER, PAGE.path, html! {
                    (form(known::CREATE_USER, &fields, &Map::new(), None))
                    p.actions { button.primary { "Create" } }
                }))
            }
        }
    };
    Shown { title: "Users".to_owned(), project: None, body }
}

fn one(view: &View<'_>, user: &Value) -> Markup {
    let name = text(user, "username");
    let is_disabled = user["disabled"] == true;
    html! {
        tr.off[is_disabled] {
            td { b { (name) } @if is_disabled { " " span.via { "disabled" } } }
            td { (text(user, "email")) }
            td {
                (post(known::UPDATE_USER, PAGE.path, html! {
                    (hidden("user", name))
                    select.bare name="role" aria-label={ "Role of " (name) } data-submit {
                        @for role in roles() { option value=(role) selected[text(user, "role") == role] { (role) } }
                    }
                    button.no-script { "Set" }
                }))
            }
            td { (ago(text(user, "created_at"), view.now)) }
            td {
                div.buttons {
                    (post(known::CREATE_SIGN_IN_LINK, PAGE.path, html! { (hidden("user", name)) button.quiet { "Sign-in link" } }))
                    (post(known::UPDATE_USER, PAGE.path, html! {
                        (hidden("user", name)) (hidden("disabled", if is_disabled { "false" } else { "true" }))
                        button.quiet { @if is_disabled { "Enable" } @else { "Disable" } }
                    }))
                    a.quiet.button href={ (super::tokens::PAGE.path) "?user=" (encode(name)) } { "Tokens and sessions" }
                    a.quiet.button href={ "/operations/" (known::UPDATE_USER.name) "?user=" (encode(name)) "&_next=" (PAGE.path) } { "Change" }
                    a.quiet.danger.button href={ "/operations/" (known::DELETE_USER.name) "?user=" (encode(name)) "&_next=" (PAGE.path) } { "Delete" }
                }
            }
        }
    }
}
