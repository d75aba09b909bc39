//! `/p/{key}/import`: the first two steps of an import. A file is chosen, then what its columns are.

use maud::{Markup, html};
use ops::known;
use serde_json::{Value, json};

use crate::page::{Answers, Asked, Page, Question, Shown, View};
use crate::parts::{hidden, sentence, text};

/// Where a file is sent.
pub const PATH: &str = "/p/{key}/import";
/// The parameter of a path that names a file which was sent.
pub const FILE: &str = "file";
/// The field of a form that names such a file.
pub const FORM_FILE: &str = "_file";
/// The field of a form that names the page which says what is wrong with the file.
pub const FORM_BACK: &str = "_back";

pub const PAGE: Page = Page { path: PATH, nav: None, ask: ask_project, show };
pub const COLUMNS: Page =
    Page { path: "/p/{key}/import/{file}", nav: None, ask: ask_columns, show: show_columns };

/// Why a file was not taken, by the word in the address.
const PROBLEMS: [(&str, &str); 7] = [
    ("empty", "Choose a file that has something in it."),
    (
        "format",
        "The name of the file does not say its format: expected .csv, .tsv, .xlsx, .md, .json or .reqif.",
    ),
    ("large", "The file is larger than this server takes. Split it, or ask for a higher limit."),
    ("slow", "The file did not arrive in time. Try again."),
    ("disk", "The server could not keep the file. Try again later."),
    ("form", "The file could not be read. Try again."),
    ("forbidden", "You may not import into projects. Ask for the role of a user."),
];

fn ask_project(asked: &Asked, answers: &Answers) -> Vec<Question> {
    if answers.has("project") {
        return Vec::new();
    }
    vec![
        Question::permission("may", known::IMPORT),
        Question::needed("project", known::GET_PROJECT, json!({"project": asked.parameter("key")})),
    ]
}

fn show(view: &View<'_>) -> Shown {
    let key = view.asked.parameter("key");
    let problem =
        view.asked.first("problem").and_then(|name| PROBLEMS.iter().find(|(known, _)| *known == name));
    let body = html! {
        div.page {
            (steps(0))
            h1 { "Import a file" }
            p { "A table from Jira, Linear, GitHub, Azure DevOps or Excel comes in as it is. So do Markdown with headings and lists, and exports of this server." }
            form method="post" action={ "/p/" (key) "/import" } enctype="multipart/form-data" {
                div.field.wrong[problem.is_some()] {
                    label for="file" { "File" }
                    input #file type="file" name="file" required accept=".csv,.tsv,.txt,.xlsx,.xlsm,.md,.markdown,.json,.reqif,.xml" aria-describedby="help-file";
                    @if let Some((_, message)) = problem { p.error role="alert" { (message) } }
                    p.help #help-file { "CSV, TSV, Excel (.xlsx), Markdown, JSON or ReqIF. Nothing is changed before you have seen what would be." }
                }
                p.actions { button.primary { "Continue" } a.quiet href={ "/p/" (key) } { "Cancel" } a.quiet href={ "/p/" (key) "/imports" } { "Earlier imports" } }
            }
        }
    };
    Shown { title: "Import".to_owned(), project: Some(key.to_owned()), body }
}

/// Where one is among the steps.
pub fn steps(current: usize) -> Markup {
    const STEPS: [&str; 4] = ["File", "Columns", "Check", "Done"];
    html! {
        ol.steps aria-label="Steps" {
            @for (index, name) in STEPS.iter().enumerate() {
                li aria-current=[(index == current).then_some("step")] { (index + 1) " " (name) }
            }
        }
    }
}

/// Asks what the columns of the file are.
pub fn ask_columns(asked: &Asked, answers: &Answers) -> Vec<Question> {
    if answers.has("preview") {
        return Vec::new();
    }
    let format = asked.first("format").unwrap_or("csv");
    vec![Question::needed("preview", known::PREVIEW_IMPORT, json!({"format": format, "content": ""}))]
}

fn show_columns(view: &View<'_>) -> Shown {
    let null = Value::Null;
    let (key, file) = (view.asked.parameter("key"), view.asked.parameter(FILE));
    let preview = view.answers.get("preview").unwrap_or(&null);
    let columns = preview["columns"].as_array().map(Vec::as_slice).unwrap_or_default();
    let is_table = preview["is_table"] == true;
    let problems: Vec<&str> =
        preview["problems"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let name = view.asked.first("name").unwrap_or("the file");
    let body = html! {
        div.page.wide {
            (steps(1))
            h1 { "What the columns are" }
            p.muted { (name) @if is_table { ", " (preview["rows"]) " rows" } }
            @if !problems.is_empty() {
                ul.problems role="alert" { @for problem in &problems { li.error { (problem) } } }
            }
            form method="get" action={ "/p/" (key) "/import/" (file) "/check" } {
                (hidden("format", view.asked.first("format").unwrap_or("csv")))
                (hidden("name", name))
                @if is_table && !columns.is_empty() {
                    p { "Each column was guessed by its name. Correct what is wrong; the first rows are beside it." }
                    table.entities.mapping {
                        thead { tr { th scope="col" { "Column" } th scope="col" { "Becomes" } th scope="col" { "First rows" } } }
                        tbody { @for (index, column) in columns.iter().enumerate() { (mapped(view, preview, index, column)) } }
                    }
                    div.field {
                        label for="scheme" { "Where its ids are from" }
                        input #scheme type="text" name="scheme" value=(text(preview, "scheme")) pattern="[a-z][a-z0-9_\\-]*" maxlength="40" aria-describedby="help-scheme";
                        p.help #help-scheme { "A short name such as jira. Ids are kept under it, and the next import from there finds the same things again." }
                    }
                } @else if !is_table {
                    p { "This file says itself what is in it, so nothing has to be mapped." }
                }
                p.actions { button.primary { "Check" } a.quiet href={ "/p/" (key) "/import" } { "Another file" } }
            }
        }
    };
    Shown { title: "Columns".to_owned(), project: Some(key.to_owned()), body }
}

/// A column, what it becomes, and what is in it.
fn mapped(view: &View<'_>, preview: &Value, index: usize, column: &Value) -> Markup {
    let parameter = column_parameter(index);
    let chosen = view.asked.first(&parameter).unwrap_or(text(column, "field"));
    let fields = preview["fields"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let samples = column["samples"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let name = match text(column, "name") {
        "" => format!("Column {}", index + 1),
        name => name.to_owned(),
    };
    html! {
        tr {
            th scope="row" { (name) }
            td {
                select name=(parameter) aria-label={ "What " (name) " becomes" } {
                    option value="-" { "Left out" }
                    @for field in fields { option value=(field) selected[field == chosen] { (sentence(field)) } }
                }
            }
            td.muted { @for sample in samples.filter(|sample| !sample.is_empty()).take(3) { span.sample { (sample) } } }
        }
    }
}

/// What the choice for a column is called in an address.
pub fn column_parameter(index: usize) -> String {
    format!("c{index}")
}
