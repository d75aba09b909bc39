//! Threats to requirements and user stories: which patterns of a library fit a text, the decisions about each, and the
//! evidence for the criteria against it. `state.rs` alone derives the state of a threat.

pub mod decide;
mod library;
pub mod list;
pub mod propose;
pub(crate) mod state;

pub use self::library::{ThreatLibrary, ThreatPattern, ThreatProposal};
