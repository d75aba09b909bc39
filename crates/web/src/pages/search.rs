//! `/search`: everything that has the words, in all projects.

use maud::{PreEscaped, html};
use ops::known;
use serde_json::{Value, json};

use crate::page::{Answers, Asked, Page, Question, Shown, View};
use crate::parts::{KINDS, kind_plural, kind_words, link, status, text};

pub const PAGE: Page = Page { path: "/search", nav: None, ask, show };

fn ask(asked: &Asked, answers: &Answers) -> Vec<Question> {
    let Some(query) = asked.first("query").filter(|_| !answers.has("found")) else { return Vec::new() };
    let mut about = json!({"query": query, "limit": 30});
    if let Some(kind) = asked.first("kind") {
        about["entity_types"] = json!([kind]);
    }
    if let Some(key) = asked.first("project") {
        about["project"] = json!(key);
    }
    if let Some(cursor) = asked.first("cursor") {
        about["cursor"] = json!(cursor);
    }
    vec![Question::needed("found", known::SEARCH_GLOBAL, about)]
}

fn show(view: &View<'_>) -> Shown {
    let null = Value::Null;
    let page = view.answers.get("found").unwrap_or(&null);
    let query = view.asked.first("query").unwrap_or_default();
    let hits = view.answers.list("found");
    let body = html! {
        div.page {
            h1 { "Search" }
            form.filters method="get" action="/search" {
                input type="search" name="query" value=(query) aria-label="Search" autofocus;
                select name="kind" aria-label="Kind" data-submit {
                    option value="" { "Anything" }
                    @for kind in KINDS { option value=(kind) selected[view.asked.first("kind") == Some(kind)] { (kind_plural(kind)) } }
                }
                select name="project" aria-label="Project" data-submit {
                    option value="" { "All projects" }
                    @for project in view.answers.list("projects") {
                        @let key = text(project, "key");
                        option value=(key) selected[view.asked.first("project") == Some(key)] { (text(project, "name")) }
                    }
                }
                button { "Search" }
            }
            @if !query.is_empty() {
                p.muted { (page["total_count"].as_u64().unwrap_or_default()) " found" }
                @if hits.is_empty() { p { (text(page, "message")) } }
            }
            ul.hits {
                @for hit in hits {
                    @let reference = match text(hit, "reference_id") { "" => text(hit, "entity"), own => own };
                    li {
                        p { (link(reference)) " " a href={ "/r/" (reference) } { (text(hit, "title")) } " "
                            span.muted { (kind_words(text(hit, "kind"))) } " " (status(text(hit, "status"))) }
                        // The operation escapes everything but its own marks.
                        p.snippet { (PreEscaped(text(hit, "snippet"))) }
                    }
                }
            }
            @if let Some(cursor) = page["next_cursor"].as_str() {
                p.actions { a.button href=(view.asked.with("cursor", Some(cursor))) { "More" } }
            }
        }
    };
    Shown {
        title: if query.is_empty() { "Search".to_owned() } else { format!("{query} · Search") },
        project: None,
        body,
    }
}
