//! Requirements traceability: specifications, the requirements in them, and the comments in source code that cite them.
//!
//! A pipeline without side effects; only [`project`] accesses the disk. Problems of the input are data
//! ([`Diagnostic`]), never failures: everything that could be parsed is returned as well.

pub mod annotation;
pub mod comment;
pub mod config;
pub mod diagnostic;
pub mod extract;
pub mod interner;
pub mod link;
pub mod lock;
pub mod managed;
pub mod meaning;
pub mod model;
pub mod overlap;
pub mod project;
pub mod query;
pub mod quote;
pub mod report;
pub mod requirement_file;
pub mod specification;
pub mod summary;
pub mod target;
pub mod text;

pub use annotation::{Annotation, AnnotationKind, Level};
pub use comment::Style;
pub use config::Config;
pub use diagnostic::{Code, Diagnostic, Severity};
pub use specification::{Format, Section, Specification};
pub use target::{Target, TargetPath};
pub use text::{Lines, Span};
