//! The peers: the original's scoring, rebuilt from what it documents and does, and the textbook's BM25.

use std::collections::{BTreeMap, BTreeSet};

use threats::Pattern;

/// How `tmkb` 0.1.0 ranks: a keyword or action anywhere in the text makes a candidate, even inside another word;
/// candidates are scored by the one to three words in a row that equal a keyword.
pub struct Tmkb<'a> {
    patterns: &'a [Pattern],
}

impl<'a> Tmkb<'a> {
    pub fn new(patterns: &'a [Pattern]) -> Self {
        Tmkb { patterns }
    }

    pub fn search(&self, context: &str) -> Vec<String> {
        let context = context.to_lowercase();
        let words: Vec<&str> = context.split_whitespace().collect();
        let runs: BTreeSet<String> =
            (1..=3).flat_map(|n| words.windows(n)).map(|run| run.join(" ")).collect();

        let mut found: Vec<(f64, &Pattern)> = Vec::new();
        for pattern in self.patterns {
            let keywords: Vec<String> =
                pattern.triggers.keywords.iter().map(|text| text.to_lowercase()).collect();
            let actions = pattern.triggers.actions.iter().map(|text| text.to_lowercase());
            if !keywords.iter().cloned().chain(actions).any(|trigger| context.contains(&trigger)) {
                continue;
            }
            let distinct: BTreeSet<&String> = keywords.iter().collect();
            let n_matched = distinct.into_iter().filter(|keyword| runs.contains(*keyword)).count() as f64;
            let score =
                if n_matched > 0.0 { n_matched * 2.0 + n_matched / keywords.len() as f64 } else { 0.0 };
            found.push((score, pattern));
        }
        sorted(found)
    }
}

/// BM25 over one field of unstemmed words; whatever shares a word is an answer.
pub struct PlainBm25<'a> {
    patterns: &'a [Pattern],
    documents: Vec<BTreeMap<String, f64>>,
    lengths: Vec<f64>,
}

const K1: f64 = 1.2;
const B: f64 = 0.75;

impl<'a> PlainBm25<'a> {
    pub fn new(patterns: &'a [Pattern]) -> Self {
        let mut documents = Vec::new();
        let mut lengths = Vec::new();
        for pattern in patterns {
            let words = words(&text(pattern));
            lengths.push(words.len() as f64);
            let mut counts: BTreeMap<String, f64> = BTreeMap::new();
            for word in words {
                *counts.entry(word).or_default() += 1.0;
            }
            documents.push(counts);
        }
        PlainBm25 { patterns, documents, lengths }
    }

    pub fn search(&self, context: &str) -> Vec<String> {
        let n = self.patterns.len() as f64;
        let mean = self.lengths.iter().sum::<f64>() / n;
        let mut scores = vec![0.0; self.patterns.len()];
        for word in words(context) {
            let n_with = self.documents.iter().filter(|document| document.contains_key(&word)).count() as f64;
            let rarity = (1.0 + (n - n_with + 0.5) / (n_with + 0.5)).ln();
            for (index, document) in self.documents.iter().enumerate() {
                if let Some(count) = document.get(&word) {
                    let length = 1.0 - B + B * self.lengths[index] / mean;
                    scores[index] += rarity * count * (K1 + 1.0) / (count + K1 * length);
                }
            }
        }
        let found = scores.into_iter().zip(self.patterns).filter(|(score, _)| *score > 0.0);
        sorted(found.collect())
    }
}

fn sorted(mut found: Vec<(f64, &Pattern)>) -> Vec<String> {
    found.sort_by(|(first_score, first), (second_score, second)| {
        let ties =
            |pattern: &Pattern| (pattern.severity_rank(), pattern.likelihood_rank(), pattern.id.clone());
        second_score.total_cmp(first_score).then_with(|| ties(first).cmp(&ties(second)))
    });
    found.into_iter().map(|(_, pattern)| pattern.id.clone()).collect()
}

fn words(text: &str) -> Vec<String> {
    let words = text.split(|character: char| !character.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}

fn text(pattern: &Pattern) -> String {
    let summary = &pattern.agent_summary;
    let mut parts: Vec<&str> = vec![
        &pattern.name,
        &pattern.subcategory,
        &pattern.description,
        &summary.threat,
        &summary.check,
        &summary.fix,
    ];
    parts.extend(pattern.triggers.keywords.iter().map(String::as_str));
    parts.extend(pattern.triggers.actions.iter().map(String::as_str));
    parts.extend(pattern.differentiation.llm_blindspots.iter().map(String::as_str));
    parts.extend(pattern.mitigations.iter().flat_map(|measure| [&*measure.name, &*measure.description]));
    parts.extend(pattern.attack_scenario.iter().map(|scenario| scenario.narrative.as_str()));
    parts.join("\n")
}
