//! `/p/{key}/document` and `/p/{key}/document/{epic}`: a project or an epic as a specification, to be read from top to bottom and
//! printed. A page holds whole epics, or whole stories of one, as far as they fit; a link leads on. Sections are edited and talked
//! about in their place.

use document::{Look, Node, NodeKind, Surroundings};
use maud::{Markup, html};
use ops::known;
use serde::Deserialize as _;
use serde_json::{Value, json};

use crate::markdown::page_of;
use crate::page::{Answers, Asked, Page, Question, Shown, View, encode};
use crate::parts::{kind_of, text, title};

pub const PAGE: Page = Page { path: "/p/{key}/document", nav: Some(("Document", 'd')), ask, show };
/// One epic.
pub const EPIC: Page = Page { path: "/p/{key}/document/{epic}", nav: None, ask, show };

/// How many sections and criteria a page has.
const NODES_MAX: usize = 100;
/// How many epics, and how many stories of one, the outline shows.
const OUTLINE_MAX: usize = 100;
/// How many open comments are marked, the first of the project.
const COMMENTS_MAX: usize = 100;

fn ask(asked: &Asked, answers: &Answers) -> Vec<Question> {
    let key = asked.parameter("key");
    let epic = asked.parameter("epic");
    let Some(part) = answers.get("part") else {
        let mut arguments = json!({"project": key, "limit": NODES_MAX});
        if !epic.is_empty() {
            arguments["epic"] = json!(epic);
        }
        if let Some(from) = asked.first("from") {
            arguments["from"] = json!(from);
        }
        let part = Question::needed("part", known::READ_AS_DOCUMENT, arguments);
        return if answers.has("part") { Vec::new() } else { vec![part] };
    };
    let Some(here) = epic_here(part).filter(|_| !answers.has("stories")) else { return Vec::new() };
    let offset = (ordinal(&here) - 1) / OUTLINE_MAX * OUTLINE_MAX;
    let epics = json!({"kind": "epic", "project": key, "limit": OUTLINE_MAX, "offset": offset});
    let stories = json!({"kind": "user_story", "epic_id": here.reference_id, "limit": OUTLINE_MAX});
    let comments = json!({"project": key, "resolved": false, "limit": COMMENTS_MAX});
    vec![
        Question::optional("epics", known::LIST_ENTITIES, epics),
        Question::optional("stories", known::LIST_ENTITIES, stories),
        Question::optional("comments", known::LIST_COMMENTS, comments),
    ]
}

/// The nodes of an answer.
fn nodes(part: &Value, name: &str) -> Vec<Node> {
    Vec::<Node>::deserialize(&part[name]).unwrap_or_default()
}

/// The epic that a part begins with or within.
fn epic_here(part: &Value) -> Option<Node> {
    nodes(part, "within")
        .into_iter()
        .chain(nodes(part, "data").into_iter().take(1))
        .find(|node| node.kind == NodeKind::Epic)
}

/// The place of an epic among all epics, from 1.
fn ordinal(epic: &Node) -> usize {
    epic.number.as_deref().and_then(|number| number.parse().ok()).unwrap_or(1)
}

fn show(view: &View<'_>) -> Shown {
    let null = Value::Null;
    let part = view.answers.get("part").unwrap_or(&null);
    let key = text(part, "project");
    let data = nodes(part, "data");
    let actions = |node: &Node| actions(view, node);
    let remarks = |node: &Node| remarks(view, node);
    let look = Look {
        link: &page_of,
        actions: Some(&actions),
        below: Some(&remarks),
        top: 2,
        surroundings: Surroundings::Page,
    };
    let body = html! {
        div.document {
            (outline(view, part, &data))
            article.specification {
                div.running aria-hidden="true" { (text(part, "name")) }
                (head(view, part))
                @if data.is_empty() { (nothing(view, key)) }
                (document::body(&data, &look))
                @if let Some(next) = part["next"].as_str() {
                    p.actions { a.button rel="next" href=(view.asked.with("from", Some(next))) { "Continue with " (next) } }
                }
            }
        }
    };
    let name = match epic_here(part).filter(|_| is_of_epic(view)) {
        Some(epic) => format!("{} {}", epic.reference_id, epic.title.unwrap_or_default()),
        None => format!("{} · Document", text(part, "name")),
    };
    Shown { title: name, project: Some(key.to_owned()), body }
}

fn is_of_epic(view: &View<'_>) -> bool {
    !view.asked.parameter("epic").is_empty()
}

fn may_edit(view: &View<'_>) -> bool {
    known::WRITES.iter().all(|(_, _, update)| view.me.may(update))
}

/// The open comments on a section, as far as they are marked.
fn comments_on<'a>(view: &'a View<'_>, node: &'a Node) -> impl Iterator<Item = &'a Value> {
    view.answers.list("comments").iter().filter(|comment| text(comment, "entity") == node.reference_id)
}

/// Ways to edit a section and to comment on it. With scripts both happen in their place, without they have pages, which lead back.
fn actions(view: &View<'_>, node: &Node) -> Markup {
    let reference = &node.reference_id;
    let here = view.asked.here();
    let n_comments = comments_on(view, node).count();
    let words = match n_comments {
        0 => "Comment".to_owned(),
        1 => "1 comment".to_owned(),
        n => format!("{n} comments"),
    };
    html! {
        span.section-actions {
            @if n_comments > 0 || view.me.may(known::ADD_COMMENT) {
                a.action.talked[n_comments > 0] href={ "/r/" (reference) "?next=" (encode(&format!("{here}#{reference}"))) "#comments" }
                    hx-get={ "/r/" (reference) "?next=" (encode(&here)) } hx-target={ "#remarks-" (reference) } hx-select="#comments"
                    hx-swap="innerHTML" hx-push-url="false" data-key="m" data-comments=(reference) aria-label={ (words) " on " (reference) } { (words) }
            }
            @if may_edit(view) {
                a.action href={ "/r/" (reference) "/edit?next=" (encode(&format!("{here}#{reference}"))) }
                    hx-get={ "/r/" (reference) "/edit?only=text&next=" (encode(&here)) } hx-target={ "#text-" (reference) } hx-select="#edit"
                    hx-swap="afterbegin" hx-push-url="false" data-key="e" aria-label={ "Edit " (reference) } { "Edit" }
            }
        }
    }
}

/// Where comments are shown when they are asked for. Scripts mark the passages that open ones are about.
fn remarks(view: &View<'_>, node: &Node) -> Markup {
    let quotes = comments_on(view, node).filter(|comment| comment["detached"] != true);
    html! {
        @for quote in quotes.map(|comment| text(comment, "quote")).filter(|quote| !quote.is_empty()) {
            blockquote hidden data-quote=(node.reference_id) { (quote) }
        }
        div.remarks id={ "remarks-" (node.reference_id) } {}
    }
}

/// What the document is about. A part that begins in the middle says within what.
fn head(view: &View<'_>, part: &Value) -> Markup {
    let key = text(part, "project");
    let within = nodes(part, "within");
    let is_first = view.asked.first("from").is_none();
    let export =
        format!("/api/v1{}?format=html", known::EXPORT.routes.first().map_or("", |route| route.path));
    let what = match view.asked.parameter("epic") {
        "" => format!("&project={}", encode(key)),
        epic => format!("&epic={}", encode(epic)),
    };
    html! {
        header.front {
            h1 { (text(part, "name")) }
            @if is_first && !is_of_epic(view) && !text(part, "description").is_empty() {
                div.prose { (crate::markdown::render(text(part, "description"))) }
            }
            p.actions {
                @if is_of_epic(view) { a.button href={ "/p/" (key) "/document" } { "Whole project" } }
                @if !is_first { a.button href=(view.asked.with("from", None)) { "From the beginning" } }
                a.button href={ (export) (what) } download { "Download as HTML" }
            }
            @if let Some(comments) = view.answers.get("comments").filter(|page| page["next_cursor"].is_string()) {
                p.muted.small { "The first " (COMMENTS_MAX) " of " (comments["total_count"]) " open comments of the project are marked." }
            }
            @if !within.is_empty() {
                p.within { "Continued: " @for node in &within {
                    a href=(view.asked.with("from", Some(&node.reference_id))) {
                        (node.number.as_deref().unwrap_or_default()) " " (node.title.as_deref().unwrap_or_default())
                    }
                    " "
                } }
            }
        }
    }
}

fn nothing(view: &View<'_>, key: &str) -> Markup {
    html! {
        section.message {
            p { "There is no epic yet." }
            @if view.me.may_create("epic") { p { a.button href={ "/p/" (key) "/new/epic" } { "Create an epic" } } }
        }
    }
}

/// The epics, and the stories of the one that is shown. What is on this page is led to within it.
fn outline(view: &View<'_>, part: &Value, data: &[Node]) -> Markup {
    let here = epic_here(part);
    let key = text(part, "project");
    let is_shown = |reference: &str| data.iter().any(|node| node.reference_id == reference);
    let address = |reference: &str| match is_shown(reference) {
        true => format!("#{reference}"),
        false if is_of_epic(view) && kind_of(reference) == Some(store::model::Kind::Epic) => {
            format!("/p/{key}/document/{reference}")
        }
        false => format!("{}#{reference}", view.asked.with("from", Some(reference))),
    };
    let epics = view.answers.list("epics");
    let before = here.as_ref().map_or(0, |here| (ordinal(here) - 1) / OUTLINE_MAX * OUTLINE_MAX);
    let epic_number = here.as_ref().and_then(|here| here.number.clone()).unwrap_or_default();
    let stories = view.answers.list("stories");
    let is_here =
        |entity: &Value| here.as_ref().is_some_and(|here| here.reference_id == text(entity, "reference_id"));
    html! {
        nav.outline aria-label="Contents" {
            h2 { "Contents" }
            @for (number, epic) in (before + 1..).zip(epics) {
                (row(epic, NodeKind::Epic, number.to_string(), &address, is_here(epic)))
                @if is_here(epic) {
                    @for (number, story) in (1..).zip(stories) {
                        (row(story, NodeKind::UserStory, format!("{epic_number}.{number}"), &address, false))
                    }
                    (more(view, "stories", stories.len()))
                }
            }
            (more(view, "epics", before + epics.len()))
        }
    }
}

fn row(
    entity: &Value,
    kind: NodeKind,
    number: String,
    address: &dyn Fn(&str) -> String,
    is_here: bool,
) -> Markup {
    let reference = text(entity, "reference_id");
    let node = Node { number: Some(number), ..Node::named(kind, reference, &title(entity)) };
    document::outline_row(&node, &address(reference), is_here)
}

/// How many an outline leaves out.
fn more(view: &View<'_>, name: &str, shown: usize) -> Markup {
    let total =
        view.answers.get(name).and_then(|page| page["total_count"].as_u64()).unwrap_or_default() as usize;
    html! { @if total > shown { p.muted.small { (total - shown) " more" } } }
}
