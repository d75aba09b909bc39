//! Finds the text that each annotation speaks of, and what is wrong with those that speak of none.

use rayon::prelude::*;

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

/// What became of an annotation.
#[derive(Clone, Debug)]
pub enum Link {
    /// It speaks of this, in this section; exactly or nearly.
    Found(u32, Vec<Span>, Likeness),
    /// It speaks of nothing.
    Broken(Broken),
}

/// Finds what an annotation speaks of in its specification.
pub fn link(annotation: &Annotation, specification: &Specification) -> Link {
    let Some(id) = annotation.target_section() else {
        return Link::Broken(Broken::NoSection);
    };
    let Some(section) = specification.section(id) else {
        return Link::Broken(Broken::UnknownSection);
    };
    let number = section as u32;
    if annotation.quote.is_empty() {
        // It points at the section itself, and covers nothing.
        let title = specification.sections[section].title_span;
        return Link::Found(number, vec![title], Likeness::Same);
    }
    let view = specification.view(section);
    if view.is_empty() {
        return Link::Broken(Broken::EmptySection(number));
    }
    match view.find(&annotation.quote) {
        Some((range, likeness)) => Link::Found(number, view.spans(range).collect(), likeness),
        None => Link::Broken(Broken::UnknownQuote(number)),
    }
}

/// Links many annotations, each with its specification, on all cores.
pub fn link_all<'a>(annotations: &[(&'a Annotation, Option<&'a Specification>)]) -> Vec<Option<Link>> {
    let link = |(annotation, specification): &(&Annotation, Option<&Specification>)| {
        specification.map(|specification| link(annotation, specification))
    };
    annotations.par_iter().with_min_len(64).map(link).collect()
}
