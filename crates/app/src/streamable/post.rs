//! A message by POST: the checks in order, the call, and its answer as JSON or, with progress, as a stream.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes};
use axum::http::request::Parts;
use axum::http::{HeaderValue, Method, StatusCode};
use axum::response::Response;
use mcp::{Answer, Arrived, Call, Error, Glance, Id, Request, Revision, Session, Step};
use store::mcp_session;
use tokio::sync::mpsc;

use super::head::{self, SESSION};
use super::reply::{self, Refusal, Source};
use super::running::{After, Answered, Ran, Running, finish};
use super::stream::{Audience, Events, event};
use super::{Endpoint, Seen, Visitor};
use crate::spexus::http::body::{self, Bounds, Unread};

/// How many bytes are searched for the id of a rejected message.
const LOOKED_AT_MAX: usize = 64 << 10;
/// How long its body is awaited.
const LOOKED_AT_TIME: Duration = Duration::from_secs(1);
/// How much of a client's name is stored.
const CLIENT_CHARS_MAX: usize = 100;
/// How many progress notifications may queue for a slow client; more are dropped.
const PROGRESS_MAX: usize = 64;

impl Endpoint {
    pub(super) async fn post(self: &Arc<Self>, head: Parts, body: Body, id: &str) -> Response<Body> {
        let started = Instant::now();
        let mut note = Note::default();
        let response = match self.take(&head, body, id, &mut note).await {
            Ok(response) => response,
            Err((refusal, message_id)) => {
                let is_stateless =
                    matches!(head::revision(&head.headers), Ok(Some(named)) if named.is_stateless());
                let refusal = if is_stateless { refusal.without_own_code() } else { refusal };
                note.error = Some(refusal.error.clone());
                refusal.response(message_id.as_ref())
            }
        };
        self.host.observe(&Seen {
            http_method: &Method::POST,
            method: note.method,
            tool: note.tool.as_deref(),
            status: response.status(),
            error: note.error.as_ref(),
            revision: note.revision.map_or("-", Revision::as_str),
            user: &note.user,
            client: note.client.as_deref(),
            request_id: id,
            elapsed: started.elapsed(),
            head: &head,
        });
        response
    }

    /// Checks origin, token, size and headers, then the message.
    async fn take(
        self: &Arc<Self>,
        head: &Parts,
        body: Body,
        id: &str,
        note: &mut Note,
    ) -> Result<Response<Body>, (Refusal, Option<Id>)> {
        let visitor = match self.visitor(head, id).await {
            Ok(visitor) => visitor,
            Err(refusal) => {
                return Err((refusal, id_of(body).await));
            }
        };
        note.user.clone_from(&visitor.username);
        let bytes = tokio::time::timeout(self.options.request_timeout, read(body)).await;
        let bytes = bytes.unwrap_or_else(|_| Err(Refusal::slow())).map_err(|refusal| (refusal, None))?;
        let arrived = mcp::read(&bytes);
        let seen = arrived.glance();
        note.name(&seen);
        let refused = |error: Error| {
            let status = StatusCode::BAD_REQUEST;
            (Refusal { status, error }, seen.id.clone())
        };
        if !head::takes_answer(&head.headers) {
            let refusal = Refusal::not_acceptable("application/json, text/event-stream");
            return Err((refusal, seen.id.clone()));
        }
        let named = head::revision(&head.headers).map_err(refused)?;
        head::check(&head.headers, named, &seen).map_err(refused)?;
        let session = match head::text(&head.headers, SESSION) {
            // Each of its messages is self-contained.
            Some(_) if named.is_some_and(Revision::is_stateless) => None,
            Some(session) => {
                let found = self.session(session, &visitor, id).await;
                Some(found.map_err(|refusal| (refusal, seen.id.clone()))?)
            }
            None => None,
        };
        let of_session = session.as_ref().and_then(|session| Revision::parse(&session.revision));
        let revision = named.or(of_session).unwrap_or(Revision::V2025_03_26);
        note.revision = Some(revision);
        if seen.method.as_deref() == Some("initialize") {
            if session.is_some() {
                return Err(refused(Error::new(-32600, "Already initialized")));
            }
            self.host.admit_session(&visitor).map_err(|refusal| (refusal, seen.id.clone()))?;
        }
        let incoming = Incoming {
            endpoint: self.clone(),
            started: Instant::now(),
            visitor,
            session,
            head,
            request_id: id,
            seen,
        };
        incoming.answer(arrived, id, revision, note).await
    }

    /// Authenticates and authorizes the caller.
    pub(super) async fn visitor(&self, head: &Parts, id: &str) -> Result<Visitor, Refusal> {
        head::check_origin(&*self.host, head)?;
        self.host.admit(head, id).await
    }

    /// The caller's session with this id.
    pub(super) async fn session(
        &self,
        id: &str,
        visitor: &Visitor,
        request_id: &str,
    ) -> Result<mcp_session::Session, Refusal> {
        let found = self.sessions.find(id, &visitor.user_id).await;
        let source = Source { request_id, user: &visitor.username, operation: "find session" };
        found.map_err(|error| Refusal::store(&error, source))?.ok_or_else(Refusal::no_session)
    }
}

/// The facts about a message for the log.
#[derive(Default)]
struct Note {
    method: &'static str,
    tool: Option<String>,
    error: Option<Error>,
    revision: Option<Revision>,
    user: String,
    client: Option<String>,
}

impl Note {
    /// Takes the name of the message, if metrics count it.
    fn name(&mut self, seen: &Glance) {
        let method = seen.method.as_deref().unwrap_or_default();
        self.method =
            if method.starts_with("notifications/") { "notification" } else { mcp::method_name(method) };
        self.tool = seen.name.clone().filter(|_| method == "tools/call");
    }
}

/// A message that passed the checks.
struct Incoming<'a> {
    endpoint: Arc<Endpoint>,
    started: Instant,
    visitor: Visitor,
    session: Option<mcp_session::Session>,
    head: &'a Parts,
    request_id: &'a str,
    seen: Glance,
}

impl Incoming<'_> {
    /// The log fields of this request.
    fn source<'a>(&'a self, operation: &'a str) -> Source<'a> {
        Source { request_id: self.request_id, user: &self.visitor.username, operation }
    }

    async fn answer(
        self,
        arrived: Arrived<'_>,
        id: &str,
        revision: Revision,
        note: &mut Note,
    ) -> Result<Response<Body>, (Refusal, Option<Id>)> {
        let is_listen = self.seen.method.as_deref() == Some("subscriptions/listen");
        if is_listen && !head::takes_stream(&self.head.headers) {
            return Err((Refusal::not_acceptable("text/event-stream"), self.seen.id.clone()));
        }
        // A listener must receive every change after the acknowledgement.
        let following = if is_listen { self.endpoint.host.follow().await } else { None };
        let mut session = Session::http(self.endpoint.profile.clone(), id, revision);
        let is_batch = arrived.is_batch();
        let handled = catch_unwind(AssertUnwindSafe(|| session.take(arrived, self.started)));
        let steps = handled.unwrap_or_else(|_| vec![Step::Send(mcp::internal_error())]);
        let mut message = None;
        let mut calls = Vec::new();
        for step in steps {
            match step {
                Step::Send(bytes) => message = Some(bytes),
                Step::Call(call) => calls.push(call),
                Step::Refused(id, error) => {
                    let error = reply::named(error);
                    if message.is_some() {
                        message = Some(mcp::error_bytes(id.as_ref(), &error));
                    }
                    note.error = Some(error);
                }
                Step::Cancel(request) => self.cancel(request),
                Step::Stop => {}
            }
        }
        note.revision = Some(calls.first().map_or(session.revision(), |call| call.ticket.revision));
        let n_more = u32::try_from(calls.len().saturating_sub(1)).unwrap_or(u32::MAX);
        self.endpoint
            .host
            .admit_more(&self.visitor, n_more)
            .map_err(|refusal| (refusal, self.seen.id.clone()))?;
        let may_stream = !is_batch && head::takes_stream(&self.head.headers);
        let has_progress = matches!(calls.as_slice(), [call] if call.wants_progress() && matches!(call.request, Request::CallTool { .. }));
        let (session, answered) = match calls.pop() {
            Some(call) if may_stream && has_progress => match self.run_until_progress(session, call).await {
                First::Progress(response) => return Ok(response),
                First::Answer(session, answered) => (*session, vec![*answered]),
            },
            last => {
                calls.extend(last);
                let answered = self.run_all(&mut session, calls).await;
                (session, answered)
            }
        };
        let mut begun = None;
        for answered in answered {
            if answered.is_given_up && !is_batch {
                return Ok(reply::empty(StatusCode::ACCEPTED));
            }
            message = answered.message.or(message);
            if let (After::Begin(revision), None) = (&answered.after, &answered.error) {
                match self.begin(&session, *revision, note).await {
                    Ok(id) => begun = Some(id),
                    Err(refusal) => return Err((refusal, self.seen.id.clone())),
                }
            }
            note.error = note.error.take().or(answered.error);
        }
        if session.is_listening() {
            let (Some(first), Some(following)) = (message, following) else {
                return Err((Refusal::stopping(), self.seen.id.clone()));
            };
            let opened = self.endpoint.host.admit_stream(&self.visitor, self.head);
            let opened = opened.map_err(|refusal| (refusal, self.seen.id.clone()))?;
            let audience = Audience::new(self.head.clone(), &self.visitor, opened);
            return Ok(self.endpoint.listen(session, first, following, audience));
        }
        let Some(message) = message else {
            return Ok(reply::empty(StatusCode::ACCEPTED));
        };
        let is_stateless = note.revision.is_some_and(Revision::is_stateless);
        let status = match &note.error {
            // Each answer of a batch has its own status.
            Some(error) if !is_batch || message.starts_with(b"{") => reply::status(error, is_stateless),
            _ => StatusCode::OK,
        };
        let mut response = reply::json(status, message);
        if let Some(error) = &note.error {
            reply::describe(&mut response, error);
        }
        if let Some(id) = begun.and_then(|id| HeaderValue::from_str(&id).ok()) {
            response.headers_mut().insert(SESSION, id);
        }
        Ok(response)
    }

    /// Stores a new session, so that later requests can resume it.
    async fn begin(&self, session: &Session, revision: Revision, note: &mut Note) -> Result<String, Refusal> {
        let client = session.client();
        let client: String = format!("{} {}", client.name, client.version)
            .chars()
            .filter(|c| !c.is_control())
            .take(CLIENT_CHARS_MAX)
            .collect();
        let begun =
            self.endpoint.sessions.begin(&self.visitor.user_id, revision.as_str(), client.trim()).await;
        note.client = Some(client);
        begun.map_err(|error| Refusal::store(&error, self.source("initialize")))
    }

    /// Stores the subscriptions of the session.
    async fn subscribe(&self, after: &After) -> Result<(), Error> {
        let (After::Subscribe(uri) | After::Unsubscribe(uri)) = after else { return Ok(()) };
        let sessions = &self.endpoint.sessions;
        let refused = |message: String| Refusal::new(StatusCode::OK, -32602, "INVALID_PARAMS", message).error;
        let Some(known) = &self.session else {
            let message =
                "a subscription needs a session: send the Mcp-Session-Id that initialize was answered with";
            return Err(refused(message.to_owned()));
        };
        let topic = (self.endpoint.profile.canonical)(uri);
        let failed = |error: store::Error| Refusal::store(&error, self.source("resources/subscribe")).error;
        if matches!(after, After::Unsubscribe(_)) {
            sessions.unsubscribe(&known.id, &topic).await.map_err(failed)
        } else if sessions.subscribe(&known.id, &topic, uri).await.map_err(failed)? {
            Ok(())
        } else {
            let limit = mcp_session::SUBSCRIPTIONS_MAX;
            Err(refused(format!("a session has at most {limit} subscriptions")))
        }
    }

    /// Runs calls sequentially, so that a batch takes one thread, and no longer than one request may.
    async fn run_all(&self, session: &mut Session, calls: Vec<Call>) -> Vec<Answered> {
        let (sender, _) = mpsc::channel(1);
        let timeout = self.endpoint.options.request_timeout;
        let mut answered = Vec::with_capacity(calls.len());
        for call in calls {
            let (after, ticket) = (After::of(&call.request), call.ticket.clone());
            let mut ran = self.run(call, sender.clone()).await;
            if matches!(&ran, Ran::Answer(answer) if answer.error.is_none())
                && let Err(error) = self.subscribe(&after).await
            {
                ran = Ran::Answer(Answer::refused(ticket, error));
            }
            let is_late = matches!(ran, Ran::Late | Ran::GivenUp(None));
            answered.push(finish(session, after, ran, timeout));
            if is_late {
                // As are those that have not begun.
                break;
            }
        }
        answered
    }

    /// Runs a call with progress. An error or an immediate answer is sent with its status;
    /// from the first progress on, a stream carries everything.
    async fn run_until_progress(&self, mut session: Session, call: Call) -> First {
        let (sender, mut progress) = mpsc::channel(PROGRESS_MAX);
        let timeout = self.endpoint.options.request_timeout;
        let mut run = Box::pin(self.run(call, sender));
        let mut finished = None;
        let first = tokio::select! {
            biased;
            Some(message) = progress.recv() => message,
            ran = &mut run => match progress.try_recv() {
                // It made progress and ended between the two checks.
                Ok(message) => {
                    finished = Some(ran);
                    message
                }
                Err(_) => {
                    let answered = finish(&mut session, After::Nothing, ran, timeout);
                    return First::Answer(Box::new(session), Box::new(answered));
                }
            }
        };
        let (events, body) = Events::new();
        tokio::spawn(async move {
            let mut next = Some(first);
            let ran = loop {
                if let Some(message) = next.take()
                    && !events.send(event(&message)).await
                {
                    // The client is gone: dropping the call cancels it.
                    return;
                }
                if let Some(ran) = finished.take() {
                    break ran;
                }
                tokio::select! {
                    biased;
                    Some(message) = progress.recv() => next = Some(message),
                    ran = &mut run => break ran,
                    () = events.closed() => return,
                }
            };
            while let Ok(message) = progress.try_recv() {
                events.send(event(&message)).await;
            }
            let answered = finish(&mut session, After::Nothing, ran, timeout);
            if let Some(message) = answered.message.filter(|_| !answered.is_given_up) {
                events.send(event(&message)).await;
            }
        });
        First::Progress(reply::stream(body))
    }

    /// Runs a call with a time limit.
    fn run(&self, call: Call, progress: mpsc::Sender<Vec<u8>>) -> impl Future<Output = Ran> + Send + use<> {
        let ticket = call.ticket.clone();
        let key = self.session.as_ref().map(|session| session.id.clone());
        let guard = Running::new(self.endpoint.clone(), key, ticket.clone());
        let server = self.visitor.server.clone();
        let deadline = tokio::time::Instant::from_std(self.started + self.endpoint.options.request_timeout);
        let is_quick = server.is_quick(&call.request);
        let running = ticket.clone();
        let user = self.visitor.username.clone();
        let work = move || {
            let send = |message: Vec<u8>| {
                let _ = progress.try_send(message);
            };
            let answer = catch_unwind(AssertUnwindSafe(|| mcp::run(&*server, call, &send)));
            answer.unwrap_or_else(|_| {
                let (req_id, operation) = (running.request_id(), running.method());
                tracing::error!(req_id, user, operation, "the call panicked");
                Answer::internal_error(running)
            })
        };
        async move {
            let _guard = guard;
            let answer = if is_quick {
                work()
            } else {
                match tokio::time::timeout_at(deadline, tokio::task::spawn_blocking(work)).await {
                    Ok(Ok(answer)) => answer,
                    Ok(Err(_)) | Err(_) if ticket.is_cancelled() => return Ran::GivenUp(None),
                    Ok(Err(_)) | Err(_) => return Ran::Late,
                }
            };
            if ticket.is_cancelled() { Ran::GivenUp(Some(answer)) } else { Ran::Answer(answer) }
        }
    }

    fn cancel(&self, request: Id) {
        // Whatever cancelling does, others must not wait for it.
        let Some(session) = &self.session else { return };
        let ticket = self.endpoint.running().get(&(session.id.clone(), request)).cloned();
        if let Some(ticket) = ticket {
            ticket.cancel();
        }
    }
}

/// The first event of a call with progress.
enum First {
    Progress(Response<Body>),
    Answer(Box<Session>, Box<Answered>),
}

/// Reads a message, if it is not too large.
async fn read(body: Body) -> Result<Bytes, Refusal> {
    let bounds = Bounds { bytes_max: mcp::MESSAGE_BYTES_MAX, is_json: true };
    let too_large =
        |message: String| Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, -32600, "TOO_LARGE", message);
    body::collect(body, bounds).await.map_err(|unread| match unread {
        Unread::TooLarge => too_large(format!("Message too large (limit {} bytes)", mcp::MESSAGE_BYTES_MAX)),
        Unread::TooManyValues => too_large(mcp::too_many_values().message),
        Unread::Broken(error) => {
            let message = format!("the body could not be read: {error}");
            Refusal::new(StatusCode::BAD_REQUEST, -32700, "MALFORMED_REQUEST", message)
        }
    })
}

/// The id of a rejected message, if the message is short and arrives soon.
async fn id_of(body: Body) -> Option<Id> {
    let bounds = Bounds { bytes_max: LOOKED_AT_MAX, is_json: true };
    let read = tokio::time::timeout(LOOKED_AT_TIME, body::collect(body, bounds)).await;
    mcp::read(&read.ok()?.ok()?).glance().id
}
