//! Translates PostgreSQL's errors.

use std::error::Error as _;

use super::Failure;
use crate::error::{Error, ErrorKind};

/// The message for a lost connection.
pub(super) const CLOSED: &str = "the database closed the connection";
/// The message for a server that was replaced by another one, or is read-only.
pub(super) const READ_ONLY: &str = "the database cannot be written to";
/// The final error for the caller.
pub(super) const LOST_RACE: &str = "too many concurrent changes of the same entities; try again";

pub(super) fn translate(error: &postgres::Error) -> (Error, Option<Failure>) {
    let Some(told) = error.as_db_error() else {
        let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
        let unavailable = Error::new(ErrorKind::Unavailable, CLOSED).because(format!("{error}{cause}"));
        // Everything that is not an answer of the server counts as a lost connection.
        return (unavailable, Some(Failure::Disconnected));
    };
    let text = told.message().to_owned();
    let (kind, failure) = match told.code().code() {
        "23505" => (ErrorKind::Taken, None),
        "23503" => (ErrorKind::Referenced, None),
        code if code.starts_with("23") => (ErrorKind::Refused, None),
        "40001" | "40P01" | "55P03" => (ErrorKind::Contention, Some(Failure::LostRace)),
        "57014" => (ErrorKind::Timeout, None),
        "57P01" | "57P02" | "57P03" | "57P04" | "57P05" | "25P03" => {
            (ErrorKind::Unavailable, Some(Failure::Disconnected))
        }
        code if code.starts_with("08") => (ErrorKind::Unavailable, Some(Failure::Disconnected)),
        "53100" => (ErrorKind::Full, None),
        "53300" | "53200" => (ErrorKind::Unavailable, None),
        "25006" => (ErrorKind::ReadOnly, Some(Failure::ReadOnly)),
        "28000" | "28P01" | "3D000" => (ErrorKind::Schema, None),
        _ => (ErrorKind::Internal, None),
    };
    let message = match kind {
        ErrorKind::Full => "the disk of the database is full",
        ErrorKind::ReadOnly => READ_ONLY,
        ErrorKind::Timeout => "the query took too long",
        ErrorKind::Contention => LOST_RACE,
        ErrorKind::Unavailable if failure.is_some() => CLOSED,
        ErrorKind::Unavailable => "the database has no connection or memory to spare",
        _ => return (Error::new(kind, text), failure),
    };
    (Error::new(kind, message).because(text), failure)
}
