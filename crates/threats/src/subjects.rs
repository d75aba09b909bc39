//! Decides which examples a pattern uses: those of the subjects of its own texts.
//!
//! By the names of keywords alone, 5 of the 12 public TMKB files got examples and the other 7 none. The five
//! then outscored the seven on the subjects of the seven, and the unrelated texts silenced the rest. Comparing texts
//! finds the examples for every file about a subject, whoever wrote it.

use crate::document;
use crate::examples::{Example, SUBJECTS, TERMS};
use crate::pattern::Pattern;

/// The minimal similarity to a subject, as a cosine. Matching pairs have 0.09 and more.
const LIKENESS_MIN: f32 = 0.085;
/// The weight of a term in an expression; one in a sentence has 1.
const EXPRESSION_WEIGHT: f32 = 1.5;

/// Tells for each pattern how like each subject it is, by the weights of the terms of its own texts.
pub fn likeness(rarity: &[f32], own: &[Vec<(u32, f32)>]) -> Vec<Vec<f32>> {
    let mut examples: Vec<Vec<Example>> = vec![Vec::new(); SUBJECTS.len()];
    for example in Example::all() {
        example.subjects().iter().for_each(|subject| examples[*subject as usize].push(example));
    }
    let length =
        |terms: &Vec<(u32, f32)>| terms.iter().map(|(_, weight)| weight * weight).sum::<f32>().sqrt();
    let own_lengths: Vec<f32> = own.iter().map(length).collect();
    let mut likeness = vec![Vec::with_capacity(SUBJECTS.len()); own.len()];
    // One subject after the other: the weights of all at once are megabytes.
    let mut weights = vec![0.0_f32; TERMS.len()];
    for examples in examples {
        for example in examples {
            let frequency = if example.is_expression() { EXPRESSION_WEIGHT } else { 1.0 };
            for counted in example.terms() {
                weights[counted.term() as usize] += frequency / example.subjects().len() as f32;
            }
        }
        let mut length = 0.0_f32;
        for (weight, rarity) in weights.iter_mut().zip(rarity).filter(|(weight, _)| **weight > 0.0) {
            *weight = document::saturated(*rarity, *weight);
            length += *weight * *weight;
        }
        let length = length.sqrt();
        for ((likeness, own), own_length) in likeness.iter_mut().zip(own).zip(&own_lengths) {
            let known = own.iter().filter_map(|(term, weight)| Some((weight, weights.get(*term as usize)?)));
            let product: f32 = known.map(|(weight, other)| weight * other).sum();
            likeness.push(product / (own_length * length).max(f32::MIN_POSITIVE));
        }
        weights.fill(0.0);
    }
    likeness
}

/// Lists the examples for a pattern that is so like each subject: those of the subject that is most like it, and of
/// subjects that it has as keywords.
pub fn examples_for(pattern: &Pattern, likeness: &[f32]) -> Vec<Example> {
    let best = likeness.iter().copied().fold(0.0, f32::max);
    let is_keyword =
        |name: &str| pattern.triggers.keywords.iter().any(|keyword| keyword.eq_ignore_ascii_case(name));
    let is_like: Vec<bool> = SUBJECTS
        .iter()
        .zip(likeness)
        .map(|(name, likeness)| *likeness >= LIKENESS_MIN && (*likeness == best || is_keyword(name)))
        .collect();
    let is_about = |example: &Example| example.subjects().iter().any(|subject| is_like[*subject as usize]);
    Example::all().filter(is_about).collect()
}
