//! Errors of the store, independent of the engine.

use std::fmt;

/// The result of everything that touches the database.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A failure of the store. A program looks at `kind`, a person reads `message`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The kind, for decisions of the caller.
    pub kind: ErrorKind,
    /// The message, for people; never contains values of a row.
    pub message: String,
    /// The engine's message, which may contain addresses, names and paths: for the log and administrators.
    pub cause: Option<String>,
}

/// The kinds of failure that callers treat differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The database is unreachable now; a retry may succeed later.
    Unavailable,
    /// The connection was lost during the commit: the outcome is unknown.
    Unknown,
    /// Another transaction was faster; the retries of the store are used up.
    Contention,
    /// A value that must be unique is taken.
    Taken,
    /// Something else refers to this row, or the row that it refers to is missing.
    Referenced,
    /// Another constraint of the schema rejects the row.
    Refused,
    /// The deadline of the request has passed.
    Timeout,
    /// The disk is full.
    Full,
    /// The store is read-only.
    ReadOnly,
    /// The schema is newer than this program, or was changed by something else.
    Schema,
    /// The file is damaged.
    Damaged,
    /// An internal error.
    Internal,
}

impl Error {
    /// An error with its kind and its text.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Error {
        Error { kind, message: message.into(), cause: None }
    }

    /// The same error with the engine's message.
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
