//! Lists within a token budget, and their continuation.

use mcp::{Failure, Structured, ToolOutput};
use serde_json::{Map, Value, json};

use crate::budget::{self, Room, TOKENS_DEFAULT};

/// The requested part of a list.
pub struct ListWindow {
    limit: usize,
    max_tokens: usize,
    /// The first item.
    pub start: usize,
}

/// The part of a list that fits.
pub struct Cut {
    /// The items.
    pub items: Vec<Value>,
    /// The same as a JSON array.
    pub text: String,
    /// The cursor of the rest, unless this is the end.
    pub rest: Option<Rest>,
    /// Whether an item was too long and had to be shortened.
    is_shortened: bool,
}

/// The rest of a list.
pub struct Rest {
    /// Where it begins.
    pub cursor: String,
    /// How many items it has.
    pub n_items: usize,
}

impl ListWindow {
    /// Reads `limit`, `max_tokens` and `cursor`, which are valid.
    pub fn read(arguments: &Value) -> Result<ListWindow, Failure> {
        ListWindow::read_or(arguments, tokens_max(arguments))
    }

    /// The same with a known budget.
    pub fn read_or(arguments: &Value, max_tokens: usize) -> Result<ListWindow, Failure> {
        let number = |key: &str| arguments.get(key).and_then(Value::as_u64);
        let cursor = arguments.get("cursor").and_then(Value::as_str);
        Ok(ListWindow {
            limit: number("limit").unwrap_or(u64::MAX) as usize,
            ..ListWindow::new(cursor, max_tokens)?
        })
    }

    /// Starts at a cursor, or at the beginning.
    pub fn new(cursor: Option<&str>, max_tokens: usize) -> Result<ListWindow, Failure> {
        let start = match cursor {
            None => 0,
            Some(cursor) => {
                let start = cursor.strip_prefix('p').and_then(|start| usize::from_str_radix(start, 16).ok());
                start.ok_or_else(budget::bad_cursor)?
            }
        };
        Ok(ListWindow { limit: usize::MAX, max_tokens, start })
    }

    /// Cuts the list of a tool.
    pub fn answer(self, n_items: usize, item: impl Fn(usize) -> Value) -> ToolOutput {
        let start = self.start;
        let cut = self.cut(n_items, (start..n_items).map(item));
        let Some(note) = cut.note() else { return ToolOutput::json_text(cut.text) };
        let mut output = ToolOutput::text(cut.text);
        output.content.push(json!({"type": "text", "text": Value::Object(note.clone()).to_string()}));
        let mut page = Map::from_iter([("result".to_owned(), json!(cut.items))]);
        page.extend(note);
        output.structured = Some(Value::Object(page).into());
        output
    }

    /// Puts as much of a list as fits into an object, with the cursor of the rest.
    pub fn fill(self, mut object: Value, key: &str, n_items: usize, item: impl Fn(usize) -> Value) -> Value {
        let start = self.start;
        let cut = self.less(&object).cut(n_items, (start..n_items).map(item));
        cut.add_note(&mut object);
        object[key] = json!(cut.items);
        object
    }

    /// Reserves the tokens of an object that contains the list.
    pub fn less(self, object: &Value) -> ListWindow {
        let n_tokens = tokens::count(&object.to_string());
        ListWindow { max_tokens: self.max_tokens.saturating_sub(n_tokens), ..self }
    }

    /// Cuts a list of a known length, whose items are given from the start of the window on. An item that does not fit alone is
    /// shortened.
    pub fn cut(self, n_items: usize, mut from_start: impl Iterator<Item = Value>) -> Cut {
        let end_max = n_items.min(self.start.saturating_add(self.limit));
        // The brackets are used already.
        let mut room = Room::of(self.max_tokens, 2);
        let mut items: Vec<Value> = Vec::new();
        let mut texts: Vec<String> = Vec::new();
        let mut is_shortened = false;
        let mut end = self.start.min(n_items);
        while end < end_max && !is_shortened {
            let Some(mut value) = from_start.next() else { break };
            let mut one = value.to_string();
            if !room.takes(&one) {
                if !items.is_empty() {
                    break;
                }
                value = shorten(value, room.left());
                one = value.to_string();
                is_shortened = true;
            }
            items.push(value);
            texts.push(one);
            end += 1;
        }
        let text = format!("[{}]", texts.join(","));
        let rest = (end < n_items).then(|| Rest { cursor: format!("p{end:x}"), n_items: n_items - end });
        Cut { items, text, rest, is_shortened }
    }
}

impl Cut {
    /// Says how to get the rest, if any.
    pub fn note(&self) -> Option<Map<String, Value>> {
        let mut note = Map::new();
        if let Some(rest) = &self.rest {
            note.insert("nextCursor".into(), json!(rest.cursor));
            note.insert("remaining".into(), json!(rest.n_items));
        }
        if self.is_shortened {
            note.insert("more".into(), json!("a higher max_tokens has the whole text"));
        }
        (!note.is_empty()).then_some(note)
    }

    /// The same as members of an object that contains the list.
    pub fn add_note(&self, object: &mut Value) {
        if let (Some(object), Some(note)) = (object.as_object_mut(), self.note()) {
            object.extend(note);
        }
    }
}

/// Puts a list under `result` in every revision of the protocol, as in the output schemas.
pub fn under_result(mut output: ToolOutput) -> ToolOutput {
    if let Some(Structured::Text(text)) = &output.structured
        && let Ok(Value::Array(items)) = serde_json::from_str(text)
    {
        output.content.insert(0, json!({"type": "text", "text": text}));
        output.structured = Some(json!({"result": items}).into());
    }
    output
}

/// The budget of an answer.
pub fn tokens_max(arguments: &Value) -> usize {
    tokens_max_or(arguments, TOKENS_DEFAULT as u64)
}

/// The same with another default.
pub fn tokens_max_or(arguments: &Value, default: u64) -> usize {
    arguments.get("max_tokens").and_then(Value::as_u64).unwrap_or(default) as usize
}

/// Fields that may be shortened. Others are names, which are useless when cut.
const PROSE: [&str; 5] = ["text", "comment_text", "error", "detail", "suggestion"];

/// The least important field of an item, which is removed first.
const ADDITIONS: [&str; 3] = ["section", "target", "short_id"];

/// Shortens a text, or the longest text of an object, until it fits.
pub fn shorten(mut value: Value, budget: usize) -> Value {
    while tokens::count(&value.to_string()) > budget {
        if let Value::String(text) = &mut value {
            if text.len() <= 8 {
                break;
            }
            *text = shortened(text);
            continue;
        }
        let Some(object) = value.as_object_mut() else { break };
        if let Some(addition) = ADDITIONS.iter().find(|name| object.contains_key(**name)) {
            object.shift_remove(*addition);
            continue;
        }
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
    budget::cut(text, n_characters * 2 / 3)
}
