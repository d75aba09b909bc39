//! Decides which examples a pattern uses: those of the subjects of its own texts.
//!
//! By the names of keywords alone, 5 of the 12 public TMKB files got examples and the other 7 none. The five
//! then outscored the seven on the subjects of the seven, and the unrelated texts silenced the rest. Comparing texts
//! finds the examples for every file about a subject, whoever wrote it.

use std::collections::BTreeSet;

use crate::document;
use crate::examples::{self, EXAMPLES, Example};
use crate::pattern::Pattern;

/// The minimal similarity to a subject, as a cosine. Matching pairs have 0.09 and more.
const LIKENESS_MIN: f32 = 0.085;
/// The weight of a term in an expression; one in a sentence has 1.
const EXPRESSION_WEIGHT: f32 = 1.5;

/// The subjects of the examples, with the weight of each term.
#[derive(Debug)]
pub struct Subjects {
    names: Vec<&'static str>,
    /// For each term of examples a weight for each subject. Looking up single weights took a third of the start.
    weights: Vec<f32>,
    /// For each subject the Euclidean length of its weights.
    lengths: Vec<f32>,
}

impl Subjects {
    /// Weighs the terms of each subject.
    pub fn new(rarity: &[f32]) -> Subjects {
        let names: BTreeSet<&str> = EXAMPLES.iter().flat_map(|example| example.subjects).copied().collect();
        let names: Vec<&str> = names.into_iter().collect();
        let mut weights = vec![0.0_f32; examples::TERMS.len() * names.len()];
        for example in EXAMPLES {
            let frequency = if example.is_expression { EXPRESSION_WEIGHT } else { 1.0 };
            for subject in example.subjects.iter().filter_map(|subject| names.binary_search(subject).ok()) {
                for (term, _) in example.terms {
                    weights[*term as usize * names.len() + subject] +=
                        frequency / example.subjects.len() as f32;
                }
            }
        }
        let mut lengths = vec![0.0_f32; names.len()];
        for (row, rarity) in weights.chunks_exact_mut(names.len()).zip(rarity) {
            for (weight, length) in row.iter_mut().zip(&mut lengths).filter(|(weight, _)| **weight > 0.0) {
                *weight = document::saturated(*rarity, *weight);
                *length += *weight * *weight;
            }
        }
        lengths.iter_mut().for_each(|length| *length = length.sqrt());
        Subjects { names, weights, lengths }
    }

    /// Lists the examples for a pattern whose own texts have these weights by term: those of the subject that is
    /// most like it, and of subjects that it has as keywords.
    pub fn examples_for(&self, pattern: &Pattern, own: &[(u32, f32)]) -> Vec<&'static Example> {
        let n_subjects = self.names.len();
        let mut likeness = vec![0.0_f32; n_subjects];
        for (term, weight) in own {
            let start = *term as usize * n_subjects;
            let row = self.weights.get(start..start + n_subjects).unwrap_or_default();
            likeness.iter_mut().zip(row).for_each(|(likeness, other)| *likeness += weight * other);
        }
        let own_length = own.iter().map(|(_, weight)| weight * weight).sum::<f32>().sqrt();
        for (likeness, length) in likeness.iter_mut().zip(&self.lengths) {
            *likeness /= (own_length * length).max(f32::MIN_POSITIVE);
        }
        let best = likeness.iter().copied().fold(0.0, f32::max);
        let is_keyword =
            |name: &str| pattern.triggers.keywords.iter().any(|keyword| keyword.eq_ignore_ascii_case(name));
        let is_like = |(name, likeness): &(&&'static str, &f32)| {
            **likeness >= LIKENESS_MIN && (**likeness == best || is_keyword(name))
        };
        let like: Vec<&str> =
            self.names.iter().zip(&likeness).filter(is_like).map(|(name, _)| *name).collect();
        let is_about = |example: &&Example| like.iter().any(|name| example.subjects.contains(name));
        EXAMPLES.iter().filter(is_about).collect()
    }
}
