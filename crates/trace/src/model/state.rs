//! How far a requirement is, by what covers which of its bytes. Blanks do not count.

use crate::annotation::AnnotationKind;
use crate::overlap::{Overlap, Weight};

/// How far a requirement is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceState {
    /// In a word.
    pub status: TraceStatus,
    /// The word that reports have for it.
    pub label: Label,
    /// How much of it is implemented.
    pub progress: TraceProgress,
    /// How many todos touch it.
    pub n_todos: u32,
    /// The citations that touch it, by their positions in the section.
    pub citations: Vec<u32>,
    /// How many bytes it has.
    pub size: usize,
    /// How many of them are cited, implied or left out for a reason.
    pub n_implemented: usize,
    /// How many of them are tested, implied or left out for a reason.
    pub n_tested: usize,
}

/// The kinds of annotations that implement what they quote.
pub const IMPLEMENTED: &[AnnotationKind] =
    &[AnnotationKind::Citation, AnnotationKind::Implication, AnnotationKind::Exception];
/// The kinds of annotations that test what they quote.
pub const TESTED: &[AnnotationKind] =
    &[AnnotationKind::Test, AnnotationKind::Implication, AnnotationKind::Exception];

/// How far a requirement is, in a word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TraceStatus {
    /// Nothing, or only todos.
    #[default]
    NotStarted,
    /// Something.
    InProgress,
    /// Implemented, but not tested.
    NeedsTests,
    /// All of it is implemented and tested, implied, or left out for a reason.
    Done,
}

impl TraceStatus {
    /// Every status, from most to least.
    pub const ALL: [TraceStatus; 4] =
        [TraceStatus::Done, TraceStatus::NeedsTests, TraceStatus::InProgress, TraceStatus::NotStarted];

    /// Its position among all of them.
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

/// The word that reports have for a requirement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Label {
    /// Cited and tested, or implied.
    Complete,
    /// Left out for a reason.
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
    /// Weighs what covers a requirement of a document. Citations are told by their positions in the section.
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
