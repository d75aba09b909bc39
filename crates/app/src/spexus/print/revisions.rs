//! What happened to something: each change with the values before and after.

use serde_json::{Map, Value};

use super::change;
use super::look::{FAINT, HEADING, Look, minute};

/// The lines of a history, the newest change first.
pub fn lines(look: Look, object: &Map<String, Value>) -> Vec<String> {
    let rows = object.get("data").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let mut lines = Vec::new();
    for row in rows {
        let text = |name: &str| row[name].as_str().unwrap_or_default();
        let who = row["actor"].as_str().unwrap_or("somebody");
        let token = row["token"].as_str().map(|token| format!(" with the token {token}")).unwrap_or_default();
        let heading = look.styled(HEADING, &format!("version {}", row["version"]));
        let operation = text("operation").replace('_', " ");
        lines.push(format!(
            "{heading}  {}  {who} via {}{token}  {operation}",
            minute(text("created_at")),
            text("via")
        ));
        lines.extend(fields(look, &row["changes"], text("operation").starts_with("create_")));
    }
    if let Some(cursor) = object.get("next_cursor").and_then(Value::as_str) {
        lines.push(format!("there are earlier changes; --cursor {cursor} shows them"));
    }
    lines
}

/// The lines of a comparison of two versions.
pub fn compared(look: Look, object: &Map<String, Value>) -> Option<Vec<String>> {
    let (reference, from, to) =
        (object.get("reference_id")?.as_str()?, object.get("from")?.as_i64()?, object.get("to")?.as_i64()?);
    let changes = object.get("changes")?;
    let heading = look.styled(HEADING, reference);
    let mut lines = vec![format!("{heading}  version {from} → {to}")];
    match changes.as_object()?.is_empty() {
        true => lines.push("  nothing differs".to_owned()),
        false => lines.extend(fields(look, changes, false)),
    }
    Some(lines)
}

/// What says nothing to people who have asked for this very thing.
const OMITTED: [&str; 5] = ["id", "kind", "project", "creator", "number"];

/// A line for each field. Ids say nothing beside the names, and something new has nothing before.
fn fields(look: Look, changes: &Value, is_new: bool) -> Vec<String> {
    let changes = changes.as_object().into_iter().flatten();
    let named = changes.filter(|(name, _)| !name.ends_with("_id") && !OMITTED.contains(&name.as_str()));
    let named: Vec<(&String, &Value)> = named.collect();
    let width = named.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
    let line = |(name, pair): &(&String, &Value)| {
        let value = match is_new {
            true => change::written(name, &pair[1]).replace('\n', &format!("\n{}", " ".repeat(width + 4))),
            false => change::of_field(look, name, pair),
        };
        format!("  {}  {value}", look.styled(FAINT, &format!("{:width$}", name.replace('_', " "))))
    };
    named.iter().map(line).collect()
}
