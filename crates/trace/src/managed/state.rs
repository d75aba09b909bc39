//! The state of a citation of a managed requirement.

use std::ops::Range;
use std::sync::Arc;

use crate::annotation::{Annotation, AnnotationKind};
use crate::link::{Broken, CitedPassage};
use crate::overlap::{Cover, Covers};
use crate::quote::normalize::normalize;
use crate::quote::{Likeness, near};
use crate::specification::Specification;
use crate::text::Span;

use super::document::{EarlierText, ManagedDocument, SECTION};
use super::unit::{self, Unit};
use super::{Gone, ManagedName};

/// The state of a citation of a managed requirement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CitationState {
    /// It is current.
    Current,
    /// Its quote occurs only in an earlier text.
    Stale {
        /// The last version with the quote.
        quoted: u64,
        /// The version in which the text last changed.
        current: u64,
    },
    /// It pins a version before the last change of the text.
    Suspect {
        /// The pinned version.
        pinned: u64,
        /// The version in which the text last changed.
        current: u64,
    },
    /// Its quote occurs in no text, or the pinned version does not exist.
    Broken,
    /// The requirement no longer applies.
    Gone(Gone),
}

impl CitationState {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            CitationState::Current => "current",
            CitationState::Stale { .. } => "stale",
            CitationState::Suspect { .. } => "suspect",
            CitationState::Broken => "broken",
            CitationState::Gone(_) => "gone",
        }
    }
}

/// The quote to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Renewed {
    /// The text to quote; empty if the citation has no quote.
    pub quote: String,
    /// The difference between both quotes, word by word.
    pub difference: String,
}

impl ManagedDocument {
    /// Resolves a citation: to all occurrences of its quote, or to all units if it pins a version without
    /// a quote.
    pub fn link(
        &self,
        annotation: &Annotation,
        specification: &Specification,
    ) -> Result<CitedPassage, Broken> {
        let id = annotation.target_section().ok_or(Broken::NoSection)?;
        let section = specification.section(id).ok_or(Broken::UnknownSection)? as u32;
        if self.gone.is_some() {
            return Err(Broken::Gone(section));
        }
        let pinned = pinned(annotation);
        if pinned.is_some_and(|pinned| pinned > self.version) {
            return Err(Broken::UnknownVersion(section));
        }
        let found = |spans: Arc<[Span]>| CitedPassage { section, spans, likeness: Likeness::Same };
        if annotation.quote.is_empty() {
            return Ok(found(match pinned {
                Some(_) => self.units.iter().flat_map(|(spans, _)| spans.iter().copied()).collect(),
                None => Arc::from([specification.sections[section as usize].title_span]),
            }));
        }
        if specification.view(section as usize).is_empty() {
            return Err(Broken::EmptySection(section));
        }
        let places = places(specification, section, &annotation.quote);
        if !places.is_empty() && !self.is_outgrown(&annotation.quote, specification) {
            let mut spans = places.concat();
            spans.sort_unstable();
            spans.dedup();
            return Ok(found(spans.into()));
        }
        Err(match self.last_with(&annotation.quote) {
            Some(_) => Broken::Stale(section),
            None => Broken::UnknownQuote(section),
        })
    }

    /// Determines the state of a citation.
    pub fn state(&self, annotation: &Annotation, specification: &Specification) -> CitationState {
        let current = self.content_version;
        match self.link(annotation, specification) {
            Ok(_) => match pinned(annotation) {
                Some(pinned) if pinned < current => CitationState::Suspect { pinned, current },
                _ => CitationState::Current,
            },
            Err(Broken::Gone(_)) => CitationState::Gone(self.gone.unwrap_or(Gone::Deleted)),
            Err(Broken::Stale(_)) => match self.last_with(&annotation.quote) {
                Some(earlier) => CitationState::Stale { quoted: earlier.version, current },
                None => CitationState::Broken,
            },
            Err(_) => CitationState::Broken,
        }
    }

    /// How often a quote occurs in the text.
    pub fn n_occurrences(&self, quote: &str, specification: &Specification) -> usize {
        specification.section(SECTION).map_or(0, |section| places(specification, section as u32, quote).len())
    }

    /// Finds the quote to write: the sentence that replaced the quoted one, or the nearest one.
    pub fn renew(&self, quote: &str, specification: &Specification) -> Option<Renewed> {
        if quote.is_empty() {
            return Some(Renewed { quote: String::new(), difference: String::new() });
        }
        let quotes = self.quotes(specification);
        let successor = self.last_with(quote).and_then(|earlier| {
            let number = self.successor(earlier, quote, &self.units(specification))?;
            Some(quotes[number].as_str())
        });
        let text = successor.or_else(|| near::nearest_of(quote, quotes.iter().map(String::as_str)))?;
        Some(Renewed { quote: text.to_owned(), difference: near::difference(quote, text) })
    }

    /// The units of the last text with a quote that it covers, fully or partly, and that are not in the current text.
    pub(crate) fn quoted_before(&self, quote: &str, present: &[Unit]) -> Vec<Unit> {
        let Some(specification) = self.last_with(quote).map(EarlierText::specification) else {
            return Vec::new();
        };
        let Some(section) = specification.section(SECTION) else { return Vec::new() };
        let kind = AnnotationKind::Citation;
        let quoted = places(specification, section as u32, quote).concat().into_iter();
        let covers = Covers::new(quoted.map(|span| Cover { span, by: 0, kind }).collect());
        let placed = unit::placed(specification, self.kind.granularity());
        let quoted = placed.iter().filter(|(spans, _)| covers.over(spans).is_touched(&[kind]));
        let quoted = quoted.map(|(spans, level)| Unit::new(specification, spans, *level));
        quoted.filter(|unit| present.iter().all(|other| other.hash != unit.hash)).collect()
    }

    /// How the whole text differs from the one of a version.
    pub(super) fn difference_since(&self, version: u64, specification: &Specification) -> Option<String> {
        let earlier = self.earlier().iter().rev().find(|text| text.version <= version)?.specification();
        let of = |specification: &Specification| {
            Some(specification.view(specification.section(SECTION)?).text.clone())
        };
        Some(near::difference(&of(earlier)?, &of(specification)?))
    }

    /// Whether a quote was a whole unit before and is only part of one now: `Links MUST expire.` in a sentence that
    /// starts with `Old` has another meaning now.
    fn is_outgrown(&self, quote: &str, specification: &Specification) -> bool {
        if self.earlier().is_empty() {
            return false;
        }
        let quote = normalize(quote);
        let is_unit = |units: Vec<Unit>| units.iter().any(|unit| normalize(&unit.text) == quote);
        !is_unit(self.units(specification)) && self.earlier().iter().any(|text| is_unit(self.units_of(text)))
    }

    /// The last earlier text with a quote.
    fn last_with(&self, quote: &str) -> Option<&EarlierText> {
        self.earlier().iter().rev().find(|text| has(text.specification(), quote))
    }

    fn units_of(&self, earlier: &EarlierText) -> Vec<Unit> {
        let specification = earlier.specification();
        let placed = unit::placed(specification, self.kind.granularity());
        placed.iter().map(|(spans, level)| Unit::new(specification, spans, *level)).collect()
    }

    /// Finds the unit that replaced one of an earlier text. Returns its position.
    fn successor(&self, earlier: &EarlierText, quote: &str, units: &[Unit]) -> Option<usize> {
        let before = self.units_of(earlier);
        let is_new = |unit: &&Unit| before.iter().all(|old| old.hash != unit.hash);
        let new: Vec<&Unit> = units.iter().filter(is_new).collect();
        let n_removed = before.iter().filter(|old| units.iter().all(|unit| unit.hash != old.hash)).count();
        let text = match (new.as_slice(), n_removed) {
            ([one], 1) => &one.text,
            _ => near::nearest_of(quote, new.iter().map(|unit| unit.text.as_str()))?,
        };
        units.iter().position(|unit| unit.text == *text)
    }
}

/// Whether a document has a quote.
fn has(specification: &Specification, quote: &str) -> bool {
    let section = specification.section(SECTION);
    section.is_some_and(|section| !places(specification, section as u32, quote).is_empty())
}

/// Finds the occurrences of a quote, with the pieces of each. One without list markers is found, too.
fn places(specification: &Specification, section: u32, quote: &str) -> Vec<Vec<Span>> {
    let view = specification.view(section as usize);
    let found = view.find_all(quote);
    if !found.is_empty() {
        return found.into_iter().map(|range: Range<usize>| view.spans(range).collect()).collect();
    }
    let view = specification.unmarked_view(section as usize);
    view.find_all(quote).into_iter().map(|range| view.spans(range).collect()).collect()
}

/// The version that a citation pins.
fn pinned(annotation: &Annotation) -> Option<u64> {
    // Few citations do.
    annotation.target.contains('@').then(|| ManagedName::parse(&annotation.target).ok()?.version).flatten()
}
