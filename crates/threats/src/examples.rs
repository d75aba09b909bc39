//! Example queries for the subjects of patterns, and for subjects of none; split into terms at build time.

use crate::field::Field;
use crate::meaning::Meaning;

/// An example query.
#[derive(Debug)]
pub struct Example {
    /// The original text.
    pub text: &'static str,
    /// Its subject, as a keyword of patterns; empty if no pattern covers it.
    pub subjects: &'static [&'static str],
    /// Indexes into [`TERMS`], in order, and how often each occurs.
    pub terms: &'static [(u32, u8)],
    /// Whether it is only an expression, which has less weight than a sentence.
    pub is_expression: bool,
    /// Its meaning, if it is a sentence.
    pub meaning: Option<&'static Meaning>,
}

impl Example {
    /// The field of a pattern to which it belongs.
    pub fn field(&self) -> Field {
        if self.is_expression { Field::Expressions } else { Field::Examples }
    }
}

/// A text of a built-in pattern, preprocessed at build time.
#[derive(Debug)]
pub struct OwnText {
    /// The original text.
    pub text: &'static str,
    /// Its terms, as those of an example.
    pub terms: &'static [(u32, u8)],
    /// Its meaning.
    pub meaning: Meaning,
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
        for subject in EXAMPLES.iter().flat_map(|example| example.subjects) {
            assert!(keywords().any(|keyword| keyword == subject), "{subject}");
        }
    }

    #[test]
    fn some_examples_are_about_no_pattern() {
        let n_unrelated = EXAMPLES.iter().filter(|example| example.subjects.is_empty()).count();
        assert!(n_unrelated > 250, "{n_unrelated}");
    }
}
