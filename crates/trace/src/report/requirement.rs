//! Requirements of a document, and how far each of them is. Blanks do not count.

use std::collections::BTreeMap;

use super::TargetReport;
use crate::annotation::{Kind, Level};
use crate::coverage::{Coverage, union};
use crate::index::{Label, Status};
use crate::link::Reference;
use crate::specification::Specification;
use crate::text::Span;

/// A requirement and how far it is.
#[derive(Clone, Debug, Default)]
pub struct Requirement {
    /// The index of its section.
    pub section: u32,
    /// How binding it is.
    pub level: Level,
    /// Where it stands, line by line.
    pub spans: Vec<Span>,
    /// The annotations that say that it is a requirement.
    pub sources: Vec<u32>,
    /// How many of its bytes are covered and by what, blanks left out.
    pub coverage: Coverage,
    /// How many are cited, implied or left out for a reason.
    pub implemented: usize,
    /// How many are tested, implied or left out for a reason.
    pub tested: usize,
    /// How far it is.
    pub status: Status,
}

impl Requirement {
    /// The label that older reports give it.
    pub fn label(&self) -> Label {
        let coverage = &self.coverage;
        let is_all = |count: usize| count == coverage.spec;
        if coverage.spec == 0 {
            Label::Unknown
        } else if is_all(coverage.citation) && is_all(coverage.test) || is_all(coverage.implication) {
            Label::Complete
        } else if is_all(coverage.exception) {
            Label::Exception
        } else if is_all(coverage.citation) {
            Label::MissingTest
        } else if is_all(coverage.test) {
            Label::MissingCitation
        } else if coverage.todo > 0 {
            Label::NotStarted
        } else if is_all(coverage.incomplete) {
            Label::Unknown
        } else {
            Label::Partial
        }
    }

    /// Its text in one line.
    pub fn text(&self, specification: &Specification) -> String {
        let pieces = self.spans.iter().map(|span| specification.text.get(span.range()).unwrap_or_default());
        let pieces: Vec<&str> = pieces.flat_map(str::split_whitespace).collect();
        pieces.join(" ")
    }

    /// 64 hexadecimal digits of its text, the same wherever it stands.
    pub fn identifier(&self, specification: &Specification) -> String {
        blake3::hash(self.text(specification).as_bytes()).to_hex().to_string()
    }
}

/// Finds the requirements of a document. One that several annotations name is one, of the highest level.
pub fn find(target: &TargetReport) -> Vec<Requirement> {
    let mut found: BTreeMap<(u32, Vec<Span>), (Level, Vec<u32>)> = BTreeMap::new();
    for pieces in target.references.chunk_by(|first, second| first.annotation == second.annotation) {
        if pieces[0].kind == Kind::Spec {
            let spans = pieces.iter().map(|piece| piece.span).collect();
            let (level, sources) = found.entry((pieces[0].section, spans)).or_default();
            *level = pieces[0].level.max(*level);
            sources.push(pieces[0].annotation);
        }
    }
    let mut others: Vec<&Reference> =
        target.references.iter().filter(|reference| reference.kind != Kind::Spec).collect();
    others.sort_by_key(|reference| (reference.span.start, reference.annotation));
    let longest = others.iter().map(|reference| reference.span.len() as u32).max().unwrap_or(0);

    let text = &target.specification.text;
    let measured = found.into_iter().map(|((section, spans), (level, sources))| {
        let covered = covered(&spans, &others, longest);
        measure(Requirement { section, level, spans, sources, ..Requirement::default() }, covered, text)
    });
    let mut requirements: Vec<Requirement> = measured.collect();
    requirements.sort_by(|first, second| first.spans.cmp(&second.spans));
    requirements
}

/// Finds what annotations cover of a text: the spans of each kind, and the annotations.
fn covered(spans: &[Span], others: &[&Reference], longest: u32) -> ([Vec<Span>; 6], Vec<u32>) {
    let mut by_kind: [Vec<Span>; 6] = Default::default();
    let mut related = Vec::new();
    for piece in spans {
        let first = others.partition_point(|other| other.span.start + longest <= piece.start);
        for other in others[first..].iter().take_while(|other| other.span.start < piece.end) {
            let span = Span { start: other.span.start.max(piece.start), end: other.span.end.min(piece.end) };
            if span.start < span.end {
                by_kind[other.kind as usize].push(span);
                related.push(other.annotation);
            }
        }
    }
    related.sort_unstable();
    related.dedup();
    (by_kind.map(union), related)
}

fn measure(of: Requirement, (by_kind, related): ([Vec<Span>; 6], Vec<u32>), text: &str) -> Requirement {
    let count = |spans: &[Span]| -> usize { spans.iter().map(|span| letters(*span, text)).sum() };
    let [_, test, citation, exception, todo, implication] = by_kind;
    let excused = [&*exception, &*implication].concat();
    let implemented = count(&union([&*citation, &*excused].concat()));
    let tested = count(&union([&*test, &*excused].concat()));
    let any = count(&union([&*citation, &*test, &*excused].concat()));
    let all = count(&union(of.spans.clone()));
    let status = match (implemented >= all, tested >= all) {
        _ if any == 0 => Status::NotStarted,
        (true, true) => Status::Done,
        (true, false) => Status::NeedsTests,
        (false, _) => Status::InProgress,
    };
    let coverage = Coverage {
        spec: all,
        incomplete: all - any.min(all),
        citation: count(&citation),
        implication: count(&implication),
        test: count(&test),
        exception: count(&exception),
        todo: count(&todo),
        related,
    };
    Requirement { coverage, implemented, tested, status, ..of }
}

/// Counts the bytes that are no blanks.
fn letters(span: Span, text: &str) -> usize {
    text.as_bytes()[span.range()].iter().filter(|byte| !byte.is_ascii_whitespace()).count()
}
