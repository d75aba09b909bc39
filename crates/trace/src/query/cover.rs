//! Which annotations quote the text that another one quotes, and whether together they quote all of it.
//!
//! Unlike reports, queries match quotes word for word: a quote with an edit does not match.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use rayon::prelude::*;

use super::CitedAt;
use crate::quote::normalize::{Normalized, normalize};
use crate::report::Report;

/// The quotes of a project, and their normalized sections.
pub struct QuotedTexts<'a> {
    report: &'a Report<'a>,
    /// For each annotation the index of its specification and of the section there.
    places: Vec<Option<(u32, u32)>>,
    sections: HashMap<(u32, u32), String>,
    quotes: Vec<String>,
    /// For each annotation all occurrences of its quote in the section.
    starts: Vec<Vec<usize>>,
    /// By target as written: only annotations with the same spelling can cover each other.
    by_target: HashMap<&'a str, Vec<u32>>,
}

/// How the text of an annotation is covered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QuoteCover {
    /// The annotations that share some of the text.
    pub by: Vec<u32>,
    /// The normalized parts of the quote that none shares.
    gaps: Vec<Range<usize>>,
    /// Candidates whose quotes do not occur in the section word for word.
    pub unmatched: Vec<u32>,
}

impl QuoteCover {
    /// Whether all of the text is covered.
    pub fn is_whole(&self) -> bool {
        self.gaps.is_empty()
    }
}

impl<'a> QuotedTexts<'a> {
    /// Takes the texts of a project.
    pub fn new(report: &'a Report<'a>) -> QuotedTexts<'a> {
        let place = |place: Option<CitedAt>| place.map(|place| (place.target, place.section));
        let places: Vec<_> = super::places(report).into_iter().map(place).collect();
        let mut distinct: Vec<(u32, u32)> = places.iter().flatten().copied().collect();
        distinct.sort_unstable();
        distinct.dedup();
        let text = |(target, section): (u32, u32)| {
            let specification = &report.targets[target as usize].specification;
            normalize(&specification.view(section as usize).text)
        };
        let sections: HashMap<(u32, u32), String> =
            distinct.into_par_iter().map(|place| (place, text(place))).collect();
        let annotations = report.annotations.par_iter().with_min_len(64);
        let quotes: Vec<String> = annotations.map(|numbered| normalize(&numbered.annotation.quote)).collect();
        let pairs = quotes.par_iter().zip(&places).with_min_len(64);
        let starts = pairs.map(|(quote, place)| {
            let section = place.and_then(|place| sections.get(&place));
            section.map(|section| find_all(section, quote)).unwrap_or_default()
        });
        let starts = starts.collect();
        let mut by_target: HashMap<&str, Vec<u32>> = HashMap::new();
        for (number, numbered) in report.annotations.iter().enumerate() {
            by_target.entry(&numbered.annotation.target).or_default().push(number as u32);
        }
        QuotedTexts { report, places, sections, quotes, starts, by_target }
    }

    /// Determines what covers an annotation. None if its own quote does not occur in the section word for word.
    pub fn cover(&self, number: u32, is_candidate: impl Fn(u32) -> bool) -> Option<QuoteCover> {
        let annotation = &self.report.annotations[number as usize].annotation;
        if annotation.quote.trim().is_empty() {
            // Without a quote nothing is missing.
            return Some(QuoteCover::default());
        }
        let start = *self.starts[number as usize].first()?;
        let own = start..start + self.quotes[number as usize].len();
        let mut cover = QuoteCover::default();
        let mut shared = Vec::new();
        for other in &self.by_target[&*annotation.target] {
            let is_empty = self.quotes[*other as usize].is_empty();
            if *other == number || is_empty || !is_candidate(*other) {
                continue;
            }
            match best(&self.starts(*other, number), self.quotes[*other as usize].len(), &own) {
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

    /// Tells where a quote starts in the section of another annotation.
    fn starts(&self, number: u32, of: u32) -> Cow<'_, [usize]> {
        let place = self.places[of as usize];
        if self.places[number as usize] == place {
            return Cow::Borrowed(&self.starts[number as usize]);
        }
        // The same document, read in another format.
        let section = place.and_then(|place| self.sections.get(&place));
        Cow::Owned(
            section.map(|section| find_all(section, &self.quotes[number as usize])).unwrap_or_default(),
        )
    }

    /// Returns the words of an annotation that no other shares.
    pub fn missing(&self, number: u32, cover: &QuoteCover) -> Vec<String> {
        let quote = &self.report.annotations[number as usize].annotation.quote;
        let normalized = Normalized::new(quote);
        let original = |gap: &Range<usize>| {
            let range = normalized.original(quote, gap.clone());
            quote.get(range).unwrap_or_default().trim().to_owned()
        };
        cover.gaps.iter().map(original).filter(|words| !words.is_empty()).collect()
    }
}

fn find_all(section: &str, quote: &str) -> Vec<usize> {
    if quote.is_empty() {
        return vec![0];
    }
    memchr::memmem::find_iter(section.as_bytes(), quote.as_bytes()).collect()
}

/// Of all occurrences of a quote chooses the one that shares most with a range, or the nearest, and returns what they
/// share.
fn best(starts: &[usize], length: usize, own: &Range<usize>) -> Option<Range<usize>> {
    let mut best: Option<(usize, Range<usize>)> = None;
    for start in starts {
        let shared = own.start.max(*start)..own.end.min(start + length);
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
