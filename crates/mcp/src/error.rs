//! The error object of JSON-RPC, and how messages are put into bytes.

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::{failure::FieldError, id::Id, revision::Revision, tool::Outcome, wording::shown};

/// Not JSON at all.
pub(crate) const PARSE_ERROR: i64 = -32700;
/// JSON, but no request that can be served now.
pub(crate) const INVALID_REQUEST: i64 = -32600;
/// No such method here.
pub(crate) const METHOD_NOT_FOUND: i64 = -32601;
/// The method exists, its parameters do not fit.
pub(crate) const INVALID_PARAMS: i64 = -32602;
/// Our fault.
pub(crate) const INTERNAL_ERROR: i64 = -32603;
/// 2026-07-28: the client has not said that it can do what the request needs.
pub(crate) const MISSING_CAPABILITY: i64 = -32021;
/// 2026-07-28: the revision in `_meta` is not spoken here.
pub(crate) const UNSUPPORTED_VERSION: i64 = -32022;

/// An error as JSON-RPC carries it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Error {
    /// The number a program branches on.
    pub code: i64,
    /// What a person reads.
    pub message: String,
    /// Details, where there are any.
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

    /// The client has not said that it can do this.
    pub(crate) fn missing_capability(missing: &[&String]) -> Self {
        let names: Vec<&str> = missing.iter().map(|name| name.as_str()).collect();
        let required: Map<String, Value> = missing.iter().map(|name| ((*name).clone(), json!({}))).collect();
        Self::new(MISSING_CAPABILITY, format!("Missing required client capability: {}", names.join(", ")))
            .with_data(json!({"code": "MISSING_CAPABILITY", "requiredCapabilities": required}))
    }

    /// The revision is not spoken here.
    pub fn unsupported_version(requested: &str) -> Self {
        let supported = Revision::dates(&Revision::ALL);
        let requested = shown(requested);
        Self::new(UNSUPPORTED_VERSION, format!("Unsupported protocol version: {requested}"))
            .with_data(json!({"supported": supported, "requested": requested}))
    }
}

/// A parameter that does not fit.
impl Error {
    /// The version that was refused, where this is what the error says.
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

/// Puts a result into the bytes of a response.
pub(crate) fn result_bytes(id: &Id, result: &impl Serialize) -> Vec<u8> {
    #[derive(Serialize)]
    struct Response<'a, R> {
        jsonrpc: &'static str,
        id: &'a Id,
        result: &'a R,
    }
    to_bytes(&Response { jsonrpc: "2.0", id, result })
}

/// Puts the result of a request into the bytes of a response.
pub(crate) fn outcome_bytes(id: &Id, outcome: &Outcome) -> Vec<u8> {
    let mut bytes = result_bytes(id, &outcome.members);
    outcome.more.write_into(&mut bytes, outcome.members.is_empty());
    bytes
}

/// Puts an error into the bytes of a response; without a readable id there is no `id` member.
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

/// Puts a notification into bytes.
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

/// What is answered to a message whose handling failed before its id was known.
pub fn internal_error() -> Vec<u8> {
    error_bytes(None, &Error::new(INTERNAL_ERROR, "Internal error"))
}

fn to_bytes(message: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(message).expect("JSON values with string keys always serialize")
}
