//! One route of one operation: gathers the arguments, calls the door, renders what came of it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::extract::Request;
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use axum::response::Response;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use mcp::Schema;
use ops::{
    Arguments, Call, Caller, Credentials, Effect, Entry, Error, FieldError, Kind, Members, Reply, Route,
};
use serde_json::error::Category;
use serde_json::{Map, Value};
use store::model::{Reference, Via};
use tokio::sync::oneshot;

use super::answer::{failure, http_error, insert, mark_replayed, success};
use super::request::{add_query, check_once, credentials, decode, expected_version, request_id, user_agent};
use super::{App, Peer, file, session, telemetry};
use crate::spexus::now;

/// A body is at most this large.
const BODY_MAX: usize = 10 << 20;
/// An import may be larger.
const IMPORT_MAX: usize = 52 << 20;

/// Who gives a wrong password waits for the answer.
const FAILED_LOGIN_PAUSE: Duration = Duration::from_millis(300);

/// A route of an operation.
pub struct Endpoint {
    entry: &'static Entry,
    route: &'static Route,
    arguments: Arguments,
    schema: Schema,
}

/// An answer that is not the operation's.
type Refusal = Box<Response<Body>>;

impl Endpoint {
    pub fn new(entry: &'static Entry, route: &'static Route) -> Endpoint {
        let mut schema = entry.input_schema();
        // What the route itself decides is no argument of the request.
        for (name, _) in route.bind {
            if let Some(properties) = schema["properties"].as_object_mut() {
                properties.shift_remove(*name);
            }
            if let Some(required) = schema["required"].as_array_mut() {
                required.retain(|required| required != name);
            }
        }
        Endpoint { entry, route, arguments: Arguments::new(schema.clone()), schema: Schema::new(schema) }
    }

    /// The pattern for the router. Parameters are called by their place, because routes that share a path must agree.
    pub fn pattern(&self) -> String {
        let mut place = 0;
        let parts = self.route.path.split('/').map(|part| {
            if part.starts_with('{') {
                place += 1;
                format!("{{p{place}}}")
            } else {
                part.to_owned()
            }
        });
        format!("/api/v1{}", parts.collect::<Vec<_>>().join("/"))
    }

    pub async fn serve(&self, app: Arc<App>, request: Request) -> Response<Body> {
        let started = Instant::now();
        let (parts, body) = request.into_parts();
        let id = request_id(&parts.headers);
        let timeout = app.options.request_timeout;
        let work = self.answer(&app, &parts, body, &id);
        let (response, user) = match tokio::time::timeout(timeout, work).await {
            Ok(answered) => answered,
            Err(_) => {
                let message =
                    format!("the request took longer than {} s; it may still be done", timeout.as_secs());
                (failure(&Error::new(Kind::Timeout, message), &id), None)
            }
        };
        let status = response.status().as_u16();
        let elapsed = started.elapsed();
        app.metrics.observe(self.entry.name, "rest", status, elapsed);
        let duration_ms = elapsed.as_secs_f64() * 1000.0;
        let user = user.as_deref().unwrap_or("-");
        let told = telemetry::Request {
            operation: self.entry.name,
            method: parts.method.as_str(),
            route: self.route.path,
            status,
            id: &id,
            user,
            elapsed,
        };
        app.telemetry.record(&parts.headers, &told);
        tracing::info!(req_id = id, user, method = %parts.method, operation = self.entry.name, status, duration_ms, "request");
        response
    }

    async fn answer(
        &self,
        app: &Arc<App>,
        parts: &Parts,
        body: Body,
        id: &str,
    ) -> (Response<Body>, Option<String>) {
        let address = parts.extensions.get::<Peer>().map(|peer| peer.0);
        let is_attempt = self.entry.effect == Effect::Public || self.entry.proof.is_some();
        if is_attempt && let Err(error) = app.limits.check_failures(address) {
            return (failure(&error, id), None);
        }
        let credentials = match credentials(&parts.method, &parts.headers, &app.options) {
            Ok(credentials) => credentials,
            Err(error) => return (self.refuse(app, error, None, parts, id).await, None),
        };
        let arguments = match self.arguments(parts, body, id).await {
            Ok(arguments) => arguments,
            Err(response) => return self.answer_unread(app, credentials, *response, parts, id).await,
        };
        let _turn = if is_attempt { app.limits.turn(address).await } else { None };
        if is_attempt && let Err(error) = app.limits.check_failures(address) {
            return (failure(&error, id), None);
        }
        let given = arguments.clone();
        // Who shows no token but is known is so by the cookie of a page.
        let is_page = matches!(credentials, Credentials::Bearer(_))
            && !parts.headers.contains_key(header::AUTHORIZATION);
        let call = Call {
            entry: self.entry,
            arguments: Value::Object(self.bound(arguments)),
            credentials,
            request: ops::Request {
                via: if is_page { Via::Web } else { Via::Rest },
                now: now(),
                request_id: Some(id.to_owned()),
                address: address.map(|address| address.to_string()),
                user_agent: user_agent(&parts.headers),
            },
            idempotency_key: parts
                .headers
                .get("idempotency-key")
                .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned()),
            cancel: None,
            progress: None,
        };
        let Reply { result, caller, replayed } = call_engine(app, call).await;
        let user = caller.map(|caller| caller.username);
        let response = match result {
            Ok(answer) => self.render(app, answer, replayed, parts, id),
            Err(error) => {
                let name = match self.entry.effect {
                    Effect::Public => given.get("username").and_then(Value::as_str).map(str::to_owned),
                    _ => user.clone().filter(|_| self.is_wrong_proof(&error, &given)),
                };
                let mut response = self.refuse(app, self.explained(error, given), name, parts, id).await;
                if replayed {
                    mark_replayed(response.headers_mut());
                }
                response
            }
        };
        (response, user)
    }

    /// A request whose body cannot be read is refused, but who may not ask is told that first.
    async fn answer_unread(
        &self,
        app: &Arc<App>,
        credentials: Credentials,
        response: Response<Body>,
        parts: &Parts,
        id: &str,
    ) -> (Response<Body>, Option<String>) {
        if self.entry.effect == Effect::Public {
            return (response, None);
        }
        let refusal = match identify(app, credentials).await {
            Ok(caller) => match app.limits.admit(&caller).and_then(|()| caller.may(self.entry.effect)) {
                Ok(()) => return (response, Some(caller.username)),
                Err(error) => error,
            },
            Err(error) => error,
        };
        (self.refuse(app, refusal, None, parts, id).await, None)
    }

    fn render(
        &self,
        app: &App,
        mut answer: ops::Answer,
        replayed: bool,
        parts: &Parts,
        id: &str,
    ) -> Response<Body> {
        if let Some((content, kind, name)) = file::unpack(self.entry.name, &parts.headers, &answer.json) {
            return file::answer(content, kind, &name, id);
        }
        let cookie = match session::take_cookie(self.entry.name, &mut answer, parts, &app.options) {
            Ok(cookie) => cookie,
            Err(error) => return failure(&error, id),
        };
        let mut response = success(answer, self.route.status, parts.uri.path(), replayed, id);
        if let Some(cookie) = cookie {
            insert(response.headers_mut(), header::SET_COOKIE, &cookie);
        }
        response
    }

    async fn refuse(
        &self,
        app: &App,
        error: Error,
        tried: Option<String>,
        parts: &Parts,
        id: &str,
    ) -> Response<Body> {
        let operation = self.entry.name;
        match error.kind {
            _ if error.kind == Kind::Unauthenticated || self.entry.proof.is_some() && tried.is_some() => {
                let address = parts.extensions.get::<Peer>().map(|peer| peer.0);
                let from = address.map(|address| address.to_string()).unwrap_or_default();
                tracing::warn!(req_id = id, address = from, operation, "refused: {}", error.message);
                app.note_refusal(self.entry, tried, address, id);
                if self.entry.effect == Effect::Public || self.entry.proof.is_some() {
                    tokio::time::sleep(FAILED_LOGIN_PAUSE).await;
                }
                if let Err(limited) = app.limits.note_failure(address) {
                    return failure(&limited, id);
                }
            }
            Kind::InternalError => tracing::error!(req_id = id, operation, "{}", error.message),
            Kind::Unavailable | Kind::Timeout => tracing::warn!(req_id = id, operation, "{}", error.message),
            _ => {}
        }
        failure(&error, id)
    }

    /// Whether what should have proven who asks was tried, and is wrong.
    fn is_wrong_proof(&self, error: &Error, given: &Map<String, Value>) -> bool {
        let Some(proof) = self.entry.proof else { return false };
        let is_tried = given.get(proof).and_then(Value::as_str).is_some_and(|text| !text.trim().is_empty());
        is_tried && error.fields.iter().any(|field| field.field == proof)
    }

    /// The arguments of the path, the query, the headers and the body together.
    async fn arguments(&self, parts: &Parts, body: Body, id: &str) -> Result<Map<String, Value>, Refusal> {
        let refuse = |error: Error| Box::new(failure(&error, id));
        check_once(&parts.headers).map_err(refuse)?;
        let mut arguments = Map::new();
        add_query(&mut arguments, &self.arguments, parts.uri.query().unwrap_or_default()).map_err(refuse)?;
        self.add_body(&mut arguments, parts, body, id).await?;
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
        Ok(arguments)
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
        id: &str,
    ) -> Result<(), Refusal> {
        let limit = if self.entry.name == "import" { IMPORT_MAX } else { BODY_MAX };
        let bytes = match Limited::new(body, limit).collect().await {
            Ok(collected) => collected.to_bytes(),
            Err(error) if error.is::<LengthLimitError>() => {
                let message = format!("the body is larger than {} MiB", limit >> 20);
                let mut refusal = failure(&Error::new(Kind::TooLarge, message), id);
                // The rest of the body is not read, so nothing else can come on this connection.
                insert(refusal.headers_mut(), header::CONNECTION, "close");
                return Err(Box::new(refusal));
            }
            Err(error) => {
                let message = format!("the body could not be read: {error}");
                return Err(Box::new(http_error(StatusCode::BAD_REQUEST, "MALFORMED_REQUEST", &message, id)));
            }
        };
        if bytes.is_empty() {
            return Ok(());
        }
        let unsupported = |message: String| {
            let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
            Box::new(http_error(status, "UNSUPPORTED_MEDIA_TYPE", &message, id))
        };
        let text = |name| parts.headers.get(name).map_or("", |value| value.to_str().unwrap_or("?"));
        let encoding = text(header::CONTENT_ENCODING);
        if !encoding.is_empty() && !encoding.eq_ignore_ascii_case("identity") {
            let found = ops::shortened(encoding);
            return Err(unsupported(format!("expected a body without Content-Encoding, found {found:?}")));
        }
        let kind = text(header::CONTENT_TYPE);
        // ASCII is UTF-8, too.
        let is_ours = |charset: &str| matches!(charset, "utf-8" | "utf8" | "us-ascii" | "ascii");
        if let Some(charset) = charset(kind).filter(|charset| !is_ours(&charset.to_ascii_lowercase())) {
            return Err(unsupported(format!(
                "expected the charset utf-8, found {:?}",
                ops::shortened(charset)
            )));
        }
        let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        if file::add(self.entry.name, &kind, &bytes, arguments, id)? {
            return Ok(());
        }
        if !(kind == "application/json" || kind.ends_with("+json")) {
            let found = ops::shortened(&kind);
            return Err(unsupported(format!("expected Content-Type: application/json, found {found:?}")));
        }
        let malformed = |message: String| {
            Box::new(http_error(StatusCode::BAD_REQUEST, "MALFORMED_REQUEST", &message, id))
        };
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
        Ok(())
    }

    /// Adds what the route decides.
    fn bound(&self, mut arguments: Map<String, Value>) -> Map<String, Value> {
        for (name, value) in self.route.bind {
            arguments.insert((*name).to_owned(), Value::from(*value));
        }
        arguments
    }

    /// Says everything that is wrong with the arguments, and not only what was found first.
    fn explained(&self, mut error: Error, arguments: Map<String, Value>) -> Error {
        if error.kind != Kind::ValidationError {
            return error;
        }
        // What the path says is no help where something else was expected.
        let in_path: Vec<&str> = self.route.parameters().collect();
        let is_taken = |name: &str| in_path.contains(&name) || !self.route.takes(name);
        for field in error.fields.iter_mut().filter(|field| self.arguments.property(&field.field).is_none()) {
            field.allowed.retain(|name| !is_taken(name));
        }
        let found = self.schema.check(&Value::Object(arguments));
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

/// Calls the door and waits without keeping a thread.
pub async fn call_engine(app: &App, mut call: Call) -> Reply {
    let (sender, receiver) = oneshot::channel();
    // Dropped with this future when the client goes away, or when the request takes too long.
    let waiting = Waiting::default();
    call.cancel = Some(waiting.0.clone());
    app.engine.call(call, move |reply| {
        // A client that has gone is not told.
        let _ = sender.send(reply);
    });
    receiver.await.unwrap_or_else(|_| Reply {
        result: Err(Error::new(Kind::InternalError, "the call was dropped")),
        caller: None,
        replayed: false,
    })
}

/// Finds out who is asking.
pub async fn identify(app: &App, credentials: Credentials) -> Result<Caller, Error> {
    let (sender, receiver) = oneshot::channel();
    app.engine.identify(credentials, now(), move |caller| {
        let _ = sender.send(caller);
    });
    match receiver.await {
        Ok(Ok(Some(caller))) => Ok(caller),
        Ok(Ok(None)) => Err(Error::new(Kind::Unauthenticated, "a token is required")),
        Ok(Err(error)) => Err(error),
        Err(_) => Err(Error::new(Kind::InternalError, "the call was dropped")),
    }
}

/// Gives a call up when it is dropped.
#[derive(Default)]
pub struct Waiting(pub store::Cancel);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
