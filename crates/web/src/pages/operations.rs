//! `/operations`: everything that can be done, by what it is about, each with a form.

use maud::{Markup, html};
use ops::{Entry, OPERATIONS};

use crate::page::{Answers, Asked, Page, Question, Shown, View};
use crate::parts::sentence;

pub const PAGE: Page = Page { path: "/operations", nav: None, ask, show };

fn ask(_: &Asked, _: &Answers) -> Vec<Question> {
    Vec::new()
}

fn show(view: &View<'_>) -> Shown {
    let query = view.asked.first("query").unwrap_or_default().trim().to_lowercase();
    let (allowed, others): (Vec<&Entry>, Vec<&Entry>) =
        OPERATIONS.iter().partition(|entry| view.me.may(entry));
    let found: Vec<&Entry> = allowed.into_iter().filter(|entry| fits(entry, &query)).collect();
    let mut groups: Vec<String> = found.iter().map(|entry| group(entry)).collect();
    groups.sort();
    groups.dedup();
    let body = html! {
        div.page {
            h1 { "Operations" }
            p.muted { "Everything that can be done, here as in REST, on the command line and by agents." }
            form.filters method="get" action=(PAGE.path) {
                input type="search" name="query" value=(query) aria-label="Search operations" placeholder="What do you want to do?";
                button { "Search" }
            }
            @if found.is_empty() { p.muted { "No operation has these words." } }
            @for group in &groups {
                section {
                    h2 { (group) }
                    ul.places { @for entry in found.iter().filter(|entry| self::group(entry) == *group) { (one(entry)) } }
                }
            }
            @if !others.is_empty() { p.muted { (others.len()) " more need another role." } }
        }
    };
    Shown { title: "Operations".to_owned(), project: None, body }
}

fn one(entry: &Entry) -> Markup {
    html! {
        li {
            a href={ "/operations/" (entry.name) } { (sentence(entry.name)) }
            span.muted { (entry.summary()) @if !entry.writes() { " " span.via { "reads" } } }
        }
    }
}

/// Whether an operation has all words of a query.
fn fits(entry: &Entry, query: &str) -> bool {
    let text = format!("{} {}", entry.name.replace('_', " "), entry.documentation()).to_lowercase();
    query.split_whitespace().all(|word| text.contains(word))
}

/// What an operation is about: the first part of its routes, if they agree.
fn group(entry: &Entry) -> String {
    let first = |path: &'static str| path.split('/').nth(1).unwrap_or_default();
    let mut names = entry.routes.iter().map(|route| first(route.path));
    match names.next() {
        Some(name) if names.all(|other| other == name) => sentence(&name.replace('-', "_")),
        _ => "Things of any kind".to_owned(),
    }
}
