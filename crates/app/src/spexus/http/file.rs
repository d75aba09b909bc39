//! Files in and out: an export is sent as the file itself, and an import takes one as its body.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use ops::{Entry, FileArguments};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::answer::{failure, http_error, insert};
use super::outgoing;

/// The formats, by the type of their content.
const FORMATS: [(&str, &str); 4] = [
    ("text/csv", "csv"),
    ("text/markdown", "markdown"),
    ("application/xml", "reqif"),
    ("application/reqif+xml", "reqif"),
];

/// Whether the client asks for the JSON answer around the file, too.
pub fn wants_envelope(headers: &HeaderMap) -> bool {
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

/// A file to be sent.
pub struct Outgoing {
    content: Bytes,
    content_type: &'static str,
    name: String,
}

/// What surrounds the content of an export.
#[derive(Deserialize)]
struct Envelope<'a> {
    format: String,
    file_name: String,
    #[serde(borrow)]
    content: &'a RawValue,
}

/// Turns the answer of an export into the file that it holds, in the memory of the answer: a file may be large.
pub fn unpack(answer: String) -> Option<Outgoing> {
    let envelope: Envelope<'_> = serde_json::from_str(&answer).ok()?;
    let (content_type, name) = (content_type(&envelope.format), envelope.file_name);
    let literal = envelope.content.get();
    let start = literal.as_ptr() as usize - answer.as_ptr() as usize;
    let end = start + literal.len();
    let mut bytes = answer.into_bytes();
    let n_bytes = unescape(&mut bytes[start..end])?;
    let content = Bytes::from(bytes).slice(start..start + n_bytes);
    Some(Outgoing { content, content_type, name })
}

/// Replaces a string of JSON by its text, which is never longer, and returns how long that is.
fn unescape(literal: &mut [u8]) -> Option<usize> {
    let (mut read, mut written) = (1, 0);
    let end = literal.len().checked_sub(1)?;
    while read < end {
        if literal[read] != b'\\' {
            // Runs without escapes are moved at once.
            let run = memchr::memchr(b'\\', &literal[read..end]).unwrap_or(end - read);
            literal.copy_within(read..read + run, written);
            (read, written) = (read + run, written + run);
            continue;
        }
        let mut n_read = 2;
        if literal.get(read + 1) == Some(&b'u') {
            // A character beyond the first 65,536 is two escapes.
            let is_pair = matches!(
                literal.get(read + 2..read + 4),
                Some([b'd' | b'D', b'8' | b'9' | b'a' | b'b' | b'A' | b'B'])
            );
            n_read = if is_pair { 12 } else { 6 };
        }
        let mut quoted = vec![b'"'];
        quoted.extend_from_slice(literal.get(read..read + n_read)?);
        quoted.push(b'"');
        let text: String = serde_json::from_slice(&quoted).ok()?;
        literal[written..written + text.len()].copy_from_slice(text.as_bytes());
        (read, written) = (read + n_read, written + text.len());
    }
    Some(written)
}

impl Outgoing {
    /// The file as an answer. What is held is dropped when the file has left, or is given up.
    pub fn answer(
        self,
        write_timeout: Duration,
        held: impl Send + 'static,
        request_id: &str,
    ) -> Response<Body> {
        let mut response = Response::new(outgoing::in_parts(self.content, write_timeout, held));
        let headers = response.headers_mut();
        insert(headers, header::CONTENT_TYPE, self.content_type);
        insert(headers, header::CONTENT_DISPOSITION, &format!("attachment; filename=\"{}\"", self.name));
        insert(headers, header::CACHE_CONTROL, "no-store");
        insert(headers, super::answer::REQUEST_ID, request_id);
        response
    }
}

/// The format of the file that the body of a request is. None when it is not the file of an import, but arguments.
pub fn format(entry: &Entry, media_type: &str, arguments: &Map<String, Value>) -> Option<String> {
    let by_query = arguments.get(entry.takes_file?.format).and_then(Value::as_str);
    let by_type = FORMATS.iter().find(|(name, _)| *name == media_type).map(|(_, format)| *format);
    by_query.or(by_type).map(str::to_owned)
}

/// Takes the body of an import as the file.
pub fn add(
    named: FileArguments,
    format: String,
    body: Bytes,
    arguments: &mut Map<String, Value>,
    request_id: &str,
) -> Result<(), Box<Response<Body>>> {
    if arguments.contains_key(named.content) {
        let error = ops::Error::field(named.content, "is given in the query and as the body");
        return Err(Box::new(failure(&error, request_id)));
    }
    let Ok(content) = String::from_utf8(Vec::from(body)) else {
        let message = "the file is not UTF-8";
        return Err(Box::new(http_error(StatusCode::BAD_REQUEST, "MALFORMED_REQUEST", message, request_id)));
    };
    arguments.insert(named.format.to_owned(), Value::String(format));
    arguments.insert(named.content.to_owned(), Value::String(content));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::unpack;

    #[test]
    fn a_file_is_unpacked_as_it_was() {
        for text in ["", "plain", "a\"b\\c\n\r\t\u{8}\u{c}\u{1}", "\\", "ё\u{1f600}\\u0041", "\u{7f}\"\""] {
            let answer =
                serde_json::json!({"format": "csv", "content_type": "x", "file_name": "f", "content": text});
            let file = unpack(answer.to_string()).expect("a file");
            assert_eq!(file.content, text.as_bytes(), "{text:?}");
        }
        let escaped = r#"{"format":"csv","file_name":"f","content":"\ud83d\ude00\u0451/\/"}"#;
        assert_eq!(unpack(escaped.to_owned()).expect("a file").content, "😀ё//".as_bytes());
    }
}
