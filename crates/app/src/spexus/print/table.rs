//! Tables: a line for each row, columns below each other in any script, cells cut where they are long.

use serde_json::{Map, Value};
use unicode_width::UnicodeWidthStr;

use super::change;

/// A cell is cut after this many characters.
const CELL_MAX: usize = 60;
/// A column is not made narrower than this to fit the terminal.
const COLUMN_MIN: usize = 10;

/// The lines of a table, within a width where there is one.
pub fn lines(rows: &[&Map<String, Value>], columns: &[&str], width_max: Option<usize>) -> Vec<String> {
    let mut cells = vec![columns.iter().map(|name| heading(name)).collect::<Vec<_>>()];
    cells.extend(rows.iter().map(|row| columns.iter().map(|name| shown(row, name)).collect()));
    let mut widths = widths_of(&cells, columns.len());
    let mut columns = columns.to_vec();
    if let Some(width_max) = width_max.filter(|width_max| total(&widths) > *width_max) {
        shorten_times(&mut cells, &columns);
        widths = widths_of(&cells, columns.len());
        drop_last(&mut cells, &mut columns, &mut widths, width_max);
        narrow(&mut widths, &columns, width_max);
    }
    let line = |row: &Vec<String>| {
        let padded = row.iter().zip(&widths).map(|(cell, width)| {
            let cell = fitted(cell, *width);
            let blanks = " ".repeat(width.saturating_sub(cell.width()));
            cell + &blanks
        });
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    cells.iter().map(line).collect()
}

fn widths_of(cells: &[Vec<String>], n_columns: usize) -> Vec<usize> {
    let width = |column: usize| cells.iter().map(|row| row[column].width()).max().unwrap_or_default();
    (0..n_columns).map(width).collect()
}

fn total(widths: &[usize]) -> usize {
    widths.iter().sum::<usize>() + 2 * widths.len().saturating_sub(1)
}

/// Where room is scarce, the minute is enough of a time.
fn shorten_times(cells: &mut [Vec<String>], columns: &[&str]) {
    for row in cells.iter_mut().skip(1) {
        for (cell, _) in row.iter_mut().zip(columns).filter(|(_, name)| name.ends_with("_at")) {
            if let Some(minute) = cell.get(..16).filter(|_| cell.ends_with('Z')) {
                *cell = format!("{minute}Z");
            }
        }
    }
}

/// A column that people read in sentences is not made narrower than this while there are others to leave out.
const TEXT_MIN: usize = 30;

/// Leaves out the last columns, which matter least, while there is no room for the texts in the others.
fn drop_last(cells: &mut [Vec<String>], columns: &mut Vec<&str>, widths: &mut Vec<usize>, width_max: usize) {
    let is_text = |name: &str| matches!(name, "title" | "description" | "content" | "text" | "message");
    let needed = |columns: &[&str], widths: &[usize]| {
        let widths = widths.iter().zip(columns);
        let least: Vec<usize> =
            widths.map(|(width, name)| if is_text(name) { TEXT_MIN.min(*width) } else { *width }).collect();
        total(&least)
    };
    while columns.iter().any(|name| is_text(name)) && needed(columns, widths) > width_max {
        let Some(last) = columns.iter().rposition(|name| !is_text(name)).filter(|last| *last > 0) else {
            return;
        };
        columns.remove(last);
        widths.remove(last);
        for row in &mut *cells {
            row.remove(last);
        }
    }
}

/// Takes from the widest column until the table fits. Half an id is no use to anybody, nor is half a time or half a reason.
fn narrow(widths: &mut [usize], columns: &[&str], width_max: usize) {
    let is_whole =
        |name: &str| matches!(name, "id" | "message") || name.ends_with("_id") || name.ends_with("_at");
    while total(widths) > width_max {
        let texts = widths.iter_mut().zip(columns).filter(|(_, name)| !is_whole(name));
        match texts.map(|(width, _)| width).max() {
            Some(width) if *width > COLUMN_MIN => *width -= 1,
            _ => return,
        }
    }
}

fn fitted(cell: &str, width: usize) -> String {
    if cell.width() <= width {
        return cell.to_owned();
    }
    let mut short = cell;
    while short.width() >= width && !short.is_empty() {
        short = words::cut(short, short.chars().count() - 1);
    }
    format!("{short}…")
}

fn heading(name: &str) -> String {
    name.replace('_', " ").to_uppercase()
}

/// A field in a table. What is wrong and what was expected is not cut, and what has no end says so.
pub fn shown(row: &Map<String, Value>, name: &str) -> String {
    match row.get(name) {
        Some(Value::Number(number)) if name == "priority" => {
            number.as_i64().map_or_else(|| number.to_string(), change::priority)
        }
        Some(Value::String(text)) if name == "message" => text.replace('\n', " "),
        None | Some(Value::Null) if matches!(name, "expires_at" | "last_used_at") => "never".to_owned(),
        value => cell(value),
    }
}

/// A value on one line, cut where it is long.
pub fn cell(value: Option<&Value>) -> String {
    let text = value.map(brief).unwrap_or_default();
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

fn brief(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Array(values) => values.iter().map(brief).collect::<Vec<_>>().join(", "),
        Value::Object(fields) => match name_of(fields) {
            Some(name) => name.to_owned(),
            // Of what has changed, the names of the fields say enough in a list.
            None => fields.keys().cloned().collect::<Vec<_>>().join(", "),
        },
        other => plain(other),
    }
}

/// What something is called that stands within something else.
pub fn name_of(fields: &Map<String, Value>) -> Option<&str> {
    let names = ["reference_id", "key", "username", "name", "id"];
    names.iter().find_map(|name| fields.get(*name).and_then(Value::as_str))
}

/// A value without the quotes of JSON.
pub fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
