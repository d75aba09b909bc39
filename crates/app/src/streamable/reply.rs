//! Answers: the status of a protocol error, and the headers.

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use mcp::{Error, Id};
use serde_json::{Value, json};

use crate::spexus::http::{insert, outgoing};

/// Why a request is rejected, whatever the message.
#[derive(Debug)]
pub struct Refusal {
    /// The status.
    pub status: StatusCode,
    /// The error in the body.
    pub error: Error,
}

/// The fields of a log line about a request.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// The request's id.
    pub request_id: &'a str,
    /// The caller.
    pub user: &'a str,
    /// The operation.
    pub operation: &'a str,
}

impl Refusal {
    /// A rejection with an error for programs: a code, a name and a text.
    pub fn new(status: StatusCode, code: i64, name: &str, message: impl Into<String>) -> Refusal {
        Refusal { status, error: Error::new(code, message).with_data(json!({ "code": name })) }
    }

    pub(super) fn forbidden(message: String) -> Refusal {
        Refusal::new(StatusCode::FORBIDDEN, -32003, "FORBIDDEN", message)
    }

    /// The store is unreachable.
    pub(super) fn store(error: &store::Error, source: Source<'_>) -> Refusal {
        let Source { request_id: req_id, user, operation } = source;
        tracing::error!(req_id, user, operation, "sessions cannot be reached: {error}");
        let message = "the store cannot be reached now";
        let mut refusal =
            Refusal::new(StatusCode::SERVICE_UNAVAILABLE, -32007, "BACKEND_UNAVAILABLE", message);
        if let Some(data) = &mut refusal.error.data {
            data["retry_after_s"] = json!(1);
        }
        refusal
    }

    /// The body did not arrive in time.
    pub(super) fn slow() -> Refusal {
        Refusal::new(StatusCode::REQUEST_TIMEOUT, -32600, "TIMEOUT", "the body did not come in time")
    }

    /// There will be no more news.
    pub(super) fn stopping() -> Refusal {
        let status = StatusCode::SERVICE_UNAVAILABLE;
        Refusal::new(status, -32007, "BACKEND_UNAVAILABLE", "the server is stopping")
    }

    pub(super) fn no_session() -> Refusal {
        let message = "the session is unknown or has expired; begin another with initialize";
        Refusal::new(StatusCode::NOT_FOUND, -32600, "SESSION_NOT_FOUND", message)
    }

    pub(super) fn not_acceptable(kinds: &str) -> Refusal {
        let message = format!("expected Accept: {kinds}");
        Refusal::new(StatusCode::NOT_ACCEPTABLE, -32600, "NOT_ACCEPTABLE", message)
    }

    /// The HTTP method is not supported; some others are.
    pub(super) fn method_not_allowed(allowed: &str, message: impl Into<String>) -> Refusal {
        let mut refusal = Refusal::new(StatusCode::METHOD_NOT_ALLOWED, -32600, "METHOD_NOT_ALLOWED", message);
        if let Some(data) = &mut refusal.error.data {
            data["allowed"] = json!(allowed);
        }
        refusal
    }

    /// The same for a revision without our codes: `data.code` has the kind.
    pub(super) fn without_own_code(mut self) -> Refusal {
        if (-32019..=-32000).contains(&self.error.code) {
            self.error.code = -32603;
        }
        self
    }

    pub(super) fn response(&self, id: Option<&Id>) -> Response<Body> {
        let mut response = json(self.status, mcp::error_bytes(id, &self.error));
        describe(&mut response, &self.error);
        response
    }
}

/// Adds a name for programs to a protocol error without one.
pub fn named(mut error: Error) -> Error {
    let name = match error.code {
        -32700 | -32600 => "MALFORMED_REQUEST",
        -32601 => "METHOD_NOT_FOUND",
        -32602 => "INVALID_PARAMS",
        -32022 => "UNSUPPORTED_PROTOCOL_VERSION",
        -32603 => "INTERNAL_ERROR",
        _ => return error,
    };
    match &mut error.data {
        None => error.data = Some(json!({ "code": name })),
        Some(Value::Object(data)) => {
            data.entry("code").or_insert_with(|| json!(name));
        }
        Some(_) => {}
    }
    error
}

/// The status that an error has.
//@= spexus://REQ-111
//@# 002 R9.11: a malformed request is answered with 400
pub fn status(error: &Error, is_stateless: bool) -> StatusCode {
    match detail(error, "code").and_then(Value::as_str) {
        Some("UNAUTHENTICATED") => return StatusCode::UNAUTHORIZED,
        Some("FORBIDDEN") => return StatusCode::FORBIDDEN,
        Some("RATE_LIMITED") => return StatusCode::TOO_MANY_REQUESTS,
        Some("BACKEND_UNAVAILABLE") => return StatusCode::SERVICE_UNAVAILABLE,
        _ => {}
    }
    match error.code {
        -32700 | -32600 | -32020 | -32021 | -32022 => StatusCode::BAD_REQUEST,
        -32601 if is_stateless => StatusCode::NOT_FOUND,
        -32602 if is_stateless && is_about_meta(error) => StatusCode::BAD_REQUEST,
        -32603 => StatusCode::INTERNAL_SERVER_ERROR,
        _ => StatusCode::OK,
    }
}

fn is_about_meta(error: &Error) -> bool {
    let field = detail(error, "errors").and_then(|errors| errors[0]["field"].as_str());
    field.is_some_and(|field| field.starts_with("_meta"))
}

fn detail<'a>(error: &'a Error, name: &str) -> Option<&'a Value> {
    error.data.as_ref()?.get(name)
}

/// Adds the headers that say how to fix an error.
pub fn describe(response: &mut Response<Body>, error: &Error) {
    let status = response.status();
    let headers = response.headers_mut();
    if let Some(seconds) = detail(error, "retry_after_s").and_then(Value::as_u64) {
        headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    if let Some(allowed) = detail(error, "allowed").and_then(Value::as_str)
        && status == StatusCode::METHOD_NOT_ALLOWED
    {
        insert(headers, header::ALLOW, allowed);
    }
    let challenge = match status {
        StatusCode::UNAUTHORIZED if detail(error, "token_sent") == Some(&json!(false)) => {
            "Bearer realm=\"spexus\"".to_owned()
        }
        StatusCode::UNAUTHORIZED => "Bearer realm=\"spexus\", error=\"invalid_token\"".to_owned(),
        // A page of another site has no use for a challenge.
        StatusCode::FORBIDDEN if detail(error, "request_id").is_some() => {
            let scope = detail(error, "required_scope").and_then(Value::as_str);
            let scope = scope.map(|scope| format!(", scope=\"{scope}\"")).unwrap_or_default();
            format!("Bearer realm=\"spexus\", error=\"insufficient_scope\"{scope}")
        }
        _ => return,
    };
    insert(headers, header::WWW_AUTHENTICATE, &challenge);
}

/// A message as an answer.
pub fn json(status: StatusCode, message: Vec<u8>) -> Response<Body> {
    let mut response = Response::new(outgoing::body(message));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// An answer without a body.
pub fn empty(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}

/// A stream of messages.
pub fn stream(body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}
