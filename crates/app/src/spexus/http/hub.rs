//! One task reads changes from the store and tells everybody who listens.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use ops::{Engine, Error, ErrorKind};
use store::Mode;
use store::revision::{self, Change, Place};
use tokio::sync::{Notify, broadcast, oneshot, watch};

use super::holder::HolderWatch;

/// Changes that a slow listener may be behind before it is told to begin anew.
const BEHIND_MAX: usize = 4_096;
/// Changes that are read at once.
pub(super) const READ_AT_ONCE: i64 = 500;
/// Other processes write to the same file without a word; while someone listens, the store is looked at this often.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Where others say when they have written, it is only looked at in case that they could not.
pub(super) const LOOK_EVERY_REMOTE: Duration = Duration::from_secs(5);
/// Tells listeners about changes.
#[derive(Clone)]
pub struct Hub {
    pub(super) shared: Arc<Shared>,
}

pub(super) struct Shared {
    pub(super) engine: Engine,
    pub(super) changes: broadcast::Sender<Arc<Change>>,
    pub(super) poked: Notify,
    pub(super) listeners: AtomicUsize,
    /// Whether every change from now on will be told. A listener begins where it is sure to miss nothing.
    pub(super) following: watch::Sender<bool>,
    pub(super) closed: AtomicBool,
    pub(super) ended: Notify,
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

pub(super) async fn read(engine: &Engine, after: Place) -> Result<Vec<Change>, Error> {
    let read = move |tx: &mut store::Tx<'_>| {
        let mut changes = revision::changes_after(tx, after, READ_AT_ONCE)?;
        revision::address(tx, &mut changes)?;
        Ok(changes)
    };
    ask(engine, read).await
}

pub(super) async fn ask<T: Send + 'static>(
    engine: &Engine,
    body: impl FnMut(&mut store::Tx<'_>) -> store::Result<T> + Send + 'static,
) -> Result<T, Error> {
    let (sender, receiver) = oneshot::channel();
    engine.store().run(Mode::Snapshot, body, move |result: store::Result<T>| {
        let _ = sender.send(result);
    });
    match receiver.await {
        Ok(result) => result.map_err(Error::from),
        Err(_) => Err(Error::new(ErrorKind::InternalError, "the store dropped the question")),
    }
}
