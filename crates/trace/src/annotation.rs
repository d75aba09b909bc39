//! Annotations: comments and entries of requirement files that refer to a place in a specification.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::managed;
use crate::specification::Format;
use crate::text::Span;

/// One annotation of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Annotation {
    /// The line of its first meta line, or of its table, from 1 on.
    pub line: u32,
    /// The last line of its comment; that of its table in a requirement file.
    pub last_line: u32,
    /// Its type.
    pub kind: AnnotationKind,
    /// The level of the requirement, if given.
    pub level: Level,
    /// The format of the specification, if given.
    pub format: Format,
    /// The specification and the section, as written: `path#section`.
    pub target: Arc<str>,
    /// The quote, with its lines joined by single spaces; empty if it only refers to a section.
    pub quote: Arc<str>,
    /// Rarely used parts.
    pub notes: Option<Box<Notes>>,
    /// The positions of its target, of all of it, and of its quote in the file.
    pub places: Places,
}

/// The positions of the parts of an annotation in its file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Places {
    /// The target.
    pub target: Span,
    /// All of it, from the first meta value to the end of the quote.
    pub text: Span,
    /// The quote, or the first meta value if there is none.
    pub quote: Span,
}

/// Rarely used parts of an annotation.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Notes {
    /// A reason; for a requirement its text with the line breaks of the specification.
    pub comment: String,
    /// The issue that will resolve a todo.
    pub tracking_issue: String,
    /// The feature that a todo belongs to.
    pub feature: String,
    /// Free tags of a todo.
    pub tags: BTreeSet<String>,
    /// The position of the text, if the annotation was generated from it.
    pub known: Option<KnownPlace>,
    /// Whether the comment itself is invalid, so that it covers nothing.
    pub is_invalid: bool,
}

impl Notes {
    /// Whether all are empty.
    ///
    /// Comparing with the default would compare empty strings, which takes the AVX-512 `memcmp` of glibc 250 ns each:
    /// it loads from their dangling pointers.
    pub fn is_empty(&self) -> bool {
        let Notes { comment, tracking_issue, feature, tags, known, is_invalid } = self;
        let has_text = [comment, tracking_issue, feature].iter().any(|text| !text.is_empty());
        !has_text && tags.is_empty() && known.is_none() && !is_invalid
    }
}

/// The position of a text in the specification that it was extracted from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct KnownPlace {
    /// The index of the section.
    pub section: u32,
    /// Its pieces, line by line.
    pub spans: Arc<[Span]>,
}

impl Annotation {
    /// An annotation that is not written yet, without a quote.
    pub fn new(kind: AnnotationKind, target: &str) -> Annotation {
        Annotation {
            line: 1,
            last_line: 1,
            kind,
            level: Level::Auto,
            format: Format::Auto,
            target: target.into(),
            quote: "".into(),
            notes: None,
            places: Places::default(),
        }
    }

    /// Returns the specification as written, without the section.
    pub fn target_path(&self) -> &str {
        self.mark().map_or(&self.target, |mark| &self.target[..mark])
    }

    /// Returns the section as written. A managed requirement has a single section, which may be omitted.
    pub fn target_section(&self) -> Option<&str> {
        let written = self.mark().map(|mark| &self.target[mark + 1..]);
        written.or_else(|| managed::is_managed(&self.target).then_some(managed::SECTION))
    }

    /// The offset of the section in the target.
    fn mark(&self) -> Option<usize> {
        memchr::memchr(b'#', self.target.as_bytes())
    }

    /// The reason, or the text of a requirement; empty if there is none.
    pub fn comment(&self) -> &str {
        self.notes.as_ref().map_or("", |notes| &notes.comment)
    }

    /// Whether the comment itself is invalid: an unknown key, or an invalid value.
    pub fn is_invalid(&self) -> bool {
        self.notes.as_ref().is_some_and(|notes| notes.is_invalid)
    }

    /// Orders annotations of one file. Reports number annotations in this order.
    pub fn order(&self, other: &Annotation) -> Ordering {
        fn late(of: &Annotation) -> (AnnotationKind, &str, &str, &str, Level, Format) {
            (of.kind, &of.target, &of.quote, of.comment(), of.level, of.format)
        }
        (self.line, self.places)
            .cmp(&(other.line, other.places))
            .then_with(|| late(self).cmp(&late(other)))
            .then_with(|| self.notes.cmp(&other.notes))
    }
}

/// The type of an annotation. The order is that of reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AnnotationKind {
    /// It is a requirement.
    Spec,
    /// Tested here.
    Test,
    /// Implemented here.
    #[default]
    Citation,
    /// Deliberately not implemented, for a reason.
    Exception,
    /// Not done yet.
    Todo,
    /// Needs no code, or is tested where it is implemented.
    Implication,
}

impl AnnotationKind {
    /// Every kind, in order.
    pub const ALL: [AnnotationKind; 6] = [
        AnnotationKind::Spec,
        AnnotationKind::Test,
        AnnotationKind::Citation,
        AnnotationKind::Exception,
        AnnotationKind::Todo,
        AnnotationKind::Implication,
    ];

    /// The name in annotations.
    pub fn name(self) -> &'static str {
        match self {
            AnnotationKind::Spec => "spec",
            AnnotationKind::Test => "test",
            AnnotationKind::Citation => "implementation",
            AnnotationKind::Exception => "exception",
            AnnotationKind::Todo => "todo",
            AnnotationKind::Implication => "implication",
        }
    }

    /// The name in JSON reports.
    pub fn upper_name(self) -> &'static str {
        match self {
            AnnotationKind::Spec => "SPEC",
            AnnotationKind::Test => "TEST",
            AnnotationKind::Citation => "CITATION",
            AnnotationKind::Exception => "EXCEPTION",
            AnnotationKind::Todo => "TODO",
            AnnotationKind::Implication => "IMPLICATION",
        }
    }
}

impl fmt::Display for AnnotationKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The text is not an allowed value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unknown {
    /// The allowed values.
    pub allowed: &'static [&'static str],
}

impl FromStr for AnnotationKind {
    type Err = Unknown;

    fn from_str(text: &str) -> Result<AnnotationKind, Unknown> {
        match text {
            "citation" | "CITATION" | "IMPLEMENTATION" => Ok(AnnotationKind::Citation),
            _ => {
                let same = |kind: &AnnotationKind| text == kind.name() || text == kind.upper_name();
                let allowed = &["spec", "test", "implementation", "exception", "todo", "implication"];
                AnnotationKind::ALL.into_iter().find(same).ok_or(Unknown { allowed })
            }
        }
    }
}

/// The level of a requirement, from least to most binding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Level {
    /// Not given.
    #[default]
    Auto,
    /// MAY, OPTIONAL.
    May,
    /// SHOULD, RECOMMENDED.
    Should,
    /// MUST, SHALL, REQUIRED.
    Must,
}

impl Level {
    /// Every level, from least to most binding.
    pub const ALL: [Level; 4] = [Level::Auto, Level::May, Level::Should, Level::Must];

    /// The name in annotations.
    pub fn name(self) -> &'static str {
        match self {
            Level::Auto => "AUTO",
            Level::May => "MAY",
            Level::Should => "SHOULD",
            Level::Must => "MUST",
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Level {
    type Err = Unknown;

    fn from_str(text: &str) -> Result<Level, Unknown> {
        let allowed = &["AUTO", "MUST", "SHOULD", "MAY"];
        Level::ALL.into_iter().find(|level| level.name() == text).ok_or(Unknown { allowed })
    }
}
