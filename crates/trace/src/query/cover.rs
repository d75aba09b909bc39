//! Which annotations quote the text that another one quotes, and whether together they quote all of it.
//!
//! Unlike reports, queries take quotes word for word: one with an edit is found nowhere.

use std::collections::HashMap;
use std::ops::Range;

use rayon::prelude::*;

use super::Place;
use crate::quote::normalize::{Normalized, normalize};
use crate::report::Report;

/// The quotes of a project, and the texts they are from, made alike.
pub struct Texts<'a> {
    report: &'a Report,
    /// For each annotation the index of its specification and of the section there.
    places: Vec<Option<(u32, u32)>>,
    sections: HashMap<(u32, u32), String>,
    quotes: Vec<String>,
    /// By target as written: only annotations that write it alike can cover each other.
    by_target: HashMap<&'a str, Vec<u32>>,
}

/// How the text of an annotation is covered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cover {
    /// Those that share some of the text.
    pub by: Vec<u32>,
    /// The parts of the quote, made alike, that nobody shares.
    gaps: Vec<Range<usize>>,
    /// Those that were candidates, but whose quotes are not in the section word for word.
    pub unmatched: Vec<u32>,
}

impl Cover {
    /// Whether all of the text is covered.
    pub fn is_whole(&self) -> bool {
        self.gaps.is_empty()
    }
}

impl<'a> Texts<'a> {
    /// Takes the texts of a project.
    pub fn new(report: &'a Report) -> Texts<'a> {
        let place = |place: Option<Place>| place.map(|place| (place.target, place.section));
        let places: Vec<_> = super::places(report).into_iter().map(place).collect();
        let mut distinct: Vec<(u32, u32)> = places.iter().flatten().copied().collect();
        distinct.sort_unstable();
        distinct.dedup();
        let text = |(target, section): (u32, u32)| {
            let specification = &report.targets[target as usize].specification;
            normalize(&specification.view(section as usize).text)
        };
        let sections = distinct.into_par_iter().map(|place| (place, text(place))).collect();
        let annotations = report.annotations.par_iter().with_min_len(64);
        let quotes = annotations.map(|numbered| normalize(&numbered.annotation.quote)).collect();
        let mut by_target: HashMap<&str, Vec<u32>> = HashMap::new();
        for (number, numbered) in report.annotations.iter().enumerate() {
            by_target.entry(&numbered.annotation.target).or_default().push(number as u32);
        }
        Texts { report, places, sections, quotes, by_target }
    }

    /// Finds out who covers an annotation. None if its own quote is not in the section word for word.
    pub fn cover(&self, number: u32, is_candidate: impl Fn(u32) -> bool) -> Option<Cover> {
        let annotation = &self.report.annotations[number as usize].annotation;
        if annotation.quote.trim().is_empty() {
            // It quotes nothing, and nothing is missing.
            return Some(Cover::default());
        }
        let section = self.sections.get(&self.places[number as usize]?)?;
        let quote = &self.quotes[number as usize];
        let start = memchr::memmem::find(section.as_bytes(), quote.as_bytes())?;
        let own = start..start + quote.len();
        let mut cover = Cover::default();
        let mut shared = Vec::new();
        for other in &self.by_target[&*annotation.target] {
            let is_empty = self.report.annotations[*other as usize].annotation.quote.is_empty();
            if *other == number || is_empty || !is_candidate(*other) {
                continue;
            }
            match best(section, &self.quotes[*other as usize], &own) {
                None => cover.unmatched.push(*other),
                Some(overlap) if overlap.is_empty() => {}
                Some(overlap) => {
                    cover.by.push(*other);
                    shared.push(overlap.start - own.start..overlap.end - own.start);
                }
            }
        }
        cover.gaps = gaps(shared, own.len());
        Some(cover)
    }

    /// Returns the words of an annotation that nobody shares.
    pub fn missing(&self, number: u32, cover: &Cover) -> Vec<String> {
        let quote = &self.report.annotations[number as usize].annotation.quote;
        let normalized = Normalized::new(quote);
        let original = |gap: &Range<usize>| {
            let start = normalized.offsets[gap.start] as usize;
            let end = normalized.offsets[gap.end] as usize;
            quote.get(start..end).unwrap_or_default().trim().to_owned()
        };
        cover.gaps.iter().map(original).filter(|words| !words.is_empty()).collect()
    }
}

/// Finds the occurrence of a quote that shares most with a range, else the nearest, and returns what they share.
fn best(section: &str, quote: &str, own: &Range<usize>) -> Option<Range<usize>> {
    if quote.is_empty() {
        return Some(own.start..own.start);
    }
    let mut best: Option<(usize, Range<usize>)> = None;
    for start in memchr::memmem::find_iter(section.as_bytes(), quote.as_bytes()) {
        let shared = start.max(own.start)..(start + quote.len()).min(own.end);
        let distance = start.abs_diff(own.start);
        let is_better = best.as_ref().is_none_or(|(best_distance, best)| {
            shared.len() > best.len() || (shared.len() == best.len() && distance < *best_distance)
        });
        if is_better {
            best = Some((distance, shared));
        }
    }
    best.map(|(_, shared)| shared)
}

/// What is left between ranges.
fn gaps(mut shared: Vec<Range<usize>>, end: usize) -> Vec<Range<usize>> {
    shared.sort_unstable_by_key(|range| range.start);
    let mut gaps = Vec::new();
    let mut position = 0;
    for range in shared {
        if range.start > position {
            gaps.push(position..range.start);
        }
        position = position.max(range.end);
    }
    if position < end {
        gaps.push(position..end);
    }
    gaps
}
