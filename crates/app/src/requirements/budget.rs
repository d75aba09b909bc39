//! Answers within a budget of tokens: pages are cut at an item, and long texts are shortened, with a note on the rest.

use mcp::{Failure, FieldError, Kind};
use serde_json::{Map, Value, json};

/// What an answer may have if nobody says otherwise.
const TOKENS: usize = 2_000;
/// What is left for the note on the rest.
const NOTE: usize = 60;
/// A text is not shortened below this many characters.
const SHORTEST: usize = 80;

/// The arguments for the operation, and what is wanted of its answer.
pub struct Window {
    /// The arguments, without those that are for the window.
    pub arguments: Value,
    max_tokens: usize,
}

impl Window {
    /// Takes `max_tokens` and `cursor` out of the arguments.
    pub fn take(arguments: Value) -> Result<Window, Failure> {
        let Value::Object(mut arguments) = arguments else {
            return Ok(Window { arguments, max_tokens: TOKENS });
        };
        let max_tokens = arguments.shift_remove("max_tokens").and_then(|value| value.as_u64());
        if let Some(cursor) = arguments.shift_remove("cursor") {
            let offset = cursor
                .as_str()
                .and_then(|text| text.strip_prefix('o'))
                .and_then(|text| text.parse::<i64>().ok());
            let Some(offset) = offset.filter(|offset| *offset >= 0) else {
                let problem = "not a cursor of this list; leave it out to start from the beginning";
                let errors = vec![FieldError::new("cursor", problem)];
                return Err(Failure {
                    errors,
                    ..Failure::new(Kind::InvalidArguments, format!("cursor: {problem}"))
                });
            };
            arguments.insert("offset".into(), json!(offset));
        }
        let max_tokens = max_tokens.map_or(TOKENS, |tokens| tokens as usize);
        Ok(Window { arguments: Value::Object(arguments), max_tokens })
    }

    /// Cuts an answer so that it fits.
    pub fn fit(&self, answer: Value) -> Value {
        match answer {
            Value::Object(page) if page.get("data").is_some_and(Value::is_array) => self.fit_page(page),
            other => self.fit_value(other),
        }
    }

    fn fit_page(&self, mut page: Map<String, Value>) -> Value {
        let items = match page.get_mut("data").map(Value::take) {
            Some(Value::Array(items)) => items,
            _ => Vec::new(),
        };
        let offset = page.get("offset").and_then(Value::as_i64).unwrap_or_default();
        let total = page.get("total_count").and_then(Value::as_i64).unwrap_or_default();
        page.shift_remove("limit");
        page.shift_remove("offset");
        let budget = self.max_tokens.saturating_sub(NOTE);
        let mut used = 0;
        let mut kept = Vec::new();
        for item in items {
            let item = without_ids(item);
            let cost = count(&item) + 1;
            if used + cost > budget {
                if kept.is_empty() {
                    kept.push(Window { arguments: Value::Null, max_tokens: budget }.fit_value(item));
                }
                break;
            }
            used += cost;
            kept.push(item);
        }
        let next = offset + kept.len() as i64;
        let remaining = total - next;
        page.insert("data".into(), Value::Array(kept));
        if remaining > 0 {
            page.insert("nextCursor".into(), json!(format!("o{next}")));
            page.insert("remaining".into(), json!(remaining));
        }
        Value::Object(page)
    }

    /// Shortens the longest texts and lists of a value until it fits.
    fn fit_value(&self, mut value: Value) -> Value {
        let mut shortened = false;
        while count(&value) > self.max_tokens.saturating_sub(NOTE) {
            if !shorten_longest(&mut value) {
                break;
            }
            shortened = true;
        }
        if shortened && let Some(object) = value.as_object_mut() {
            object.insert("truncated".into(), json!(true));
        }
        value
    }
}

/// In lists, reference ids name things; UUIDs of what has one would only cost.
fn without_ids(item: Value) -> Value {
    let Value::Object(mut item) = item else { return item };
    if item.contains_key("reference_id") {
        item.retain(|name, _| !name.ends_with("_id") || name == "reference_id");
        item.shift_remove("id");
        item.shift_remove("created_at");
    }
    Value::Object(item)
}

fn count(value: &Value) -> usize {
    threats::tokens::count(&value.to_string())
}

/// Halves the longest text, or the longest list where no text is long.
fn shorten_longest(value: &mut Value) -> bool {
    let mut longest = (0, None);
    find(value, "", &mut longest);
    let Some(pointer) = longest.1 else { return false };
    match value.pointer_mut(&pointer) {
        Some(Value::String(text)) => {
            let half = text.chars().count() / 2;
            *text = words::cut(text, half.max(SHORTEST)).to_owned() + "…";
            true
        }
        Some(Value::Array(items)) => {
            items.truncate(items.len() / 2);
            true
        }
        _ => false,
    }
}

/// Finds the largest text or list that can be shortened.
fn find(value: &Value, path: &str, longest: &mut (usize, Option<String>)) {
    let size = match value {
        Value::String(text) if text.chars().count() > SHORTEST * 2 => text.len(),
        Value::Array(items) if items.len() > 1 => {
            items.iter().map(|item| item.to_string().len()).sum::<usize>() / 2
        }
        _ => 0,
    };
    if size > longest.0 {
        *longest = (size, Some(path.to_owned()));
    }
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                find(field, &format!("{path}/{}", name.replace('~', "~0").replace('/', "~1")), longest);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                find(item, &format!("{path}/{index}"), longest);
            }
        }
        _ => {}
    }
}
