//! What surrounds every page: the head, the bar at the top, and the page for what went wrong.

use maud::{DOCTYPE, Markup, html};
use ops::known;
use serde_json::Value;
use store::model::Kind;

use crate::assets::ASSETS;
use crate::page::{Page, Problem, Shown, View};
use crate::pages::{NEW_PROJECT, PAGES, PLACES, Place};
use crate::parts::{kind_of, post, text};

/// A disc that is half full, as the mark of what is under way.
const ICON: &str = "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Ccircle cx='8' cy='8' r='6.5' \
                    fill='white' stroke='%231f5fc4' stroke-width='2'/%3E%3Cpath d='M8 1.5a6.5 6.5 0 0 1 0 13z' fill='%231f5fc4'/%3E%3C/svg%3E";

/// htmx adds no style of its own, which the policy would refuse, and evaluates nothing.
const HTMX_CONFIG: &str = r#"{"includeIndicatorCSS":false,"defaultTimeout":30000}"#;

/// A whole page.
pub fn whole(view: &View<'_>, shown: &Shown) -> Markup {
    let project = shown.project.as_deref();
    document(
        &format!("{} · Spexus", shown.title),
        view.me.theme,
        view.me.has_keys,
        html! {
            a.skip href="#main" { "Skip to content" }
            header.top {
                a.brand href="/" { "Spexus" }
                (projects(view, project))
                @if let Some(key) = project { (navigation(view, key)) } @else if view.asked.path.starts_with(ADMINISTRATION) { (places(view)) }
                form.search role="search" action="/search" {
                    input #search type="search" name="query" placeholder="Search" aria-label="Search"
                        value=(view.asked.first("query").unwrap_or_default());
                    kbd { "/" }
                }
                @if let Some(key) = project.filter(|_| view.me.may_create("requirement")) {
                    a.button.new href={ "/p/" (key) "/new/requirement" @if let Some(under) = under(view) { "?under=" (under) } }
                        data-key="c" title="Create a requirement" aria-label="Create a requirement" { "+" }
                }
                button.quiet.palette-button type="button" data-palette=(project.unwrap_or_default()) title="Find or open anything" { kbd { "Ctrl K" } }
                details.menu {
                    summary { (view.me.username) }
                    div.sheet {
                        a href="/account" { "Account" }
                        a href="/connect" { "Connect an agent" }
                        (administration(project))
                        a href="/keys" data-dialog="#keys" data-key="?" { "Keys" }
                        a href="/reference" { "API reference" }
                        (post(known::LOGOUT, "/sign-in", html! { button.quiet { "Sign out" } }))
                    }
                }
            }
            @let projects = view.answers.list("projects").iter();
            @let id = projects.filter(|known| known["key"].as_str() == project).find_map(|known| known["id"].as_str());
            main #main tabindex="-1" data-project=[id.filter(|_| project.is_some())] data-after=[view.site.newest_change] { (shown.body) }
        },
    )
}

/// A page without the bar, for those who are not known.
pub fn bare(title: &str, body: Markup) -> Markup {
    document(&format!("{title} · Spexus"), None, true, html! { main #main.bare { (body) } })
}

fn document(title: &str, theme: Option<&str>, has_keys: bool, body: Markup) -> Markup {
    let [style, scripts @ ..] = &*ASSETS;
    html! {
        (DOCTYPE)
        html lang="en" data-theme=[theme] data-keys=[(!has_keys).then_some("off")] {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) }
                link rel="icon" href=(ICON);
                link rel="stylesheet" href=(style.path);
                meta name="htmx-config" content=(HTMX_CONFIG);
                @for script in scripts { script src=(script.path) defer {} }
            }
            // What a form changes is put into the page piece by piece, and what did not change is left alone.
            body hx-target:inherited="body" hx-swap:inherited="innerMorph" hx-push-url:inherited="true" { (body) }
        }
    }
}

/// Where something new belongs that is made from the page of an item: beside or below it.
fn under<'a>(view: &View<'a>) -> Option<&'a str> {
    let reference = text(view.answers.get("entity")?, "reference_id");
    let is_within_story =
        matches!(kind_of(reference)?, Kind::UserStory | Kind::AcceptanceCriteria | Kind::Requirement);
    is_within_story.then_some(reference)
}

/// The projects to choose from.
fn projects(view: &View<'_>, current: Option<&str>) -> Markup {
    let projects = view.answers.list("projects");
    let name = |project: &Value| project["name"].as_str().unwrap_or_default().to_owned();
    let key = |project: &Value| project["key"].as_str().unwrap_or_default().to_owned();
    let chosen = projects.iter().find(|project| current == project["key"].as_str());
    html! {
        details.menu.projects {
            summary { span { (chosen.map_or_else(|| current.unwrap_or("Projects").to_owned(), name)) } }
            div.sheet {
                @for project in projects {
                    a href={ "/p/" (key(project)) } aria-current=[(current == project["key"].as_str()).then_some("true")] {
                        (name(project)) " " span.muted { (key(project)) }
                    }
                }
                @if view.me.may(known::CREATE_PROJECT) { a.apart href=(NEW_PROJECT) { "New project" } }
            }
        }
    }
}

/// What is done rarely: looking after a project and the server.
fn administration(project: Option<&str>) -> Markup {
    html! {
        @if let Some(key) = project {
            a href={ "/p/" (key) "/members" } { "Members of " (key) }
            a href={ "/p/" (key) "/deleted" } { "Deleted in " (key) }
        }
        a href="/admin" { "Administration" }
        a href="/operations" { "All operations" }
    }
}

/// So many pages of a project are named in the bar, which has one line; the others are in a menu behind them.
const NAMED: usize = 8;

/// The pages of a project.
fn navigation(view: &View<'_>, key: &str) -> Markup {
    let pages: Vec<(String, &str, char)> = PAGES
        .iter()
        .filter_map(|page| page.nav.map(|(label, letter)| (of_project(page, key), label, letter)))
        .collect();
    let (named, others) = pages.split_at(NAMED.min(pages.len()));
    let current = others.iter().find(|(path, ..)| view.asked.path == *path);
    let links = |pages: &[(String, &str, char)]| {
        html! {
            @for (path, label, letter) in pages {
                a href=(path) data-key=(letter) aria-current=[(view.asked.path == *path).then_some("page")] { (label) }
            }
        }
    };
    html! {
        nav.pages aria-label="Project" { (links(named)) }
        details.menu.more-pages {
            summary aria-current=[current.map(|_| "page")] { (current.map_or("More", |(_, label, _)| label)) }
            nav.sheet aria-label="More of the project" { (links(others)) }
        }
    }
}

/// Where the server is looked after.
const ADMINISTRATION: &str = "/admin";

/// The pages for that.
fn places(view: &View<'_>) -> Markup {
    let is_there = |place: &&Place| place.path.starts_with(ADMINISTRATION) && view.me.may(place.uses);
    html! {
        nav.pages aria-label="Administration" {
            @for place in PLACES.iter().filter(is_there) {
                a href=(place.path) aria-current=[(view.asked.path == place.path).then_some("page")] { (place.name) }
            }
        }
    }
}

/// Where a page of a project is.
pub fn of_project(page: &Page, key: &str) -> String {
    page.path.replace("{key}", key).replace("{kind}", "requirement")
}

/// What a page says that cannot be shown.
pub fn problem(view: &View<'_>, problem: &Problem) -> Shown {
    let (title, advice) = match problem.status {
        403 => ("You may not see this", "Ask an administrator for the role."),
        404 => ("Not found", "It may have been deleted, or moved to another project."),
        429 => ("Too many requests", "Wait for a moment, then load the page again."),
        503 | 504 => ("The server is busy", "Load the page again in a moment."),
        _ => ("That did not work", "Go back and try something else."),
    };
    let body = html! {
        section.message {
            h1 { (title) }
            p data-retry=[problem.retry_after_s] { (problem.message) }
            p.muted { (advice) }
            p { a href="/" { "Home" } }
        }
    };
    let is_known = |key: &&String| view.answers.list("projects").iter().any(|known| known["key"] == **key);
    let project = view.asked.parameters.get("key").filter(is_known).cloned();
    Shown { title: title.to_owned(), project, body }
}

/// The page for an address where nothing is.
pub fn nowhere(path: &str) -> Markup {
    bare(
        "Not found",
        html! {
            section.card.narrow {
                h1 { "Not found" }
                p { "There is nothing at " code { (path) } "." }
                p.actions { a.button href="/" { "Home" } a.quiet href="/search" { "Search" } }
            }
        },
    )
}

/// What is wrong with a form, for the script that says it at the fields. The form stays as it is.
pub fn inline_problem(problem: &Problem) -> Markup {
    html! {
        div data-problem=(problem.status) data-retry=[problem.retry_after_s] {
            p { (problem.message) }
            @for (field, message) in &problem.fields { p data-field=(field) { (message) } }
        }
    }
}
