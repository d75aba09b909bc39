//! `/admin`: what looks after the server, by what the user may use of it.

pub mod audit;
pub mod projects;
pub mod repositories;
pub mod statuses;
pub mod tokens;
pub mod types;
pub mod users;

use maud::html;
use ops::{Entry, known};

use crate::page::{Answers, Asked, Page, Question, Shown, View};
use crate::parts::text;

pub const PAGE: Page = Page { path: "/admin", nav: None, ask, show };

/// A page that looks after something.
pub struct Place {
    /// What it is called.
    pub name: &'static str,
    /// Where it is.
    pub path: &'static str,
    /// What it is for.
    pub about: &'static str,
    /// The operation that it is of no use without.
    pub uses: &'static Entry,
}

/// All of them.
pub const PLACES: &[Place] = &[
    Place {
        name: "Users",
        path: users::PAGE.path,
        about: "Who may sign in, and as what",
        uses: known::LIST_USERS,
    },
    Place {
        name: "Projects",
        path: projects::PAGE.path,
        about: "Create, rename, close and delete projects",
        uses: known::CREATE_PROJECT,
    },
    Place {
        name: "Repositories",
        path: repositories::PAGE.path,
        about: "Whose code may cite requirements, and what closes there",
        uses: known::CREATE_REPOSITORY,
    },
    Place {
        name: "Tokens and sessions",
        path: tokens::PAGE.path,
        about: "What agents and browsers sign in with",
        uses: known::LIST_USERS,
    },
    Place {
        name: "Audit",
        path: audit::PAGE.path,
        about: "Who did what, and who tried to sign in",
        uses: known::LIST_AUDIT,
    },
    Place {
        name: "Types",
        path: types::PAGE.path,
        about: "Types of requirements and of relationships",
        uses: known::LIST_TYPES,
    },
    Place {
        name: "Statuses",
        path: statuses::PAGE.path,
        about: "The statuses of each kind, and which may follow which",
        uses: known::LIST_STATUS_MODELS,
    },
    Place {
        name: "Prompts",
        path: super::prompts::PAGE.path,
        about: "What agents are told first",
        uses: known::LIST_PROMPTS,
    },
    Place {
        name: "Steering documents",
        path: super::steering::PAGE.path,
        about: "Rules and decisions, and the epics that they are for",
        uses: known::LIST_ENTITIES,
    },
    Place {
        name: "Threat patterns",
        path: super::threats::PAGE.path,
        about: "What goes wrong in such features, and what to check",
        uses: known::LIST_ENTITIES,
    },
    Place {
        name: "All operations",
        path: super::operations::PAGE.path,
        about: "Everything that can be done, each with a form",
        uses: known::WHO_AM_I,
    },
];

fn ask(_: &Asked, _: &Answers) -> Vec<Question> {
    Vec::new()
}

fn show(view: &View<'_>) -> Shown {
    let body = html! {
        div.page {
            h1 { "Administration" }
            ul.places {
                @for place in PLACES.iter().filter(|place| view.me.may(place.uses)) {
                    li { a href=(place.path) { (place.name) } span.muted { (place.about) } }
                }
            }
            h2 { "Projects" }
            ul.rows {
                @for project in view.answers.list("projects") {
                    @let key = text(project, "key");
                    li.row {
                        a.title href={ "/p/" (key) } { (text(project, "name")) " " span.muted { (key) } }
                        a href={ "/p/" (key) "/members" } { "Members" }
                        a href={ "/p/" (key) "/deleted" } { "Deleted" }
                    }
                }
            }
        }
    };
    Shown { title: "Administration".to_owned(), project: None, body }
}
