//! References to texts in a version 2 report.

use serde::{Deserialize, Serialize};

use crate::text::Span;

/// A part of a text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object")]
pub struct Part {
    /// The id of the text.
    pub src: String,
    /// Its first byte.
    pub start: u64,
    /// The byte after its last.
    pub end: u64,
}

/// Pieces of a text, each within a line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object")]
pub struct Pieces {
    /// The id of the text.
    pub src: String,
    /// In order.
    pub ranges: Vec<Piece>,
}

/// A piece of a text, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object")]
pub struct Piece {
    /// Its first byte.
    pub start: u64,
    /// The byte after its last.
    pub end: u64,
}

impl From<Span> for Piece {
    fn from(span: Span) -> Piece {
        Piece { start: span.start.into(), end: span.end.into() }
    }
}

/// A line of a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object")]
pub struct Location {
    /// The id of the file.
    pub src: String,
    /// From 1 on, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
}
