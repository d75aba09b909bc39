//! `/p/{key}/baselines`: named states of a project: pin one, compare two, or one with the present, export and delete them.

use maud::{Markup, html};
use ops::known;
use serde_json::{Map, Value, json};

use crate::diff;
use crate::form::{Field, form};
use crate::page::{Answers, Asked, Page, Question, Shown, View, encode};
use crate::parts::{hidden, link, paged, post, text};
use crate::time::ago;

pub const PAGE: Page = Page { path: "/p/{key}/baselines", nav: None, ask, show };

/// Baselines of one page; a project may have that many.
const BASELINES: usize = 100;
/// Differences of one page.
const DIFFERENCES: usize = 50;
/// Texts longer than this are not compared word by word.
const COMPARED_MAX_CHARS: usize = 20_000;

fn ask(asked: &Asked, answers: &Answers) -> Vec<Question> {
    if answers.has("baselines") {
        return Vec::new();
    }
    let key = asked.parameter("key");
    let about = json!({"project": key, "limit": BASELINES});
    let mut questions = vec![Question::needed("baselines", known::LIST_BASELINES, about)];
    if let Some(from) = asked.first("from") {
        let mut about = json!({"project": key, "from": from, "limit": DIFFERENCES});
        if let Some(to) = asked.first("to") {
            about["to"] = json!(to);
        }
        questions.push(Question::optional("compared", known::COMPARE_BASELINES, paged(asked, about)));
    }
    questions
}

fn show(view: &View<'_>) -> Shown {
    let key = view.asked.parameter("key");
    let baselines = view.answers.list("baselines");
    let body = html! {
        div.page {
            h1 { "Baselines" }
            p.muted { "Named states of the project: what each requirement said then, and what was verified." }
            @if baselines.is_empty() { p.message { "No state of this project has a name yet." } } @else {
                div.scrolled tabindex="0" role="region" aria-label="Baselines" {
                    table.records {
                        thead { tr { th { "Name" } th { "Pinned" } th { "Entities" } th { "Verified" } th { "Actions" } } }
                        tbody { @for one in baselines { (row(view, key, one)) } }
                    }
                }
                (chosen(view, key, baselines))
            }
            @if let Some(problem) = view.answers.problem("compared") { p.error role="alert" { (problem.message) } }
            @if let Some(compared) = view.answers.get("compared") { (comparison(view, compared)) }
            @if view.me.may(known::PIN_BASELINE) { (pin(key)) }
        }
    };
    Shown { title: "Baselines".to_owned(), project: Some(key.to_owned()), body }
}

fn row(view: &View<'_>, key: &str, one: &Value) -> Markup {
    let (id, name) = (text(one, "id"), text(one, "name"));
    let here = format!("/p/{key}/baselines");
    html! {
        tr {
            td { b { (name) } @if !text(one, "note").is_empty() { p.muted.small { (text(one, "note")) } } }
            td { (ago(text(one, "created_at"), view.now)) @if !text(one, "actor").is_empty() { " by " (text(one, "actor")) } }
            td.count { (one["n_entities"]) }
            td.count { (one["n_verified"]) }
            td {
                div.buttons {
                    a.quiet.button href={ (here) "?from=" (encode(id)) } aria-label={ "Compare with now: " (name) } { "Compare with now" }
                    @for (format, words) in [("json", "JSON"), ("markdown", "Markdown")] {
                        a.quiet.button href=(file(key, id, format)) download aria-label={ (name) " as " (words) } { (words) }
                    }
                    @if view.me.may(known::DELETE_BASELINE) {
                        a.quiet.danger.button aria-label={ "Delete " (name) "…" }
                            href={ "/operations/" (known::DELETE_BASELINE.name) "?project=" (encode(key)) "&baseline=" (encode(name)) "&_next=" (encode(&here)) } { "Delete…" }
                    }
                }
            }
        }
    }
}

/// The address of a baseline as a file.
fn file(key: &str, id: &str, format: &str) -> String {
    let path = known::EXPORT_BASELINE.routes.first().map(|route| route.path).unwrap_or_default();
    format!("/api/v1{}?project={}&format={format}", path.replace("{baseline}", &encode(id)), encode(key))
}

/// Which two are compared.
fn chosen(view: &View<'_>, key: &str, baselines: &[Value]) -> Markup {
    let options = |name: &str| {
        let chosen = view.asked.first(name).unwrap_or_default().to_owned();
        html! {
            @for one in baselines {
                option value=(text(one, "id")) selected[text(one, "id") == chosen || text(one, "name") == chosen] { (text(one, "name")) }
            }
        }
    };
    html! {
        form.filters.compare method="get" action={ "/p/" (key) "/baselines" } {
            label { "Compare " select name="from" aria-label="The earlier state" { (options("from")) } }
            label { "with " select name="to" aria-label="The later state" { option value="" { "the present" } (options("to")) } }
            button { "Compare" }
        }
    }
}

fn comparison(view: &View<'_>, compared: &Value) -> Markup {
    let differences = compared["data"].as_array().map(Vec::as_slice).unwrap_or_default();
    let to = compared["to"].as_str().unwrap_or("the present");
    let counts = [
        ("added", "added"),
        ("removed", "removed"),
        ("reworded", "reworded"),
        ("newly_verified", "verified since"),
        ("no_longer_verified", "no longer verified"),
    ];
    html! {
        section #compared {
            h2 { "From " (text(compared, "from")) " to " (to) }
            p.states { @for (name, words) in counts { span { (compared[name]) " " (words) } } }
            @if differences.is_empty() { p.muted { "Nothing differs." } }
            ul.rows { @for one in differences { (difference(one)) } }
            @if let Some(cursor) = compared["next_cursor"].as_str() {
                p.actions { a.button href=(view.asked.with("cursor", Some(cursor))) { "Next " (DIFFERENCES) } }
            }
        }
    }
}

fn difference(one: &Value) -> Markup {
    let (before, after) = (text(one, "text_before"), text(one, "text_after"));
    let what = match text(one, "what") {
        "changed" => "other fields changed",
        "verification" => "",
        what => what,
    };
    html! {
        li.difference {
            p {
                (link(text(one, "reference_id"))) " " (text(one, "title")) " "
                @if !what.is_empty() { span.via { (what) } " " }
                @match one["was_verified"].as_bool() {
                    Some(true) => { span.verdict { i.mark.not-started aria-hidden="true" {} " no longer verified" } }
                    Some(false) => { span.verdict { i.mark.done aria-hidden="true" {} " verified since" } }
                    None => {}
                }
                @if let (Some(from), Some(to)) = (one["version_before"].as_i64(), one["version_after"].as_i64()) {
                    @if from != to { " " span.muted.small { "version " (from) " to " (to) } }
                }
            }
            @if text(one, "what") == "reworded" {
                @if before.len().max(after.len()) > COMPARED_MAX_CHARS {
                    p.muted { "The text is too long to be compared here. " a href={ "/r/" (text(one, "reference_id")) "/history" } { "History" } }
                } @else { p { (diff::words(before, after)) } }
            }
        }
    }
}

fn pin(key: &str) -> Markup {
    let here = format!("/p/{key}/baselines");
    let fields = [Field::new("name"), Field::new("note")];
    html! {
        section.card {
            h2 { "Pin the present state" }
            (post(known::PIN_BASELINE, &here, html! {
                (hidden("project", key))
                (form(known::PIN_BASELINE, &fields, &Map::new(), None))
                p.actions { button.primary { "Pin" } }
            }))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::testing::shown;

    #[test]
    fn two_states_are_compared_word_by_word() {
        let baselines = json!({"data": [{"id": "b1", "name": "Release <1>", "n_entities": 4, "n_verified": 1, "actor": "ann", "created_at": "2026-11-17T17:00:00Z"}]});
        let compared = json!({
            "from": "Release <1>", "added": 1, "removed": 0, "reworded": 1, "newly_verified": 1, "no_longer_verified": 0, "next_cursor": "abc",
            "data": [
                {"reference_id": "REQ-001", "title": "Mask", "what": "reworded", "version_before": 1, "version_after": 3,
                 "text_before": "for a day", "text_after": "for an hour", "was_verified": true},
                {"reference_id": "REQ-002", "title": "Keep", "what": "verification", "version_before": 1, "version_after": 1, "was_verified": false},
                {"reference_id": "REQ-003", "title": "New", "what": "added", "version_after": 1},
            ],
        });
        let answers = [("baselines", baselines), ("compared", compared)];
        let html = shown(&PAGE, "/p/DEFAULT/baselines?from=b1", &answers);
        for part in [
            "Release &lt;1&gt;",
            "to the present",
            "<del>day</del><ins>hour</ins>",
            "no longer verified",
            "verified since",
            "version 1 to 3",
            "/api/v1/baselines/b1/export?project=DEFAULT&amp;format=markdown",
            "/operations/delete_baseline?project=DEFAULT&amp;baseline=Release%20%3C1%3E&amp;_next=%2Fp%2FDEFAULT%2Fbaselines",
            "<option value=\"b1\" selected>",
            "from=b1&amp;cursor=abc",
            "action=\"/do/pin_baseline\"",
        ] {
            assert!(html.contains(part), "{part}: {html}");
        }
    }
}
