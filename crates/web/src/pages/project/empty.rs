//! What somebody sees who opens a project with nothing in it: three ways to begin.

use maud::{Markup, html};
use ops::known;

use crate::page::View;
use crate::parts::{hidden, post};

pub fn card(view: &View<'_>, key: &str) -> Markup {
    html! {
        section.card {
            h2 { "This project is empty" }
            @if view.me.may(known::LOAD_EXAMPLE) {
                p { "Begin with an epic, bring requirements from a file (Excel, CSV, Markdown, JSON or ReqIF), or look around in an example." }
                div.actions {
                    a.button href={ "/p/" (key) "/new/epic" } { "Create an epic" }
                    a.button href={ "/p/" (key) "/import" } { "Import a file" }
                    (post(known::LOAD_EXAMPLE, &format!("/p/{key}"), html! {
                        (hidden("project", key)) button { "Load the example" }
                    }))
                }
            } @else {
                p { "Nobody has written anything yet." }
            }
        }
    }
}
