//! The verdicts of evidence, and the policy that decides which of them close a unit.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::outcome::Outcome;

/// The verdict of evidence on a unit, weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// No test that cites the unit has run.
    NotRun,
    /// There was evidence, but the unit, a test file or an implementation file has changed since.
    Old,
    /// The tests were skipped, or are expected to fail.
    Skipped,
    /// A test failed.
    Failed,
    /// A test passed only after a retry.
    Flaky,
    /// The tests passed.
    Passed,
    /// They passed, and the code that cites the unit was executed in the same run.
    Witnessed,
    /// A passing test that cites the unit executed the code that cites it.
    Proven,
}

impl Verdict {
    /// The name in messages and documents.
    pub fn as_str(self) -> &'static str {
        match self {
            Verdict::NotRun => "not run",
            Verdict::Old => "old",
            Verdict::Skipped => "skipped",
            Verdict::Failed => "failed",
            Verdict::Flaky => "flaky",
            Verdict::Passed => "passed",
            Verdict::Witnessed => "witnessed",
            Verdict::Proven => "proven",
        }
    }
}

impl From<Outcome> for Verdict {
    fn from(outcome: Outcome) -> Verdict {
        match outcome {
            Outcome::NotRun => Verdict::NotRun,
            Outcome::Skipped => Verdict::Skipped,
            Outcome::Passed => Verdict::Passed,
            Outcome::Flaky => Verdict::Flaky,
            Outcome::Failed => Verdict::Failed,
        }
    }
}

/// The verdicts that a policy may name: anything weaker never closes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClosesAt {
    /// The tests passed.
    Passed,
    /// The code was executed in the same run.
    #[default]
    Witnessed,
    /// A test that cites the unit executed the code.
    Proven,
}

/// The trust of a run, weakest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    /// A fork, or an unlisted ref: shown, never closing.
    Unverified,
    /// A local machine.
    #[default]
    Local,
    /// A token with the scope `evidence`.
    Token,
    /// An identity that the CI service has confirmed.
    Oidc,
}

/// The rule for which evidence closes a unit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Policy {
    /// The weakest verdict that closes.
    pub closes_at: ClosesAt,
    /// The weakest trust in a run that closes.
    pub trust: Trust,
    /// The refs whose runs may close, such as `refs/heads/main` or `refs/tags/*`; all refs if there are none.
    pub refs: Vec<String>,
}

/// The origin of a verdict, as far as a policy needs it.
#[derive(Clone, Copy, Debug)]
pub struct Provenance<'a> {
    /// The trust of the run.
    pub trust: Trust,
    /// The ref of the run, if known.
    pub reference: Option<&'a str>,
    /// Why the run is incomplete, if it is.
    pub incomplete: Option<&'a str>,
}

/// Why a verdict does not close a unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Open {
    /// The verdict is weaker than required.
    Weak(Verdict, ClosesAt),
    /// The run is incomplete, for this reason.
    Incomplete(String),
    /// The trust is lower than required.
    Untrusted(Trust, Trust),
    /// The policy does not list the ref of the run.
    Ref(Option<String>),
}

impl Policy {
    /// Returns whether a verdict closes a unit, and if not, why.
    pub fn closes(&self, verdict: Verdict, run: &Provenance<'_>) -> Result<(), Open> {
        let needed = match self.closes_at {
            ClosesAt::Passed => Verdict::Passed,
            ClosesAt::Witnessed => Verdict::Witnessed,
            ClosesAt::Proven => Verdict::Proven,
        };
        if verdict < needed {
            return Err(Open::Weak(verdict, self.closes_at));
        }
        if let Some(reason) = run.incomplete {
            return Err(Open::Incomplete(reason.to_owned()));
        }
        // No policy accepts an unverified run.
        let trust = self.trust.max(Trust::Local);
        if run.trust < trust {
            return Err(Open::Untrusted(run.trust, trust));
        }
        let is_listed = |reference: &str| self.refs.iter().any(|listed| is_ref(listed, reference));
        if !self.refs.is_empty() && !run.reference.is_some_and(is_listed) {
            return Err(Open::Ref(run.reference.map(str::to_owned)));
        }
        Ok(())
    }
}

fn is_ref(listed: &str, reference: &str) -> bool {
    match listed.strip_suffix('*') {
        Some(start) => reference.starts_with(start),
        None => reference == listed,
    }
}

/// The contents that evidence was about, so that it survives rebases and becomes old exactly when something changed.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContentKey {
    /// The hash of the unit's text.
    pub unit: String,
    /// The blob of the test file.
    pub test: String,
    /// The blob of the implementation file, if code cites the unit.
    pub implementation: Option<String>,
}

/// The current verdict: old if any of these contents has changed. What has not run cannot be old.
pub fn as_of(verdict: Verdict, then: &ContentKey, now: &ContentKey) -> Verdict {
    if then == now || verdict == Verdict::NotRun { verdict } else { Verdict::Old }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for Open {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Open::Weak(Verdict::Flaky, _) => write!(f, "flaky never closes"),
            Open::Weak(verdict, needed) => {
                let needed = format!("{needed:?}").to_lowercase();
                write!(f, "the policy closes at {needed}")?;
                match verdict {
                    Verdict::Passed => write!(f, "; no coverage report shows that its code was executed"),
                    Verdict::Witnessed => {
                        write!(f, "; no coverage for each test shows that this one executed its code")
                    }
                    verdict => write!(f, ", found {verdict}"),
                }
            }
            Open::Incomplete(reason) => write!(f, "the run is incomplete: {reason}"),
            Open::Untrusted(found, needed) => {
                let word = |trust: &Trust| format!("{trust:?}").to_lowercase();
                write!(f, "expected a run of trust {}, found {}", word(needed), word(found))
            }
            Open::Ref(Some(reference)) => write!(f, "runs of {reference} do not close"),
            Open::Ref(None) => write!(f, "the ref of the run is not known"),
        }
    }
}
