//! Answers of unlisted tools as lines of text: an agent that calls such a tool by name pays no more than for
//! the listed ones.

use mcp::{Structured, Tool, ToolOutput};
use serde_json::{Value, json};

use super::lines::{Row, joined};
use crate::budget::TOKENS_DEFAULT;

/// Lines have less than half of the tokens of the same rows in JSON.
const SHARE: u64 = 2;

/// The arguments of a list, with room for as many rows as fit as lines.
pub fn with_room(tool: &Tool, mut arguments: Value) -> Value {
    if tool.input_schema.properties().is_some_and(|known| known.contains_key("limit")) {
        let given = arguments.get("max_tokens").and_then(Value::as_u64).unwrap_or(TOKENS_DEFAULT as u64);
        arguments["max_tokens"] = json!(given * SHARE);
    }
    arguments
}

/// Rows that name requirements of specifications, as lines under their sections; any other answer unchanged.
pub fn rows(output: ToolOutput) -> ToolOutput {
    let (text, others) = match (&output.structured, output.content.as_slice()) {
        (Some(Structured::Text(text)), others) => (text.as_str(), others),
        (_, [first, others @ ..]) => (first["text"].as_str().unwrap_or_default(), others),
        _ => return output,
    };
    let Ok(Value::Array(items)) = serde_json::from_str(text) else { return output };
    if items.is_empty() || items.iter().any(|item| !item["short_id"].is_string()) {
        return output;
    }
    let mut lines = joined(&items.iter().map(row).collect::<Vec<_>>());
    let (rest, others) = match others {
        [note, others @ ..] if how_it_goes_on(note).is_some() => (how_it_goes_on(note), others),
        others => (None, others),
    };
    if let Some((n_more, cursor)) = rest {
        lines += &format!("{n_more} more: cursor {cursor}\n");
    }
    let mut content = vec![json!({"type": "text", "text": lines.trim_end()})];
    content.extend(others.iter().cloned());
    ToolOutput { content, structured: None, meta: output.meta }
}

/// How many rows remain, and the cursor to them.
fn how_it_goes_on(block: &Value) -> Option<(u64, String)> {
    let note: Value = serde_json::from_str(block["text"].as_str()?).ok()?;
    Some((note["remaining"].as_u64()?, note["nextCursor"].as_str()?.to_owned()))
}

fn row(item: &Value) -> Row {
    let text = |name: &str| item[name].as_str().unwrap_or_default();
    let state: Vec<String> = [text("level"), text("status")]
        .into_iter()
        .filter(|word| !word.is_empty())
        .map(|word| word.replace('_', " "))
        .collect();
    let head = [&[text("short_id").to_owned()][..], &state].concat().join(" ");
    Row {
        heading: format!("{} {}", text("target"), text("section")),
        line: format!("{head}: {}", text("text")),
    }
}
