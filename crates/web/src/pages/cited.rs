//! `/r/{reference}/code` and `/r/{reference}/tests`: one requirement or criterion, sentence by sentence: the code that cites it, the
//! tests with their runs, what no longer quotes it, and a form for what no program can test.

use maud::{Markup, html};
use ops::known;
use serde_json::{Map, Value, json};

use super::thread::tests_of;
use crate::form::{Field, form};
use crate::page::{Answers, Asked, Page, Question, Shown, View};
use crate::parts::{hidden, kind_of, link, more, paged, post, text, title};
use crate::thread::{gap, heads, left_out, list, place, stale, unit_head};

pub const CODE: Page = Page { path: "/r/{reference}/code", nav: None, ask, show: show_code };
pub const TESTS: Page = Page { path: "/r/{reference}/tests", nav: None, ask, show: show_tests };

fn ask(asked: &Asked, answers: &Answers) -> Vec<Question> {
    if answers.has("thread") {
        return Vec::new();
    }
    let reference = asked.parameter("reference");
    vec![
        Question::needed("thread", known::GET_THREAD, paged(asked, json!({"from": reference}))),
        Question::optional(
            "entity",
            known::GET_ENTITY,
            json!({"reference": reference, "include_deleted": true}),
        ),
        Question::optional("stale", known::LIST_STALE_CITATIONS, json!({"reference": reference})),
    ]
}

fn show_code(view: &View<'_>) -> Shown {
    let stale_ones = view.answers.list("stale");
    let key = project(view);
    let inside = html! {
        @for item in view.answers.list("thread") {
            (heading(view, item))
            ul.units { @for unit in list(item, "units") {
                li.unit {
                    (unit_head(unit))
                    @let places = list(unit, "code");
                    ul.places-of { @for one in places { li { (place(&key, one)) } } }
                    @if places.is_empty() { (gap("no code cites it")) }
                    (left_out(unit))
                }
            } }
        }
        @if !stale_ones.is_empty() {
            section #stale {
                h2 { "Citations that no longer quote the text" }
                ul { @for one in stale_ones { (stale(&key, one, false)) } }
            }
        }
    };
    page(view, "Code", inside)
}

fn show_tests(view: &View<'_>) -> Shown {
    let key = project(view);
    let items = view.answers.list("thread");
    let inside = html! {
        @for item in items {
            (heading(view, item))
            ul.units { @for unit in list(item, "units") { li.unit { (unit_head(unit)) (tests_of(view, &key, unit)) (left_out(unit)) } } }
        }
        @if let [item] = items { (manual(view, item)) }
    };
    page(view, "Tests", inside)
}

/// Where there are several, each says what it is.
fn heading(view: &View<'_>, item: &Value) -> Markup {
    html! {
        @if view.answers.list("thread").len() > 1 {
            h2 { (link(text(item, "reference_id"))) " " (text(item, "title")) }
        }
    }
}

fn project(view: &View<'_>) -> String {
    view.answers.get("entity").map(|entity| text(entity, "project").to_owned()).unwrap_or_default()
}

/// What both tabs share.
fn page(view: &View<'_>, name: &str, inside: Markup) -> Shown {
    let null = Value::Null;
    let thread = view.answers.get("thread").unwrap_or(&null);
    let reference = text(thread, "from");
    let tabs = [("Text", ""), ("Code", "/code"), ("Tests", "/tests")];
    let body = html! {
        div.page {
            h1 { (name) " of " (link(reference)) }
            p.muted { (view.answers.get("entity").map(title).unwrap_or_default()) }
            div.views {
                nav.tabs aria-label="Item" {
                    @for (tab, path) in tabs { a href={ "/r/" (reference) (path) } aria-current=[(tab == name).then_some("page")] { (tab) } }
                    a href={ "/p/" (project(view)) "/thread/" (reference) } { "Thread" }
                }
            }
            (heads(view, thread))
            (inside)
            (more(view, "thread"))
        }
    };
    Shown { title: format!("{name} of {reference}"), project: Some(project(view)), body }
}

/// A form for what no program can test.
fn manual(view: &View<'_>, item: &Value) -> Markup {
    let reference = text(item, "reference_id");
    if kind_of(reference).is_none() || !view.me.may(known::ADD_MANUAL_EVIDENCE) {
        return html! {};
    }
    let units = list(item, "units");
    let beginning = |unit: &Value| text(unit, "text").chars().take(80).collect::<String>();
    let choices = units
        .iter()
        .zip(1..)
        .map(|(unit, number)| (number.to_string(), format!("{number}: {}", beginning(unit))));
    let choices: Vec<(String, String)> = if units.len() > 1 { choices.collect() } else { Vec::new() };
    let mut fields = vec![
        Field::new("what").labelled("What was done and seen"),
        Field::new("outcome").labelled("Was it as required?"),
    ];
    if !choices.is_empty() {
        fields.push(Field::choosing("unit", choices).labelled("Which sentence"));
    }
    fields.push(Field::new("done_at").labelled("When"));
    fields.push(Field::new("attachment_digest"));
    html! {
        section.card {
            h2 { "Tried by hand" }
            p.muted { "For what no program can test. It closes as a passing test does, until the text changes." }
            (post(known::ADD_MANUAL_EVIDENCE, &format!("/r/{reference}/tests"), html! {
                (hidden("reference", reference))
                (form(known::ADD_MANUAL_EVIDENCE, &fields, &Map::new(), None))
                p.actions { button.primary { "Add" } }
            }))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::testing::shown;

    fn answers() -> [(&'static str, Value); 3] {
        let thread = json!({"from": "REQ-001", "data": [{"reference_id": "REQ-001", "kind": "requirement", "units": [
            {"text": "It MUST mask.", "verdict": "witnessed", "closed": true, "code": [{"place": "src/pay.rs:4", "kind": "exception"}],
             "tests": [{"place": "tests/pay.rs:7", "verdict": "witnessed", "outcome": "passed", "attempts": 2,
                        "run": {"tool": "pytest", "ref": "refs/heads/main", "trust": "token", "at": "2026-11-17T17:00:00Z"}}]},
            {"text": "It MUST NOT log.", "verdict": "failed", "closed": false, "why_open": "failed"}]}]});
        let entity = json!({"reference_id": "REQ-001", "kind": "requirement", "project": "DEFAULT", "title": "Mask <cards>"});
        let stale = json!({"data": [{"reference_id": "REQ-001", "state": "stale", "place": "src/old.rs:3", "repository": "shop", "quoted_version": 1,
                                     "quoted": "It MUST hide.", "now": "It MUST mask."}]});
        [("thread", thread), ("entity", entity), ("stale", stale)]
    }

    #[test]
    fn code_is_shown_by_sentence_with_what_is_stale() {
        let html = shown(&CODE, "/r/REQ-001/code", &answers());
        for part in [
            "Mask &lt;cards&gt;",
            "left out on purpose",
            "no code cites it",
            "class=\"mark failed\"",
            "<del>hide.</del><ins>mask.</ins>",
            "stale: quotes version 1",
            "aria-current=\"page\">Code</a>",
        ] {
            assert!(html.contains(part), "{part}: {html}");
        }
    }

    #[test]
    fn tests_are_shown_with_their_runs_and_evidence_can_be_given_by_hand() {
        let html = shown(&TESTS, "/r/REQ-001/tests", &answers());
        for part in [
            "in 2 attempts",
            "pytest on main",
            "no test cites it",
            "open: failed",
            "action=\"/do/add_manual_evidence\"",
            "<textarea id=\"field-what\"",
            "<option value=\"2\">2: It MUST NOT log.</option>",
            "name=\"_next\" value=\"/r/REQ-001/tests\"",
        ] {
            assert!(html.contains(part), "{part}: {html}");
        }
    }
}
