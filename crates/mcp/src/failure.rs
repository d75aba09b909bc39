//! How a server reports failures, and how each revision represents them.

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::{
    error::{Error, INTERNAL_ERROR, INVALID_PARAMS},
    revision::Revision,
};

/// The kind of a failure, for programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// The arguments are invalid.
    InvalidArguments,
    /// Something named does not exist.
    NotFound,
    /// The caller is not authenticated.
    Unauthenticated,
    /// The caller lacks the right.
    Forbidden,
    /// A rule or a concurrent change prevents it.
    Conflict,
    /// Too many requests.
    RateLimited,
    /// It took too long.
    Timeout,
    /// Something that the answer depends on is unavailable.
    Unavailable,
    /// An error in the server; the details are in the log only.
    Internal,
    /// None of the others.
    Other,
}

impl FailureKind {
    /// Whether it is about the caller or the availability of the server, and not about the request itself.
    pub(crate) fn is_refusal(self) -> bool {
        matches!(
            self,
            Self::Unauthenticated | Self::Forbidden | Self::RateLimited | Self::Unavailable | Self::Internal
        )
    }

    /// The kind with this name in `data.code`.
    pub fn from_name(name: &str) -> Option<Self> {
        let all = [
            Self::InvalidArguments,
            Self::NotFound,
            Self::Unauthenticated,
            Self::Forbidden,
            Self::Conflict,
            Self::RateLimited,
            Self::Timeout,
            Self::Unavailable,
            Self::Internal,
            Self::Other,
        ];
        all.into_iter().find(|kind| kind.code_and_name().1 == name)
    }

    /// The code in handshake revisions, and the name in `data.code`, which all revisions share.
    fn code_and_name(self) -> (i64, &'static str) {
        match self {
            Self::InvalidArguments => (INVALID_PARAMS, "INVALID_ARGUMENTS"),
            Self::NotFound => (-32002, "RESOURCE_NOT_FOUND"),
            Self::Unauthenticated => (-32001, "UNAUTHENTICATED"),
            Self::Forbidden => (-32003, "FORBIDDEN"),
            Self::Conflict => (-32004, "CONFLICT"),
            Self::RateLimited => (-32005, "RATE_LIMITED"),
            Self::Timeout => (-32006, "TIMEOUT"),
            Self::Unavailable => (-32007, "BACKEND_UNAVAILABLE"),
            Self::Internal => (INTERNAL_ERROR, "INTERNAL_ERROR"),
            Self::Other => (-32000, "UNSPECIFIED"),
        }
    }
}

/// What is wrong with one field.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FieldError {
    /// The path of the field, such as `filter.status` or `ids[2]`.
    pub field: String,
    /// What was expected and what was found.
    pub message: String,
    /// The allowed values, if they can be listed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allowed: Vec<Value>,
    /// The known name or value closest to what was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nearest: Option<String>,
}

impl FieldError {
    /// Creates an error for a field.
    pub fn new(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self { field: field.into(), message: message.into(), allowed: Vec::new(), nearest: None }
    }

    /// Prefixes the field with the name of the object that contains it.
    pub(crate) fn inside(mut self, parent: &str) -> Self {
        self.field = format!("{parent}.{}", self.field);
        self
    }
}

/// Why a request failed.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// The kind, for programs.
    pub kind: FailureKind,
    /// The message, for people.
    pub message: String,
    /// The invalid fields, if any.
    pub errors: Vec<FieldError>,
    /// Further data for programs, such as the URI that was not found.
    pub details: Vec<(String, Value)>,
}

impl Failure {
    /// Creates a failure without invalid fields.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), errors: Vec::new(), details: Vec::new() }
    }

    /// An error in the server. Its details belong in the log, not in the answer.
    pub fn internal() -> Self {
        Self::new(FailureKind::Internal, "Internal error")
    }

    /// Reports one invalid argument.
    pub fn invalid_argument(field: &str, problem: &str) -> Self {
        let message = format!("{field}: {problem}");
        let errors = vec![FieldError::new(field, problem)];
        Self { errors, ..Self::new(FailureKind::InvalidArguments, message) }
    }

    /// Reports all invalid arguments of `subject` at once, as text and as data.
    pub fn invalid_arguments(subject: &str, errors: Vec<FieldError>) -> Self {
        let mut message = format!("Invalid arguments for {subject}:");
        for error in &errors {
            message += &format!("\n- {}: {}", error.field, error.message);
        }
        Self { errors, ..Self::new(FailureKind::InvalidArguments, message) }
    }

    /// The data of the error.
    pub(crate) fn data(&self, request_id: &str) -> Value {
        let mut data = Map::new();
        data.insert("code".into(), json!(self.kind.code_and_name().1));
        if !self.errors.is_empty() {
            data.insert("errors".into(), json!(self.errors));
        }
        data.insert("request_id".into(), json!(request_id));
        data.extend(self.details.clone());
        Value::Object(data)
    }

    /// The error as a revision represents it.
    pub fn to_error(&self, revision: Revision, request_id: &str) -> Error {
        let code = match (revision.is_stateless(), self.kind) {
            (true, FailureKind::NotFound | FailureKind::InvalidArguments) => INVALID_PARAMS,
            (true, _) => INTERNAL_ERROR,
            (false, kind) => kind.code_and_name().0,
        };
        Error::new(code, self.message.clone()).with_data(self.data(request_id))
    }
}
