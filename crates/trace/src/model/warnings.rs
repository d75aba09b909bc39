//! Warnings about valid citations.

use crate::annotation::AnnotationKind;
use crate::diagnostic::{Code, Diagnostic, Place};
use crate::quote::{Likeness, near};

use super::Model;
use super::citation::Citation;
use super::validate::ONE_WORD;

impl Model {
    /// Lists quotes that differ from the specification by one edit, are a single word, or belong to no
    /// requirement, and exceptions without a reason.
    pub fn warnings(&self) -> Vec<Diagnostic> {
        let of = |citation: Citation| {
            self.warning(&citation).into_iter().chain(without_reason(&citation)).collect::<Vec<_>>()
        };
        self.all_citations().flat_map(of).collect()
    }

    fn warning(&self, citation: &Citation) -> Option<Diagnostic> {
        let quote = &citation.annotation().quote;
        if quote.is_empty() {
            return None;
        }
        let place = place(citation, "quoted here");
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
        if quote.split_whitespace().count() == 1 {
            let message = format!("the quote of {name} has one word");
            return Some(Diagnostic::warning(Code::OneWord, message).at(place).help(ONE_WORD));
        }
        None
    }
}

fn without_reason(citation: &Citation) -> Option<Diagnostic> {
    let is_bare = citation.kind() == AnnotationKind::Exception && citation.annotation().comment().is_empty();
    is_bare.then(|| {
        Diagnostic::warning(Code::MissingReason, "the exception does not say why")
            .at(place(citation, "left out here"))
            .help("add a line with `reason=…`")
    })
}

fn place(citation: &Citation, label: &str) -> Place {
    let line = citation.annotation().line;
    Place { line, column: 1, ..Place::file(citation.path().clone(), label) }
}
