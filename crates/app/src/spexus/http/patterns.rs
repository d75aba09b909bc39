//! Answers questions of pages about threat patterns: those that fit a text, with reasons, and one of them in full. What threatens an
//! item is asked of operations.

use ops::{Error, ErrorKind};
use serde_json::{Value, json};
use threats::{Hit, Pattern, Query};

use crate::tmkb::Patterns;

/// How many patterns a search shows.
const HITS_MAX: usize = 50;

/// Answers a page: one pattern by its `id`, or those that fit a `context`.
pub fn answer(patterns: &Patterns, about: &Value) -> Result<Value, Error> {
    let library = patterns.library()?;
    if let Some(id) = about["id"].as_str() {
        let pattern =
            library.get(id).map_err(|unknown| Error::new(ErrorKind::NotFound, unknown.to_string()))?;
        return serde_json::to_value(pattern)
            .map_err(|error| Error::new(ErrorKind::InternalError, error.to_string()));
    }
    let context = about["context"].as_str().unwrap_or_default();
    let found = library.ask(&Query { context, ..Query::default() });
    Ok(json!({
        "total": found.hits.len(),
        "hits": found.hits.iter().take(HITS_MAX).map(hit).collect::<Vec<_>>(),
        "note": found.note,
        "n_patterns": library.patterns().len(),
    }))
}

fn hit(hit: &Hit<'_>) -> Value {
    let Pattern { id, name, severity, agent_summary, .. } = hit.pattern;
    json!({
        "id": id, "name": name, "severity": severity,
        "threat": agent_summary.threat, "check": agent_summary.check, "fix": agent_summary.fix,
        "reasons": hit.reasons.iter().map(ToString::to_string).collect::<Vec<_>>(),
    })
}
