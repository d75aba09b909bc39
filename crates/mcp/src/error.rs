//! The error object of JSON-RPC, and the serialization of messages.

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::{failure::FieldError, id::Id, revision::Revision, tool::Outcome, wording::shown};

/// Not JSON.
pub(crate) const PARSE_ERROR: i64 = -32700;
/// JSON, but not a request that can be served now.
pub(crate) const INVALID_REQUEST: i64 = -32600;
/// Unknown method.
pub(crate) const METHOD_NOT_FOUND: i64 = -32601;
/// The method exists, but its parameters are invalid.
pub(crate) const INVALID_PARAMS: i64 = -32602;
/// An error in the server.
pub(crate) const INTERNAL_ERROR: i64 = -32603;
/// 2026-07-28: the client has not declared a capability that the request needs.
pub(crate) const MISSING_CAPABILITY: i64 = -32021;
/// 2026-07-28: the revision in `_meta` is not supported.
pub(crate) const UNSUPPORTED_VERSION: i64 = -32022;

/// A JSON-RPC error.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Error {
    /// The code, for programs.
    pub code: i64,
    /// The message, for people.
    pub message: String,
    /// Details, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

impl Error {
    /// Makes an error without details.
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    /// Adds details.
    pub fn with_data(mut self, data: Value) -> Self {
        self.data = Some(data);
        self
    }

    pub(crate) fn method_not_found(method: &str) -> Self {
        Self::new(METHOD_NOT_FOUND, format!("Method not found: {}", shown(method)))
    }

    /// The client has not declared a required capability.
    pub(crate) fn missing_capability(missing: &[&String]) -> Self {
        let names: Vec<&str> = missing.iter().map(|name| name.as_str()).collect();
        let required: Map<String, Value> = missing.iter().map(|name| ((*name).clone(), json!({}))).collect();
        Self::new(MISSING_CAPABILITY, format!("Missing required client capability: {}", names.join(", ")))
            .with_data(json!({"code": "MISSING_CAPABILITY", "requiredCapabilities": required}))
    }

    /// The revision is not supported.
    pub fn unsupported_version(requested: &str) -> Self {
        let supported = Revision::dates(&Revision::ALL);
        let requested = shown(requested);
        Self::new(UNSUPPORTED_VERSION, format!("Unsupported protocol version: {requested}"))
            .with_data(json!({"supported": supported, "requested": requested}))
    }
}

/// An invalid parameter.
impl Error {
    /// The rejected version, if the error is about one.
    pub fn received_version(&self) -> Option<&str> {
        let data = self.data.as_ref()?;
        data.get("received_version").or_else(|| data.get("requested"))?.as_str()
    }
}

impl From<FieldError> for Error {
    fn from(error: FieldError) -> Self {
        Self::new(INVALID_PARAMS, format!("Invalid params: {}: {}", error.field, error.message))
            .with_data(json!({"code": "INVALID_PARAMS", "errors": [error]}))
    }
}

/// Serializes a result as a response.
pub(crate) fn result_bytes(id: &Id, result: &impl Serialize) -> Vec<u8> {
    #[derive(Serialize)]
    struct Response<'a, R> {
        jsonrpc: &'static str,
        id: &'a Id,
        result: &'a R,
    }
    to_bytes(&Response { jsonrpc: "2.0", id, result })
}

/// Serializes the outcome of a request as a response.
pub(crate) fn outcome_bytes(id: &Id, outcome: &Outcome) -> Vec<u8> {
    let mut bytes = result_bytes(id, &outcome.members);
    outcome.more.write_into(&mut bytes, outcome.members.is_empty());
    bytes
}

/// Serializes an error as a response; without a readable id there is no `id` member.
pub fn error_bytes(id: Option<&Id>, error: &Error) -> Vec<u8> {
    #[derive(Serialize)]
    struct Response<'a> {
        jsonrpc: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<&'a Id>,
        error: &'a Error,
    }
    to_bytes(&Response { jsonrpc: "2.0", id, error })
}

/// Serializes a notification.
pub(crate) fn notification_bytes(method: &str, params: Option<&impl Serialize>) -> Vec<u8> {
    #[derive(Serialize)]
    struct Notification<'a, P> {
        jsonrpc: &'static str,
        method: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        params: Option<&'a P>,
    }
    to_bytes(&Notification { jsonrpc: "2.0", method, params })
}

/// The answer to a message whose handling failed before its id was known.
pub fn internal_error() -> Vec<u8> {
    error_bytes(None, &Error::new(INTERNAL_ERROR, "Internal error"))
}

fn to_bytes(message: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(message).expect("JSON values with string keys always serialize")
}
