//! Decides which examples a pattern learns from: those of the subjects that its own texts are about.
//!
//! Going by the name of a keyword alone, 5 of the 12 public TMKB files got examples and the other 7 none. The five
//! then outscored the seven on their own subjects, and "no pattern is about this" silenced the rest. Comparing texts
//! links every file that is about a subject, whoever wrote it, and none that is not.

use std::collections::{BTreeMap, HashMap};

use crate::examples::{self, Example};
use crate::pattern::Pattern;
use crate::rank;

/// How like a subject the texts of a pattern must be, as a cosine. Pairs that belong together have 0.09 and more.
const LIKENESS_MIN: f32 = 0.085;
/// What a term of an expression counts; one of a sentence counts 1.
const EXPRESSION_WEIGHT: f32 = 1.5;

/// The subjects of the examples.
#[derive(Debug)]
pub struct Subjects {
    subjects: Vec<Subject>,
}

#[derive(Debug)]
struct Subject {
    name: &'static str,
    /// Weights by term.
    profile: HashMap<u32, f32>,
    /// The Euclidean length of the profile.
    length: f32,
}

impl Subjects {
    /// Weighs the terms of each subject.
    pub fn new(rarity: &[f32]) -> Subjects {
        let mut frequencies: BTreeMap<&'static str, HashMap<u32, f32>> = BTreeMap::new();
        for example in examples::EXAMPLES {
            let weight = if example.is_expression { EXPRESSION_WEIGHT } else { 1.0 };
            for subject in example.subjects {
                let frequencies = frequencies.entry(subject).or_default();
                for (term, _) in example.terms {
                    *frequencies.entry(*term).or_default() += weight / example.subjects.len() as f32;
                }
            }
        }
        let subjects = frequencies.into_iter().map(|(name, mut profile)| {
            profile.iter_mut().for_each(|(term, weight)| {
                *weight = rank::saturated(rarity[*term as usize], *weight);
            });
            let length = length(profile.values());
            Subject { name, profile, length }
        });
        Subjects { subjects: subjects.collect() }
    }

    /// Lists the examples for a pattern whose own texts have these weights by term: those of the subject that is
    /// most like it, and of subjects that it has as keywords.
    pub fn examples_for(&self, pattern: &Pattern, own: &[(u32, f32)]) -> Vec<&'static Example> {
        let own_length = length(own.iter().map(|(_, weight)| weight));
        let likeness = |subject: &Subject| {
            let shared = own.iter().filter_map(|(term, weight)| Some(weight * subject.profile.get(term)?));
            shared.sum::<f32>() / (own_length * subject.length).max(f32::MIN_POSITIVE)
        };
        let mut like: Vec<(f32, &str)> =
            self.subjects.iter().map(|subject| (likeness(subject), subject.name)).collect();
        like.retain(|(likeness, _)| *likeness >= LIKENESS_MIN);
        let best = like.iter().map(|(likeness, _)| *likeness).fold(0.0, f32::max);
        let is_keyword =
            |name: &str| pattern.triggers.keywords.iter().any(|keyword| keyword.eq_ignore_ascii_case(name));
        like.retain(|(likeness, name)| *likeness == best || is_keyword(name));
        let is_about = |example: &&Example| like.iter().any(|(_, name)| example.subjects.contains(name));
        examples::EXAMPLES.iter().filter(is_about).collect()
    }
}

fn length<'a>(weights: impl Iterator<Item = &'a f32>) -> f32 {
    weights.map(|weight| weight * weight).sum::<f32>().sqrt()
}
