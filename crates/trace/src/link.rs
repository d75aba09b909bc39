//! Resolves annotations to the text they cite, or explains why they cannot be.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState;
use rayon::prelude::*;

use crate::annotation::{Annotation, Kind, Level};
use crate::quote::Likeness;
use crate::specification::Specification;
use crate::text::Span;

/// A piece of a specification that an annotation cites, within one line.
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
}

/// The text that an annotation cites.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The index of the section.
    pub section: u32,
    /// Where the text stands, line by line; only the title if nothing is quoted.
    pub spans: Arc<[Span]>,
    /// How alike quote and text are.
    pub likeness: Likeness,
}

/// Resolves one annotation in its specification.
pub fn link(annotation: &Annotation, specification: &Specification) -> Result<Found, Broken> {
    let section = section(annotation, specification)?;
    match titled(annotation, specification, section) {
        Some(found) => Ok(found),
        None => quoted(&annotation.quote, specification, section),
    }
}

/// An annotation to resolve.
#[derive(Clone, Copy, Debug)]
pub struct Task<'a> {
    /// The annotation.
    pub annotation: &'a Annotation,
    /// The index of the specification that it names.
    pub target: u32,
    /// The specification that it was extracted from, if it was.
    pub origin: Option<&'a Arc<Specification>>,
}

/// Resolves annotations on all cores. Each quote is looked for once in its section.
pub fn link_all(tasks: &[Task<'_>], specifications: &[Arc<Specification>]) -> Vec<Result<Found, Broken>> {
    let mut firsts = Vec::with_capacity(specifications.len());
    let mut n_sections = 0;
    for specification in specifications {
        firsts.push(n_sections);
        n_sections += specification.sections.len();
    }
    // What is found without looking for a quote is done here; the others wait for their section.
    let begin = |task: &Task<'_>| -> Result<Result<Found, Broken>, u32> {
        let specification = &specifications[task.target as usize];
        let known = task.annotation.notes.as_ref().and_then(|notes| notes.known.as_ref());
        if let (Some(known), Some(origin)) = (known, task.origin)
            && Arc::ptr_eq(origin, specification)
        {
            let found =
                Found { section: known.section, spans: known.spans.clone(), likeness: Likeness::Same };
            return Ok(Ok(found));
        }
        match section(task.annotation, specification) {
            Err(broken) => Ok(Err(broken)),
            Ok(section) => match titled(task.annotation, specification, section) {
                Some(found) => Ok(Ok(found)),
                None => Err(section),
            },
        }
    };
    let mut results: Vec<Option<Result<Found, Broken>>> = Vec::with_capacity(tasks.len());
    let mut waiting: Vec<(u32, u32)> = Vec::new();
    let begun: Vec<_> = tasks.par_iter().with_min_len(512).map(begin).collect();
    for ((number, task), begun) in tasks.iter().enumerate().zip(begun) {
        results.push(
            begun
                .map_err(|section| {
                    let section = firsts[task.target as usize] as u32 + section;
                    waiting.push((section, number as u32));
                })
                .ok(),
        );
    }
    waiting.sort_unstable();
    let groups: Vec<&[(u32, u32)]> = waiting.chunk_by(|first, second| first.0 == second.0).collect();
    let find = |group: &&[(u32, u32)]| -> Vec<Result<Found, Broken>> {
        let target = tasks[group[0].1 as usize].target as usize;
        let section = group[0].0 - firsts[target] as u32;
        let mut known: HashMap<&str, Result<Found, Broken>, RandomState> = HashMap::default();
        let resolve = |(_, number): &(u32, u32)| {
            let quote = &*tasks[*number as usize].annotation.quote;
            known.entry(quote).or_insert_with(|| quoted(quote, &specifications[target], section)).clone()
        };
        group.iter().map(resolve).collect()
    };
    let found: Vec<Vec<Result<Found, Broken>>> = groups.par_iter().map(find).collect();
    for (group, found) in groups.iter().zip(found) {
        for ((_, number), found) in group.iter().zip(found) {
            results[*number as usize] = Some(found);
        }
    }
    results.into_iter().map(|result| result.expect("every annotation was begun or waited")).collect()
}

fn section(annotation: &Annotation, specification: &Specification) -> Result<u32, Broken> {
    let id = annotation.target_section().ok_or(Broken::NoSection)?;
    specification.section(id).map(|section| section as u32).ok_or(Broken::UnknownSection)
}

/// An annotation without a quote points at the section itself, and covers nothing.
fn titled(annotation: &Annotation, specification: &Specification, section: u32) -> Option<Found> {
    let title = specification.sections[section as usize].title_span;
    let found = || Found { section, spans: Arc::from([title]), likeness: Likeness::Same };
    annotation.quote.is_empty().then(found)
}

fn quoted(quote: &str, specification: &Specification, section: u32) -> Result<Found, Broken> {
    let view = specification.view(section as usize);
    if view.is_empty() {
        return Err(Broken::EmptySection(section));
    }
    let (range, likeness) = view.find(quote).ok_or(Broken::UnknownQuote(section))?;
    Ok(Found { section, spans: view.spans(range).collect(), likeness })
}
