//! How far a requirement is: by what covers which of its bytes. Blanks do not count.

use crate::annotation::Kind;
use crate::coverage::union;
use crate::text::Span;

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
    /// Finds out how far a requirement is, which stands at `spans` of a document. The spans of all citations come
    /// in order, with the length of the longest.
    pub fn of(
        spans: &[Span],
        document: &str,
        kind_of: &dyn Fn(u32) -> Kind,
        cited: &[(Span, u32)],
        longest: u32,
    ) -> State {
        let mut covered: [Vec<Span>; 6] = Default::default();
        let mut touching = Vec::new();
        for part in spans {
            let first = cited.partition_point(|(span, _)| span.start + longest <= part.start);
            for (span, index) in cited[first..].iter().take_while(|(span, _)| span.start < part.end) {
                let common = Span { start: span.start.max(part.start), end: span.end.min(part.end) };
                if common.start < common.end {
                    covered[kind_of(*index) as usize].push(common);
                    touching.push(*index);
                }
            }
        }
        touching.sort_unstable();
        touching.dedup();
        let is_todo = |index: &&u32| kind_of(**index) == Kind::Todo;
        let n_todos = touching.iter().filter(is_todo).count() as u32;
        let all = |kinds: &[Kind]| {
            let parts = kinds.iter().flat_map(|kind| covered[*kind as usize].iter().copied());
            covers(&union(parts.collect()), spans, document)
        };
        let any = |kinds: &[Kind]| kinds.iter().any(|kind| !covered[*kind as usize].is_empty());

        const IMPLEMENTED: &[Kind] = &[Kind::Citation, Kind::Implication, Kind::Exception];
        const TESTED: &[Kind] = &[Kind::Test, Kind::Implication, Kind::Exception];
        let is_implemented = all(IMPLEMENTED);
        let is_done = is_implemented && all(TESTED);
        let label = if is_done {
            if all(&[Kind::Exception]) { Label::Exception } else { Label::Complete }
        } else if all(&[Kind::Citation]) {
            Label::MissingTest
        } else if all(&[Kind::Test]) {
            Label::MissingCitation
        } else if n_todos > 0 {
            Label::NotStarted
        } else if touching.is_empty() {
            Label::Unknown
        } else {
            Label::Partial
        };
        let status = if is_done {
            Status::Done
        } else if is_implemented {
            Status::NeedsTests
        } else if any(IMPLEMENTED) || any(TESTED) {
            Status::InProgress
        } else {
            Status::NotStarted
        };
        let progress = if is_implemented {
            Progress::Fully
        } else if any(IMPLEMENTED) {
            Progress::Partially
        } else {
            Progress::NotStarted
        };
        State { status, label, progress, n_todos, citations: touching }
    }
}

/// Tells whether joined spans cover all of a text but its blanks.
fn covers(covered: &[Span], spans: &[Span], document: &str) -> bool {
    let is_blank = |start: u32, end: u32| {
        start >= end || document.get(start as usize..end as usize).is_some_and(|gap| gap.trim().is_empty())
    };
    spans.iter().all(|span| {
        let mut position = span.start;
        for part in covered.iter().filter(|part| part.end > span.start && part.start < span.end) {
            if !is_blank(position, part.start) {
                return false;
            }
            position = part.end;
        }
        is_blank(position, span.end)
    })
}
