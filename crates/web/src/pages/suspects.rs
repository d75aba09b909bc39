//! `/p/{key}/suspects`: links whose target has changed since somebody confirmed them, to be confirmed, followed or removed.

use maud::{Markup, html};
use ops::known;
use serde_json::{Value, json};

use crate::diff;
use crate::markdown;
use crate::page::{Answers, Asked, Page, Question, Shown, View, encode};
use crate::parts::{hidden, link, post, sentence, status, text};
use crate::time::ago;

pub const PAGE: Page = Page { path: "/p/{key}/suspects", nav: Some(("Suspects", 's')), ask, show };

/// Links of one page.
const LINKS: usize = 20;
/// Longer texts are not compared here, since that could take long; the history of the target has them.
const COMPARED_MAX_CHARS: usize = 20_000;

fn ask(asked: &Asked, answers: &Answers) -> Vec<Question> {
    if answers.has("suspects") {
        return Vec::new();
    }
    let mut about = json!({"project": asked.parameter("key"), "details": true, "limit": LINKS});
    if let Some(cursor) = asked.first("cursor") {
        about["cursor"] = json!(cursor);
    }
    vec![Question::needed("suspects", known::LIST_SUSPECT_LINKS, about)]
}

fn show(view: &View<'_>) -> Shown {
    let key = view.asked.parameter("key");
    let null = Value::Null;
    let page = view.answers.get("suspects").unwrap_or(&null);
    let links = view.answers.list("suspects");
    let body = html! {
        div.page.wide {
            div.heading { h1 { "Suspect links" } p.count { (page["total_count"]) } }
            @if links.is_empty() {
                p.message {
                    "No link is suspect. When a requirement changes, the links that lead to it are listed here. "
                    a href={ "/p/" (key) "/matrix?against=relations" } { "All links" }
                }
            } @else {
                p.muted { "What these links lead to has changed since somebody confirmed them. Is the source still right?" }
                ol.rows.suspects { @for suspect in links { (one(view, suspect)) } }
                @if let Some(cursor) = page["next_cursor"].as_str() {
                    p.actions { a.button href=(view.asked.with("cursor", Some(cursor))) { "Next " (LINKS) } }
                }
            }
        }
    };
    Shown { title: "Suspect links".to_owned(), project: Some(key.to_owned()), body }
}

fn one(view: &View<'_>, suspect: &Value) -> Markup {
    let (source, target) = (text(suspect, "source"), text(suspect, "target"));
    html! {
        li.suspect-link id={ "suspect-" (text(suspect, "id")) } {
            p.small {
                (link(source)) " " (text(suspect, "type").replace('_', " ")) " " (link(target))
                span.muted { ", which changed " (ago(text(suspect, "suspect_since"), view.now)) }
            }
            div.sides {
                section {
                    h2 { (source) " " (text(&suspect["source_says"], "title")) " " (status(text(&suspect["source_says"], "status"))) }
                    div.prose hx-ignore { (markdown::render(text(&suspect["source_says"], "description"))) }
                }
                section {
                    h2 { (target) " " (text(&suspect["target_says"], "title")) }
                    (changes(target, &suspect["changes"]))
                }
            }
            (actions(view, suspect))
        }
    }
}

/// What has changed in the target, word by word.
fn changes(target: &str, changes: &Value) -> Markup {
    let length = |pair: &Value| text_length(&pair[0]).max(text_length(&pair[1]));
    html! {
        dl.changed {
            @for (name, pair) in changes.as_object().into_iter().flatten() {
                dt { (sentence(name)) }
                dd {
                    @if length(pair) > COMPARED_MAX_CHARS {
                        "This text is too long to be compared here. " a href={ "/r/" (target) "/history" } { "History" }
                    } @else {
                        (diff::field(name, pair))
                    }
                }
            }
        }
    }
}

fn text_length(value: &Value) -> usize {
    value.as_str().map_or(0, str::len)
}

fn actions(view: &View<'_>, suspect: &Value) -> Markup {
    let source = text(suspect, "source");
    let id = text(suspect, "id");
    let here = view.asked.here();
    html! {
        div.actions {
            @if view.me.may(known::CLEAR_SUSPECT_LINK) {
                (post(known::CLEAR_SUSPECT_LINK, &here, html! {
                    (hidden("id", id))
                    (hidden("target_version", &suspect["target_says"]["version"].to_string()))
                    button data-key="c" { "Still right" kbd aria-hidden="true" { "c" } }
                }))
                a.button href={ "/r/" (source) "/edit?next=" (encode(&here)) } data-key="e" { "Edit " (source) kbd aria-hidden="true" { "e" } }
            }
            @if view.me.may(known::DELETE_RELATIONSHIP) {
                (post(known::DELETE_RELATIONSHIP, &here, html! {
                    (hidden("id", id))
                    button.quiet.danger aria-label={ "Unlink " (source) " from " (text(suspect, "target")) } { "Unlink" }
                }))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::testing::shown;

    #[test]
    fn a_suspect_link_shows_what_changed_and_what_can_be_done() {
        let suspects = json!({"total_count": 1, "data": [{
            "id": "L1", "source": "REQ-001", "target": "REQ-002", "type": "depends_on", "suspect_since": "2026-11-17T18:00:00Z",
            "source_says": {"title": "Mask <cards>", "description": "*All* of them", "version": 1},
            "target_says": {"title": "Keep tokens", "version": 4},
            "changes": {"description": ["for a day", "for an hour"], "title": ["x".repeat(30_000), "Keep tokens"]},
        }]});
        let html = shown(&PAGE, "/p/DEFAULT/suspects?cursor=abc", &[("suspects", suspects)]);
        for part in [
            "<del>day</del><ins>hour</ins>",
            "Mask &lt;cards&gt;",
            "<em>All</em>",
            "name=\"target_version\" value=\"4\"",
            "/r/REQ-001/edit?next=%2Fp%2FDEFAULT%2Fsuspects%3Fcursor%3Dabc",
            "too long to be compared",
            "/do/delete_relationship",
        ] {
            assert!(html.contains(part), "{part}: {html}");
        }
        let none =
            shown(&PAGE, "/p/DEFAULT/suspects", &[("suspects", json!({"total_count": 0, "data": []}))]);
        assert!(none.contains("No link is suspect."), "{none}");
    }
}
