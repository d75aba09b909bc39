//! Citations that no longer quote the present text: both versions, the words that differ, and the lines to write instead.

use serde_json::{Map, Value};

use super::table::cell;

/// Whether an answer is a list of such citations.
pub fn is_list(object: &Map<String, Value>) -> bool {
    rows(object).first().is_some_and(|row| row["place"].is_string() && row["state"].is_string())
}

/// The lines of the list.
pub fn lines(object: &Map<String, Value>) -> Vec<String> {
    let mut lines = Vec::new();
    for row in rows(object) {
        let text = |name: &str| row[name].as_str().unwrap_or_default();
        lines.push(format!(
            "{}  {}  {}  {}  {}",
            text("state"),
            text("reference_id"),
            cell(row.get("title")),
            text("place"),
            text("repository")
        ));
        if let Some(quoted) = row["quoted"].as_str() {
            lines.push(format!("  version {}  {}", row["quoted_version"], one_line(quoted)));
        }
        match row["now"].as_str() {
            Some(now) => lines.push(format!("  version {}  {}", row["version"], one_line(now))),
            None if row["quoted"].is_string() => lines.push(format!(
                "  version {}  its sentence was removed: remove the citation, or cite what replaces it",
                row["version"]
            )),
            None => {}
        }
        if let Some(difference) = row["difference"].as_str() {
            lines.push(format!("  change     {}", one_line(difference)));
        }
        if let Some(comment) = row["lines"].as_str() {
            lines.push("  if the code still fits, write".to_owned());
            lines.extend(comment.lines().map(|line| format!("    {line}")));
        }
    }
    if object.get("next_cursor").is_some_and(Value::is_string) {
        lines.push(format!(
            "there are more; --cursor {} shows them",
            object["next_cursor"].as_str().unwrap_or_default()
        ));
    }
    lines
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn rows(object: &Map<String, Value>) -> &[Value] {
    object.get("data").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}
