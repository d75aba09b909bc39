//! What came of a test, and how attempts, parameters and tests fold into one outcome.

use serde::{Deserialize, Serialize};

/// What came of a test. The order is the one in which the tests of a unit outrank each other: failed beats flaky beats
/// passed beats skipped beats not run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Filtered out, or never reached.
    #[default]
    NotRun,
    /// Skipped by the test itself, or expected to fail.
    Skipped,
    /// Passed, in every attempt.
    Passed,
    /// Failed in one attempt and passed in another.
    Flaky,
    /// Failed, timed out, crashed, or started and never ended.
    Failed,
}

impl Outcome {
    /// The word for it in messages and documents.
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

/// Folds the attempts at one test. Flaky needs a failed attempt and a pass; repeats that all pass are passed.
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

/// Folds the parameters or subtests of one test, which passes only if all of them do.
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

/// Folds the tests of one unit, or what several reports of one run say about one test.
pub fn of_tests(tests: impl IntoIterator<Item = Outcome>) -> Outcome {
    tests.into_iter().max().unwrap_or_default()
}
