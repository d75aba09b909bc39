//! Ranks the patterns that fit what somebody is about to build, says why, and stays silent when none does.
//!
//! A pattern comes as far as the context sounds like it (see [`crate::profile`]), and first if the context names one
//! of its keywords: a phrase as whole words, or a single word with something else that speaks for it. Among equals
//! the score decides, then severity, likelihood and id.

use std::cmp::Reverse;
use std::fmt;

use crate::evidence::{Index, Named, Weight};
use crate::pattern::Pattern;
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
    /// How well it fits, up to 100 000 or so; 0 if there was no context.
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

/// How much what no pattern is about counts against an answer.
const UNRELATED_FACTOR: f32 = 2.0;
/// How much more than that a pattern must fit.
const MARGIN_MIN: f32 = 0.014;
/// The same for a pattern that is named by an everyday word.
const MARGIN_MIN_NAMED: f32 = -0.005;
/// How near the best a pattern must be to be first that is named by an everyday word, and by any other.
const EVERYDAY_PART_MIN: f32 = 0.75;
const NAMED_PART_MIN: f32 = 0.4;
/// The least part of the best score that others need.
const BEST_PART_MIN: f32 = 0.35;
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
    let margin = |weight: &Weight| weight.score - UNRELATED_FACTOR * evidence.unrelated;
    let is_named = |weight: &Weight| match weight.named {
        Named::No => false,
        Named::EverydayWord => {
            margin(weight) >= MARGIN_MIN_NAMED && weight.score >= best_score * EVERYDAY_PART_MIN
        }
        Named::Word => weight.score >= best_score * NAMED_PART_MIN,
        Named::Phrase => true,
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
    found.retain(|(_, weight)| weight.named > Named::No || weight.score >= best_score * BEST_PART_MIN);
    found.sort_by_key(|(index, weight)| order(&patterns[*index], weight));

    let hit = |(index, weight): (usize, Weight)| Hit {
        pattern: &patterns[index],
        score: points(weight.score),
        reasons: prepared.reasons(&evidence, index, &patterns[index]),
    };
    found.into_iter().map(hit).collect()
}

fn order<'a>(pattern: &'a Pattern, weight: &Weight) -> (bool, Reverse<i64>, (usize, usize, &'a str)) {
    (weight.named == Named::No, Reverse(points(weight.score)), ties(pattern))
}

/// Whole points: what differs only by rounding is a tie.
fn points(score: f32) -> i64 {
    (score * 100_000.0).round() as i64
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
