//! `/p/{key}/thread/{reference}`: the thread of an epic, a story, a requirement or a criterion, from the epic to the runs of its
//! tests, with the gaps; as columns, or as a list. [`threads`](super::threads) shows the same from a place in the code.

use maud::{Markup, html};
use ops::known;
use serde_json::{Value, json};

use crate::page::{Answers, Asked, Page, Question, Shown, View, encode};
use crate::parts::{kind_of, kind_words, link, more, paged, status, text, title};
use crate::thread::{gap, heads, list, place, run, share, state, test, threat_state, tried, unit_head};

pub const PAGE: Page = Page { path: "/p/{key}/thread/{reference}", nav: None, ask, show };

/// Requirements and criteria of one page.
const ITEMS: usize = 20;
/// Places and tests that a cell shows; the others are counted.
const CELL_MAX: usize = 6;

fn ask(asked: &Asked, answers: &Answers) -> Vec<Question> {
    questions(asked, answers, asked.parameter("reference"))
}

/// The questions about the thread from somewhere.
pub fn questions(asked: &Asked, answers: &Answers, from: &str) -> Vec<Question> {
    if answers.has("thread") {
        return Vec::new();
    }
    let about = json!({"from": from, "only_open": has_open_only(asked), "limit": ITEMS});
    let mut questions = vec![Question::needed("thread", known::GET_THREAD, paged(asked, about))];
    if kind_of(from).is_some() {
        questions.push(Question::optional("entity", known::GET_ENTITY, json!({"reference": from})));
    }
    questions
}

/// Whether only what is open is to be shown.
pub fn has_open_only(asked: &Asked) -> bool {
    asked.first("only") == Some("open")
}

pub fn show(view: &View<'_>) -> Shown {
    let null = Value::Null;
    let key = view.asked.parameter("key");
    let thread = view.answers.get("thread").unwrap_or(&null);
    let from = text(thread, "from");
    let items = view.answers.list("thread");
    let number = |name: &str| thread[name].as_u64().unwrap_or_default();
    let body = html! {
        div.page.wide {
            p.way { a href={ "/p/" (key) "/thread" } { "Thread" } @for one in list(thread, "chain") { " / " (link(text(one, "reference_id"))) } }
            div.heading {
                h1 { "Thread of " @if kind_of(from).is_some() { (link(from)) } @else { code { (from) } } }
                p.muted { (view.answers.get("entity").map(title).unwrap_or_default()) }
            }
            @if !has_open_only(view.asked) && number("total_count") > 1 { (share(number("verified"), number("cited"), number("total_count"))) }
            (heads(view, thread))
            (choices(view.asked))
            @if items.is_empty() {
                p.message { @if has_open_only(view.asked) { "Nothing is open here. " a href=(view.asked.with("only", None)) { "Show all" } } @else { "There is no requirement and no criterion here." } }
            } @else if view.asked.first("view") == Some("list") {
                ol.thread-list { @for item in items { (listed(view, key, item)) } }
            } @else {
                (columns(view, key, thread, items))
            }
            (more(view, "thread"))
        }
    };
    Shown { title: format!("Thread of {from}"), project: Some(key.to_owned()), body }
}

/// How it is shown, and what of it.
fn choices(asked: &Asked) -> Markup {
    let is_current = |is_current: bool| is_current.then_some("page");
    let (is_list, is_open) = (asked.first("view") == Some("list"), has_open_only(asked));
    // Another choice begins with the first page.
    let start = Asked {
        query: asked.query.iter().filter(|(name, _)| name != "cursor").cloned().collect(),
        ..asked.clone()
    };
    html! {
        div.filters {
            nav.kinds aria-label="View" {
                a href=(start.with("view", None)) aria-current=[is_current(!is_list)] { "Columns" }
                a href=(start.with("view", Some("list"))) aria-current=[is_current(is_list)] { "List" }
            }
            nav.kinds aria-label="Which" {
                a href=(start.with("only", None)) aria-current=[is_current(!is_open)] { "All" }
                a href=(start.with("only", Some("open"))) aria-current=[is_current(is_open)] { "Only open" }
            }
        }
    }
}

/// The epic and the story of an item: from what is above the start, the start itself, and what is above the item.
fn above<'a>(view: &'a View<'_>, thread: &'a Value, item: &'a Value, kind: &str) -> Option<&'a Value> {
    let start = view.answers.get("entity");
    let mut all = list(item, "chain").iter().chain(start).chain(list(thread, "chain"));
    all.find(|one| text(one, "kind") == kind)
}

/// One row for each test of a unit; what is the same in several rows is one cell.
fn columns(view: &View<'_>, key: &str, thread: &Value, items: &[Value]) -> Markup {
    let story_of = |item: &Value| {
        above(view, thread, item, "user_story").map(|one| text(one, "reference_id").to_owned())
    };
    let epic_of =
        |item: &Value| above(view, thread, item, "epic").map(|one| text(one, "reference_id").to_owned());
    let heights: Vec<usize> =
        items.iter().map(|item| units(item).iter().map(n_rows).sum::<usize>().max(1)).collect();
    let together = |index: usize, of: &dyn Fn(&Value) -> Option<String>| -> Option<usize> {
        let this = of(&items[index]);
        let is_first = index == 0 || of(&items[index - 1]) != this;
        let same = items[index..].iter().take_while(|item| of(item) == this).count();
        is_first.then(|| heights[index..index + same].iter().sum())
    };
    html! {
        table.thread {
            thead { tr { @for name in ["Epic", "Story", "Requirement", "Code", "Test", "Run", "Threats"] { th scope="col" { (name) } } } }
            tbody {
                @for (index, item) in items.iter().enumerate() {
                    @let all = units(item);
                    @for (number, unit) in all.iter().enumerate() {
                        @for line in 0..n_rows(unit) {
                            tr.new-item[number == 0 && line == 0] {
                                @if number == 0 && line == 0 {
                                    @if let Some(height) = together(index, &epic_of) { (above_cell("Epic", above(view, thread, item, "epic"), height)) }
                                    @if let Some(height) = together(index, &story_of) { (above_cell("Story", above(view, thread, item, "user_story"), height)) }
                                }
                                @if line == 0 {
                                    td.requirement rowspan=(n_rows(unit)) data-label="Requirement" {
                                        @if number == 0 { (item_head(item)) }
                                        (unit_head(unit))
                                        @if number + 1 == all.len() { (outdated(key, item)) }
                                    }
                                    td rowspan=(n_rows(unit)) data-label="Code" { (code_of(key, item, unit)) }
                                }
                                (test_cells(view, key, item, unit, line))
                                @if number == 0 && line == 0 {
                                    td rowspan=(heights[index]) data-label="Threats" { (threats(item)) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The units of an item.
fn units(item: &Value) -> &[Value] {
    list(item, "units")
}

/// How many rows a unit has: one for each test and each trial, at least one.
fn n_rows(unit: &Value) -> usize {
    (list(unit, "tests").len() + list(unit, "manual").len()).clamp(1, CELL_MAX)
}

fn above_cell(name: &str, one: Option<&Value>, height: usize) -> Markup {
    html! {
        td.above rowspan=(height) data-label=(name) {
            @if let Some(one) = one { (link(text(one, "reference_id"))) " " span.cell-title { (title(one)) } }
        }
    }
}

fn item_head(item: &Value) -> Markup {
    let reference = text(item, "reference_id");
    // A criterion has no title: its text is that of its unit.
    let shown = if text(item, "kind") == "requirement" { text(item, "title") } else { "" };
    html! {
        p.item-of-thread {
            (link(reference)) " "
            @if shown.is_empty() { span.muted { (kind_words(text(item, "kind"))) } } @else { b { (shown) } }
            " " (status(text(item, "status")))
        }
    }
}

/// Citations of an item that do not quote what it says now.
fn outdated(key: &str, item: &Value) -> Markup {
    let reference = text(item, "reference_id");
    html! {
        @for one in list(item, "outdated").iter().take(CELL_MAX) {
            p.small { (place(key, &json!({"place": one["place"], "repository": one["repository"]}))) " " a.quiet href={ "/r/" (reference) "/code#stale" } { (state(one)) } }
        }
    }
}

fn code_of(key: &str, item: &Value, unit: &Value) -> Markup {
    let places = list(unit, "code");
    let reference = text(item, "reference_id");
    html! {
        @if places.is_empty() { (gap("no code cites it")) }
        @for one in places.iter().take(CELL_MAX) { p { (place(key, one)) } }
        @if places.len() > CELL_MAX { p { a href={ "/r/" (reference) "/code" } { (places.len() - CELL_MAX) " more" } } }
    }
}

/// The cells of one test of a unit, or of something that was tried by hand.
fn test_cells(view: &View<'_>, key: &str, item: &Value, unit: &Value, line: usize) -> Markup {
    let (tests, trials) = (list(unit, "tests"), list(unit, "manual"));
    let n_more = (tests.len() + trials.len()).saturating_sub(CELL_MAX);
    html! {
        @if let Some(one) = tests.get(line) {
            td data-label="Test" {
                (test(key, one))
                @if line + 1 == CELL_MAX && n_more > 0 { p { a href={ "/r/" (text(item, "reference_id")) "/tests" } { (n_more) " more" } } }
            }
            td data-label="Run" { (run(view, one)) }
        } @else if let Some(one) = trials.get(line - tests.len().min(line)) {
            td data-label="Test" colspan="2" { (tried(view, one)) }
        } @else {
            td data-label="Test" { (gap("no test cites it")) }
            td data-label="Run" { span.muted { "–" } }
        }
    }
}

/// An item with its units, one after the other.
fn listed(view: &View<'_>, key: &str, item: &Value) -> Markup {
    html! {
        li {
            (item_head(item))
            @if !list(item, "chain").is_empty() {
                p.muted.small { "for " @for one in list(item, "chain") { (link(text(one, "reference_id"))) " " (title(one)) " " } }
            }
            ul.units {
                @for unit in units(item) {
                    li.unit {
                        (unit_head(unit))
                        p { (code_of(key, item, unit)) }
                        (tests_of(view, key, unit))
                    }
                }
            }
            (outdated(key, item))
            (threats(item))
        }
    }
}

/// The threats to an item, or that a criterion is against.
fn threats(item: &Value) -> Markup {
    let own = text(item, "reference_id");
    html! {
        @for threat in list(item, "threats") {
            @let threatens = text(threat, "threatens");
            @let reference = if threatens.is_empty() { own } else { threatens };
            p.small title=(text(threat, "why_open")) {
                a href={ "/r/" (reference) "/threats#" (encode(text(threat, "pattern"))) } { (text(threat, "name")) }
                @if !threatens.is_empty() { " to " (threatens) }
                " " (threat_state(threat))
            }
        }
    }
}

/// The tests of a unit with their runs, what was tried by hand, and what is missing.
pub fn tests_of(view: &View<'_>, key: &str, unit: &Value) -> Markup {
    let (tests, trials) = (list(unit, "tests"), list(unit, "manual"));
    html! {
        ul.tests {
            @for one in tests { li { (test(key, one)) " " (run(view, one)) } }
            @for one in trials { li { (tried(view, one)) } }
            @if tests.is_empty() && trials.is_empty() { li { (gap("no test cites it")) } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::testing::shown;

    fn thread() -> Value {
        json!({
            "from": "EP-001", "chain": [], "total_count": 2, "cited": 1, "verified": 0, "next_cursor": "abc",
            "heads": [{"repository": "shop", "ref": "refs/heads/main", "commit": "0123456789abcdef", "trust": "token", "pushed_at": "2026-11-17T17:00:00Z"}],
            "data": [
                {"reference_id": "REQ-001", "kind": "requirement", "title": "Mask <cards>", "verified": false, "chain": [{"reference_id": "US-001", "kind": "user_story", "title": "Pay"}],
                 "outdated": [{"place": "src/old.rs:9", "state": "stale", "quoted_version": 2}],
                 "threats": [{"pattern": "T-1", "name": "Forged <callbacks>", "state": "applies", "why_open": "AC-001: nothing cites it"}],
                 "units": [
                    {"text": "It MUST mask.", "verdict": "passed", "closed": false, "why_open": "witnessed is needed",
                     "code": [{"place": "src/pay.rs:4", "symbol": "pay::mask"}],
                     "tests": [{"place": "tests/pay.rs:7", "verdict": "passed", "outcome": "passed",
                                "run": {"tool": "nextest", "ref": "refs/heads/main", "commit": "0123456789abcdef", "trust": "oidc", "at": "2026-11-17T17:00:00Z"}},
                               {"place": "tests/pay.rs:9", "verdict": "not_run"}]},
                    {"text": "It MUST NOT log.", "verdict": "not_run", "closed": false, "why_open": "nothing cites it"}]},
                {"reference_id": "REQ-002", "kind": "requirement", "title": "Keep", "verified": true, "chain": [{"reference_id": "US-001", "kind": "user_story", "title": "Pay"}],
                 "units": [{"text": "Keep", "verdict": "passed", "closed": true, "manual": [{"what": "Looked", "actor": "ann", "outcome": "passed", "done_at": "2026-11-17T17:00:00Z"}]}]},
            ],
        })
    }

    #[test]
    fn columns_lead_from_the_epic_to_the_run_and_mark_gaps() {
        let epic = json!({"reference_id": "EP-001", "kind": "epic", "title": "Checkout"});
        let answers = [("thread", thread()), ("entity", epic)];
        let html = shown(&PAGE, "/p/DEFAULT/thread/EP-001?only=open", &answers);
        for part in [
            "<td class=\"above\" rowspan=\"4\" data-label=\"Epic\">",
            "<td class=\"above\" rowspan=\"4\" data-label=\"Story\">",
            "Mask &lt;cards&gt;",
            "href=\"/p/DEFAULT/thread?from=src%2Fpay.rs%3A4\"",
            "<span class=\"gap\">no code cites it</span>",
            "<span class=\"gap\">no test cites it</span>",
            "<span class=\"gap\">not run</span>",
            "open: witnessed is needed",
            "class=\"mark needs-tests\"",
            "class=\"mark done\"",
            "oidc",
            "by hand, ann",
            "stale: quotes version 2",
            "<a href=\"/r/REQ-001/threats#T-1\">Forged &lt;callbacks&gt;</a>",
            "applies, not closed yet",
            "only=open&amp;cursor=abc\">More</a>",
            "href=\"/p/DEFAULT/thread/EP-001?only=open&amp;view=list\"",
        ] {
            assert!(html.contains(part), "{part}: {html}");
        }
        assert!(!html.contains("<cards>"), "{html}");
    }

    #[test]
    fn a_list_says_the_same() {
        let html = shown(&PAGE, "/p/DEFAULT/thread/EP-001?view=list", &[("thread", thread())]);
        for part in [
            "0 of 2 verified, 1 cited",
            "no code cites it",
            "not run",
            "by hand, ann",
            "for <a class=\"reference\" href=\"/r/US-001\"",
        ] {
            assert!(html.contains(part), "{part}: {html}");
        }
        assert!(!html.contains("<table"), "{html}");
        let none = json!({"from": "EP-001", "data": [], "total_count": 0});
        let none = shown(&PAGE, "/p/DEFAULT/thread/EP-001?only=open", &[("thread", none)]);
        assert!(none.contains("Nothing is open here."), "{none}");
    }
}
