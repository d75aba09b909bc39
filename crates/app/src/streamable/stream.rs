//! Streams: notifications for a session between its requests, and for a subscription of 2026-07-28.

use std::any::Any;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes};
use axum::http::request::Parts;
use axum::http::{Method, StatusCode};
use axum::response::Response;
use http_body_util::StreamBody;
use hyper::body::Frame;
use mcp::{Change, Revision, Session};
use tokio::sync::{mpsc, oneshot};
use tokio_stream::wrappers::ReceiverStream;

use super::feed::{Following, Heard, News};
use super::head::{self, SESSION};
use super::reply::{self, Refusal, Source};
use super::{Endpoint, Seen, Visitor};

/// Keeps proxies from closing an idle stream, and detects listeners without the right.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// How many messages a slow client may be behind.
const WAITING_MAX: usize = 64;

/// The sending end of a stream.
pub(super) struct Events(mpsc::Sender<Result<Frame<Bytes>, Infallible>>);

impl Events {
    pub(super) fn new() -> (Events, Body) {
        let (sender, receiver) = mpsc::channel(WAITING_MAX);
        (Events(sender), Body::new(StreamBody::new(ReceiverStream::new(receiver))))
    }

    /// False if the client is gone.
    pub(super) async fn send(&self, text: Vec<u8>) -> bool {
        self.0.send(Ok(Frame::data(Bytes::from(text)))).await.is_ok()
    }

    pub(super) async fn closed(&self) {
        self.0.closed().await;
    }
}

/// A message as an event.
pub(super) fn event(message: &[u8]) -> Vec<u8> {
    [b"event: message\ndata: ".as_slice(), message, b"\n\n"].concat()
}

impl Endpoint {
    /// Sends a subscription its notifications until the client leaves.
    pub(super) fn listen(
        self: &Arc<Self>,
        mut session: Session,
        first: Vec<u8>,
        following: Following,
        audience: Audience,
    ) -> Response<Body> {
        let (events, body) = Events::new();
        let endpoint = self.clone();
        tokio::spawn(async move {
            if !events.send(event(&first)).await {
                return;
            }
            let told = |news: &News| news.changes.iter().flat_map(|change| session.notify(change)).collect();
            if endpoint.tell(&events, following, &audience, None, told).await {
                for message in session.close() {
                    events.send(event(&message)).await;
                }
            }
        });
        reply::stream(body)
    }

    /// `GET`: notifications for a session between its requests.
    pub(super) async fn open_stream(self: &Arc<Self>, head: Parts, id: &str) -> Response<Body> {
        let started = Instant::now();
        let (response, user) = match self.session_of(&head, id).await {
            Ok((session, visitor)) => {
                let response = match self.host.admit_stream(&visitor, &head) {
                    Ok(opened) => {
                        self.stream_of(session, Audience::new(head.clone(), &visitor, opened), id).await
                    }
                    Err(refusal) => refusal.response(None),
                };
                (response, visitor.username)
            }
            Err(refusal) => (refusal.response(None), String::new()),
        };
        self.observe(&head, &response, &user, id, started);
        response
    }

    /// `DELETE`: ends a session.
    pub(super) async fn end_session(self: &Arc<Self>, head: Parts, id: &str) -> Response<Body> {
        let started = Instant::now();
        let (response, user) = match self.session_of(&head, id).await {
            Ok((session, visitor)) => match self.sessions.end(&session).await {
                Ok(()) => {
                    self.listening().remove(&session);
                    (reply::empty(StatusCode::NO_CONTENT), visitor.username)
                }
                Err(error) => {
                    let source = Source { request_id: id, user: &visitor.username, operation: "end session" };
                    (Refusal::store(&error, source).response(None), visitor.username)
                }
            },
            Err(refusal) => (refusal.response(None), String::new()),
        };
        self.observe(&head, &response, &user, id, started);
        response
    }

    fn observe(&self, head: &Parts, response: &Response<Body>, user: &str, id: &str, started: Instant) {
        self.host.observe(&Seen {
            http_method: &head.method,
            method: if head.method == Method::GET { "stream" } else { "end session" },
            tool: None,
            status: response.status(),
            error: None,
            revision: "-",
            user,
            client: None,
            request_id: id,
            elapsed: started.elapsed(),
            head,
        });
    }

    /// The session of a request without a message, and its owner.
    async fn session_of(&self, head: &Parts, id: &str) -> Result<(String, Visitor), Refusal> {
        let visitor = self.visitor(head, id).await?;
        let bad = |error| Refusal { status: StatusCode::BAD_REQUEST, error };
        if head::revision(&head.headers).map_err(bad)?.is_some_and(Revision::is_stateless) {
            let message = "protocol version 2026-07-28 has no sessions; listen with subscriptions/listen";
            return Err(Refusal::method_not_allowed("POST", message));
        }
        let Some(session) = head::text(&head.headers, SESSION) else {
            let message = "the header Mcp-Session-Id is required, as initialize was answered with it";
            return Err(Refusal::new(StatusCode::BAD_REQUEST, -32600, "MALFORMED_REQUEST", message));
        };
        if head.method == Method::GET && !head::takes_stream(&head.headers) {
            return Err(Refusal::not_acceptable("text/event-stream"));
        }
        Ok((self.session(session, &visitor, id).await?.id, visitor))
    }

    async fn stream_of(
        self: &Arc<Self>,
        session: String,
        audience: Audience,
        request_id: &str,
    ) -> Response<Body> {
        let Some(following) = self.host.follow().await else {
            return Refusal::stopping().response(None);
        };
        let (events, body) = Events::new();
        let endpoint = self.clone();
        let (place, ended) = Place::take(self.clone(), session.clone());
        if self.sessions.is_shared()
            && let Err(error) = self.sessions.claim(&session).await
        {
            let source = Source { request_id, user: &audience.username, operation: "stream" };
            return Refusal::store(&error, source).response(None);
        }
        tokio::spawn(async move {
            if !events.send(b": connected\n\n".to_vec()).await {
                return;
            }
            let told = |news: &News| -> Vec<Vec<u8>> {
                if !place.is_told(news) {
                    return Vec::new();
                }
                let lists = news.changes.iter().filter(|change| !matches!(change, Change::Resource(_)));
                let uris = news.by_session.get(&session).into_iter().flatten();
                let resources = uris.map(|uri| Change::Resource(uri.clone()).to_bytes());
                lists.map(Change::to_bytes).chain(resources).collect()
            };
            tokio::select! {
                _ = endpoint.tell(&events, following, &audience, Some(&session), told) => {}
                _ = ended => {}
            }
        });
        reply::stream(body)
    }

    /// Forwards news. Returns true if the server ends the stream, and false if the client has left.
    async fn tell(
        &self,
        events: &Events,
        mut following: Following,
        audience: &Audience,
        session: Option<&str>,
        told: impl Fn(&News) -> Vec<Vec<u8>>,
    ) -> bool {
        let mut keep_alive = tokio::time::interval_at(tokio::time::Instant::now() + KEEP_ALIVE, KEEP_ALIVE);
        // The right to listen may have ended before the first news.
        let Some(mut hearer) = self.host.hearer(&audience.head).await else { return true };
        loop {
            let messages = tokio::select! {
                heard = following.next() => match heard {
                    Heard::News(news) if !news.has_gap => {
                        if audience.is_concerned(&news) {
                            let Some(still) = self.host.hearer(&audience.head).await else { return true };
                            hearer = still;
                        }
                        if hearer.hears(&news).await { told(&news) } else { Vec::new() }
                    }
                    // A client that missed something must know: it reads again what it needs, and subscribes again.
                    Heard::News(_) | Heard::Gap | Heard::End => return true,
                },
                _ = keep_alive.tick() => {
                    let Some(still) = self.host.hearer(&audience.head).await else { return true };
                    hearer = still;
                    if !self.is_kept(session).await {
                        return true;
                    }
                    if let Some(session) = session.filter(|_| self.sessions.is_shared()) {
                        // Retry while the store is unreachable.
                        let _ = self.sessions.keep_claim(session).await;
                    }
                    if !events.send(b": here\n\n".to_vec()).await {
                        return false;
                    }
                    continue;
                }
                () = events.closed() => return false,
            };
            for message in messages {
                if !events.send(event(&message)).await {
                    return false;
                }
            }
        }
    }

    /// Whether a session has not been ended by any process.
    async fn is_kept(&self, session: Option<&str>) -> bool {
        match session {
            // An unreachable store is not a reason to close the stream.
            Some(session) => self.sessions.is_kept(session).await.unwrap_or(true),
            None => true,
        }
    }
}

/// The owner of a stream.
pub(super) struct Audience {
    head: Parts,
    username: String,
    /// The ids of the user, and of the token if there is one.
    ids: [String; 2],
    /// Counts the stream among those that are open.
    _opened: Box<dyn Any + Send + Sync>,
}

impl Audience {
    pub(super) fn new(head: Parts, visitor: &Visitor, opened: Box<dyn Any + Send + Sync>) -> Audience {
        let ids = [visitor.user_id.clone(), visitor.counted_by.clone()];
        Audience { head, username: visitor.username.clone(), ids, _opened: opened }
    }

    /// Whether their rights may have changed.
    fn is_concerned(&self, news: &News) -> bool {
        self.ids.iter().any(|id| news.accounts.contains(id))
    }
}

/// The place of a stream among those of a session. Notifications go to the newest.
struct Place {
    endpoint: Arc<Endpoint>,
    session: String,
    number: u64,
}

impl Place {
    /// Takes a place, and returns a future that completes when the session ends.
    fn take(endpoint: Arc<Endpoint>, session: String) -> (Place, oneshot::Receiver<()>) {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let (sender, ended) = oneshot::channel();
        endpoint.listening().entry(session.clone()).or_default().push((number, sender));
        (Place { endpoint, session, number }, ended)
    }

    /// Whether this is the newest stream of the session, on any server.
    fn is_told(&self, news: &News) -> bool {
        let claim = news.claims.get(&self.session);
        if claim.is_some_and(|claim| !self.endpoint.sessions.is_ours(claim)) {
            return false;
        }
        let listening = self.endpoint.listening();
        let last = listening.get(&self.session).and_then(|streams| streams.last());
        last.is_some_and(|(number, _)| *number == self.number)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut listening = self.endpoint.listening();
        if let Some(streams) = listening.get_mut(&self.session) {
            streams.retain(|(number, _)| *number != self.number);
            if streams.is_empty() {
                listening.remove(&self.session);
                drop(listening);
                if self.endpoint.sessions.is_shared() {
                    self.endpoint.sessions.release(&self.session);
                }
            }
        }
    }
}
