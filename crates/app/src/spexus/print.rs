//! Answers for people: tables for lists, lines for one thing; JSON for programs.

use std::io::{ErrorKind, Write as _};

use ops::Error;
use serde_json::{Map, Value};
use unicode_width::UnicodeWidthStr;

use super::Exit;

/// Columns that lists show, where they are there.
const COLUMNS: &[&str] = &[
    "reference_id",
    "key",
    "username",
    "name",
    "title",
    "snippet",
    "source",
    "target",
    "kind",
    "entity",
    "status",
    "priority",
    "type",
    "assignee",
    "author",
    "content",
    "email",
    "role",
    "disabled",
    "event",
    "operation",
    "actor",
    "via",
    "version",
    "changes",
    "user",
    "scopes",
    "expires_at",
    "created_at",
    "entity_kind",
];
/// What identifies a thing that has no reference id.
const IDENTITY: &str = "id";
/// A cell is cut after this many characters.
const CELL_MAX: usize = 60;

/// Prints an answer.
pub fn answer(answer: &Value, as_json: bool) -> Exit {
    let mut page = Page::default();
    match answer {
        _ if as_json => page.line(&answer.to_string()),
        Value::Object(object) if is_tree(object) => {
            for node in object["data"].as_array().into_iter().flatten() {
                tree(&mut page, node, 0);
            }
        }
        Value::Object(object) if object.get("data").is_some_and(Value::is_array) => list(&mut page, object),
        Value::Object(object) => one(&mut page, object),
        other => page.line(&other.to_string()),
    }
    raw(&page.0)
}

/// Prints text as it is.
pub fn raw(text: &str) -> Exit {
    let mut stdout = std::io::stdout();
    written(stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()))
}

/// How a command ends that has printed its answer.
pub fn written(result: std::io::Result<()>) -> Exit {
    match result {
        Ok(()) => Exit::Done,
        // A reader that has seen enough, such as `head`, is no failure.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Exit::Done,
        Err(error) => {
            tell(&format!("standard output cannot be written: {error}"));
            Exit::Refused
        }
    }
}

/// Tells people something on stderr. If nobody can read it there, there is nobody left to tell.
pub fn tell(message: &str) {
    let _ = writeln!(std::io::stderr(), "{message}");
}

/// Prints an error, and what is wrong with which argument.
pub fn error(error: &Error, as_json: bool) {
    if as_json {
        let body = serde_json::json!({ "error": {
            "code": error.kind.code(), "message": error.message, "details": error.fields
        } });
        raw(&format!("{body}\n"));
        return;
    }
    tell(&error.message);
    if error.fields.len() > 1 {
        for field in &error.fields {
            tell(&format!("  {}: {}", field.field, field.message));
        }
    }
}

fn is_tree(object: &Map<String, Value>) -> bool {
    object
        .get("data")
        .and_then(Value::as_array)
        .is_some_and(|nodes| nodes.iter().any(|node| node.get("children").is_some()))
}

fn tree(page: &mut Page, node: &Value, depth: usize) {
    let text = |name: &str| node[name].as_str().unwrap_or_default();
    let status = node["status"].as_str().map(|status| format!("  [{status}]")).unwrap_or_default();
    let title = cell(node.get("title"));
    page.line(&format!("{}{}  {title}{status}", "  ".repeat(depth), text("reference_id")));
    for child in node["children"].as_array().into_iter().flatten() {
        tree(page, child, depth + 1);
    }
}

fn list(page: &mut Page, object: &Map<String, Value>) {
    let rows = rows_of(&object["data"]);
    if rows.is_empty() {
        let message = object.get("message").and_then(Value::as_str).unwrap_or("nothing found");
        page.line(message);
        return;
    }
    let has = |name: &str| {
        let is_there = |row: &&Map<String, Value>| row.get(name).is_some_and(|value| !value.is_null());
        // That tokens never end is worth knowing.
        rows.iter().any(is_there) || name == "expires_at" && rows.iter().any(|row| row.contains_key("scopes"))
    };
    let mut columns: Vec<&str> = COLUMNS.iter().copied().filter(|name| has(name)).take(8).collect();
    if !columns.iter().any(|name| matches!(*name, "reference_id" | "key" | "username")) && has(IDENTITY) {
        columns.insert(0, IDENTITY);
    }
    table(page, &rows, &columns, "");
    let (total, offset) = (number(object, "total_count"), number(object, "offset"));
    let last = offset + rows.len() as i64;
    if total > last || offset > 0 {
        page.line(&format!("{} to {last} of {total}; --offset {last} shows more", offset + 1));
    }
}

fn rows_of(value: &Value) -> Vec<&Map<String, Value>> {
    value.as_array().into_iter().flatten().filter_map(Value::as_object).collect()
}

fn table(page: &mut Page, rows: &[&Map<String, Value>], columns: &[&str], indent: &str) {
    let mut cells =
        vec![columns.iter().map(|name| name.replace('_', " ").to_uppercase()).collect::<Vec<_>>()];
    cells.extend(rows.iter().map(|row| columns.iter().map(|name| shown(row, name)).collect()));
    let widths: Vec<usize> = (0..columns.len())
        .map(|column| cells.iter().map(|row| row[column].width()).max().unwrap_or_default())
        .collect();
    for row in &cells {
        let padded = row
            .iter()
            .zip(&widths)
            .map(|(cell, width)| format!("{cell}{}", " ".repeat(width - cell.width())));
        page.line(&format!("{indent}{}", padded.collect::<Vec<_>>().join("  ").trim_end()));
    }
}

/// Lists within an answer: a small table below its name, and below it what its rows hold themselves.
fn nested(page: &mut Page, name: &str, value: &Value, indent: &str) {
    let rows = rows_of(value);
    page.line(&format!("{indent}{name}"));
    let deeper = format!("{indent}  ");
    let is_plain = |value: &Value| {
        !value.is_object() && !value.as_array().is_some_and(|list| list.iter().any(Value::is_object))
    };
    let mut columns: Vec<&str> = Vec::new();
    for (name, value) in rows.iter().flat_map(|row| row.iter()) {
        if is_plain(value)
            && !columns.contains(&name.as_str())
            && !(name == "id" || name.ends_with("_id") && name != "reference_id")
        {
            columns.push(name);
        }
    }
    table(page, &rows, &columns, &deeper);
    for row in &rows {
        let label = columns.first().map(|name| cell(row.get(*name))).unwrap_or_default();
        for (name, value) in row.iter().filter(|(_, value)| !is_plain(value) && !rows_of(value).is_empty()) {
            nested(page, &format!("{label}: {}", name.replace('_', " ")), value, &deeper);
        }
        if let Some(reason) = row.get("error") {
            failure(page, &label, reason, &deeper);
        }
    }
}

/// Why one of several failed, whole: a cell would cut it.
fn failure(page: &mut Page, label: &str, reason: &Value, indent: &str) {
    page.line(&format!("{indent}{label}: {}", reason["message"].as_str().unwrap_or_default()));
    let details = rows_of(&reason["details"]);
    for detail in details.iter().filter(|_| details.len() > 1) {
        page.line(&format!("{indent}  {}: {}", cell(detail.get("field")), plain(&detail["message"])));
    }
}

fn number(object: &Map<String, Value>, name: &str) -> i64 {
    object.get(name).and_then(Value::as_i64).unwrap_or_default()
}

fn one(page: &mut Page, object: &Map<String, Value>) {
    let width = object.keys().map(|name| name.chars().count()).max().unwrap_or_default();
    for (name, value) in object {
        if !rows_of(value).is_empty() {
            nested(page, &name.replace('_', " "), value, "");
            continue;
        }
        let text = match value {
            Value::Null => shown(object, name),
            Value::Array(values) if !values.iter().any(|value| value.is_array() || value.is_object()) => {
                values.iter().map(plain).collect::<Vec<_>>().join(", ")
            }
            Value::Array(_) | Value::Object(_) => serde_json::to_string_pretty(value).unwrap_or_default(),
            other => plain(other),
        };
        let text = text.replace('\n', &format!("\n{}", " ".repeat(width + 2)));
        page.line(&format!("{name}{}  {text}", " ".repeat(width - name.chars().count())));
    }
}

/// A field in a table. What is wrong and what was expected is not cut, and what has no end says so.
fn shown(row: &Map<String, Value>, name: &str) -> String {
    match row.get(name) {
        Some(Value::String(text)) if name == "message" => text.replace('\n', " "),
        None | Some(Value::Null) if name == "expires_at" => "never".to_owned(),
        value => cell(value),
    }
}

fn cell(value: Option<&Value>) -> String {
    let text = match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::Array(values)) => values.iter().map(plain).collect::<Vec<_>>().join(", "),
        // Of what has changed, the names of the fields say enough in a list.
        Some(Value::Object(fields)) => fields.keys().cloned().collect::<Vec<_>>().join(", "),
        Some(value) => plain(value),
    };
    let mut text: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    // Snippets are marked for pages.
    if text.contains("<mark>") {
        text = ops::plain_snippet(&text, "");
    }
    if text.chars().count() > CELL_MAX {
        text = words::cut(&text, CELL_MAX - 1).to_owned() + "…";
    }
    text
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// What is going to be printed, as a whole.
#[derive(Default)]
struct Page(String);

impl Page {
    /// Adds a line. What people typed must not move the cursor of who reads it.
    fn line(&mut self, text: &str) {
        self.0.extend(text.chars().filter(|c| *c == '\n' || !c.is_control()));
        self.0.push('\n');
    }
}
