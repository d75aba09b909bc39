//! `/palette`: what somebody may mean who types into the palette: a page, or anything that has the words.

use maud::{Markup, PreEscaped, html};
use ops::known;
use serde_json::{Value, json};

use super::PAGES;
use crate::page::{Answers, Asked, Page, Question, Shown, View};
use crate::parts::{kind_of, kind_words, status, text};

pub const PAGE: Page = Page { path: "/palette", nav: None, ask, show };

/// How many hits a palette shows; more are a search.
const HITS_MAX: usize = 8;

/// Pages that belong to no project.
const PLACES: [(&str, &str); 5] = [
    ("Home", "/"),
    ("Search", "/search"),
    ("Account", "/account"),
    ("Connect an agent", "/connect"),
    ("Keys", "/keys"),
];

fn ask(asked: &Asked, answers: &Answers) -> Vec<Question> {
    let Some(query) = asked.first("query").filter(|_| !answers.has("found")) else { return Vec::new() };
    let mut questions = Vec::new();
    if kind_of(query.trim()).is_some() {
        questions.push(Question::optional("named", known::GET_ENTITY, json!({"reference": query.trim()})));
    }
    let about = json!({"query": query, "limit": HITS_MAX});
    questions.push(Question::optional("found", known::SEARCH_GLOBAL, about));
    questions
}

fn show(view: &View<'_>) -> Shown {
    let query = view.asked.first("query").unwrap_or_default().trim().to_lowercase();
    let fits = |name: &str| name.to_lowercase().contains(&query);
    let places: Vec<(String, String)> = places(view).into_iter().filter(|(name, _)| fits(name)).collect();
    let named = view.answers.get("named");
    let known = named.map(|named| text(named, "reference_id"));
    let hits = view.answers.list("found").iter().filter(|hit| Some(text(hit, "reference_id")) != known);
    let body = html! {
        @if let Some(named) = named { (entity(named)) }
        @for (name, path) in places { (option(&path, html! { (name) })) }
        @for hit in hits { (entity(hit)) }
        @if !query.is_empty() {
            (option(&format!("/search?query={}", crate::page::encode(&query)), html! { "Search for “" (query) "”" }))
        }
    };
    Shown { title: "Palette".to_owned(), project: None, body }
}

/// The pages by name: those of the project at hand first, then other projects.
fn places(view: &View<'_>) -> Vec<(String, String)> {
    let mut places = Vec::new();
    if let Some(key) = view.asked.first("project") {
        for page in PAGES {
            if let Some((label, _)) = page.nav {
                places.push((label.to_owned(), crate::layout::of_project(page, key)));
            }
        }
    }
    places.extend(PLACES.map(|(name, path)| (name.to_owned(), path.to_owned())));
    let administration = super::PLACES.iter().filter(|place| view.me.may(place.uses));
    places.extend(administration.map(|place| (place.name.to_owned(), place.path.to_owned())));
    for project in view.answers.list("projects") {
        let key = text(project, "key");
        places.push((format!("{} ({key})", text(project, "name")), format!("/p/{key}")));
    }
    places
}

fn entity(entity: &Value) -> Markup {
    let reference = match text(entity, "reference_id") {
        "" => text(entity, "entity"),
        own => own,
    };
    option(
        &format!("/r/{reference}"),
        html! {
            span.reference { (reference) } " "
            @match crate::parts::title(entity) {
                // The operation escapes everything in a snippet but its own marks.
                title if title.is_empty() => span.snippet { (PreEscaped(text(entity, "snippet"))) },
                title => (title),
            } " "
            span.muted { (kind_words(text(entity, "kind"))) } " " (status(text(entity, "status")))
        },
    )
}

fn option(path: &str, inside: Markup) -> Markup {
    html! { li role="option" { a href=(path) tabindex="-1" { (inside) } } }
}
