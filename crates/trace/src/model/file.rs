//! Files with annotations, and what these cite.

use std::sync::Arc;

use crate::annotation::{Annotation, AnnotationKind};
use crate::diagnostic::Diagnostic;
use crate::link::CitedPassage;
use crate::specification::Specification;

/// A file, in one of the ways in which it is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// Relative to the project.
    pub path: Arc<str>,
    /// Where it can be looked at.
    pub blob_link: Option<Arc<str>>,
    /// Whether it is a requirement file.
    pub is_requirements: bool,
}

/// What was found in a file.
#[derive(Clone, Debug)]
pub struct ScannedFile {
    /// Relative to the project.
    pub path: Arc<str>,
    /// The ways of reading it that found annotations.
    pub sources: Arc<[SourceFile]>,
    /// In the order of reports.
    pub annotations: Arc<Vec<Annotation>>,
    /// For each annotation its source; empty if there is only one.
    pub source_of: Arc<Vec<u32>>,
    /// What is wrong with comments and entries.
    pub problems: Arc<[Diagnostic]>,
    /// The specification that its requirements were extracted from, if they were.
    pub origin: Option<Arc<Specification>>,
}

impl ScannedFile {
    /// The index of the source that an annotation was found by.
    pub fn source_of(&self, index: usize) -> u32 {
        self.source_of.get(index).copied().unwrap_or(0)
    }

    /// Whether it says that something is a requirement.
    pub fn has_requirements(&self) -> bool {
        self.annotations.iter().any(|annotation| annotation.kind == AnnotationKind::Spec)
    }
}

/// What an annotation cites.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Link {
    /// The index of the specification that it names, among the model's targets.
    pub target: Option<u32>,
    /// The text, if it was found.
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

    /// Whether an annotation counts: its comment is right, and does not repeat the one before.
    pub fn is_cited(&self, index: usize) -> bool {
        !self.scanned.annotations[index].is_invalid() && !self.is_repeated(index)
    }

    /// Whether an annotation repeats the one before, which another way of reading the file found.
    fn is_repeated(&self, index: usize) -> bool {
        let annotations = &self.scanned.annotations;
        index > 0 && !self.scanned.source_of.is_empty() && annotations[index - 1] == annotations[index]
    }
}
