//! Finds whole phrases among the words of a text: `background jobs` where `background job` is known.

use std::collections::HashMap;

use crate::text::{self, Words};

/// Phrases, each with something it stands for.
#[derive(Debug)]
pub struct Phrases<T> {
    by_first: HashMap<String, Vec<(Vec<Next>, T)>>,
}

/// What comes after the first word of a phrase.
#[derive(Debug)]
enum Next {
    Word(String),
    /// Up to [`GAP_MAX`] words of any kind.
    Gap,
}

const GAP_MAX: usize = 4;

/// A phrase that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found<T> {
    /// What it stands for.
    pub value: T,
    /// The index of its first word.
    pub first: usize,
    /// The index after its last word.
    pub end: usize,
}

impl<T: Copy> Phrases<T> {
    /// Starts without any phrase.
    pub fn new() -> Self {
        Phrases { by_first: HashMap::new() }
    }

    /// Adds a phrase, in which `*` stands for a few words.
    pub fn add(&mut self, phrase: &str, value: T) {
        let words = text::words(phrase).words;
        if let [first, second] = words.as_slice()
            && !phrase.contains('*')
        {
            // People write one word where others write two: multitenant, webhook, autocomplete.
            let joined = [&phrase[first.start..first.end], &phrase[second.start..second.end]].concat();
            let joined = text::words(&joined.to_lowercase()).words;
            self.add_stems(joined.into_iter().map(|word| Next::Word(word.stem)).collect(), value);
        }
        let mut nexts = Vec::new();
        for part in phrase.split('*') {
            if !nexts.is_empty() {
                nexts.push(Next::Gap);
            }
            nexts.extend(text::words(part).words.into_iter().map(|word| Next::Word(word.stem)));
        }
        self.add_stems(nexts, value);
    }

    /// Adds a phrase without its stop words; a phrase of nothing else is left out.
    pub fn add_content(&mut self, phrase: &str, value: T) {
        let stems = text::words(phrase).words.into_iter().map(|word| word.stem);
        self.add_stems(stems.filter(|stem| !text::is_stop_word(stem)).map(Next::Word).collect(), value);
    }

    /// Finds phrases in the order of their first words. Words that `skipped` accepts may stand in between.
    pub fn find(&self, words: &Words, skipped: fn(&str) -> bool) -> Vec<Found<T>> {
        let mut found = Vec::new();
        for first in 0..words.words.len() {
            for (stem, end) in units(words, first) {
                for (rest, value) in self.by_first.get(stem).into_iter().flatten() {
                    if let Some(end) = follow(words, end, rest, skipped) {
                        found.push(Found { value: *value, first, end });
                    }
                }
            }
        }
        found
    }

    /// Lists every word of every phrase, in no particular order.
    pub fn stems(&self) -> impl Iterator<Item = &str> {
        let rests = self.by_first.values().flatten().flat_map(|(rest, _)| rest);
        let rests = rests.filter_map(|next| match next {
            Next::Word(stem) => Some(stem.as_str()),
            Next::Gap => None,
        });
        self.by_first.keys().map(String::as_str).chain(rests)
    }

    fn add_stems(&mut self, stems: Vec<Next>, value: T) {
        let mut stems = stems.into_iter();
        if let Some(Next::Word(first)) = stems.next() {
            self.by_first.entry(first).or_default().push((stems.collect(), value));
        }
    }
}

/// Tells whether a word may stand inside a phrase without changing it: `delete their account`.
pub fn is_determiner(stem: &str) -> bool {
    matches!(
        stem,
        "the"
            | "a"
            | "an"
            | "their"
            | "our"
            | "it"
            | "his"
            | "her"
            | "my"
            | "your"
            | "this"
            | "that"
            | "each"
            | "everi"
    )
}

/// Lists what may be read at a position, and where the next word starts then.
fn units(words: &Words, position: usize) -> impl Iterator<Item = (&str, usize)> {
    let word = words.words.get(position).map(|word| (word.stem.as_str(), position + 1));
    let from = words.compounds.partition_point(|compound| compound.first < position);
    let compounds = words.compounds[from..].iter().take_while(move |compound| compound.first == position);
    word.into_iter()
        .chain(compounds.map(|compound| (compound.stem.as_str(), compound.first + compound.n_parts)))
}

fn follow(words: &Words, position: usize, rest: &[Next], skipped: fn(&str) -> bool) -> Option<usize> {
    let Some((next, rest)) = rest.split_first() else {
        return Some(position);
    };
    let Next::Word(next) = next else {
        return (position..=position + GAP_MAX).find_map(|position| follow(words, position, rest, |_| false));
    };
    let mut position = position;
    loop {
        for (stem, end) in units(words, position) {
            if stem == next
                && let Some(end) = follow(words, end, rest, skipped)
            {
                return Some(end);
            }
        }
        if !skipped(&words.words.get(position)?.stem) {
            return None;
        }
        position += 1;
    }
}
