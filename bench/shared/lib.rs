//! What the comparisons of servers share: texts to fill a store with, a load generator, and what is measured.

#![expect(missing_docs, reason = "it is used by the programs beside it alone")]

pub mod fill;
pub mod http;
pub mod measure;
pub mod server;
pub mod text;
