//! The checks with coverage reports: every test ran, together with what it tests.

use super::checks::Context;
use super::execution::LineExecution;
use super::measurement::Measurement;
use super::{QueryFinding, QueryOutcome, Related};
use crate::annotation::AnnotationKind;

/// What a test can be about.
const TESTED: &[AnnotationKind] =
    &[AnnotationKind::Citation, AnnotationKind::Implication, AnnotationKind::Exception];

/// Checks every test, or only those that may have run.
pub fn check(
    context: &Context<'_>,
    measurements: &[Measurement],
    is_executed_only: bool,
) -> Vec<QueryFinding> {
    context.each(AnnotationKind::Test, |number| {
        let mut findings = Vec::new();
        if let Some(cover) = context.cover(number, TESTED, &mut findings) {
            let test = best(number, measurements.iter());
            let finding = if test == LineExecution::NotExecuted && is_executed_only {
                QueryFinding::new(number, QueryOutcome::Skipped)
            } else if !cover.is_whole() && cover.by.is_empty() {
                QueryFinding::new(number, QueryOutcome::NoImplementation)
            } else {
                correlate(number, test, &cover.by, measurements)
            };
            findings.push(QueryFinding { execution: Some(test), ..finding });
        }
        findings
    })
}

/// A test is evidence for an implementation only if both ran in the same measurement.
fn correlate(number: u32, test: LineExecution, tested: &[u32], measurements: &[Measurement]) -> QueryFinding {
    if test != LineExecution::Executed {
        let related = tested.iter().map(|other| Related::new(*other)).collect();
        return QueryFinding { related, ..QueryFinding::new(number, QueryOutcome::TestNotExecuted) };
    }
    let witnesses = || measurements.iter().filter(|one| one.execution(number) == LineExecution::Executed);
    let related: Vec<Related> = tested
        .iter()
        .map(|other| Related { annotation: *other, execution: Some(best(*other, witnesses())) })
        .collect();
    let is_run = |related: &Related| related.execution == Some(LineExecution::Executed);
    let outcome = if related.iter().all(is_run) {
        QueryOutcome::Executed
    } else {
        QueryOutcome::ImplementationNotExecuted
    };
    QueryFinding { related, ..QueryFinding::new(number, outcome) }
}

/// The combined result of measurements: executed if one says so, otherwise the most informative one.
fn best<'a>(number: u32, measurements: impl Iterator<Item = &'a Measurement>) -> LineExecution {
    let weight = |execution: &LineExecution| match execution {
        LineExecution::NotExecuted => 0,
        LineExecution::Structural => 1,
        LineExecution::Unknown(_) => 2,
        LineExecution::Executed => 3,
    };
    measurements.map(|one| one.execution(number)).max_by_key(weight).unwrap_or(LineExecution::NotExecuted)
}
