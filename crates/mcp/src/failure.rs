//! How a server says that something did not work, and what each revision makes of it.

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::{
    error::{Error, INTERNAL_ERROR, INVALID_PARAMS},
    revision::Revision,
};

/// The sort of a failure: what a program branches on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// The arguments do not fit.
    InvalidArguments,
    /// What was named does not exist.
    NotFound,
    /// Nobody has said who is asking.
    Unauthenticated,
    /// Whoever is asking may not.
    Forbidden,
    /// A rule or somebody else's change stands against it.
    Conflict,
    /// Too many requests.
    RateLimited,
    /// It took too long.
    Timeout,
    /// What the answer depends on is away.
    Unavailable,
    /// Our fault; the details are in the log alone.
    Internal,
    /// None of the others.
    Other,
}

impl FailureKind {
    /// Whether it is about who asks and whether the server can serve at all, and not about what was asked.
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

    /// The code in handshake revisions, and the name in `data.code`, which is the same in all revisions.
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
    /// The values that would have done, where they can be listed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allowed: Vec<Value>,
    /// The known name or value closest to what was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nearest: Option<String>,
}

impl FieldError {
    /// Blames a field.
    pub fn new(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self { field: field.into(), message: message.into(), allowed: Vec::new(), nearest: None }
    }

    /// Puts the name of the object before the name of its field.
    pub(crate) fn inside(mut self, parent: &str) -> Self {
        self.field = format!("{parent}.{}", self.field);
        self
    }
}

/// Why something did not work.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// For programs.
    pub kind: FailureKind,
    /// For people.
    pub message: String,
    /// Field by field, where fields are to blame.
    pub errors: Vec<FieldError>,
    /// What else a program may want to know, such as the URI that was not found.
    pub details: Vec<(String, Value)>,
}

impl Failure {
    /// Makes a failure that blames no field.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), errors: Vec::new(), details: Vec::new() }
    }

    /// Our fault. What happened belongs into the log, not into the answer.
    pub fn internal() -> Self {
        Self::new(FailureKind::Internal, "Internal error")
    }

    /// Blames one argument.
    pub fn invalid_argument(field: &str, problem: &str) -> Self {
        let message = format!("{field}: {problem}");
        let errors = vec![FieldError::new(field, problem)];
        Self { errors, ..Self::new(FailureKind::InvalidArguments, message) }
    }

    /// Blames the arguments of `subject`, all at once, in words and as data.
    pub fn invalid_arguments(subject: &str, errors: Vec<FieldError>) -> Self {
        let mut message = format!("Invalid arguments for {subject}:");
        for error in &errors {
            message += &format!("\n- {}: {}", error.field, error.message);
        }
        Self { errors, ..Self::new(FailureKind::InvalidArguments, message) }
    }

    /// The details that go with the message.
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

    /// The error that a revision has for it.
    pub fn to_error(&self, revision: Revision, request_id: &str) -> Error {
        let code = match (revision.is_stateless(), self.kind) {
            (true, FailureKind::NotFound | FailureKind::InvalidArguments) => INVALID_PARAMS,
            (true, _) => INTERNAL_ERROR,
            (false, kind) => kind.code_and_name().0,
        };
        Error::new(code, self.message.clone()).with_data(self.data(request_id))
    }
}
