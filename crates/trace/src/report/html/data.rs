//! The data of the page. Names are short because they repeat thousands of times.

use std::collections::HashMap;

use serde::Serialize;

use super::Page;
use crate::annotation::Kind;
use crate::diagnostic::Place;
use crate::link::Reference;
use crate::report::document::{Document, Requirement, State};
use crate::report::{of_line, pieces};
use crate::specification::Section;
use crate::text::Span;

/// Everything.
#[derive(Serialize)]
pub struct Data<'a> {
    title: &'a str,
    blob_link: Option<&'a str>,
    issue_link: Option<&'a str>,
    styles: Vec<StyleData<'a>>,
    problems: Vec<ProblemData<'a>>,
    /// Path, and where it can be looked at if not where the others are.
    files: Vec<(&'a str, Option<&'a str>)>,
    annotations: Vec<AnnotationData<'a>>,
    specifications: Vec<SpecificationData<'a>>,
}

#[derive(Serialize)]
struct StyleData<'a> {
    meta: &'a str,
    content: &'a str,
    kind: &'static str,
    patterns: &'a [String],
}

#[derive(Serialize)]
struct ProblemData<'a> {
    is_error: bool,
    code: &'static str,
    message: &'a str,
    places: Vec<PlaceData<'a>>,
    help: &'a [String],
}

#[derive(Serialize)]
struct PlaceData<'a> {
    path: &'a str,
    line: u32,
    column: u32,
    width: u32,
    excerpt: &'a str,
    label: &'a str,
}

/// An annotation that is no requirement.
#[derive(Serialize)]
struct AnnotationData<'a> {
    /// The index of the file.
    f: u32,
    /// The line.
    l: u32,
    /// The type.
    k: &'static str,
    #[serde(skip_serializing_if = "str::is_empty")]
    reason: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    feature: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    issue: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tags: Vec<&'a str>,
}

#[derive(Serialize)]
struct SpecificationData<'a> {
    id: &'a str,
    name: &'a str,
    /// How annotations name it.
    target: &'a str,
    path: String,
    is_markdown: bool,
    requirements: Vec<RequirementData>,
    sections: Vec<SectionData<'a>>,
}

#[derive(Serialize)]
struct RequirementData {
    /// The start of its identifier.
    id: String,
    /// The index of its section.
    s: u32,
    /// The level.
    l: &'static str,
    /// The state, as a digit.
    t: usize,
    /// The label.
    d: &'static str,
    /// The percentages that are implemented and tested.
    p: (u8, u8),
    /// The annotations that cover any of it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    a: Vec<u32>,
}

#[derive(Serialize)]
struct SectionData<'a> {
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
const NO_REQUIREMENT: usize = State::ALL.len();

/// How many digits of an identifier are told.
const IDENTIFIER_LENGTH: usize = 8;

impl<'a> Data<'a> {
    /// Collects what the page shows.
    pub fn new(page: &'a Page<'a>, documents: &'a [Document]) -> Data<'a> {
        let report = page.report;
        let mut numbers = HashMap::new();
        let mut annotations = Vec::new();
        for (number, numbered) in report.annotations.iter().enumerate() {
            let annotation = &numbered.annotation;
            if annotation.kind == Kind::Spec {
                continue;
            }
            numbers.insert(number as u32, annotations.len() as u32);
            let notes = annotation.notes.as_deref();
            annotations.push(AnnotationData {
                f: numbered.file,
                l: annotation.line,
                k: annotation.kind.name(),
                reason: annotation.comment(),
                feature: notes.map_or("", |notes| &notes.feature),
                issue: notes.map_or("", |notes| &notes.tracking_issue),
                tags: notes.iter().flat_map(|notes| &notes.tags).map(String::as_str).collect(),
            });
        }
        Data {
            title: &page.title,
            blob_link: report.blob_link.as_deref(),
            issue_link: report.issue_link.as_deref(),
            styles: page
                .styles
                .iter()
                .map(|used| StyleData {
                    meta: &used.style.meta,
                    content: &used.style.content,
                    kind: used.default_kind.name(),
                    patterns: &used.patterns,
                })
                .collect(),
            problems: page
                .diagnostics
                .iter()
                .map(|problem| ProblemData {
                    is_error: problem.is_error(),
                    code: problem.code.name(),
                    message: &problem.message,
                    places: problem.places.iter().map(place).collect(),
                    help: &problem.help,
                })
                .collect(),
            files: report.files.iter().map(|file| (&*file.path, file.blob_link.as_deref())).collect(),
            annotations,
            specifications: documents.iter().map(|document| specification(document, &numbers)).collect(),
        }
    }
}

fn place(place: &Place) -> PlaceData<'_> {
    PlaceData {
        path: &place.path,
        line: place.line,
        column: place.column,
        width: place.width,
        excerpt: &place.excerpt,
        label: &place.label,
    }
}

fn specification<'a>(document: &'a Document, numbers: &HashMap<u32, u32>) -> SpecificationData<'a> {
    let specification = &document.target.specification;
    let renumber =
        |related: &[u32]| related.iter().filter_map(|number| numbers.get(number).copied()).collect();
    let requirements = document.requirements.iter().map(|requirement| RequirementData {
        id: requirement.identifier(specification)[..IDENTIFIER_LENGTH].to_owned(),
        s: requirement.section,
        l: requirement.level.name(),
        t: requirement.state as usize,
        d: requirement.label(),
        p: (percent(requirement, requirement.implemented), percent(requirement, requirement.tested)),
        a: renumber(&requirement.coverage.related),
    });
    let cutter = Cutter::new(document, numbers);
    SpecificationData {
        id: &document.id,
        name: &document.name,
        target: &document.target.name,
        path: document.path.to_string_lossy().into_owned(),
        is_markdown: specification.format == crate::Format::Markdown,
        requirements: requirements.collect(),
        sections: specification.sections.iter().map(|section| cutter.section(section)).collect(),
    }
}

/// Only all of it is 100 %.
fn percent(requirement: &Requirement, count: usize) -> u8 {
    (count * 100 / requirement.coverage.spec.max(1)).min(100) as u8
}

/// Cuts lines into pieces.
struct Cutter<'a, 'b> {
    document: &'a Document,
    numbers: &'b HashMap<u32, u32>,
    by_line: Vec<(u32, u32)>,
    /// The requirement that an annotation names.
    requirements: HashMap<u32, u32>,
}

impl<'a, 'b> Cutter<'a, 'b> {
    fn new(document: &'a Document, numbers: &'b HashMap<u32, u32>) -> Cutter<'a, 'b> {
        let requirements = document.requirements.iter().enumerate();
        let requirements = requirements.flat_map(|(index, requirement)| {
            requirement.sources.iter().map(move |source| (*source, index as u32))
        });
        Cutter { document, numbers, by_line: document.target.by_line(), requirements: requirements.collect() }
    }

    fn section(&self, section: &'a Section) -> SectionData<'a> {
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
            _ if is_excused => State::Done as usize,
            (true, true) => State::Done as usize,
            (true, false) => State::NeedsTests as usize,
            (false, true) => State::InProgress as usize,
            (false, false) => State::NotStarted as usize,
        };
        PieceData::Quoted(text, state, numbers(&self.requirements), numbers(self.numbers))
    }
}
