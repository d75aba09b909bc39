//! Ranks the patterns that fit what somebody is about to build, says why, and stays silent when none does.
//!
//! Patterns come by their BM25F score (see [`crate::rank`]), and first if the context names one of their keywords as
//! whole words. An everyday word (`import`, `search`) does so only if no other word says anything, or if the scores
//! agree. What no pattern is about has a score too, and an answer must beat it. Ties go by severity, likelihood and id.

use std::cmp::Reverse;
use std::fmt;

use crate::evidence::{Index, Named, Weight};
use crate::pattern::Pattern;
use crate::rank::Tone;
use crate::text;

/// What is asked for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Query<'a> {
    /// What somebody is about to build. Nothing but blanks: every pattern, worst first.
    pub context: &'a str,
    /// Only patterns for this language.
    pub language: Option<&'a str>,
    /// Only patterns for this framework, unless it is `any`.
    pub framework: Option<&'a str>,
    /// Only patterns of this category.
    pub category: Option<&'a str>,
}

/// A pattern that fits.
#[derive(Clone, Debug)]
pub struct Hit<'a> {
    /// The pattern.
    pub pattern: &'a Pattern,
    /// How well it fits, up to some thousands; 0 if there was no context.
    pub score: i64,
    /// Why it fits, the strongest reason first.
    pub reasons: Vec<Reason>,
}

/// Why a pattern fits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The context names this keyword of the pattern.
    Keyword(String),
    /// The context names a file that matches this glob of the pattern.
    File {
        /// As in the context.
        path: String,
        /// As in the pattern.
        glob: String,
    },
    /// The context is like this example of what the pattern is about.
    Like(String),
    /// These words of the context are typical for the pattern.
    Words(Vec<String>),
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Keyword(keyword) => write!(f, "keyword {keyword:?}"),
            Reason::File { path, glob } => write!(f, "file {path} matches {glob}"),
            Reason::Like(example) => write!(f, "like {example:?}"),
            Reason::Words(words) if words.len() == 1 => write!(f, "word {}", words[0]),
            Reason::Words(words) => write!(f, "words {}", words.join(", ")),
        }
    }
}

/// By how much a pattern must beat what no pattern is about.
const MARGIN_MIN: f32 = 0.72;
/// The same for one that is named by a word of its own.
const MARGIN_MIN_NAMED: f32 = -0.5;
/// How near the best a pattern must be to be first for an everyday word among others that say something.
const EVERYDAY_PART_MIN: f32 = 0.75;
/// How far above the usual score the others must be, as a part of how far the best is.
const OTHERS_PART_MIN: f32 = 0.2;
/// What they must have of the best score from the fourth on: most people are shown three.
const LATER_PART_MIN: f32 = 0.6;
/// So many answers are first ones, and their scores not usual ones, however few patterns there are.
const N_FIRST: usize = 3;
/// A context longer than this is read up to here.
const CONTEXT_SIZE_MAX_BYTES: usize = 16 << 10;

/// Ranks the patterns that fit; they must be those the index was made from.
pub fn search<'a>(patterns: &'a [Pattern], prepared: &Index, query: &Query<'_>) -> Vec<Hit<'a>> {
    let wanted = |pattern: &&Pattern| query.wants(pattern);
    if query.context.trim().is_empty() {
        let mut hits: Vec<Hit<'_>> = patterns
            .iter()
            .filter(wanted)
            .map(|pattern| Hit { pattern, score: 0, reasons: Vec::new() })
            .collect();
        hits.sort_by_key(|hit| ties(hit.pattern));
        return hits;
    }

    let evidence = prepared.collect(patterns, text::prefix(query.context, CONTEXT_SIZE_MAX_BYTES));
    let wanted =
        evidence.weights.iter().copied().enumerate().filter(|(index, _)| query.wants(&patterns[*index]));
    let mut found: Vec<(usize, Weight)> = wanted.collect();
    let best_score = found.iter().map(|(_, weight)| weight.score).fold(0.0, f32::max);
    let margin = |weight: &Weight| weight.score - evidence.unrelated;
    let is_near = |weight: &Weight| weight.score >= best_score * EVERYDAY_PART_MIN;
    let is_named = |weight: &Weight| match (weight.named, evidence.rest) {
        (Named::No, _) => false,
        (Named::Phrase, _) | (_, Tone::Neutral) => true,
        (Named::Word, _) => margin(weight) >= MARGIN_MIN_NAMED,
        (Named::EverydayWord, Tone::Telling) => is_near(weight),
        (Named::EverydayWord, Tone::Foreign) => is_near(weight) && margin(weight) >= MARGIN_MIN,
    };
    for (_, weight) in &mut found {
        if !is_named(weight) {
            weight.named = Named::No;
        }
    }
    let fits = |weight: &Weight| weight.named > Named::No || weight.file || margin(weight) >= MARGIN_MIN;
    if !found.iter().any(|(_, weight)| fits(weight)) {
        return Vec::new();
    }
    let usual_score = usual(evidence.weights.iter().map(|weight| weight.score).collect());
    let score_min = usual_score + (best_score - usual_score) * OTHERS_PART_MIN;
    found.retain(|(_, weight)| weight.named > Named::No || weight.score > 0.0 && weight.score >= score_min);
    found.sort_by_key(|(index, weight)| order(&patterns[*index], weight));
    let mut n_before = 0;
    found.retain(|(_, weight)| {
        n_before += 1;
        n_before <= N_FIRST || weight.named > Named::No || weight.score >= best_score * LATER_PART_MIN
    });

    let hit = |(index, weight): (usize, Weight)| Hit {
        pattern: &patterns[index],
        score: points(weight.score),
        reasons: prepared.reasons(&evidence, index, &patterns[index]),
    };
    found.into_iter().map(hit).collect()
}

/// Returns what a pattern scores that has nothing to do with a context: words that everybody uses add up.
fn usual(mut scores: Vec<f32>) -> f32 {
    scores.sort_by(|first, second| second.total_cmp(first));
    scores.get(N_FIRST.max(scores.len() / 2)).copied().unwrap_or_default()
}

fn order<'a>(pattern: &'a Pattern, weight: &Weight) -> (bool, Reverse<i64>, (usize, usize, &'a str)) {
    (weight.named == Named::No, Reverse(points(weight.score)), ties(pattern))
}

/// Whole points: what differs only by rounding is a tie.
fn points(score: f32) -> i64 {
    (score * 1_000.0).round() as i64
}

fn ties(pattern: &Pattern) -> (usize, usize, &str) {
    (pattern.severity_rank(), pattern.likelihood_rank(), &pattern.id)
}

impl Query<'_> {
    fn wants(&self, pattern: &Pattern) -> bool {
        let any = |value: &str| value.eq_ignore_ascii_case("any");
        let same = |wanted: Option<&str>, value: &str| {
            wanted.is_none_or(|wanted| wanted.is_empty() || wanted.eq_ignore_ascii_case(value))
        };
        (same(self.language, &pattern.language) || any(&pattern.language))
            && (same(self.framework, &pattern.framework)
                || any(&pattern.framework)
                || self.framework.is_some_and(any))
            && same(self.category, &pattern.category)
    }
}
