//! `/threats`: the patterns of what goes wrong; `/threats/{pattern}`: one of them. [`item_threats`](super::item_threats) has those that
//! threaten an item.

use maud::{Markup, html};
use serde_json::{Value, json};

use crate::markdown;
use crate::page::{Answers, Asked, Page, Question, Shown, Source, View, encode};
use crate::parts::{coded, text};

pub const PAGE: Page = Page { path: "/threats", nav: None, ask, show };
pub const PATTERN: Page =
    Page { path: "/threats/{pattern}", nav: None, ask: ask_pattern, show: show_pattern };

fn ask(asked: &Asked, answers: &Answers) -> Vec<Question> {
    if answers.has("found") {
        return Vec::new();
    }
    let context = asked.first("query").unwrap_or_default();
    vec![Question::of("found", Source::Threats, json!({"context": context}))]
}

fn show(view: &View<'_>) -> Shown {
    let query = view.asked.first("query").unwrap_or_default();
    let null = Value::Null;
    let found = view.answers.get("found").unwrap_or(&null);
    let body = html! {
        div.page {
            h1 { "Threat patterns" }
            p.muted { "What goes wrong in features like yours, and what to check. " (found["n_patterns"]) " patterns." }
            (search(query))
            (fitting(found))
        }
    };
    Shown { title: "Threat patterns".to_owned(), project: None, body }
}

/// A field for words that patterns are found by.
pub fn search(query: &str) -> Markup {
    html! {
        form.filters method="get" action=(PAGE.path) {
            input type="search" name="query" value=(query) aria-label="What you are about to build" placeholder="What are you about to build?";
            button { "Find" }
        }
    }
}

/// The patterns that fit, with why; and what the patterns are about, where nothing does or that is unsure.
fn fitting(found: &Value) -> Markup {
    let hits = found["hits"].as_array().map(Vec::as_slice).unwrap_or_default();
    let note = text(found, "note");
    html! {
        @if hits.is_empty() { p { "No pattern fits." } }
        @if !note.is_empty() { p.notice { span { (note) } } }
        @for hit in hits { (fitting_one(hit)) }
    }
}

fn fitting_one(hit: &Value) -> Markup {
    html! {
        section.threat {
            (heading(text(hit, "id"), hit))
            (in_short(hit))
        }
    }
}

/// What a pattern is called, and why it fits.
pub fn heading(id: &str, threat: &Value) -> Markup {
    let reasons: Vec<&str> =
        threat["reasons"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    html! {
        h2 {
            a href={ "/threats/" (encode(id)) } { (text(threat, "name")) } " "
            (severity(text(threat, "severity"))) " " span.muted { (id) }
        }
        @if !reasons.is_empty() { p.muted.small { "Because of " (reasons.join("; ")) } }
    }
}

/// A pattern in three sentences.
pub fn in_short(summary: &Value) -> Markup {
    html! {
        dl {
            dt { "Threat" } dd { (coded(text(summary, "threat"))) }
            dt { "Check" } dd { (coded(text(summary, "check"))) }
            dt { "Fix" } dd { (coded(text(summary, "fix"))) }
        }
    }
}

fn severity(severity: &str) -> Markup {
    html! { span.severity.{ (severity.to_lowercase()) } { (severity) } }
}

fn ask_pattern(asked: &Asked, answers: &Answers) -> Vec<Question> {
    if answers.has("pattern") {
        return Vec::new();
    }
    vec![Question::of("pattern", Source::Threats, json!({"id": asked.parameter("pattern")}))]
}

fn show_pattern(view: &View<'_>) -> Shown {
    let null = Value::Null;
    let pattern = view.answers.get("pattern").unwrap_or(&null);
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let summary = &pattern["agent_summary"];
    let steps = list(&pattern["attack_scenario"]["attack_steps"]);
    let criteria = list(&pattern["acceptance_criteria"]);
    let references = list(&pattern["provenance"]["public_references"]);
    let body = html! {
        article.page {
            p { a href=(PAGE.path) { "All patterns" } }
            h1 { (text(pattern, "name")) " " (severity(text(pattern, "severity"))) }
            p.muted { (text(pattern, "id")) ", " (text(pattern, "category")) ", likelihood " (text(pattern, "likelihood")) }
            div.prose hx-ignore { (markdown::render(text(pattern, "description"))) }
            section.threat { (in_short(summary)) }
            @if !steps.is_empty() {
                h2 { "How it is attacked" }
                ol.rows { @for step in &steps { li.row { b { (text(step, "action")) } span.title.muted { (text(step, "detail")) } } } }
            }
            @for mitigation in list(&pattern["mitigations"]) { (shown_mitigation(&mitigation)) }
            @if !criteria.is_empty() {
                h2 { "Acceptance criteria" }
                ul.rows { @for one in &criteria { li.row { span.title { (one.as_str().unwrap_or_default()) } } } }
            }
            @if !references.is_empty() {
                h2 { "References" }
                ul { @for one in &references { li { (reference(one)) } } }
            }
        }
    };
    Shown { title: format!("{} {}", text(pattern, "id"), text(pattern, "name")), project: None, body }
}

fn shown_mitigation(mitigation: &Value) -> Markup {
    let examples = mitigation["code_examples"].as_array().into_iter().flatten();
    html! {
        h2 { (text(mitigation, "name")) }
        div.prose hx-ignore { (markdown::render(text(mitigation, "description"))) }
        @for example in examples {
            details {
                summary { "Code: " (text(example, "language")) " " (text(example, "framework")) }
                @if !text(example, "vulnerable_code").is_empty() { p.muted { "Vulnerable" } pre { code { (text(example, "vulnerable_code")) } } }
                @if !text(example, "secure_code").is_empty() { p.muted { "Secure" } pre { code { (text(example, "secure_code")) } } }
            }
        }
    }
}

/// An entry of a public catalogue. Patterns may come from a folder, so that not every address can be followed.
fn reference(one: &Value) -> Markup {
    let url = text(one, "url");
    let said = [text(one, "cwe"), text(one, "owasp"), text(one, "name")].join(" ");
    html! {
        @if url.starts_with("https://") || url.starts_with("http://") { a href=(url) rel="noopener noreferrer" { (said) } } @else { (said) }
    }
}
