//! What each pattern sounds like, and how much a context sounds like it.
//!
//! A profile gathers the terms of a pattern's own texts and of the examples for its keywords, rare terms weighing
//! more. A context fits as far as it points in the same direction (the cosine of the two). One more profile gathers
//! what no pattern is about.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::examples::{self, Example};
use crate::pattern::Pattern;
use crate::terms::{self, Term};
use crate::text;

/// What an expression weighs, next to a sentence.
const EXPRESSION_WEIGHT: f32 = 0.4;
/// How much it matters that a term occurs in many texts of a profile: 0 not at all, 1 as often as it does.
const REPETITION: f32 = 0.4;
/// A profile of few texts is not taken for one that says nothing else: it counts as at least this long.
const LENGTH_MIN: f32 = 10.0;

/// The profiles of some patterns.
#[derive(Debug)]
pub struct Profiles {
    terms: HashMap<Cow<'static, str>, u32>,
    rarity: Vec<f32>,
    rarity_unknown: f32,
    /// Where the weights of each term start, and after the last where they end.
    starts: Vec<u32>,
    /// Pairs of profile and weight, term by term.
    weights: Vec<(u32, f32)>,
    /// For each pattern the sentences among its examples, with the length of each.
    examples: Vec<Vec<(&'static Example, f32)>>,
}

/// How often each term occurs in a text, in the order of the terms.
type Counts<'a> = Cow<'a, [(u32, u8)]>;

/// A context as profiles see it.
#[derive(Debug)]
pub struct Direction {
    /// Known terms and their part in the context, in its order.
    pub parts: Vec<Part>,
    /// For each term of examples its part in the context.
    by_term: Vec<f32>,
    /// For each pattern how far the context sounds like it, from 0 to 1.
    pub likeness: Vec<f32>,
    /// The same for what no pattern is about.
    pub unrelated: f32,
}

/// A term of a context.
#[derive(Debug)]
pub struct Part {
    term: u32,
    weight: f32,
    /// Where it first starts in the context, in bytes.
    pub start: usize,
    /// Where it ends there.
    pub end: usize,
}

impl Profiles {
    /// Gathers the profiles of patterns.
    pub fn new(patterns: &[Pattern]) -> Profiles {
        let mut terms: HashMap<Cow<'static, str>, u32> = examples::TERMS
            .iter()
            .enumerate()
            .map(|(index, key)| (Cow::Borrowed(*key), index as u32))
            .collect();
        let prepared: HashMap<&str, &[(u32, u8)]> = examples::TEXTS.iter().copied().collect();
        let mut own: Vec<Vec<Counts<'_>>> = Vec::with_capacity(patterns.len());
        for pattern in patterns {
            let texts = pattern.texts().into_iter().map(|text| {
                if let Some(known) = prepared.get(text) {
                    return Cow::Borrowed(*known);
                }
                let found = terms::terms(text, &text::words(text).words);
                Cow::Owned(count(found.into_iter().map(|term| {
                    let next = terms.len() as u32;
                    *terms.entry(Cow::Owned(term.key)).or_insert(next)
                })))
            });
            own.push(texts.collect());
        }

        let mut n_texts = vec![0.0_f32; terms.len()];
        let all = own.iter().flatten().map(Cow::as_ref);
        let all = all.chain(examples::EXAMPLES.iter().map(|example| example.terms));
        let mut n = 0.0;
        for text in all {
            n += 1.0;
            text.iter().for_each(|(term, _)| n_texts[*term as usize] += 1.0);
        }
        let rarity: Vec<f32> = n_texts.iter().map(|n_texts| rarity(n, *n_texts)).collect();

        let by_subject = by_subject();
        let mut gathered: Vec<Vec<(u32, f32)>> = Vec::with_capacity(patterns.len() + 1);
        let mut examples: Vec<Vec<(&Example, f32)>> = Vec::with_capacity(patterns.len());
        let mut sums = vec![0.0_f32; terms.len()];
        for (pattern, own) in patterns.iter().zip(&own) {
            let mut touched = Vec::new();
            for text in own {
                add(&mut sums, &mut touched, text, &rarity, 1.0);
            }
            let mut about: Vec<usize> = pattern
                .triggers
                .keywords
                .iter()
                .filter_map(|keyword| by_subject.get(keyword.to_lowercase().as_str()))
                .flatten()
                .copied()
                .collect();
            about.sort_unstable();
            about.dedup();
            let about = about.into_iter().map(|index| {
                let example = &examples::EXAMPLES[index];
                let length = add(&mut sums, &mut touched, example.terms, &rarity, weight(example));
                (example, length)
            });
            examples.push(about.filter(|(example, _)| !example.is_expression).collect());
            gathered.push(profile(&mut sums, touched));
        }
        let mut touched = Vec::new();
        for example in examples::EXAMPLES.iter().filter(|example| example.subjects.is_empty()) {
            add(&mut sums, &mut touched, example.terms, &rarity, weight(example));
        }
        gathered.push(profile(&mut sums, touched));

        let (starts, weights) = by_term(&gathered, terms.len());
        Profiles { terms, rarity, rarity_unknown: self::rarity(n, 0.0), starts, weights, examples }
    }

    /// Tells whether a text of a pattern, or an example, has a stem.
    pub fn knows(&self, stem: &str) -> bool {
        self.terms.contains_key(stem)
    }

    /// Tells whether a stem occurs in what no pattern is about.
    pub fn is_everyday(&self, stem: &str) -> bool {
        let term = self.terms.get(stem);
        term.is_some_and(|term| {
            self.weights(*term).iter().any(|(profile, _)| *profile as usize == self.examples.len())
        })
    }

    /// Compares the terms of a context with every profile.
    pub fn compare(&self, terms: &[Term]) -> Direction {
        let mut parts: Vec<Part> = Vec::with_capacity(terms.len());
        let mut square = 0.0_f32;
        for Term { key, start, end } in terms {
            match self.terms.get(key.as_str()) {
                // Said again is not said more: a long context repeats whatever words it needs.
                Some(term) if parts.iter().any(|part| part.term == *term) => {}
                Some(term) => {
                    let weight = self.rarity[*term as usize];
                    square += weight * weight;
                    parts.push(Part { term: *term, weight, start: *start, end: *end });
                }
                // What nobody ever asked with makes a context less like any of them.
                None if !key.contains(' ') => square += self.rarity_unknown * self.rarity_unknown,
                None => {}
            }
        }
        let length = square.sqrt();
        let mut likeness = vec![0.0; self.examples.len() + 1];
        let mut by_term = vec![0.0; examples::TERMS.len()];
        for part in &mut parts {
            part.weight /= length;
            if let Some(weight) = by_term.get_mut(part.term as usize) {
                *weight = part.weight;
            }
            for (profile, weight) in self.weights(part.term) {
                likeness[*profile as usize] += part.weight * weight;
            }
        }
        let unrelated = likeness.pop().unwrap_or_default();
        Direction { parts, by_term, likeness, unrelated }
    }

    /// Returns what a part of a context adds to its likeness to a pattern.
    pub fn share(&self, part: &Part, pattern: usize) -> f32 {
        let weights = self.weights(part.term).iter().find(|(profile, _)| *profile as usize == pattern);
        weights.map_or(0.0, |(_, weight)| weight * part.weight)
    }

    /// Finds the example of a pattern that a context is most like, and how much.
    pub fn nearest(&self, direction: &Direction, pattern: usize) -> Option<(&'static str, f32)> {
        let mut nearest: Option<(&str, f32)> = None;
        for (example, length) in &self.examples[pattern] {
            let shared = example.terms.iter().map(|(term, count)| {
                direction.by_term[*term as usize] * frequency(*count) * self.rarity[*term as usize]
            });
            let likeness = shared.sum::<f32>() / length;
            if nearest.is_none_or(|(_, most)| likeness > most) {
                nearest = Some((example.text, likeness));
            }
        }
        nearest
    }

    fn weights(&self, term: u32) -> &[(u32, f32)] {
        &self.weights[self.starts[term as usize] as usize..self.starts[term as usize + 1] as usize]
    }
}

/// Adds a text to the sums of a profile, whatever its length, and returns that length.
fn add(sums: &mut [f32], touched: &mut Vec<u32>, text: &[(u32, u8)], rarity: &[f32], weight: f32) -> f32 {
    let part = |(term, count): &(u32, u8)| frequency(*count) * rarity[*term as usize];
    let length = text.iter().map(part).map(|part| part * part).sum::<f32>().sqrt();
    for entry in text {
        let sum = &mut sums[entry.0 as usize];
        if *sum == 0.0 {
            touched.push(entry.0);
        }
        *sum += weight * part(entry) / length;
    }
    length
}

/// Makes a profile of sums, which are zero again afterwards.
fn profile(sums: &mut [f32], touched: Vec<u32>) -> Vec<(u32, f32)> {
    let take = |term: u32| (term, std::mem::take(&mut sums[term as usize]).powf(REPETITION));
    let mut profile: Vec<(u32, f32)> = touched.into_iter().map(take).collect();
    let length = profile.iter().map(|(_, weight)| weight * weight).sum::<f32>().sqrt().max(LENGTH_MIN);
    profile.iter_mut().for_each(|(_, weight)| *weight /= length);
    profile
}

fn by_term(profiles: &[Vec<(u32, f32)>], n_terms: usize) -> (Vec<u32>, Vec<(u32, f32)>) {
    let mut starts = vec![0_u32; n_terms + 1];
    for (term, _) in profiles.iter().flatten() {
        starts[*term as usize + 1] += 1;
    }
    for term in 0..n_terms {
        starts[term + 1] += starts[term];
    }
    let mut next = starts.clone();
    let mut weights = vec![(0, 0.0); starts[n_terms] as usize];
    for (index, profile) in profiles.iter().enumerate() {
        for (term, weight) in profile {
            weights[next[*term as usize] as usize] = (index as u32, *weight);
            next[*term as usize] += 1;
        }
    }
    (starts, weights)
}

fn by_subject() -> HashMap<&'static str, Vec<usize>> {
    let mut by_subject: HashMap<&str, Vec<usize>> = HashMap::new();
    for (index, example) in examples::EXAMPLES.iter().enumerate() {
        for subject in example.subjects {
            by_subject.entry(subject).or_default().push(index);
        }
    }
    by_subject
}

fn count(terms: impl Iterator<Item = u32>) -> Vec<(u32, u8)> {
    let mut terms: Vec<u32> = terms.collect();
    terms.sort_unstable();
    terms.chunk_by(|first, second| first == second).map(|same| (same[0], same.len().min(255) as u8)).collect()
}

fn weight(example: &Example) -> f32 {
    if example.is_expression { EXPRESSION_WEIGHT } else { 1.0 }
}

fn frequency(count: u8) -> f32 {
    if count == 1 { 1.0 } else { 1.0 + f32::from(count).ln() }
}

fn rarity(n_texts: f32, n_texts_with: f32) -> f32 {
    ((1.0 + n_texts) / (1.0 + n_texts_with)).ln() + 1.0
}
