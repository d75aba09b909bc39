//! BM25F: how well each pattern answers a context, and how well "no pattern is about this" does.
//!
//! A pattern is a document of weighted fields: its own texts, and the examples and expressions for its subject (see
//! [`crate::subjects`]). A term's frequency in it is the sum over the fields, each by its weight and against the length that is usual for the
//! field. The more often the less it adds, and a term that few texts have counts more. One more document gathers
//! what no pattern is about.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use crate::examples::{self, Example};
use crate::field::{self, Field};
use crate::pattern::Pattern;
use crate::subjects::Subjects;
use crate::terms::{self, Term};
use crate::text;

/// How soon more occurrences of a term stop to matter: BM25's k1.
const SATURATION: f32 = 2.5;
/// How much a long field is held against its terms: BM25's b.
const LENGTH_PENALTY: f32 = 0.65;
/// What a word counts that nobody ever asked with. It makes a context less like any other.
const UNKNOWN_FACTOR: f32 = 2.5;
/// A word is an everyday one if what no pattern is about says it this much as the pattern does.
const EVERYDAY_PART_MIN: f32 = 0.25;
/// What the texts of a pattern without examples count, because they have to speak alone.
const ALONE_FACTOR: f32 = 3.0;
/// What "no pattern is about this" counts against such a pattern: it is made from examples, of which this has none.
const ALONE_UNRELATED_PART: f32 = 0.5;
/// Words that examples of so many subjects have say nothing about which.
const NEUTRAL_SUBJECTS_MIN: u8 = 12;

/// Every term of every document, weighed.
#[derive(Debug)]
pub struct Ranking {
    terms: HashMap<Cow<'static, str>, u32>,
    rarity: Vec<f32>,
    rarity_unknown: f32,
    /// Where the scores of each term start, and after the last where they end.
    starts: Vec<u32>,
    /// Pairs of document and score, term by term.
    scores: Vec<(u32, f32)>,
    /// For each pattern the sentences among its examples, with the rarity of all terms of each.
    examples: Vec<Vec<(&'static Example, f32)>>,
}

/// How often each term occurs in a text, in the order of the terms.
type Counts<'a> = Cow<'a, [(u32, u8)]>;

/// A pattern, or what no pattern is about.
type Document<'a> = Vec<(Field, Counts<'a>)>;

/// How well a context is answered.
#[derive(Debug)]
pub struct Comparison {
    /// Known terms of the context that count, in its order.
    pub parts: Vec<Part>,
    /// For each term of examples its rarity, if the context has it.
    by_term: Vec<f32>,
    /// The rarity of all terms of the context.
    rarity: f32,
    /// For each pattern its score.
    pub scores: Vec<f32>,
    /// The score of what no pattern is about.
    pub unrelated: f32,
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
    /// Nothing: any request may have it.
    Neutral,
    /// That some patterns are meant.
    Telling,
    /// That something else is meant.
    Foreign,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Word,
    Pair,
    Route,
}

impl Kind {
    fn of(key: &str) -> Kind {
        match key {
            _ if key.contains(' ') => Kind::Pair,
            _ if key.starts_with('/') => Kind::Route,
            _ => Kind::Word,
        }
    }

    /// What a term of the kind counts.
    fn factor(self) -> f32 {
        match self {
            Kind::Word => 1.0,
            // Its words count already.
            Kind::Pair => 0.8,
            Kind::Route => 1.5,
        }
    }
}

impl Ranking {
    /// Weighs the terms of patterns.
    pub fn new(patterns: &[Pattern]) -> Ranking {
        let mut terms: HashMap<Cow<'static, str>, u32> = examples::TERMS
            .iter()
            .enumerate()
            .map(|(index, key)| (Cow::Borrowed(*key), index as u32))
            .collect();
        let mut documents = own_texts(patterns, &mut terms);
        let mut kinds = vec![Kind::Word; terms.len()];
        terms.iter().for_each(|(key, term)| kinds[*term as usize] = Kind::of(key));
        keep_whole_triggers(&mut documents, &kinds);

        let mut n_texts = vec![0.0_f32; terms.len()];
        let all = documents.iter().flatten().map(|(_, counts)| counts.as_ref());
        let all = all.chain(examples::EXAMPLES.iter().map(|example| example.terms));
        let mut n = 0.0;
        for text in all {
            n += 1.0;
            text.iter().for_each(|(term, _)| n_texts[*term as usize] += 1.0);
        }
        let rarity: Vec<f32> =
            kinds.iter().zip(&n_texts).map(|(kind, n_texts)| kind.factor() * rarity(n, *n_texts)).collect();

        let length_means = length_means(&documents);
        let mut examples: Vec<Vec<(&Example, f32)>> = Vec::with_capacity(patterns.len());
        let subjects = Subjects::new(&rarity);
        let mut frequencies = vec![0.0_f32; rarity.len()];
        for (pattern, document) in patterns.iter().zip(&mut documents) {
            let own = weigh(document, 1.0, &length_means, &rarity, &mut frequencies);
            let about = subjects.examples_for(pattern, &own);
            document.extend(about.iter().map(|example| (example.field(), Cow::Borrowed(example.terms))));
            let sentences = about.into_iter().filter(|example| !example.is_expression);
            let total =
                |example: &Example| example.terms.iter().map(|(term, _)| rarity[*term as usize]).sum();
            examples.push(sentences.map(|example| (example, total(example))).collect());
        }
        let unrelated = examples::EXAMPLES.iter().filter(|example| example.subjects.is_empty());
        documents.push(unrelated.map(|example| (example.field(), Cow::Borrowed(example.terms))).collect());

        let (starts, scores) = postings(&documents, &length_means, &rarity);
        let rarity_unknown = UNKNOWN_FACTOR * self::rarity(n, 0.0);
        Ranking { terms, rarity, rarity_unknown, starts, scores, examples }
    }

    /// Returns what the score of "no pattern is about this" counts against a pattern.
    pub fn unrelated_part(&self, pattern: usize) -> f32 {
        if self.examples[pattern].is_empty() { ALONE_UNRELATED_PART } else { 1.0 }
    }

    /// Tells whether a text of a pattern, or an example, has a stem.
    pub fn knows(&self, stem: &str) -> bool {
        self.terms.contains_key(stem)
    }

    /// Tells whether a stem may mean something else than a pattern, as it does in what no pattern is about.
    pub fn is_everyday(&self, stem: &str, pattern: usize) -> bool {
        let Some(term) = self.terms.get(stem) else { return false };
        let unrelated = self.score(*term, self.examples.len());
        unrelated > 0.0 && unrelated >= EVERYDAY_PART_MIN * self.score(*term, pattern)
    }

    /// Tells what a stem says about the subject of a context.
    pub fn tone(&self, stem: &str) -> Tone {
        if text::is_stop_word(stem) {
            return Tone::Neutral;
        }
        let Some(term) = self.terms.get(stem) else { return Tone::Foreign };
        let n_subjects = examples::N_SUBJECTS.get(*term as usize).copied().unwrap_or_default();
        if n_subjects >= NEUTRAL_SUBJECTS_MIN {
            Tone::Neutral
        } else if self.score(*term, self.examples.len()) > 0.0 {
            Tone::Foreign
        } else {
            Tone::Telling
        }
    }

    /// Scores every document for the terms of a context that count.
    pub fn compare(&self, terms: &[Term], counts: impl Fn(&Term) -> bool) -> Comparison {
        let mut parts: Vec<Part> = Vec::with_capacity(terms.len());
        let mut by_term = vec![0.0; examples::TERMS.len()];
        let mut unknown: Vec<&str> = Vec::new();
        let (mut rarity, mut rarity_counted) = (0.0_f32, 0.0_f32);
        // Said again is not said more: a long context repeats whatever words it needs.
        for term in terms {
            let key = term.key.as_str();
            let Some(number) = self.terms.get(key).copied() else {
                if Kind::of(key) != Kind::Pair && !unknown.contains(&key) {
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
        // The order stays as it is, but contexts of different lengths can be held against one threshold.
        let length = rarity_counted.max(1.0).sqrt();
        scores.iter_mut().for_each(|score| *score /= length);
        let unrelated = scores.pop().unwrap_or_default();
        Comparison { parts, by_term, rarity, scores, unrelated }
    }

    /// Returns what a part of a context adds to the score of a pattern.
    pub fn share(&self, part: &Part, pattern: usize) -> f32 {
        self.score(part.term, pattern)
    }

    /// Finds the example of a pattern that has most in common with a context, and how much, from 0 to 1.
    pub fn nearest(&self, comparison: &Comparison, pattern: usize) -> Option<(&'static str, f32)> {
        let mut nearest: Option<(&str, f32)> = None;
        for (example, rarity) in &self.examples[pattern] {
            let shared: f32 = example.terms.iter().map(|(term, _)| comparison.by_term[*term as usize]).sum();
            let likeness = shared / (comparison.rarity * rarity).sqrt();
            if nearest.is_none_or(|(_, most)| likeness > most) {
                nearest = Some((example.text, likeness));
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

/// Counts the terms of the patterns' own texts; those that came with the program are counted already.
fn own_texts(patterns: &[Pattern], terms: &mut HashMap<Cow<'static, str>, u32>) -> Vec<Document<'static>> {
    let prepared: HashMap<&str, &'static [(u32, u8)]> = examples::TEXTS.iter().copied().collect();
    let mut documents = Vec::with_capacity(patterns.len() + 1);
    for pattern in patterns {
        let texts = field::texts(pattern).into_iter().map(|(field, text)| {
            let counts = match prepared.get(text) {
                Some(known) => Cow::Borrowed(*known),
                None => {
                    let found = terms::terms(text, &text::words(text).words);
                    Cow::Owned(count(found.into_iter().map(|term| {
                        let next = terms.len() as u32;
                        *terms.entry(Cow::Owned(term.key)).or_insert(next)
                    })))
                }
            };
            (field, counts)
        });
        documents.push(texts.collect());
    }
    documents
}

/// A trigger counts as a whole: the words of `task queue` do not name it one by one.
fn keep_whole_triggers(documents: &mut [Document<'_>], kinds: &[Kind]) {
    let is_pair = |(term, _): &(u32, u8)| kinds[*term as usize] == Kind::Pair;
    for (_, counts) in documents.iter_mut().flatten().filter(|(field, _)| *field == Field::Keywords) {
        if counts.iter().any(is_pair) {
            counts.to_mut().retain(is_pair);
        }
    }
}

/// Returns how long each field is on average. Examples are averaged over all subjects, not only those that the
/// patterns at hand have: few patterns, or none with examples, do not make "no pattern is about this" any longer.
fn length_means(documents: &[Document<'_>]) -> [f32; Field::ALL.len()] {
    let mut sums = [0.0_f32; Field::ALL.len()];
    for (field, counts) in documents.iter().flatten() {
        sums[*field as usize] += length(counts);
    }
    let mut subjects: HashSet<&str> = HashSet::new();
    for example in examples::EXAMPLES {
        subjects.extend(example.subjects);
        sums[example.field() as usize] += length(example.terms) * example.subjects.len() as f32;
    }
    Field::ALL.map(|field| {
        let n = match field {
            Field::Examples | Field::Expressions => subjects.len(),
            _ => documents.len(),
        };
        (sums[field as usize] / n.max(1) as f32).max(1.0)
    })
}

/// Scores each term for each document, and sorts that by term.
fn postings(
    documents: &[Document<'_>],
    length_means: &[f32; Field::ALL.len()],
    rarity: &[f32],
) -> (Vec<u32>, Vec<(u32, f32)>) {
    let mut frequencies = vec![0.0_f32; rarity.len()];
    let mut by_document: Vec<Vec<(u32, f32)>> = Vec::with_capacity(documents.len());
    let mut starts = vec![0_u32; rarity.len() + 1];
    for document in documents {
        let is_alone = document.iter().all(|(field, _)| !field.is_learned());
        let factor = if is_alone { ALONE_FACTOR } else { 1.0 };
        let scores = weigh(document, factor, length_means, rarity, &mut frequencies);
        scores.iter().for_each(|(term, _)| starts[*term as usize + 1] += 1);
        by_document.push(scores);
    }

    for term in 0..rarity.len() {
        starts[term + 1] += starts[term];
    }
    let mut next = starts.clone();
    let mut scores = vec![(0, 0.0); starts[rarity.len()] as usize];
    for (document, terms) in by_document.into_iter().enumerate() {
        for (term, score) in terms {
            scores[next[term as usize] as usize] = (document as u32, score);
            next[term as usize] += 1;
        }
    }
    (starts, scores)
}

/// Scores each term of a document. The frequencies are room to count in: zero before and after.
fn weigh(
    document: &Document<'_>,
    factor: f32,
    length_means: &[f32; Field::ALL.len()],
    rarity: &[f32],
    frequencies: &mut [f32],
) -> Vec<(u32, f32)> {
    let mut lengths = [0.0_f32; Field::ALL.len()];
    for (field, counts) in document {
        lengths[*field as usize] += length(counts);
    }
    let worth = Field::ALL.map(|field| {
        let relative = lengths[field as usize] / length_means[field as usize];
        factor * field.weight() / (1.0 - LENGTH_PENALTY + LENGTH_PENALTY * relative)
    });
    let mut touched: Vec<u32> = Vec::new();
    for (field, counts) in document {
        for (term, count) in counts.iter() {
            let frequency = &mut frequencies[*term as usize];
            if *frequency == 0.0 {
                touched.push(*term);
            }
            *frequency += worth[*field as usize] * f32::from(*count);
        }
    }
    let score = |term: u32| {
        let frequency = std::mem::take(&mut frequencies[term as usize]);
        (term, saturated(rarity[term as usize], frequency))
    };
    touched.into_iter().map(score).collect()
}

/// What a term adds to a score: the more often it occurs, the less each occurrence does.
pub fn saturated(rarity: f32, frequency: f32) -> f32 {
    rarity * frequency / (SATURATION + frequency)
}

fn count(terms: impl Iterator<Item = u32>) -> Vec<(u32, u8)> {
    let mut terms: Vec<u32> = terms.collect();
    terms.sort_unstable();
    terms.chunk_by(|first, second| first == second).map(|same| (same[0], same.len().min(255) as u8)).collect()
}

fn length(counts: &[(u32, u8)]) -> f32 {
    counts.iter().map(|(_, count)| f32::from(*count)).sum()
}

/// BM25's inverse document frequency; every text is a document here.
fn rarity(n_texts: f32, n_texts_with: f32) -> f32 {
    (1.0 + (n_texts - n_texts_with + 0.5) / (n_texts_with + 0.5)).ln()
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let scores = compare(&Ranking::new(&patterns), context).scores;
        scores.try_into().expect("one score for each pattern")
    }

    fn compare(ranking: &Ranking, context: &str) -> Comparison {
        ranking.compare(&terms::terms(context, &text::words(context).words), |_| true)
    }

    fn pattern(name: &str, description: &str) -> Pattern {
        Pattern { name: name.to_owned(), description: description.to_owned(), ..Pattern::default() }
    }
}
