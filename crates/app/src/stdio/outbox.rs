//! What waits to be written to stdout. One thread writes; everyone else only adds whole messages.

use std::{
    io::{self, Write},
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// When this much waits, no more requests are read until the client has taken some of it.
const WAITING_BYTES_MAX: usize = 16 * 1024 * 1024;

/// A buffer that grew beyond this is given back when it is empty.
const KEPT_BYTES_MAX: usize = 1024 * 1024;

#[derive(Default)]
pub struct Outbox {
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

#[derive(Default)]
struct Waiting {
    bytes: Vec<u8>,
    is_writing: bool,
    is_finished: bool,
    is_broken: bool,
}

impl Outbox {
    /// Adds a message. It never waits: who produces answers must not depend on who reads them.
    pub fn push(&self, message: &[u8]) {
        let mut waiting = self.lock();
        if waiting.is_broken {
            return;
        }
        waiting.bytes.reserve(message.len() + 1);
        waiting.bytes.extend_from_slice(message);
        waiting.bytes.push(b'\n');
        let is_first = waiting.bytes.len() == message.len() + 1;
        drop(waiting);
        if is_first {
            self.changed.notify_all();
        }
    }

    /// Adds a message that may as well be lost, such as a report of progress, if there is room.
    pub fn push_if_room(&self, message: &[u8]) {
        if self.lock().bytes.len() < WAITING_BYTES_MAX {
            self.push(message);
        }
    }

    /// Waits until there is room for the answers to more requests; `false` if there never will be.
    pub fn wait_for_room(&self) -> bool {
        let mut waiting = self.lock();
        while waiting.bytes.len() >= WAITING_BYTES_MAX && !waiting.is_broken && !waiting.is_finished {
            waiting = self.changed.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
        !waiting.is_broken
    }

    /// Writes what comes, several messages at once when they queue, until [`Outbox::finish`] or an error.
    pub fn write_to(&self, mut output: impl Write) -> io::Result<()> {
        let mut writing = Vec::new();
        loop {
            let mut waiting = self.lock();
            waiting.is_writing = false;
            if waiting.bytes.is_empty() {
                self.changed.notify_all();
            }
            while waiting.bytes.is_empty() {
                if waiting.is_finished {
                    return Ok(());
                }
                waiting = self.changed.wait(waiting).unwrap_or_else(PoisonError::into_inner);
            }
            std::mem::swap(&mut waiting.bytes, &mut writing);
            waiting.is_writing = true;
            let was_full = writing.len() >= WAITING_BYTES_MAX;
            drop(waiting);
            if was_full {
                self.changed.notify_all();
            }
            if let Err(error) = output.write_all(&writing).and_then(|()| output.flush()) {
                let mut waiting = self.lock();
                waiting.is_broken = true;
                waiting.is_writing = false;
                waiting.bytes = Vec::new();
                self.changed.notify_all();
                return Err(error);
            }
            writing.clear();
            if writing.capacity() > KEPT_BYTES_MAX {
                writing = Vec::new();
            }
        }
    }

    /// Says that no more messages come and waits until the last one is written; `false` if the client
    /// does not take them in time.
    pub fn finish(&self, deadline: Instant) -> bool {
        let mut waiting = self.lock();
        waiting.is_finished = true;
        self.changed.notify_all();
        while (waiting.is_writing || !waiting.bytes.is_empty()) && !waiting.is_broken {
            let left = deadline.saturating_duration_since(Instant::now());
            if left == Duration::ZERO {
                return false;
            }
            waiting = self.changed.wait_timeout(waiting, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        !waiting.is_broken
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
