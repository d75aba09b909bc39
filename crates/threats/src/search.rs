//! Ranks the patterns that fit what somebody is about to build, says why, and stays silent when none does.
//!
//! A pattern whose keyword stands in the context, as whole words, comes before those without. Among
//! equals the score decides, then severity, likelihood and id.

use std::cmp::Reverse;
use std::fmt;

use crate::evidence::{Evidence, Index, Weight};
use crate::pattern::Pattern;
use crate::rank::Field;
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
    /// How well it fits, in thousandths; 0 if there was no context.
    pub score: i64,
    /// Why it fits, the strongest reason first.
    pub reasons: Vec<Reason>,
}

/// Why a pattern fits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The context names this keyword of the pattern.
    Keyword(String),
    /// The context describes this action of the pattern.
    Action(String),
    /// The context names a file that matches this glob of the pattern.
    File {
        /// As in the context.
        path: String,
        /// As in the pattern.
        glob: String,
    },
    /// Something in the context is another expression for what the pattern is about.
    Meaning {
        /// As in the context.
        expression: String,
        /// What it means.
        subject: String,
    },
    /// It is related to the best pattern, this one, and something of it is in the context.
    Related(String),
    /// Words of the context stand in a field of the pattern.
    Words {
        /// As in the context.
        words: Vec<String>,
        /// Where they stand in the pattern.
        field: Field,
    },
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Keyword(keyword) => write!(f, "keyword {keyword:?}"),
            Reason::Action(action) => write!(f, "action {action:?}"),
            Reason::File { path, glob } => write!(f, "file {path} matches {glob}"),
            Reason::Meaning { expression, subject } => write!(f, "{expression:?} speaks of {subject}"),
            Reason::Related(id) => write!(f, "related to {id}"),
            Reason::Words { words, field } if words.len() == 1 => write!(f, "word {} in {field}", words[0]),
            Reason::Words { words, field } => write!(f, "words {} in {field}", words.join(", ")),
        }
    }
}

/// The least score of a pattern that is not named.
const SCORE_MIN: f32 = 3.0;
/// The least part of what the context says that a pattern must know, if it is not named.
const COVERAGE_MIN: f32 = 0.2;
/// The same, if nothing in the context is about people and their rights.
const COVERAGE_SURE: f32 = 0.6;
/// How many groups of topic words make a context one that patterns are about.
const TOPIC_GROUPS_MIN: u32 = 2;
/// The least score of a pattern in such a context.
const TOPIC_SCORE_MIN: f32 = 1.0;
/// How sure it must be that the context speaks of a pattern in other words.
const MEANT_MIN: f32 = 0.75;
/// The least part of the best score that others need, up to [`FOLLOWER_SCORE_MIN`].
const BEST_PART_MIN: f32 = 0.25;
const FOLLOWER_SCORE_MIN: f32 = 3.0;
/// What a pattern gains for being related to the best one.
const RELATED_BONUS: f32 = 1.2;
/// A context longer than this is read up to here.
const CONTEXT_SIZE_MAX_BYTES: usize = 16 << 10;

/// Ranks the patterns that fit; they must be those the index was made from.
pub fn search<'a>(patterns: &'a [Pattern], index: &Index, query: &Query<'_>) -> Vec<Hit<'a>> {
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

    let evidence = index.collect(patterns, text::prefix(query.context, CONTEXT_SIZE_MAX_BYTES));
    let mut weights = evidence.weights.clone();
    for weight in weights.iter_mut().filter(|weight| weight.named && weight.everyday) {
        // An everyday word names a pattern if the context is about little else, or about people and their rights.
        let related = evidence.n_groups > 0 || weight.coverage >= COVERAGE_SURE;
        weight.named = evidence.n_unrelated == 0 && related;
    }
    let weights = weights.into_iter().enumerate();
    let mut found: Vec<(usize, Weight)> =
        weights.filter(|(index, _)| query.wants(&patterns[*index])).collect();
    if !found.iter().any(|(_, weight)| fits(weight, &evidence)) {
        return Vec::new();
    }
    found.sort_by_key(|(index, weight)| order(&patterns[*index], weight));
    let (best, best_score) = (&patterns[found[0].0], found[0].1.score);
    let mut related = Vec::new();
    for (index, weight) in &mut found[1..] {
        let id = &patterns[*index].id;
        if weight.score > 0.0 && best.related_patterns.iter().any(|other| other.id.eq_ignore_ascii_case(id)) {
            weight.score = (weight.score + RELATED_BONUS).min(best_score.max(weight.score));
            related.push(*index);
        }
    }
    let least = (best_score * BEST_PART_MIN).min(FOLLOWER_SCORE_MIN);
    found.retain(|(_, weight)| weight.named || weight.score >= least);
    found[1..].sort_by_key(|(index, weight)| order(&patterns[*index], weight));

    let hit = |(index, weight): (usize, Weight)| {
        let pattern = &patterns[index];
        let mut reasons = evidence.reasons(index, pattern);
        if related.contains(&index) {
            reasons.push(Reason::Related(best.id.clone()));
        }
        Hit { pattern, score: thousandths(weight.score), reasons }
    };
    found.into_iter().map(hit).collect()
}

fn order<'a>(pattern: &'a Pattern, weight: &Weight) -> (bool, Reverse<i64>, (usize, usize, &'a str)) {
    (!weight.named, Reverse(thousandths(weight.score)), ties(pattern))
}

/// Whole thousandths: what differs only by rounding is a tie.
fn thousandths(score: f32) -> i64 {
    (score * 1000.0).round() as i64
}

/// Tells whether a pattern is a reason to answer at all: it is named, or spoken of, or known for sure; the more
/// the context is about people and their rights, the less it takes.
fn fits(weight: &Weight, evidence: &Evidence<'_>) -> bool {
    let coverage_min = if evidence.n_groups > 0 { COVERAGE_MIN } else { COVERAGE_SURE };
    let spoken_of = weight.meant >= MEANT_MIN + evidence.n_unrelated as f32 * MEANT_MIN;
    let known = spoken_of || weight.coverage >= coverage_min || weight.file;
    let on_topic = evidence.n_groups >= TOPIC_GROUPS_MIN && evidence.n_unrelated == 0;
    weight.named || known && weight.score >= SCORE_MIN || on_topic && weight.score >= TOPIC_SCORE_MIN
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
