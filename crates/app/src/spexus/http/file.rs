//! Files in and out: an export is sent as the file itself, and an import takes one as its body.

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use serde_json::{Map, Value, json};

use super::answer::{failure, http_error, insert};

/// The formats, by the type of their content.
const FORMATS: [(&str, &str); 4] = [
    ("text/csv", "csv"),
    ("text/markdown", "markdown"),
    ("application/xml", "reqif"),
    ("application/reqif+xml", "reqif"),
];

/// Whether the client asks for the JSON answer around the file, too.
fn wants_envelope(headers: &HeaderMap) -> bool {
    headers.get(header::ACCEPT).and_then(|value| value.to_str().ok())
        == Some("application/vnd.spexus.file+json")
}

/// The content type of the answer to an export in a format.
pub fn content_type(format: &str) -> &'static str {
    match format {
        "csv" => "text/csv; charset=utf-8",
        "markdown" => "text/markdown; charset=utf-8",
        "reqif" => "application/xml",
        _ => "application/json",
    }
}

/// Turns the answer of an export into the file that it holds.
pub fn unpack(operation: &str, headers: &HeaderMap, answer: &str) -> Option<(String, &'static str, String)> {
    if operation != "export" || wants_envelope(headers) {
        return None;
    }
    let mut answer: Value = serde_json::from_str(answer).ok()?;
    let format = answer["format"].as_str()?.to_owned();
    let name = answer["file_name"].as_str()?.to_owned();
    let Value::String(content) = answer["content"].take() else { return None };
    Some((content, content_type(&format), name))
}

/// A file as an answer.
pub fn answer(content: String, content_type: &'static str, name: &str, request_id: &str) -> Response<Body> {
    let mut response = Response::new(Body::from(content));
    let headers = response.headers_mut();
    insert(headers, header::CONTENT_TYPE, content_type);
    insert(headers, header::CONTENT_DISPOSITION, &format!("attachment; filename=\"{name}\""));
    insert(headers, header::CACHE_CONTROL, "no-store");
    insert(headers, super::answer::REQUEST_ID, request_id);
    response
}

/// Takes the body of an import as the file. False when it is no import, or one that is written out as arguments.
pub fn add(
    operation: &str,
    content_type: &str,
    body: &Bytes,
    arguments: &mut Map<String, Value>,
    request_id: &str,
) -> Result<bool, Box<Response<Body>>> {
    if operation != "import" {
        return Ok(false);
    }
    let by_type = FORMATS.iter().find(|(name, _)| *name == content_type).map(|(_, format)| *format);
    let by_query = arguments.get("format").and_then(Value::as_str).map(str::to_owned);
    let is_file = by_type.is_some() || by_query.is_some();
    if !is_file {
        return Ok(false);
    }
    if arguments.contains_key("content") {
        let error = ops::Error::field("content", "is given in the query and as the body");
        return Err(Box::new(failure(&error, request_id)));
    }
    let Ok(content) = std::str::from_utf8(body) else {
        let message = "the file is not UTF-8";
        return Err(Box::new(http_error(StatusCode::BAD_REQUEST, "MALFORMED_REQUEST", message, request_id)));
    };
    if by_query.is_none() {
        arguments.insert("format".to_owned(), json!(by_type));
    }
    arguments.insert("content".to_owned(), json!(content));
    Ok(true)
}
