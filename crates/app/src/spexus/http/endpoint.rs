//! One route of one operation: gathers the arguments, calls the door, renders what came of it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::extract::Request;
use axum::http::header;
use axum::http::request::Parts;
use axum::response::Response;
use mcp::Schema;
use ops::{Arguments, Call, Caller, Credentials, Effect, Entry, Error, ErrorKind, Reply, Route, Upload};
use serde_json::{Map, Value};
use store::model::Via;
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use super::answer::{failure, insert, mark_replayed, success};
use super::arguments::BodyLimits;
use super::file::Spool;
use super::progress::Listener;
use super::refusals::{Place, Tried};
use super::request::{check_once, credentials, request_id, user_agent};
use super::{App, Peer, body, file, session, telemetry};
use crate::spexus::now;

/// The body of a login arrives within this time, since nobody is known while it does.
const ANONYMOUS_BODY_TIME: Duration = Duration::from_secs(10);
/// Whoever takes longer to send a body is identified again when it has arrived.
const IDENTITY_TIME: Duration = Duration::from_secs(1);

/// Files in and out are of any size, so that they may take longer than other requests.
const LONG_TIME: Duration = Duration::from_secs(3600);

/// Who gives a wrong password waits for the answer.
const FAILED_LOGIN_PAUSE: Duration = Duration::from_millis(300);

/// A route of an operation.
pub struct Endpoint {
    pub(super) entry: &'static Entry,
    pub(super) route: &'static Route,
    pub(super) arguments: Arguments,
    pub(super) schema: Schema,
}

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

    /// The pattern for the router.
    pub fn pattern(&self) -> String {
        format!("/api/v1{}", pattern(self.route.path))
    }

    pub async fn serve(&self, app: Arc<App>, request: Request) -> Response<Body> {
        let started = Instant::now();
        let (parts, body) = request.into_parts();
        let id = request_id(&parts.headers);
        let timeout = if self.entry.is_unbounded { LONG_TIME } else { app.options.request_timeout };
        let work = self.answer(&app, &parts, body, &id);
        let (response, user) = match tokio::time::timeout(timeout, work).await {
            Ok(answered) => answered,
            Err(_) => {
                let message =
                    format!("the request took longer than {} s; it may still be done", timeout.as_secs());
                (failure(&Error::new(ErrorKind::Timeout, message), &id), None)
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
        if let Err(error) = check_once(&parts.headers) {
            return (failure(&error, id), None);
        }
        let shown = match credentials(&parts.method, &parts.headers, &app.options) {
            Ok(shown) => shown,
            Err(error) => return (self.refuse(app, error, Tried::Token, None, parts, id).await, None),
        };
        // Who shows no token but is known is so by the cookie of a page.
        let is_page =
            matches!(shown, Credentials::Bearer(_)) && !parts.headers.contains_key(header::AUTHORIZATION);
        // A browser sends the cookie of a session that has ended, too. That must keep nobody from beginning another.
        let shown = if is_page && self.entry.effect == Effect::Public { Credentials::None } else { shown };
        let by_header = if shown == Credentials::None { Tried::Nothing } else { Tried::Token };
        let gathered = match self.gather(app, parts, body, shown, id).await {
            Ok(gathered) => gathered,
            Err(refused) => return refused,
        };
        let Gathered { credentials, arguments, upload } = gathered;
        if let Err(error) = session::check_page(self.entry, &arguments, parts, &app.options) {
            return (failure(&error, id), None);
        }
        let tried = self.tried(&credentials, &arguments);
        let guesses = &app.limits.guesses;
        let account = tried.as_ref().and_then(Tried::name).map(|name| guesses.account(name));
        let mut _attempt = None;
        if let Some(account) = account {
            _attempt = match guesses.begin(address, account).await {
                Ok(attempt) => Some(attempt),
                Err(error) => return (failure(&error, id), None),
            };
        }
        let (mut making, mut spool, mut sink) = (None, None, None);
        if self.entry.answers_file && !file::wants_envelope(&parts.headers) {
            let made = Spool::new().and_then(|spool| Ok((spool.sink()?, spool)));
            (sink, spool) = match made {
                Ok((sink, spool)) => (Some(sink), Some(spool)),
                Err(error) => return (self.refuse(app, error, by_header, None, parts, id).await, None),
            };
        }
        if self.entry.answers_file {
            making = match app.exports.make().await {
                Ok(making) => Some(making),
                Err(error) => return (failure(&error, id), None),
            };
        }
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
                checkout: None,
                threats: None,
            },
            idempotency_key: parts
                .headers
                .get("idempotency-key")
                .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned()),
            cancel: None,
            progress: parts.extensions.get::<Listener>().map(Listener::told),
            sink,
            upload,
        };
        let Reply { result, caller, replayed, rejected } = call_engine(app, call).await;
        let user = caller.map(|caller| caller.username);
        let response = match result {
            Ok(answer) => {
                if let (Some(Tried::Login(_)), Some(account)) = (&tried, account) {
                    guesses.note_success(address, account);
                }
                self.render(app, answer, replayed, parts, id, (making, spool)).await
            }
            Err(error) => {
                let is_wrong_proof = self.is_about_proof(&error);
                let tried = match tried {
                    Some(Tried::Password(name)) if is_wrong_proof => Tried::Password(name),
                    Some(Tried::Password(_)) | None => by_header,
                    Some(tried) => tried,
                };
                let error = self.explained(error, rejected);
                let mut response = self.refuse(app, error, tried, user.as_deref(), parts, id).await;
                if replayed {
                    mark_replayed(response.headers_mut());
                }
                response
            }
        };
        (response, user)
    }

    /// Reads the arguments. Where there is a body, whoever asks is identified, counted and allowed first, so that strangers
    /// cannot make the server read or parse anything. Without a body the call itself does so, in one journey to the store.
    async fn gather(
        &self,
        app: &Arc<App>,
        parts: &Parts,
        body: Body,
        shown: Credentials,
        id: &str,
    ) -> Result<Gathered, (Response<Body>, Option<String>)> {
        let has_body = !body::is_empty(&body);
        let is_public = self.entry.effect == Effect::Public;
        let mut caller = None;
        // Nobody who may not have an export waits for a turn.
        if (has_body || self.entry.answers_file) && !is_public {
            caller =
                Some(self.admit(app, shown.clone(), parts, id).await.map_err(|(mut response, user)| {
                    if has_body {
                        // It is not read, so nothing else can come on this connection.
                        insert(response.headers_mut(), header::CONNECTION, "close");
                    }
                    (response, user)
                })?);
        }
        let started = Instant::now();
        let patience = if is_public { ANONYMOUS_BODY_TIME } else { app.options.request_timeout };
        let limits = BodyLimits { import_bytes_max: app.options.import_max_bytes, patience };
        let read = self.arguments(parts, body, limits, id).await;
        // A token may have been revoked while a slow body was awaited.
        if caller.is_some() && started.elapsed() > IDENTITY_TIME {
            let again = identify(app, shown.clone()).await;
            let again = again.and_then(|caller| caller.may(self.entry.effect).map(|()| caller));
            caller = match again {
                Ok(caller) => Some(caller),
                Err(error) => {
                    return Err((self.refuse(app, error, Tried::Token, None, parts, id).await, None));
                }
            };
        }
        match (read, caller) {
            (Ok((arguments, upload)), Some(caller)) => {
                Ok(Gathered { credentials: Credentials::Known(Box::new(caller)), arguments, upload })
            }
            (Ok((arguments, upload)), None) => Ok(Gathered { credentials: shown, arguments, upload }),
            (Err(response), Some(caller)) => Err((*response, Some(caller.username))),
            (Err(response), None) if is_public => Err((*response, None)),
            // Report missing rights before mistakes in the arguments.
            (Err(response), None) => {
                let caller = self.admit(app, shown, parts, id).await?;
                Err((*response, Some(caller.username)))
            }
        }
    }

    /// Finds out who is asking, counts the request, and checks that they may.
    async fn admit(
        &self,
        app: &Arc<App>,
        shown: Credentials,
        parts: &Parts,
        id: &str,
    ) -> Result<Caller, (Response<Body>, Option<String>)> {
        let tried = if shown == Credentials::None { Tried::Nothing } else { Tried::Token };
        let (caller, refusal) = match identify(app, shown).await {
            Ok(caller) => match app.limits.admit(&caller).and_then(|()| caller.may(self.entry.effect)) {
                Ok(()) => return Ok(caller),
                Err(error) => (Some(caller), error),
            },
            Err(error) => (None, error),
        };
        let user = caller.map(|caller| caller.username);
        Err((self.refuse(app, refusal, tried, user.as_deref(), parts, id).await, user))
    }

    async fn render(
        &self,
        app: &App,
        mut answer: ops::Answer,
        replayed: bool,
        parts: &Parts,
        id: &str,
        (making, spool): (Option<OwnedSemaphorePermit>, Option<Spool>),
    ) -> Response<Body> {
        if let Some(spool) = spool {
            let sending = app.exports.send().await;
            drop(making);
            let write_timeout = app.options.write_timeout;
            let sent = sending.and_then(|sending| spool.answer(&answer.json, write_timeout, sending, id));
            return sent.unwrap_or_else(|error| failure(&error, id));
        }
        if self.entry.answers_path.is_some()
            && let Ok(mut value) = serde_json::from_str(&answer.json)
        {
            self.entry.complete_path(&mut value, &app.options.public_url);
            answer.json = value.to_string();
        }
        let cookie = match session::take_cookie(self.entry, &mut answer, &app.options) {
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
        tried: Tried,
        user: Option<&str>,
        parts: &Parts,
        id: &str,
    ) -> Response<Body> {
        let (operation, user) = (self.entry.name, user.unwrap_or("-"));
        let is_guess = tried.name().is_some();
        match error.kind {
            _ if error.kind == ErrorKind::Unauthenticated || matches!(tried, Tried::Password(_)) => {
                let address = parts.extensions.get::<Peer>().map(|peer| peer.0);
                let error = app.refused(error, &tried, Place { operation, address, request_id: id });
                if is_guess {
                    tokio::time::sleep(FAILED_LOGIN_PAUSE).await;
                }
                return failure(&error, id);
            }
            ErrorKind::InternalError => tracing::error!(req_id = id, user, operation, "{}", error.in_full()),
            ErrorKind::Unavailable | ErrorKind::Timeout => {
                tracing::warn!(req_id = id, user, operation, "{}", error.in_full());
            }
            _ => {}
        }
        failure(&error, id)
    }

    /// What the arguments try to prove who asks with, if anything.
    fn tried(&self, credentials: &Credentials, arguments: &Map<String, Value>) -> Option<Tried> {
        let text = |name: &str| arguments.get(name).and_then(Value::as_str);
        if self.entry.effect == Effect::Public {
            let by_name = text("username").map(|name| Tried::Login(name.to_owned()));
            let by_link = || self.entry.proof.and_then(text).map(|_| Tried::Link);
            let by_token = || text("token").or_else(|| text("identity_token")).map(|_| Tried::Token);
            return by_name.or_else(by_token).or_else(by_link);
        }
        let proof = self.entry.proof.and_then(text).filter(|proof| !proof.trim().is_empty());
        match credentials {
            Credentials::Known(caller) if proof.is_some() => Some(Tried::Password(caller.username.clone())),
            _ => None,
        }
    }

    /// Whether an error says that what should have proven who asks is wrong.
    fn is_about_proof(&self, error: &Error) -> bool {
        self.entry.proof.is_some_and(|proof| error.fields.iter().any(|field| field.field == proof))
    }
}

/// A request whose arguments were read, and who asks where that is known by now.
struct Gathered {
    credentials: Credentials,
    arguments: Map<String, Value>,
    upload: Option<Upload>,
}

/// A path as the router wants it. Parameters are called by their place, because routes that share a path must agree.
pub fn pattern(path: &str) -> String {
    let mut place = 0;
    let parts = path.split('/').map(|part| {
        if part.starts_with('{') {
            place += 1;
            format!("{{p{place}}}")
        } else {
            part.to_owned()
        }
    });
    parts.collect::<Vec<_>>().join("/")
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
    let dropped = |_| Reply::failed(Error::new(ErrorKind::InternalError, "the call was dropped"));
    receiver.await.unwrap_or_else(dropped)
}

/// Finds out who is asking.
pub async fn identify(app: &App, credentials: Credentials) -> Result<Caller, Error> {
    let (sender, receiver) = oneshot::channel();
    app.engine.identify(credentials, now(), move |caller| {
        let _ = sender.send(caller);
    });
    match receiver.await {
        Ok(Ok(Some(caller))) => Ok(caller),
        Ok(Ok(None)) => Err(Error::new(ErrorKind::Unauthenticated, "a token is required")),
        Ok(Err(error)) => Err(error),
        Err(_) => Err(Error::new(ErrorKind::InternalError, "the call was dropped")),
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
