//! Managed requirements: requirements in a store, which are cited by their reference ids.
//!
//! A managed requirement becomes a [`Specification`](crate::Specification) with one section, `text`, so that linking,
//! coverage and reports treat it like any other. Versions and earlier texts are in
//! [`ManagedDocument`]. The texts come through [`ManagedTexts`], which the caller passes in: this crate has no access to a store.

use std::fmt;
use std::path::PathBuf;

mod document;
mod explain;
mod name;
mod state;
mod unit;

pub use document::{ManagedDocument, SECTION, body, render};
pub use explain::Explained;
pub use name::{ManagedName, NameError, SCHEME, bare_reference, is_managed, is_project_key};
pub use state::{CitationState, Renewed};
pub(crate) use unit::text as unit_text;
pub use unit::{Granularity, Unit, text_of, units};

/// The folder of pulled texts, where Duvet finds them.
pub const FOLDER: &str = ".duvet/specifications";

/// The source of managed requirements.
pub trait ManagedTexts: fmt::Debug + Send + Sync {
    /// The key of the project of names without a project.
    fn project(&self) -> &str;

    /// Looks up requirements. The answers are in the order of the names.
    fn look_up(&self, names: &[ManagedName]) -> Vec<Lookup>;

    /// An edition number that changes whenever an answer may have changed.
    fn edition(&self) -> u64;

    /// Whether answers change without a change of files, so that the edition must be polled.
    fn is_live(&self) -> bool {
        false
    }

    /// A note about the source as a whole, such as that pulled texts are used.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// The files that answers are read from, relative to the root of the project, to follow their changes.
    fn files(&self, _names: &[ManagedName]) -> Vec<PathBuf> {
        Vec::new()
    }
}

/// The result of looking up a requirement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// It was found.
    Found(ManagedText),
    /// It does not exist, or the caller cannot see it.
    Unknown {
        /// The reference that was probably meant.
        nearest: Option<String>,
    },
    /// The source is unavailable, and nothing was pulled.
    Unreachable(String),
}

/// A requirement or an acceptance criterion with its current and earlier texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManagedText {
    /// The key of its project.
    pub project: String,
    /// Its reference without the project: `REQ-027`.
    pub reference: String,
    /// Its kind.
    pub kind: ManagedKind,
    /// Its title.
    pub title: String,
    /// Its text, as assembled by [`text_of`].
    pub text: String,
    /// The version in which title, text or type last changed.
    pub content_version: u64,
    /// The newest version.
    pub version: u64,
    /// Why it no longer applies, if so.
    pub gone: Option<Gone>,
    /// Earlier texts, each with the version in which it was written, oldest first.
    pub earlier: Vec<(u64, String)>,
}

impl ManagedText {
    /// Its name, with the project and without a version.
    pub fn name(&self) -> ManagedName {
        ManagedName { project: Some(self.project.clone()), reference: self.reference.clone(), version: None }
    }
}

/// The kinds of citable entities.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ManagedKind {
    /// Its sentences with MUST, SHOULD or MAY can be cited one by one.
    Requirement,
    /// It is cited as a whole.
    Criterion,
}

impl ManagedKind {
    /// How its text is split into units.
    pub fn granularity(self) -> Granularity {
        match self {
            ManagedKind::Requirement => Granularity::Sentences,
            ManagedKind::Criterion => Granularity::Whole,
        }
    }

    /// The prefix of its references.
    pub fn prefix(self) -> &'static str {
        match self {
            ManagedKind::Requirement => "REQ",
            ManagedKind::Criterion => "AC",
        }
    }

    /// The kind of a reference without a project.
    pub fn of(reference: &str) -> Option<ManagedKind> {
        let prefix = reference.split('-').next()?;
        [ManagedKind::Requirement, ManagedKind::Criterion].into_iter().find(|kind| kind.prefix() == prefix)
    }
}

/// Why a requirement no longer applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Gone {
    /// It was deleted.
    Deleted,
    /// It is obsolete or cancelled, according to its status.
    Obsolete,
}

impl Gone {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Gone::Deleted => "deleted",
            Gone::Obsolete => "obsolete",
        }
    }

    /// The reason with a name.
    pub fn from_name(name: &str) -> Option<Gone> {
        [Gone::Deleted, Gone::Obsolete].into_iter().find(|gone| gone.name() == name)
    }
}
