//! Collects what in a context speaks for each pattern.

use crate::path;
use crate::pattern::Pattern;
use crate::phrase::{self, Found, Phrases};
use crate::rank::{Field, Ranking};
use crate::search::Reason;
use crate::spelling::Spelling;
use crate::text::{self, Words};
use crate::thesaurus::Thesaurus;

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

/// What speaks for one pattern.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    /// The sum of it all.
    pub score: f32,
    /// Whether the context names a keyword that is more than one common word.
    pub named: bool,
    /// How surely the context speaks of a keyword in other words.
    pub meant: f32,
    /// Whether the context names a file of its kind.
    pub file: bool,
    /// How much of the context it knows, from 0 to 1.
    pub coverage: f32,
    /// Why.
    pub reasons: Vec<Reason>,
    words: Vec<(Field, String)>,
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
        let subjects = Thesaurus::get().subjects.iter().map(|subject| {
            let words = text::words(subject.name);
            let whole = keywords.find(&words, |_| false);
            let whole = whole.into_iter().filter(|found| found.first == 0 && found.end == words.words.len());
            let mut patterns: Vec<usize> = whole.map(|found| found.value.0).collect();
            patterns.sort_unstable();
            patterns.dedup();
            patterns
        });
        let subjects = subjects.collect();
        let words = patterns.iter().flat_map(|pattern| pattern.triggers.keywords.iter());
        let words: Vec<String> = words.flat_map(|keyword| text::words(keyword).words).map(|word| word.stem).collect();
        let spelling = Spelling::new(words.iter().map(String::as_str).chain(Thesaurus::get().stems()));
        Index { ranking: Ranking::new(patterns), keywords, actions, subjects, spelling }
    }

    /// Collects what a context says for each of the patterns, which must be those this was made from.
    pub fn collect(&self, patterns: &[Pattern], context: &str) -> Vec<Evidence> {
        let mut words = text::words(context);
        for word in words.words.iter_mut().filter(|word| !self.ranking.knows(&word.stem)) {
            self.spelling.correct(&mut word.stem);
        }
        let n_unrelated = Thesaurus::get().blank_unrelated(&mut words);
        let mut all = vec![Evidence::default(); patterns.len()];
        self.keywords(patterns, &words, n_unrelated, &mut all);
        self.actions(patterns, &words, &mut all);
        files(patterns, context, &mut all);
        self.words(context, &words, n_unrelated, &mut all);
        for evidence in &mut all {
            evidence.reasons.extend(grouped(std::mem::take(&mut evidence.words)));
        }
        all
    }

    fn keywords(&self, patterns: &[Pattern], words: &Words, n_unrelated: usize, all: &mut [Evidence]) {
        for Found { value: (pattern, keyword), first, end } in longest(self.keywords.find(words, phrase::is_determiner)) {
            let evidence = &mut all[pattern];
            let reason = Reason::Keyword(patterns[pattern].triggers.keywords[keyword].clone());
            if !evidence.reasons.contains(&reason) {
                evidence.score += KEYWORD_BONUS + self.rarity(words, first, end);
                // Next to something unrelated, one word is likely to be something unrelated too.
                evidence.named |= end - first > 1 || n_unrelated == 0;
                evidence.reasons.push(reason);
            }
        }
    }

    fn actions(&self, patterns: &[Pattern], words: &Words, all: &mut [Evidence]) {
        for Found { value: (pattern, action), first, end } in self.actions.find(words, text::is_stop_word) {
            let evidence = &mut all[pattern];
            let reason = Reason::Action(patterns[pattern].triggers.actions[action].clone());
            if !evidence.reasons.contains(&reason) {
                evidence.score += ACTION_FACTOR * self.rarity(words, first, end);
                evidence.reasons.push(reason);
            }
        }
    }

    /// Counts each word once, directly or else as something meant.
    fn words(&self, context: &str, words: &Words, n_unrelated: usize, all: &mut [Evidence]) {
        let thesaurus = Thesaurus::get();
        let mut counted: Vec<&str> = Vec::new();
        let mut known = vec![vec![false; words.words.len()]; all.len()];

        let singles = words.words.iter().enumerate().map(|(first, word)| (word.stem.as_str(), first, 1));
        let compounds = words.compounds.iter().map(|compound| (compound.stem.as_str(), compound.first, compound.n_parts));
        for (stem, first, n_words) in singles.chain(compounds) {
            if text::is_stop_word(stem) || counted.contains(&stem) {
                continue;
            }
            counted.push(stem);
            let (start, end) = (words.words[first].start, words.words[first + n_words - 1].end);
            for posting in self.ranking.postings(stem) {
                let evidence = &mut all[posting.pattern];
                evidence.score += posting.score;
                evidence.words.push((posting.field, context[start..end].to_lowercase()));
                known[posting.pattern][first..first + n_words].fill(true);
            }
        }

        let mut strengths = vec![0.0_f32; thesaurus.subjects.len()];
        for meaning in thesaurus.find(context, words) {
            let before = strengths[meaning.subject];
            strengths[meaning.subject] = (before + meaning.strength).min(MEANING_STRENGTH_MAX);
            for pattern in &self.subjects[meaning.subject] {
                known[*pattern][meaning.words.0..meaning.words.1].fill(true);
                let reason = meaning.reason(context, thesaurus);
                if !all[*pattern].reasons.contains(&reason) {
                    all[*pattern].reasons.push(reason);
                }
            }
        }
        for (subject, strength) in strengths.into_iter().enumerate().filter(|(_, strength)| *strength > 0.0) {
            for pattern in &self.subjects[subject] {
                all[*pattern].score += MEANING_BONUS * strength;
                all[*pattern].meant += strength;
            }
            for stem in &thesaurus.subjects[subject].stems {
                if text::is_stop_word(stem) || counted.contains(&stem.as_str()) {
                    continue;
                }
                counted.push(stem);
                for posting in self.ranking.postings(stem) {
                    all[posting.pattern].score += MEANT_FACTOR * strength.min(1.0) * posting.score;
                }
            }
        }

        let mass = |index: usize| {
            let stem = &words.words[index].stem;
            if text::is_stop_word(stem) { 0.0 } else { self.ranking.rarity(stem) }
        };
        let total: f32 = (0..words.words.len()).map(mass).sum::<f32>() + n_unrelated as f32 * UNRELATED_MASS;
        for (evidence, known) in all.iter_mut().zip(known) {
            let said: f32 = (0..words.words.len()).filter(|index| known[*index]).map(mass).sum();
            evidence.coverage = if total > 0.0 { said / total } else { 0.0 };
        }
    }

    fn rarity(&self, words: &Words, first: usize, end: usize) -> f32 {
        let content = words.words[first..end].iter().filter(|word| !text::is_stop_word(&word.stem));
        content.map(|word| self.ranking.rarity(&word.stem)).sum()
    }
}

/// What an unrelated expression weighs in a context, next to the rarity of words.
const UNRELATED_MASS: f32 = 6.0;

fn files(patterns: &[Pattern], context: &str, all: &mut [Evidence]) {
    for path in path::paths(context) {
        let globs: Vec<Option<&String>> = patterns
            .iter()
            .map(|pattern| pattern.triggers.file_patterns.iter().find(|glob| path::matches(glob, path)))
            .collect();
        let n_matching = globs.iter().flatten().count() as f32;
        for (evidence, glob) in all.iter_mut().zip(globs) {
            if let Some(glob) = glob {
                evidence.score += FILE_BONUS / n_matching;
                evidence.file = true;
                evidence.reasons.push(Reason::File { path: path.to_owned(), glob: glob.clone() });
            }
        }
    }
}

/// Leaves out what stands inside a longer phrase: `role change` does not name `role`.
fn longest(found: Vec<Found<(usize, usize)>>) -> Vec<Found<(usize, usize)>> {
    let inside = |inner: &Found<_>, outer: &Found<_>| {
        outer.first <= inner.first && inner.end <= outer.end && outer.end - outer.first > inner.end - inner.first
    };
    found.iter().filter(|inner| !found.iter().any(|outer| inside(inner, outer))).copied().collect()
}

fn grouped(mut words: Vec<(Field, String)>) -> Vec<Reason> {
    // Stable: words stay in the order of the context.
    words.sort_by_key(|(field, _)| *field);
    let groups = words.chunk_by(|first, second| first.0 == second.0);
    let reason = |group: &[(Field, String)]| Reason::Words {
        field: group[0].0,
        words: group.iter().map(|(_, word)| word.clone()).collect(),
    };
    groups.map(reason).collect()
}
