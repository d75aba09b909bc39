//! A message by POST: the checks in their order, the call, and its answer as JSON or, with progress, as a stream.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use axum::body::{Body, Bytes};
use axum::http::request::Parts;
use axum::http::{HeaderValue, Method, StatusCode};
use axum::response::Response;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use mcp::{Answer, Call, Error, Glance, Id, Request, Revision, Session, Step, Ticket};
use store::mcp_session;
use tokio::sync::mpsc;

use super::head::{self, SESSION};
use super::reply::{self, Refusal};
use super::stream::{Events, event};
use super::{Endpoint, Seen, Visitor};

/// The id of a refused message is looked for in at most so many bytes.
const LOOKED_AT_MAX: usize = 64 << 10;
/// Progress that a slow client may be behind; what is beyond is left out.
const PROGRESS_MAX: usize = 64;

impl Endpoint {
    pub(super) async fn post(self: &Arc<Self>, head: Parts, body: Body, id: &str) -> Response<Body> {
        let started = Instant::now();
        let mut note = Note::default();
        let response = match self.take(&head, body, id, &mut note).await {
            Ok(response) => response,
            Err((refusal, message_id)) => {
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

    /// Checks origin, token, size and headers, and then the message.
    async fn take(
        self: &Arc<Self>,
        head: &Parts,
        body: Body,
        id: &str,
        note: &mut Note,
    ) -> Result<Response<Body>, (Refusal, Option<Id>)> {
        let visitor = match self.visitor(head, id).await {
            Ok(visitor) => visitor,
            Err(refusal) => return Err((refusal, id_of(body).await)),
        };
        note.user.clone_from(&visitor.username);
        let bytes = read(body).await.map_err(|refusal| (refusal, None))?;
        let seen = mcp::glance(&bytes);
        note.name(&seen);
        let refused = |error: Error| {
            let status = StatusCode::BAD_REQUEST;
            (Refusal { status, error }, seen.id.clone())
        };
        let named = head::revision(&head.headers).map_err(refused)?;
        head::check(&head.headers, named, &seen).map_err(refused)?;
        let session = match head::text(&head.headers, SESSION) {
            // Each of its messages stands alone.
            Some(_) if named.is_some_and(Revision::is_stateless) => None,
            Some(session) => {
                let found = self.session(session, &visitor).await;
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
        let incoming = Incoming { endpoint: self.clone(), visitor, session, head, seen };
        incoming.answer(&bytes, id, revision, note).await
    }

    /// Who asks, if they may.
    pub(super) async fn visitor(&self, head: &Parts, id: &str) -> Result<Visitor, Refusal> {
        head::check_origin(&*self.host, head)?;
        self.host.admit(head, id).await
    }

    /// The visitor's session with this id.
    pub(super) async fn session(&self, id: &str, visitor: &Visitor) -> Result<mcp_session::Session, Refusal> {
        let found = self.sessions.find(id, &visitor.user_id).await;
        found.map_err(|error| Refusal::store(&error))?.ok_or_else(Refusal::no_session)
    }
}

/// What is known of a message at the end.
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
    /// Takes what the message is called, as far as it is among what can be counted.
    fn name(&mut self, seen: &Glance) {
        let method = seen.method.as_deref().unwrap_or_default();
        self.method =
            if method.starts_with("notifications/") { "notification" } else { mcp::method_name(method) };
        self.tool = seen.name.clone().filter(|_| method == "tools/call");
    }
}

/// A message that may be looked at.
struct Incoming<'a> {
    endpoint: Arc<Endpoint>,
    visitor: Visitor,
    session: Option<mcp_session::Session>,
    head: &'a Parts,
    seen: Glance,
}

impl Incoming<'_> {
    async fn answer(
        self,
        bytes: &[u8],
        id: &str,
        revision: Revision,
        note: &mut Note,
    ) -> Result<Response<Body>, (Refusal, Option<Id>)> {
        let is_listen = self.seen.method.as_deref() == Some("subscriptions/listen");
        // Who listens must hear of every change after the acknowledgement.
        let following = if is_listen { self.endpoint.host.follow().await } else { None };
        let mut session = Session::http(self.endpoint.profile.clone(), id, revision);
        let handled = catch_unwind(AssertUnwindSafe(|| session.handle(bytes, Instant::now())));
        let steps = handled.unwrap_or_else(|_| vec![Step::Send(mcp::internal_error())]);
        let mut message = None;
        let mut calls = Vec::new();
        for step in steps {
            match step {
                Step::Send(bytes) => message = Some(bytes),
                Step::Call(call) => calls.push(call),
                Step::Refused(_, error) => note.error = Some(error),
                Step::Cancel(request) => self.cancel(request),
                Step::Stop => {}
            }
        }
        note.revision = Some(calls.first().map_or(session.revision(), |call| call.ticket.revision));
        if session.is_listening()
            && let (Some(first), Some(following)) = (message.take(), following)
        {
            return Ok(self.endpoint.listen(session, first, following, self.head.clone()));
        }
        let is_alone = calls.len() == 1 && message.is_none();
        if is_alone
            && calls[0].wants_progress()
            && head::takes_stream(&self.head.headers)
            && let Some(call) = calls.pop()
        {
            return Ok(self.stream_call(session, call));
        }
        let began = calls.iter().any(|call| matches!(call.request, Request::Initialize(_)));
        let requests: Vec<Request> = calls.iter().map(|call| call.request.clone()).collect();
        for answer in self.run_all(&mut session, calls).await {
            if note.error.is_none() {
                note.error = answer.1;
            }
            message = answer.0.or(message);
        }
        let Some(mut message) = message else {
            return Ok(reply::empty(StatusCode::ACCEPTED));
        };
        let mut begun = None;
        if note.error.is_none() {
            match self.remember(&session, &requests, began, note).await {
                Ok(id) => begun = id,
                Err((refusal, id)) => {
                    message = mcp::error_bytes(id.as_ref(), &refusal.error);
                    note.error = Some(refusal.error);
                }
            }
        }
        let is_stateless = note.revision.is_some_and(Revision::is_stateless);
        let status = note.error.as_ref().map_or(StatusCode::OK, |error| reply::status(error, is_stateless));
        let mut response = reply::json(status, message);
        if let Some(error) = &note.error {
            reply::describe(&mut response, error);
        }
        if let Some(id) = begun.and_then(|id| HeaderValue::from_str(&id).ok()) {
            response.headers_mut().insert(SESSION, id);
        }
        Ok(response)
    }

    /// Writes down what the next requests have to know: a new session, and what it is subscribed to.
    async fn remember(
        &self,
        session: &Session,
        requests: &[Request],
        began: bool,
        note: &mut Note,
    ) -> Result<Option<String>, (Refusal, Option<Id>)> {
        let sessions = &self.endpoint.sessions;
        let failed = |error: store::Error| (Refusal::store(&error), self.seen.id.clone());
        if began {
            let client = session.client();
            let client: String = format!("{} {}", client.name, client.version)
                .chars()
                .filter(|c| !c.is_control())
                .take(100)
                .collect();
            let revision = session.revision().as_str();
            let id = sessions.begin(&self.visitor.user_id, revision, client.trim()).await.map_err(failed)?;
            note.client = Some(client);
            return Ok(Some(id));
        }
        for request in requests {
            let (Request::Subscribe(uri) | Request::Unsubscribe(uri)) = request else { continue };
            let Some(known) = &self.session else {
                let message = "a subscription needs a session: send the Mcp-Session-Id that initialize was answered with";
                let refusal = Refusal::new(StatusCode::OK, -32602, "INVALID_PARAMS", message);
                return Err((refusal, self.seen.id.clone()));
            };
            let topic = (self.endpoint.profile.canonical)(uri);
            let is_taken = match request {
                Request::Subscribe(_) => sessions.subscribe(&known.id, &topic, uri).await.map_err(failed)?,
                _ => {
                    sessions.unsubscribe(&known.id, &topic).await.map_err(failed)?;
                    true
                }
            };
            if !is_taken {
                let message =
                    format!("a session has at most {} subscriptions", mcp_session::SUBSCRIPTIONS_MAX);
                let refusal = Refusal::new(StatusCode::OK, -32602, "INVALID_PARAMS", message);
                return Err((refusal, self.seen.id.clone()));
            }
        }
        Ok(None)
    }

    /// Runs calls at the same time, and returns what to write for each.
    async fn run_all(
        &self,
        session: &mut Session,
        calls: Vec<Call>,
    ) -> Vec<(Option<Vec<u8>>, Option<Error>)> {
        let (sender, _) = mpsc::channel(1);
        let mut answers = Vec::with_capacity(calls.len());
        let running: Vec<_> = calls.into_iter().map(|call| self.run(call, sender.clone())).collect();
        for run in running {
            match run.await {
                Some(answer) => {
                    let error = answer.error.clone();
                    answers.push((session.finish(answer), error));
                }
                None => answers.extend(self.expire(session)),
            }
        }
        answers
    }

    fn expire(&self, session: &mut Session) -> Vec<(Option<Vec<u8>>, Option<Error>)> {
        let timeout = self.endpoint.options.request_timeout;
        let late = session.expire(Instant::now(), timeout);
        late.into_iter().map(|(_, message)| (message, None)).collect()
    }

    /// Runs a call; none when it takes too long or was given up.
    fn run(
        &self,
        call: Call,
        progress: mpsc::Sender<Vec<u8>>,
    ) -> impl Future<Output = Option<Answer>> + Send + use<> {
        let ticket = call.ticket.clone();
        let guard = Running::new(self.endpoint.clone(), self.key(), ticket.clone());
        let server = self.visitor.server.clone();
        let timeout = self.endpoint.options.request_timeout;
        let is_quick = server.is_quick(&call.request);
        let work = move || {
            let send = |message: Vec<u8>| {
                let _ = progress.try_send(message);
            };
            let answer = catch_unwind(AssertUnwindSafe(|| mcp::run(&*server, call, &send)));
            answer.unwrap_or_else(|_| {
                tracing::error!(request_id = ticket.request_id(), "{} panicked", ticket.method());
                Answer::internal_error(ticket)
            })
        };
        async move {
            let _guard = guard;
            if is_quick {
                return Some(work());
            }
            tokio::time::timeout(timeout, tokio::task::spawn_blocking(work)).await.ok()?.ok()
        }
    }

    /// Answers by a stream: progress as it comes, then the result.
    fn stream_call(self, mut session: Session, call: Call) -> Response<Body> {
        let (events, body) = Events::new();
        let (sender, mut progress) = mpsc::channel(PROGRESS_MAX);
        let run = self.run(call, sender);
        tokio::spawn(async move {
            let run = async {
                match run.await {
                    Some(answer) => session.finish(answer).into_iter().collect::<Vec<_>>(),
                    None => {
                        let timeout = self.endpoint.options.request_timeout;
                        session
                            .expire(Instant::now(), timeout)
                            .into_iter()
                            .filter_map(|(_, message)| message)
                            .collect()
                    }
                }
            };
            tokio::pin!(run);
            let last = loop {
                tokio::select! {
                    biased;
                    Some(message) = progress.recv() => {
                        if !events.send(event(&message)).await {
                            // Nobody listens any more: dropping the call gives it up.
                            return;
                        }
                    }
                    last = &mut run => break last,
                    () = events.closed() => return,
                }
            };
            while let Ok(message) = progress.try_recv() {
                events.send(event(&message)).await;
            }
            for message in last {
                events.send(event(&message)).await;
            }
        });
        reply::stream(body)
    }

    /// Under what the visitor's requests are found again.
    fn key(&self) -> String {
        self.session
            .as_ref()
            .map_or_else(|| format!("user {}", self.visitor.user_id), |session| session.id.clone())
    }

    fn cancel(&self, request: Id) {
        if let Some(ticket) = self.endpoint.running().get(&(self.key(), request)) {
            ticket.cancel();
        }
    }
}

/// A request under way. When nobody waits for it any more, it is given up.
struct Running {
    endpoint: Arc<Endpoint>,
    key: (String, Id),
    ticket: Arc<Ticket>,
}

impl Running {
    fn new(endpoint: Arc<Endpoint>, key: String, ticket: Arc<Ticket>) -> Running {
        let key = (key, ticket.id.clone());
        endpoint.running().insert(key.clone(), ticket.clone());
        Running { endpoint, key, ticket }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.ticket.cancel();
        let mut running = self.endpoint.running();
        if running.get(&self.key).is_some_and(|ticket| Arc::ptr_eq(ticket, &self.ticket)) {
            running.remove(&self.key);
        }
    }
}

/// Reads a message, if it is not too large.
async fn read(body: Body) -> Result<Bytes, Refusal> {
    match Limited::new(body, mcp::MESSAGE_BYTES_MAX).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => {
            let message = format!("Message too large (limit {} bytes)", mcp::MESSAGE_BYTES_MAX);
            Err(Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, -32600, "TOO_LARGE", message))
        }
        Err(error) => {
            let message = format!("the body could not be read: {error}");
            Err(Refusal::new(StatusCode::BAD_REQUEST, -32700, "MALFORMED_REQUEST", message))
        }
    }
}

/// The id of a message that is not looked at otherwise, where it is short.
async fn id_of(body: Body) -> Option<Id> {
    let collected = Limited::new(body, LOOKED_AT_MAX).collect().await.ok()?;
    mcp::glance(&collected.to_bytes()).id
}
