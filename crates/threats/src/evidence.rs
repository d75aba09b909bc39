//! Collects what in a context speaks for each pattern.

use crate::path;
use crate::pattern::Pattern;
use crate::phrase::{self, Found, Phrases};
use crate::rank::{Field, Ranking};
use crate::search::Reason;
use crate::spelling::Spelling;
use crate::text::{self, Words};
use crate::thesaurus::{Meaning, Thesaurus};
use crate::topic;

/// What a keyword adds to the rarity of its words.
const KEYWORD_BONUS: f32 = 3.0;
/// What an action adds for each unit of rarity of its words.
const ACTION_FACTOR: f32 = 0.7;
/// What a file adds when its glob is one pattern's alone.
const FILE_BONUS: f32 = 4.0;
/// What an expression adds for a pattern that has its subject as a keyword.
const MEANING_BONUS: f32 = 3.5;
/// How far more expressions for the same subject make it surer.
const MEANING_STRENGTH_MAX: f32 = 2.0;
/// What a word counts that is not in the context but is meant by it.
const MEANT_FACTOR: f32 = 0.5;
/// What an unrelated expression weighs in a context, next to the rarity of words.
const UNRELATED_MASS: f32 = 6.0;

/// Stems that patterns have as keywords and that everybody uses for other things as well.
const EVERYDAY_WORDS: &[&str] = &[
    "approv",
    "attach",
    "avatar",
    "cach",
    "collect",
    "complet",
    "download",
    "draft",
    "enum",
    "export",
    "facet",
    "filter",
    "index",
    "invit",
    "list",
    "owner",
    "pend",
    "publish",
    "reject",
    "reopen",
    "report",
    "role",
    "search",
    "serial",
    "serializ",
    "share",
    "show",
    "snippet",
    "state",
    "status",
    "suggest",
    "task",
    "thumbnail",
    "transit",
    "trash",
    "updat",
    "upload",
    "worker",
    "workflow",
];

/// What speaks for the patterns in one context.
#[derive(Debug)]
pub struct Evidence<'a> {
    /// For each pattern.
    pub weights: Vec<Weight>,
    /// How many expressions in the context belong to other subjects altogether.
    pub n_unrelated: usize,
    /// How many groups of [`topic`] the context has words of.
    pub n_groups: u32,
    context: &'a str,
    meanings: Vec<Meaning>,
    paths: Vec<&'a str>,
    clues: Vec<(usize, Clue)>,
}

/// How much speaks for one pattern.
#[derive(Clone, Copy, Debug, Default)]
pub struct Weight {
    /// The sum of it all.
    pub score: f32,
    /// Whether the context names a keyword.
    pub named: bool,
    /// Whether all it names are everyday words.
    pub everyday: bool,
    /// How surely the context speaks of a keyword in other words.
    pub meant: f32,
    /// Whether the context names a file of its kind.
    pub file: bool,
    /// How much of the context it knows, from 0 to 1.
    pub coverage: f32,
}

/// A reason in short: most patterns with clues are not answered, and their reasons never spelled out.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Clue {
    Keyword(usize),
    Action(usize),
    File { path: usize, glob: usize },
    Meaning(usize),
    Word { field: Field, start: usize, end: usize },
}

/// The phrases of patterns, prepared for searching.
#[derive(Debug)]
pub struct Index {
    ranking: Ranking,
    keywords: Phrases<(usize, usize)>,
    actions: Phrases<(usize, usize)>,
    /// For each subject of the thesaurus the patterns that have it as a keyword.
    subjects: Vec<Vec<usize>>,
    spelling: Spelling,
}

impl Index {
    /// Prepares patterns.
    pub fn new(patterns: &[Pattern]) -> Index {
        let thesaurus = Thesaurus::get();
        let mut keywords = Phrases::new();
        let mut actions = Phrases::new();
        let mut stems: Vec<String> = Vec::new();
        for (pattern, content) in patterns.iter().enumerate() {
            for (keyword, text) in content.triggers.keywords.iter().enumerate() {
                keywords.add(text, (pattern, keyword));
                stems.extend(text::words(text).words.into_iter().map(|word| word.stem));
            }
            for (action, text) in content.triggers.actions.iter().enumerate() {
                actions.add_content(text, (pattern, action));
            }
        }
        let subjects = thesaurus.subjects.iter().map(|subject| {
            let words = text::words(subject.name);
            let whole = keywords.find(&words, |_| false);
            let whole = whole.into_iter().filter(|found| found.first == 0 && found.end == words.words.len());
            let mut patterns: Vec<usize> = whole.map(|found| found.value.0).collect();
            patterns.sort_unstable();
            patterns.dedup();
            patterns
        });
        let subjects = subjects.collect();
        let spelling = Spelling::new(stems.iter().map(String::as_str).chain(thesaurus.stems()));
        Index { ranking: Ranking::new(patterns), keywords, actions, subjects, spelling }
    }

    /// Collects what a context says for each of the patterns, which must be those this was made from.
    pub fn collect<'a>(&self, patterns: &[Pattern], context: &'a str) -> Evidence<'a> {
        let mut words = text::words(context);
        for word in words.words.iter_mut().filter(|word| !self.ranking.knows(&word.stem)) {
            self.spelling.correct(&mut word.stem);
        }
        let named: Vec<(usize, usize)> = self
            .keywords
            .find(&words, phrase::is_determiner)
            .iter()
            .map(|found| (found.first, found.end))
            .collect();
        let n_unrelated = Thesaurus::get().blank_unrelated(&mut words, &named);

        let mut evidence = Evidence {
            weights: vec![Weight::default(); patterns.len()],
            n_unrelated,
            n_groups: topic::n_groups(&words),
            context,
            meanings: Thesaurus::get().find(context, &words),
            paths: path::paths(context).collect(),
            clues: Vec::new(),
        };
        self.keywords(&words, &mut evidence);
        self.actions(&words, &mut evidence);
        files(patterns, &mut evidence);
        self.words(&words, n_unrelated, &mut evidence);
        evidence
    }

    fn keywords(&self, words: &Words, evidence: &mut Evidence<'_>) {
        let mut places: Vec<(usize, usize, usize)> = Vec::new();
        for Found { value: (pattern, keyword), first, end } in
            longest(self.keywords.find(words, phrase::is_determiner))
        {
            // `webhook` and `webhooks` in one place are one keyword.
            let again = places.contains(&(pattern, first, end));
            places.push((pattern, first, end));
            if !again && evidence.add(pattern, Clue::Keyword(keyword)) {
                let weight = &mut evidence.weights[pattern];
                weight.score += KEYWORD_BONUS + self.rarity(words, first, end);
                let everyday = end - first == 1 && EVERYDAY_WORDS.contains(&words.words[first].stem.as_str());
                weight.everyday = everyday && (weight.everyday || !weight.named);
                weight.named = true;
            }
        }
    }

    fn actions(&self, words: &Words, evidence: &mut Evidence<'_>) {
        for Found { value: (pattern, action), first, end } in self.actions.find(words, text::is_stop_word) {
            if evidence.add(pattern, Clue::Action(action)) {
                evidence.weights[pattern].score += ACTION_FACTOR * self.rarity(words, first, end);
            }
        }
    }

    /// Counts each word once, directly or else as something meant.
    fn words(&self, words: &Words, n_unrelated: usize, evidence: &mut Evidence<'_>) {
        let thesaurus = Thesaurus::get();
        let n_words = words.words.len();
        let mut counted: Vec<&str> = Vec::with_capacity(n_words);
        // A row for each pattern: which words it knows.
        let mut known = vec![false; evidence.weights.len() * n_words];
        let mut know = |pattern: usize, first: usize, end: usize| {
            known[pattern * n_words + first..pattern * n_words + end].fill(true);
        };

        let singles =
            words.words.iter().enumerate().map(|(first, word)| (word.stem.as_str(), first, first + 1));
        let compounds = words.compounds.iter();
        let compounds = compounds.map(|part| (part.stem.as_str(), part.first, part.first + part.n_parts));
        for (stem, first, end) in singles.chain(compounds) {
            if text::is_stop_word(stem) || counted.contains(&stem) {
                continue;
            }
            counted.push(stem);
            for posting in self.ranking.postings(stem) {
                evidence.weights[posting.pattern].score += posting.score;
                let (start, end_byte) = (words.words[first].start, words.words[end - 1].end);
                let clue = Clue::Word { field: posting.field, start, end: end_byte };
                evidence.clues.push((posting.pattern, clue));
                know(posting.pattern, first, end);
            }
        }

        let mut strengths = vec![0.0_f32; thesaurus.subjects.len()];
        for (index, meaning) in evidence.meanings.iter().enumerate() {
            let strength = &mut strengths[meaning.subject];
            *strength = (*strength + meaning.strength).min(MEANING_STRENGTH_MAX);
            for pattern in &self.subjects[meaning.subject] {
                know(*pattern, meaning.words.0, meaning.words.1);
                evidence.clues.push((*pattern, Clue::Meaning(index)));
            }
        }
        for (subject, strength) in strengths.into_iter().enumerate().filter(|(_, strength)| *strength > 0.0) {
            for pattern in &self.subjects[subject] {
                evidence.weights[*pattern].score += MEANING_BONUS * strength;
                evidence.weights[*pattern].meant += strength;
            }
            for stem in &thesaurus.subjects[subject].stems {
                if text::is_stop_word(stem) || counted.contains(&stem.as_str()) {
                    continue;
                }
                counted.push(stem);
                for posting in self.ranking.postings(stem) {
                    evidence.weights[posting.pattern].score +=
                        MEANT_FACTOR * strength.min(1.0) * posting.score;
                }
            }
        }

        let mass = |word: &text::Word| {
            if text::is_stop_word(&word.stem) { 0.0 } else { self.ranking.rarity(&word.stem) }
        };
        let masses: Vec<f32> = words.words.iter().map(mass).collect();
        let total = masses.iter().sum::<f32>() + n_unrelated as f32 * UNRELATED_MASS;
        for (weight, known) in evidence.weights.iter_mut().zip(known.chunks(n_words.max(1))) {
            let said: f32 = masses.iter().zip(known).filter(|(_, known)| **known).map(|(mass, _)| mass).sum();
            weight.coverage = if total > 0.0 { said / total } else { 1.0 };
        }
    }

    fn rarity(&self, words: &Words, first: usize, end: usize) -> f32 {
        let content = words.words[first..end].iter().filter(|word| !text::is_stop_word(&word.stem));
        content.map(|word| self.ranking.rarity(&word.stem)).sum()
    }
}

impl Evidence<'_> {
    /// Says why a pattern fits.
    pub fn reasons(&self, index: usize, pattern: &Pattern) -> Vec<Reason> {
        let mut reasons = Vec::new();
        let mut words: Vec<(Field, &str)> = Vec::new();
        for (_, clue) in self.clues.iter().filter(|(pattern, _)| *pattern == index) {
            match *clue {
                Clue::Keyword(keyword) => {
                    reasons.push(Reason::Keyword(pattern.triggers.keywords[keyword].clone()))
                }
                Clue::Action(action) => {
                    reasons.push(Reason::Action(pattern.triggers.actions[action].clone()))
                }
                Clue::File { path, glob } => reasons.push(Reason::File {
                    path: self.paths[path].to_owned(),
                    glob: pattern.triggers.file_patterns[glob].clone(),
                }),
                Clue::Meaning(meaning) => {
                    let reason = self.meanings[meaning].reason(self.context);
                    if !is_said(&reason, &reasons) {
                        reasons.push(reason);
                    }
                }
                Clue::Word { field, start, end } => words.push((field, &self.context[start..end])),
            }
        }
        // Stable: words stay in the order of the context.
        words.sort_by_key(|(field, _)| *field);
        for group in words.chunk_by(|first, second| first.0 == second.0) {
            let words = group.iter().map(|(_, word)| word.to_lowercase()).collect();
            reasons.push(Reason::Words { field: group[0].0, words });
        }
        reasons
    }

    /// Notes a clue, unless it is known.
    fn add(&mut self, pattern: usize, clue: Clue) -> bool {
        let new = !self.clues.contains(&(pattern, clue));
        if new {
            self.clues.push((pattern, clue));
        }
        new
    }
}

fn files(patterns: &[Pattern], evidence: &mut Evidence<'_>) {
    for (path, name) in evidence.paths.iter().enumerate() {
        let matching: Vec<(usize, usize)> = patterns
            .iter()
            .enumerate()
            .filter_map(|(index, pattern)| {
                let globs = &pattern.triggers.file_patterns;
                Some((index, globs.iter().position(|glob| path::matches(glob, name))?))
            })
            .collect();
        for (pattern, glob) in &matching {
            evidence.weights[*pattern].score += FILE_BONUS / matching.len() as f32;
            evidence.weights[*pattern].file = true;
            evidence.clues.push((*pattern, Clue::File { path, glob: *glob }));
        }
    }
}

/// Tells whether a meaning is no news: the expression is the keyword, or the subject itself.
fn is_said(reason: &Reason, reasons: &[Reason]) -> bool {
    let Reason::Meaning { expression, subject } = reason else {
        return false;
    };
    let is_keyword = |reason: &Reason| matches!(reason, Reason::Keyword(keyword) if keyword.eq_ignore_ascii_case(expression));
    expression.eq_ignore_ascii_case(subject) || reasons.iter().any(is_keyword)
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
