//! Parses version 2 reports, and finds positions in them.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use serde_json::value::RawValue;

use super::document::{ReportV2, VERSION};
use crate::diagnostic::{Code, Diagnostic, Place};
use crate::text::Span;

/// Parses a report. The path is for error messages.
pub fn read(path: &Arc<str>, text: &str) -> Result<ReportV2<'static>, Diagnostic> {
    let error = match serde_json::from_str::<ReportV2<'static>>(text) {
        Ok(document) if document.version == VERSION => return Ok(document),
        Ok(_) => None,
        Err(error) => Some(error),
    };
    let (_, version) = locate(text, &["version"]).unwrap_or_default();
    let expected = format!("\"{VERSION}\"");
    let found = version.of_text(text);
    let diagnostic = match error {
        // A parse error may be due to a newer version.
        Some(error) if found == expected || !found.starts_with('"') => {
            let shown = error.to_string();
            let suffix = format!(" at line {} column {}", error.line(), error.column());
            let reason = shown.strip_suffix(&suffix).unwrap_or(&shown);
            let message = format!("{path} is not a report of the second form: {reason}");
            let span = position(text, error.line(), error.column());
            Diagnostic::error(Code::Report, message).at(point_at(path, text, span, "here"))
        }
        _ => {
            let message = format!("{path} is of version {found}, expected {expected}");
            Diagnostic::error(Code::Report, message).at(point_at(path, text, version, "here"))
        }
    };
    Err(diagnostic.help("such reports come from `duvet report --json-v2 FILE` and `duvet merge`"))
}

/// Finds a value by its path of keys, or the last existing one on the path. Returns how many keys were found.
pub fn locate(text: &str, keys: &[&str]) -> Option<(usize, Span)> {
    let mut value: &RawValue = serde_json::from_str(text).ok()?;
    for (depth, key) in keys.iter().enumerate() {
        let members: Option<HashMap<Cow<'_, str>, &RawValue>> = serde_json::from_str(value.get()).ok();
        match members.and_then(|members| members.get(*key).copied()) {
            Some(member) => value = member,
            None => return (depth > 0).then(|| (depth, Span::of(value.get(), text))),
        }
    }
    Some((keys.len(), Span::of(value.get(), text)))
}

/// Describes a place in a report.
pub fn point_at(path: &Arc<str>, text: &str, span: Span, label: &str) -> Place {
    let place = Place::new(path, text, span, label);
    // A whole report may be one line, which is too long to show.
    let is_shown = place.column <= COLUMN_SHOWN_MAX;
    Place { excerpt: if is_shown { place.excerpt } else { String::new() }, ..place }
}

const COLUMN_SHOWN_MAX: u32 = 200;

/// Finds the character at a line and a column of bytes, both from 1 on, or the next that is not blank.
fn position(text: &str, line: usize, column: usize) -> Span {
    let start = match line.checked_sub(2) {
        None => 0,
        Some(n_ends) => memchr::memchr_iter(b'\n', text.as_bytes()).nth(n_ends).map_or(0, |end| end + 1),
    };
    let mut start = (start + column.saturating_sub(1)).min(text.len());
    while !text.is_char_boundary(start) {
        start -= 1;
    }
    // The parser may have stopped before what it did not like.
    start += text[start..].bytes().take_while(|byte| *byte == b' ').count();
    let width = text[start..].chars().next().map_or(0, char::len_utf8);
    Span::new(start, start + width)
}
