//! Errors of operations. One table maps the kinds to the statuses of each transport.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::ErrorKind as StoreKind;

use crate::missing::near;

/// The result of an operation.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why an operation was rejected or failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// For programs.
    pub kind: ErrorKind,
    /// For people.
    pub message: String,
    /// The invalid fields.
    pub fields: Vec<FieldError>,
    /// Details as JSON, such as the current state for a stale version.
    pub more: Option<Box<serde_json::Value>>,
    /// The seconds after which a retry may succeed.
    pub retry_after_s: Option<u64>,
    /// The error of the database: for the log and for administrators, not for callers.
    pub cause: Option<String>,
    /// Whether a concurrent transaction was faster, so that a retry may succeed.
    pub lost_race: bool,
}

/// An invalid field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FieldError {
    /// The field, such as `title` or `operations[2].priority`.
    pub field: String,
    /// The problem.
    pub message: String,
    /// The allowed values, if they can be listed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allowed: Vec<String>,
}

/// The kinds of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ErrorKind {
    /// The arguments are invalid.
    ValidationError,
    /// The caller is not authenticated.
    Unauthenticated,
    /// The caller lacks the right.
    Forbidden,
    /// The named entity does not exist.
    NotFound,
    /// The current state does not allow this.
    Conflict,
    /// The expected version is not the current one.
    StaleVersion,
    /// The key was used with another request.
    IdempotencyKeyReused,
    /// The same request is still running.
    StillRunning,
    /// The request is too large.
    TooLarge,
    /// There were too many requests.
    RateLimited,
    /// It took too long.
    Timeout,
    /// The store is unreachable or cannot be written to.
    Unavailable,
    /// An internal error.
    InternalError,
}

impl ErrorKind {
    /// All kinds.
    pub const ALL: [ErrorKind; 13] = [
        ErrorKind::ValidationError,
        ErrorKind::Unauthenticated,
        ErrorKind::Forbidden,
        ErrorKind::NotFound,
        ErrorKind::Conflict,
        ErrorKind::StaleVersion,
        ErrorKind::IdempotencyKeyReused,
        ErrorKind::StillRunning,
        ErrorKind::TooLarge,
        ErrorKind::RateLimited,
        ErrorKind::Timeout,
        ErrorKind::Unavailable,
        ErrorKind::InternalError,
    ];

    /// The name in answers: `VALIDATION_ERROR`.
    pub const fn code(self) -> &'static str {
        match self {
            ErrorKind::ValidationError => "VALIDATION_ERROR",
            ErrorKind::Unauthenticated => "UNAUTHENTICATED",
            ErrorKind::Forbidden => "FORBIDDEN",
            ErrorKind::NotFound => "NOT_FOUND",
            ErrorKind::Conflict => "CONFLICT",
            ErrorKind::StaleVersion => "STALE_VERSION",
            ErrorKind::IdempotencyKeyReused => "IDEMPOTENCY_KEY_REUSED",
            ErrorKind::StillRunning => "STILL_RUNNING",
            ErrorKind::TooLarge => "TOO_LARGE",
            ErrorKind::RateLimited => "RATE_LIMITED",
            ErrorKind::Timeout => "TIMEOUT",
            ErrorKind::Unavailable => "UNAVAILABLE",
            ErrorKind::InternalError => "INTERNAL_ERROR",
        }
    }

    /// The kind with this name.
    pub fn from_code(code: &str) -> Option<ErrorKind> {
        ErrorKind::ALL.into_iter().find(|kind| kind.code() == code)
    }

    /// Whether the caller can fix it; then the answer to an idempotent request is stored.
    pub const fn is_callers(self) -> bool {
        !matches!(
            self,
            ErrorKind::RateLimited
                | ErrorKind::Timeout
                | ErrorKind::Unavailable
                | ErrorKind::InternalError
                | ErrorKind::StillRunning
        )
    }
}

impl Error {
    /// An error of a kind.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Error {
        Error {
            kind,
            message: message.into(),
            fields: Vec::new(),
            more: None,
            retry_after_s: None,
            cause: None,
            lost_race: false,
        }
    }

    /// The message with the database's error.
    pub fn in_full(&self) -> String {
        match &self.cause {
            Some(cause) => format!("{}: {cause}", self.message),
            None => self.message.clone(),
        }
    }

    /// Adds details.
    #[must_use]
    pub fn with_more(self, more: serde_json::Value) -> Error {
        Error { more: Some(Box::new(more)), ..self }
    }

    /// A field has an invalid value.
    pub fn field(field: &str, message: impl Into<String>) -> Error {
        Error::fields(vec![FieldError {
            field: field.to_owned(),
            message: message.into(),
            allowed: Vec::new(),
        }])
    }

    /// A field has a value that is not allowed; suggests the nearest one.
    pub fn not_allowed(
        field: &str,
        found: &str,
        allowed: impl IntoIterator<Item = impl Into<String>>,
    ) -> Error {
        let allowed: Vec<String> = allowed.into_iter().map(Into::into).collect();
        let near = near(found, allowed.iter().map(String::as_str));
        let message = format!("expected one of {}, found {found:?}{near}", allowed.join(", "));
        Error::fields(vec![FieldError { field: field.to_owned(), message, allowed }])
    }

    /// Several fields have invalid values.
    pub fn fields(fields: Vec<FieldError>) -> Error {
        let message = match fields.as_slice() {
            [] => "the arguments are wrong".to_owned(),
            [one] => format!("{}: {}", one.field, one.message),
            [one, rest @ ..] => format!("{}: {} (and {} more)", one.field, one.message, rest.len()),
        };
        Error { fields, ..Error::new(ErrorKind::ValidationError, message) }
    }

    /// The named entity does not exist.
    pub fn not_found(what: &str, name: impl fmt::Display) -> Error {
        Error::new(ErrorKind::NotFound, format!("there is no {what} {name}"))
    }

    /// The current state does not allow this.
    pub fn conflict(message: impl Into<String>) -> Error {
        Error::new(ErrorKind::Conflict, message)
    }

    /// The caller lacks the right.
    pub fn forbidden(message: impl Into<String>) -> Error {
        Error::new(ErrorKind::Forbidden, message)
    }

    /// Adds details.
    #[must_use]
    pub fn with(mut self, more: serde_json::Value) -> Error {
        self.more = Some(Box::new(more));
        self
    }

    /// Names the argument that the error is about.
    #[must_use]
    pub fn about(mut self, field: &str) -> Error {
        let (field, message) = (field.to_owned(), self.message.clone());
        self.fields.push(FieldError { field, message, allowed: Vec::new() });
        self
    }

    /// Appends to the message.
    #[must_use]
    pub(crate) fn adding(mut self, end: &str) -> Error {
        self.message += end;
        for field in &mut self.fields {
            field.message += end;
        }
        self
    }

    /// Inserts what happened in the meantime before the advice.
    #[must_use]
    pub(crate) fn saying(mut self, what: String) -> Error {
        let more = |message: &str| match (message.split_once("; "), what.is_empty()) {
            (Some((problem, advice)), false) => format!("{problem}; {what}; {advice}"),
            _ => message.to_owned(),
        };
        self.message = more(&self.message);
        for field in &mut self.fields {
            field.message = more(&field.message);
        }
        self
    }

    /// Prefixes every field, for example with the place of an operation in a list.
    #[must_use]
    pub fn within(mut self, place: &str) -> Error {
        for field in &mut self.fields {
            field.field = format!("{place}.{}", field.field);
        }
        self.message = format!("{place}: {}", self.message);
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

impl From<store::Error> for Error {
    fn from(error: store::Error) -> Self {
        let kind = match error.kind {
            StoreKind::Unavailable
            | StoreKind::Full
            | StoreKind::ReadOnly
            | StoreKind::Unknown
            | StoreKind::Contention => ErrorKind::Unavailable,
            StoreKind::Taken | StoreKind::Referenced => ErrorKind::Conflict,
            StoreKind::Timeout => ErrorKind::Timeout,
            StoreKind::Refused | StoreKind::Schema | StoreKind::Damaged | StoreKind::Internal => {
                ErrorKind::InternalError
            }
        };
        let message = match error.kind {
            // The name of the constraint does not help a caller; operations check before and give the reason.
            StoreKind::Taken => "a concurrent change has just created the same thing".to_owned(),
            StoreKind::Referenced => {
                "something else refers to it, or what it refers to was just deleted".to_owned()
            }
            _ => error.message,
        };
        let retry_after_s = matches!(kind, ErrorKind::Unavailable).then_some(2);
        // Operations check names and references before they write, so a violated constraint means a concurrent change.
        let lost_race = matches!(error.kind, StoreKind::Taken | StoreKind::Referenced);
        Error { retry_after_s, lost_race, cause: error.cause, ..Error::new(kind, message) }
    }
}
