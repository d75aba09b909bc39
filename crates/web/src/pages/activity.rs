//! `/p/{key}/activity`: everything that people and agents changed, the newest first.

use maud::{Markup, html};
use ops::known;
use serde_json::{Value, json};

use crate::diff;
use crate::item::by;
use crate::page::{Answers, Asked, Page, Question, Shown, View};
use crate::parts::{link, text};
use crate::time::ago;

pub const PAGE: Page = Page { path: "/p/{key}/activity", nav: Some(("Activity", 'a')), ask, show };

fn ask(asked: &Asked, answers: &Answers) -> Vec<Question> {
    if answers.has("changes") {
        return Vec::new();
    }
    let mut about = json!({"project": asked.parameter("key"), "limit": 50});
    if let Some(cursor) = asked.first("cursor") {
        about["cursor"] = json!(cursor);
    }
    if asked.first("by") == Some("agents") {
        about["by_agents"] = json!(true);
    }
    vec![Question::needed("changes", known::LIST_CHANGES, about)]
}

fn show(view: &View<'_>) -> Shown {
    let key = view.asked.parameter("key");
    let changes = view.answers.list("changes");
    let is_of_agents = view.asked.first("by") == Some("agents");
    let next = view.answers.get("changes").and_then(|page| page["next_cursor"].as_str());
    let body = html! {
        div.page {
            h1 { "Activity" }
            nav.kinds aria-label="By whom" {
                a href=(view.asked.path) aria-current=[(!is_of_agents).then_some("page")] { "Everybody" }
                a href={ (view.asked.path) "?by=agents" } aria-current=[is_of_agents.then_some("page")] { "Agents" }
            }
            @if changes.is_empty() { p.message { "Nothing has happened yet." } }
            ol.revisions { @for change in changes { (one(change, view.now)) } }
            @if let Some(cursor) = next {
                p.actions { a.button href=(view.asked.with("cursor", Some(cursor))) { "Older" } }
            }
        }
    };
    Shown { title: "Activity".to_owned(), project: Some(key.to_owned()), body }
}

fn one(change: &Value, now: i64) -> Markup {
    let what = text(change, "operation").replace('_', " ");
    let fields = change["changes"].as_object().into_iter().flatten();
    let is_new = change["version"] == 1;
    let told = fields.filter(|(name, change)| {
        !name.ends_with("_id")
            && !matches!(name.as_str(), "id" | "kind" | "project")
            && (!is_new || change[0].is_string())
    });
    html! {
        li {
            p {
                b { (text(change, "actor")) } " " (by(change)) " "
                @if !text(change, "token").is_empty() { span.muted { "with " (text(change, "token")) " " } }
                span.muted { (what) } " "
                @if !text(change, "reference_id").is_empty() { (link(text(change, "reference_id"))) " " (text(change, "title")) " " }
                (ago(text(change, "created_at"), now))
            }
            dl {
                @for (name, change) in told {
                    dt { (name.replace('_', " ")) }
                    dd { (diff::values(&change[0], &change[1])) }
                }
            }
        }
    }
}
