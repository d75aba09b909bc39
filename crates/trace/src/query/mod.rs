//! Queries: checks of the annotations of a project, each with a verdict and its findings.
//!
//! The verdicts are Duvet's; the output is ours.

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

/// The checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueryCheck {
    /// Every requirement is implemented.
    Implementation,
    /// Every implementation is tested.
    Test,
    /// Every test ran, together with what it tests.
    Coverage,
    /// The same, only for tests that ran.
    ExecutedCoverage,
    /// Nothing is repeated.
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

    /// The name.
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

/// The result of a check.
#[derive(Debug)]
pub struct QueryAnswer {
    /// Which check.
    pub check: QueryCheck,
    /// One for each checked annotation, and for each candidate quote that does not occur.
    pub findings: Vec<QueryFinding>,
    /// The number of coverage reports, if the check needs any.
    pub n_measurements: Option<usize>,
}

impl QueryAnswer {
    /// Whether it passes.
    pub fn is_passed(&self) -> bool {
        self.findings.iter().all(|finding| finding.outcome.is_passed())
    }
}

/// The finding about an annotation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryFinding {
    /// Its number.
    pub annotation: u32,
    /// The outcome.
    pub outcome: QueryOutcome,
    /// Whether its own code ran, if relevant.
    pub execution: Option<LineExecution>,
    /// The annotations that share text with it.
    pub related: Vec<Related>,
    /// The words that none of them has, if they share some of the text.
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
    /// Whether its code ran, if relevant.
    pub execution: Option<LineExecution>,
}

impl Related {
    fn new(annotation: u32) -> Related {
        Related { annotation, execution: None }
    }
}

/// The outcome for an annotation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum QueryOutcome {
    /// All of its text is implemented, or tested.
    Complete,
    /// The test ran, together with what it tests.
    Executed,
    /// No other annotation of its type quotes its text.
    Unique,
    /// Others of its type quote some of its text.
    Overlap,
    /// The test did not run and is not checked.
    Skipped,
    /// Others of its type quote all of its text, or it has no quote.
    Duplicate,
    /// Some of its text is implemented, or tested.
    Partial,
    /// Some or all of its text is implemented, but a todo is left.
    Mixed,
    /// There is only a todo.
    Todo,
    /// There is nothing.
    Missing,
    /// The test is about text without an implementation.
    NoImplementation,
    /// The test did not run, or it is unknown.
    TestNotExecuted,
    /// The test ran, but not all that it tests.
    ImplementationNotExecuted,
    /// Its quote occurs in the section only with an edit.
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

    /// The name for tools.
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

/// The position of an annotation's text.
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
