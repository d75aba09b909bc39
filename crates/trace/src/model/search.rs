//! Searches requirements with queries of crate `words`: all words in any form, `"phrases"`, `-word`, and
//! a prefix as the last word. Best matches first.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;

use foldhash::fast::RandomState;
use words::{Clause, Query};

/// The index of many texts.
#[derive(Debug, Default)]
pub struct Words {
    /// For each text its terms.
    terms: Vec<String>,
    /// For each stem and reference the texts that contain it, sorted.
    by_term: HashMap<Box<str>, Vec<u32>, RandomState>,
    /// The same for whole words, for prefix queries.
    by_word: BTreeMap<Box<str>, Vec<u32>>,
}

impl Words {
    /// Indexes texts.
    pub fn new<'a>(texts: impl Iterator<Item = &'a str>) -> Words {
        let mut words = Words::default();
        for (number, text) in texts.enumerate() {
            let terms = words::terms("", text).body;
            for term in terms.split_ascii_whitespace() {
                let numbers = match term.as_bytes()[0] {
                    b's' | b'r' => get(&mut words.by_term, term),
                    b'w' => words.by_word.entry(term.into()).or_default(),
                    _ => continue,
                };
                if numbers.last() != Some(&(number as u32)) {
                    numbers.push(number as u32);
                }
            }
            words.terms.push(terms);
        }
        words
    }

    /// Finds the texts that match a query, best first.
    pub fn find(&self, query: &str) -> Vec<u32> {
        let Ok(query) = Query::parse(query) else {
            return Vec::new();
        };
        let mut found: Vec<(f32, u32)> = Vec::new();
        for number in self.candidates(&query) {
            let terms = &self.terms[number as usize];
            if query.matches("", terms) {
                found.push((words::score(&query, "", terms), number));
            }
        }
        found.sort_by(|(score, number), (other, other_number)| {
            other.total_cmp(score).then(number.cmp(other_number))
        });
        found.into_iter().map(|(_, number)| number).collect()
    }

    /// Lists candidates that include all matches: the texts with the rarest wanted clause.
    fn candidates(&self, query: &Query) -> Vec<u32> {
        let wanted = query.clauses.iter().filter(|clause| !clause.is_excluded);
        let rarest = wanted.map(|clause| self.of_clause(clause)).min_by_key(Vec::len);
        rarest.unwrap_or_else(|| (0..self.terms.len() as u32).collect())
    }

    fn of_clause(&self, clause: &Clause) -> Vec<u32> {
        let phrase = clause.terms.iter().map(|term| self.of_term(term)).min_by_key(|numbers| numbers.len());
        let compound = clause.compound.iter().flat_map(|compound| self.of_term(compound));
        let mut numbers: Vec<u32> = phrase.into_iter().flatten().chain(compound).copied().collect();
        if let Some(prefix) = &clause.prefix {
            let from = self.by_word.range::<str, _>((Bound::Included(prefix.as_str()), Bound::Unbounded));
            let matching = from.take_while(|(word, _)| word.starts_with(prefix.as_str()));
            numbers.extend(matching.flat_map(|(_, numbers)| numbers));
        }
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }

    fn of_term(&self, term: &str) -> &[u32] {
        self.by_term.get(term).map_or(&[], |numbers| numbers)
    }
}

fn get<'a>(map: &'a mut HashMap<Box<str>, Vec<u32>, RandomState>, term: &str) -> &'a mut Vec<u32> {
    if !map.contains_key(term) {
        map.insert(term.into(), Vec::new());
    }
    map.get_mut(term).expect("it was inserted where it was missing")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_mean_what_they_mean_in_the_store() {
        let texts = [
            "A server MUST handle errors.",
            "Error handling is OPTIONAL for a client that handles errors, connections, streams and frames.",
            "The pot MUST be hot.",
            "Coffee beans MUST be roasted; coffee MAY be decaffeinated.",
            "Чайники MUST кипеть.",
        ];
        let words = Words::new(texts.into_iter());
        let find = |query: &str| words.find(query);
        let in_order = |query: &str| {
            let mut found = words.find(query);
            found.sort_unstable();
            found
        };
        assert_eq!(in_order("error handling"), [0, 1]);
        assert_eq!(find("\"error handling\""), [1]);
        assert_eq!(find("HOT pots"), [2]);
        assert_eq!(find("coffee -pot"), [3]);
        assert!(find("coffee -beans").is_empty());
        assert_eq!(find("decaff"), [3]);
        assert_eq!(find("чайник"), [4]);
        assert_eq!(in_order("-must"), [1]);
        assert_eq!(find("\"must be hot"), [2]);
        for nothing in ["hot error", " \" \" ", "zzz", "", "\0", &"a ".repeat(1_000)] {
            assert!(find(nothing).is_empty(), "{nothing:?}");
        }
    }
}
