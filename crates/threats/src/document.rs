//! Patterns as documents of weighted fields, and the weights of their terms; see [`crate::rank`].

use std::borrow::Cow;
use std::collections::HashMap;

use crate::examples::{Counted, Example, OWN_TEXTS, SUBJECTS};
use crate::field::{self, Field};
use crate::meaning::{self, Meaning};
use crate::pattern::Pattern;
use crate::terms;
use crate::text;
use crate::vocabulary::Vocabulary;

/// How fast repeated occurrences of a term lose weight: BM25's k1.
const SATURATION: f32 = 2.5;
/// How much the length of a field reduces the weight of its terms: BM25's b.
const LENGTH_PENALTY: f32 = 0.65;
/// The weight of the texts of a pattern without examples.
const ALONE_FACTOR: f32 = 3.0;

/// How often each term occurs in a text, in the order of the terms.
pub type Counts<'a> = Cow<'a, [Counted]>;

/// A pattern, or the document of texts that no pattern covers.
pub type FieldTerms<'a> = Vec<(Field, Counts<'a>)>;

#[derive(Clone, Copy, PartialEq)]
pub enum TermKind {
    Word,
    Pair,
    Route,
}

impl TermKind {
    /// The kind of a term.
    pub fn of(key: &str) -> TermKind {
        match key {
            _ if key.contains(' ') => TermKind::Pair,
            _ if key.starts_with('/') => TermKind::Route,
            _ => TermKind::Word,
        }
    }

    /// The weight of a term of the kind.
    pub fn factor(self) -> f32 {
        match self {
            TermKind::Word => 1.0,
            // Its words count already.
            TermKind::Pair => 0.8,
            TermKind::Route => 1.5,
        }
    }
}

/// The meaning of each text of a document.
#[derive(Debug, Default)]
pub struct Meanings {
    /// Of texts that were read when this was built.
    pub known: Vec<&'static Meaning>,
    /// Of others.
    pub own: Vec<Meaning>,
}

/// Reads the patterns' own texts, in the order of [`field::texts`]; those of built-in patterns are preprocessed.
pub fn own_texts(patterns: &[Pattern], terms: &mut Vocabulary) -> Vec<(FieldTerms<'static>, Meanings)> {
    let prepared: HashMap<&str, usize> =
        OWN_TEXTS.texts.iter().enumerate().map(|(place, text)| (text, place)).collect();
    let mut documents = Vec::with_capacity(patterns.len() + 1);
    for pattern in patterns {
        let mut meanings = Meanings::default();
        let texts = field::texts(pattern).into_iter().map(|(field, text)| match prepared.get(text) {
            Some(own) => {
                meanings.known.push(&OWN_TEXTS.meanings[*own]);
                (field, Cow::Borrowed(OWN_TEXTS.terms(*own)))
            }
            None => {
                let found = terms::terms(text, &text::words(text).words);
                meanings.own.push(meaning::of(found.iter().map(|term| term.key.as_str())));
                let counts = count(found.into_iter().map(|term| terms.number(term.key)));
                (field, Cow::Owned(counts))
            }
        });
        let texts = texts.collect();
        documents.push((texts, meanings));
    }
    documents
}

/// A trigger counts as a whole: the single words of `task queue` do not match it.
pub fn keep_whole_triggers(documents: &mut [FieldTerms<'_>], kinds: &[TermKind]) {
    let is_pair = |counted: &Counted| kinds[counted.term() as usize] == TermKind::Pair;
    for (_, counts) in documents.iter_mut().flatten().filter(|(field, _)| *field == Field::Keywords) {
        if counts.iter().any(is_pair) {
            counts.to_mut().retain(is_pair);
        }
    }
}

/// Returns the average length of each field. Examples are averaged over all subjects, not only those of the
/// loaded patterns: otherwise few patterns, or none with examples, would lengthen the document of unrelated texts.
pub fn length_means(documents: &[FieldTerms<'_>]) -> [f32; Field::ALL.len()] {
    let mut sums = [0.0_f32; Field::ALL.len()];
    for (field, counts) in documents.iter().flatten() {
        sums[*field as usize] += length(counts);
    }
    for example in Example::all() {
        sums[example.field() as usize] += length(example.terms()) * example.subjects().len() as f32;
    }
    Field::ALL.map(|field| {
        let n = match field {
            Field::Examples | Field::Expressions => SUBJECTS.len(),
            _ => documents.len(),
        };
        (sums[field as usize] / n.max(1) as f32).max(1.0)
    })
}

/// Scores each term for each document, sorted by term.
pub fn postings(
    documents: &[FieldTerms<'_>],
    length_means: &[f32; Field::ALL.len()],
    rarity: &[f32],
) -> (Vec<u32>, Vec<(u32, f32)>) {
    let mut frequencies = vec![0.0_f32; rarity.len()];
    let mut by_document: Vec<Vec<(u32, f32)>> = Vec::with_capacity(documents.len());
    let mut starts = vec![0_u32; rarity.len() + 1];
    for document in documents {
        let is_alone = document.iter().all(|(field, _)| !field.is_learned());
        let factor = if is_alone { ALONE_FACTOR } else { 1.0 };
        let scores = weigh(document, factor, length_means, rarity, &mut frequencies);
        scores.iter().for_each(|(term, _)| starts[*term as usize + 1] += 1);
        by_document.push(scores);
    }

    for term in 0..rarity.len() {
        starts[term + 1] += starts[term];
    }
    let mut next = starts.clone();
    let mut scores = vec![(0, 0.0); starts[rarity.len()] as usize];
    for (document, terms) in by_document.into_iter().enumerate() {
        for (term, score) in terms {
            scores[next[term as usize] as usize] = (document as u32, score);
            next[term as usize] += 1;
        }
    }
    (starts, scores)
}

/// Scores each term of a document. The frequencies are a scratch buffer: zero before and after.
pub fn weigh(
    document: &FieldTerms<'_>,
    factor: f32,
    length_means: &[f32; Field::ALL.len()],
    rarity: &[f32],
    frequencies: &mut [f32],
) -> Vec<(u32, f32)> {
    let mut lengths = [0.0_f32; Field::ALL.len()];
    for (field, counts) in document {
        lengths[*field as usize] += length(counts);
    }
    let worth = Field::ALL.map(|field| {
        let relative = lengths[field as usize] / length_means[field as usize];
        factor * field.weight() / (1.0 - LENGTH_PENALTY + LENGTH_PENALTY * relative)
    });
    let mut touched: Vec<u32> = Vec::new();
    for (field, counts) in document {
        for counted in counts.iter() {
            let frequency = &mut frequencies[counted.term() as usize];
            if *frequency == 0.0 {
                touched.push(counted.term());
            }
            *frequency += worth[*field as usize] * counted.count();
        }
    }
    let score = |term: u32| {
        let frequency = std::mem::take(&mut frequencies[term as usize]);
        (term, saturated(rarity[term as usize], frequency))
    };
    touched.into_iter().map(score).collect()
}

/// The contribution of a term to a score: it grows more slowly with each occurrence.
pub fn saturated(rarity: f32, frequency: f32) -> f32 {
    rarity * frequency / (SATURATION + frequency)
}

fn count(terms: impl Iterator<Item = u32>) -> Vec<Counted> {
    let mut terms: Vec<u32> = terms.collect();
    terms.sort_unstable();
    let same = terms.chunk_by(|first, second| first == second);
    same.map(|same| Counted::new(same[0], same.len().min(255) as u8)).collect()
}

fn length(counts: &[Counted]) -> f32 {
    counts.iter().map(|counted| counted.count()).sum()
}
