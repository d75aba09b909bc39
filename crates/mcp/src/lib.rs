//! The Model Context Protocol, server side, in every revision from 2024-11-05 to 2026-07-28.
//!
//! This crate does no I/O and reads no clock: bytes come in, [`Step`]s come out, and a transport
//! executes them. So stdio and HTTP share all code, and a whole conversation is a unit test.
//!
//! ```text
//! bytes ─► Session::handle ─► Step::Send  bytes to write
//!                          ─► Step::Call  run(server, call) ─► Session::finish ─► bytes to write
//!                          ─► Step::Stop  drain and end
//! ```
//!
//! A server is a [`Profile`] (its name, capabilities and policies) and a [`Server`] (its behaviour).

mod batch;
mod call;
mod contents;
mod error;
mod failure;
mod glance;
mod id;
mod listed;
mod members;
mod message;
mod method;
mod notification;
mod page;
mod profile;
mod request;
mod revision;
mod run;
mod schema;
mod server;
mod session;
mod stateless;
mod tool;
mod values;
mod wording;

pub use call::{Answer, Call, Ticket};
pub use contents::Contents;
pub use error::{Error, error_bytes, internal_error};
pub use failure::{Failure, FailureKind, FieldError};
pub use glance::{Arrived, Glance, read};
pub use id::Id;
pub use listed::{Prompt, PromptArgument, Resource};
pub use message::{MESSAGE_BYTES_MAX, too_large, too_many_values};
pub use method::method_name;
pub use notification::{Change, Interest};
pub use page::{Page, page_from, page_of};
pub use profile::{
    Cache, CacheScope, Capabilities, ListCapability, Profile, ResourceCapability, ToolErrors, VersionPolicy,
};
pub use request::{Completion, CompletionReference, Request};
pub use revision::Revision;
pub use run::run;
pub use schema::Schema;
pub use server::{Changed, Context, Instead, Progress, Server};
pub use session::{Client, Pending, Session, Step, Transport};
pub use tool::{ERROR_META, Structured, Tool, ToolOutput};
pub use values::{VALUES_MAX, ValueCounter};
pub use wording::{is_plain, shown};
