//! `/r/{reference}/threats`: the threats to an item, how each stands, and what can be decided about it. Criteria are previewed and
//! edited in the form that makes them.

use maud::{Markup, html};
use ops::known;
use serde_json::{Value, json};
use store::model::Kind;

use super::threats::{self, heading, in_short, search};
use crate::page::{Answers, Asked, Page, Question, Shown, View, encode};
use crate::parts::{hidden, kind_of, link, post, text, title};
use crate::thread::{list, threat_state, verdict};
use crate::time::ago;

pub const PAGE: Page = Page { path: "/r/{reference}/threats", nav: None, ask, show };

fn ask(asked: &Asked, answers: &Answers) -> Vec<Question> {
    let reference = asked.parameter("reference");
    if !answers.has("entity") {
        return vec![Question::needed("entity", known::GET_ENTITY, json!({ "reference": reference }))];
    }
    let is_asked = answers.has("found") || answers.get("entity").is_none();
    match is_asked {
        true => Vec::new(),
        false => vec![Question::needed("found", known::PROPOSE_THREATS, json!({ "reference": reference }))],
    }
}

fn show(view: &View<'_>) -> Shown {
    let null = Value::Null;
    let entity = view.answers.get("entity").unwrap_or(&null);
    let found = view.answers.get("found").unwrap_or(&null);
    let reference = text(entity, "reference_id");
    let threats = list(found, "data");
    let note = text(found, "note");
    let body = html! {
        div.page {
            h1 { "Threats to " (link(reference)) }
            p.muted { (title(entity)) }
            @if threats.is_empty() { p { "No pattern fits." } }
            @if !note.is_empty() { p.notice { span { (note) } } }
            @for threat in threats { (one(view, entity, threat)) }
            p.muted { "Found by the words of its title and text. " a href=(threats::PAGE.path) { "All patterns" } }
            (search(""))
        }
    };
    Shown {
        title: format!("Threats to {reference}"),
        project: Some(text(entity, "project").to_owned()),
        body,
    }
}

fn one(view: &View<'_>, entity: &Value, threat: &Value) -> Markup {
    let why = text(threat, "why_open");
    html! {
        section.threat id=(text(threat, "pattern")) {
            (heading(text(threat, "pattern"), threat))
            p {
                (threat_state(threat))
                @if !why.is_empty() { " " span.muted { (why) } }
            }
            (decision(view, &threat["decision"]))
            @if !list(threat, "criteria").is_empty() {
                ul.rows { @for criterion in list(threat, "criteria") { (against(criterion)) } }
            }
            @if threat["says"].is_object() { (in_short(&threat["says"])) }
            (forms(view, entity, threat))
        }
    }
}

/// What was decided, by whom and why.
fn decision(view: &View<'_>, decision: &Value) -> Markup {
    if !decision.is_object() {
        return html! {};
    }
    let (reason, owner, until) =
        (text(decision, "reason"), text(decision, "owner"), text(decision, "review_by"));
    html! {
        p.small {
            (text(decision, "by")) " decided "
            @match text(decision, "decision") {
                "applies" => "that it applies",
                "not_applicable" => "that it does not apply",
                _ => {
                    "to accept the risk until " (until.split('T').next().unwrap_or_default())
                    @if !owner.is_empty() { ", borne by " (owner) }
                }
            }
            " " span.muted { (ago(text(decision, "at"), view.now)) }
            @if !reason.is_empty() { ": " (reason) }
        }
    }
}

/// A criterion against a threat, and what its tests show.
fn against(criterion: &Value) -> Markup {
    let why = text(criterion, "why_open");
    html! {
        li.row {
            (link(text(criterion, "reference_id")))
            span.title { (text(criterion, "text")) }
            (verdict(text(criterion, "verdict"), criterion["closed"] == true))
            @if !why.is_empty() { span.muted.small { "open: " (why) } }
        }
    }
}

/// What can be decided, by those who may: a form for each decision.
fn forms(view: &View<'_>, entity: &Value, threat: &Value) -> Markup {
    let reference = text(entity, "reference_id");
    let is_decided_about = matches!(kind_of(reference), Some(Kind::Requirement | Kind::UserStory));
    if !is_decided_about || !view.me.may(known::DECIDE_THREAT) {
        return html! {};
    }
    let pattern = text(threat, "pattern");
    let next = format!("/r/{reference}/threats#{}", encode(pattern));
    let form = |decision: &str, inside: Markup| {
        post(
            known::DECIDE_THREAT,
            &next,
            html! {
                (hidden("reference", reference)) (hidden("pattern", pattern)) (hidden("decision", decision))
                (inside)
            },
        )
    };
    let checks = list(threat, "checks");
    html! {
        @if list(threat, "criteria").is_empty() && !checks.is_empty() {
            details {
                summary { "It applies" }
                (form("applies", html! {
                    p.muted.small { "These criteria are made for " (story(entity)) ". Edit them first; one that is empty is left out." }
                    @for (index, check) in checks.iter().enumerate() {
                        p.field { label {
                            "Criterion " (index + 1)
                            textarea name={ "criteria." (index) ".description" } rows="2" { (check.as_str().unwrap_or_default()) }
                        } }
                    }
                    (reason(false))
                    p.actions {
                        button.primary { "Make the criteria" }
                        button.quiet name="dry_run" value="true" { "Preview" }
                    }
                }))
            }
        } @else if text(threat, "state") != "applies" && text(threat, "state") != "closed" {
            details {
                summary { "It applies" }
                (form("applies", html! { (reason(false)) p.actions { button.primary { "Decide" } } }))
            }
        }
        @if text(threat, "state") != "dismissed" {
            details {
                summary { "It does not apply" }
                (form("not_applicable", html! { (reason(true)) p.actions { button.primary { "Dismiss" } } }))
            }
        }
        @if text(threat, "state") != "closed" {
            details {
                summary { "Accept the risk" }
                (form("risk_accepted", html! {
                    (reason(true))
                    p.field { label { "Until, at the latest" input type="date" name="review_by" required; } }
                    p.field { label { "Borne by (a user's name; you, if empty)" input type="text" name="owner" autocomplete="off"; } }
                    p.actions { button.primary { "Accept" } }
                }))
            }
        }
    }
}

fn reason(is_required: bool) -> Markup {
    html! {
        p.field { label {
            "Why" @if is_required { span.required title="required" { " *" } }
            textarea name="reason" rows="2" required[is_required] {}
        } }
    }
}

/// The story that criteria against a threat to something belong to.
fn story(entity: &Value) -> &str {
    match text(entity, "kind") {
        "user_story" => text(entity, "reference_id"),
        _ => text(entity, "user_story"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::testing::shown;

    #[test]
    fn each_threat_says_how_it_stands_and_what_can_be_decided() {
        let entity =
            json!({"reference_id": "REQ-001", "kind": "requirement", "title": "Pay", "user_story": "US-003"});
        let open = json!({
            "pattern": "T-1", "name": "Forged callbacks", "severity": "high", "state": "open", "reasons": ["words pay"],
            "says": {"threat": "It `lies`.", "check": "Look.", "fix": "Sign."}, "checks": ["State is <checked>."],
        });
        let applies = json!({
            "pattern": "T-2", "name": "Replays", "severity": "low", "state": "applies", "why_open": "AC-001: nothing cites it",
            "decision": {"decision": "applies", "by": "ann", "at": "2026-11-17T17:00:00Z"},
            "criteria": [{"reference_id": "AC-001", "text": "Once <only>.", "verdict": "not_run", "closed": false, "why_open": "nothing cites it"}],
        });
        let accepted = json!({
            "pattern": "T-3", "name": "Floods", "severity": "low", "state": "accepted",
            "decision": {"decision": "risk_accepted", "reason": "Few <users>.", "by": "ann", "owner": "bob", "at": "2026-11-17T17:00:00Z",
                         "review_by": "2027-01-31T23:59:59.999999Z"},
        });
        let found = json!({"data": [open, applies, accepted], "note": "unsure whether this fits"});
        let html = shown(&PAGE, "/r/REQ-001/threats", &[("entity", entity.clone()), ("found", found)]);
        for part in [
            "Because of words pay",
            "href=\"/threats/T-1\"",
            "name=\"criteria.0.description\" rows=\"2\">State is &lt;checked&gt;.</textarea>",
            "These criteria are made for US-003",
            "name=\"review_by\" required",
            "value=\"/r/REQ-001/threats#T-1\"",
            "AC-001: nothing cites it",
            "Once &lt;only&gt;.",
            "to accept the risk until 2027-01-31, borne by bob",
            "Few &lt;users&gt;.",
            "<p class=\"notice\"><span>unsure",
        ] {
            assert!(html.contains(part), "{part}: {html}");
        }
        assert_eq!(html.matches("Make the criteria").count(), 1, "{html}");
        let epic = json!({"reference_id": "EP-001", "kind": "epic", "title": "Pay"});
        let found = json!({"data": [{"pattern": "T-1", "name": "x", "state": "open", "checks": ["y"]}]});
        let html = shown(&PAGE, "/r/EP-001/threats", &[("entity", epic), ("found", found)]);
        assert!(!html.contains("/do/"), "nothing is decided about an epic: {html}");
        let none = json!({"data": [], "note": "no pattern is about this text; the library covers payments"});
        let html = shown(&PAGE, "/r/REQ-001/threats", &[("entity", entity), ("found", none)]);
        assert!(html.contains("No pattern fits.") && html.contains("covers payments"), "{html}");
    }
}
