//! Changes as they happen, by server-sent events.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use http_body_util::StreamBody;
use hyper::body::Frame;
use ops::{Caller, Credentials, Effect, Error, ErrorKind};
use store::revision::{self, Change, Place, WHOLE_STORE};
use tokio::sync::{broadcast, mpsc};
use tokio_stream::wrappers::ReceiverStream;

use super::answer::{failure, http_error};
use super::endpoint::identify;
use super::hearer::Hearer;
use super::hub::{READ_AT_ONCE, ask, read};
use super::refusals::{Place as RefusedPlace, Tried};
use super::request::{check_once, credentials, request_id};
use super::streams::OpenStream;
use super::{App, Peer};

/// Keeps proxies from closing a quiet stream, and finds out who has gone or may no longer listen.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// Streams at once.
const LISTENERS_MAX: usize = 10_000;

/// `GET /api/v1/events`: changes from now on, or after `Last-Event-ID`.
pub async fn stream(State(app): State<Arc<App>>, request: Request) -> Response<Body> {
    let id = request_id(request.headers());
    let address = request.extensions().get::<Peer>().map(|peer| peer.0);
    let place = RefusedPlace { operation: "events", address, request_id: &id };
    if let Err(error) = check_once(request.headers()) {
        return failure(&error, &id);
    }
    let refuse = |error: Error, tried: Tried| match error.kind {
        ErrorKind::Unauthenticated => failure(&app.refused(error, &tried, place), &id),
        _ => failure(&error, &id),
    };
    let shown = match credentials(request.method(), request.headers(), &app.options) {
        Ok(shown) => shown,
        Err(error) => return refuse(error, Tried::Token),
    };
    let tried = if shown == Credentials::None { Tried::Nothing } else { Tried::Token };
    let caller = match check(&app, shown.clone()).await {
        Ok(caller) => caller,
        Err(error) => return refuse(error, tried),
    };
    let opened = app.limits.admit(&caller).and_then(|()| app.streams.open(&caller.user_id, address));
    let opened = match opened {
        Ok(opened) => opened,
        Err(error) => return failure(&error, &id),
    };
    let after = match after(&request) {
        Ok(after) => after,
        Err(error) => return failure(&error, &id),
    };
    if app.hub.shared.listeners.load(Ordering::Acquire) >= LISTENERS_MAX {
        return http_error(
            StatusCode::SERVICE_UNAVAILABLE,
            ErrorKind::Unavailable.code(),
            "too many listen already",
            &id,
        );
    }
    let (sender, receiver) = mpsc::channel(64);
    app.hub.shared.listeners.fetch_add(1, Ordering::SeqCst);
    let hearer = Hearer::of(&caller);
    let ids = std::iter::once(caller.user_id).chain(caller.token_id).collect();
    let listener = Listener { app: app.clone(), sender, shown, ids, hearer, _opened: opened };
    let changes = app.hub.shared.changes.subscribe();
    app.hub.poke();
    tokio::spawn(async move { listener.run(changes, after).await });
    let mut response = Response::new(Body::new(StreamBody::new(ReceiverStream::new(receiver))));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    super::answer::insert(headers, super::answer::REQUEST_ID, &id);
    response
}

fn after(request: &Request) -> Result<Option<i64>, Error> {
    let query = request.uri().query().unwrap_or_default();
    let header = request.headers().get("last-event-id").and_then(|value| value.to_str().ok());
    let (mut given, mut name) = (header.map(str::to_owned), "Last-Event-ID");
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        match pair.split_once('=') {
            // A browser that connects again says in the header what it has heard since.
            Some(("after", _)) if header.is_some() => {}
            Some(("after", value)) => (given, name) = (Some(value.to_owned()), "after"),
            _ => {
                let name = pair.split('=').next().unwrap_or_default();
                return Err(Error::field(&ops::shortened(name), "is not known here; expected after"));
            }
        }
    }
    let wrong = || Error::field(name, "expected the id of an event, a whole number");
    given.map(|text| text.parse().map_err(|_| wrong())).transpose()
}

/// Who listens, if they may.
async fn check(app: &App, shown: Credentials) -> Result<Caller, Error> {
    let caller = identify(app, shown).await?;
    caller.may(Effect::Reads)?;
    Ok(caller)
}

/// One stream.
struct Listener {
    app: Arc<App>,
    sender: mpsc::Sender<Result<Frame<Bytes>, Infallible>>,
    shown: Credentials,
    /// The ids of the user and the token.
    ids: Vec<String>,
    hearer: Hearer,
    _opened: OpenStream,
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.app.hub.shared.listeners.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Listener {
    async fn run(mut self, mut changes: broadcast::Receiver<Arc<Change>>, after: Option<i64>) {
        let Some(mut last) = self.begin(after).await else { return };
        // What happened before that place is not told, but may have been about the listener.
        if !self.is_still_welcome().await {
            return;
        }
        let mut keep_alive = tokio::time::interval_at(tokio::time::Instant::now() + KEEP_ALIVE, KEEP_ALIVE);
        let shared = self.app.hub.shared.clone();
        let ended = shared.ended.notified();
        tokio::pin!(ended);
        loop {
            if shared.closed.load(Ordering::Acquire) {
                return;
            }
            let text = tokio::select! {
                received = changes.recv() => match received {
                    Ok(change) if change.place > last => {
                        last = change.place;
                        if change.concerns(&self.ids) && !self.is_still_welcome().await {
                            return;
                        }
                        if !self.hearer.hears(&self.app, &change).await {
                            continue;
                        }
                        written(&change)
                    }
                    Ok(_) => continue,
                    Err(broadcast::error::RecvError::Lagged(_)) => reset(),
                    Err(broadcast::error::RecvError::Closed) => return,
                },
                _ = keep_alive.tick() => {
                    // A token may have expired.
                    if !self.is_still_welcome().await {
                        return;
                    }
                    ": here\n\n".to_owned()
                }
                () = &mut ended => return,
                () = self.sender.closed() => return,
            };
            if !self.send(text).await {
                return;
            }
        }
    }

    /// Finds the place from which on changes are told as they come, and sends what was missed before it. None when the
    /// client has gone, or the server ends.
    async fn begin(&self, after: Option<i64>) -> Option<Place> {
        let shared = &self.app.hub.shared;
        let ended = shared.ended.notified();
        if shared.closed.load(Ordering::Acquire) {
            return None;
        }
        let mut following = shared.following.subscribe();
        tokio::select! {
            followed = following.wait_for(|following| *following) => drop(followed.ok()?),
            () = ended => return None,
            () = self.sender.closed() => return None,
        }
        let known = match after {
            None => None,
            Some(sequence) => {
                let place = ask(&shared.engine, move |tx| revision::place_of(tx, sequence)).await.ok()?;
                Some(place)
            }
        };
        let newest = ask(&shared.engine, revision::newest_place).await.ok()?;
        if !self.send(": connected\n\n".to_owned()).await {
            return None;
        }
        match known {
            None => Some(newest),
            Some(Some(place)) => self.catch_up(place).await,
            // What lies between is forgotten, or was never there: the client must read everything anew.
            Some(None) => self.send(reset()).await.then_some(newest),
        }
    }

    /// Sends what was missed. None when the client has gone.
    async fn catch_up(&self, after: Place) -> Option<Place> {
        let mut reached = after;
        loop {
            let missed = read(&self.app.engine, reached).await.ok()?;
            for change in &missed {
                reached = change.place;
                if self.hearer.hears(&self.app, change).await && !self.send(written(change)).await {
                    return None;
                }
            }
            if (missed.len() as i64) < READ_AT_ONCE {
                return Some(reached);
            }
        }
    }

    /// Whether who opened the stream may still listen, and to what.
    async fn is_still_welcome(&mut self) -> bool {
        let caller = check(&self.app, self.shown.clone()).await;
        if let Ok(caller) = &caller {
            self.hearer = Hearer::of(caller);
        }
        caller.is_ok()
    }

    async fn send(&self, text: String) -> bool {
        self.sender.send(Ok(Frame::data(Bytes::from(text)))).await.is_ok()
    }
}

fn written(change: &Change) -> String {
    if change.entity_kind == WHOLE_STORE {
        return format!("id: {}\n{}", change.sequence, reset());
    }
    let data = serde_json::to_string(change).unwrap_or_default();
    format!("id: {}\nevent: change\ndata: {data}\n\n", change.sequence)
}

fn reset() -> String {
    "event: reset\ndata: {\"message\":\"changes were missed; read everything anew\"}\n\n".to_owned()
}
