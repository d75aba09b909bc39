//! Queries: checks on the annotations of a project, each with a verdict and with what led to it.
//!
//! The verdicts are those of Duvet; how they are shown is ours.

pub mod checks;
pub mod correlation;
pub mod cover;
pub mod execution;
pub mod filter;
pub mod jacoco;
#[cfg(feature = "java")]
pub mod java;
pub mod json;
pub mod line;
mod measured;
pub mod measurement;
pub mod text;

use crate::report::Report;

pub use measured::measure;

use checks::Context;
use cover::QuotedTexts;
use execution::LineExecution;
use filter::AnnotationFilter;
use measurement::Measurement;

/// What can be checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueryCheck {
    /// Every requirement is implemented.
    Implementation,
    /// Every implementation is tested.
    Test,
    /// Every test ran, and what it tests ran with it.
    Coverage,
    /// The same, for tests alone that ran.
    ExecutedCoverage,
    /// Nothing is said twice.
    Duplicates,
}

impl QueryCheck {
    /// Every check.
    pub const ALL: [QueryCheck; 5] = [
        QueryCheck::Implementation,
        QueryCheck::Test,
        QueryCheck::Coverage,
        QueryCheck::ExecutedCoverage,
        QueryCheck::Duplicates,
    ];

    /// The name that people write.
    pub fn name(self) -> &'static str {
        match self {
            QueryCheck::Implementation => "implementation",
            QueryCheck::Test => "test",
            QueryCheck::Coverage => "coverage",
            QueryCheck::ExecutedCoverage => "executed-coverage",
            QueryCheck::Duplicates => "duplicates",
        }
    }

    /// Whether it needs measurements.
    pub fn needs_coverage(self) -> bool {
        matches!(self, QueryCheck::Coverage | QueryCheck::ExecutedCoverage)
    }
}

/// What a check found out.
#[derive(Debug)]
pub struct QueryAnswer {
    /// Which check.
    pub check: QueryCheck,
    /// One for each annotation that was looked at, and for each quote that was in the way.
    pub findings: Vec<QueryFinding>,
    /// How many coverage reports there were, if the check needs any.
    pub n_measurements: Option<usize>,
}

impl QueryAnswer {
    /// Whether nothing is wrong.
    pub fn is_passed(&self) -> bool {
        self.findings.iter().all(|finding| finding.outcome.is_passed())
    }
}

/// What was found out about an annotation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryFinding {
    /// Its number.
    pub annotation: u32,
    /// In one word.
    pub outcome: QueryOutcome,
    /// Whether its own code ran, if that was asked.
    pub execution: Option<LineExecution>,
    /// The annotations that share text with it.
    pub related: Vec<Related>,
    /// The words that none of them has, if they have some of the text.
    pub missing: Vec<String>,
}

impl QueryFinding {
    fn new(annotation: u32, outcome: QueryOutcome) -> QueryFinding {
        QueryFinding { annotation, outcome, execution: None, related: Vec::new(), missing: Vec::new() }
    }
}

/// An annotation that shares text with another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Related {
    /// Its number.
    pub annotation: u32,
    /// Whether its code ran, if that was asked.
    pub execution: Option<LineExecution>,
}

impl Related {
    fn new(annotation: u32) -> Related {
        Related { annotation, execution: None }
    }
}

/// What was found out about an annotation, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum QueryOutcome {
    /// All of its text is implemented, or tested.
    Complete,
    /// The test ran, and what it tests ran with it.
    Executed,
    /// Nobody else of its kind quotes its text.
    Unique,
    /// Others of its kind quote some of its text.
    Overlap,
    /// The test did not run and is not looked at.
    Skipped,
    /// Others of its kind quote all of its text, or it quotes none.
    Duplicate,
    /// Some of its text is implemented, or tested.
    Partial,
    /// Some or all of its text is implemented, but a todo is left.
    Mixed,
    /// A todo is all there is.
    Todo,
    /// Nothing is there.
    Missing,
    /// The test is about text that nobody implements.
    NoImplementation,
    /// The test did not run, or nobody knows.
    TestNotExecuted,
    /// The test ran, but not all that it tests.
    ImplementationNotExecuted,
    /// Its quote is in the section only nearly, not word for word.
    Unmatched,
}

impl QueryOutcome {
    /// Every outcome, in order.
    pub const ALL: [QueryOutcome; 14] = [
        QueryOutcome::Complete,
        QueryOutcome::Executed,
        QueryOutcome::Unique,
        QueryOutcome::Overlap,
        QueryOutcome::Skipped,
        QueryOutcome::Duplicate,
        QueryOutcome::Partial,
        QueryOutcome::Mixed,
        QueryOutcome::Todo,
        QueryOutcome::Missing,
        QueryOutcome::NoImplementation,
        QueryOutcome::TestNotExecuted,
        QueryOutcome::ImplementationNotExecuted,
        QueryOutcome::Unmatched,
    ];

    /// Whether a check passes with it.
    pub fn is_passed(self) -> bool {
        self <= QueryOutcome::Skipped
    }

    /// The name by which tools know it.
    pub fn name(self) -> &'static str {
        match self {
            QueryOutcome::Complete => "complete",
            QueryOutcome::Executed => "executed",
            QueryOutcome::Unique => "unique",
            QueryOutcome::Overlap => "overlap",
            QueryOutcome::Skipped => "skipped",
            QueryOutcome::Duplicate => "duplicate",
            QueryOutcome::Partial => "partial",
            QueryOutcome::Mixed => "mixed",
            QueryOutcome::Todo => "todo",
            QueryOutcome::Missing => "missing",
            QueryOutcome::NoImplementation => "no-implementation",
            QueryOutcome::TestNotExecuted => "test-not-executed",
            QueryOutcome::ImplementationNotExecuted => "implementation-not-executed",
            QueryOutcome::Unmatched => "unmatched",
        }
    }
}

/// Where the text of an annotation stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CitedAt {
    /// The index of the specification in the report.
    pub target: u32,
    /// The index of the section there.
    pub section: u32,
    /// The line in the document, from 1 on.
    pub line: u32,
}

/// Tells for each annotation where its text stands.
fn places(report: &Report<'_>) -> Vec<Option<CitedAt>> {
    let mut places = vec![None; report.annotations.len()];
    for (index, target) in report.targets.iter().enumerate() {
        for reference in &target.references {
            let line = || target.specification.lines.line(reference.span.start);
            places[reference.annotation as usize].get_or_insert_with(|| CitedAt {
                target: index as u32,
                section: reference.section,
                line: line(),
            });
        }
    }
    places
}

/// Runs checks, in order.
pub fn answer(
    report: &Report<'_>,
    checks: &[QueryCheck],
    filter: &AnnotationFilter,
    measurements: &[Measurement],
) -> Vec<QueryAnswer> {
    let context = Context { report, texts: QuotedTexts::new(report), filter };
    let answer = |check: &QueryCheck| QueryAnswer {
        check: *check,
        findings: match check {
            QueryCheck::Implementation => checks::implementation(&context),
            QueryCheck::Test => checks::test(&context),
            QueryCheck::Duplicates => checks::duplicates(&context),
            QueryCheck::Coverage => correlation::check(&context, measurements, false),
            QueryCheck::ExecutedCoverage => correlation::check(&context, measurements, true),
        },
        n_measurements: check.needs_coverage().then_some(measurements.len()),
    };
    checks.iter().map(answer).collect()
}
