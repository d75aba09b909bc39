//! Scores each pattern for a context, and the document of unrelated texts: by BM25F, and by meaning.
//!
//! A pattern is a document of weighted fields: its own texts, and the examples and expressions for its subject (see
//! [`crate::subjects`]). A term's frequency in it is the sum over the fields, weighted and normalized by the average length of the
//! field. Its contribution grows more slowly with each occurrence, and rare terms count more. An additional document has
//! texts that no pattern covers. The similarity in meaning between context and texts is added (see [`crate::meaning`]).

use std::borrow::Cow;

use crate::document::{
    FieldTerms, Meanings, TermKind, keep_whole_triggers, length_means, own_texts, postings, weigh,
};
use crate::examples::{Counted, Example, N_SUBJECTS, TERMS};
use crate::meaning;
use crate::pattern::Pattern;
use crate::subjects;
use crate::terms::Term;
use crate::text;
use crate::vocabulary::Vocabulary;

/// The rarity of a word that no example has. It makes a context less similar to any other.
const UNKNOWN_FACTOR: f32 = 2.5;
/// A word is an everyday word if the unrelated texts have it this much as often as the pattern.
const EVERYDAY_PART_MIN: f32 = 0.25;
/// The weight of unrelated texts against a pattern without examples, because their words are from examples.
const ALONE_UNRELATED_PART: f32 = 0.35;
/// The contribution of a similarity of 1 to a score.
const MEANING_WEIGHT: f32 = 3.0;
/// Words in the examples of this many subjects do not distinguish subjects.
const NEUTRAL_SUBJECTS_MIN: u8 = 12;

/// The weights of all terms in all documents.
#[derive(Debug)]
pub struct Ranking {
    terms: Vocabulary,
    rarity: Vec<f32>,
    rarity_unknown: f32,
    /// Where the scores of each term start, and after the last where they end.
    starts: Vec<u32>,
    /// Pairs of document and score, term by term.
    scores: Vec<(u32, f32)>,
    /// For each pattern the sentences among its examples, with the rarity of all terms of each.
    examples: Vec<Vec<(Example, f32)>>,
    /// For each document the meanings of its texts and then of its examples.
    meanings: Vec<Meanings>,
}

/// The scores for a context.
#[derive(Debug)]
pub struct Comparison {
    /// Known terms of the context that count, in order.
    pub parts: Vec<Part>,
    /// For each term of examples its rarity, if the context has it.
    by_term: Vec<f32>,
    /// The rarity of all terms of the context.
    rarity: f32,
    /// For each pattern its score.
    pub scores: Vec<f32>,
    /// For each pattern the BM25F part of it: 0 without a common word.
    pub by_words: Vec<f32>,
    /// The score of the unrelated texts: by words, and by meaning.
    unrelated: f32,
    unrelated_by_meaning: f32,
}

/// A term of a context.
#[derive(Debug)]
pub struct Part {
    term: u32,
    /// Where it first starts in the context, in bytes.
    pub start: usize,
    /// Where it ends there.
    pub end: usize,
}

/// What a word says about the subject of a context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tone {
    /// Nothing: it may occur in any request.
    Neutral,
    /// It suggests some patterns.
    Telling,
    /// It suggests something else.
    Foreign,
}

impl Ranking {
    /// Weighs the terms of patterns.
    pub fn new(patterns: &[Pattern]) -> Ranking {
        let mut terms = Vocabulary::default();
        let (mut documents, mut meanings): (Vec<FieldTerms<'_>>, Vec<Meanings>) =
            own_texts(patterns, &mut terms).into_iter().unzip();
        let kinds: Vec<TermKind> = terms.keys().map(TermKind::of).collect();
        keep_whole_triggers(&mut documents, &kinds);

        let mut n_texts = vec![0.0_f32; kinds.len()];
        let all = documents.iter().flatten().map(|(_, counts)| counts.as_ref());
        let all = all.chain(Example::all().map(|example| -> &[Counted] { example.terms() }));
        let mut n = 0.0;
        for text in all {
            n += 1.0;
            text.iter().for_each(|counted| n_texts[counted.term() as usize] += 1.0);
        }
        let rarity: Vec<f32> =
            kinds.iter().zip(&n_texts).map(|(kind, n_texts)| kind.factor() * rarity(n, *n_texts)).collect();

        let length_means = length_means(&documents);
        let mut frequencies = vec![0.0_f32; rarity.len()];
        let own: Vec<Vec<(u32, f32)>> = documents
            .iter()
            .map(|document| weigh(document, 1.0, &length_means, &rarity, &mut frequencies))
            .collect();
        let likeness = subjects::likeness(&rarity, &own);
        let mut examples: Vec<Vec<(Example, f32)>> = Vec::with_capacity(patterns.len());
        for (index, pattern) in patterns.iter().enumerate() {
            let about = subjects::examples_for(pattern, &likeness[index]);
            let terms = about.iter().map(|example| (example.field(), Cow::Borrowed(example.terms())));
            documents[index].extend(terms);
            meanings[index].known.extend(about.iter().filter_map(|example| example.meaning()));
            let sentences = about.into_iter().filter(|example| !example.is_expression());
            let total = |example: Example| {
                example.terms().iter().map(|counted| rarity[counted.term() as usize]).sum()
            };
            examples.push(sentences.map(|example| (example, total(example))).collect());
        }
        let unrelated = || Example::all().filter(|example| example.subjects().is_empty());
        meanings
            .push(Meanings { known: unrelated().filter_map(Example::meaning).collect(), own: Vec::new() });
        documents
            .push(unrelated().map(|example| (example.field(), Cow::Borrowed(example.terms()))).collect());

        let (starts, scores) = postings(&documents, &length_means, &rarity);
        let rarity_unknown = UNKNOWN_FACTOR * self::rarity(n, 0.0);
        Ranking { terms, rarity, rarity_unknown, starts, scores, examples, meanings }
    }

    /// Returns the score of the unrelated texts against a pattern.
    pub fn unrelated(&self, comparison: &Comparison, pattern: usize) -> f32 {
        let part = if self.examples[pattern].is_empty() { ALONE_UNRELATED_PART } else { 1.0 };
        part * comparison.unrelated + comparison.unrelated_by_meaning
    }

    /// Returns whether a text of a pattern, or an example, has a stem.
    pub fn knows(&self, stem: &str) -> bool {
        self.terms.get(stem).is_some()
    }

    /// Returns whether a stem may have another meaning, because unrelated texts use it, too.
    pub fn is_everyday(&self, stem: &str, pattern: usize) -> bool {
        let Some(term) = self.terms.get(stem) else { return false };
        let unrelated = self.score(term, self.examples.len());
        unrelated > 0.0 && unrelated >= EVERYDAY_PART_MIN * self.score(term, pattern)
    }

    /// Tells what a stem says about the subject of a context.
    pub fn tone(&self, stem: &str) -> Tone {
        if text::is_stop_word(stem) {
            return Tone::Neutral;
        }
        let Some(term) = self.terms.get(stem) else { return Tone::Foreign };
        let n_subjects = N_SUBJECTS.get(term as usize).copied().unwrap_or_default();
        if n_subjects >= NEUTRAL_SUBJECTS_MIN {
            Tone::Neutral
        } else if self.score(term, self.examples.len()) > 0.0 {
            Tone::Foreign
        } else {
            Tone::Telling
        }
    }

    /// Scores every document for the terms of a context that count.
    pub fn compare(&self, terms: &[Term], counts: impl Fn(&Term) -> bool) -> Comparison {
        let mut parts: Vec<Part> = Vec::with_capacity(terms.len());
        let mut by_term = vec![0.0; TERMS.len()];
        let mut unknown: Vec<&str> = Vec::new();
        let (mut rarity, mut rarity_counted) = (0.0_f32, 0.0_f32);
        // Repetition adds nothing: a long context repeats its words.
        for term in terms {
            let key = term.key.as_str();
            let Some(number) = self.terms.get(key) else {
                if TermKind::of(key) != TermKind::Pair && !unknown.contains(&key) {
                    unknown.push(key);
                    rarity += self.rarity_unknown;
                    rarity_counted += self.rarity_unknown;
                }
                continue;
            };
            if parts.iter().any(|part| part.term == number) {
                continue;
            }
            let own = self.rarity[number as usize];
            rarity += own;
            if let Some(rarity) = by_term.get_mut(number as usize) {
                *rarity = own;
            }
            if counts(term) {
                rarity_counted += own;
                parts.push(Part { term: number, start: term.start, end: term.end });
            }
        }
        let mut scores = vec![0.0; self.examples.len() + 1];
        for part in &parts {
            for (document, score) in self.scores(part.term) {
                scores[*document as usize] += score;
            }
        }
        // This keeps the order, but makes contexts of different lengths comparable with one threshold.
        let length = rarity_counted.max(1.0).sqrt();
        scores.iter_mut().for_each(|score| *score /= length);
        let unrelated = scores.pop().unwrap_or_default();
        let by_words = scores.clone();

        let meaning = meaning::of(terms.iter().map(|term| term.key.as_str()));
        let near = |texts: &Meanings| {
            let texts = texts.known.iter().copied().chain(&texts.own);
            MEANING_WEIGHT * meaning::nearness(&meaning, texts)
        };
        let by_meaning: Vec<f32> = self.meanings.iter().map(near).collect();
        // Similarity to every document does not distinguish any.
        let least = by_meaning.iter().copied().fold(f32::INFINITY, f32::min);
        scores.iter_mut().zip(&by_meaning).for_each(|(score, near)| *score += near - least);
        let unrelated_by_meaning = by_meaning[scores.len()] - least;
        Comparison { parts, by_term, rarity, scores, by_words, unrelated, unrelated_by_meaning }
    }

    /// Returns the stem of a part of a context, unless that is a pair of words.
    pub fn stem(&self, part: &Part) -> Option<&str> {
        Some(self.terms.key(part.term)).filter(|key| TermKind::of(key) != TermKind::Pair)
    }

    /// Returns what a part of a context adds to the score of a pattern.
    pub fn share(&self, part: &Part, pattern: usize) -> f32 {
        self.score(part.term, pattern)
    }

    /// Finds the example of a pattern most similar to a context, and its similarity, from 0 to 1.
    pub fn nearest(&self, comparison: &Comparison, pattern: usize) -> Option<(&'static str, f32)> {
        let mut nearest: Option<(&str, f32)> = None;
        for (example, rarity) in &self.examples[pattern] {
            let terms = example.terms().iter();
            let shared: f32 = terms.map(|counted| comparison.by_term[counted.term() as usize]).sum();
            let likeness = shared / (comparison.rarity * rarity).sqrt();
            if nearest.is_none_or(|(_, most)| likeness > most) {
                nearest = Some((example.text(), likeness));
            }
        }
        nearest
    }

    fn scores(&self, term: u32) -> &[(u32, f32)] {
        &self.scores[self.starts[term as usize] as usize..self.starts[term as usize + 1] as usize]
    }

    fn score(&self, term: u32, document: usize) -> f32 {
        let score = self.scores(term).iter().find(|(other, _)| *other as usize == document);
        score.map_or(0.0, |(_, score)| *score)
    }
}

/// BM25's inverse document frequency, with every text as a document.
fn rarity(n_texts: f32, n_texts_with: f32) -> f32 {
    (1.0 + (n_texts - n_texts_with + 0.5) / (n_texts_with + 0.5)).ln()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms;

    // Made-up words, so that no example has them.
    const LONG: &str = "zorblat and krumvik and plontar and vexibor and drumqua";

    #[test]
    fn a_short_field_says_more_than_a_long_one() {
        let [short, long] = scores([pattern("zorblat", ""), pattern(LONG, "")], "zorblat");
        assert!(short > long && long > 0.0, "{short} {long}");
    }

    #[test]
    fn a_weighty_field_says_more_than_another() {
        let [name, description] =
            scores([pattern("zorblat", "krumvik"), pattern("krumvik", "zorblat")], "zorblat");
        assert!(name > description && description > 0.0, "{name} {description}");
    }

    #[test]
    fn another_word_says_more_than_the_same_again() {
        let patterns = [pattern("zorblat zorblat zorblat", ""), pattern("zorblat krumvik plontar", "")];
        let [again, another] = scores(patterns, "zorblat krumvik");
        assert!(another > again && again > 0.0, "{another} {again}");
    }

    #[test]
    fn a_rare_word_says_more_than_one_that_everybody_uses() {
        let [rare, common] = scores([pattern("zorblat", ""), pattern("customer", "")], "zorblat customer");
        assert!(rare > common && common > 0.0, "{rare} {common}");
    }

    #[test]
    fn what_no_pattern_is_about_has_a_score() {
        let ranking = Ranking::new(&[pattern("zorblat", "")]);
        let unrelated = |context: &str| compare(&ranking, context).unrelated;
        assert!(unrelated("center a div with flexbox") > 1.0);
        assert_eq!(unrelated("zorblat"), 0.0);
    }

    #[test]
    fn words_have_a_tone() {
        let ranking = Ranking::new(&[pattern("zorblat", "")]);
        let tone = |word: &str| ranking.tone(&text::words(word).words[0].stem);
        assert_eq!(["please", "customers"].map(tone), [Tone::Neutral; 2]);
        assert_eq!(["zorblat", "subresource"].map(tone), [Tone::Telling; 2]);
        assert_eq!(["pytorch", "krumvik"].map(tone), [Tone::Foreign; 2]);
    }

    fn scores(patterns: [Pattern; 2], context: &str) -> [f32; 2] {
        // Made-up words have no meaning.
        let scores = compare(&Ranking::new(&patterns), context).by_words;
        scores.try_into().expect("one score for each pattern")
    }

    fn compare(ranking: &Ranking, context: &str) -> Comparison {
        ranking.compare(&terms::terms(context, &text::words(context).words), |_| true)
    }

    fn pattern(name: &str, description: &str) -> Pattern {
        Pattern { name: name.to_owned(), description: description.to_owned(), ..Pattern::default() }
    }
}
