//! Citations: annotations with what they speak of.

use std::path::Path;
use std::sync::Arc;

use crate::annotation::{Annotation, Kind};
use crate::quote::Likeness;
use crate::text::Span;

/// An annotation other than a requirement, with what it speaks of.
#[derive(Clone, Debug, PartialEq)]
pub struct Citation {
    /// Its file, relative to the project.
    pub path: Arc<str>,
    /// The annotation.
    pub annotation: Annotation,
    /// The section that it speaks of, by its position in the catalogue.
    pub section: u32,
    /// What it speaks of there; only the title if it quotes nothing.
    pub spans: Arc<[Span]>,
    /// Whether the quote is there as it is.
    pub likeness: Likeness,
}

impl Citation {
    /// What it is called: `src/main.rs:42`.
    pub fn id(&self) -> String {
        format!("{}:{}", self.path, self.annotation.line)
    }

    /// What it says of the text.
    pub fn kind(&self) -> Kind {
        self.annotation.kind
    }

    /// Orders citations by file and line.
    pub fn order(&self, other: &Citation) -> std::cmp::Ordering {
        Path::new(&*self.path)
            .cmp(Path::new(&*other.path))
            .then_with(|| self.annotation.order(&other.annotation))
    }
}
