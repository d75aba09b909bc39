//! `/p/{key}/activity`: everything that people and agents changed, the newest first.

use maud::{Markup, html};
use ops::known;
use serde_json::{Value, json};

use crate::diff;
use crate::item::by;
use crate::page::{Answers, Asked, Page, Question, Shown, View};
use crate::parts::{hidden, kind_of, link, named, post, text};
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
            ol.revisions { @for change in changes { (one(view, change)) } }
            @if let Some(cursor) = next {
                p.actions { a.button href=(view.asked.with("cursor", Some(cursor))) { "Older" } }
            }
        }
    };
    Shown { title: "Activity".to_owned(), project: Some(key.to_owned()), body }
}

fn one(view: &View<'_>, change: &Value) -> Markup {
    let fields = change["changes"].as_object().into_iter().flatten();
    let is_new = change["version"] == 1;
    let told = fields.filter(|(name, change)| {
        !name.ends_with("_id")
            // That something was deleted is said in its line, too.
            && !matches!(name.as_str(), "id" | "kind" | "project" | "deleted_at")
            && (!is_new || change[0].is_string() || matches!(name.as_str(), "content" | "quote"))
            // A relationship says in its line what it leads to.
            && !matches!(name.as_str(), "source" | "target" | "type" | "target_version")
    });
    html! {
        li {
            div.change-head {
                b { (text(change, "actor")) } " " (by(change)) " "
                span.muted { (deed(change)) } " "
                @if !text(change, "reference_id").is_empty() { (link(text(change, "reference_id"))) " " @if text(change, "leads_to").is_empty() { (named(text(change, "reference_id"), text(change, "title"))) } @else { (led(text(change, "leads_to"))) } " " }
                span.muted { (ago(text(change, "created_at"), view.now)) }
                (restore(view, change))
            }
            dl {
                @for (name, change) in told {
                    dt { (name.replace('_', " ")) }
                    dd { (diff::field(name, change)) }
                }
            }
        }
    }
}

/// What was done, as somebody would tell it.
pub fn deed(change: &Value) -> String {
    let operation = text(change, "operation");
    match operation {
        "add_comment" => "commented on".to_owned(),
        "update_comment" => "changed a comment on".to_owned(),
        "delete_comment" => "deleted a comment on".to_owned(),
        "restore_comment" => "restored a comment on".to_owned(),
        "create_relationship" => "linked".to_owned(),
        "delete_relationship" => "unlinked".to_owned(),
        "clear_suspect_link" => "confirmed".to_owned(),
        // What refers to a thing that is deleted changes with it.
        "delete_entity" if !change["changes"]["deleted_at"].is_array() => "changed".to_owned(),
        "delete_entity" => "deleted".to_owned(),
        "restore_entity" => "restored".to_owned(),
        "purge_entity" => "erased".to_owned(),
        _ if operation.starts_with("create_") => "created".to_owned(),
        _ if operation.starts_with("update_") => "changed".to_owned(),
        _ => told(operation),
    }
}

/// The same for what is rarely done.
fn told(operation: &str) -> String {
    let what = |name: &str| name.replace('_', " ");
    match operation.split_once('_') {
        Some(("push", name)) => format!("pushed {}", what(name)),
        Some(("link", name)) => format!("linked a {} with", what(name)),
        Some(("unlink", name)) => format!("unlinked a {} from", what(name)),
        _ => what(operation),
    }
}

/// A button that takes something back to what it was before a change, and the way to all its versions.
pub fn restore(view: &View<'_>, change: &Value) -> Markup {
    let reference = text(change, "reference_id");
    let version = change["version"].as_i64().unwrap_or_default();
    // A change of a comment or a link has the reference of what it is about.
    let is_own = kind_of(reference).is_some_and(|kind| kind.name() == text(change, "entity_kind"));
    if !is_own {
        return html! {};
    }
    let was_deleted = change["changes"].get("deleted_at").is_some_and(|pair| pair[0].is_null());
    // What was erased for good has nothing to go back to.
    let is_purged = !text(change, "purged_at").is_empty();
    html! {
        span.change-actions {
            a.quiet href={ "/r/" (reference) "/history" } { "History" }
            @if version > 1 && !is_purged && view.me.may(known::RESTORE_ENTITY) {
                (post(known::RESTORE_ENTITY, &view.asked.here(), html! {
                    (hidden("reference", reference))
                    @if !was_deleted { (hidden("version", &(version - 1).to_string())) }
                    @if was_deleted {
                        button.quiet aria-label={ "Restore " (reference) } { "Restore" }
                    } @else {
                        button.quiet aria-label={ "Restore version " (version - 1) " of " (reference) } { "Restore version " (version - 1) }
                    }
                }))
            }
        }
    }
}

/// The type of a relationship, and a link to where it leads.
fn led(leads_to: &str) -> Markup {
    let (kind, target) = leads_to.rsplit_once(' ').unwrap_or_default();
    html! { (kind.replace('_', " ")) " " (link(target)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::testing::shown;

    #[test]
    fn a_change_says_who_made_it_and_can_be_taken_back() {
        let change = |changes: Value, version: i64, kind: &str| {
            json!({"actor": "ann", "via": "mcp", "token": "claude", "operation": "update_requirement", "entity_kind": kind,
                   "reference_id": "REQ-001", "version": version, "changes": changes, "created_at": "2026-11-17T17:00:00Z"})
        };
        let changes = json!({"data": [
            change(json!({"title": ["Old words", "New words"]}), 3, "requirement"),
            change(json!({"deleted_at": [null, "2026"]}), 4, "requirement"),
            change(json!({"content": [null, "Why?"]}), 1, "comment"),
            json!({"entity_kind": "relationship", "operation": "create_relationship", "reference_id": "REQ-001", "version": 1,
                   "leads_to": "depends_on REQ-002", "changes": {}}),
            json!({"entity_kind": "requirement", "operation": "delete_entity", "reference_id": "REQ-004", "version": 2,
                   "changes": {"acceptance_criteria": ["AC-001", null]}}),
            json!({"operation": "push_trace", "version": 1, "changes": {}}),
            json!({"operation": "link_steering_document", "reference_id": "EP-001", "version": 1, "changes": {}}),
            json!({"entity_kind": "requirement", "operation": "purge_entity", "reference_id": "REQ-003", "version": 5,
                   "purged_at": "2026-11-17T17:00:00Z", "changes": {}}),
        ]});
        let html = shown(&PAGE, "/p/DEFAULT/activity?by=agents", &[("changes", changes)]);
        for part in [
            "class=\"via\">agent · claude<",
            "class=\"muted\">changed</span>",
            "class=\"muted\">linked</span>",
            "<ins>Why?</ins>",
            "<del>Old</del><ins>New</ins> words",
            "name=\"version\" value=\"2\"",
            "Restore version 2",
            "depends on <a class=\"reference\" href=\"/r/REQ-002\">",
            ">Restore</button>",
            "name=\"_next\" value=\"/p/DEFAULT/activity?by=agents\"",
        ] {
            assert!(html.contains(part), "{part}: {html}");
        }
        assert_eq!(html.matches("/do/restore_entity\" hx-post").count(), 3, "{html}");
        assert!(!html.contains(">deleted</span>") && html.contains(">pushed trace</span>"), "{html}");
        assert!(html.contains(">linked a steering document with</span>"), "{html}");
    }
}
