//! What is worth a look in citations that are right.

use crate::diagnostic::{Code, Diagnostic, Place};
use crate::quote::{Likeness, near};

use super::Model;
use super::citation::Citation;

impl Model {
    /// Lists quotes that differ from the specification by one edit, and quotes of what is no requirement.
    pub fn warnings(&self) -> Vec<Diagnostic> {
        self.all_citations().filter_map(|citation| self.warning(&citation)).collect()
    }

    fn warning(&self, citation: &Citation) -> Option<Diagnostic> {
        let quote = &citation.annotation().quote;
        if quote.is_empty() {
            return None;
        }
        let place = Place {
            line: citation.annotation().line,
            column: 1,
            ..Place::file(citation.path().clone(), "quoted here")
        };
        let (specification, section) = self.catalogue.document(citation.section);
        let name = format!("{}#{}", specification.id, section.id);
        if citation.found().likeness == Likeness::OneEdit {
            let index = citation.section - specification.first_section;
            let (_, sentence) =
                near::nearest_sentence(quote, &specification.document.view(index as usize).text)?;
            let message = format!("the quote differs from {name} by one edit");
            let help = format!("the specification says: {}", near::difference(quote, sentence));
            return Some(Diagnostic::warning(Code::Drift, message).at(place).help(help));
        }
        if self.requirements_of(citation).next().is_none() {
            let message = format!("the quoted text of {name} belongs to no requirement");
            return Some(Diagnostic::warning(Code::NoRequirement, message).at(place));
        }
        None
    }
}
