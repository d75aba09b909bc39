//! Receives changes from the server: one stream of events, opened when the host is interested, and reopened when it is lost.
//!
//! For a host with a handshake the stream is opened while `initialize` is answered, so that no change after
//! `notifications/initialized` is missed. If the stream opens later than that, everything is announced as changed once: this is
//! simpler than resuming from a position, which the protocol does not have, and an unnecessary refresh does no harm.

use std::{
    collections::BTreeSet,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use mcp::{Change, Changed, Failure, FailureKind, Interest};
use reqwest::Response;
use serde_json::{Map, Value, json};
use tokio::{
    sync::{mpsc, watch},
    task::JoinHandle,
    time,
};

use super::{
    events::Events, failure, overlap::Overlap, question::Question, retry, server::Lists, upstream::Upstream,
};

/// How long the server may take to acknowledge.
const OPENING_TIME: Duration = Duration::from_secs(10);

/// Consecutive subscriptions are requested together after this pause.
const GATHERING_TIME: Duration = Duration::from_millis(10);

/// How long a replaced stream is still read: messages sent before the new one began may still arrive.
const OVERLAP: Duration = Duration::from_secs(1);

/// After this many consecutive failures the pauses stop growing, at about ten seconds each.
const FAILURES_COUNTED_MAX: u32 = 8;

/// How often a server without change notifications is asked again.
const UNABLE_PAUSE: Duration = Duration::from_secs(300);

/// A stream that lasted this long was not a failure.
const STEADY_TIME: Duration = Duration::from_secs(30);

pub struct Listener {
    wanted: watch::Sender<Wanted>,
    shared: Arc<Shared>,
}

#[derive(Clone, Default)]
struct Wanted {
    interest: Interest,
    /// Whether the host relies on notifications: not before `notifications/initialized`.
    is_relied_on: bool,
}

struct Shared {
    lists: Arc<Lists>,
    changed: OnceLock<Changed>,
    overlap: Overlap,
    /// The requested resources, and the acknowledged ones; none while there is no stream.
    heard: watch::Sender<Option<Heard>>,
    is_listening: AtomicBool,
    /// Whether the first attempt to open a stream has succeeded or failed.
    is_attempted: watch::Sender<bool>,
}

#[derive(Clone)]
struct Heard {
    asked: BTreeSet<String>,
    honoured: BTreeSet<String>,
}

impl Listener {
    /// Starts, and waits for interest.
    pub fn start(upstream: Arc<Upstream>, lists: Arc<Lists>) -> Self {
        let (wanted, receiver) = watch::channel(Wanted::default());
        let shared = Arc::new(Shared {
            lists,
            changed: OnceLock::new(),
            overlap: Overlap::default(),
            heard: watch::Sender::new(None),
            is_listening: AtomicBool::new(false),
            is_attempted: watch::Sender::new(false),
        });
        let listening = Listening { upstream: upstream.clone(), shared: shared.clone(), n_streams: 0 };
        upstream.spawn(listening.run(receiver));
        Self { wanted, shared }
    }

    /// Sets the receiver of changes.
    pub fn tell(&self, changed: Changed) {
        let _ = self.shared.changed.set(changed);
    }

    /// Opens the stream for a host that will be interested in lists.
    pub fn prepare(&self) {
        self.wanted.send_modify(|wanted| wanted.interest.lists = true);
    }

    /// Waits for the result of the first attempt to open a stream.
    pub async fn is_prepared(&self) {
        let _ = self.shared.is_attempted.subscribe().wait_for(|is_attempted| *is_attempted).await;
    }

    /// Sets the interest from now on.
    pub fn listen_to(&self, interest: Interest) {
        self.wanted.send_replace(Wanted { interest, is_relied_on: true });
    }

    /// Returns whether changes of lists would be received.
    pub fn is_listening(&self) -> bool {
        self.shared.is_listening.load(Ordering::Relaxed)
    }

    /// Waits until changes of a resource are received.
    pub async fn hears(&self, uri: &str) {
        let mut heard = self.shared.heard.subscribe();
        let _ =
            heard.wait_for(|heard| heard.as_ref().is_some_and(|heard| heard.honoured.contains(uri))).await;
    }

    /// Waits until the server was asked about resources, and returns those that it acknowledged.
    pub async fn honoured(&self, uris: &BTreeSet<String>) -> BTreeSet<String> {
        let mut heard = self.shared.heard.subscribe();
        let is_asked =
            |heard: &Option<Heard>| heard.as_ref().is_some_and(|heard| heard.asked.is_superset(uris));
        match heard.wait_for(is_asked).await.ok().and_then(|heard| heard.clone()) {
            Some(heard) => uris.intersection(&heard.honoured).cloned().collect(),
            None => uris.clone(),
        }
    }
}

struct Listening {
    upstream: Arc<Upstream>,
    shared: Arc<Shared>,
    n_streams: u64,
}

/// An open stream.
struct Stream {
    number: u64,
    interest: Interest,
    /// Its acknowledged resources.
    honoured: BTreeSet<String>,
    reading: JoinHandle<()>,
}

impl Listening {
    async fn run(mut self, mut wanted: watch::Receiver<Wanted>) {
        let (lost, mut losses) = mpsc::unbounded_channel();
        let mut current: Option<Stream> = None;
        let mut n_failures = 0;
        let mut opened_at = time::Instant::now();
        let mut has_missed = false;
        loop {
            let interest = wanted.borrow_and_update().interest.clone();
            if !interest.lists && interest.uris.is_empty() {
                current = self.replace(current, None);
            } else if current.as_ref().is_none_or(|stream| stream.interest != interest) {
                match self.open(&interest, &lost).await {
                    Ok(stream) => {
                        if current.is_none() {
                            self.shared.lists.forget();
                            has_missed |= wanted.borrow().is_relied_on;
                        }
                        // First of all: a subscription that waits for this stream has missed nothing, and is not notified.
                        if std::mem::take(&mut has_missed) {
                            self.tell_all(&interest);
                        }
                        current = self.replace(current, Some(stream));
                        opened_at = time::Instant::now();
                        self.shared.is_attempted.send_replace(true);
                    }
                    Err(failure) => {
                        has_missed = true;
                        current = self.replace(current, None);
                        self.shared.is_attempted.send_replace(true);
                        // A server that rejects the token, or lacks notifications, will not change soon.
                        let is_refused = failure.kind == FailureKind::Unauthenticated;
                        let is_unable = matches!(failure.kind, FailureKind::Other | FailureKind::Forbidden);
                        let short = retry::pause(n_failures);
                        let pause = if is_unable || is_refused { UNABLE_PAUSE } else { short };
                        n_failures = (n_failures + 1).min(FAILURES_COUNTED_MAX);
                        tracing::info!(?pause, "no change notifications: {}; trying again", failure.message);
                        // The server counts rejected tokens and blocks the address: nothing is tried
                        // before a request of the host has succeeded.
                        let accepted = async {
                            time::sleep(short).await;
                            self.upstream.served().await;
                        };
                        let others =
                            async { wanted.wait_for(|wanted| wanted.interest != interest).await.map(drop) };
                        tokio::select! {
                            () = time::sleep(pause) => {}
                            Ok(()) = others, if is_unable => {}
                            () = accepted, if is_refused => {}
                        }
                        continue;
                    }
                }
            }
            tokio::select! {
                changed = wanted.changed() => match changed {
                    Ok(()) if current.is_some() => time::sleep(GATHERING_TIME).await,
                    Ok(()) => {}
                    Err(_) => return,
                },
                Some(number) = losses.recv() => {
                    if current.as_ref().is_some_and(|stream| stream.number == number) {
                        tracing::info!("the server ended the stream of changes; reconnecting");
                        has_missed = true;
                        current = self.replace(current, None);
                        // Do not reconnect in a tight loop to a server that ends every stream at once.
                        if opened_at.elapsed() > STEADY_TIME {
                            n_failures = 0;
                        }
                        time::sleep(retry::pause(n_failures)).await;
                        n_failures = (n_failures + 1).min(FAILURES_COUNTED_MAX);
                    }
                }
            }
        }
    }

    /// Opens a stream, waits for its acknowledgement, and starts reading it.
    async fn open(
        &mut self,
        interest: &Interest,
        lost: &mpsc::UnboundedSender<u64>,
    ) -> Result<Stream, Failure> {
        self.n_streams += 1;
        let number = self.n_streams;
        let filter = json!({
            "toolsListChanged": true,
            "promptsListChanged": true,
            "resourcesListChanged": true,
            "resourceSubscriptions": interest.uris,
        });
        let params = Map::from_iter([("notifications".to_owned(), filter)]);
        let question = Question::new("subscriptions/listen", params, format!("listen-{number}"));
        let opening = async {
            let mut reader =
                Reader { response: self.upstream.open(question).await?, events: Events::default() };
            let first = reader.next().await.ok_or_else(|| failure::not_understood("subscriptions/listen"))?;
            let is_acknowledged =
                |message: &&Value| message["method"] == "notifications/subscriptions/acknowledged";
            let acknowledged = first.iter().find(is_acknowledged);
            let acknowledged = acknowledged.ok_or_else(|| failure::not_understood("subscriptions/listen"))?;
            let uris = acknowledged["params"]["notifications"]["resourceSubscriptions"].as_array();
            let uris = uris.into_iter().flatten().filter_map(Value::as_str);
            let honoured: BTreeSet<String> = uris.map(str::to_owned).collect();
            Ok((reader, first, honoured))
        };
        let late = |_| failure::away(&self.upstream.backend().to_string(), "it does not acknowledge");
        let (mut reader, first, honoured) = time::timeout(OPENING_TIME, opening).await.map_err(late)??;
        tracing::debug!(resources = interest.uris.len(), "change notifications are available again");
        let (shared, lost) = (self.shared.clone(), lost.clone());
        shared.overlap.begin(number);
        let reading = tokio::spawn(async move {
            first.iter().for_each(|message| shared.hear(number, message));
            while let Some(messages) = reader.next().await {
                messages.iter().for_each(|message| shared.hear(number, message));
            }
            let _ = lost.send(number);
        });
        Ok(Stream { number, interest: interest.clone(), honoured, reading })
    }

    /// Replaces a stream by another one.
    fn replace(&self, old: Option<Stream>, new: Option<Stream>) -> Option<Stream> {
        self.shared.is_listening.store(new.is_some(), Ordering::Relaxed);
        self.shared.heard.send_replace(
            new.as_ref().map(|stream| Heard {
                asked: stream.interest.uris.clone(),
                honoured: stream.honoured.clone(),
            }),
        );
        let shared = self.shared.clone();
        match old {
            None => shared.end_overlap(),
            Some(old) => drop(tokio::spawn(async move {
                time::sleep(OVERLAP).await;
                old.reading.abort();
                shared.end_overlap();
            })),
        }
        new
    }

    /// Without a stream, anything may have changed.
    fn tell_all(&self, interest: &Interest) {
        for change in [Change::Tools, Change::Prompts, Change::Resources] {
            self.shared.tell(change);
        }
        interest.uris.iter().for_each(|uri| self.shared.tell(Change::Resource(uri.clone())));
    }
}

impl Shared {
    fn hear(&self, number: u64, message: &Value) {
        let change = match message["method"].as_str().unwrap_or_default() {
            "notifications/tools/list_changed" => Change::Tools,
            "notifications/prompts/list_changed" => Change::Prompts,
            "notifications/resources/list_changed" => Change::Resources,
            "notifications/resources/updated" => match message["params"]["uri"].as_str() {
                Some(uri) => Change::Resource(uri.to_owned()),
                None => return,
            },
            _ => return,
        };
        match change {
            Change::Tools => self.lists.forget_tools(),
            Change::Prompts => self.lists.forget_prompts(),
            _ => {}
        }
        if self.overlap.take(number, &change) {
            self.tell(change);
        }
    }

    fn end_overlap(&self) {
        self.overlap.end().into_iter().for_each(|change| self.tell(change));
    }

    fn tell(&self, change: Change) {
        if let Some(changed) = self.changed.get() {
            changed(change);
        }
    }
}

struct Reader {
    response: Response,
    events: Events,
}

impl Reader {
    /// Returns the next messages, at least one; none at the end.
    async fn next(&mut self) -> Option<Vec<Value>> {
        loop {
            let chunk = self.response.chunk().await.ok()??;
            let messages = self.events.add(&chunk).ok()?;
            let messages: Vec<Value> =
                messages.iter().filter_map(|message| serde_json::from_slice(message).ok()).collect();
            if !messages.is_empty() {
                return Some(messages);
            }
        }
    }
}
