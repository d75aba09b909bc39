//! `/p/{key}/thread`: where a thread can begin: an epic, or a place in the code. Each epic says how much of it is verified.

use maud::{Markup, html};
use ops::known;
use serde_json::{Value, json};

use super::thread::{self, has_open_only};
use crate::page::{Answers, Asked, Page, Question, Shown, View};
use crate::parts::{text, title};
use crate::thread::{list, share};

pub const PAGE: Page = Page { path: "/p/{key}/thread", nav: Some(("Thread", 'h')), ask, show };

/// Epics of one page.
const EPICS: u64 = 50;

fn ask(asked: &Asked, answers: &Answers) -> Vec<Question> {
    if let Some(from) = asked.first("from") {
        return thread::questions(asked, answers, from);
    }
    if answers.has("tree") {
        return Vec::new();
    }
    let about = json!({"project": asked.parameter("key"), "limit": EPICS, "offset": offset(asked)});
    vec![Question::needed("tree", known::HIERARCHY_ANALYSIS, about)]
}

/// How many epics come before the page.
fn offset(asked: &Asked) -> u64 {
    asked.first("offset").and_then(|offset| offset.parse().ok()).unwrap_or_default()
}

fn show(view: &View<'_>) -> Shown {
    if view.asked.first("from").is_some() {
        return thread::show(view);
    }
    let null = Value::Null;
    let key = view.asked.parameter("key");
    let tree = view.answers.get("tree").unwrap_or(&null);
    let epics = list(tree, "epics");
    let is_open = |epic: &&Value| !has_open_only(view.asked) || n_open(epic) > 0;
    let n_epics = tree["totals"]["epics"].as_u64().unwrap_or_default();
    let next = offset(view.asked) + EPICS;
    let body = html! {
        div.page {
            div.heading {
                h1 { "Thread" }
                p.actions {
                    a.quiet href={ "/p/" (key) "/stale" } { "Stale citations" }
                    a.quiet href={ "/p/" (key) "/baselines" } { "Baselines" }
                }
            }
            p.muted { "From each epic to the code that cites it, its tests and their runs, and what is missing on the way." }
            form.filters method="get" action={ "/p/" (key) "/thread" } {
                input type="search" name="from" required aria-label="Where to begin" placeholder="US-002, REQ-012, src/kettle.rs:42 or tests/kettle.rs::boils";
                button { "Follow" }
            }
            div.filters {
                nav.kinds aria-label="Which" {
                    a href=(view.asked.with("only", None)) aria-current=[(!has_open_only(view.asked)).then_some("page")] { "All" }
                    a href=(view.asked.with("only", Some("open"))) aria-current=[has_open_only(view.asked).then_some("page")] { "Only open" }
                }
            }
            @if epics.is_empty() { p.message { "There is no epic yet. " @if view.me.may_create("epic") { a href={ "/p/" (key) "/new/epic" } { "Create an epic" } } } }
            ul.rows { @for epic in epics.iter().filter(is_open) { (one(view, key, epic)) } }
            @if next < n_epics { p.actions { a.button href=(view.asked.with("offset", Some(&next.to_string()))) { "Next " (EPICS) } } }
        }
    };
    Shown { title: "Thread".to_owned(), project: Some(key.to_owned()), body }
}

fn number(node: &Value, name: &str) -> u64 {
    node[name].as_u64().unwrap_or_default()
}

/// How many requirements and criteria something has.
fn total(node: &Value) -> u64 {
    number(node, "n_requirements") + number(node, "n_acceptance_criteria")
}

fn n_open(node: &Value) -> u64 {
    total(node).saturating_sub(number(node, "n_verified"))
}

fn one(view: &View<'_>, key: &str, epic: &Value) -> Markup {
    let only = if has_open_only(view.asked) { "?only=open" } else { "" };
    let address = |node: &Value| format!("/p/{key}/thread/{}{only}", text(node, "reference_id"));
    let stories = list(epic, "user_stories");
    html! {
        li.thread-start {
            p { a href=(address(epic)) { span.reference { (text(epic, "reference_id")) } " " (title(epic)) } }
            @if total(epic) == 0 { p.small.muted { "It has no requirement and no criterion yet." } }
            @else { (share(number(epic, "n_verified"), number(epic, "n_cited"), total(epic))) }
            @if !stories.is_empty() {
                details {
                    summary.small.muted { (stories.len()) @if stories.len() == 1 { " story" } @else { " stories" } }
                    ul { @for story in stories {
                        li.row {
                            a.title href=(address(story)) { span.reference { (text(story, "reference_id")) } " " (title(story)) }
                            span.count { (number(story, "n_verified")) " of " (total(story)) " verified" }
                        }
                    } }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::testing::shown;

    #[test]
    fn epics_say_how_much_of_them_is_verified() {
        let epic = |number: u64, verified: u64| {
            json!({"reference_id": format!("EP-00{number}"), "title": "Checkout", "n_requirements": 3, "n_acceptance_criteria": 1, "n_cited": 4,
                   "n_verified": verified, "user_stories": [{"reference_id": "US-001", "title": "Pay", "n_requirements": 3, "n_acceptance_criteria": 1}]})
        };
        let tree = json!({"totals": {"epics": 70}, "epics": [epic(1, 2), epic(2, 4)]});
        let html = shown(&PAGE, "/p/DEFAULT/thread?only=open", &[("tree", tree)]);
        for part in [
            "2 of 4 verified, 4 cited",
            "href=\"/p/DEFAULT/thread/EP-001?only=open\"",
            "0 of 4 verified",
            "only=open&amp;offset=50",
        ] {
            assert!(html.contains(part), "{part}: {html}");
        }
        assert!(!html.contains("EP-002"), "what is verified is not open: {html}");
    }

    #[test]
    fn a_place_in_the_code_leads_to_its_reasons() {
        let thread = json!({"from": "src/pay.rs:4", "total_count": 1, "data": [{
            "reference_id": "REQ-001", "kind": "requirement", "title": "Mask", "units": [{"text": "It MUST mask.", "verdict": "not_run"}],
            "chain": [{"reference_id": "EP-001", "kind": "epic", "title": "Checkout"}, {"reference_id": "US-001", "kind": "user_story", "title": "Pay"}],
        }]});
        let html = shown(&PAGE, "/p/DEFAULT/thread?from=src/pay.rs:4", &[("thread", thread)]);
        for part in ["<code>src/pay.rs:4</code>", "Checkout", "Pay", "no test cites it"] {
            assert!(html.contains(part), "{part}: {html}");
        }
    }
}
