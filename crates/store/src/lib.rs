//! The requirements model and its SQL. Everything here is synchronous; [`Store`] runs closures in transactions, and the
//! other modules are the queries that such closures make.

mod cluster;
mod db;
mod error;
mod migrate;
#[cfg(test)]
mod plans;
mod time;
mod value;
mod workers;

pub mod activity;
pub mod alias;
pub mod audit;
pub mod backup;
pub mod circles;
pub mod comment;
pub mod deletion;
pub mod entity;
pub mod health;
pub mod idempotency;
pub mod import;
pub mod mcp_session;
pub mod member;
pub mod model;
pub mod project;
pub mod prompt;
pub mod relationship;
pub mod report;
pub mod revision;
pub mod scratch;
pub mod search;
pub mod session;
pub mod sign_in_link;
pub mod sizes;
pub mod status;
pub mod tally;
pub mod thread;
pub mod token;
pub mod types;
pub mod user;
pub mod view;

pub use db::{Cancel, Location, Mode, Options, Store, Tx};
pub use error::{Error, ErrorKind, Result};
pub use migrate::{Migration, State};
pub use value::{Column, Row, Value};
pub use workers::Workers;
