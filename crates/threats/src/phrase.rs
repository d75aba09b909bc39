//! Finds whole phrases among the words of a text: `background jobs` where `background job` is known.

use std::collections::HashMap;

use crate::text::{self, Word, Words};

/// Phrases, each with a value.
#[derive(Debug)]
pub struct Phrases<T> {
    by_first: HashMap<String, Vec<(Vec<String>, T)>>,
}

/// A phrase that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoundPhrase<T> {
    /// Its value.
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

    /// Adds a phrase.
    pub fn add(&mut self, phrase: &str, value: T) {
        let words = text::words(phrase).words;
        if let [first, second] = words.as_slice() {
            // Some write one word where others write two: multitenant, webhook, autocomplete.
            let joined = [&phrase[first.start..first.end], &phrase[second.start..second.end]].concat();
            self.add_stems(text::words(&joined.to_lowercase()).words, value);
        }
        self.add_stems(words, value);
    }

    /// Finds phrases in the order of their first words. Determiners may be between the words.
    pub fn find(&self, words: &Words) -> Vec<FoundPhrase<T>> {
        let mut found = Vec::new();
        for first in 0..words.words.len() {
            for (stem, end) in units(words, first) {
                for (rest, value) in self.by_first.get(stem).into_iter().flatten() {
                    if let Some(end) = follow(words, end, rest) {
                        found.push(FoundPhrase { value: *value, first, end });
                    }
                }
            }
        }
        found
    }

    /// Lists every word of every phrase, in no particular order.
    pub fn stems(&self) -> impl Iterator<Item = &str> {
        let rests = self.by_first.values().flatten().flat_map(|(rest, _)| rest);
        self.by_first.keys().chain(rests).map(String::as_str)
    }

    fn add_stems(&mut self, words: Vec<Word>, value: T) {
        let mut stems = words.into_iter().map(|word| word.stem);
        if let Some(first) = stems.next() {
            self.by_first.entry(first).or_default().push((stems.collect(), value));
        }
    }
}

/// Returns whether a word may occur inside a phrase without changing it: `delete their account`.
fn is_determiner(stem: &str) -> bool {
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

fn follow(words: &Words, mut position: usize, rest: &[String]) -> Option<usize> {
    let Some((next, rest)) = rest.split_first() else {
        return Some(position);
    };
    loop {
        for (stem, end) in units(words, position) {
            if stem == next
                && let Some(end) = follow(words, end, rest)
            {
                return Some(end);
            }
        }
        if !is_determiner(&words.words.get(position)?.stem) {
            return None;
        }
        position += 1;
    }
}
