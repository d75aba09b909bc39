//! Files with annotations, and the texts that these cite.

use std::sync::Arc;

use crate::annotation::{Annotation, AnnotationKind};
use crate::diagnostic::Diagnostic;
use crate::link::CitedPassage;
use crate::specification::Specification;

/// A file, as one of its configured sources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// Relative to the project.
    pub path: Arc<str>,
    /// The URL of the file.
    pub blob_link: Option<Arc<str>>,
    /// Whether it is a requirement file.
    pub is_requirements: bool,
}

/// The contents of a file.
#[derive(Clone, Debug)]
pub struct ScannedFile {
    /// Relative to the project.
    pub path: Arc<str>,
    /// The sources with annotations.
    pub sources: Arc<[SourceFile]>,
    /// The annotations, in the order of reports.
    pub annotations: Arc<Vec<Annotation>>,
    /// For each annotation its source; empty if there is only one.
    pub source_of: Arc<Vec<u32>>,
    /// Problems of comments and entries.
    pub problems: Arc<[Diagnostic]>,
    /// The specification that its requirements were extracted from, if they were.
    pub origin: Option<Arc<Specification>>,
}

impl ScannedFile {
    /// The index of an annotation's source.
    pub fn source_of(&self, index: usize) -> u32 {
        self.source_of.get(index).copied().unwrap_or(0)
    }

    /// Whether it says that something is a requirement.
    pub fn has_requirements(&self) -> bool {
        self.annotations.iter().any(|annotation| annotation.kind == AnnotationKind::Spec)
    }
}

/// The resolved citation of an annotation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Link {
    /// The index of the specification that it names, among the model's targets.
    pub target: Option<u32>,
    /// The text, if it was resolved.
    pub found: Option<CitedPassage>,
}

/// A file with annotations, and what these cite.
#[derive(Debug)]
pub struct LinkedFile {
    /// What was found in it.
    pub scanned: ScannedFile,
    /// For each annotation what it cites.
    pub links: Box<[Link]>,
}

impl LinkedFile {
    /// Its path, relative to the project.
    pub fn path(&self) -> &Arc<str> {
        &self.scanned.path
    }

    /// Lists annotations with what they cite.
    pub fn annotations(&self) -> impl Iterator<Item = (&Annotation, &Link)> {
        self.scanned.annotations.iter().zip(&self.links)
    }

    /// Whether an annotation counts: it is valid, and does not repeat the previous one.
    pub fn is_cited(&self, index: usize) -> bool {
        !self.scanned.annotations[index].is_invalid() && !self.is_repeated(index)
    }

    /// Whether an annotation repeats the previous one, which another source found.
    fn is_repeated(&self, index: usize) -> bool {
        let annotations = &self.scanned.annotations;
        index > 0 && !self.scanned.source_of.is_empty() && annotations[index - 1] == annotations[index]
    }
}
