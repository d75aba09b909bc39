//! Answers questions of pages about threat patterns: those that fit a text, with reasons, and one of them in full.

use std::sync::OnceLock;

use ops::{Error, Kind};
use serde_json::{Value, json};
use threats::{Hit, Library, Pattern, Query};

use crate::tmkb::Source;

/// How many patterns fit an item, and how many a search shows.
const HITS_MAX: usize = 50;

/// The patterns of this server, loaded when somebody first asks.
#[derive(Default)]
pub struct Patterns(OnceLock<Result<Library, String>>);

impl Patterns {
    /// Answers a page: one pattern by its `id`, or those that fit a `context`.
    pub fn answer(&self, about: &Value) -> Result<Value, Error> {
        let library = self.0.get_or_init(|| Source::from_environment().load().map(|(library, _)| library));
        let library = library
            .as_ref()
            .map_err(|message| Error::new(Kind::Unavailable, format!("threat patterns: {message}")))?;
        if let Some(id) = about["id"].as_str() {
            let pattern =
                library.get(id).map_err(|unknown| Error::new(Kind::NotFound, unknown.to_string()))?;
            return serde_json::to_value(pattern)
                .map_err(|error| Error::new(Kind::InternalError, error.to_string()));
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
}

fn hit(hit: &Hit<'_>) -> Value {
    let Pattern { id, name, severity, likelihood, category, agent_summary, acceptance_criteria, .. } =
        hit.pattern;
    json!({
        "id": id, "name": name, "severity": severity, "likelihood": likelihood, "category": category,
        "threat": agent_summary.threat, "check": agent_summary.check, "fix": agent_summary.fix,
        "criteria": acceptance_criteria,
        "reasons": hit.reasons.iter().map(ToString::to_string).collect::<Vec<_>>(),
    })
}
