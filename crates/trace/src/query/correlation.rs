//! The checks with coverage: every test ran, and what it tests ran in the same measurement.

use super::checks::Context;
use super::execution::Execution;
use super::measurement::Measurement;
use super::{Finding, Outcome, Related};
use crate::annotation::AnnotationKind;

/// What a test can be about.
const TESTED: &[AnnotationKind] =
    &[AnnotationKind::Citation, AnnotationKind::Implication, AnnotationKind::Exception];

/// Looks at every test, or at those alone that may have run.
pub fn check(context: &Context<'_>, measurements: &[Measurement], is_executed_only: bool) -> Vec<Finding> {
    context.each(AnnotationKind::Test, |number| {
        let mut findings = Vec::new();
        if let Some(cover) = context.cover(number, TESTED, &mut findings) {
            let test = best(number, measurements.iter());
            let finding = if test == Execution::NotExecuted && is_executed_only {
                Finding::new(number, Outcome::Skipped)
            } else if !cover.is_whole() && cover.by.is_empty() {
                Finding::new(number, Outcome::NoImplementation)
            } else {
                correlate(number, test, &cover.by, measurements)
            };
            findings.push(Finding { execution: Some(test), ..finding });
        }
        findings
    })
}

/// A test shows something about an implementation only where both ran: that one ran here and the other there says
/// nothing.
fn correlate(number: u32, test: Execution, tested: &[u32], measurements: &[Measurement]) -> Finding {
    if test != Execution::Executed {
        let related = tested.iter().map(|other| Related::new(*other)).collect();
        return Finding { related, ..Finding::new(number, Outcome::TestNotExecuted) };
    }
    let witnesses = || measurements.iter().filter(|one| one.execution(number) == Execution::Executed);
    let related: Vec<Related> = tested
        .iter()
        .map(|other| Related { annotation: *other, execution: Some(best(*other, witnesses())) })
        .collect();
    let is_run = |related: &Related| related.execution == Some(Execution::Executed);
    let outcome =
        if related.iter().all(is_run) { Outcome::Executed } else { Outcome::ImplementationNotExecuted };
    Finding { related, ..Finding::new(number, outcome) }
}

/// What measurements say together: executed if one says so, else what tells most.
fn best<'a>(number: u32, measurements: impl Iterator<Item = &'a Measurement>) -> Execution {
    let weight = |execution: &Execution| match execution {
        Execution::NotExecuted => 0,
        Execution::Structural => 1,
        Execution::Unknown(_) => 2,
        Execution::Executed => 3,
    };
    measurements.map(|one| one.execution(number)).max_by_key(weight).unwrap_or(Execution::NotExecuted)
}
