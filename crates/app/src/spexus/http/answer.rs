//! Answers: one shape for success, one for errors, and the table that turns kinds of errors into statuses.

use axum::body::Body;
use axum::extract::Request;
use axum::http::header::{self, HeaderName, HeaderValue};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use ops::{Answer, Error, ErrorKind, FieldError};
use serde::Serialize;
use serde_json::Value;

/// The header with the id of a request.
pub const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

/// The status of each kind of error.
pub const fn status(kind: ErrorKind) -> StatusCode {
    match kind {
        ErrorKind::ValidationError => StatusCode::BAD_REQUEST,
        ErrorKind::Unauthenticated => StatusCode::UNAUTHORIZED,
        ErrorKind::Forbidden => StatusCode::FORBIDDEN,
        ErrorKind::NotFound => StatusCode::NOT_FOUND,
        ErrorKind::Conflict | ErrorKind::StaleVersion | ErrorKind::StillRunning => StatusCode::CONFLICT,
        ErrorKind::IdempotencyKeyReused => StatusCode::UNPROCESSABLE_ENTITY,
        ErrorKind::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        ErrorKind::RateLimited => StatusCode::TOO_MANY_REQUESTS,
        ErrorKind::Timeout => StatusCode::GATEWAY_TIMEOUT,
        ErrorKind::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        ErrorKind::InternalError => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// The body of an error.
#[derive(Serialize)]
struct ErrorBody<'a> {
    error: ErrorPart<'a>,
}

#[derive(Serialize)]
struct ErrorPart<'a> {
    code: &'a str,
    message: &'a str,
    details: &'a [FieldError],
    request_id: &'a str,
    #[serde(flatten)]
    more: Option<&'a Value>,
}

/// An error as an answer.
pub fn failure(error: &Error, request_id: &str) -> Response<Body> {
    let status = status(error.kind);
    // What went wrong inside is for the log; a caller can do nothing with it.
    let message = if error.kind == ErrorKind::InternalError {
        "an internal error; the log has it under the request id"
    } else {
        &error.message
    };
    let mut response = error_body(status, error.kind.code(), message, error, request_id);
    let headers = response.headers_mut();
    if let Some(seconds) = error.retry_after_s {
        headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    match error.kind {
        ErrorKind::Unauthenticated => {
            headers.insert(header::WWW_AUTHENTICATE, challenge("invalid_token", &error.message));
        }
        ErrorKind::Forbidden => {
            headers.insert(header::WWW_AUTHENTICATE, challenge("insufficient_scope", &error.message));
        }
        _ => {}
    }
    response
}

fn challenge(error: &str, description: &str) -> HeaderValue {
    let description: String =
        description.chars().filter(|c| (' '..='~').contains(c) && !matches!(c, '"' | '\\')).collect();
    let text = format!("Bearer realm=\"spexus\", error=\"{error}\", error_description=\"{description}\"");
    HeaderValue::from_str(&text).unwrap_or_else(|_| HeaderValue::from_static("Bearer realm=\"spexus\""))
}

/// An error that only HTTP knows.
pub fn http_error(status: StatusCode, code: &str, message: &str, request_id: &str) -> Response<Body> {
    error_body(status, code, message, &Error::new(ErrorKind::ValidationError, message), request_id)
}

fn error_body(
    status: StatusCode,
    code: &str,
    message: &str,
    error: &Error,
    request_id: &str,
) -> Response<Body> {
    let part = ErrorPart { code, message, details: &error.fields, request_id, more: error.more.as_deref() };
    let body = serde_json::to_string(&ErrorBody { error: part }).unwrap_or_default();
    json(status, body, request_id)
}

/// An answer of an operation.
pub fn success(answer: Answer, status: u16, path: &str, replayed: bool, request_id: &str) -> Response<Body> {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::OK);
    let mut response = json(status, answer.json, request_id);
    let headers = response.headers_mut();
    if let Some(version) = answer.version {
        insert(headers, header::ETAG, &format!("\"{version}\""));
    }
    if let (StatusCode::CREATED, Some(reference)) = (status, answer.reference) {
        insert(headers, header::LOCATION, &format!("{}/{reference}", collection(path)));
    }
    if replayed {
        mark_replayed(headers);
    }
    response
}

/// Says that an answer was given before, to the same request.
pub fn mark_replayed(headers: &mut HeaderMap) {
    headers.insert(REPLAYED, HeaderValue::from_static("true"));
}

/// Where what was made below a parent is found: `/api/v1/epics/EP-001/user-stories` makes `/api/v1/user-stories/…`.
fn collection(path: &str) -> String {
    let parts: Vec<&str> = path.trim_end_matches('/').split('/').collect();
    match parts.as_slice() {
        ["", "api", "v1", _, _, collection] => format!("/api/v1/{collection}"),
        _ => path.trim_end_matches('/').to_owned(),
    }
}

/// A JSON answer.
pub fn json(status: StatusCode, body: String, request_id: &str) -> Response<Body> {
    let mut response = Response::new(super::outgoing::body(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    insert(headers, REQUEST_ID, request_id);
    response
}

/// Sets a header, if the text can be one.
pub fn insert(headers: &mut HeaderMap, name: HeaderName, text: &str) {
    if let Ok(value) = HeaderValue::from_str(text) {
        headers.insert(name, value);
    }
}

/// There is nothing at this path.
pub fn not_found(request: &Request) -> Response<Body> {
    let request_id = super::request::request_id(request.headers());
    let message =
        format!("there is nothing at {}; see /api/v1/openapi.json", ops::shortened(request.uri().path()));
    http_error(StatusCode::NOT_FOUND, ErrorKind::NotFound.code(), &message, &request_id)
}

/// The path knows other methods.
pub async fn method_not_allowed(request: Request) -> Response<Body> {
    let request_id = super::request::request_id(request.headers());
    let message = format!("{} is not served here", request.method());
    http_error(StatusCode::METHOD_NOT_ALLOWED, "METHOD_NOT_ALLOWED", &message, &request_id)
}
