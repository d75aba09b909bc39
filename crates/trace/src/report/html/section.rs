//! The text of a specification, cut where what is said of it changes.

use std::collections::HashMap;

use serde::Serialize;

use crate::annotation::Kind;
use crate::index::Status;
use crate::link::Reference;
use crate::report::document::Document;
use crate::report::{of_line, pieces};
use crate::specification::Section;
use crate::text::Span;

/// A section with its lines.
#[derive(Serialize)]
pub struct SectionData<'a> {
    id: &'a str,
    /// The title, as a line.
    title: LineData<'a>,
    depth: u8,
    lines: Vec<LineData<'a>>,
}

/// A line, or the parts of one that annotations speak of.
#[derive(Serialize)]
#[serde(untagged)]
enum LineData<'a> {
    Text(&'a str),
    Pieces(Vec<PieceData<'a>>),
}

/// A text of which nothing is said; or with its state, the requirements it belongs to and the annotations that quote
/// it.
#[derive(Serialize)]
#[serde(untagged)]
enum PieceData<'a> {
    Plain(&'a str),
    Quoted(&'a str, usize, Vec<u32>, Vec<u32>),
}

/// The state of a text that is quoted and belongs to no requirement.
const NO_REQUIREMENT: usize = Status::ALL.len();

/// Cuts lines into pieces.
pub struct Cutter<'a, 'b> {
    document: &'a Document,
    numbers: &'b HashMap<u32, u32>,
    by_line: Vec<(u32, u32)>,
    /// The requirement that an annotation names.
    requirements: HashMap<u32, u32>,
}

impl<'a, 'b> Cutter<'a, 'b> {
    /// Prepares a document. Annotations are told by their numbers in the page.
    pub fn new(document: &'a Document, numbers: &'b HashMap<u32, u32>) -> Cutter<'a, 'b> {
        let requirements = document.requirements.iter().enumerate();
        let requirements = requirements.flat_map(|(index, requirement)| {
            requirement.sources.iter().map(move |source| (*source, index as u32))
        });
        Cutter { document, numbers, by_line: document.target.by_line(), requirements: requirements.collect() }
    }

    /// Cuts a section.
    pub fn section(&self, section: &'a Section) -> SectionData<'a> {
        SectionData {
            id: &section.id,
            title: self.line(section.title_span),
            depth: section.depth,
            lines: section.spans().map(|span| self.line(span)).collect(),
        }
    }

    fn line(&self, span: Span) -> LineData<'a> {
        let target = &self.document.target;
        let text = &target.specification.text;
        let (number, _) = target.specification.lines.lines(span);
        let references = of_line(target, &self.by_line, number);
        let whole = text.get(span.range()).unwrap_or_default();
        if references.clone().next().is_none() {
            return LineData::Text(whole);
        }
        let mut parts = Vec::new();
        for (piece, references) in pieces(span, references) {
            // A match of bytes may end within a character.
            let Some(text) = text.get(piece.range()) else {
                return LineData::Text(whole);
            };
            parts.push(if references.is_empty() {
                PieceData::Plain(text)
            } else {
                self.piece(text, &references)
            });
        }
        LineData::Pieces(parts)
    }

    fn piece(&self, text: &'a str, references: &[&Reference]) -> PieceData<'a> {
        let has = |kind: Kind| references.iter().any(|reference| reference.kind == kind);
        let numbers = |of: &HashMap<u32, u32>| {
            let mut found: Vec<u32> =
                references.iter().filter_map(|reference| of.get(&reference.annotation).copied()).collect();
            found.sort_unstable();
            found.dedup();
            found
        };
        let is_excused = has(Kind::Exception) || has(Kind::Implication);
        let state = match (has(Kind::Citation), has(Kind::Test)) {
            _ if !has(Kind::Spec) => NO_REQUIREMENT,
            _ if is_excused => Status::Done.rank(),
            (true, true) => Status::Done.rank(),
            (true, false) => Status::NeedsTests.rank(),
            (false, true) => Status::InProgress.rank(),
            (false, false) => Status::NotStarted.rank(),
        };
        PieceData::Quoted(text, state, numbers(&self.requirements), numbers(self.numbers))
    }
}
