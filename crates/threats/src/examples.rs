//! Example queries for the subjects of patterns, and for subjects of none; split into terms at build time.

use crate::field::Field;
use crate::meaning::Meaning;

/// A text that somebody might ask with, by its place in [`EXAMPLES`].
#[derive(Clone, Copy, Debug)]
pub struct Example(usize);

impl Example {
    /// Lists all examples.
    pub fn all() -> impl Iterator<Item = Example> {
        (0..EXAMPLES.texts.len()).map(Example)
    }

    /// The text as it stands.
    pub fn text(self) -> &'static str {
        EXAMPLES.texts.get(self.0).unwrap_or_default()
    }

    /// What it is about, as places in [`SUBJECTS`]. Nothing: no pattern.
    pub fn subjects(self) -> &'static [u8] {
        part(EXAMPLE_SUBJECTS, SUBJECT_STARTS, self.0)
    }

    /// Its terms.
    pub fn terms(self) -> &'static [Counted] {
        EXAMPLES.terms(self.0)
    }

    /// Its meaning, if it is a sentence.
    pub fn meaning(self) -> Option<&'static Meaning> {
        EXAMPLES.meanings.get(self.0)
    }

    /// Whether it is only an expression, which has less weight than a sentence.
    pub fn is_expression(self) -> bool {
        self.meaning().is_none()
    }

    /// The field of a pattern to which it belongs.
    pub fn field(self) -> Field {
        if self.is_expression() { Field::Expressions } else { Field::Examples }
    }
}

/// A term by its index, and how often a text has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted(u32);

impl Counted {
    /// A term that occurs so often; the index must be below 2^24.
    pub fn new(term: u32, count: u8) -> Counted {
        debug_assert!(term < 1 << 24, "{term}");
        Counted((term << 8) | u32::from(count))
    }

    /// The index of the term.
    pub fn term(self) -> u32 {
        self.0 >> 8
    }

    /// How often it occurs.
    pub fn count(self) -> f32 {
        f32::from(self.0 as u8)
    }
}

/// Strings one after the other: a pointer to each would have to be relocated at every start.
#[derive(Debug)]
pub struct Strings {
    text: &'static str,
    /// Where each starts, and after the last where it ends.
    starts: &'static [u32],
}

impl Strings {
    /// How many there are.
    pub const fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// The string at a place.
    pub fn get(&self, index: usize) -> Option<&'static str> {
        let [start, end] = [self.starts.get(index)?, self.starts.get(index + 1)?];
        Some(&self.text[*start as usize..*end as usize])
    }

    /// Lists all.
    pub fn iter(&self) -> impl Iterator<Item = &'static str> {
        (0..self.len()).filter_map(|index| self.get(index))
    }
}

/// Texts, cut into terms when this was built.
#[derive(Debug)]
pub struct Texts {
    /// As they stand.
    pub texts: Strings,
    counts: &'static [Counted],
    starts: &'static [u32],
    /// What the first of them mean; the rest is not compared by meaning.
    pub meanings: &'static [Meaning],
}

impl Texts {
    /// The terms of a text, in the order of their indexes.
    pub fn terms(&self, index: usize) -> &'static [Counted] {
        part(self.counts, self.starts, index)
    }
}

fn part<T>(all: &'static [T], starts: &[u32], index: usize) -> &'static [T] {
    &all[starts[index] as usize..starts[index + 1] as usize]
}

include!(concat!(env!("OUT_DIR"), "/examples.rs"));

#[cfg(test)]
mod tests {
    use super::*;
    use crate::library::Library;

    #[test]
    fn each_subject_is_a_keyword_of_a_built_in_pattern() {
        let library = Library::builtin(&["all"]).unwrap();
        let keywords = || library.patterns().iter().flat_map(|pattern| pattern.triggers.keywords.iter());
        for subject in SUBJECTS {
            assert!(keywords().any(|keyword| keyword == subject), "{subject}");
        }
    }

    #[test]
    fn some_examples_are_about_no_pattern() {
        let n_unrelated = Example::all().filter(|example| example.subjects().is_empty()).count();
        assert!(n_unrelated > 250, "{n_unrelated}");
    }
}
