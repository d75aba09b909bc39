//! `/search`: everything that has the words, in all projects. What is found of one kind in one project opens as a table.

use maud::{Markup, PreEscaped, html};
use ops::known;
use serde_json::{Value, json};
use store::model::Kind;

use super::list::{has_status, statuses};
use crate::page::{Answers, Asked, Page, Question, Shown, View, encode};
use crate::parts::{Combobox, KINDS, PRIORITIES, combobox, kind_plural, kind_words, link, status, text};

pub const PAGE: Page = Page { path: "/search", nav: None, ask, show };

/// Filters that mean the same here and in a table.
const FILTERS: [&str; 3] = ["status", "priority", "assignee"];

fn ask(asked: &Asked, answers: &Answers) -> Vec<Question> {
    let Some(query) = asked.first("query").filter(|_| !answers.has("found")) else { return Vec::new() };
    let mut about = json!({"query": query, "limit": 30});
    if let Some(kind) = asked.first("kind") {
        about["entity_types"] = json!([kind]);
    }
    for name in ["project", "assignee", "cursor"] {
        if let Some(value) = asked.first(name) {
            about[name] = json!(value);
        }
    }
    if let Some(status) = asked.first("status") {
        about["status"] = json!([status]);
    }
    if let Some(priority) = asked.first("priority").and_then(|value| value.parse::<u8>().ok()) {
        about["priority"] = json!([priority]);
    }
    let mut questions = vec![Question::needed("found", known::SEARCH_GLOBAL, about)];
    if kind(asked).is_some_and(has_status) {
        let model = json!({"kind": asked.first("kind")});
        questions.push(Question::optional("statuses", known::GET_STATUS_MODEL, model));
    }
    questions
}

fn kind(asked: &Asked) -> Option<Kind> {
    Kind::ALL.into_iter().find(|kind| Some(kind.name()) == asked.first("kind"))
}

fn show(view: &View<'_>) -> Shown {
    let null = Value::Null;
    let page = view.answers.get("found").unwrap_or(&null);
    let query = view.asked.first("query").unwrap_or_default();
    let hits = view.answers.list("found");
    let body = html! {
        div.page {
            h1 { "Search" }
            (filters(view))
            @if !query.is_empty() {
                @if hits.is_empty() {
                    p.message { (text(page, "message")) }
                } @else {
                    p.muted { (page["total_count"].as_u64().unwrap_or_default()) " found. " (as_table(view)) }
                }
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

/// What to look for, and where.
fn filters(view: &View<'_>) -> Markup {
    let asked = view.asked;
    let is_chosen = |name: &str, value: &str| asked.first(name) == Some(value);
    let statuses = statuses(view);
    let assignee = Combobox {
        name: "assignee",
        what: "user",
        label: "Assignee",
        value: asked.first("assignee").unwrap_or_default(),
        hint: "Assignee",
        ..Combobox::default()
    };
    html! {
        form.filters method="get" action=(PAGE.path) {
            input type="search" name="query" value=(asked.first("query").unwrap_or_default()) aria-label="Search" autofocus;
            select name="kind" aria-label="Kind" data-submit {
                option value="" { "Anything" }
                @for kind in KINDS { option value=(kind) selected[is_chosen("kind", kind)] { (kind_plural(kind)) } }
            }
            select name="project" aria-label="Project" data-submit {
                option value="" { "All projects" }
                @for project in view.answers.list("projects") {
                    @let key = text(project, "key");
                    option value=(key) selected[is_chosen("project", key)] { (text(project, "name")) }
                }
            }
            @if !statuses.is_empty() {
                select name="status" aria-label="Status" data-submit {
                    option value="" { "Any status" }
                    @for name in &statuses { option value=(name) selected[is_chosen("status", name)] { (name) } }
                }
            }
            select name="priority" aria-label="Priority" data-submit {
                option value="" { "Any priority" }
                @for (name, number) in PRIORITIES.iter().zip(1..) {
                    option value=(number) selected[is_chosen("priority", &number.to_string())] { (name) }
                }
            }
            (combobox(&assignee))
            button { "Search" }
        }
    }
}

/// The way to the same as a table, where there is one: tables are of one kind in one project.
fn as_table(view: &View<'_>) -> Markup {
    let asked = view.asked;
    let projects = view.answers.list("projects");
    let only = projects.first().filter(|_| projects.len() == 1).map(|project| text(project, "key"));
    let (Some(kind), Some(key)) = (kind(asked), asked.first("project").or(only)) else {
        return html! { "Choose a kind and a project to open a table." };
    };
    let filters = FILTERS.iter().filter_map(|name| Some((*name, asked.first(name)?)));
    let query = [("query", asked.first("query").unwrap_or_default())].into_iter().chain(filters);
    let query: Vec<String> = query.map(|(name, value)| format!("{name}={}", encode(value))).collect();
    html! { a href={ "/p/" (key) "/list/" (kind.name()) "?" (query.join("&")) } { "Open as a table" } }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::testing::shown;

    #[test]
    fn what_is_found_of_one_kind_opens_as_a_table() {
        let found = json!({"total_count": 1, "data": [{"kind": "requirement", "reference_id": "REQ-001", "title": "T"}]});
        let projects = json!({"data": [{"key": "SHOP", "name": "Shop"}, {"key": "PAY", "name": "Pay"}]});
        let answers = [("projects", projects), ("found", found)];
        let path = "/search?query=saved%20card&kind=requirement&project=SHOP&priority=1&status=In%20Progress";
        let html = shown(&PAGE, path, &answers);
        let table = "/p/SHOP/list/requirement?query=saved%20card&amp;status=In%20Progress&amp;priority=1";
        assert!(html.contains(table), "{html}");
        let html = shown(&PAGE, "/search?query=card", &answers);
        assert!(!html.contains("/list/"), "{html}");
    }
}
