//! `/p/{key}/trace`: the specifications of a project and how far their requirements are in the code.

use maud::{Markup, html};
use serde_json::{Value, json};

use crate::page::{Answers, Asked, Page, Question, Shown, Source, View, encode};
use crate::parts::text;

pub const PAGE: Page = Page { path: "/p/{key}/trace", nav: Some(("Trace", 'c')), ask, show };

/// States, from done to not started, as the model names them.
pub const STATES: [&str; 4] = ["done", "needs tests", "in progress", "not started"];

fn ask(asked: &Asked, answers: &Answers) -> Vec<Question> {
    if answers.has("traces") {
        return Vec::new();
    }
    vec![Question::of("traces", Source::Traces, json!({"project": asked.parameter("key")}))]
}

fn show(view: &View<'_>) -> Shown {
    let null = Value::Null;
    let (key, traces) = (view.asked.parameter("key"), view.answers.get("traces").unwrap_or(&null));
    let specifications = traces["specifications"].as_array().map(Vec::as_slice).unwrap_or_default();
    let n_problems = traces["n_problems"].as_u64().unwrap_or_default();
    let body = html! {
        div.page {
            h1 { "Trace" }
            @if let Some(waiting) = waiting(key, traces) { (waiting) } @else {
                p.muted { "Specifications of this project, and what its code says of them." }
                @if n_problems > 0 { p.error { (n_problems) @if n_problems == 1 { " problem" } @else { " problems" } ": run " code { "duvet check" } " in the project's folder." } }
                @if specifications.is_empty() { p.message { "The project's folder names no specification yet." } }
                ul.specifications {
                    @for one in specifications {
                        li {
                            p { a href=(address(key, text(one, "id"))) { (text(one, "name")) } " " span.muted { (text(one, "about")) } }
                            (bar(&one["counts"]))
                            (states(&one["counts"]))
                        }
                    }
                }
            }
        }
    };
    Shown { title: "Trace".to_owned(), project: Some(key.to_owned()), body }
}

/// Where a specification is.
pub fn address(key: &str, specification: &str) -> String {
    format!("/p/{key}/trace/{}", encode(specification))
}

/// What is said while nothing is known: the folder is being read, or there is none.
pub fn waiting(key: &str, answer: &Value) -> Option<Markup> {
    if answer["is_absent"] == true {
        return Some(html! {
            section.message {
                p { "No folder is followed for this project." }
                p { "Start the server with " code { "spexus serve --trace " (key) "=FOLDER" } ", where the folder holds the code." }
            }
        });
    }
    (answer["is_loading"] == true).then(|| {
        html! {
            section.message role="status" hx-get="" hx-trigger="every 1s" hx-target="#main" hx-select="#main" hx-swap="outerHTML" hx-push-url="false" {
                p { "The folder is still being read. Load the page again in a moment." }
            }
        }
    })
}

/// The class of a state.
pub fn class(state: &str) -> String {
    state.replace(' ', "-")
}

/// How many requirements are how far, as a bar.
fn bar(counts: &Value) -> Markup {
    let count = |state: &str| counts[state].as_u64().unwrap_or_default();
    let total: u64 = STATES.iter().map(|state| count(state)).sum();
    let share = |n: u64| format!("{:.2}", n as f64 * 100.0 / total.max(1) as f64);
    let mut before = 0;
    let parts: Vec<(String, String, String)> = STATES
        .iter()
        .map(|state| {
            let start = before;
            before += count(state);
            (class(state), share(start), share(count(state)))
        })
        .collect();
    let said: Vec<String> = STATES.iter().map(|state| format!("{} {state}", count(state))).collect();
    html! {
        svg.share viewBox="0 0 100 4" preserveAspectRatio="none" role="img" aria-label=(said.join(", ")) {
            @for (class, start, width) in parts { rect.{ (class) } x=(start) y="0" height="4" width=(width) {} }
        }
    }
}

/// The same in words.
pub fn states(counts: &Value) -> Markup {
    html! {
        p.states {
            @for state in STATES {
                span { i.mark.{ (class(state)) } aria-hidden="true" {} " " (state) " " span.count { (counts[state]) } }
            }
        }
    }
}
