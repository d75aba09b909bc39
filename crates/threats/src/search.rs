//! Ranks the patterns that fit a planned change, with reasons, and returns none if none fits.
//!
//! Patterns are ranked by score (see [`crate::rank`]), and come first if the context has one of their keywords as
//! whole words. A single word does so only if no other word is significant, or if the scores agree; an everyday word
//! (`import`, `search`) needs more of that. Unrelated texts have a score, too, and a result must beat it: the more, the less it
//! stands out from the other patterns. Ties are ordered by severity, likelihood and id.

use std::cmp::Reverse;
use std::fmt;

use crate::coverage;
use crate::evidence::{Index, Named, Weight};
use crate::pattern::Pattern;
use crate::rank::Tone;
use crate::text;

/// A query.
#[derive(Clone, Copy, Debug, Default)]
pub struct Query<'a> {
    /// The planned change. Blank: every pattern, most severe first.
    pub context: &'a str,
    /// Only patterns for this language; if there are none, those that generalize.
    pub language: Option<&'a str>,
    /// Only patterns for this framework, unless it is `any`; if there are none, those that generalize.
    pub framework: Option<&'a str>,
    /// Only patterns of this category.
    pub category: Option<&'a str>,
}

/// A pattern that fits.
#[derive(Clone, Debug)]
pub struct Hit<'a> {
    /// The pattern.
    pub pattern: &'a Pattern,
    /// The score, up to some thousands; 0 without a context.
    pub score: i64,
    /// Why it fits, the strongest reason first.
    pub reasons: Vec<Reason>,
    /// What the context and the pattern have in common.
    pub signs: Signs,
    /// Whether it is more often right than wrong: the context has a keyword of several words or a file, or the pattern stands out.
    pub is_sure: bool,
}

/// What a context and a pattern have in common: keywords, files and the stems of words, for comparison with a later
/// context. A similar example is not a sign, because any word changes the similarity.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Signs {
    /// All of them, without duplicates, the most significant first; [`SIGNS_MAX`] at most.
    pub all: Vec<String>,
    /// How many of them the reasons name.
    pub n_telling: usize,
}

impl Signs {
    /// Adds a sign unless it is there.
    pub(crate) fn add(&mut self, sign: String) {
        if self.all.len() < SIGNS_MAX && !self.all.contains(&sign) {
            self.all.push(sign);
        }
    }
}

/// The result of a query.
#[derive(Clone, Debug, Default)]
pub struct FoundPatterns<'a> {
    /// The patterns that fit, best first.
    pub hits: Vec<Hit<'a>>,
    /// What the library covers, if nothing fits or the result is unsure, and whether the patterns are for another stack.
    pub note: Option<String>,
}

/// Why a pattern fits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The context has this keyword of the pattern.
    Keyword(String),
    /// The context names a file that matches this glob of the pattern.
    File {
        /// As in the context.
        path: String,
        /// As in the pattern.
        glob: String,
    },
    /// The context is similar to this example for the pattern.
    Like(String),
    /// These words of the context are typical of the pattern.
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

/// By how much a pattern must beat the unrelated texts if it is named by a phrase, or by a single word.
const PHRASE_MARGIN_MIN: f32 = 0.0;
const WORD_MARGIN_MIN: f32 = -0.5;
/// What a pattern must beat it by if it is not named, as a part of how far the best stands out from the usual score. A context
/// from the field is a little like many patterns; any other is like one, by a word that it happens to have.
const OUTSTANDING_PART: f32 = 0.45;
/// Below this margin every second result is wrong, so it is marked as unsure.
const SURE_MARGIN: f32 = 0.3;
/// How near the best a pattern must be to be first for a word among others that say something.
const NEAR_PART_MIN: f32 = 0.85;
/// How far above the usual score the others must be, as a part of how far the best is.
const OTHERS_PART_MIN: f32 = 0.2;
/// What they must have of the best score from the fourth on: most people are shown three.
const LATER_PART_MIN: f32 = 0.6;
/// The number of top results that do not count for the usual score, even with few patterns.
const N_FIRST: usize = 3;
/// The maximal number of signs per pattern.
pub const SIGNS_MAX: usize = 200;
/// The part of a longer context that is read.
const CONTEXT_SIZE_MAX_BYTES: usize = 16 << 10;

/// Ranks the patterns that fit; they must be those the index was made from.
pub fn search<'a>(patterns: &'a [Pattern], prepared: &Index, query: &Query<'_>) -> FoundPatterns<'a> {
    let filter = PatternFilter::new(query, patterns);
    if query.context.trim().is_empty() {
        let mut hits: Vec<Hit<'_>> = patterns
            .iter()
            .filter(|pattern| filter.wants(pattern))
            .map(|pattern| Hit {
                pattern,
                score: 0,
                reasons: Vec::new(),
                signs: Signs::default(),
                is_sure: true,
            })
            .collect();
        hits.sort_by_key(|hit| ties(hit.pattern));
        let note = filter.remark(&hits);
        return FoundPatterns { hits, note };
    }

    let evidence = prepared.collect(patterns, text::prefix(query.context, CONTEXT_SIZE_MAX_BYTES));
    let wanted =
        evidence.weights.iter().copied().enumerate().filter(|(index, _)| filter.wants(&patterns[*index]));
    let mut found: Vec<(usize, Weight)> = wanted.collect();
    let best_score = found.iter().map(|(_, weight)| weight.score).fold(0.0, f32::max);
    let usual_score = usual(evidence.weights.iter().map(|weight| weight.score).collect());
    let margin_min = OUTSTANDING_PART * (best_score - usual_score).max(0.0);
    let is_near = |weight: &Weight| weight.score >= best_score * NEAR_PART_MIN;
    let is_named = |weight: &Weight| match (weight.named, evidence.rest) {
        (Named::No, _) => false,
        (_, Tone::Neutral) => true,
        (Named::Phrase, _) => weight.margin() >= PHRASE_MARGIN_MIN,
        (Named::Word, _) => is_near(weight) && weight.margin() >= WORD_MARGIN_MIN,
        (Named::EverydayWord, Tone::Telling) => is_near(weight),
        (Named::EverydayWord, Tone::Foreign) => is_near(weight) && weight.margin() >= margin_min,
    };
    for (_, weight) in &mut found {
        if !is_named(weight) {
            weight.named = Named::No;
        }
    }
    let fits = |weight: &Weight| {
        weight.named > Named::No || weight.file || weight.shares_words && weight.margin() >= margin_min
    };
    if !found.iter().any(|(_, weight)| fits(weight)) {
        let reason = match (found.is_empty(), evidence.topic) {
            (true, _) => "no pattern is left by the filters".to_owned(),
            (false, Some(topic)) => format!("nothing here is about {topic}"),
            (false, None) => "nothing here fits this".to_owned(),
        };
        let note = Some(format!("{}; {reason}", coverage::describe(patterns)));
        return FoundPatterns { hits: Vec::new(), note };
    }
    let score_min = usual_score + (best_score - usual_score) * OTHERS_PART_MIN;
    found.retain(|(_, weight)| weight.named > Named::No || weight.shares_words && weight.score >= score_min);
    found.sort_by_key(|(index, weight)| order(&patterns[*index], weight));
    let mut n_before = 0;
    found.retain(|(_, weight)| {
        n_before += 1;
        n_before <= N_FIRST || weight.named > Named::No || weight.score >= best_score * LATER_PART_MIN
    });

    let is_sure = |weight: &Weight| {
        let is_named = weight.named > Named::No && evidence.rest == Tone::Neutral;
        is_named || weight.file || weight.margin() >= margin_min + SURE_MARGIN
    };
    let doubt = found.first().is_none_or(|(_, weight)| !is_sure(weight));
    let doubt =
        doubt.then(|| format!("unsure whether this fits; the library {}", coverage::describe(patterns)));
    let hit = |(index, weight): (usize, Weight)| Hit {
        pattern: &patterns[index],
        score: points(weight.score),
        reasons: prepared.reasons(&evidence, index, &patterns[index]),
        signs: prepared.signs(&evidence, index, &patterns[index]),
        is_sure: weight.named == Named::Phrase || is_sure(&weight),
    };
    let hits: Vec<Hit<'_>> = found.into_iter().map(hit).collect();
    let notes: Vec<String> = [doubt, filter.remark(&hits)].into_iter().flatten().collect();
    FoundPatterns { hits, note: (!notes.is_empty()).then(|| notes.join("; ")) }
}

/// Returns the score of an unrelated pattern: common words add up.
fn usual(mut scores: Vec<f32>) -> f32 {
    scores.sort_by(|first, second| second.total_cmp(first));
    scores.get(N_FIRST.max(scores.len() / 2)).copied().unwrap_or_default()
}

fn order<'a>(pattern: &'a Pattern, weight: &Weight) -> (bool, Reverse<i64>, (usize, usize, &'a str)) {
    (weight.named == Named::No, Reverse(points(weight.score)), ties(pattern))
}

/// Whole points, so that rounding differences are ties.
fn points(score: f32) -> i64 {
    (score * 1_000.0).round() as i64
}

fn ties(pattern: &Pattern) -> (usize, usize, &str) {
    (pattern.severity_rank(), pattern.likelihood_rank(), &pattern.id)
}

/// Which patterns a query may find.
struct PatternFilter<'a> {
    query: &'a Query<'a>,
    /// The language or framework that no pattern is written for.
    missing: Vec<&'a str>,
}

impl<'a> PatternFilter<'a> {
    fn new(query: &'a Query<'a>, patterns: &[Pattern]) -> PatternFilter<'a> {
        let is_missing = |wanted: &&str, value: fn(&Pattern) -> &str| {
            !patterns.iter().any(|pattern| wanted.eq_ignore_ascii_case(value(pattern)))
        };
        let language = named(query.language).filter(|wanted| is_missing(wanted, |pattern| &pattern.language));
        let framework =
            named(query.framework).filter(|wanted| is_missing(wanted, |pattern| &pattern.framework));
        PatternFilter { query, missing: [language, framework].into_iter().flatten().collect() }
    }

    fn wants(&self, pattern: &Pattern) -> bool {
        let fits = |wanted: Option<&str>, value: &str| {
            let same = |wanted: &str| wanted.eq_ignore_ascii_case(value) || is_any(value);
            let generalizes =
                |wanted: &str| self.missing.contains(&wanted) && !pattern.generalizes_to.is_empty();
            named(wanted).is_none_or(|wanted| same(wanted) || generalizes(wanted))
        };
        let category = self.query.category.filter(|category| !category.is_empty());
        fits(self.query.language, &pattern.language)
            && fits(self.query.framework, &pattern.framework)
            && category.is_none_or(|category| category.eq_ignore_ascii_case(&pattern.category))
    }

    /// Notes that some of the patterns were written for another stack.
    fn remark(&self, hits: &[Hit<'_>]) -> Option<String> {
        let is_other =
            |hit: &Hit<'_>| written_for(hit.pattern, self.query.language, self.query.framework).is_some();
        let missing = self.missing.join(" and ");
        hits.iter().any(is_other).then(|| {
            format!(
                "not written for {missing}: patterns with `written_for` generalize to it, their code does not"
            )
        })
    }
}

/// Returns what a filter asks for, unless it is nothing or anything.
fn named(wanted: Option<&str>) -> Option<&str> {
    wanted.filter(|wanted| !wanted.is_empty() && !is_any(wanted))
}

fn is_any(value: &str) -> bool {
    value.eq_ignore_ascii_case("any")
}

/// Returns the stack of a pattern, such as `Python/Flask`, if it is not the requested one.
pub fn written_for(pattern: &Pattern, language: Option<&str>, framework: Option<&str>) -> Option<String> {
    let differs = |wanted: Option<&str>, value: &str| {
        named(wanted).is_some_and(|wanted| !wanted.eq_ignore_ascii_case(value)) && !is_any(value)
    };
    let is_other = differs(language, &pattern.language) || differs(framework, &pattern.framework);
    coverage::stack(pattern).filter(|_| is_other)
}
