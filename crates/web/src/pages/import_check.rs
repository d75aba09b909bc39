//! `/p/{key}/import/{file}/check`: what an import would do, row by row, before it is done.

use maud::{Markup, html};
use ops::known;
use serde_json::{Map, Value, json};

use super::import::{FILE, FORM_BACK, FORM_FILE, ask_columns, column_parameter, steps};
use crate::page::{Answers, Asked, Page, Question, Shown, View, encode};
use crate::parts::{NEXT, hidden, kind_words, link, sentence, text};

pub const PAGE: Page = Page { path: "/p/{key}/import/{file}/check", nav: None, ask, show };
/// Where what has to be corrected can be had as a table.
pub const MISTAKES: &str = "/p/{key}/import/{file}/mistakes.csv";

/// How many rows a page shows.
const ROWS: usize = 200;
/// So many notes are shown at once; more have to be asked for.
const NOTES_OPEN: usize = 5;
/// What can be shown alone: the outcome, and its words.
const OUTCOMES: [(&str, &str); 3] = [("created", "New"), ("updated", "Changed"), ("wrong", "Wrong")];

fn ask(asked: &Asked, answers: &Answers) -> Vec<Question> {
    if answers.has("report") {
        return Vec::new();
    }
    match answers.get("preview") {
        None => ask_columns(asked, answers),
        Some(preview) => {
            let mut arguments = arguments(asked, preview);
            arguments.insert("content".to_owned(), json!(""));
            arguments.insert("dry_run".to_owned(), json!(true));
            vec![Question::needed("report", known::IMPORT, Value::Object(arguments))]
        }
    }
}

/// What the address says of an import.
fn arguments(asked: &Asked, preview: &Value) -> Map<String, Value> {
    let mut arguments = Map::new();
    arguments.insert("project".to_owned(), json!(asked.parameter("key")));
    arguments.insert("format".to_owned(), json!(asked.first("format").unwrap_or("csv")));
    if preview["is_table"] != true {
        return arguments;
    }
    arguments.extend(asked.first("scheme").map(|scheme| ("scheme".to_owned(), json!(scheme))));
    let columns = preview["columns"].as_array().into_iter().flatten().enumerate();
    let pairs: Vec<String> = columns
        .filter_map(|(index, column)| {
            let target = asked.first(&column_parameter(index))?;
            // A column without a name cannot be named, and is left out.
            let name = Some(text(column, "name")).filter(|name| !name.trim().is_empty())?;
            Some(format!("\"{}\"={target}", name.replace('"', "\"\"")))
        })
        .collect();
    if !pairs.is_empty() {
        arguments.insert("map".to_owned(), json!(pairs.join(",")));
    }
    arguments
}

fn show(view: &View<'_>) -> Shown {
    let null = Value::Null;
    let (key, file) = (view.asked.parameter("key"), view.asked.parameter(FILE));
    let report = view.answers.get("report").unwrap_or(&null);
    let arguments = arguments(view.asked, view.answers.get("preview").unwrap_or(&null));
    let count = |name: &str| report[name].as_u64().unwrap_or_default();
    let problems = report["problems"].as_array().map(Vec::as_slice).unwrap_or_default();
    let n_changes = count("created") + count("updated");
    let shown = view.asked.first("show");
    let body = html! {
        div.page.wide {
            (steps(2))
            h1 { "What would happen" }
            p { "Nothing was changed yet." }
            nav.kinds aria-label="Rows" {
                a href=(view.asked.with("show", None)) aria-current=[shown.is_none().then_some("page")] { "All" }
                @for (outcome, words) in OUTCOMES {
                    a href=(view.asked.with("show", Some(outcome))) aria-current=[(shown == Some(outcome)).then_some("page")] {
                        (words) " " span.count { (count(outcome)) }
                    }
                }
                span.muted { (count("unchanged")) " unchanged" @if count("left_out") > 0 { ", " (count("left_out")) " left out" } }
            }
            (of_file(report, problems))
            (rows(view, report, shown))
            (notes(report))
            @if problems.is_empty() && n_changes > 0 {
                form method="post" action={ "/do/" (known::IMPORT.name) } {
                    (hidden(NEXT, &format!("/p/{key}/imports/{{import_id}}")))
                    (hidden(FORM_FILE, file))
                    (hidden(FORM_BACK, &view.asked.with("show", None)))
                    @for (name, value) in &arguments { (hidden(name, value.as_str().unwrap_or_default())) }
                    p.actions { button.primary { "Import " (n_changes) " " (if n_changes == 1 { "item" } else { "items" }) } (back(view, key, file)) }
                }
            } @else if problems.is_empty() {
                p { "Everything in this file is here already." }
                p.actions { a.button href={ "/p/" (key) } { "Done" } (back(view, key, file)) }
            } @else {
                p { "Correct the file" @if is_table(view) { " or the columns" } "; until then nothing can be imported." }
                p.actions {
                    (back(view, key, file))
                    a.button href={ "/p/" (key) "/import/" (file) "/mistakes.csv?" (query(&arguments)) } { "Download the mistakes" }
                    @if is_table(view) { a.quiet href={ "/p/" (key) "/import" } { "Another file" } }
                }
            }
        }
    };
    Shown { title: "Check the import".to_owned(), project: Some(key.to_owned()), body }
}

/// The way back to the columns, which only a table has.
fn back(view: &View<'_>, key: &str, file: &str) -> Markup {
    if !is_table(view) {
        return html! { a.button href={ "/p/" (key) "/import" } { "Another file" } };
    }
    let query = view.asked.with("show", None);
    let query = query.split_once('?').map(|(_, query)| query).unwrap_or_default();
    html! { a.button href={ "/p/" (key) "/import/" (file) "?" (query) } { "Change the columns" } }
}

fn is_table(view: &View<'_>) -> bool {
    view.answers.get("preview").is_some_and(|preview| preview["is_table"] == true)
}

fn query(arguments: &Map<String, Value>) -> String {
    let pairs = arguments.iter().filter(|(name, _)| *name != "project");
    pairs
        .map(|(name, value)| format!("{name}={}", encode(value.as_str().unwrap_or_default())))
        .collect::<Vec<_>>()
        .join("&")
}

/// What is wrong with the file and not with one of its rows that are listed.
fn of_file(report: &Value, problems: &[Value]) -> Markup {
    let rows: Vec<&str> =
        report["rows"].as_array().into_iter().flatten().map(|row| text(row, "row")).collect();
    let others: Vec<&Value> =
        problems.iter().filter(|problem| !rows.contains(&text(problem, "row"))).take(ROWS).collect();
    html! {
        @if !others.is_empty() {
            ul.problems role="alert" {
                @for problem in others {
                    li.error { (text(problem, "row")) ": " @if !text(problem, "field").is_empty() { (text(problem, "field")) ": " } (text(problem, "message")) }
                }
            }
        }
    }
}

fn rows(view: &View<'_>, report: &Value, shown: Option<&str>) -> Markup {
    let all = report["rows"].as_array().map(Vec::as_slice).unwrap_or_default();
    let wanted: Vec<&Value> =
        all.iter().filter(|row| shown.is_none_or(|shown| text(row, "outcome") == shown)).collect();
    let from = view.asked.first("from").and_then(|from| from.parse().ok()).unwrap_or(0).min(wanted.len());
    let page = &wanted[from..wanted.len().min(from + ROWS)];
    html! {
        @if !page.is_empty() {
            table.entities.check {
                thead { tr {
                    th scope="col" { "Row" } th scope="col" { "What" } th scope="col" { "Title" } th scope="col" { "Becomes" } th scope="col" { "Why" }
                } }
                tbody {
                    @for row in page {
                        @let outcome = text(row, "outcome");
                        tr.{ (outcome) } {
                            td { (text(row, "row")) }
                            td { (kind_words(text(row, "kind"))) }
                            td.title { (text(row, "title")) }
                            td {
                                (OUTCOMES.iter().find(|(known, _)| *known == outcome).map_or("", |(_, words)| words))
                                @if outcome == "updated" { " " (link(text(row, "reference_id"))) }
                            }
                            td { (changes(row)) @if outcome == "wrong" { span.error { (text(row, "why")) } } }
                        }
                    }
                }
            }
            @if from + ROWS < wanted.len() {
                p.actions { a.button href=(view.asked.with("from", Some(&(from + ROWS).to_string()))) { "Next " (ROWS) } }
            }
        }
    }
}

fn changes(row: &Value) -> String {
    let names = row["changes"].as_array().into_iter().flatten().filter_map(Value::as_str);
    names.map(sentence).collect::<Vec<_>>().join(", ")
}

fn notes(report: &Value) -> Markup {
    let notes = report["notes"].as_array().map(Vec::as_slice).unwrap_or_default();
    html! {
        @if !notes.is_empty() {
            details.notes open[notes.len() <= NOTES_OPEN] {
                summary { "What was guessed or left out " span.count { (notes.len()) } }
                ul {
                    @for note in notes.iter().take(ROWS) {
                        li { (text(note, "row")) ": " @if !text(note, "field").is_empty() { (text(note, "field")) ": " } (text(note, "message")) }
                    }
                }
            }
        }
    }
}
