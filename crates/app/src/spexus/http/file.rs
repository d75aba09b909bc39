//! Files in and out: an export is sent as the file itself, and an import takes one as its body.

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use serde_json::{Map, Value};

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

/// The format of the file that the body of a request is. None when it is not the file of an import, but arguments.
pub fn format(operation: &str, media_type: &str, arguments: &Map<String, Value>) -> Option<String> {
    if operation != "import" {
        return None;
    }
    let by_query = arguments.get("format").and_then(Value::as_str);
    let by_type = FORMATS.iter().find(|(name, _)| *name == media_type).map(|(_, format)| *format);
    by_query.or(by_type).map(str::to_owned)
}

/// Takes the body of an import as the file.
pub fn add(
    format: String,
    body: Bytes,
    arguments: &mut Map<String, Value>,
    request_id: &str,
) -> Result<(), Box<Response<Body>>> {
    if arguments.contains_key("content") {
        let error = ops::Error::field("content", "is given in the query and as the body");
        return Err(Box::new(failure(&error, request_id)));
    }
    let Ok(content) = String::from_utf8(Vec::from(body)) else {
        let message = "the file is not UTF-8";
        return Err(Box::new(http_error(StatusCode::BAD_REQUEST, "MALFORMED_REQUEST", message, request_id)));
    };
    arguments.insert("format".to_owned(), Value::String(format));
    arguments.insert("content".to_owned(), Value::String(content));
    Ok(())
}
