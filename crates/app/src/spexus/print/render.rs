//! Answers as text: tables for lists, trees for hierarchies, lines for one thing and what is within it.

use ops::{Entry, known};
use serde_json::{Map, Value, json};

use super::look::{Look, harmless};
use super::table::{self, cell, name_of, plain, shown};
use super::{brief, revisions, stale, suspect, thread};

/// What is left out of an answer when there is nothing of it.
const QUIET: [&str; 3] = ["problems", "problems_more", "notes"];

/// The answer of an operation, as it looks in some place.
pub fn render(entry: &Entry, answer: &Value, look: &Look) -> String {
    let mut page = Page { text: String::new(), width: look.width };
    if let Value::Object(object) = answer
        && let Some(lines) = special(entry, object, *look)
    {
        return lines.iter().map(|line| format!("{}\n", line.trim_end())).collect();
    }
    match answer {
        Value::Object(object) if object.get("packet").is_some_and(Value::is_string) => {
            page.line(object["packet"].as_str().unwrap_or_default());
        }
        Value::Object(object) if is_tree(object) => {
            for node in object["data"].as_array().into_iter().flatten() {
                tree(&mut page, node, 0);
            }
        }
        Value::Object(object) if object.get("data").is_some_and(Value::is_array) => {
            list(&mut page, entry, object)
        }
        Value::Object(object) => one(&mut page, object, ""),
        other => page.line(&other.to_string()),
    }
    page.text
}

/// The lines of answers that have a form of their own.
fn special(entry: &Entry, object: &Map<String, Value>, look: Look) -> Option<Vec<String>> {
    let plain = |lines: Vec<String>| lines.iter().map(|line| harmless(line)).collect();
    if thread::is_thread(object) {
        return Some(plain(thread::lines(object)));
    }
    if stale::is_list(object) {
        return Some(plain(stale::lines(object)));
    }
    if suspect::is_list(object) {
        return Some(suspect::lines(look, object));
    }
    if entry.name == known::GET_HISTORY.name {
        return Some(revisions::lines(look, object));
    }
    if let Some(lines) = revisions::compared(look, object) {
        return Some(lines);
    }
    if !entry.writes() {
        return None;
    }
    let one = || brief::thing(object).map(|line| vec![line]);
    one().or_else(|| brief::steps(object)).map(plain)
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

fn list(page: &mut Page, entry: &Entry, object: &Map<String, Value>) {
    let rows = rows_of(&object["data"]);
    let Some(first) = rows.first() else {
        let message = object.get("message").or(object.get("note")).and_then(Value::as_str);
        page.line(message.unwrap_or("nothing found"));
        return;
    };
    let mut chosen = match entry.columns_of(first.get("kind").and_then(Value::as_str)) {
        Some(columns) => columns.to_vec(),
        None => all_columns(&rows),
    };
    // It is asked for, so it is not always there.
    if rows.iter().any(|row| row.contains_key("deleted_at")) && !chosen.contains(&"deleted_at") {
        chosen.push("deleted_at");
    }
    page.table(&rows, &chosen, "");
    let (total, offset) = (number(object, "total_count"), number(object, "offset"));
    let last = offset + rows.len() as i64;
    if total > last {
        page.line(&format!("{} to {last} of {total}; --offset {last} shows more", offset + 1));
    } else if offset > 0 {
        page.line(&format!("{} to {last} of {total}", offset + 1));
    }
    if let Some(note) = object.get("note").and_then(Value::as_str) {
        page.line(note);
    }
}

fn rows_of(value: &Value) -> Vec<&Map<String, Value>> {
    value.as_array().into_iter().flatten().filter_map(Value::as_object).collect()
}

/// Every field that fits into a cell, but ids that only programs use, and lists that are empty in every row.
fn all_columns<'a>(rows: &[&'a Map<String, Value>]) -> Vec<&'a str> {
    let mut columns: Vec<&str> = Vec::new();
    for (name, _) in rows.iter().flat_map(|row| row.iter()) {
        let is_id = name == "id"
            || name.ends_with("_id") && !["reference_id", "external_id"].contains(&name.as_str());
        let mut values = rows.iter().filter_map(|row| row.get(name));
        let says = values.clone().all(fits_cell) && !values.all(|value| *value == json!([]));
        if says && !is_id && !columns.contains(&name.as_str()) {
            columns.push(name);
        }
    }
    columns
}

fn fits_cell(value: &Value) -> bool {
    match value {
        Value::Object(object) => name_of(object).is_some(),
        Value::Array(values) => !values.iter().any(Value::is_object),
        _ => true,
    }
}

fn number(object: &Map<String, Value>, name: &str) -> i64 {
    object.get(name).and_then(Value::as_i64).unwrap_or_default()
}

/// One thing: a line for each field, and below its name what does not fit on one.
fn one(page: &mut Page, object: &Map<String, Value>, indent: &str) {
    let width = object.keys().map(|name| name.chars().count()).max().unwrap_or_default();
    for (name, value) in object {
        if QUIET.contains(&name.as_str()) && is_nothing(value) {
            continue;
        }
        let title = name.replace('_', " ");
        match value {
            _ if !rows_of(value).is_empty() => nested(page, &title, value, indent),
            // The beginning of a longer list, with how long it is.
            Value::Object(fields) if !rows_of(&value["data"]).is_empty() => {
                let title = format!("{title}: {}", number(fields, "total_count"));
                nested(page, &title, &fields["data"], indent);
            }
            Value::Object(fields) if !fields.values().all(is_simple) => {
                page.line(&format!("{indent}{title}"));
                one(page, fields, &format!("{indent}  "));
            }
            _ => {
                let text = text_of(object, name, value);
                let text = text.replace('\n', &format!("\n{indent}{}", " ".repeat(width + 2)));
                let line = format!("{indent}{name}{}  {text}", " ".repeat(width - name.chars().count()));
                page.line(line.trim_end());
            }
        }
    }
}

fn text_of(object: &Map<String, Value>, name: &str, value: &Value) -> String {
    match value {
        Value::Null => shown(object, name),
        Value::Array(values) if values.is_empty() => "none".to_owned(),
        Value::Array(values) => values.iter().map(plain).collect::<Vec<_>>().join(", "),
        Value::Object(fields) if fields.is_empty() || fields.get("data") == Some(&json!([])) => {
            "none".to_owned()
        }
        Value::Object(fields) => {
            let parts = fields
                .iter()
                .map(|(name, value)| format!("{} {}", name.replace('_', " "), cell(Some(value))));
            parts.collect::<Vec<_>>().join(", ")
        }
        other => plain(other),
    }
}

fn is_simple(value: &Value) -> bool {
    match value {
        Value::Array(values) => values.iter().all(|value| !value.is_array() && !value.is_object()),
        Value::Object(_) => false,
        _ => true,
    }
}

fn is_nothing(value: &Value) -> bool {
    value.as_array().is_some_and(Vec::is_empty) || value == 0
}

/// A list within an answer: a small table below its name, and below it what its rows hold themselves.
fn nested(page: &mut Page, name: &str, value: &Value, indent: &str) {
    let rows = rows_of(value);
    page.line(&format!("{indent}{name}"));
    let deeper = format!("{indent}  ");
    let columns = all_columns(&rows);
    page.table(&rows, &columns, &deeper);
    for row in &rows {
        let label = columns.first().map(|name| cell(row.get(*name))).unwrap_or_default();
        for (name, value) in row.iter().filter(|(_, value)| !fits_cell(value) && !rows_of(value).is_empty()) {
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

/// What is going to be printed, as a whole.
struct Page {
    text: String,
    /// That of the terminal, if there is one.
    width: Option<usize>,
}

impl Page {
    /// Adds a line. What people typed must not move the cursor of who reads it.
    fn line(&mut self, text: &str) {
        self.text.extend(text.chars().filter(|c| *c == '\n' || !c.is_control()));
        self.text.push('\n');
    }

    fn table(&mut self, rows: &[&Map<String, Value>], columns: &[&str], indent: &str) {
        let width = self.width.map(|width| width.saturating_sub(indent.len()));
        for line in table::lines(rows, columns, width) {
            self.line(&format!("{indent}{line}"));
        }
    }
}
