//! The state of a requirement, from the bytes that citations cover. White space does not count.

use crate::annotation::AnnotationKind;
use crate::overlap::{Overlap, Weight};

/// The state of a requirement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceState {
    /// Its status.
    pub status: TraceStatus,
    /// Its label in reports.
    pub label: Label,
    /// How much of it is implemented.
    pub progress: TraceProgress,
    /// The number of todos.
    pub n_todos: u32,
    /// Its citations, by their positions in the section.
    pub citations: Vec<u32>,
    /// Its length in bytes.
    pub size: usize,
    /// How many of them are cited, implied or an exception.
    pub n_implemented: usize,
    /// How many of them are tested, implied or an exception.
    pub n_tested: usize,
}

/// The kinds of annotations that implement what they quote.
pub const IMPLEMENTED: &[AnnotationKind] =
    &[AnnotationKind::Citation, AnnotationKind::Implication, AnnotationKind::Exception];
/// The kinds of annotations that test what they quote.
pub const TESTED: &[AnnotationKind] =
    &[AnnotationKind::Test, AnnotationKind::Implication, AnnotationKind::Exception];

/// The status of a requirement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TraceStatus {
    /// Not cited, or only by todos.
    #[default]
    NotStarted,
    /// Partly cited or tested.
    InProgress,
    /// Implemented, but not tested.
    NeedsTests,
    /// All of it is implemented and tested, implied, or an exception.
    Done,
}

impl TraceStatus {
    /// Every status, from most to least.
    pub const ALL: [TraceStatus; 4] =
        [TraceStatus::Done, TraceStatus::NeedsTests, TraceStatus::InProgress, TraceStatus::NotStarted];

    /// Its position in the order of statuses.
    pub fn rank(self) -> usize {
        TraceStatus::Done as usize - self as usize
    }

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            TraceStatus::NotStarted => "not started",
            TraceStatus::InProgress => "in progress",
            TraceStatus::NeedsTests => "needs tests",
            TraceStatus::Done => "done",
        }
    }
}

/// The label of a requirement in reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Label {
    /// Cited and tested, or implied.
    Complete,
    /// An exception.
    Exception,
    /// Cited, not tested.
    MissingTest,
    /// Tested, not cited.
    MissingCitation,
    /// To do.
    NotStarted,
    /// Nothing is known.
    Unknown,
    /// Something is covered.
    Partial,
}

impl Label {
    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Label::Complete => "Complete",
            Label::Exception => "Exception",
            Label::MissingTest => "Missing test",
            Label::MissingCitation => "Missing citation",
            Label::NotStarted => "Not started",
            Label::Unknown => "not started",
            Label::Partial => "Partial coverage",
        }
    }
}

/// How much of a requirement is implemented. What is underway comes before what is not, as in priorities.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TraceProgress {
    /// Some.
    Partially,
    /// None.
    NotStarted,
    /// All.
    Fully,
}

impl TraceProgress {
    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            TraceProgress::Partially => "partially_implemented",
            TraceProgress::NotStarted => "not_started",
            TraceProgress::Fully => "fully_implemented",
        }
    }
}

impl TraceState {
    /// Computes the state of a requirement. Citations are given by their positions in the section.
    pub fn of(overlap: Overlap, document: &str, kind_of: impl Fn(u32) -> AnnotationKind) -> TraceState {
        let weight = Weight::Meaning(document);
        let size = overlap.whole(weight);
        let count = |kinds: &[AnnotationKind]| {
            if overlap.is_touched(kinds) { overlap.covered(kinds, weight) } else { 0 }
        };
        let is_all = |kinds: &[AnnotationKind]| overlap.is_touched(kinds) && count(kinds) == size;
        let (n_implemented, n_tested) = (count(IMPLEMENTED), count(TESTED));
        let is_implemented = overlap.is_touched(IMPLEMENTED) && n_implemented == size;
        let is_done = is_implemented && n_tested == size;
        let n_todos =
            overlap.by.iter().filter(|index| kind_of(**index) == AnnotationKind::Todo).count() as u32;
        let label = if is_done {
            if is_all(&[AnnotationKind::Exception]) { Label::Exception } else { Label::Complete }
        } else if is_all(&[AnnotationKind::Citation]) {
            Label::MissingTest
        } else if is_all(&[AnnotationKind::Test]) {
            Label::MissingCitation
        } else if n_todos > 0 {
            Label::NotStarted
        } else if overlap.by.is_empty() {
            Label::Unknown
        } else {
            Label::Partial
        };
        let status = if is_done {
            TraceStatus::Done
        } else if is_implemented {
            TraceStatus::NeedsTests
        } else if overlap.is_touched(IMPLEMENTED) || overlap.is_touched(TESTED) {
            TraceStatus::InProgress
        } else {
            TraceStatus::NotStarted
        };
        let progress = if is_implemented {
            TraceProgress::Fully
        } else if overlap.is_touched(IMPLEMENTED) {
            TraceProgress::Partially
        } else {
            TraceProgress::NotStarted
        };
        TraceState { status, label, progress, n_todos, citations: overlap.by, size, n_implemented, n_tested }
    }
}
