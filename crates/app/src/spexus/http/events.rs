//! Changes as they happen, by server-sent events. One task reads them from the store and tells everybody who listens.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use http_body_util::StreamBody;
use hyper::body::Frame;
use ops::{Credentials, Effect, Engine, Error, Kind};
use store::Mode;
use store::revision::{self, Change, Place, WHOLE_STORE};
use tokio::sync::{Notify, broadcast, mpsc, oneshot, watch};
use tokio_stream::wrappers::ReceiverStream;

use super::App;
use super::answer::{failure, http_error};
use super::endpoint::identify;
use super::holder::HolderWatch;
use super::request::{credentials, request_id};

/// Changes that a slow listener may be behind before it is told to begin anew.
const BEHIND_MAX: usize = 4_096;
/// Changes that are read at once.
const READ_AT_ONCE: i64 = 500;
/// Other processes write to the same file without a word; while someone listens, the store is looked at this often.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Where others say when they have written, it is only looked at in case that they could not.
pub(super) const LOOK_EVERY_REMOTE: Duration = Duration::from_secs(5);
/// Keeps proxies from closing a quiet stream, and finds out who has gone or may no longer listen.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// Streams at once.
const LISTENERS_MAX: usize = 10_000;

/// Tells listeners about changes.
#[derive(Clone)]
pub struct Hub {
    shared: Arc<Shared>,
}

struct Shared {
    engine: Engine,
    changes: broadcast::Sender<Arc<Change>>,
    poked: Notify,
    listeners: AtomicUsize,
    /// Whether every change from now on will be told. A listener begins where it is sure to miss nothing.
    following: watch::Sender<bool>,
    closed: AtomicBool,
    ended: Notify,
}

impl Hub {
    /// Starts the task that reads changes.
    pub fn start(engine: Engine) -> Hub {
        let shared = Arc::new(Shared {
            engine,
            changes: broadcast::channel(BEHIND_MAX).0,
            poked: Notify::new(),
            listeners: AtomicUsize::new(0),
            following: watch::Sender::new(false),
            closed: AtomicBool::new(false),
            ended: Notify::new(),
        });
        let poked = Arc::downgrade(&shared);
        let listened = shared.engine.store().on_change(move || {
            if let Some(shared) = poked.upgrade() {
                shared.poked.notify_one();
            }
        });
        if let Err(error) = listened {
            tracing::warn!("changes of others are only looked for now and then: {error}");
        }
        tokio::spawn(follow(shared.clone()));
        Hub { shared }
    }

    /// Says that something has probably changed.
    pub fn poke(&self) {
        self.shared.poked.notify_one();
    }

    /// Hears of changes from now on; nothing when the server ends.
    pub async fn join(&self) -> Option<Joined> {
        self.shared.listeners.fetch_add(1, Ordering::SeqCst);
        let joined = Joined { hub: self.clone(), changes: self.shared.changes.subscribe() };
        self.poke();
        let mut following = self.shared.following.subscribe();
        let ended = self.shared.ended.notified();
        if self.shared.closed.load(Ordering::Acquire) {
            return None;
        }
        tokio::select! {
            followed = following.wait_for(|following| *following) => followed.is_ok().then_some(joined),
            () = ended => None,
        }
    }

    /// Ends all streams.
    pub fn close(&self) {
        self.shared.closed.store(true, Ordering::Release);
        self.shared.ended.notify_waiters();
        self.shared.poked.notify_one();
    }
}

/// Somebody who hears of changes.
pub struct Joined {
    hub: Hub,
    /// The changes.
    pub changes: broadcast::Receiver<Arc<Change>>,
}

impl Drop for Joined {
    fn drop(&mut self) {
        self.hub.shared.listeners.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Reads changes as long as the server runs; only while someone listens.
async fn follow(shared: Arc<Shared>) {
    let mut last: Option<Place> = None;
    let mut watch = HolderWatch::default();
    while !shared.closed.load(Ordering::Acquire) {
        if shared.listeners.load(Ordering::SeqCst) == 0 {
            shared.following.send_replace(false);
            // Who came in between may still have seen that changes are followed, so that none may be left out.
            if shared.listeners.load(Ordering::SeqCst) == 0 {
                last = None;
                shared.poked.notified().await;
                continue;
            }
        }
        let after = match last {
            Some(after) => after,
            None => match ask(&shared.engine, revision::newest_place).await {
                Ok(newest) => newest,
                Err(_) => {
                    tokio::time::sleep(LOOK_EVERY).await;
                    continue;
                }
            },
        };
        last = Some(after);
        shared.following.send_if_modified(|following| !std::mem::replace(following, true));
        match read(&shared.engine, after).await {
            Ok(changes) => {
                let full = changes.len() as i64 == READ_AT_ONCE;
                for change in changes {
                    last = Some(change.place);
                    // Nobody listening is no failure.
                    let _ = shared.changes.send(Arc::new(change));
                }
                if full {
                    continue;
                }
            }
            Err(error) => tracing::warn!("changes cannot be read: {error}"),
        }
        if let Some(place) = last.filter(|_| shared.engine.store().is_remote() && watch.is_due()) {
            watch.note(ask(&shared.engine, move |tx| revision::holder(tx, place)).await.ok().flatten());
        }
        let every = if shared.engine.store().is_remote() { LOOK_EVERY_REMOTE } else { LOOK_EVERY };
        let _ = tokio::time::timeout(every, shared.poked.notified()).await;
    }
}

async fn read(engine: &Engine, after: Place) -> Result<Vec<Change>, Error> {
    ask(engine, move |tx| revision::changes_after(tx, after, READ_AT_ONCE)).await
}

async fn ask<T: Send + 'static>(
    engine: &Engine,
    body: impl FnMut(&mut store::Tx<'_>) -> store::Result<T> + Send + 'static,
) -> Result<T, Error> {
    let (sender, receiver) = oneshot::channel();
    engine.store().run(Mode::Snapshot, body, move |result: store::Result<T>| {
        let _ = sender.send(result);
    });
    match receiver.await {
        Ok(result) => result.map_err(Error::from),
        Err(_) => Err(Error::new(Kind::InternalError, "the store dropped the question")),
    }
}

/// `GET /api/v1/events`: changes from now on, or after `Last-Event-ID`.
pub async fn stream(State(app): State<Arc<App>>, request: Request) -> Response<Body> {
    let id = request_id(request.headers());
    let shown = match credentials(request.method(), request.headers(), &app.options) {
        Ok(shown) => shown,
        Err(error) => return failure(&error, &id),
    };
    let sees_accounts = match check(&app, shown.clone()).await {
        Ok(sees_accounts) => sees_accounts,
        Err(error) => {
            tracing::warn!(req_id = id, operation = "events", "refused: {}", error.message);
            return failure(&error, &id);
        }
    };
    let after = match after(&request) {
        Ok(after) => after,
        Err(error) => return failure(&error, &id),
    };
    if app.hub.shared.listeners.load(Ordering::Acquire) >= LISTENERS_MAX {
        return http_error(
            StatusCode::SERVICE_UNAVAILABLE,
            Kind::Unavailable.code(),
            "too many listen already",
            &id,
        );
    }
    let (sender, receiver) = mpsc::channel(64);
    app.hub.shared.listeners.fetch_add(1, Ordering::SeqCst);
    let listener = Listener { app: app.clone(), sender, shown, sees_accounts: sees_accounts.into() };
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

/// Refuses who may not listen, and says whether those who may are told of users and tokens, too.
async fn check(app: &App, shown: Credentials) -> Result<bool, Error> {
    let caller = identify(app, shown).await?;
    caller.may(Effect::Reads)?;
    Ok(caller.may(Effect::Administers).is_ok())
}

/// One stream.
struct Listener {
    app: Arc<App>,
    sender: mpsc::Sender<Result<Frame<Bytes>, Infallible>>,
    shown: Credentials,
    /// Whether changes of users and tokens are told: only administrators see those.
    sees_accounts: AtomicBool,
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.app.hub.shared.listeners.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Listener {
    async fn run(self, mut changes: broadcast::Receiver<Arc<Change>>, after: Option<i64>) {
        let Some(mut last) = self.begin(after).await else { return };
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
                        if !self.may_see(&change) {
                            continue;
                        }
                        written(&change)
                    }
                    Ok(_) => continue,
                    Err(broadcast::error::RecvError::Lagged(_)) => reset(),
                    Err(broadcast::error::RecvError::Closed) => return,
                },
                _ = keep_alive.tick() => {
                    // Who was disabled or whose token was revoked stops listening.
                    match check(&self.app, self.shown.clone()).await {
                        Ok(sees_accounts) => self.sees_accounts.store(sees_accounts, Ordering::Relaxed),
                        Err(_) => return,
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
                if self.may_see(change) && !self.send(written(change)).await {
                    return None;
                }
            }
            if (missed.len() as i64) < READ_AT_ONCE {
                return Some(reached);
            }
        }
    }

    fn may_see(&self, change: &Change) -> bool {
        !matches!(change.entity_kind.as_str(), "user" | "token") || self.sees_accounts.load(Ordering::Relaxed)
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
