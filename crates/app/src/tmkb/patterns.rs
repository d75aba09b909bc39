//! The threat patterns of a process, loaded on first use; the engine proposes threats from them.

use std::sync::{Arc, Mutex, PoisonError};

use ops::threat::{ThreatLibrary, ThreatPattern, ThreatProposal};
use ops::{Error, ErrorKind};
use threats::{Hit, Library, Pattern, Query};

use super::source::Source;

/// The patterns of a process. Reading a folder is retried after a failure.
#[derive(Debug, Default)]
pub struct Patterns(Mutex<Option<Arc<Library>>>);

impl Patterns {
    /// The patterns.
    pub fn library(&self) -> Result<Arc<Library>, Error> {
        let mut loaded = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(library) = &*loaded {
            return Ok(library.clone());
        }
        let (library, problems) = Source::from_environment()
            .load_valid()
            .map_err(|message| Error::new(ErrorKind::Unavailable, format!("threat patterns: {message}")))?;
        for problem in problems {
            tracing::warn!("{problem}");
        }
        Ok(loaded.insert(Arc::new(library)).clone())
    }
}

impl ThreatLibrary for Patterns {
    fn propose(&self, text: &str) -> Result<Vec<ThreatProposal>, Error> {
        // Without a text every pattern would fit.
        if text.trim().is_empty() {
            return Ok(Vec::new());
        }
        let library = self.library()?;
        let hits = library.search(&Query { context: text, ..Query::default() });
        Ok(hits.into_iter().map(proposal).collect())
    }

    fn pattern(&self, id: &str) -> Result<ThreatPattern, Error> {
        let library = self.library()?;
        let found = library.get(id);
        found.map(in_short).map_err(|unknown| Error::new(ErrorKind::NotFound, unknown.to_string()))
    }

    fn coverage(&self) -> Result<String, Error> {
        Ok(self.library()?.coverage())
    }
}

fn proposal(hit: Hit<'_>) -> ThreatProposal {
    ThreatProposal {
        pattern: in_short(hit.pattern),
        reasons: hit.reasons.iter().map(ToString::to_string).collect(),
        signs: hit.signs.all,
        n_telling: hit.signs.n_telling,
        is_sure: hit.is_sure,
    }
}

fn in_short(pattern: &Pattern) -> ThreatPattern {
    let Pattern { id, name, severity, version, agent_summary, acceptance_criteria, .. } = pattern;
    ThreatPattern {
        id: id.clone(),
        name: name.clone(),
        severity: severity.clone(),
        version: version.clone(),
        threat: agent_summary.threat.clone(),
        check: agent_summary.check.clone(),
        fix: agent_summary.fix.clone(),
        checks: acceptance_criteria.clone(),
    }
}
