//! Collects the evidence in a context for each pattern.

use crate::path;
use crate::pattern::Pattern;
use crate::phrase::{FoundPhrase, Phrases};
use crate::rank::{Comparison, Part, Ranking, Tone};
use crate::search::{Reason, Signs};
use crate::spelling::Spelling;
use crate::terms::{self, Term};
use crate::text::{self, Word, Words};

/// The weight of a file that matches the glob of a single pattern.
const FILE_BONUS: f32 = 1.0;
/// The similarity to an example above which it is a reason.
const LIKE_MIN: f32 = 0.3;
/// How many words are listed as reasons.
const WORDS_MAX: usize = 4;

/// The maximal number of words by which a longer run of foreign words is quoted.
const TOPIC_WORDS_MAX: usize = 4;

/// The evidence for patterns in one context.
#[derive(Debug)]
pub struct Evidence<'a> {
    /// For each pattern.
    pub weights: Vec<Weight>,
    /// The tone of the words that name no pattern: the strongest one.
    pub rest: Tone,
    /// The topic of the context if no pattern covers it: the longest run of foreign words.
    pub topic: Option<&'a str>,
    context: &'a str,
    comparison: Comparison,
    clues: Vec<(usize, Clue<'a>)>,
}

/// The evidence for one pattern.
#[derive(Clone, Copy, Debug, Default)]
pub struct Weight {
    /// The total score.
    pub score: f32,
    /// The score of the unrelated texts.
    pub unrelated: f32,
    /// How the context names the pattern.
    pub named: Named,
    /// Whether the context names a file of its kind.
    pub file: bool,
    /// Whether it has words in common with the context. Similarity in meaning alone is too vague, and gives no reason to show.
    pub shares_words: bool,
}

impl Weight {
    /// Returns by how much the pattern beats the unrelated texts.
    pub fn margin(&self) -> f32 {
        self.score - self.unrelated
    }
}

/// How certainly a context names a pattern.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Named {
    /// Not at all.
    #[default]
    No,
    /// By a word that may have another meaning, because unrelated texts use it, too.
    EverydayWord,
    /// By a word, or an identifier.
    Word,
    /// By a keyword of several words, or one that cannot be an ordinary word: `_method`.
    Phrase,
}

/// A compact reason: most patterns with clues are not in the answer, and their reasons are never formatted.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Clue<'a> {
    Keyword(usize),
    File { path: &'a str, glob: usize },
}

/// The keywords and texts of patterns, prepared for searching.
#[derive(Debug)]
pub struct Index {
    ranking: Ranking,
    keywords: Phrases<(usize, usize)>,
    spelling: Spelling,
}

impl Index {
    /// Prepares patterns.
    pub fn new(patterns: &[Pattern]) -> Index {
        let mut keywords = Phrases::new();
        for (pattern, content) in patterns.iter().enumerate() {
            for (keyword, text) in content.triggers.keywords.iter().enumerate() {
                keywords.add(text, (pattern, keyword));
            }
        }
        let spelling = Spelling::new(keywords.stems());
        Index { ranking: Ranking::new(patterns), keywords, spelling }
    }

    /// Collects the evidence of a context for each of the patterns, which must be those this was made from.
    pub fn collect<'a>(&self, patterns: &[Pattern], context: &'a str) -> Evidence<'a> {
        let mut words = text::words(context);
        for word in words.words.iter_mut().filter(|word| !self.ranking.knows(&word.stem)) {
            self.spelling.correct(&mut word.stem);
        }
        let named = self.named(patterns, context, &words);
        // A word inside a keyword counts as the keyword: `role change` is not about any role.
        let is_inside = |term: &Term| {
            named.iter().any(|found| {
                let phrase = &words.words[found.first..found.end];
                phrase.len() > 1 && phrase.iter().any(|word| (word.start, word.end) == (term.start, term.end))
            })
        };
        let comparison = self.ranking.compare(&terms::terms(context, &words.words), |term| !is_inside(term));
        let weights = comparison.scores.iter().enumerate().map(|(pattern, score)| Weight {
            score: *score,
            unrelated: self.ranking.unrelated(&comparison, pattern),
            shares_words: comparison.by_words[pattern] > 0.0,
            ..Weight::default()
        });
        let rest = words.words.iter().enumerate();
        let rest =
            rest.filter(|(index, _)| !named.iter().any(|found| (found.first..found.end).contains(index)));
        let mut evidence = Evidence {
            weights: weights.collect(),
            rest: rest.map(|(_, word)| self.ranking.tone(&word.stem)).max().unwrap_or(Tone::Neutral),
            topic: self.topic(context, &words),
            context,
            comparison,
            clues: Vec::new(),
        };
        let mut places: Vec<(usize, usize, usize)> = Vec::new();
        for FoundPhrase { value: (pattern, keyword), first, end } in named {
            // `webhook` and `webhooks` at one place are one keyword.
            let again = places.contains(&(pattern, first, end));
            places.push((pattern, first, end));
            if again || evidence.clues.contains(&(pattern, Clue::Keyword(keyword))) {
                continue;
            }
            let text = &patterns[pattern].triggers.keywords[keyword];
            let mut stems = words.words[first..end].iter().map(|word| word.stem.as_str());
            let is_sign = !text.chars().all(char::is_alphanumeric) && stems.clone().all(text::is_stop_word);
            let named = if text.contains(' ') || is_sign {
                Named::Phrase
            } else if stems.all(|stem| text::is_stop_word(stem) || self.ranking.is_everyday(stem, pattern)) {
                Named::EverydayWord
            } else {
                Named::Word
            };
            evidence.clues.push((pattern, Clue::Keyword(keyword)));
            let weight = &mut evidence.weights[pattern];
            weight.named = weight.named.max(named);
        }
        files(patterns, &mut evidence);
        evidence
    }

    /// Finds the longest run of words that no pattern covers, the first one if there are several.
    fn topic<'a>(&self, context: &'a str, words: &Words) -> Option<&'a str> {
        let is_foreign = |word: &&Word| self.ranking.tone(&word.stem) == Tone::Foreign;
        let mut longest: &[Word] = &[];
        for start in 0..words.words.len() {
            let rest = &words.words[start..];
            let run = &rest[..rest.iter().take_while(is_foreign).take(TOPIC_WORDS_MAX).count()];
            if run.len() > longest.len() {
                longest = run;
            }
        }
        Some(&context[longest.first()?.start..longest.last()?.end])
    }

    /// Finds the keywords that a context names, as whole words.
    fn named(&self, patterns: &[Pattern], context: &str, words: &Words) -> Vec<FoundPhrase<(usize, usize)>> {
        let mut named = longest(self.keywords.find(words));
        // `_method` is matched exactly, not by any method.
        named.retain(|FoundPhrase { value: (pattern, keyword), first, end }| {
            let text = &patterns[*pattern].triggers.keywords[*keyword];
            let is_plain = words.words[*first..*end].iter().all(|word| text::is_stop_word(&word.stem));
            !is_plain || context.to_lowercase().contains(&text.to_lowercase())
        });
        named
    }

    /// Formats a reason.
    pub fn reasons(&self, evidence: &Evidence<'_>, index: usize, pattern: &Pattern) -> Vec<Reason> {
        let clues = evidence.clues.iter().filter(|(pattern, _)| *pattern == index);
        let mut reasons: Vec<Reason> = clues
            .map(|(_, clue)| match *clue {
                Clue::Keyword(keyword) => Reason::Keyword(pattern.triggers.keywords[keyword].clone()),
                Clue::File { path, glob } => {
                    Reason::File { path: path.to_owned(), glob: pattern.triggers.file_patterns[glob].clone() }
                }
            })
            .collect();
        let example = self.ranking.nearest(&evidence.comparison, index);
        if let Some((example, _)) = example.filter(|(_, likeness)| *likeness >= LIKE_MIN) {
            reasons.push(Reason::Like(example.to_owned()));
        }
        let words = self.words(evidence, index);
        if !words.is_empty() {
            reasons.push(Reason::Words(words));
        }
        reasons
    }

    /// Lists what a context and a pattern have in common: the named keywords, and the stems of words.
    pub fn signs(&self, evidence: &Evidence<'_>, index: usize, pattern: &Pattern) -> Signs {
        let mut signs = Signs::default();
        for (_, clue) in evidence.clues.iter().filter(|(pattern, _)| *pattern == index) {
            signs.add(match *clue {
                Clue::Keyword(keyword) => pattern.triggers.keywords[keyword].to_lowercase(),
                Clue::File { path, .. } => path.to_owned(),
            });
        }
        signs.n_telling = signs.all.len();
        // Which words are adjacent changes with every edit.
        let parts = self.parts(evidence, index).into_iter();
        for (number, stem) in parts.filter_map(|part| self.ranking.stem(part)).enumerate() {
            signs.add(stem.to_owned());
            if number < WORDS_MAX {
                signs.n_telling = signs.all.len();
            }
        }
        signs
    }

    /// Lists the parts of a context that match a pattern, the most significant first.
    fn parts<'a>(&self, evidence: &'a Evidence<'_>, index: usize) -> Vec<&'a Part> {
        let share = |part: &'a Part| (self.ranking.share(part, index), part);
        let mut parts: Vec<(f32, &Part)> = evidence.comparison.parts.iter().map(share).collect();
        parts.retain(|(share, _)| *share > 0.0);
        parts.sort_by(|(first, _), (second, _)| second.total_cmp(first));
        parts.into_iter().map(|(_, part)| part).collect()
    }

    /// Lists the most significant words of a context for a pattern, in order.
    fn words(&self, evidence: &Evidence<'_>, index: usize) -> Vec<String> {
        let mut parts = self.parts(evidence, index);
        parts.truncate(WORDS_MAX);
        parts.sort_by_key(|part| (part.start, part.end));
        // Adjacent or overlapping words are one expression.
        let mut spans: Vec<(usize, usize)> = Vec::new();
        for &Part { start, end, .. } in parts {
            match spans.last_mut() {
                Some(last) if start <= last.1 + 1 => last.1 = last.1.max(end),
                _ => spans.push((start, end)),
            }
        }
        spans.into_iter().map(|(start, end)| evidence.context[start..end].to_lowercase()).collect()
    }
}

fn files(patterns: &[Pattern], evidence: &mut Evidence<'_>) {
    for path in path::paths(evidence.context) {
        let matching: Vec<(usize, usize)> = patterns
            .iter()
            .enumerate()
            .filter_map(|(index, pattern)| {
                let globs = &pattern.triggers.file_patterns;
                Some((index, globs.iter().position(|glob| path::matches(glob, path))?))
            })
            .collect();
        for (pattern, glob) in &matching {
            evidence.weights[*pattern].score += FILE_BONUS / matching.len() as f32;
            evidence.weights[*pattern].file = true;
            evidence.clues.push((*pattern, Clue::File { path, glob: *glob }));
        }
    }
}

/// Removes matches inside a longer phrase: `role change` does not name `role`.
fn longest(found: Vec<FoundPhrase<(usize, usize)>>) -> Vec<FoundPhrase<(usize, usize)>> {
    let inside = |inner: &FoundPhrase<_>, outer: &FoundPhrase<_>| {
        outer.first <= inner.first
            && inner.end <= outer.end
            && outer.end - outer.first > inner.end - inner.first
    };
    found.iter().filter(|inner| !found.iter().any(|outer| inside(inner, outer))).copied().collect()
}
