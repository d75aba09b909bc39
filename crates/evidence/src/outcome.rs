//! The results of tests, and how attempts, parameters and tests are combined.

use serde::{Deserialize, Serialize};

/// The result of a test, in the order in which the tests of a unit take precedence: failed beats flaky beats
/// passed beats skipped beats not run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Filtered out, or not reached.
    #[default]
    NotRun,
    /// Skipped by the test itself, or expected to fail.
    Skipped,
    /// Passed, in every attempt.
    Passed,
    /// Failed in one attempt and passed in another.
    Flaky,
    /// Failed, timed out, crashed, or did not end.
    Failed,
}

impl Outcome {
    /// The name in messages and documents.
    pub fn as_str(self) -> &'static str {
        match self {
            Outcome::NotRun => "not run",
            Outcome::Skipped => "skipped",
            Outcome::Passed => "passed",
            Outcome::Flaky => "flaky",
            Outcome::Failed => "failed",
        }
    }
}

/// Combines the attempts at one test. Flaky needs a failed attempt and a pass; repeated passes are passed.
pub fn of_attempts(attempts: &[Outcome]) -> Outcome {
    let has = |outcome| attempts.contains(&outcome);
    let has_failed = has(Outcome::Failed) || has(Outcome::Flaky);
    let has_passed = has(Outcome::Passed) || has(Outcome::Flaky);
    match (has_failed, has_passed) {
        (true, true) => Outcome::Flaky,
        (true, false) => Outcome::Failed,
        (false, _) => of_parts(attempts.iter().copied()),
    }
}

/// Combines the parameters or subtests of one test, which passes only if all of them do.
pub fn of_parts(parts: impl IntoIterator<Item = Outcome>) -> Outcome {
    let rank = |outcome: &Outcome| match outcome {
        Outcome::Passed => 0,
        Outcome::NotRun => 1,
        Outcome::Skipped => 2,
        Outcome::Flaky => 3,
        Outcome::Failed => 4,
    };
    parts.into_iter().max_by_key(rank).unwrap_or_default()
}

/// Combines the tests of one unit, or several reports about one test.
pub fn of_tests(tests: impl IntoIterator<Item = Outcome>) -> Outcome {
    tests.into_iter().max().unwrap_or_default()
}
