//! The units of a managed requirement: what can be cited of it.

use std::sync::Arc;

use crate::annotation::Level;
use crate::extract;
use crate::meaning;
use crate::specification::{Section, Specification};
use crate::text::{Span, fingerprint};

use super::document;

/// What can be cited: a sentence that requires something, or the whole text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    /// Its text in one line, with single blanks.
    pub text: String,
    /// How binding it is.
    pub level: Level,
    /// The first 32 hexadecimal digits of the BLAKE3 hash of its text.
    pub hash: String,
}

/// How a text is cut into units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Granularity {
    /// Each sentence with MUST, SHALL, SHOULD or the like is a unit; a text without any is one.
    Sentences,
    /// The text is one unit.
    Whole,
}

/// Puts the text of a requirement together: its description, or its title if it has none.
pub fn text_of<'a>(title: &'a str, description: &'a str) -> &'a str {
    if description.trim().is_empty() { title } else { description }
}

/// Cuts a text in Markdown into units, in its order.
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

/// The text of some pieces of a document in one line, with single blanks and without the marks of lists.
pub(crate) fn text(specification: &Specification, spans: &[Span]) -> String {
    let document = &specification.text;
    let pieces = spans.iter().map(|span| meaning::unmarked(document, *span).of_text(document));
    pieces.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ")
}

/// The same as a quote of it, which has the marks of lists.
pub(super) fn quote(specification: &Specification, spans: &[Span]) -> String {
    let pieces: Vec<&str> = spans.iter().map(|span| span.of_text(&specification.text)).collect();
    pieces.join(" ")
}

/// Finds the units of a document: where each stands, and how binding it is.
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

/// All of a section as one unit.
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
