//! The requirements model and its SQL. Everything here is synchronous; [`Store`] runs closures in transactions, and the
//! other modules are the queries that such closures make.

mod db;
mod error;
mod migrate;
mod time;
mod value;

pub mod model;

pub use db::{Location, Mode, Options, Store, Tx};
pub use error::{Error, ErrorKind, Result};
pub use migrate::{Migration, State};
pub use value::{Column, Row, Value};
