//! Files in and out: an export is sent as the file itself, and an import takes one as its body.

use std::fs::File;
use std::io::{self, Seek as _};
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, header};
use axum::response::Response;
use ops::{Entry, FileArguments};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::answer::insert;
use super::outgoing;

/// The formats, by the type of their content.
const FORMATS: [(&str, &str); 6] = [
    ("text/csv", "csv"),
    ("text/tab-separated-values", "csv"),
    ("application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "xlsx"),
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
        "html" => "text/html; charset=utf-8",
        _ => "application/json",
    }
}

/// A file that is made on the disk, without a name, and then sent: an export may be larger than memory.
pub struct Spool(File);

impl Spool {
    /// An empty file.
    pub fn new() -> Result<Spool, ops::Error> {
        tempfile::tempfile().map(Spool).map_err(|error| unwritten(&error))
    }

    /// Takes what is written to the file.
    pub fn sink(&self) -> Result<Box<dyn ops::Sink>, ops::Error> {
        let file = self.0.try_clone().map_err(|error| unwritten(&error))?;
        Ok(Box::new(SpoolSink(file)))
    }

    /// The file as an answer, described by the answer of the export. What is held is dropped when the file has left, or is
    /// given up.
    pub fn answer(
        self,
        described: &str,
        write_timeout: Duration,
        held: impl Send + 'static,
        request_id: &str,
    ) -> Result<Response<Body>, ops::Error> {
        let Description { format, file_name } = serde_json::from_str(described)
            .map_err(|error| ops::Error::new(ops::ErrorKind::InternalError, error.to_string()))?;
        let body = outgoing::file_in_parts(self.0, write_timeout, held).map_err(|error| unwritten(&error))?;
        let mut response = Response::new(body);
        let headers = response.headers_mut();
        insert(headers, header::CONTENT_TYPE, content_type(&format));
        insert(headers, header::CONTENT_DISPOSITION, &format!("attachment; filename=\"{file_name}\""));
        insert(headers, header::CACHE_CONTROL, "no-store");
        insert(
            headers,
            header::CONTENT_SECURITY_POLICY,
            &format!("sandbox; frame-ancestors 'none'; {}", document::POLICY),
        );
        insert(headers, header::X_CONTENT_TYPE_OPTIONS, "nosniff");
        insert(headers, super::answer::REQUEST_ID, request_id);
        Ok(response)
    }
}

/// What the answer of an export says about its file.
#[derive(Deserialize)]
struct Description {
    format: String,
    file_name: String,
}

struct SpoolSink(File);

impl io::Write for SpoolSink {
    fn write(&mut self, part: &[u8]) -> io::Result<usize> {
        self.0.write(part)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl ops::Sink for SpoolSink {
    fn restart(&mut self) -> io::Result<()> {
        self.0.set_len(0)?;
        self.0.rewind()
    }
}

/// The error for a file that has no place on the disk.
pub fn unwritten(error: &io::Error) -> ops::Error {
    let unavailable = ops::Error::new(ops::ErrorKind::Unavailable, "the file could not be written");
    ops::Error { cause: Some(error.to_string()), ..unavailable }
}

/// The format of the file that the body of a request is. None when it is not the file of an import, but arguments.
pub fn format(entry: &Entry, media_type: &str, arguments: &Map<String, Value>) -> Option<String> {
    let by_query = arguments.get(entry.takes_file?.format).and_then(Value::as_str);
    let by_type = FORMATS.iter().find(|(name, _)| *name == media_type).map(|(_, format)| *format);
    by_query.or(by_type).map(str::to_owned)
}

/// Says that the body of an import is the file, which is not among the arguments.
pub fn add(
    named: FileArguments,
    format: String,
    arguments: &mut Map<String, Value>,
) -> Result<(), ops::Error> {
    arguments.insert(named.format.to_owned(), Value::String(format));
    match arguments.insert(named.content.to_owned(), Value::String(String::new())) {
        Some(_) => Err(ops::Error::field(named.content, "is given in the query and as the body")),
        None => Ok(()),
    }
}
