//! Ranks the patterns that fit what somebody is about to build, says why, and stays silent when none does.
//!
//! A pattern whose keyword stands in the context, as whole words, comes before those without. Among
//! equals the score of [`crate::rank`] decides, then severity, likelihood and id.

use std::cmp::Reverse;
use std::fmt;

use crate::path;
use crate::pattern::Pattern;
use crate::phrase::{self, Found, Phrases};
use crate::rank::{Field, Ranking};
use crate::text;
use crate::thesaurus::Thesaurus;

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
            Reason::Words { words, field } if words.len() == 1 => write!(f, "word {} in {field}", words[0]),
            Reason::Words { words, field } => write!(f, "words {} in {field}", words.join(", ")),
        }
    }
}

/// What a keyword adds to the rarity of its words.
const KEYWORD_BONUS: f32 = 3.0;
/// What an action adds for each unit of rarity of its words.
const ACTION_FACTOR: f32 = 0.7;
/// What a file adds when its glob is one pattern's alone.
const FILE_BONUS: f32 = 4.0;
/// What a word counts that is not in the context but is meant by it.
const MEANT_FACTOR: f32 = 0.6;
/// The least score of a pattern that is not named.
const SCORE_MIN: f32 = 3.0;
/// The least part of what the context says that a pattern must know, if it is not named.
const COVERAGE_MIN: f32 = 0.3;
/// The least part of the best score that others need.
const BEST_PART_MIN: f32 = 0.4;

/// The patterns prepared for searching.
#[derive(Debug)]
pub struct Index {
    ranking: Ranking,
    keywords: Phrases<(usize, usize)>,
    actions: Phrases<(usize, usize)>,
}

impl Index {
    /// Prepares patterns.
    pub fn new(patterns: &[Pattern]) -> Index {
        let mut keywords = Phrases::new();
        let mut actions = Phrases::new();
        for (pattern, content) in patterns.iter().enumerate() {
            for (keyword, text) in content.triggers.keywords.iter().enumerate() {
                keywords.add(text, (pattern, keyword));
            }
            for (action, text) in content.triggers.actions.iter().enumerate() {
                actions.add_content(text, (pattern, action));
            }
        }
        Index { ranking: Ranking::new(patterns), keywords, actions }
    }

    /// Ranks the patterns, which must be those it was made from.
    pub fn search<'a>(&self, patterns: &'a [Pattern], query: &Query<'_>) -> Vec<Hit<'a>> {
        let wanted: Vec<bool> = patterns.iter().map(|pattern| query.wants(pattern)).collect();
        let mut candidates = if query.context.trim().is_empty() {
            patterns.iter().map(|pattern| Candidate::new(pattern, 0.0, false, Vec::new())).collect()
        } else {
            self.candidates(patterns, query.context)
        };
        candidates.retain(|candidate| wanted[candidate.index(patterns)]);

        let best = candidates.iter().map(|candidate| candidate.score).max().unwrap_or_default();
        let least = (best as f32 * BEST_PART_MIN) as i64;
        candidates.retain(|candidate| candidate.named || candidate.score >= least);
        candidates.sort_by_key(|candidate| {
            let pattern = candidate.pattern;
            let ties = (pattern.severity_rank(), pattern.likelihood_rank(), &pattern.id);
            (!candidate.named, Reverse(candidate.score), ties)
        });
        candidates.into_iter().map(Candidate::hit).collect()
    }

    fn candidates<'a>(&self, patterns: &'a [Pattern], context: &str) -> Vec<Candidate<'a>> {
        let context = text::prefix(context, CONTEXT_SIZE_MAX_BYTES);
        let words = text::words(context);
        let meant = Thesaurus::get().find(context, &words);
        let mut scores = vec![0.0_f32; patterns.len()];
        let mut named = vec![false; patterns.len()];
        let mut reasons: Vec<Vec<Reason>> = vec![Vec::new(); patterns.len()];

        for Found { value: (pattern, keyword), first, end } in
            longest(self.keywords.find(&words, phrase::is_determiner))
        {
            let reason = Reason::Keyword(patterns[pattern].triggers.keywords[keyword].clone());
            if !reasons[pattern].contains(&reason) {
                let rarity: f32 =
                    words.words[first..end].iter().map(|word| self.ranking.rarity(&word.stem)).sum();
                scores[pattern] += KEYWORD_BONUS + rarity;
                named[pattern] = true;
                reasons[pattern].push(reason);
            }
        }
        for Found { value: (pattern, action), first, end } in self.actions.find(&words, text::is_stop_word) {
            let reason = Reason::Action(patterns[pattern].triggers.actions[action].clone());
            if !reasons[pattern].contains(&reason) {
                let content = words.words[first..end].iter().filter(|word| !text::is_stop_word(&word.stem));
                scores[pattern] +=
                    ACTION_FACTOR * content.map(|word| self.ranking.rarity(&word.stem)).sum::<f32>();
                reasons[pattern].push(reason);
            }
        }
        let mut has_file = vec![false; patterns.len()];
        for path in path::paths(context) {
            let globs: Vec<Option<&String>> = patterns
                .iter()
                .map(|pattern| pattern.triggers.file_patterns.iter().find(|glob| path::matches(glob, path)))
                .collect();
            let n_matching = globs.iter().flatten().count() as f32;
            for (pattern, glob) in globs.into_iter().enumerate() {
                if let Some(glob) = glob {
                    scores[pattern] += FILE_BONUS / n_matching;
                    has_file[pattern] = true;
                    reasons[pattern].push(Reason::File { path: path.to_owned(), glob: glob.clone() });
                }
            }
        }

        // Each stem counts once, directly or else as something meant.
        let mut counted: Vec<&str> = Vec::new();
        let mut said = vec![0.0_f32; patterns.len()];
        let mut total = 0.0;
        let mut in_fields: Vec<Vec<(Field, String)>> = vec![Vec::new(); patterns.len()];
        let compounds =
            words.compounds.iter().map(|compound| (compound.stem.as_str(), compound.first, compound.n_parts));
        let singles = words.words.iter().enumerate().map(|(first, word)| (word.stem.as_str(), first, 1));
        for (stem, first, n_words) in singles.chain(compounds) {
            if text::is_stop_word(stem) || counted.contains(&stem) {
                continue;
            }
            counted.push(stem);
            let rarity = self.ranking.rarity(stem);
            if n_words == 1 {
                total += rarity;
            }
            let (start, end) = (words.words[first].start, words.words[first + n_words - 1].end);
            for posting in self.ranking.postings(stem) {
                scores[posting.pattern] += posting.score;
                if n_words == 1 {
                    said[posting.pattern] += rarity;
                }
                in_fields[posting.pattern].push((posting.field, context[start..end].to_lowercase()));
            }
        }
        let n_direct = counted.len();
        for meaning in &meant {
            let mut understood = vec![false; patterns.len()];
            for stem in meaning.stems {
                if counted[..n_direct].contains(&stem.as_str()) {
                    continue;
                }
                let again = counted.contains(&stem.as_str());
                for posting in self.ranking.postings(stem) {
                    understood[posting.pattern] = true;
                    if !again {
                        scores[posting.pattern] += MEANT_FACTOR * posting.score;
                    }
                }
                counted.push(stem);
            }
            let rarity: f32 = meaning.mass(&words).map(|stem| self.ranking.rarity(stem)).sum();
            for (pattern, understood) in understood.into_iter().enumerate() {
                if understood {
                    said[pattern] += rarity;
                    reasons[pattern].push(meaning.reason(context));
                }
            }
        }

        let mut candidates = Vec::new();
        for (index, pattern) in patterns.iter().enumerate() {
            let coverage = if total > 0.0 { said[index] / total } else { 1.0 };
            let fits =
                named[index] || (scores[index] >= SCORE_MIN && (coverage >= COVERAGE_MIN || has_file[index]));
            if fits {
                let mut reasons = std::mem::take(&mut reasons[index]);
                reasons.extend(grouped(std::mem::take(&mut in_fields[index])));
                candidates.push(Candidate::new(pattern, scores[index], named[index], reasons));
            }
        }
        candidates
    }
}

/// A context longer than this is read up to here.
const CONTEXT_SIZE_MAX_BYTES: usize = 16 << 10;

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

struct Candidate<'a> {
    pattern: &'a Pattern,
    score: i64,
    named: bool,
    reasons: Vec<Reason>,
}

impl<'a> Candidate<'a> {
    fn new(pattern: &'a Pattern, score: f32, named: bool, reasons: Vec<Reason>) -> Self {
        // Whole thousandths: what differs only by rounding is a tie.
        Candidate { pattern, score: (score * 1000.0).round() as i64, named, reasons }
    }

    fn index(&self, patterns: &[Pattern]) -> usize {
        patterns.iter().position(|pattern| std::ptr::eq(pattern, self.pattern)).expect("it is one of them")
    }

    fn hit(self) -> Hit<'a> {
        Hit { pattern: self.pattern, score: self.score, reasons: self.reasons }
    }
}

/// Leaves out what stands inside a longer phrase: `role change` does not name `role`.
fn longest(found: Vec<Found<(usize, usize)>>) -> Vec<Found<(usize, usize)>> {
    let inside = |inner: &Found<_>, outer: &Found<_>| {
        outer.first <= inner.first
            && inner.end <= outer.end
            && outer.end - outer.first > inner.end - inner.first
    };
    found.iter().filter(|inner| !found.iter().any(|outer| inside(inner, outer))).copied().collect()
}

fn grouped(mut in_fields: Vec<(Field, String)>) -> Vec<Reason> {
    // Stable: words stay in the order of the context.
    in_fields.sort_by_key(|(field, _)| *field);
    let groups = in_fields.chunk_by(|first, second| first.0 == second.0);
    groups
        .map(|group| Reason::Words {
            field: group[0].0,
            words: group.iter().map(|(_, word)| word.clone()).collect(),
        })
        .collect()
}
