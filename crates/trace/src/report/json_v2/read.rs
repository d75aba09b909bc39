//! Reads reports of the second form, and finds places in them.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use serde_json::value::RawValue;

use super::document::{Document, VERSION};
use crate::diagnostic::{Code, Diagnostic, Place};
use crate::text::Span;

/// Reads a report. The path is for what is wrong with it.
pub fn read(path: &Arc<str>, text: &str) -> Result<Document<'static>, Diagnostic> {
    let error = match serde_json::from_str::<Document<'static>>(text) {
        Ok(document) if document.version == VERSION => return Ok(document),
        Ok(_) => None,
        Err(error) => Some(error),
    };
    let (_, version) = locate(text, &["version"]).unwrap_or_default();
    let expected = format!("\"{VERSION}\"");
    let found = version.of_text(text);
    let diagnostic = match error {
        // What cannot be read may be what is new in another version.
        Some(error) if found == expected || !found.starts_with('"') => {
            let shown = error.to_string();
            let suffix = format!(" at line {} column {}", error.line(), error.column());
            let label = shown.strip_suffix(&suffix).unwrap_or(&shown);
            Diagnostic::error(Code::Report, format!("{path} is not a report of the second form"))
                .at(Place::new(path, text, position(text, error.line(), error.column()), label))
        }
        _ => Diagnostic::error(Code::Report, format!("{path} is of version {found}")).at(Place::new(
            path,
            text,
            version,
            format!("expected {expected}"),
        )),
    };
    Err(diagnostic.help("such reports come from `duvet report --json-v2 FILE` and `duvet merge`"))
}

/// Finds a value by the keys that lead to it, or the last one on the way that is there. Tells how many keys led there.
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

/// Finds the character at a line and a column of bytes, both from 1 on.
fn position(text: &str, line: usize, column: usize) -> Span {
    let start = match line.checked_sub(2) {
        None => 0,
        Some(n_ends) => memchr::memchr_iter(b'\n', text.as_bytes()).nth(n_ends).map_or(0, |end| end + 1),
    };
    let mut start = (start + column.saturating_sub(1)).min(text.len());
    while !text.is_char_boundary(start) {
        start -= 1;
    }
    let width = text[start..].chars().next().map_or(0, char::len_utf8);
    Span::new(start, start + width)
}
