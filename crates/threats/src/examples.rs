//! How people ask for what patterns are about, and for what none is about; cut into terms when this was built.

use crate::field::Field;
use crate::meaning::Meaning;

/// A text that somebody might ask with.
#[derive(Debug)]
pub struct Example {
    /// As it stands.
    pub text: &'static str,
    /// What it is about, as keywords of patterns have it. Nothing: no pattern.
    pub subjects: &'static [&'static str],
    /// Indexes into [`TERMS`], in order, and how often each occurs.
    pub terms: &'static [(u32, u8)],
    /// Whether it is a mere expression, which says less than a sentence.
    pub is_expression: bool,
    /// What it means, if it is a sentence.
    pub meaning: Option<&'static Meaning>,
}

impl Example {
    /// The field of patterns that it belongs to.
    pub fn field(&self) -> Field {
        if self.is_expression { Field::Expressions } else { Field::Examples }
    }
}

/// A text of a pattern that comes with the program, read when this was built.
#[derive(Debug)]
pub struct OwnText {
    /// As it stands.
    pub text: &'static str,
    /// Its terms, as those of an example.
    pub terms: &'static [(u32, u8)],
    /// What it means.
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
