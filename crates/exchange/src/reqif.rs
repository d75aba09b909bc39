//! ReqIF 1.2, the XML that requirements tools exchange.
//!
//! Every kind is a type of object, relationships are relations, and one specification contains epics, their
//! stories, and the criteria and requirements of each. Identifiers in a file are derived from references, so a
//! tool that imports a second export recognises its objects.

mod foreign;
mod read;
mod text;
mod write;
mod xml;

pub use read::read;
pub use write::write;
