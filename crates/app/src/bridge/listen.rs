//! Hears from the server what changed: one stream of events, opened when the host wants to know, and again when it drops.
//!
//! For a host with a handshake the stream is opened while `initialize` is answered, so that it misses no change after
//! `notifications/initialized`. Where the stream opens later than the host relies on it, everything is announced once: simpler
//! than a position to resume from, which the protocol does not have, and a host that looks again in vain loses nothing.

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

/// Subscriptions that come in a row are asked for together.
const GATHERING_TIME: Duration = Duration::from_millis(10);

/// A stream that another one has replaced is read for a moment more: what was sent before the new one began may be on its way.
const OVERLAP: Duration = Duration::from_secs(1);

/// After this many failures in a row the pauses grow no longer, some ten seconds each.
const FAILURES_COUNTED_MAX: u32 = 8;

/// How often a server that cannot tell of changes at all is asked whether it can by now.
const UNABLE_PAUSE: Duration = Duration::from_secs(300);

/// A stream that lasted so long was no failure.
const STEADY_TIME: Duration = Duration::from_secs(30);

pub struct Listener {
    wanted: watch::Sender<Wanted>,
    shared: Arc<Shared>,
}

#[derive(Clone, Default)]
struct Wanted {
    interest: Interest,
    /// Whether the host counts on hearing of changes: not before `notifications/initialized`.
    is_relied_on: bool,
}

struct Shared {
    lists: Arc<Lists>,
    changed: OnceLock<Changed>,
    overlap: Overlap,
    /// The resources that the server was asked to tell of, and those that it does tell of; none while it does not.
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
    /// Begins, and waits for somebody who wants to know.
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

    /// Says whom to tell.
    pub fn tell(&self, changed: Changed) {
        let _ = self.shared.changed.set(changed);
    }

    /// Opens the stream for a host that will want to hear of lists.
    pub fn prepare(&self) {
        self.wanted.send_modify(|wanted| wanted.interest.lists = true);
    }

    /// Waits until a stream was opened for the first time, or could not be.
    pub async fn is_prepared(&self) {
        let _ = self.shared.is_attempted.subscribe().wait_for(|is_attempted| *is_attempted).await;
    }

    /// Says what is wanted from now on.
    pub fn listen_to(&self, interest: Interest) {
        self.wanted.send_replace(Wanted { interest, is_relied_on: true });
    }

    /// Tells whether changes of lists would be heard of.
    pub fn is_listening(&self) -> bool {
        self.shared.is_listening.load(Ordering::Relaxed)
    }

    /// Waits until changes of a resource are heard of.
    pub async fn hears(&self, uri: &str) {
        let mut heard = self.shared.heard.subscribe();
        let _ =
            heard.wait_for(|heard| heard.as_ref().is_some_and(|heard| heard.honoured.contains(uri))).await;
    }

    /// Waits until the server was asked for some resources, and returns those of them that it tells of.
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

/// A stream that is being read.
struct Stream {
    number: u64,
    interest: Interest,
    /// The resources among it that the server tells of.
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
                        // First of all: a subscription that waits for this stream has missed nothing, and is not told.
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
                        // A server that refuses the token, or cannot do this, will not change its mind soon.
                        let is_refused = failure.kind == FailureKind::Unauthenticated;
                        let is_unable = matches!(failure.kind, FailureKind::Other | FailureKind::Forbidden);
                        let short = retry::pause(n_failures);
                        let pause = if is_unable || is_refused { UNABLE_PAUSE } else { short };
                        n_failures = (n_failures + 1).min(FAILURES_COUNTED_MAX);
                        tracing::info!(?pause, "no change notifications: {}; trying again", failure.message);
                        // It counts refusals and locks out who collects them: whatever the host wants, nothing is tried
                        // before a request of its own was served.
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
                        // A server that lets every stream end at once must not be asked in a circle.
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

    /// Opens a stream, waits until the server acknowledges it, and lets it be read from then on.
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

    /// Puts one stream in another's place.
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

    /// While nobody listened, anything may have changed.
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
