//! How much of each requirement the other annotations cover, byte by byte.

use std::collections::BTreeMap;

use crate::annotation::Kind;
use crate::link::Reference;
use crate::text::Span;

/// How many bytes of a requirement are covered, and by what.
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

/// Measures the requirements among the references to one specification, which must be ordered by annotation.
pub fn measure(references: &[Reference]) -> BTreeMap<u32, Coverage> {
    let mut others: Vec<&Reference> =
        references.iter().filter(|reference| reference.kind != Kind::Spec).collect();
    others.sort_by_key(|reference| (reference.span.start, reference.annotation));
    let longest = others.iter().map(|reference| reference.span.len() as u32).max().unwrap_or(0);

    let requirements = references.chunk_by(|first, second| first.annotation == second.annotation);
    let requirements = requirements.filter(|pieces| pieces[0].kind == Kind::Spec);
    requirements.map(|pieces| (pieces[0].annotation, cover(pieces, &others, longest))).collect()
}

fn cover(pieces: &[Reference], others: &[&Reference], longest: u32) -> Coverage {
    let mut spans: [Vec<Span>; 6] = Default::default();
    let mut related = Vec::new();
    for piece in pieces.iter().map(|piece| piece.span) {
        spans[Kind::Spec as usize].push(piece);
        let first = others.partition_point(|other| other.span.start + longest <= piece.start);
        for other in others[first..].iter().take_while(|other| other.span.start < piece.end) {
            let span = Span { start: other.span.start.max(piece.start), end: other.span.end.min(piece.end) };
            if span.start < span.end {
                spans[other.kind as usize].push(span);
                related.push(other.annotation);
            }
        }
    }
    related.sort_unstable();
    related.dedup();
    let [spec, test, citation, exception, todo, implication] = spans.map(union);
    let done = union([&*test, &*citation, &*exception, &*implication].concat());
    Coverage {
        spec: length(&spec),
        // Everything was cut to the requirement.
        incomplete: length(&spec) - length(&done),
        citation: length(&citation),
        implication: length(&implication),
        test: length(&test),
        exception: length(&exception),
        todo: length(&todo),
        related,
    }
}

/// Joins spans that overlap or touch.
pub fn union(mut spans: Vec<Span>) -> Vec<Span> {
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

/// Counts the bytes of spans that do not overlap.
pub fn length(spans: &[Span]) -> usize {
    spans.iter().map(|span| span.len()).sum()
}
