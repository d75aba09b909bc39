//! Markdown: each record is a block of front matter, its title as a heading, and its long text.
//!
//! ```text
//! ---
//! kind: epic
//! reference_id: EP-001
//! ---
//! # Sign in
//!
//! The long text.
//! ```
//!
//! A text that would not survive as a heading or as the body (white space at its ends, control characters, empty)
//! is in the front matter, quoted. A line `---` begins a record only if a line like `kind: epic` follows;
//! in a text, such a line is written `\---`.

use std::collections::BTreeMap;
use std::io::{self, Write};

use crate::kind::{Form, RecordKind};
use crate::reading::{Draft, Gathering, Given, Value};
use crate::record::{Field, Place, Record};

const DEPTH_MAX: usize = 8;
/// Keys and values together; no kind has as many fields.
const NODES_MAX: usize = 100;
const ALIASES_MAX: usize = 0;

pub fn write(records: impl Iterator<Item = Record>, out: &mut impl Write) -> io::Result<()> {
    let mut separator = "";
    for record in records {
        let heading = heading(&record);
        let body = body(&record, heading.is_some());
        write!(out, "{separator}---\nkind: {}\n", record.kind.name())?;
        for (shape, field) in record.fields() {
            match field {
                Field::Text(_) if shape.form == Form::Title && heading.is_some() => {}
                Field::Text(_) if shape.form == Form::Prose && body.is_some() => {}
                Field::Text(text) => writeln!(out, "{}: {}", shape.name, scalar(text))?,
                Field::Number(_) | Field::Flag(_) => writeln!(out, "{}: {field}", shape.name)?,
            }
        }
        out.write_all(b"---\n")?;
        if let Some(heading) = heading {
            writeln!(out, "# {heading}")?;
        }
        if let Some(body) = body {
            writeln!(out, "\n{}", guarded(body))?;
        }
        separator = "\n";
    }
    Ok(())
}

/// The title, if a line of Markdown can represent it.
fn heading(record: &Record) -> Option<&str> {
    let title = record.text(record.kind.shape().field_of_form(Form::Title)?.name)?;
    let holds = is_clean(title) && !title.contains('\n');
    holds.then_some(title)
}

/// The long text, if it can follow the front matter.
fn body(record: &Record, has_heading: bool) -> Option<&str> {
    let body = record.text(record.kind.shape().field_of_form(Form::Prose)?.name)?;
    // Its first line must not look like the title.
    let holds = is_clean(body) && (has_heading || !body.starts_with("# "));
    holds.then_some(body)
}

/// Whether a text survives any editor: no white space at its ends, nothing invisible.
fn is_clean(text: &str) -> bool {
    let is_seen = |char: char| char == '\n' || char == '\t' || !needs_escape(char);
    !text.is_empty() && text.trim() == text && text.chars().all(is_seen)
}

fn needs_escape(char: char) -> bool {
    char.is_control() || matches!(char, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

/// A text as YAML: plain if it is unambiguous, in double quotes otherwise.
fn scalar(text: &str) -> String {
    let is_word = |char: char| char.is_alphanumeric() || matches!(char, '_' | '.' | '/' | '@' | '-' | ':');
    let begins = text.starts_with(|first: char| first.is_alphabetic())
        || (text.starts_with(|first: char| first.is_ascii_digit()) && text.contains('-'));
    let is_plain = begins
        && text.split(' ').all(|word| !word.is_empty() && !word.ends_with(':') && word.chars().all(is_word))
        && !["null", "true", "false", "yes", "no", "on", "off", "y", "n"].contains(&&*text.to_lowercase());
    if is_plain {
        return text.to_owned();
    }
    let mut quoted = String::from("\"");
    for char in text.chars() {
        match char {
            '"' | '\\' => quoted.extend(['\\', char]),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            _ if needs_escape(char) => quoted.push_str(&format!("\\u{:04x}", u32::from(char))),
            _ => quoted.push(char),
        }
    }
    quoted.push('"');
    quoted
}

pub fn read(text: &str, reading: &mut Gathering<'_>) {
    // Editors on Windows end every line with CRLF, without meaning. Our texts never begin with one.
    let without_carriage_returns;
    let ends_with_crlf = text.lines().next().is_some_and(|first| text[first.len()..].starts_with("\r\n"));
    let text = if ends_with_crlf {
        without_carriage_returns = text.replace("\r\n", "\n");
        &without_carriage_returns
    } else {
        text
    };
    let lines: Vec<&str> = text.split('\n').collect();
    let starts: Vec<usize> = (0..lines.len()).filter(|index| begins_record(&lines, *index)).collect();
    let before = &lines[..starts.first().copied().unwrap_or(lines.len())];
    if let Some(index) = before.iter().position(|line| !line.trim().is_empty()) {
        let message = "expected `---` and then `kind: …`, found text before any record";
        reading.problem(&Place::line(index as u64 + 1), None, message);
    } else if starts.is_empty() {
        reading.problem(&Place::line(1), None, "expected `---` and then `kind: …`, found nothing");
    }
    for (index, start) in starts.iter().enumerate() {
        let end = starts.get(index + 1).copied().unwrap_or(lines.len());
        read_record(&lines[*start..end], *start as u64 + 1, reading);
    }
}

/// Whether a text has a record: front matter with a kind.
pub fn has_records(text: &str) -> bool {
    let lines: Vec<&str> = text.split('\n').map(|line| line.trim_end_matches('\r')).collect();
    (0..lines.len()).filter(|index| begins_record(&lines, *index)).any(|start| {
        let matter = lines[start + 1..].iter().take(NODES_MAX).take_while(|line| !is_rule(line));
        matter.into_iter().any(|line| line.trim_start().starts_with("kind:"))
    })
}

/// Reads the lines of one record, the first of which is `---`.
fn read_record(lines: &[&str], line: u64, reading: &mut Gathering<'_>) {
    let place = Place::line(line);
    let Some(end) = lines.iter().skip(1).position(|line| is_rule(line)).map(|index| index + 1) else {
        reading.is_incomplete = true;
        return reading.problem(
            &place,
            None,
            "expected a line `---` and a blank line after the front matter, found none",
        );
    };
    let matter = lines[1..end].join("\n");
    // The YAML scanner treats a NUL as the end.
    if matter.contains('\0') {
        reading.is_incomplete = true;
        return reading.problem(&place, None, "expected text, found a NUL character");
    }
    let values: BTreeMap<String, Option<String>> =
        match serde_saphyr::from_str_with_options(&matter, options()) {
            Ok(values) => values,
            Err(error) => {
                reading.is_incomplete = true;
                let line = line + error.location().map_or(1, |location| location.line());
                let message = format!("expected lines like `status: Draft`, found {}", cause(&error));
                return reading.problem(&Place::line(line), None, message);
            }
        };
    let line_of = |name: &str| {
        let found = lines[1..end].iter().position(|line| line.trim_start().starts_with(name));
        found.map(|index| line + 1 + index as u64)
    };
    let mut draft = Draft::new(place, "");
    for (name, value) in values {
        let line = line_of(&name);
        match value {
            Some(value) if name == "kind" => draft.kind = value,
            Some(value) => draft.values.push(Given { name, value: Value::Spelled(value), line }),
            None => {}
        }
    }
    let body = &lines[end + 1..];
    let n_blank = body.iter().take_while(|line| line.trim().is_empty()).count();
    let line = line + (end + 1 + n_blank) as u64;
    if let Err(message) = read_body(&body[n_blank..], line, &mut draft) {
        reading.problem(&Place::line(line), None, message);
        draft.is_sound = false;
    }
    reading.check(draft);
}

/// Assigns the heading and the text below it to their fields.
fn read_body(mut body: &[&str], mut line: u64, draft: &mut Draft) -> Result<(), String> {
    let Some(shape) = RecordKind::find(&draft.kind).map(RecordKind::shape) else {
        return Ok(());
    };
    let has = |draft: &Draft, name: &str| draft.values.iter().any(|given| given.name == name);
    if let Some(title) = shape.field_of_form(Form::Title)
        && !has(draft, title.name)
        && let Some(heading) = body.first().and_then(|first| first.strip_prefix("# "))
    {
        let value = Value::Spelled(heading.trim().to_owned());
        draft.values.push(Given { name: title.name.to_owned(), value, line: Some(line) });
        let n_blank = body[1..].iter().take_while(|line| line.trim().is_empty()).count();
        body = &body[1 + n_blank..];
        line += 1 + n_blank as u64;
    }
    if body.iter().all(|line| line.trim().is_empty()) {
        return Ok(());
    }
    match shape.field_of_form(Form::Prose) {
        // Also if the front matter has it: the check reports the duplicate.
        Some(prose) => {
            let value = Value::Spelled(unguarded(&body.join("\n")).trim_end().to_owned());
            draft.values.push(Given { name: prose.name.to_owned(), value, line: Some(line) });
            Ok(())
        }
        None => Err(format!("expected nothing below the front matter of {}, found text", shape.name)),
    }
}

/// A text whose lines cannot be mistaken for the beginning of a record.
fn guarded(text: &str) -> String {
    change_rules(text, |line| format!("\\{line}"))
}

fn unguarded(text: &str) -> String {
    change_rules(text, |line| line.strip_prefix('\\').unwrap_or(line).to_owned())
}

/// Changes each line `---`, after any number of `\`, that is followed by something like front matter.
fn change_rules(text: &str, change: impl Fn(&str) -> String) -> String {
    let lines: Vec<&str> = text.split('\n').collect();
    let is_like_start = |index: usize, line: &str| {
        is_rule(line.trim_start_matches('\\')) && lines.get(index + 1).is_some_and(|next| is_entry(next))
    };
    let changed = lines.iter().enumerate().map(|(index, line)| match is_like_start(index, line) {
        true => change(line),
        false => (*line).to_owned(),
    });
    changed.collect::<Vec<_>>().join("\n")
}

fn begins_record(lines: &[&str], index: usize) -> bool {
    is_rule(lines[index]) && lines.get(index + 1).is_some_and(|next| is_entry(next))
}

fn is_rule(line: &str) -> bool {
    line.trim_end() == "---"
}

/// Whether a line is like `kind: epic`. Any key counts, so that a misspelled one is reported instead of being
/// read as part of the previous record's text.
fn is_entry(line: &str) -> bool {
    line.split_once(':').is_some_and(|(key, rest)| {
        !key.is_empty()
            && key.chars().all(|char| char.is_ascii_alphabetic() || char == '_')
            && (rest.is_empty() || rest.starts_with([' ', '\t', '\r']))
    })
}

fn options() -> serde_saphyr::Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: DEPTH_MAX,
            max_nodes: NODES_MAX,
            max_aliases: ALIASES_MAX,
            max_documents: 1,
        },
        with_snippet: false,
    }
}

/// Rewords messages of the parser that use its own terms, and removes the position, which a problem
/// has itself.
fn cause(error: &serde_saphyr::Error) -> String {
    let message = error.to_string();
    let message = message.lines().next().unwrap_or_default();
    for (start, cause) in [
        ("expected string scalar", "a list or a mapping where a text should be"),
        ("budget breached: Aliases", "an alias (`*name`); quote the text if it begins with `*`"),
        ("budget breached: Depth", "too many levels"),
        ("budget breached: Nodes", "too many keys"),
    ] {
        if message.starts_with(start) {
            return cause.to_owned();
        }
    }
    let ends = [" at line ", ", set "].iter().filter_map(|end| message.find(end));
    message[..ends.min().unwrap_or(message.len())].trim_end_matches(',').to_owned()
}
