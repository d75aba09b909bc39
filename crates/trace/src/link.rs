//! Resolves annotations to the text they cite, or explains why they cannot be resolved.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use foldhash::fast::RandomState;

use crate::annotation::{Annotation, AnnotationKind, Level};
use crate::quote::Likeness;
use crate::specification::Specification;
use crate::text::Span;

/// A piece of a specification that an annotation cites, within one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CitedPiece {
    /// The number of the annotation.
    pub annotation: u32,
    /// The type of the annotation.
    pub kind: AnnotationKind,
    /// The level according to the annotation.
    pub level: Level,
    /// The section.
    pub section: u32,
    /// Its position in the specification.
    pub span: Span,
}

/// Why an annotation cannot be resolved.
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
    /// An earlier text of the managed requirement contains the quote, the current one does not.
    Stale(u32),
    /// The pinned version of the managed requirement does not exist.
    UnknownVersion(u32),
    /// The managed requirement was deleted or is obsolete.
    Gone(u32),
}

/// The text that an annotation cites.
#[derive(Clone, Debug, PartialEq)]
pub struct CitedPassage {
    /// The index of the section.
    pub section: u32,
    /// The position of the text, line by line; only the title if nothing is quoted.
    pub spans: Arc<[Span]>,
    /// How closely quote and text match.
    pub likeness: Likeness,
}

/// Resolves one annotation in its specification.
pub fn link(annotation: &Annotation, specification: &Specification) -> Result<CitedPassage, Broken> {
    match &specification.managed {
        Some(managed) => managed.link(annotation, specification),
        None => literal(annotation, specification),
    }
}

/// Resolves one annotation as Duvet does, without versions: a quote means its first occurrence.
pub fn literal(annotation: &Annotation, specification: &Specification) -> Result<CitedPassage, Broken> {
    let section = section(annotation, specification)?;
    match titled(annotation, specification, section) {
        Some(found) => Ok(found),
        None => quoted(&annotation.quote, specification, section),
    }
}

/// The quotes of a section that were searched, by address, with the results. Equal quotes that were read together
/// share an address; others are only searched once more.
type Quotes = HashMap<usize, Result<CitedPassage, Broken>, RandomState>;

/// Resolves many annotations, on any number of threads. Each quote is searched once in its section.
pub struct Linker<'a> {
    specifications: Vec<&'a Arc<Specification>>,
    /// For each specification the position of its first section.
    firsts: Vec<usize>,
    sections: Vec<Mutex<Quotes>>,
}

impl<'a> Linker<'a> {
    /// Starts with the specifications that annotations name by index.
    pub fn new(specifications: Vec<&'a Arc<Specification>>) -> Linker<'a> {
        let mut firsts = Vec::with_capacity(specifications.len());
        let mut n_sections = 0;
        for specification in &specifications {
            firsts.push(n_sections);
            n_sections += specification.sections.len();
        }
        Linker { specifications, firsts, sections: (0..n_sections).map(|_| Mutex::default()).collect() }
    }

    /// Resolves an annotation that names a specification. If it was extracted from that very text, its position is
    /// known.
    pub fn link(
        &self,
        annotation: &'a Annotation,
        target: u32,
        origin: Option<&Arc<Specification>>,
    ) -> Result<CitedPassage, Broken> {
        let specification = self.specifications[target as usize];
        let known = annotation.notes.as_ref().and_then(|notes| notes.known.as_ref());
        if let (Some(known), Some(origin)) = (known, origin)
            && Arc::ptr_eq(origin, specification)
        {
            let spans = known.spans.clone();
            return Ok(CitedPassage { section: known.section, spans, likeness: Likeness::Same });
        }
        if let Some(managed) = &specification.managed {
            return managed.link(annotation, specification);
        }
        let section = section(annotation, specification)?;
        if let Some(found) = titled(annotation, specification, section) {
            return Ok(found);
        }
        let quotes = &self.sections[self.firsts[target as usize] + section as usize];
        let mut quotes = quotes.lock().unwrap_or_else(PoisonError::into_inner);
        let quote = &annotation.quote;
        let address = quote.as_ptr().addr();
        quotes.entry(address).or_insert_with(|| quoted(quote, specification, section)).clone()
    }
}

impl std::fmt::Debug for Linker<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Linker").field("n_specifications", &self.specifications.len()).finish_non_exhaustive()
    }
}

fn section(annotation: &Annotation, specification: &Specification) -> Result<u32, Broken> {
    let id = annotation.target_section().ok_or(Broken::NoSection)?;
    specification.section(id).map(|section| section as u32).ok_or(Broken::UnknownSection)
}

/// An annotation without a quote refers to the section itself, and covers nothing.
fn titled(annotation: &Annotation, specification: &Specification, section: u32) -> Option<CitedPassage> {
    let title = specification.sections[section as usize].title_span;
    let found = || CitedPassage { section, spans: Arc::from([title]), likeness: Likeness::Same };
    annotation.quote.is_empty().then(found)
}

fn quoted(quote: &str, specification: &Specification, section: u32) -> Result<CitedPassage, Broken> {
    let view = specification.view(section as usize);
    if view.is_empty() {
        return Err(Broken::EmptySection(section));
    }
    let (range, likeness) = view.find(quote).ok_or(Broken::UnknownQuote(section))?;
    Ok(CitedPassage { section, spans: view.spans(range).collect(), likeness })
}
