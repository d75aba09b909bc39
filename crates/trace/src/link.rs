//! Finds the text that each annotation speaks of, and what is wrong with those that speak of none.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState;

use crate::annotation::{Annotation, Kind, Level};
use crate::quote::Likeness;
use crate::specification::Specification;
use crate::text::Span;

/// A piece of a specification that an annotation speaks of, within one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference {
    /// The number of the annotation.
    pub annotation: u32,
    /// What the annotation says of it.
    pub kind: Kind,
    /// How binding the annotation says it is.
    pub level: Level,
    /// The section.
    pub section: u32,
    /// Where it stands in the specification.
    pub span: Span,
}

/// Why an annotation speaks of nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    /// It names no section.
    NoSection,
    /// Its specification has no such section.
    UnknownSection,
    /// The section has no text.
    EmptySection(u32),
    /// The section does not have the quote.
    UnknownQuote(u32),
}

/// What an annotation speaks of: the section, the places in it, and how alike quote and text are.
pub type Found = (u32, Arc<[Span]>, Likeness);

/// Where a quote is in a section.
type Match = (Arc<[Span]>, Likeness);

/// Finds what annotations speak of in one specification. The same quote is looked for once.
#[derive(Debug)]
pub struct Linker<'a> {
    specification: &'a Specification,
    sections: HashMap<&'a str, Option<u32>, RandomState>,
    quotes: HashMap<(u32, &'a str), Option<Match>, RandomState>,
}

impl<'a> Linker<'a> {
    /// Starts with a specification.
    pub fn new(specification: &'a Specification) -> Linker<'a> {
        Linker { specification, sections: HashMap::default(), quotes: HashMap::default() }
    }

    /// Finds what an annotation speaks of.
    pub fn link(&mut self, annotation: &'a Annotation) -> Result<Found, Broken> {
        let specification = self.specification;
        let id = annotation.target_section().ok_or(Broken::NoSection)?;
        let section = self
            .sections
            .entry(id)
            .or_insert_with(|| specification.section(id).map(|section| section as u32))
            .ok_or(Broken::UnknownSection)?;
        if annotation.quote.is_empty() {
            // It points at the section itself, and covers nothing.
            let title = specification.sections[section as usize].title_span;
            return Ok((section, Arc::from([title]), Likeness::Same));
        }
        let view = specification.view(section as usize);
        if view.is_empty() {
            return Err(Broken::EmptySection(section));
        }
        let found = self.quotes.entry((section, &annotation.quote)).or_insert_with(|| {
            view.find(&annotation.quote).map(|(range, likeness)| (view.spans(range).collect(), likeness))
        });
        match found {
            Some((spans, likeness)) => Ok((section, spans.clone(), *likeness)),
            None => Err(Broken::UnknownQuote(section)),
        }
    }
}

/// Finds what one annotation speaks of in its specification.
pub fn link(annotation: &Annotation, specification: &Specification) -> Result<Found, Broken> {
    Linker::new(specification).link(annotation)
}
