//! How far a requirement is, by what covers which of its bytes. Blanks do not count.

use crate::annotation::Kind;
use crate::overlap::{Overlap, Weight};

/// How far a requirement is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// In a word.
    pub status: Status,
    /// The word that reports have for it.
    pub label: Label,
    /// How much of it is implemented.
    pub progress: Progress,
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

/// How far a requirement is, in a word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Status {
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

impl Status {
    /// Every status, from most to least.
    pub const ALL: [Status; 4] = [Status::Done, Status::NeedsTests, Status::InProgress, Status::NotStarted];

    /// Its position among all of them.
    pub fn rank(self) -> usize {
        Status::Done as usize - self as usize
    }

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Status::NotStarted => "not started",
            Status::InProgress => "in progress",
            Status::NeedsTests => "needs tests",
            Status::Done => "done",
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
            Label::Unknown => "Unknown",
            Label::Partial => "Partial coverage",
        }
    }
}

/// How much of a requirement is implemented. What is underway comes before what is not, as in priorities.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Progress {
    /// Some.
    Partially,
    /// None.
    NotStarted,
    /// All.
    Fully,
}

impl Progress {
    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Progress::Partially => "partially_implemented",
            Progress::NotStarted => "not_started",
            Progress::Fully => "fully_implemented",
        }
    }
}

impl State {
    /// Weighs what covers a requirement of a document. Citations are told by their positions in the section.
    pub fn of(overlap: Overlap, document: &str, kind_of: impl Fn(u32) -> Kind) -> State {
        const IMPLEMENTED: &[Kind] = &[Kind::Citation, Kind::Implication, Kind::Exception];
        const TESTED: &[Kind] = &[Kind::Test, Kind::Implication, Kind::Exception];
        let weight = Weight::Meaning(document);
        let size = overlap.whole(weight);
        let count =
            |kinds: &[Kind]| if overlap.is_touched(kinds) { overlap.covered(kinds, weight) } else { 0 };
        let is_all = |kinds: &[Kind]| overlap.is_touched(kinds) && count(kinds) == size;
        let (n_implemented, n_tested) = (count(IMPLEMENTED), count(TESTED));
        let is_implemented = overlap.is_touched(IMPLEMENTED) && n_implemented == size;
        let is_done = is_implemented && n_tested == size;
        let n_todos = overlap.by.iter().filter(|index| kind_of(**index) == Kind::Todo).count() as u32;
        let label = if is_done {
            if is_all(&[Kind::Exception]) { Label::Exception } else { Label::Complete }
        } else if is_all(&[Kind::Citation]) {
            Label::MissingTest
        } else if is_all(&[Kind::Test]) {
            Label::MissingCitation
        } else if n_todos > 0 {
            Label::NotStarted
        } else if overlap.by.is_empty() {
            Label::Unknown
        } else {
            Label::Partial
        };
        let status = if is_done {
            Status::Done
        } else if is_implemented {
            Status::NeedsTests
        } else if overlap.is_touched(IMPLEMENTED) || overlap.is_touched(TESTED) {
            Status::InProgress
        } else {
            Status::NotStarted
        };
        let progress = if is_implemented {
            Progress::Fully
        } else if overlap.is_touched(IMPLEMENTED) {
            Progress::Partially
        } else {
            Progress::NotStarted
        };
        State { status, label, progress, n_todos, citations: overlap.by, size, n_implemented, n_tested }
    }
}
