//! `/p/{key}/code?path=…`: a source file of a project, with what its lines cite.

use maud::html;
use serde_json::{Value, json};

use super::traces::{address, waiting};
use crate::page::{Answers, Asked, Page, Question, Shown, Source, View, encode};
use crate::parts::text;

pub const PAGE: Page = Page { path: "/p/{key}/code", nav: None, ask, show };

fn ask(asked: &Asked, answers: &Answers) -> Vec<Question> {
    if answers.has("code") {
        return Vec::new();
    }
    let mut about = json!({"project": asked.parameter("key")});
    if let Some(path) = asked.first("path") {
        about["path"] = json!(path);
        about["line"] = json!(asked.first("line").and_then(|line| line.parse::<u32>().ok()));
    }
    vec![Question::of("code", Source::Traces, about)]
}

fn show(view: &View<'_>) -> Shown {
    let null = Value::Null;
    let (key, code) = (view.asked.parameter("key"), view.answers.get("code").unwrap_or(&null));
    let list = |name: &str| code[name].as_array().map(Vec::as_slice).unwrap_or_default();
    let first = code["first"].as_u64().unwrap_or(1);
    let citing = |line: u64| list("citations").iter().filter(move |one| one["line"].as_u64() == Some(line));
    let path = text(code, "path");
    let body = html! {
        div.page.wide {
            p { a href={ "/p/" (key) "/trace" } { "All specifications" } }
            @if let Some(waiting) = waiting(key, code) { h1 { "Code" } (waiting) } @else if path.is_empty() {
                h1 { "Code" }
                p.message { "Choose a citation of a specification to see its file." }
            } @else {
                h1 { code { (path) } }
                p.muted { "Lines " (first) " to " (first + list("lines").len() as u64 - u64::from(!list("lines").is_empty())) " of " (code["total"]) }
                table.source aria-label=(path) {
                    tbody {
                        @for (line, said) in (first..).zip(list("lines")) {
                            tr.cites[citing(line).next().is_some()] id={ "L" (line) } {
                                td { (line) }
                                td {
                                    (said.as_str().unwrap_or_default())
                                    @for one in citing(line) {
                                        @let anchor = one["requirement"].as_str().map_or_else(|| format!("s-{}", text(one, "section")), |id| format!("r-{id}"));
                                        " " a href={ (address(key, text(one, "specification"))) "?section=" (encode(text(one, "section"))) "#" (encode(&anchor)) } {
                                            (text(one, "kind")) " of " (text(one, "name"))
                                        }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    };
    Shown { title: format!("{path} · Code"), project: Some(key.to_owned()), body }
}
