//! Threat patterns: load them, find those that fit what somebody is about to build, and say so briefly.
//!
//! Nothing here touches files, the environment or the terminal: the caller hands in `(name, text)` pairs
//! and prints what comes back.

pub mod answer;
pub mod library;
pub mod load;
pub mod pattern;
pub mod render;
pub mod search;
pub mod validate;

mod coverage;
mod document;
mod evidence;
mod examples;
mod field;
mod meaning;
mod path;
mod phrase;
mod rank;
mod spelling;
mod subjects;
mod terms;
mod text;
mod vocabulary;
mod wrap;

pub use answer::Answer;
pub use library::Library;
pub use load::PatternProblem;
pub use pattern::Pattern;
pub use search::{FoundPatterns, Hit, Query, Signs};
