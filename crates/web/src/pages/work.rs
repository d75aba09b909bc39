//! `/p/{key}/work`: who works on what, and what there is to do next.

use maud::{Markup, html};
use ops::known;
use serde_json::{Value, json};

use crate::page::{Answers, Asked, Page, Question, Shown, View, encode};
use crate::parts::{hidden, link, more, paged, post, priority, section, status, text};
use crate::time::{ago, ahead};

pub const PAGE: Page = Page { path: "/p/{key}/work", nav: Some(("In progress", 'w')), ask, show };

/// How much of what comes next is shown.
const NEXT: usize = 20;
/// How many files of a lease are named.
const PATHS: usize = 4;

fn ask(asked: &Asked, answers: &Answers) -> Vec<Question> {
    if answers.has("work") {
        return Vec::new();
    }
    let key = asked.parameter("key");
    vec![
        Question::needed("work", known::LIST_WORK, paged(asked, json!({"project": key}))),
        Question::optional("next", known::LIST_OPEN_WORK, json!({"project": key, "limit": NEXT})),
    ]
}

fn show(view: &View<'_>) -> Shown {
    let key = view.asked.parameter("key");
    let (work, next) = (view.answers.list("work"), view.answers.list("next"));
    let body = html! {
        div.page {
            h1 { "In progress" }
            p.muted { "Work that somebody has taken. Nobody else is given it, nor anything in the same files, until the lease ends." }
            @if work.is_empty() {
                p.message { "Nobody has taken anything. Agents do with " code { "next_work" } ", people with " code { "spexus next" } "." }
            } @else {
                div.scrolled tabindex="0" role="region" aria-label="In progress" {
                    table.records {
                        thead { tr { th { "Requirement" } th { "Who" } th { "Taken" } th { "Ends" } th { "Files" } th { "Actions" } } }
                        tbody { @for one in work { (held(view, key, one)) } }
                    }
                }
                (more(view, "work"))
            }
            (section("Comes next", next.is_empty(), "Nothing is open that nobody has taken and that waits for nothing else.", html! {
                ol.rows { @for one in next { (open(one)) } }
            }))
        }
    };
    Shown { title: "In progress".to_owned(), project: Some(key.to_owned()), body }
}

fn held(view: &View<'_>, key: &str, one: &Value) -> Markup {
    let (lease, here) = (text(one, "lease"), format!("/p/{key}/work"));
    let paths: Vec<&str> = one["paths"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    html! {
        tr {
            td { (link(text(one, "reference_id"))) " " (text(one, "title")) p.muted.small { code { (lease) } } }
            td {
                (text(one, "holder")) @if one["yours"] == true { " (you)" }
                @if !text(one, "token").is_empty() { p.muted.small { "token " (text(one, "token")) } }
            }
            td { (ago(text(one, "taken_at"), view.now)) }
            td { (ahead(text(one, "expires_at"), view.now)) }
            td {
                @for path in paths.iter().take(PATHS) { code { (path) } br; }
                @if paths.len() > PATHS { span.muted { "and " (paths.len() - PATHS) " more" } }
            }
            td {
                div.buttons {
                    @if one["yours"] == true {
                        (post(known::RENEW_WORK, &here, html! { (hidden("lease", lease)) button.quiet aria-label={ "Keep " (lease) } { "Keep" } }))
                        (post(known::RELEASE_WORK, &here, html! { (hidden("lease", lease)) button.quiet aria-label={ "Release " (lease) } { "Release" } }))
                    } @else if view.me.may(known::BREAK_WORK) {
                        a.quiet.danger.button aria-label={ "Break " (lease) "…" }
                            href={ "/operations/" (known::BREAK_WORK.name) "?lease=" (encode(lease)) "&_next=" (encode(&here)) } { "Break…" }
                    }
                }
            }
        }
    }
}

fn open(one: &Value) -> Markup {
    let why: Vec<&str> = one["why"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let why: Vec<&str> = why.into_iter().filter(|reason| !reason.starts_with("priority")).collect();
    let reference = text(one, "reference_id");
    html! {
        li.row {
            (link(reference))
            a.title href={ "/r/" (reference) } { (text(one, "title")) }
            @if !why.is_empty() { span.muted.small { (why.join("; ")) } }
            (status(text(one, "status")))
            (priority(&one["priority"]))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::testing::shown;

    #[test]
    fn whoever_holds_work_may_keep_it_and_the_next_is_told_with_its_reason() {
        let mine = json!({"lease": "REQ-001.2", "reference_id": "REQ-001", "title": "Mask <cards>", "holder": "ann", "yours": true,
                          "paths": ["a.rs", "b.rs", "c.rs", "d.rs", "e.rs"], "taken_at": "2026-11-17T17:00:00Z",
                          "expires_at": "2026-11-17T17:30:00Z", "ends_at": "2026-11-18T01:00:00Z"});
        let theirs = json!({"lease": "REQ-002.1", "reference_id": "REQ-002", "title": "Keep", "holder": "bob", "token": "ci", "paths": [],
                            "taken_at": "2026-11-17T17:00:00Z", "expires_at": "2026-11-17T17:30:00Z", "ends_at": "2026-11-18T01:00:00Z"});
        let next = json!({"reference_id": "REQ-003", "title": "Ring", "status": "Draft", "priority": 2, "why": ["priority 2", "begun"]});
        let answers = [("work", json!({"data": [mine, theirs]})), ("next", json!({"data": [next]}))];
        let html = shown(&PAGE, "/p/DEFAULT/work", &answers);
        for part in [
            "Mask &lt;cards&gt;",
            "and 1 more",
            "action=\"/do/renew_work\"",
            "action=\"/do/release_work\"",
            "/operations/break_work?lease=REQ-002.1&amp;_next=%2Fp%2FDEFAULT%2Fwork",
            "token ci",
            "Ring",
            ">begun<",
        ] {
            assert!(html.contains(part), "{part}: {html}");
        }
        let none =
            shown(&PAGE, "/p/DEFAULT/work", &[("work", json!({"data": []})), ("next", json!({"data": []}))]);
        assert!(none.contains("Nobody has taken anything.") && none.contains("Nothing is open"), "{none}");
    }
}
