//! Answers that are lists: as much as fits into a budget of tokens, and where the rest begins.

use mcp::{Failure, FieldError, Kind, ToolOutput};
use serde_json::{Value, json};

/// How much of a list is wanted.
pub struct Window {
    limit: usize,
    max_tokens: usize,
    start: usize,
}

/// What an answer may have if nobody says otherwise.
const TOKENS_DEFAULT: u64 = 2_000;
/// What is left for the note on the rest.
const TOKENS_NOTE: usize = 40;

impl Window {
    /// Reads `limit`, `max_tokens` and `cursor`, which have been checked.
    pub fn read(arguments: &Value) -> Result<Window, Failure> {
        let number = |key: &str| arguments.get(key).and_then(Value::as_u64);
        let start = match arguments.get("cursor").and_then(Value::as_str) {
            None => 0,
            Some(cursor) => {
                let start = cursor.strip_prefix('p').and_then(|start| usize::from_str_radix(start, 16).ok());
                start.ok_or_else(|| {
                    let problem = "not a cursor of this list; leave it out to start from the beginning";
                    invalid("cursor", problem)
                })?
            }
        };
        Ok(Window {
            limit: number("limit").unwrap_or(u64::MAX) as usize,
            max_tokens: tokens_max(arguments),
            start,
        })
    }

    /// Cuts a list of so many items. An item that is too long alone is shortened by `shorten`.
    pub fn cut(self, n_items: usize, item: impl Fn(usize) -> Value) -> ToolOutput {
        let end_max = n_items.min(self.start.saturating_add(self.limit));
        let budget = self.max_tokens.saturating_sub(TOKENS_NOTE);
        let mut text = String::from("[");
        let mut items = Vec::new();
        let mut n_tokens = 2;
        let mut end = self.start.min(n_items);
        while end < end_max {
            let mut value = item(end);
            let mut one = value.to_string();
            let mut cost = cost_of(&one);
            if items.is_empty() && cost > budget {
                value = shorten(value, budget);
                one = value.to_string();
                cost = cost_of(&one);
            }
            if n_tokens + cost > budget && !items.is_empty() {
                break;
            }
            n_tokens += cost;
            if !items.is_empty() {
                text.push(',');
            }
            text += &one;
            items.push(value);
            end += 1;
        }
        text.push(']');
        let n_remaining = n_items - end;
        if n_remaining == 0 {
            return ToolOutput::json_text(text);
        }
        let mut output = ToolOutput::text(text);
        let cursor = format!("p{end:x}");
        let note = json!({"nextCursor": cursor, "remaining": n_remaining}).to_string();
        output.content.push(json!({"type": "text", "text": note}));
        let page = json!({"result": items, "nextCursor": cursor, "remaining": n_remaining});
        output.structured = Some(page.into());
        output
    }
}

/// Counts the tokens of an item, and of the comma behind it.
fn cost_of(item: &str) -> usize {
    tokens::count(item) + 1
}

/// The budget of an answer.
pub fn tokens_max(arguments: &Value) -> usize {
    arguments.get("max_tokens").and_then(Value::as_u64).unwrap_or(TOKENS_DEFAULT) as usize
}

/// Says that an argument cannot be used.
pub fn invalid(field: &str, problem: &str) -> Failure {
    let error = FieldError::new(field, problem);
    let message = format!("{field}: {problem}");
    Failure { errors: vec![error], ..Failure::new(Kind::InvalidArguments, message) }
}

/// What may be shortened. The rest names things, and is of no use when it is cut.
const PROSE: [&str; 5] = ["text", "comment_text", "error", "detail", "suggestion"];

/// Shortens the longest text of an object until it fits.
fn shorten(mut value: Value, budget: usize) -> Value {
    while tokens::count(&value.to_string()) > budget {
        let Some(object) = value.as_object_mut() else { break };
        let prose = object.iter_mut().filter_map(|(key, value)| match value {
            Value::String(text) if PROSE.contains(&key.as_str()) => Some(text),
            _ => None,
        });
        let Some(text) = prose.max_by_key(|text| text.len()).filter(|text| text.len() > 8) else { break };
        *text = shortened(text);
        object.insert("truncated".into(), json!(true));
    }
    value
}

/// Two thirds of a text.
pub fn shortened(text: &str) -> String {
    let n_characters = text.chars().count();
    words::cut(text, n_characters * 2 / 3).trim_end_matches('…').to_owned() + "…"
}
