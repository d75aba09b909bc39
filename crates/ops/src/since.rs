//! The changes since a version that a caller knows, in words, so that they can decide whether their own change still fits.

use serde_json::{Map, Value};
use store::revision::{self, Revision};

use crate::context::Cx;
use crate::error::Result;

/// The maximal number of changes; the last ones are kept.
const CHANGES_MAX: i64 = 5;
/// Longer values are left out.
const VALUE_CHARS_MAX: usize = 40;

/// Describes the changes after a version: `ann changed status to Active in version 3`.
pub(crate) fn since(cx: &mut Cx<'_, '_>, id: &str, version: i64) -> Result<String> {
    let (revisions, _) = revision::history(cx.tx, id, CHANGES_MAX, 0)?;
    let mut told: Vec<String> =
        revisions.iter().filter(|revision| revision.version > version).map(in_words).collect();
    told.reverse();
    Ok(told.join("; "))
}

fn in_words(revision: &Revision) -> String {
    let who = revision.actor.as_deref().unwrap_or("somebody");
    let changes: Map<String, Value> = serde_json::from_str(revision.changes.get()).unwrap_or_default();
    let fields: Vec<String> = changes
        .iter()
        .filter(|(name, _)| name.strip_suffix("_id").is_none_or(|name| !changes.contains_key(name)))
        .map(|(name, change)| field(name, change))
        .collect();
    format!("{who} changed {} in version {}", fields.join(", "), revision.version)
}

/// The name of a field, and its value if it is short.
fn field(name: &str, change: &Value) -> String {
    let bare = name.strip_suffix("_id").unwrap_or(name);
    match change.get(1) {
        Some(Value::Null) => format!("{bare} to nothing"),
        Some(Value::String(text)) if bare == name && text.chars().nth(VALUE_CHARS_MAX).is_none() => {
            format!("{bare} to {text}")
        }
        Some(value @ (Value::Number(_) | Value::Bool(_))) => format!("{bare} to {value}"),
        _ => bare.to_owned(),
    }
}
