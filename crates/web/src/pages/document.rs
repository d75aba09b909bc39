//! `/p/{key}/document`: an epic as a specification, numbered, to be read from top to bottom and printed.

use maud::{Markup, html};
use ops::known;
use serde_json::{Value, json};

use crate::markdown;
use crate::page::{Answers, Asked, Page, Question, Shown, View};
use crate::parts::{link, status, text, title};

pub const PAGE: Page = Page { path: "/p/{key}/document", nav: Some(("Document", 'd')), ask, show };

/// How many of each kind a document has.
const THINGS_MAX: usize = 100;

fn ask(asked: &Asked, answers: &Answers) -> Vec<Question> {
    let key = asked.parameter("key");
    if !answers.has("epics") {
        let epics = json!({"kind": "epic", "project": key, "limit": 100});
        return vec![Question::needed("epics", known::LIST_ENTITIES, epics)];
    }
    let Some(epic) = chosen(asked, answers).filter(|_| !answers.has("stories")) else { return Vec::new() };
    let below = |kind: &str| json!({"kind": kind, "epic_id": epic, "limit": THINGS_MAX});
    vec![
        Question::needed("epic", known::GET_ENTITY, json!({"reference": epic})),
        Question::needed("stories", known::LIST_ENTITIES, below("user_story")),
        Question::needed("criteria", known::LIST_ENTITIES, below("acceptance_criteria")),
        Question::needed("requirements", known::LIST_ENTITIES, below("requirement")),
    ]
}

/// The epic that is asked for, or the first.
fn chosen(asked: &Asked, answers: &Answers) -> Option<String> {
    let first = || answers.list("epics").first().map(|epic| text(epic, "reference_id").to_owned());
    asked.first("epic").map(str::to_owned).or_else(first)
}

fn show(view: &View<'_>) -> Shown {
    let key = view.asked.parameter("key");
    let epics = view.answers.list("epics");
    let chosen = chosen(view.asked, view.answers).unwrap_or_default();
    let body = html! {
        div.document {
            nav.outline aria-label="Epics" {
                h2 { "Epics" }
                @for epic in epics {
                    @let reference = text(epic, "reference_id");
                    a href={ (view.asked.path) "?epic=" (reference) } aria-current=[(reference == chosen).then_some("page")] { (title(epic)) }
                }
                @if let Some(epic) = view.answers.get("epic") { (outline(view, epic)) }
            }
            @match view.answers.get("epic") {
                Some(epic) => (specification(view, epic)),
                None => section.message { h1 { "Document" } p { "There is no epic yet." } },
            }
        }
    };
    Shown { title: "Document".to_owned(), project: Some(key.to_owned()), body }
}

/// What is in a story, of the lists for the whole epic.
fn of<'a>(view: &'a View<'_>, name: &str, story: &Value) -> Vec<&'a Value> {
    view.answers.list(name).iter().filter(|entity| entity["user_story"] == story["reference_id"]).collect()
}

fn outline(view: &View<'_>, epic: &Value) -> Markup {
    html! {
        h2 { (title(epic)) }
        @for (number, story) in (1..).zip(view.answers.list("stories")) {
            a href={ "#" (text(story, "reference_id")) } { (number) " " (title(story)) }
        }
    }
}

fn specification(view: &View<'_>, epic: &Value) -> Markup {
    let is_cut = ["stories", "criteria", "requirements"]
        .iter()
        .any(|name| view.answers.get(name).is_some_and(|page| page["next_cursor"].is_string()));
    html! {
        article.specification {
            h1 { (title(epic)) " " (link(text(epic, "reference_id"))) }
            (status(text(epic, "status")))
            div.prose { (markdown::render(text(epic, "description"))) }
            @if is_cut { p.notice { "This epic has more than " (THINGS_MAX) " things of a kind; the rest is in the tree." } }
            @for (number, story) in (1..).zip(view.answers.list("stories")) {
                section id=(text(story, "reference_id")) {
                    h2 { (number) " " (title(story)) " " (link(text(story, "reference_id"))) }
                    (status(text(story, "status")))
                    div.prose { (markdown::render(text(story, "description"))) }
                    @let criteria = of(view, "criteria", story);
                    @if !criteria.is_empty() {
                        h3 { "It is done when" }
                        ul.criteria { @for criterion in criteria {
                            li { (link(text(criterion, "reference_id"))) div.prose { (markdown::render(text(criterion, "description"))) } }
                        } }
                    }
                    @for (below, requirement) in (1..).zip(of(view, "requirements", story)) {
                        div.requirement id=(text(requirement, "reference_id")) {
                            h3 { (number) "." (below) " " (title(requirement)) " " (link(text(requirement, "reference_id"))) }
                            p.small { (status(text(requirement, "status"))) " " span.muted { (text(requirement, "type")) } }
                            div.prose { (markdown::render(text(requirement, "description"))) }
                        }
                    }
                }
            }
        }
    }
}
