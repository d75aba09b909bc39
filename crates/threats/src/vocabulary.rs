//! The numbers of terms: those that were known when this was built, and those that the patterns at hand add.

use std::collections::HashMap;

use crate::examples::{SORTED, TERMS};

/// Every term that some text has. The known ones are looked up where they are: putting thousands of them into a map
/// took most of the time before the first answer.
#[derive(Debug, Default)]
pub struct Vocabulary {
    added: Vec<String>,
    numbers: HashMap<String, u32>,
}

impl Vocabulary {
    /// The number of a term.
    pub fn get(&self, key: &str) -> Option<u32> {
        let known = SORTED.binary_search_by(|term| TERMS.get(*term as usize).cmp(&Some(key))).ok();
        known.map(|place| SORTED[place]).or_else(|| self.numbers.get(key).copied())
    }

    /// The number of a term, which is added if it is new.
    pub fn number(&mut self, key: String) -> u32 {
        self.get(&key).unwrap_or_else(|| {
            let number = (TERMS.len() + self.added.len()) as u32;
            self.added.push(key.clone());
            self.numbers.insert(key, number);
            number
        })
    }

    /// The term with a number.
    pub fn key(&self, number: u32) -> &str {
        let number = number as usize;
        TERMS.get(number).unwrap_or_else(|| &self.added[number - TERMS.len()])
    }

    /// All terms in the order of their numbers.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        TERMS.iter().map(|term| -> &str { term }).chain(self.added.iter().map(String::as_str))
    }
}
