//! `/p/{key}/members`: who sees a project, and what they may do in it.

use maud::{Markup, html};
use ops::known;
use serde_json::{Map, Value, json};
use store::model::Role;

use crate::form::{Field, form, roles};
use crate::page::{Answers, Asked, Page, Question, Shown, View};
use crate::parts::{hidden, more, paged, post, text};

pub const PAGE: Page = Page { path: "/p/{key}/members", nav: None, ask, show };

fn ask(asked: &Asked, answers: &Answers) -> Vec<Question> {
    if answers.has("project") {
        return Vec::new();
    }
    let about = json!({"project": asked.parameter("key")});
    vec![
        Question::needed("project", known::GET_PROJECT, about.clone()),
        Question::needed("members", known::LIST_PROJECT_MEMBERS, paged(asked, about)),
    ]
}

fn show(view: &View<'_>) -> Shown {
    let null = Value::Null;
    let project = view.answers.get("project").unwrap_or(&null);
    let key = view.asked.parameter("key");
    let next = format!("/p/{key}/members");
    let is_closed = text(project, "access") == "members";
    let may = manages(view, is_closed);
    let members = view.answers.list("members");
    let body = html! {
        div.page {
            h1 { "Members of " (text(project, "name")) }
            @if is_closed {
                p { "Only members and administrators see this project." }
            } @else {
                p { "Everybody who can sign in sees this project, with the role that they have everywhere." }
            }
            @if view.me.may(known::UPDATE_PROJECT) { (access(key, &next, is_closed)) }
            h2 { "Members" }
            @if members.is_empty() { p.muted { "No member yet." } }
            @if !members.is_empty() && !is_closed { p.muted { "Memberships count once the project is closed to others." } }
            ul.rows { @for member in members { (one(key, &next, member, may)) } }
            (more(view, "members"))
            @if may {
                section.card {
                    h2 { "Add a member" }
                    (post(known::SET_PROJECT_MEMBER, &next, html! {
                        (hidden("project", key))
                        (form(known::SET_PROJECT_MEMBER, &[Field::new("user"), Field::new("role")], &Map::new(), None))
                        p.actions { button.primary { "Add" } }
                    }))
                }
            }
        }
    };
    Shown { title: format!("Members of {key}"), project: Some(key.to_owned()), body }
}

/// Whether the user looks after this project: an administrator of everything, or of it.
fn manages(view: &View<'_>, is_closed: bool) -> bool {
    let own = view.answers.list("members").iter().find(|member| text(member, "username") == view.me.username);
    let is_own = is_closed && own.is_some_and(|member| text(member, "role") == Role::Administrator.name());
    view.me.may(known::SET_PROJECT_MEMBER) && (view.me.role == Role::Administrator || is_own)
}

fn access(key: &str, next: &str, is_closed: bool) -> Markup {
    post(
        known::UPDATE_PROJECT,
        next,
        html! {
            (hidden("project", key))
            (hidden("access", if is_closed { "open" } else { "members" }))
            p.actions { button { @if is_closed { "Open it to everybody" } @else { "Restrict it to members" } } }
        },
    )
}

fn one(key: &str, next: &str, member: &Value, may: bool) -> Markup {
    let name = text(member, "username");
    html! {
        li.row {
            span.title { b { (name) } }
            @if may {
                (post(known::SET_PROJECT_MEMBER, next, html! {
                    (hidden("project", key)) (hidden("user", name))
                    select.bare name="role" aria-label={ "Role of " (name) } data-submit {
                        @for role in roles() { option value=(role) selected[text(member, "role") == role] { (role) } }
                    }
                    button.no-script { "Set" }
                }))
                (post(known::REMOVE_PROJECT_MEMBER, next, html! {
                    (hidden("project", key)) (hidden("user", name))
                    button.quiet.danger aria-label={ "Remove " (name) } { "Remove" }
                }))
            } @else { span.muted { (text(member, "role")) } }
        }
    }
}
