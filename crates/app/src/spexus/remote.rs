//! Operations on another server, through its REST interface.

use std::io::{self, BufRead as _, BufReader, Read as _};
use std::time::Duration;

use ops::{Arguments, Effect, Entry, Error, ErrorKind, FieldError, Method, Route, Upload, known};
use reqwest::blocking::Response;
use serde_json::{Map, Value};

use super::bar::Bar;
use super::commands::CommandProblem;
use super::http::progress;

/// How long an answer is waited for.
const TIMEOUT: Duration = Duration::from_secs(120);
/// The same for files in and out, which are of any size.
const LONG_TIMEOUT: Duration = Duration::from_secs(3600);
/// How much of a file is read at once.
const DOWNLOAD_PART: usize = 64 << 10;

/// A server to ask.
pub struct Remote {
    url: String,
    token: Option<String>,
    client: reqwest::blocking::Client,
}

impl Remote {
    /// A server at a URL, with a token.
    pub fn new(url: &str, token: Option<String>) -> Result<Remote, CommandProblem> {
        // A second start in one process, as in tests, keeps the first.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::blocking::Client::builder().timeout(TIMEOUT).build();
        let client = client.map_err(|error| CommandProblem::Usage(format!("--server: {error}")))?;
        let url = url.trim_end_matches('/').trim_end_matches("/api/v1").to_owned();
        if !url.starts_with("http://") && !url.starts_with("https://") {
            return Err(CommandProblem::Usage(format!(
                "--server: expected a URL such as https://spexus.example.org, found {url:?}"
            )));
        }
        if let Some(token) = &token {
            check_token(token)?;
        }
        Ok(Remote { url, token, client })
    }

    /// Runs an operation there, with the file that it takes.
    pub fn call(
        &self,
        entry: &Entry,
        arguments: Value,
        upload: Option<Upload>,
    ) -> Result<Value, CommandProblem> {
        let response = self.send(entry, arguments, upload, "application/vnd.spexus.file+json")?;
        if is_told(&response) {
            return self.followed(entry, response);
        }
        let text = response.text().map_err(|error| self.away(&error))?;
        Ok(serde_json::from_str(&text).unwrap_or_default())
    }

    /// Draws the progress that the server tells, until the answer comes.
    fn followed(&self, entry: &Entry, response: Response) -> Result<Value, CommandProblem> {
        let mut bar = Bar::new();
        for line in BufReader::new(response).lines() {
            let line = line.map_err(|error| self.stopped(&error))?;
            let told: Value = serde_json::from_str(&line).unwrap_or_default();
            if let Some(status) = told["status"].as_u64() {
                let status = u16::try_from(status).unwrap_or_default();
                return match status {
                    200..300 => Ok(told["body"].clone()),
                    _ => Err(self.refusal(entry, status, &told["body"])),
                };
            }
            let step = &told["progress"];
            let doing = step["doing"].as_str().unwrap_or_default();
            bar.draw(doing, step["done"].as_u64().unwrap_or_default(), step["total"].as_u64());
        }
        Err(self.stopped(&io::ErrorKind::UnexpectedEof.into()))
    }

    /// Runs an export there, and writes the file as it comes.
    pub fn download(
        &self,
        entry: &Entry,
        arguments: Value,
        out: &mut impl io::Write,
    ) -> Result<io::Result<()>, CommandProblem> {
        let mut response = self.send(entry, arguments, None, "*/*")?;
        let mut part = vec![0; DOWNLOAD_PART];
        let (mut bar, mut n_received, total) = (Bar::new(), 0, response.content_length());
        loop {
            let n_bytes = match response.read(&mut part) {
                Ok(0) => return Ok(out.flush()),
                Ok(n_bytes) => n_bytes,
                Err(error) => return Err(self.stopped(&error)),
            };
            n_received += n_bytes as u64;
            bar.draw("receiving bytes", n_received, total);
            if let Err(error) = out.write_all(&part[..n_bytes]) {
                return Ok(Err(error));
            }
        }
    }

    /// Asks, and returns a successful answer.
    fn send(
        &self,
        entry: &Entry,
        arguments: Value,
        upload: Option<Upload>,
        accept: &str,
    ) -> Result<Response, CommandProblem> {
        let mut arguments = match arguments {
            Value::Object(arguments) => arguments,
            _ => Map::new(),
        };
        let Some(route) = fitting(entry, &arguments) else {
            return Err(CommandProblem::Usage(format!("{} cannot be asked of a server", entry.name)));
        };
        let known = Arguments::new(entry.input_schema());
        let path: Vec<String> = route
            .path
            .split('/')
            .map(|part| match part.strip_prefix('{').and_then(|part| part.strip_suffix('}')) {
                Some(name) => encode(&plain(&arguments.remove(name).unwrap_or_default())),
                None => part.to_owned(),
            })
            .collect();
        for (name, _) in route.bind {
            arguments.remove(*name);
        }
        let mut address = format!("{}/api/v1{}", self.url, path.join("/"));
        let method =
            reqwest::Method::from_bytes(route.method.name().as_bytes()).unwrap_or(reqwest::Method::GET);
        if let (Some(_), Some(file)) = (&upload, entry.takes_file) {
            arguments.remove(file.content);
        }
        let in_query = matches!(route.method, Method::Get | Method::Delete) || upload.is_some();
        if in_query && !arguments.is_empty() {
            address = format!("{address}?{}", query(&arguments, &known));
        }
        let mut request = self.client.request(method, address).header("accept", accept);
        if entry.is_unbounded {
            request = request.timeout(LONG_TIMEOUT);
        }
        if tells_progress(entry) {
            request = request.header(progress::HEADER, "1");
        }
        if let Some(token) = &self.token {
            request = request.bearer_auth(token);
        }
        if let Some(upload) = upload {
            let n_bytes = upload.n_bytes();
            let body = reqwest::blocking::Body::sized(upload.into_reader(), n_bytes);
            request = request.header("content-type", "application/octet-stream").body(body);
        } else if !in_query {
            request =
                request.header("content-type", "application/json").body(Value::Object(arguments).to_string());
        }
        let response = request.send().map_err(|error| self.away(&error))?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let text = response.text().map_err(|error| self.away(&error))?;
        let body: Value = serde_json::from_str(&text).unwrap_or_default();
        Err(self.refusal(entry, status.as_u16(), &body))
    }

    /// The problem that an answer other than success tells.
    fn refusal(&self, entry: &Entry, status: u16, body: &Value) -> CommandProblem {
        let mut error = failure(status, body);
        if error.kind == ErrorKind::Unauthenticated && self.token.is_none() && entry.effect != Effect::Public
        {
            let login = format!(
                "; log in with spexus auth login --server {}, or give one with SPEXUS_TOKEN or --token",
                self.url
            );
            error.message.push_str(&login);
        }
        CommandProblem::Refused(error)
    }

    /// The problem of a server that breaks off.
    fn stopped(&self, error: &io::Error) -> CommandProblem {
        let message = format!("{} has stopped sending: {error}", self.url);
        CommandProblem::Refused(Error::new(ErrorKind::Unavailable, message))
    }

    /// The problem of a server that does not answer.
    fn away(&self, error: &reqwest::Error) -> CommandProblem {
        let cause = cause(error);
        let hint = match self.url.strip_prefix("https://") {
            // What rustls says of an answer that is no TLS.
            Some(rest) if cause.contains("InvalidContentType") => {
                format!("; it may speak http: try http://{rest}")
            }
            _ => String::new(),
        };
        let message = format!("{} does not answer: {cause}{hint}", self.url);
        CommandProblem::Refused(Error::new(ErrorKind::Unavailable, message))
    }
}

/// Whether an operation may take long enough that somebody watches.
fn tells_progress(entry: &Entry) -> bool {
    let is_large = entry.is_unbounded
        || [known::BULK_UPDATE, known::DELETE_ENTITY].iter().any(|large| large.name == entry.name);
    is_large && !entry.answers_file
}

fn is_told(response: &Response) -> bool {
    let kind = response.headers().get(reqwest::header::CONTENT_TYPE);
    kind.is_some_and(|kind| kind.as_bytes() == progress::CONTENT_TYPE.as_bytes())
}

/// What cannot be a token is not sent anywhere: a line break says that it was copied or read with something else.
fn check_token(token: &str) -> Result<(), CommandProblem> {
    let strange = token.chars().find(|c| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-')));
    let found = match strange {
        None => return Ok(()),
        Some('\n' | '\r') => "a line break".to_owned(),
        Some(' ') => "a blank".to_owned(),
        Some(other) => format!("{other:?}"),
    };
    Err(CommandProblem::Usage(format!(
        "the token (SPEXUS_TOKEN or --token) holds {found}; a token has only letters, digits, _ and -"
    )))
}

/// The innermost reason, which says more than the outer ones.
pub(super) fn cause(error: &dyn std::error::Error) -> String {
    error.source().map_or_else(|| error.to_string(), cause)
}

/// The route whose path and constants fit the arguments; the one that takes most of them.
fn fitting<'a>(entry: &'a Entry, arguments: &Map<String, Value>) -> Option<&'a Route> {
    let fits = |route: &&Route| {
        route.parameters().all(|name| arguments.get(name).is_some_and(|value| !value.is_null()))
            && route.bind.iter().all(|(name, value)| match arguments.get(*name) {
                Some(given) => same_kind(&plain(given), value),
                None => false,
            })
    };
    let unbound = |route: &&Route| route.bind.iter().all(|(name, _)| arguments.contains_key(*name));
    let mut routes = entry.routes.iter().filter(fits).filter(unbound);
    routes.next().or_else(|| by_reference(entry, arguments))
}

/// Routes of a kind can be found from the reference alone: `show REQ-012` asks for a requirement.
fn by_reference<'a>(entry: &'a Entry, arguments: &Map<String, Value>) -> Option<&'a Route> {
    let reference = arguments.get("reference").and_then(Value::as_str)?;
    let kind = match store::model::Reference::parse(reference)? {
        store::model::Reference::Numbered { kind, .. } => kind.name(),
        store::model::Reference::Id(_) => return entry.routes.iter().find(|route| route.bind.is_empty()),
    };
    let fits = |route: &&Route| route.parameters().all(|name| arguments.contains_key(name));
    let mut routes = entry.routes.iter().filter(fits);
    routes
        .clone()
        .find(|route| route.bind.contains(&("kind", kind)))
        .or_else(|| routes.find(|route| route.bind.is_empty()))
}

fn same_kind(given: &str, bound: &str) -> bool {
    given == bound || store::model::Kind::from_name(given).is_some_and(|kind| kind.name() == bound)
}

fn query(arguments: &Map<String, Value>, _: &Arguments) -> String {
    let mut pairs = Vec::new();
    for (name, value) in arguments {
        match value {
            // In a query string null would be the word.
            Value::Null => {}
            Value::Array(values) => {
                pairs.extend(values.iter().map(|value| format!("{name}={}", encode(&plain(value)))))
            }
            value => pairs.push(format!("{name}={}", encode(&plain(value)))),
        }
    }
    pairs.join("&")
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(byte as char);
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

fn failure(status: u16, body: &Value) -> Error {
    let error = &body["error"];
    let kind = error["code"].as_str().and_then(ErrorKind::from_code).unwrap_or(match status {
        400..=499 => ErrorKind::ValidationError,
        _ => ErrorKind::Unavailable,
    });
    let message =
        error["message"].as_str().map_or_else(|| format!("the server answered {status}"), str::to_owned);
    let fields: Vec<FieldError> = serde_json::from_value(error["details"].clone()).unwrap_or_default();
    let mut more = error.as_object().cloned().unwrap_or_default();
    more.retain(|name, _| !matches!(name.as_str(), "code" | "message" | "details"));
    Error { fields, ..Error::new(kind, message) }.with_more(Value::Object(more))
}
