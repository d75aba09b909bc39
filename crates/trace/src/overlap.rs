//! Computes which parts of a text are covered: the only computation behind reports, statuses and checks.
//!
//! There are two measures. *Literal* counts bytes, as Duvet does, because its reports compare byte for byte.
//! *Meaning* ignores white space and list markers, which nobody implements.

use crate::annotation::AnnotationKind;
use crate::meaning;
use crate::text::Span;

/// A cited piece of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cover {
    /// Where it stands.
    pub span: Span,
    /// The citing annotation, by a number of the caller.
    pub by: u32,
    /// Its type.
    pub kind: AnnotationKind,
}

/// The covers of a document, sorted for lookup.
#[derive(Debug, Default)]
pub struct Covers {
    ordered: Vec<Cover>,
    longest: u32,
}

impl Covers {
    /// Orders covers.
    pub fn new(mut covers: Vec<Cover>) -> Covers {
        covers.sort_unstable_by_key(|cover| (u64::from(cover.span.start) << 32) | u64::from(cover.by));
        let longest = covers.iter().map(|cover| cover.span.len() as u32).max().unwrap_or(0);
        Covers { ordered: covers, longest }
    }

    /// Calls `found` with every part of a text that a cover shares, piece by piece.
    pub fn each(&self, text: &[Span], mut found: impl FnMut(Span, &Cover)) {
        for piece in text {
            let first = self.ordered.partition_point(|cover| cover.span.start + self.longest <= piece.start);
            for cover in self.ordered[first..].iter().take_while(|cover| cover.span.start < piece.end) {
                let shared =
                    Span { start: cover.span.start.max(piece.start), end: cover.span.end.min(piece.end) };
                if shared.start < shared.end {
                    found(shared, cover);
                }
            }
        }
    }

    /// Returns what covers a text.
    pub fn over(&self, text: &[Span]) -> Overlap {
        let mut overlap = Overlap { text: union(text.to_vec()), ..Overlap::default() };
        self.each(text, |shared, cover| {
            overlap.parts[cover.kind as usize].push(shared);
            overlap.by.push(cover.by);
        });
        for parts in &mut overlap.parts {
            *parts = union(std::mem::take(parts));
        }
        overlap.by.sort_unstable();
        overlap.by.dedup();
        overlap
    }
}

/// What covers a text.
#[derive(Clone, Debug, Default)]
pub struct Overlap {
    /// Who covers any of it, in order.
    pub by: Vec<u32>,
    text: Vec<Span>,
    parts: [Vec<Span>; 6],
}

/// How bytes are counted.
#[derive(Clone, Copy, Debug)]
pub enum Weight<'a> {
    /// Bytes.
    Literal,
    /// Bytes that are neither white space nor a list marker.
    Meaning(&'a str),
}

impl Overlap {
    /// Counts the whole text.
    pub fn whole(&self, weight: Weight<'_>) -> usize {
        weight.of(&self.text)
    }

    /// Counts the bytes that any of some types covers.
    pub fn covered(&self, kinds: &[AnnotationKind], weight: Weight<'_>) -> usize {
        match kinds {
            [kind] => weight.of(&self.parts[*kind as usize]),
            _ => weight.of(&self.union_of(kinds)),
        }
    }

    /// Whether any of some kinds covers something.
    pub fn is_touched(&self, kinds: &[AnnotationKind]) -> bool {
        kinds.iter().any(|kind| !self.parts[*kind as usize].is_empty())
    }

    /// Returns the parts that none of some types covers.
    pub fn rest(&self, kinds: &[AnnotationKind]) -> Vec<Span> {
        let mut rest = Vec::new();
        let covered = self.union_of(kinds);
        for piece in &self.text {
            let mut start = piece.start;
            for cover in covered.iter().filter(|cover| cover.start < piece.end && piece.start < cover.end) {
                if start < cover.start {
                    rest.push(Span { start, end: cover.start });
                }
                start = cover.end.max(start);
            }
            if start < piece.end {
                rest.push(Span { start, end: piece.end });
            }
        }
        rest
    }

    fn union_of(&self, kinds: &[AnnotationKind]) -> Vec<Span> {
        union(kinds.iter().flat_map(|kind| self.parts[*kind as usize].iter().copied()).collect())
    }
}

impl Weight<'_> {
    fn of(self, spans: &[Span]) -> usize {
        match self {
            Weight::Literal => spans.iter().map(|span| span.len()).sum(),
            Weight::Meaning(document) => spans.iter().map(|span| letters(*span, document)).sum(),
        }
    }
}

/// Counts the bytes of characters that are neither blank nor the mark of a list.
fn letters(span: Span, document: &str) -> usize {
    let bytes = &document.as_bytes()[meaning::unmarked(document, span).range()];
    if bytes.is_ascii() {
        return bytes.iter().filter(|byte| !byte.is_ascii_whitespace()).count();
    }
    let text = String::from_utf8_lossy(bytes);
    text.chars().filter(|character| !character.is_whitespace()).map(char::len_utf8).sum()
}

/// Joins spans that overlap or touch.
fn union(mut spans: Vec<Span>) -> Vec<Span> {
    if spans.len() < 2 {
        return spans;
    }
    spans.sort_unstable();
    let mut joined: Vec<Span> = Vec::with_capacity(spans.len());
    for span in spans {
        match joined.last_mut() {
            Some(last) if span.start <= last.end => last.end = last.end.max(span.end),
            _ => joined.push(span),
        }
    }
    joined
}

/// How many bytes of a requirement are covered, and by what: the literal figures of JSON reports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// All of the requirement.
    pub spec: usize,
    /// What no citation, test, implication or exception covers.
    pub incomplete: usize,
    /// Cited as implemented.
    pub citation: usize,
    /// Implied.
    pub implication: usize,
    /// Tested.
    pub test: usize,
    /// Left out for a reason.
    pub exception: usize,
    /// To do.
    pub todo: usize,
    /// The annotations that cover any of it, by number.
    pub related: Vec<u32>,
}

impl Coverage {
    /// Counts an overlap literally.
    pub fn literal(overlap: Overlap) -> Coverage {
        const COMPLETING: &[AnnotationKind] = &[
            AnnotationKind::Test,
            AnnotationKind::Citation,
            AnnotationKind::Exception,
            AnnotationKind::Implication,
        ];
        let count = |kinds: &[AnnotationKind]| overlap.covered(kinds, Weight::Literal);
        let spec = overlap.whole(Weight::Literal);
        Coverage {
            spec,
            incomplete: spec - count(COMPLETING),
            citation: count(&[AnnotationKind::Citation]),
            implication: count(&[AnnotationKind::Implication]),
            test: count(&[AnnotationKind::Test]),
            exception: count(&[AnnotationKind::Exception]),
            todo: count(&[AnnotationKind::Todo]),
            related: overlap.by,
        }
    }
}
