//! Notifications of changes between processes on the same database.
//!
//! A `notify` inside a transaction would serialize commits. So it is sent after the commit, and
//! once for all commits of a short period; if a process ends before it sends one, others find the change by
//! polling.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use fallible_iterator::FallibleIterator;

use super::super::Mode;
use super::super::job::Task;
use super::super::queue::Queue;
use super::super::signal::Signal;
use super::connect::Connector;
use crate::error::{Error, ErrorKind, Result};

/// Commits within this time share one notification.
const TOGETHER: Duration = Duration::from_millis(20);
/// How long one statement may wait for the database before it is given up.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often a listener checks whether its store is closed, and the pause before reopening a lost connection.
const LOOK: Duration = Duration::from_millis(500);

/// Sends notifications.
pub(super) struct Notifier {
    queue: Arc<Queue>,
    signal: Weak<Signal>,
    /// Whether this process receives its own notifications.
    is_heard: AtomicBool,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    is_due: bool,
    has_thread: bool,
    is_closed: bool,
}

impl Notifier {
    pub(super) fn new(queue: Arc<Queue>, signal: Weak<Signal>) -> Notifier {
        Notifier {
            queue,
            signal,
            is_heard: AtomicBool::new(false),
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    /// Notifies others, now or shortly.
    pub(super) fn notify(self: &Arc<Self>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.is_due = true;
        if state.has_thread {
            drop(state);
            self.changed.notify_one();
            return;
        }
        let notifier = self.clone();
        let thread = std::thread::Builder::new().name("store notifier".to_owned());
        state.has_thread = thread.spawn(move || notifier.run()).is_ok();
    }

    pub(super) fn close(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).is_closed = true;
        self.changed.notify_one();
    }

    fn run(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        while !state.is_closed {
            if !state.is_due {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            state.is_due = false;
            drop(state);
            self.send();
            std::thread::sleep(TOGETHER);
            state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn send(&self) {
        if !self.is_heard.load(Ordering::Relaxed)
            && let Some(signal) = self.signal.upgrade()
        {
            signal.raise();
        }
        let body = |tx: &mut super::super::Tx<'_>| tx.script("notify spexus_change");
        // A failure is harmless, because others also poll.
        let task = Task::new(Mode::Point, Instant::now() + PATIENCE, None, body, |_: Result<()>| {});
        self.queue.push(Box::new(task));
    }
}

/// Raises the signal whenever another process, or this one, has changed something, until the store is closed.
pub(super) fn listen(connector: Arc<Connector>, notifier: Arc<Notifier>, signal: Weak<Signal>) -> Result<()> {
    let thread = std::thread::Builder::new().name("store listener".to_owned());
    let run = move || {
        while signal.strong_count() > 0 {
            // The connection was lost, or could not be opened: notifications may have been missed.
            if hear(&connector, &notifier.is_heard, &signal).is_none() {
                notifier.is_heard.store(false, Ordering::Relaxed);
                std::thread::sleep(LOOK);
            }
        }
    };
    thread
        .spawn(run)
        .map(drop)
        .map_err(|error| Error::new(ErrorKind::Unavailable, format!("no thread for the store: {error}")))
}

/// None if the connection is lost.
fn hear(connector: &Connector, is_heard: &AtomicBool, signal: &Weak<Signal>) -> Option<()> {
    let mut client = connector.connect().ok()?.client;
    client.batch_execute("listen spexus_change").ok()?;
    is_heard.store(true, Ordering::Relaxed);
    loop {
        signal.upgrade()?.raise();
        while !has_heard(&mut client)? {
            signal.upgrade()?;
        }
    }
}

/// Waits for a notification, for a short time.
fn has_heard(client: &mut postgres::Client) -> Option<bool> {
    let has_heard = client.notifications().timeout_iter(LOOK).next().ok()?.is_some();
    // Simultaneous notifications mean the same.
    while client.notifications().iter().next().ok()?.is_some() {}
    if client.is_closed() { None } else { Some(has_heard) }
}
