//! Diagnoses citations of managed requirements, and says what to write instead.

use crate::annotation::Annotation;
use crate::diagnostic::{Code, Severity};
use crate::link::Broken;
use crate::specification::Specification;

use super::document::ManagedDocument;
use super::{CitationState, Gone, ManagedName, Renewed};

/// A diagnosis of a citation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explained {
    /// How bad it is.
    pub severity: Severity,
    /// Its kind.
    pub code: Code,
    /// The message.
    pub message: String,
    /// What to do.
    pub help: Vec<String>,
    /// The quote to write.
    pub renewed: Option<Renewed>,
    /// The target to write.
    pub target: String,
}

impl ManagedDocument {
    /// Diagnoses a citation; nothing if it is current.
    pub fn explain(&self, annotation: &Annotation, specification: &Specification) -> Option<Explained> {
        let id = self.name.reference_id();
        let quote = &*annotation.quote;
        let error = |code: Code, message: String| Explained {
            severity: Severity::Error,
            code,
            message,
            help: Vec::new(),
            renewed: None,
            target: self.repinned(annotation),
        };
        let renewed = || self.renew(quote, specification);
        match self.state(annotation, specification) {
            CitationState::Current => {
                let n_places = match quote.is_empty() {
                    true => 1,
                    false => self.n_occurrences(quote, specification),
                };
                let warning = || Explained {
                    severity: Severity::Warning,
                    help: vec!["quote the whole sentence to cite one of them".to_owned()],
                    ..error(
                        Code::AmbiguousQuote,
                        format!("the quote stands in {n_places} places of {id}, and covers all of them"),
                    )
                };
                (n_places > 1).then(warning)
            }
            CitationState::Stale { quoted, current } => {
                let message =
                    format!("{id} changed in version {current}: this quote is from version {quoted}");
                let renewed = renewed();
                let help = match &renewed {
                    Some(renewed) => format!("the difference is: {}", renewed.difference),
                    None => {
                        "its sentence was removed: remove the citation, or cite what replaces it".to_owned()
                    }
                };
                Some(Explained { help: vec![help], renewed, ..error(Code::StaleCitation, message) })
            }
            CitationState::Suspect { pinned, current } => {
                let message =
                    format!("{id} changed in version {current}, and this citation pins version {pinned}");
                let help = "look whether the code still fits, then pin the new version".to_owned();
                let renewed = Some(Renewed { quote: quote.to_owned(), difference: String::new() });
                let difference = self.difference_since(pinned, specification);
                let help =
                    difference.map(|text| format!("the difference is: {text}")).into_iter().chain([help]);
                Some(Explained {
                    severity: Severity::Warning,
                    help: help.collect(),
                    renewed,
                    ..error(Code::SuspectCitation, message)
                })
            }
            CitationState::Gone(gone) => {
                let message = match gone {
                    Gone::Deleted => format!("{id} was deleted"),
                    Gone::Obsolete => format!("{id} is obsolete"),
                };
                let help = vec!["remove the citation, or cite what replaces it".to_owned()];
                Some(Explained { help, ..error(Code::GoneRequirement, message) })
            }
            CitationState::Broken => {
                let broken = self.link(annotation, specification).err();
                let message = match broken {
                    Some(Broken::UnknownVersion(_)) => {
                        format!("{id} does not have this version yet: its newest is {}", self.version)
                    }
                    Some(Broken::EmptySection(_)) => format!("{id} has no text to quote"),
                    _ => format!("{id} does not say this, and never did"),
                };
                let renewed = match broken {
                    Some(Broken::UnknownVersion(_)) => {
                        Some(Renewed { quote: quote.to_owned(), difference: String::new() })
                    }
                    _ => renewed(),
                };
                let help = match &renewed {
                    Some(renewed) if !renewed.difference.is_empty() => vec![
                        format!("the nearest text is: {}", renewed.quote),
                        format!("the difference is: {}", renewed.difference),
                    ],
                    _ => Vec::new(),
                };
                Some(Explained { help, renewed, ..error(Code::BrokenCitation, message) })
            }
        }
    }

    /// The target in the form it is written, with the current version if it has a pin.
    fn repinned(&self, annotation: &Annotation) -> String {
        match ManagedName::parse(&annotation.target) {
            Ok(name) if name.version.is_some() => {
                ManagedName { version: Some(self.content_version), ..name }.to_string()
            }
            _ => annotation.target.to_string(),
        }
    }
}
