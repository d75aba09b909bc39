//! The text of a specification, split where its annotations change.

use serde::Serialize;

use super::data::Numbers;
use crate::annotation::{AnnotationKind, Level};
use crate::link::CitedPiece;
use crate::meaning;
use crate::model::{Model, SpecificationEntry, TraceStatus};
use crate::report::line::LineCursor;
use crate::specification::{Section, Specification};
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

/// A line, or its annotated parts.
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
const NO_REQUIREMENT: usize = TraceStatus::ALL.len();

/// Lists the annotations of a document. Citations are given by their numbers in the page, requirements by their positions
/// in the document.
pub fn references(model: &Model, entry: &SpecificationEntry, numbers: &Numbers) -> Vec<CitedPiece> {
    let mut references = Vec::new();
    let (text, level) = (&entry.document.text, Level::Auto);
    for (position, number) in model.catalogue.requirements_of(entry).enumerate() {
        let requirement = model.requirement(number);
        let (annotation, kind, section) = (position as u32, AnnotationKind::Spec, requirement.section);
        let spans = requirement.spans.iter().map(|span| meaning::unmarked(text, *span));
        references.extend(spans.map(|span| CitedPiece { annotation, kind, level, section, span }));
    }
    for section in entry.sections() {
        for citation in model.citations(section) {
            let (annotation, kind) = (numbers.of(citation), citation.kind());
            // A title may start with its number, which looks like the mark of a list.
            let is_title = citation.annotation().quote.is_empty();
            let marked = |span: &Span| if is_title { *span } else { meaning::unmarked(text, *span) };
            let spans = citation.found().spans.iter().map(marked);
            references.extend(spans.map(|span| CitedPiece { annotation, kind, level, section, span }));
        }
    }
    references
}

/// Cuts lines into pieces.
pub struct Cutter<'a, 'b> {
    specification: &'a Specification,
    lines: LineCursor<'b>,
}

impl<'a: 'b, 'b> Cutter<'a, 'b> {
    /// Prepares a document.
    pub fn new(specification: &'a Specification, references: &'b [CitedPiece]) -> Cutter<'a, 'b> {
        Cutter { specification, lines: LineCursor::new(specification, references) }
    }

    /// Cuts a section.
    pub fn section(&mut self, section: &'a Section) -> SectionData<'a> {
        SectionData {
            id: &section.id,
            title: self.line(section.title_span),
            depth: section.depth,
            lines: section.spans().map(|span| self.line(span)).collect(),
        }
    }

    fn line(&mut self, span: Span) -> LineData<'a> {
        let text: &'a str = &self.specification.text;
        let whole = text.get(span.range()).unwrap_or_default();
        if !self.lines.go(span) {
            return LineData::Text(whole);
        }
        let mut parts = Vec::new();
        let done = self.lines.each_piece(span, |span, references| {
            // A match of bytes may end within a character.
            let text = text.get(span.range()).ok_or(())?;
            parts.push(if references.is_empty() { PieceData::Plain(text) } else { piece(text, references) });
            Ok(())
        });
        match done {
            Ok(()) => LineData::Pieces(parts),
            Err(()) => LineData::Text(whole),
        }
    }
}

fn piece<'a>(text: &'a str, references: &[&CitedPiece]) -> PieceData<'a> {
    let has = |kind: AnnotationKind| references.iter().any(|reference| reference.kind == kind);
    let numbers = |are_requirements: bool| {
        let wanted = references
            .iter()
            .filter(|reference| (reference.kind == AnnotationKind::Spec) == are_requirements);
        let mut found: Vec<u32> = wanted.map(|reference| reference.annotation).collect();
        found.sort_unstable();
        found.dedup();
        found
    };
    let is_excused = has(AnnotationKind::Exception) || has(AnnotationKind::Implication);
    let state = match (has(AnnotationKind::Citation), has(AnnotationKind::Test)) {
        _ if !has(AnnotationKind::Spec) => NO_REQUIREMENT,
        _ if is_excused => TraceStatus::Done.rank(),
        (true, true) => TraceStatus::Done.rank(),
        (true, false) => TraceStatus::NeedsTests.rank(),
        (false, true) => TraceStatus::InProgress.rank(),
        (false, false) => TraceStatus::NotStarted.rank(),
    };
    PieceData::Quoted(text, state, numbers(true), numbers(false))
}
