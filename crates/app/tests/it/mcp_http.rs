//! `POST /api/v1/mcp`, as an agent meets it: each message that the server sends in these tests is held against the official
//! schema of its revision.

pub mod agent;
mod conversation;
mod gaps;
mod headers;
mod hostile;
mod limits;
mod progress;
mod refusals;
mod replicas;
mod sessions;
mod streams;
pub mod tools;

pub use refusals::token_of;
