//! Citations: annotations other than requirements, with the text they cite.

use std::path::Path;
use std::sync::Arc;

use crate::annotation::{Annotation, AnnotationKind};
use crate::link::CitedPassage;

use super::file::LinkedFile;

/// An annotation other than a requirement, with the text it cites.
#[derive(Clone, Debug)]
pub struct Citation {
    file: Arc<LinkedFile>,
    index: u32,
    /// The section that it cites, by its position in the catalogue.
    pub section: u32,
}

impl Citation {
    /// Takes an annotation of a file. The text it cites must have been found.
    pub(super) fn new(file: &Arc<LinkedFile>, index: usize, section: u32) -> Citation {
        Citation { file: file.clone(), index: index as u32, section }
    }

    /// Its file.
    pub fn file(&self) -> &Arc<LinkedFile> {
        &self.file
    }

    /// Its position in the file.
    pub fn index(&self) -> usize {
        self.index as usize
    }

    /// The path of its file, relative to the project.
    pub fn path(&self) -> &Arc<str> {
        self.file.path()
    }

    /// The annotation.
    pub fn annotation(&self) -> &Annotation {
        &self.file.scanned.annotations[self.index()]
    }

    /// The text it cites; only the title of the section if it has no quote.
    pub fn found(&self) -> &CitedPassage {
        self.file.links[self.index()].found.as_ref().expect("a citation cites something")
    }

    /// Its id: `src/main.rs:42`.
    pub fn id(&self) -> String {
        format!("{}:{}", self.path(), self.annotation().line)
    }

    /// Its type.
    pub fn kind(&self) -> AnnotationKind {
        self.annotation().kind
    }

    /// Orders citations by file and line.
    pub fn order(&self, other: &Citation) -> std::cmp::Ordering {
        if Arc::ptr_eq(&self.file, &other.file) {
            return self.index.cmp(&other.index);
        }
        Path::new(&**self.path())
            .cmp(Path::new(&**other.path()))
            .then_with(|| self.annotation().order(other.annotation()))
    }
}

impl PartialEq for Citation {
    fn eq(&self, other: &Citation) -> bool {
        (self.section, self.path()) == (other.section, other.path())
            && self.annotation() == other.annotation()
            && self.found() == other.found()
    }
}
