//! How attempts, parameters and tests fold.

use evidence::Outcome::{self, Failed, Flaky, NotRun, Passed, Skipped};
use evidence::{of_attempts, of_parts, of_tests};
use proptest::prelude::*;

#[test]
fn flaky_needs_a_failed_attempt_and_a_pass() {
    let attempts: [(&[Outcome], Outcome); 8] = [
        (&[], NotRun),
        (&[Passed], Passed),
        (&[Passed, Passed, Passed], Passed),
        (&[Failed, Passed], Flaky),
        (&[Passed, Failed], Flaky),
        (&[Failed, Failed], Failed),
        (&[Failed, Skipped], Failed),
        (&[Skipped, Passed], Skipped),
    ];
    for (attempts, expected) in attempts {
        assert_eq!(of_attempts(attempts), expected, "{attempts:?}");
    }
}

#[test]
fn parameters_pass_only_if_all_do() {
    let parts: [(&[Outcome], Outcome); 6] = [
        (&[Passed, Passed], Passed),
        (&[Passed, Failed, Flaky], Failed),
        (&[Passed, Flaky], Flaky),
        (&[Passed, Skipped], Skipped),
        (&[Passed, NotRun], NotRun),
        (&[Skipped, Skipped], Skipped),
    ];
    for (parts, expected) in parts {
        assert_eq!(of_parts(parts.iter().copied()), expected, "{parts:?}");
    }
}

#[test]
fn the_worst_result_of_a_units_tests_counts() {
    let order = [NotRun, Skipped, Passed, Flaky, Failed];
    for (at, stronger) in order.iter().enumerate() {
        for weaker in &order[..=at] {
            assert_eq!(of_tests([*weaker, *stronger]), *stronger);
            assert_eq!(of_tests([*stronger, *weaker]), *stronger);
        }
    }
    assert_eq!(of_tests([]), NotRun);
}

proptest! {
    #[test]
    fn combining_results_never_turns_a_failure_into_a_pass(outcomes in proptest::collection::vec(outcome(), 1..8)) {
        let all_passed = outcomes.iter().all(|outcome| *outcome == Passed);
        prop_assert_eq!(of_parts(outcomes.iter().copied()) == Passed, all_passed);
        prop_assert_eq!(of_attempts(&outcomes) == Passed, all_passed);
        let has_failed = outcomes.contains(&Failed);
        prop_assert!(!has_failed || of_tests(outcomes.iter().copied()) == Failed);
    }

    #[test]
    fn order_does_not_matter(outcomes in proptest::collection::vec(outcome(), 1..8)) {
        let reversed: Vec<Outcome> = outcomes.iter().rev().copied().collect();
        prop_assert_eq!(of_parts(outcomes.iter().copied()), of_parts(reversed.iter().copied()));
        prop_assert_eq!(of_attempts(&outcomes), of_attempts(&reversed));
    }
}

fn outcome() -> impl Strategy<Value = Outcome> {
    proptest::sample::select(vec![NotRun, Skipped, Passed, Flaky, Failed])
}
