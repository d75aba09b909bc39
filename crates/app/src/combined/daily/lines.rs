//! Answers as lines of text, which cost an agent half as many tokens as JSON.

use mcp::Failure;
use serde_json::{Map, Value};

use crate::budget::{self, Room};
use crate::requirements::budget::{PageWindow, cursor_at};

/// The requested part of a list.
pub struct Wanted {
    /// How many rows to skip.
    pub offset: usize,
    /// How many rows to return.
    pub limit: usize,
    max_tokens: usize,
}

impl Wanted {
    /// Takes `limit`, `cursor` and `max_tokens` out of the arguments.
    pub fn take(arguments: &mut Map<String, Value>, limit: usize) -> Result<Wanted, Failure> {
        let window = PageWindow::take(arguments)?;
        let given = arguments.shift_remove("limit").and_then(|limit| limit.as_u64());
        Ok(Wanted {
            offset: window.offset as usize,
            limit: given.map_or(limit, |given| given as usize),
            max_tokens: window.max_tokens,
        })
    }

    /// Joins rows until the budget is used, with a note on the rest.
    pub fn page(&self, rows: &[Row], n_all: usize) -> String {
        let mut text = String::new();
        let mut n_shown = 0;
        let mut heading = "";
        let mut room = Room::of(self.max_tokens, 0);
        let mut is_full = false;
        for row in rows {
            let next = row.under(heading);
            is_full |= !room.takes(&next);
            // The first row is always shown.
            if is_full && n_shown > 0 {
                break;
            }
            heading = &row.heading;
            text += &next;
            n_shown += 1;
        }
        let end = self.offset + n_shown;
        if end < n_all {
            text += &format!("{} more: cursor {}\n", n_all - end, cursor_at(end as i64));
        }
        text.truncate(text.trim_end().len());
        text
    }
}

/// A text within a budget.
pub fn shortened(text: String, max_tokens: usize) -> String {
    let mut text = text;
    let mut n_tokens = tokens::count(&text);
    while n_tokens > max_tokens {
        let n_characters = text.chars().count() * max_tokens / n_tokens;
        let end = text.char_indices().nth(n_characters.saturating_sub(2)).map_or(0, |(end, _)| end);
        text.truncate(text[..end].rfind('\n').filter(|at| *at > end / 2).unwrap_or(end));
        text.push('…');
        n_tokens = tokens::count(&text);
    }
    text
}

/// A row of a list: a line, and the heading that it shares with adjacent rows.
pub struct Row {
    pub heading: String,
    pub line: String,
}

/// All rows, each heading once.
pub fn joined(rows: &[Row]) -> String {
    let mut heading = "";
    let lines = rows.iter().map(|row| {
        let line = row.under(heading);
        heading = &row.heading;
        line
    });
    lines.collect()
}

impl Row {
    /// The row without its heading, if the previous row has the same.
    fn under(&self, heading: &str) -> String {
        match self.heading.as_str() {
            "" => format!("{}\n", self.line),
            own if own == heading => format!("  {}\n", self.line),
            own => format!("{own}\n  {}\n", self.line),
        }
    }

    /// A row of an entity in the store.
    pub fn managed(row: &Value) -> Row {
        Row { heading: String::new(), line: managed(row) }
    }
}

/// Characters of a text in a list; longer texts are cut.
const TEXT_CHARACTERS_MAX: usize = 160;
/// How much of the old and the new value of a field is shown.
const CHANGE_CHARACTERS_MAX: usize = 60;

/// An entity in the store as a line: `REQ-001 Active P1 Mask card numbers`.
fn managed(row: &Value) -> String {
    let text = |name: &str| row[name].as_str().unwrap_or_default();
    let mut words = vec![text("reference_id").to_owned(), text("status").to_owned()];
    words.extend(row["priority"].as_i64().map(|priority| format!("P{priority}")));
    let (title, snippet) = (text("title"), text("snippet").replace("**", ""));
    let about = match (title, snippet.as_str(), text("description")) {
        ("", "", description) => description.to_owned(),
        ("", snippet, _) => snippet.to_owned(),
        (title, snippet, _) if snippet.is_empty() || title.contains(snippet) || snippet.contains(title) => {
            title.to_owned()
        }
        (title, snippet, _) => format!("{title}: {snippet}"),
    };
    words.push(brief(&about, TEXT_CHARACTERS_MAX));
    words.retain(|word| !word.is_empty());
    words.join(" ")
}

/// The beginning of a text, without breaks.
pub fn brief(text: &str, n_characters_max: usize) -> String {
    let line = one_line(text);
    match line.chars().nth(n_characters_max) {
        Some(_) => budget::cut(&line, n_characters_max),
        None => line,
    }
}

/// A text without breaks.
pub fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The fields of an entity in the store, the most important first.
pub fn entity(entity: &Value) -> String {
    let text = |name: &str| entity[name].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    let mut head =
        vec![format!("{} {}", text("reference_id").unwrap_or_default(), text("kind").unwrap_or_default())];
    head.extend(entity["version"].as_i64().map(|version| format!("v{version}")));
    head.extend(text("status"));
    head.extend(entity["priority"].as_i64().map(|priority| format!("P{priority}")));
    head.extend(text("type"));
    let above = ["acceptance_criteria", "user_story", "epic"].into_iter().find_map(&text);
    head.extend(above.map(|above| format!("in {above}")));
    head.extend(text("assignee").map(|assignee| format!("assigned to {assignee}")));
    let mut lines = vec![head.join(", ")];
    lines.extend(text("title"));
    lines.extend(text("description"));
    lines.extend(text("content"));
    lines.extend(text("rationale").map(|why| format!("Why: {why}")));
    let labels = entity["labels"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let labels = labels.collect::<Vec<_>>().join(", ");
    if !labels.is_empty() {
        lines.push(format!("Labels: {labels}"));
    }
    lines.extend(text("deleted_at").map(|at| format!("Deleted at {at}")));
    lines.join("\n")
}

/// The surroundings of an entity: a heading, and a line for each.
pub fn part(name: &str, part: &Value) -> String {
    let rows: Vec<String> =
        part["data"].as_array().into_iter().flatten().map(|row| row_of(name, row)).collect();
    let n_more = part["total_count"].as_i64().unwrap_or_default() - rows.len() as i64;
    let mut lines = vec![match rows.len() {
        0 => format!("{name}: none"),
        _ => format!("{name}:"),
    }];
    lines.extend(rows.into_iter().map(|row| format!("  {row}")));
    if n_more > 0 {
        lines.push(format!("  and {n_more} more"));
    }
    lines.join("\n")
}

fn row_of(part: &str, row: &Value) -> String {
    let text = |name: &str| row[name].as_str().unwrap_or_default();
    let day = |name: &str| text(name).split('T').next().unwrap_or_default().to_owned();
    match part {
        "comments" => {
            let state = if row["resolved"] == true { " (resolved)" } else { "" };
            format!("{} {}{state}: {}", day("created_at"), text("author"), one_line(text("content")))
        }
        "relationships" => {
            let (source, target) = (text("source"), text("target"));
            let suspect =
                if row["suspect"] == true { " (suspect: the target has changed since)" } else { "" };
            format!("{source} {} {target}{suspect}", text("type"))
        }
        "history" => {
            let changes = row["changes"].as_object().into_iter().flatten();
            let changes =
                changes.filter(|(name, _)| !name.ends_with("_id") && *name != "id" && *name != "kind");
            let changes: Vec<String> = changes.map(|(name, change)| changed(name, change)).collect();
            format!("v{} {} {}: {}", row["version"], day("created_at"), text("actor"), changes.join("; "))
        }
        _ => managed(row),
    }
}

/// A change of a field: `status Draft → Active`.
fn changed(name: &str, change: &Value) -> String {
    let shown = |value: &Value| match value {
        Value::String(text) => brief(text, CHANGE_CHARACTERS_MAX),
        Value::Null => String::new(),
        other => other.to_string(),
    };
    match (&change[0], &change[1]) {
        (Value::Null, new) => format!("{name} {}", shown(new)),
        (old, new) => format!("{name} {} → {}", shown(old), shown(new)),
    }
}
