//! The interface to a library of threat patterns. `app` provides one, and alone knows how patterns are written and ranked.

use std::fmt;
use std::sync::Arc;

use crate::context::Cx;
use crate::error::{Error, ErrorKind, Result};

/// A library of threat patterns.
pub trait ThreatLibrary: fmt::Debug + Send + Sync {
    /// The patterns that a text may be about, best first.
    fn propose(&self, text: &str) -> Result<Vec<ThreatProposal>>;
    /// The pattern with an id, in any case. The error for an unknown one suggests similar ids.
    fn pattern(&self, id: &str) -> Result<ThreatPattern>;
    /// The subject of its patterns: `covers authorization (24 patterns, Python/Flask)`.
    fn coverage(&self) -> Result<String>;
}

/// A pattern.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreatPattern {
    /// Its id, such as `TMKB-AUTHZ-001`.
    pub id: String,
    /// Its name.
    pub name: String,
    /// `critical`, `high`, `medium` or `low`.
    pub severity: String,
    /// Its version, such as `1.2.0`.
    pub version: String,
    /// The threat, in a sentence.
    pub threat: String,
    /// The check.
    pub check: String,
    /// The fix.
    pub fix: String,
    /// The texts of acceptance criteria.
    pub checks: Vec<String>,
}

/// A pattern that fits a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreatProposal {
    /// The pattern.
    pub pattern: ThreatPattern,
    /// Why it fits, for people.
    pub reasons: Vec<String>,
    /// The common words of text and pattern, the most significant first.
    pub signs: Vec<String>,
    /// How many of these words the reasons name.
    pub n_telling: usize,
    /// Whether it is more often right than wrong. Others are shown, but need no decision.
    pub is_sure: bool,
}

impl ThreatProposal {
    /// The words that it is proposed for.
    pub(super) fn telling(&self) -> &[String] {
        &self.signs[..self.n_telling.min(self.signs.len())]
    }
}

impl Cx<'_, '_> {
    /// The threat library, or an error for operations that need it.
    pub(super) fn threat_library(&self) -> Result<Arc<dyn ThreatLibrary>> {
        self.request
            .threats
            .clone()
            .ok_or_else(|| Error::new(ErrorKind::Unavailable, "no threat library is at hand here"))
    }
}
