//! `/p/{key}`: how far a project is, and what it lacks. Each number leads to its list.

mod burn_up;
mod empty;

use maud::{Markup, html};
use ops::known;
use serde_json::{Value, json};

use super::home::suspect_row;
use crate::page::{Answers, Asked, Page, Question, Shown, View, encode};
use crate::parts::{kind_plural, row, section, sentence, state_class, text};
use crate::thread::share as share_verified;

pub const PAGE: Page = Page { path: "/p/{key}", nav: Some(("Overview", 'o')), ask, show };

/// How many suspect links are shown.
const SUSPECTS: usize = 10;

fn ask(asked: &Asked, answers: &Answers) -> Vec<Question> {
    if answers.has("project") {
        return Vec::new();
    }
    let key = asked.parameter("key");
    vec![
        Question::needed("project", known::GET_PROJECT, json!({"project": key})),
        Question::needed("status", known::STATUS_REPORT, json!({"project": key})),
        Question::optional("gaps", known::HIERARCHY_ANALYSIS, json!({"project": key, "limit": 1})),
        Question::optional(
            "suspects",
            known::LIST_SUSPECT_LINKS,
            json!({"project": key, "details": true, "limit": SUSPECTS}),
        ),
        Question::optional("weeks", known::BURN_UP, json!({"project": key})),
        Question::optional("model", known::GET_STATUS_MODEL, json!({"kind": "user_story"})),
    ]
}

fn show(view: &View<'_>) -> Shown {
    let null = Value::Null;
    let project = view.answers.get("project").unwrap_or(&null);
    let report = view.answers.get("status").unwrap_or(&null);
    let key = view.asked.parameter("key");
    let kinds = report["kinds"].as_array().map(Vec::as_slice).unwrap_or_default();
    let oldest = report["oldest_in_progress"].as_array().map(Vec::as_slice).unwrap_or_default();
    let total = report["total"].as_u64().unwrap_or_default();
    let name = text(project, "name").to_owned();
    let body = html! {
        div.page {
            div.heading {
                h1 { (name) }
                p.muted { (key) }
                p.actions {
                    @if view.me.may_create("epic") { a.button href={ "/p/" (key) "/new/epic" } data-key="c" { "Create an epic" } }
                    @if view.me.may(known::IMPORT) { a.quiet href={ "/p/" (key) "/import" } { "Import" } }
                    a.quiet href={ "/p/" (key) "/export" } { "Export" }
                    a.quiet href={ "/p/" (key) "/baselines" } { "Baselines" }
                }
            }
            p { (text(project, "description")) }
            @if total == 0 {
                (empty::card(view, key))
            } @else {
                div.columns {
                    section {
                        h2 { "How far it is" }
                        @for kind in kinds { (progress(key, kind)) }
                        (verified(key, kinds))
                    }
                    section {
                        h2 { "User stories, week by week" }
                        (burn_up::chart(view.answers.list("weeks"), &format!("/p/{key}/list/user_story"), &done_statuses(view)))
                        (coverage(view, key))
                    }
                    (suspects(view, key))
                    (gaps(view))
                }
                (section("In progress for the longest time", oldest.is_empty(), "Nothing is in progress.", html! {
                    ul.rows { @for entity in oldest { (row(entity)) } }
                }))
            }
        }
    };
    Shown { title: name, project: Some(key.to_owned()), body }
}

/// How much evidence closes, which leads to what is open; and what quotes a text that has changed.
fn verified(key: &str, kinds: &[Value]) -> Markup {
    let sum = |name: &str| kinds.iter().filter_map(|kind| kind[name].as_u64()).sum::<u64>();
    let citable = kinds.iter().filter(|kind| kind["cited"].is_number());
    let total: u64 = citable
        .map(|kind| {
            let number = |name: &str| kind[name].as_u64().unwrap_or_default();
            number("total").saturating_sub(number("cancelled") + number("obsolete"))
        })
        .sum();
    html! {
        @if total > 0 {
            div.progress {
                p { a href={ "/p/" (key) "/thread?only=open" } { "Verified requirements and criteria" } " " span.count { (total) } }
                (share_verified(sum("verified"), sum("cited"), total))
                @if sum("cited") > 0 {
                    @let count = format!("/p/{key}/stale/count");
                    p.small hx-get=(count) hx-trigger="load" hx-swap="outerHTML" hx-target="this" hx-push-url="false" {
                        a href={ "/p/" (key) "/stale" } { "Stale citations" }
                    }
                }
            }
        }
    }
}

/// A bar for a kind, each part of which leads to its list.
fn progress(key: &str, kind: &Value) -> Markup {
    let name = text(kind, "kind");
    let total = kind["total"].as_u64().unwrap_or_default();
    let groups = kind["groups"].as_array().map(Vec::as_slice).unwrap_or_default();
    let list = format!("/p/{key}/list/{name}");
    html! {
        div.progress {
            p { a href=(list) { (kind_plural(name)) } " " span.count { (total) } }
            @if !groups.is_empty() {
                svg.share viewBox="0 0 100 4" preserveAspectRatio="none" role="img" aria-label=(words(groups)) {
                    @for (group, start) in starts(groups) {
                        rect.{ (state_class(text(group, "name"))) } x=(share(start, total)) y="0" height="4"
                            width=(share(group["count"].as_u64().unwrap_or_default(), total)) {}
                    }
                }
                p.small {
                    @for group in groups {
                        a.state href={ (list) "?status=" (encode(text(group, "name"))) } {
                            i.mark.{ (state_class(text(group, "name"))) } aria-hidden="true" {}
                            " " (text(group, "name")) " " span.count { (group["count"]) }
                        }
                        " "
                    }
                }
            }
        }
    }
}

fn words(groups: &[Value]) -> String {
    let words: Vec<String> =
        groups.iter().map(|group| format!("{} {}", group["count"], text(group, "name"))).collect();
    words.join(", ")
}

/// Each group with how many come before it.
fn starts(groups: &[Value]) -> impl Iterator<Item = (&Value, u64)> {
    groups.iter().scan(0, |before, group| {
        let start = *before;
        *before += group["count"].as_u64().unwrap_or_default();
        Some((group, start))
    })
}

fn share(count: u64, total: u64) -> String {
    format!("{:.2}", count as f64 * 100.0 / total.max(1) as f64)
}

/// The statuses of a user story that mean that it is done.
fn done_statuses<'a>(view: &'a View<'_>) -> Vec<&'a str> {
    let statuses = view.answers.get("model").and_then(|model| model["statuses"].as_array());
    let done = statuses.into_iter().flatten().filter(|status| text(status, "outcome") == "done");
    done.map(|status| text(status, "name")).collect()
}

/// How many stories have criteria and requirements. What is missing is listed below.
fn coverage(view: &View<'_>, key: &str) -> Markup {
    let null = Value::Null;
    let gaps = view.answers.get("gaps").unwrap_or(&null);
    let total = gaps["totals"]["user_stories"].as_u64().unwrap_or_default();
    let rows = [("criteria", "stories_without_criteria"), ("requirements", "stories_without_requirements")];
    html! {
        @if total > 0 {
            table.coverage {
                caption { "Coverage of " a href={ "/p/" (key) "/list/user_story" } { (total) " user stories" } }
                tbody { @for (words, gap) in rows {
                    @let missing = gaps[gap]["total_count"].as_u64().unwrap_or_default().min(total);
                    tr {
                        th scope="row" { "With " (words) }
                        td {
                            svg.share viewBox="0 0 100 4" preserveAspectRatio="none" role="img"
                                aria-label={ (total - missing) " of " (total) " user stories have " (words) } {
                                rect.waiting x="0" y="0" width="100" height="4" {}
                                rect.done x="0" y="0" width=(share(total - missing, total)) height="4" {}
                            }
                        }
                        td.count { (percent(total - missing, total)) "%" }
                        td.count { @if missing > 0 { a href={ "#" (gap) } { (missing) " without" } } @else { "all" } }
                    }
                } }
            }
        }
    }
}

/// How many of a hundred, rounded down, so that only all of them are 100.
fn percent(count: u64, total: u64) -> u64 {
    count * 100 / total.max(1)
}

/// Links whose target has changed.
fn suspects(view: &View<'_>, key: &str) -> Markup {
    let links = view.answers.list("suspects");
    let total =
        view.answers.get("suspects").and_then(|page| page["total_count"].as_u64()).unwrap_or_default();
    let here = format!("/p/{key}");
    let may_confirm = view.me.may(known::CLEAR_SUSPECT_LINK);
    html! {
        section #suspects {
            h2 { a href={ (here) "/suspects" } { "Suspect links" } " " span.count { (total) } }
            @if links.is_empty() { p.muted { "No requirement rests on a text that has changed since." } }
            ul.rows { @for link in links { (suspect_row(link, &here, may_confirm)) } }
            @if total > links.len() as u64 { p.small.muted { "These are the first " (links.len()) "." } }
        }
    }
}

/// Stories whose status says more than their requirements do, in the status report.
const TOO_EARLY: &str = "stories_done_over_drafts";

/// What the tree lacks, and where a status says too much.
fn gaps(view: &View<'_>) -> Markup {
    let null = Value::Null;
    let answer = |name: &str| view.answers.get(name).unwrap_or(&null).as_object().into_iter().flatten();
    let early = answer("status").filter(|(name, _)| *name == TOO_EARLY);
    let missing = early.chain(answer("gaps"));
    let missing: Vec<(&String, u64, &[Value])> = missing
        .filter_map(|(name, gap)| {
            let count = gap.get("total_count").or(gap.get("total"))?.as_u64().filter(|count| *count > 0)?;
            Some((name, count, gap["data"].as_array().map(Vec::as_slice).unwrap_or_default()))
        })
        .collect();
    html! {
        section {
            h2 { "What it lacks" }
            @if missing.is_empty() { p.muted { "No gap was found." } }
            ul.gaps {
                @for (name, count, rows) in missing {
                    li {
                        details {
                            summary {
                                @if name == TOO_EARLY { "Stories done while requirements are drafts" } @else { (sentence(name)) }
                                " " span.count { (count) }
                            }
                            // A link to the list opens what it is in.
                            ul.rows id=(name) { @for entity in rows { (row(entity)) } }
                            @if count > rows.len() as u64 { p.small.muted { "These are the first " (rows.len()) "." } }
                        }
                    }
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
    fn a_story_that_is_done_over_drafts_is_pointed_out() {
        let early = json!({"total_count": 1, "data": [{"reference_id": "US-003", "title": "Pay", "status": "Done", "draft_requirements": 1}]});
        let status = json!({"total": 4, "kinds": [], "stories_done_over_drafts": early});
        let html = shown(&PAGE, "/p/SHOP", &[("project", json!({"name": "Shop"})), ("status", status)]);
        assert!(html.contains("Stories done while requirements are drafts"), "{html}");
        assert!(html.contains("href=\"/r/US-003\""), "{html}");
    }

    #[test]
    fn what_is_verified_has_a_bar_of_its_own_that_leads_to_what_is_open() {
        let kinds = json!([
            {"kind": "epic", "total": 1},
            {"kind": "acceptance_criteria", "total": 3, "cited": 1, "verified": 1},
            {"kind": "requirement", "total": 9, "cancelled": 1, "obsolete": 1, "cited": 5, "verified": 2},
        ]);
        let status = json!({"total": 13, "kinds": kinds});
        let html = shown(&PAGE, "/p/SHOP", &[("project", json!({"name": "Shop"})), ("status", status)]);
        for part in [
            "3 of 10 verified, 6 cited",
            "href=\"/p/SHOP/thread?only=open\"",
            "hx-get=\"/p/SHOP/stale/count\"",
        ] {
            assert!(html.contains(part), "{part}: {html}");
        }
        let unused =
            json!({"total": 1, "kinds": [{"kind": "requirement", "total": 1, "cited": 0, "verified": 0}]});
        let html = shown(&PAGE, "/p/SHOP", &[("project", json!({"name": "Shop"})), ("status", unused)]);
        assert!(!html.contains("stale/count"), "nothing can be stale: {html}");
    }
}
