//! The citable units of a managed requirement.

use std::sync::Arc;

use crate::annotation::Level;
use crate::extract;
use crate::meaning;
use crate::specification::{Section, Specification};
use crate::text::{Span, fingerprint};

use super::document;

/// A citable unit: a sentence with a keyword, or the whole text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    /// Its text in one line, with single spaces.
    pub text: String,
    /// Its level.
    pub level: Level,
    /// The first 32 hexadecimal digits of the BLAKE3 hash of its text.
    pub hash: String,
}

/// How a text is split into units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Granularity {
    /// Each sentence with MUST, SHALL, SHOULD or the like is a unit; without any, the whole text is one.
    Sentences,
    /// The text is one unit.
    Whole,
}

/// Assembles the text of a requirement: its description, or its title if it has none.
pub fn text_of<'a>(title: &'a str, description: &'a str) -> &'a str {
    if description.trim().is_empty() { title } else { description }
}

/// Splits a text in Markdown into units, in order.
pub fn units(text: &str, granularity: Granularity) -> Vec<Unit> {
    let specification = document::parse("", text);
    let found = placed(&specification, granularity);
    found.iter().map(|(spans, level)| Unit::new(&specification, spans, *level)).collect()
}

impl Unit {
    /// Describes a unit that stands somewhere in a document.
    pub(super) fn new(specification: &Specification, spans: &[Span], level: Level) -> Unit {
        let text = text(specification, spans);
        Unit { hash: fingerprint(&text), text, level }
    }
}

/// The text of some pieces of a document in one line, with single spaces and without list markers.
pub(crate) fn text(specification: &Specification, spans: &[Span]) -> String {
    let document = &specification.text;
    let pieces = spans.iter().map(|span| meaning::unmarked(document, *span).of_text(document));
    pieces.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ")
}

/// The same as a quote, which keeps list markers.
pub(super) fn quote(specification: &Specification, spans: &[Span]) -> String {
    let pieces: Vec<&str> = spans.iter().map(|span| span.of_text(&specification.text)).collect();
    pieces.join(" ")
}

/// Finds the units of a document, with positions and levels.
pub(super) fn placed(specification: &Specification, granularity: Granularity) -> Vec<(Arc<[Span]>, Level)> {
    let Some(section) = specification.sections.first() else {
        return Vec::new();
    };
    let mut found = match granularity {
        Granularity::Sentences => {
            let sentences = extract::requirements(specification, section).into_iter();
            let meant = sentences.flat_map(|sentence| {
                let spans: Arc<[Span]> = sentence.spans.into();
                meaning::requirements(specification, section, &spans, sentence.level)
            });
            meant.collect()
        }
        Granularity::Whole => Vec::new(),
    };
    if found.is_empty() {
        found.extend(whole(specification, section));
    }
    found
}

/// A whole section as one unit.
fn whole(specification: &Specification, section: &Section) -> Option<(Arc<[Span]>, Level)> {
    let text = &specification.text;
    let lines = section.spans().map(|line| Span::of(line.of_text(text).trim(), text));
    let mut spans: Vec<Span> = lines.filter(|span| !span.is_empty()).collect();
    if let Some(first) = spans.first_mut() {
        *first = meaning::unmarked(text, *first);
    }
    spans.retain(|span| !span.is_empty());
    let level = spans.iter().filter_map(|span| extract::level(span.of_text(text))).max().unwrap_or_default();
    (!spans.is_empty()).then(|| (spans.into(), level))
}
