//! Requirements as a specification that people read from top to bottom: its numbers, its HTML, and sanitized Markdown.
//!
//! A page of the web application and an exported file use the same templates. Everything here is a function from texts to
//! HTML; the caller reads the requirements and resolves references.

mod file;
mod markdown;
mod node;
mod template;

pub use self::file::{File, FrontMatter, KindCount, LinkRow, POLICY, links_end, links_row, links_start};
pub use self::markdown::{Markdown, Surroundings};
pub use self::node::{Node, NodeKind, NodeState, Numbering, SectionNumber};
pub use self::template::{Look, body, outline_row};

/// The style of a specification, on a page and in a file. It needs the tokens and the states of the crate `design`.
pub const STYLE: &str = include_str!("specification.css");
