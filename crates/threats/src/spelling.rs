//! Corrects words that are one typing error away from a significant word.

use std::collections::HashMap;

/// Shorter words have too many similar ones.
const WORD_LENGTH_MIN: usize = 6;

/// The significant words, by their first letter.
#[derive(Debug)]
pub struct Spelling {
    by_first: HashMap<char, Vec<String>>,
}

impl Spelling {
    /// Collects stems.
    pub fn new<'a>(stems: impl Iterator<Item = &'a str>) -> Spelling {
        let mut by_first: HashMap<char, Vec<String>> = HashMap::new();
        for stem in stems.filter(|stem| stem.len() >= WORD_LENGTH_MIN) {
            let first = stem.chars().next().expect("it is not empty");
            by_first.entry(first).or_default().push(stem.to_owned());
        }
        for stems in by_first.values_mut() {
            stems.sort();
            stems.dedup();
        }
        Spelling { by_first }
    }

    /// Replaces an unknown stem by the first known one that differs by one typing error.
    pub fn correct(&self, stem: &mut String) {
        let Some(known) = stem.chars().next().and_then(|first| self.by_first.get(&first)) else {
            return;
        };
        if stem.len() >= WORD_LENGTH_MIN
            && known.binary_search(stem).is_err()
            && let Some(meant) = known.iter().find(|known| is_one_slip(known, stem))
        {
            stem.clone_from(meant);
        }
    }
}

/// Tells whether a letter was left out, added, replaced, or swapped with the next.
fn is_one_slip(known: &str, typed: &str) -> bool {
    let (known, typed) = (known.as_bytes(), typed.as_bytes());
    let start = known.iter().zip(typed).take_while(|(a, b)| a == b).count();
    let (known, typed) = (&known[start..], &typed[start..]);
    match (known, typed) {
        ([a, b, known @ ..], [c, d, typed @ ..]) if a == d && b == c && known == typed => true,
        ([_, known @ ..], [_, typed @ ..]) if known == typed => true,
        ([_, known @ ..], typed) if known == typed => true,
        (known, [_, typed @ ..]) => known == typed,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_slip_is_repaired() {
        for typed in ["webhok", "webhhook", "wbehook", "webhool"] {
            check(typed, "webhook");
        }
    }

    #[test]
    fn two_slips_and_short_words_stay() {
        for typed in ["webhk", "wobhok", "cachr", "parcel", "ébhook"] {
            check(typed, typed);
        }
    }

    #[track_caller]
    fn check(typed: &str, expected: &str) {
        let spelling = Spelling::new(["webhook", "cache", "parent"].into_iter());
        let mut stem = typed.to_owned();
        spelling.correct(&mut stem);
        assert_eq!(stem, expected);
    }
}
