//! Threat patterns: load them, find those that fit a planned change, and answer briefly.
//!
//! This crate does no I/O: the caller passes `(name, text)` pairs
//! and prints the results.

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
