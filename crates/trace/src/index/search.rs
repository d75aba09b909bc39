//! Finds requirements by words: all of them, whatever their endings; phrases in quotes; best first.

use std::cell::RefCell;
use std::collections::HashMap;

use frostem::{Algorithm, Stemmer};

/// How soon more of the same word adds nothing, and how much the length of a text counts, as usual in BM25.
const SATURATION: f32 = 1.2;
const WEIGHT_OF_LENGTH: f32 = 0.75;

/// The words of many texts.
#[derive(Debug, Default)]
pub struct Words {
    /// For each stem the texts that have it, in order, and how often.
    texts: HashMap<String, Vec<(u32, u16)>>,
    lengths: Vec<u16>,
    n_words_usual: f32,
}

impl Words {
    /// Collects the words of texts.
    pub fn new<'a>(texts: impl Iterator<Item = &'a str>) -> Words {
        let mut words = Words::default();
        let stems = Stems::default();
        for (number, text) in texts.enumerate() {
            let mut length = 0_u16;
            for stem in stems.of(text) {
                length = length.saturating_add(1);
                let texts = words.texts.entry(stem).or_default();
                match texts.last_mut() {
                    Some((last, count)) if *last == number as u32 => *count = count.saturating_add(1),
                    _ => texts.push((number as u32, 1)),
                }
            }
            words.lengths.push(length);
        }
        let n_words = words.lengths.iter().map(|length| f32::from(*length)).sum::<f32>();
        words.n_words_usual = n_words / words.lengths.len().max(1) as f32;
        words
    }

    /// Finds the texts that have all words and phrases of a query, best first.
    pub fn find<'a>(&self, query: &str, text: impl Fn(u32) -> &'a str) -> Vec<u32> {
        let stems = Stems::default();
        let (words, phrases) = parse(query);
        let mut wanted: Vec<String> = words.iter().flat_map(|word| stems.of(word)).collect();
        wanted.extend(phrases.iter().flat_map(|phrase| stems.of(phrase)));
        wanted.sort();
        wanted.dedup();
        if wanted.is_empty() {
            return Vec::new();
        }
        let mut lists: Vec<&[(u32, u16)]> = Vec::with_capacity(wanted.len());
        for stem in &wanted {
            match self.texts.get(stem) {
                Some(texts) => lists.push(texts),
                None => return Vec::new(),
            }
        }
        // The rarest word leaves the fewest texts to look at.
        lists.sort_by_key(|texts| texts.len());
        let mut scores: Vec<(u32, f32)> = lists[0].iter().map(|(number, _)| (*number, 0.0)).collect();
        for texts in lists {
            let rarity = ((self.lengths.len() as f32 + 1.0) / (texts.len() as f32 + 0.5)).ln();
            let mut rest = texts;
            scores.retain_mut(|(number, score)| {
                rest = &rest[rest.partition_point(|(other, _)| other < number)..];
                let Some((_, count)) = rest.first().filter(|(other, _)| other == number) else {
                    return false;
                };
                // Of two that have the words the shorter is more about them.
                let length = f32::from(self.lengths[*number as usize]) / self.n_words_usual;
                let count = f32::from(*count);
                *score += rarity * count
                    / (count + SATURATION * (1.0 - WEIGHT_OF_LENGTH + WEIGHT_OF_LENGTH * length));
                true
            });
        }
        let phrases: Vec<String> = phrases.iter().map(|phrase| stems.line(phrase)).collect();
        let mut found = scores;
        found.retain(|(number, _)| phrases.is_empty() || contains(&stems.line(text(*number)), &phrases));
        found.sort_by(|(first, first_score), (second, second_score)| {
            second_score.total_cmp(first_score).then(first.cmp(second))
        });
        found.into_iter().map(|(number, _)| number).collect()
    }
}

fn contains(line: &str, phrases: &[String]) -> bool {
    phrases.iter().all(|phrase| line.contains(phrase.as_str()))
}

/// Cuts a query into words and phrases. A quote that is never closed is a phrase to the end.
fn parse(query: &str) -> (Vec<&str>, Vec<&str>) {
    let (mut words, mut phrases) = (Vec::new(), Vec::new());
    for (index, part) in query.split('"').enumerate() {
        if index % 2 == 0 { words.push(part) } else { phrases.push(part) }
    }
    (words, phrases)
}

/// Stems words, and remembers them: the same ones come again and again.
#[derive(Default)]
struct Stems {
    known: RefCell<HashMap<String, String>>,
}

impl Stems {
    fn of<'a>(&'a self, text: &'a str) -> impl Iterator<Item = String> + 'a {
        let words = text.split(|character: char| !character.is_alphanumeric());
        words.filter(|word| !word.is_empty()).map(|word| self.stem(&word.to_lowercase()))
    }

    fn stem(&self, word: &str) -> String {
        if let Some(stem) = self.known.borrow().get(word) {
            return stem.clone();
        }
        let stem = Stemmer::new(Algorithm::English).stem(word).into_owned();
        self.known.borrow_mut().insert(word.to_owned(), stem.clone());
        stem
    }

    /// The stems of a text, each with a blank around it.
    fn line(&self, text: &str) -> String {
        let mut line = " ".to_owned();
        for stem in self.of(text) {
            line += &stem;
            line.push(' ');
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_words_whatever_their_endings_and_phrases() {
        let texts = [
            "A server MUST handle errors.",
            "Error handling is OPTIONAL for a client that handles errors, connections, streams and frames.",
            "The pot MUST be hot.",
        ];
        let words = Words::new(texts.into_iter());
        let find = |query: &str| words.find(query, |number| texts[number as usize]);
        assert_eq!(find("error handling"), [0, 1]);
        assert_eq!(find("\"error handling\""), [1]);
        assert_eq!(find("HOT pots"), [2]);
        assert!(find("hot error").is_empty());
        assert_eq!(find("\"must be"), [2]);
        assert!(find(" \" \" ").is_empty());
        assert!(find("zzz").is_empty());
    }
}
