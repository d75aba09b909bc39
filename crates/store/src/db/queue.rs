//! Calls that wait for a thread, with a bound.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::job::Job;
use crate::error::{Error, ErrorKind};

/// Beyond this many, a caller is told to come back later instead of waiting for a time that nobody waits.
const WAITING_MAX: usize = 10_000;

pub(super) struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    jobs: VecDeque<Box<dyn Job>>,
    closed: bool,
}

impl Queue {
    pub(super) fn new() -> Queue {
        Queue { state: Mutex::new(State { jobs: VecDeque::new(), closed: false }), changed: Condvar::new() }
    }

    pub(super) fn push(&self, mut job: Box<dyn Job>) {
        let mut state = self.lock();
        if state.jobs.len() < WAITING_MAX && !state.closed {
            state.jobs.push_back(job);
            drop(state);
            self.changed.notify_one();
            return;
        }
        drop(state);
        job.fail(Error::new(ErrorKind::Unavailable, "too many calls wait for the database"));
        job.finish();
    }

    /// Waits for the next call; none when the queue is closed and empty.
    pub(super) fn pop(&self) -> Option<Box<dyn Job>> {
        let mut state = self.lock();
        loop {
            if let Some(job) = state.jobs.pop_front() {
                return Some(job);
            }
            if state.closed {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// The next call, if one waits and `wanted` says so.
    pub(super) fn pop_if(&self, wanted: impl Fn(&dyn Job) -> bool) -> Option<Box<dyn Job>> {
        let mut state = self.lock();
        if wanted(&**state.jobs.front()?) { state.jobs.pop_front() } else { None }
    }

    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_all();
    }

    pub(super) fn len(&self) -> usize {
        self.lock().jobs.len()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
