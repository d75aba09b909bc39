//! Managed requirements: those kept in a store instead of a document, and cited by their reference ids.
//!
//! A managed requirement becomes a [`Specification`](crate::Specification) with one section, `text`, so that linking,
//! coverage and reports treat it like any other. What only it has, versions and earlier texts, is in
//! [`ManagedDocument`]. The texts come through [`ManagedTexts`], which the caller hands in: this crate knows no store.

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

/// Where a project keeps the texts that were pulled, which is where Duvet looks for them.
pub const FOLDER: &str = ".duvet/specifications";

/// Where the texts of managed requirements come from.
pub trait ManagedTexts: fmt::Debug + Send + Sync {
    /// The key of the project that a name without a project belongs to.
    fn project(&self) -> &str;

    /// Looks up requirements. The answers are in the order of the names.
    fn look_up(&self, names: &[ManagedName]) -> Vec<Lookup>;

    /// A number that changes whenever an answer may have changed.
    fn edition(&self) -> u64;

    /// Whether answers change without a change of files, so that the edition must be looked at now and then.
    fn is_live(&self) -> bool {
        false
    }

    /// What the reader should know about the source as a whole, such as that a pulled copy is used.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// The files that answers are read from, relative to the root of the project, so that they are followed.
    fn files(&self, _names: &[ManagedName]) -> Vec<PathBuf> {
        Vec::new()
    }
}

/// What became of looking up a requirement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// It was found.
    Found(ManagedText),
    /// There is no such requirement, or none that the caller may see.
    Unknown {
        /// The reference that was probably meant.
        nearest: Option<String>,
    },
    /// The source cannot be asked, and no copy was pulled.
    Unreachable(String),
}

/// A requirement or an acceptance criterion with its text, now and before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManagedText {
    /// The key of its project.
    pub project: String,
    /// Its reference without the project: `REQ-027`.
    pub reference: String,
    /// What it is.
    pub kind: ManagedKind,
    /// Its title.
    pub title: String,
    /// What it says, as [`text_of`] puts it together.
    pub text: String,
    /// The version in which title, text or type changed last.
    pub content_version: u64,
    /// The newest version.
    pub version: u64,
    /// Why it does not hold any more, if it does not.
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

/// What can be cited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ManagedKind {
    /// Its sentences with MUST, SHOULD or MAY can be cited one by one.
    Requirement,
    /// It is cited as a whole.
    Criterion,
}

impl ManagedKind {
    /// How its text is cut into units.
    pub fn granularity(self) -> Granularity {
        match self {
            ManagedKind::Requirement => Granularity::Sentences,
            ManagedKind::Criterion => Granularity::Whole,
        }
    }

    /// The letters that its references begin with.
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

/// Why a requirement does not hold any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Gone {
    /// It was deleted.
    Deleted,
    /// Its status says that it is obsolete or was cancelled.
    Obsolete,
}

impl Gone {
    /// What it is called.
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
