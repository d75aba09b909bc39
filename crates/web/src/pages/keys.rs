//! `/keys`: what can be done without a mouse.

use maud::html;

use crate::keys::table;
use crate::page::{Answers, Asked, Page, Question, Shown, View};

pub const PAGE: Page = Page { path: "/keys", nav: None, ask, show };

fn ask(_: &Asked, _: &Answers) -> Vec<Question> {
    Vec::new()
}

fn show(view: &View<'_>) -> Shown {
    let body = html! {
        div.page {
            h1 { "Keys" }
            @if !view.me.has_keys { p.notice { "Single keys are switched off in your " a href="/account" { "account" } "." } }
            (table())
        }
    };
    Shown { title: "Keys".to_owned(), project: None, body }
}
