//! Threats to requirements and user stories: which patterns of a library fit a text, what people decided about each, and what
//! evidence shows of the criteria that followed. `state.rs` is the one place that says how a threat stands.

pub mod decide;
mod library;
pub mod list;
pub mod propose;
pub(crate) mod state;

pub use self::library::{ThreatLibrary, ThreatPattern, ThreatProposal};
