//! `/p/{key}/stale`: citations in code that no longer quote the present text, and how many there are, for the overview.

use maud::html;
use ops::known;
use serde_json::json;

use crate::page::{Answers, Asked, Page, Question, Shown, View};
use crate::parts::{more, paged};
use crate::thread::stale;

pub const PAGE: Page = Page { path: "/p/{key}/stale", nav: None, ask, show };
/// Judging all citations takes longer than a page may, so that the overview fetches the number when it is shown.
pub const COUNT: Page = Page { path: "/p/{key}/stale/count", nav: None, ask, show: show_count };

fn ask(asked: &Asked, answers: &Answers) -> Vec<Question> {
    if answers.has("stale") {
        return Vec::new();
    }
    let about = paged(asked, json!({"project": asked.parameter("key")}));
    vec![Question::needed("stale", known::LIST_STALE_CITATIONS, about)]
}

fn show(view: &View<'_>) -> Shown {
    let key = view.asked.parameter("key");
    let found = view.answers.list("stale");
    let body = html! {
        div.page {
            h1 { "Stale citations" }
            @if found.is_empty() {
                p.message { "Every citation quotes the present text. " a href={ "/p/" (key) "/thread" } { "Thread" } }
            } @else {
                p.muted { "What this code cites has changed since, or is gone. Is the code still right?" }
                ul.rows { @for one in found { (stale(key, one, true)) } }
            }
            (more(view, "stale"))
        }
    };
    Shown { title: "Stale citations".to_owned(), project: Some(key.to_owned()), body }
}

fn show_count(view: &View<'_>) -> Shown {
    let key = view.asked.parameter("key");
    let count = view.answers.list("stale").len();
    let has_more = view.answers.get("stale").is_some_and(|page| page["next_cursor"].is_string());
    let body = html! {
        p.small {
            @if count == 0 && !has_more { span.muted { "Every citation quotes the present text." } } @else {
                a href={ "/p/" (key) "/stale" } {
                    @if has_more { "more than " } (count) @if count == 1 { " stale citation" } @else { " stale citations" }
                }
            }
        }
    };
    Shown { title: "Stale citations".to_owned(), project: Some(key.to_owned()), body }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::testing::shown;

    #[test]
    fn a_stale_citation_shows_what_it_quotes_and_what_is_there_now() {
        let one = json!({"reference_id": "REQ-001", "title": "Mask <cards>", "state": "suspect", "place": "src/a b.rs:3", "repository": "shop",
                         "quoted_version": 2, "version": 4, "quoted": "for a day", "now": "for an hour"});
        let gone = json!({"reference_id": "REQ-002", "title": "Keep", "state": "gone", "place": "src/b.rs:1", "repository": "shop", "version": 1});
        let page = json!({"data": [one, gone], "next_cursor": "abc"});
        let html = shown(&PAGE, "/p/DEFAULT/stale", &[("stale", page.clone())]);
        for part in [
            "Mask &lt;cards&gt;",
            "pins version 2",
            "from=src%2Fa%20b.rs%3A3",
            "<del>day</del><ins>hour</ins>",
            "was deleted or is obsolete",
            "cursor=abc",
        ] {
            assert!(html.contains(part), "{part}: {html}");
        }
        let count = shown(&COUNT, "/p/DEFAULT/stale/count", &[("stale", page)]);
        assert!(count.contains("more than 2 stale citations"), "{count}");
        let none = shown(&COUNT, "/p/DEFAULT/stale/count", &[("stale", json!({"data": []}))]);
        assert!(none.contains("Every citation quotes the present text."), "{none}");
    }
}
