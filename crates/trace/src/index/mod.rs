//! The index: a project that stays in memory, and what can be asked of it.
//!
//! [`Index`] owns the files and specifications and follows their changes; what it knows at one moment is a [`Model`],
//! which never changes, so that an answer is never half of one state and half of another. All spellings of one
//! document are one specification here.

mod build;
mod catalogue;
mod citation;
mod follow;
mod identity;
mod model;
mod search;
mod state;
mod validate;
mod warnings;

pub use catalogue::{Catalogue, Requirement, SectionEntry, SpecificationEntry};
pub use citation::Citation;
pub use follow::{Changes, Index};
pub use identity::{name as specification_name, percent_decode, percent_encode, specification_id};
pub use model::Model;
pub use state::{Label, Progress, State, Status};
pub use validate::Verdict;
