//! What can go wrong in the store, in words that do not depend on the engine.

use std::fmt;

/// The result of everything that touches the database.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A failure of the store. A program looks at `kind`, a person reads `message`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// What a caller can decide upon.
    pub kind: ErrorKind,
    /// What happened, for people; never holds values of a row.
    pub message: String,
    /// What the engine said, which may tell addresses, names and paths: for the log and for whoever runs the store.
    pub cause: Option<String>,
}

/// The kinds of failure that callers treat differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The database cannot be reached now; the same call may succeed later.
    Unavailable,
    /// The connection was lost while the transaction was being committed: it may or may not have happened.
    Unknown,
    /// Another transaction was faster; the store has retried as often as it does.
    Contention,
    /// A value that must be unique is taken.
    Taken,
    /// Something else refers to this row, or the row that it refers to is not there.
    Referenced,
    /// Another constraint of the schema refuses the row.
    Refused,
    /// The deadline of the request has passed.
    Timeout,
    /// The disk is full.
    Full,
    /// The store cannot be written to.
    ReadOnly,
    /// The schema is newer than this program, or was changed by something else.
    Schema,
    /// The file is damaged.
    Damaged,
    /// A mistake of ours.
    Internal,
}

impl Error {
    /// An error with its kind and its text.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Error {
        Error { kind, message: message.into(), cause: None }
    }

    /// The same error with what the engine said.
    #[must_use]
    pub(crate) fn because(self, cause: impl fmt::Display) -> Error {
        Error { cause: Some(cause.to_string()), ..self }
    }

    pub(crate) fn internal(message: impl fmt::Display) -> Error {
        Error::new(ErrorKind::Internal, message.to_string())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.cause {
            Some(cause) => write!(formatter, "{}: {cause}", self.message),
            None => formatter.write_str(&self.message),
        }
    }
}

impl std::error::Error for Error {}
