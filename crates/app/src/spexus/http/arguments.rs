//! The arguments of a request: gathered from path, query, headers and body, and explained where they are wrong.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use axum::response::Response;
use ops::{Effect, Error, ErrorKind, FieldError, Members, Upload};
use serde_json::error::Category;
use serde_json::{Map, Value};
use store::model::Reference;

use super::answer::{failure, http_error, insert};
use super::body::{self, Bounds, Unread};
use super::endpoint::Endpoint;
use super::file;
use super::request::{add_query, decode, expected_version};
use super::upload::{self, Failed};

/// A body is at most this large.
const BODY_MAX: usize = 10 << 20;
/// The body of a login, which is read before anybody is known.
const ANONYMOUS_BODY_MAX: usize = 64 << 10;

/// What the body of a request may be.
#[derive(Clone, Copy)]
pub struct BodyLimits {
    /// How many bytes that of an import may have.
    pub import_bytes_max: usize,
    /// How long it is awaited; of a file each part.
    pub patience: Duration,
}

/// An answer that is not the operation's.
pub type Refusal = Box<Response<Body>>;

impl Endpoint {
    /// The arguments of the path, the query, the headers and the body together, and the file where the body is one.
    pub(super) async fn arguments(
        &self,
        parts: &Parts,
        body: Body,
        limits: BodyLimits,
        id: &str,
    ) -> Result<(Map<String, Value>, Option<Upload>), Refusal> {
        let refuse = |error: Error| Box::new(failure(&error, id));
        let mut arguments = Map::new();
        add_query(&mut arguments, &self.arguments, parts.uri.query().unwrap_or_default()).map_err(refuse)?;
        let upload = self.add_body(&mut arguments, parts, body, limits, id).await?;
        if let Some((name, _)) = self.route.bind.iter().find(|(name, _)| arguments.contains_key(*name)) {
            return Err(refuse(Error::field(name, "is not known here, for the path decides it")));
        }
        for (name, value) in self.path_arguments(parts.uri.path()).map_err(refuse)? {
            if let Some(other) = arguments.insert(name.to_owned(), value.clone())
                && !is_same(&other, &value)
            {
                return Err(refuse(Error::field(name, "is in the path already, with another value")));
            }
        }
        if let Some(version) = expected_version(&parts.headers).map_err(refuse)? {
            self.add_expected_version(&mut arguments, version).map_err(refuse)?;
        }
        Ok((arguments, upload))
    }

    /// What `If-Match` says holds or is refused: a change that its sender wanted guarded must not happen unguarded.
    fn add_expected_version(&self, arguments: &mut Map<String, Value>, version: i64) -> Result<(), Error> {
        if self.arguments.property("expected_version").is_none() {
            if self.entry.effect == Effect::Reads || self.entry.effect == Effect::Public {
                return Ok(());
            }
            return Err(Error::field(
                "If-Match",
                "is not known here: there is no version to compare it with",
            ));
        }
        match arguments.insert("expected_version".to_owned(), version.into()) {
            Some(other) if other != version => {
                Err(Error::field("If-Match", "says another version than expected_version"))
            }
            _ => Ok(()),
        }
    }

    fn path_arguments(&self, path: &str) -> Result<Vec<(&'static str, Value)>, Error> {
        let pattern = self.route.path.split('/').filter(|part| !part.is_empty());
        let given = path.trim_start_matches("/api/v1").split('/').filter(|part| !part.is_empty());
        let mut found = Vec::new();
        for (name, text) in pattern.zip(given) {
            if let Some(name) = name.strip_prefix('{').and_then(|name| name.strip_suffix('}')) {
                let text = decode(text, false).ok_or_else(|| Error::field(name, "is not UTF-8"))?;
                let mut typed = Map::new();
                self.arguments.add(&mut typed, name, &text);
                found.extend(typed.remove(name).map(|value| (name, value)));
            }
        }
        Ok(found)
    }

    async fn add_body(
        &self,
        arguments: &mut Map<String, Value>,
        parts: &Parts,
        body: Body,
        limits: BodyLimits,
        id: &str,
    ) -> Result<Option<Upload>, Refusal> {
        let text = |name| parts.headers.get(name).map_or("", |value| value.to_str().unwrap_or("?"));
        let kind = text(header::CONTENT_TYPE);
        let media_type = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        let file = file::format(self.entry, &media_type, arguments);
        let bytes_max = match self.entry.effect {
            Effect::Public => ANONYMOUS_BODY_MAX,
            _ if self.entry.takes_file.is_some() => limits.import_bytes_max,
            _ => BODY_MAX,
        };
        let malformed = |message: String| {
            Box::new(http_error(StatusCode::BAD_REQUEST, "MALFORMED_REQUEST", &message, id))
        };
        let too_large = |message: String| {
            let mut refusal = failure(&Error::new(ErrorKind::TooLarge, message), id);
            // The rest of the body is not read, so nothing else can come on this connection.
            insert(refusal.headers_mut(), header::CONNECTION, "close");
            Box::new(refusal)
        };
        let unread = |unread| match unread {
            Unread::TooLarge if bytes_max < 1 << 20 => {
                too_large(format!("the body is larger than {} KiB", bytes_max >> 10))
            }
            Unread::TooLarge => too_large(format!("the body is larger than {} MiB", bytes_max >> 20)),
            Unread::TooManyValues => {
                too_large(format!("the body has more than {} JSON values", mcp::VALUES_MAX))
            }
            Unread::Broken(error) => malformed(format!("the body could not be read: {error}")),
        };
        let slow = || {
            let message = format!("the body did not arrive within {} s", limits.patience.as_secs());
            let status = StatusCode::REQUEST_TIMEOUT;
            Box::new(http_error(status, ErrorKind::Timeout.code(), &message, id))
        };
        let (mut bytes, mut upload) = (Bytes::new(), None);
        if file.is_some() {
            let taken =
                upload::take(body, bytes_max, limits.patience).await.map_err(|failed| match failed {
                    Failed::Unread(cause) => unread(cause),
                    Failed::Slow => slow(),
                    Failed::Unwritten(error) => Box::new(failure(&file::unwritten(&error), id)),
                })?;
            upload = Some(taken).filter(|taken| taken.n_bytes() > 0);
        } else {
            let read = body::collect(body, Bounds { bytes_max, is_json: true });
            let read = tokio::time::timeout(limits.patience, read).await;
            bytes = read.map_err(|_| slow())?.map_err(unread)?;
        }
        if bytes.is_empty() && upload.is_none() {
            return Ok(None);
        }
        let unsupported = |message: String| {
            let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
            Box::new(http_error(status, "UNSUPPORTED_MEDIA_TYPE", &message, id))
        };
        let encoding = text(header::CONTENT_ENCODING);
        if !encoding.is_empty() && !encoding.eq_ignore_ascii_case("identity") {
            let found = ops::shortened(encoding);
            return Err(unsupported(format!("expected a body without Content-Encoding, found {found:?}")));
        }
        // ASCII is UTF-8, too.
        let is_ours = |charset: &str| matches!(charset, "utf-8" | "utf8" | "us-ascii" | "ascii");
        if let Some(charset) = charset(kind).filter(|charset| !is_ours(&charset.to_ascii_lowercase())) {
            return Err(unsupported(format!(
                "expected the charset utf-8, found {:?}",
                ops::shortened(charset)
            )));
        }
        if let (Some(format), Some(named)) = (file, self.entry.takes_file) {
            file::add(named, format, arguments).map_err(|error| Box::new(failure(&error, id)))?;
            return Ok(upload);
        }
        if !(media_type == "application/json" || media_type.ends_with("+json")) {
            let found = ops::shortened(&media_type);
            return Err(unsupported(format!("expected Content-Type: application/json, found {found:?}")));
        }
        let Members(body) = serde_json::from_slice(&bytes).map_err(|error| match error.classify() {
            Category::Data => malformed("the body is not a JSON object".to_owned()),
            _ => malformed(format!("the body is not JSON: {error}")),
        })?;
        let in_query: Vec<String> = arguments.keys().cloned().collect();
        for (name, value) in body {
            if arguments.insert(name.clone(), value).is_some() {
                let is_in_query = in_query.contains(&name);
                let places = if is_in_query { "in the query and in the body" } else { "twice" };
                return Err(Box::new(failure(&Error::field(&name, format!("is given {places}")), id)));
            }
        }
        Ok(None)
    }

    /// Adds what the route decides.
    pub(super) fn bound(&self, mut arguments: Map<String, Value>) -> Map<String, Value> {
        for (name, value) in self.route.bind {
            arguments.insert((*name).to_owned(), Value::from(*value));
        }
        arguments
    }

    /// Says everything that is wrong with the arguments, and not only what was found first.
    pub(super) fn explained(&self, mut error: Error, rejected: Option<Value>) -> Error {
        if error.kind != ErrorKind::ValidationError {
            return error;
        }
        // Do not suggest names that the path already decides.
        let in_path: Vec<&str> = self.route.parameters().collect();
        let is_taken = |name: &str| in_path.contains(&name) || !self.route.takes(name);
        for field in error.fields.iter_mut().filter(|field| self.arguments.property(&field.field).is_none()) {
            field.allowed.retain(|name| !is_taken(name));
        }
        let Some(mut rejected) = rejected else { return error };
        if let Some(arguments) = rejected.as_object_mut() {
            arguments.retain(|name, _| self.route.bind.iter().all(|(bound, _)| bound != name));
        }
        let found = self.schema.check(&rejected);
        if found.len() <= error.fields.len() {
            return error;
        }
        let mut fields: Vec<FieldError> = found
            .into_iter()
            .map(|problem| FieldError {
                field: problem.field,
                message: problem.message,
                allowed: problem.allowed.iter().map(plain).collect(),
            })
            .collect();
        // The types say it better than the schema where both have found the same.
        for known in &error.fields {
            match fields.iter_mut().find(|field| field.field == known.field) {
                Some(field) => *field = known.clone(),
                None => fields.push(known.clone()),
            }
        }
        Error::fields(fields)
    }
}

/// Whether two arguments name the same thing; ids are the same in any case.
fn is_same(one: &Value, other: &Value) -> bool {
    let named = |value: &Value| value.as_str().and_then(Reference::parse);
    one == other || named(one).is_some_and(|name| named(other) == Some(name))
}

/// The charset that a content type names.
fn charset(content_type: &str) -> Option<&str> {
    let parameters = content_type.split(';').skip(1).filter_map(|parameter| parameter.split_once('='));
    let mut charsets = parameters.filter(|(name, _)| name.trim().eq_ignore_ascii_case("charset"));
    charsets.next().map(|(_, value)| value.trim().trim_matches('"'))
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
