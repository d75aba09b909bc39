//! A bounded queue of calls, and threads that wait for them. The thread that has waited least gets
//! the next call, because the plans and pages of its connection are still cached; in rotation, each thread
//! would have to build and keep the same caches.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::job::Job;
use crate::error::{Error, ErrorKind};

/// Beyond this many calls, a caller gets "try again later" instead of waiting longer than any client would.
const WAITING_MAX: usize = 10_000;

/// Longer than any process runs.
const FOREVER: Duration = Duration::from_secs(1 << 32);

/// What came.
pub(super) enum Next {
    Job(Box<dyn Job>),
    Nothing,
    Closed,
}

pub(super) struct Queue {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Box<dyn Job>>,
    /// How to wake each waiting thread, the most recent last.
    idle: Vec<Arc<Condvar>>,
    closed: bool,
}

impl Queue {
    pub(super) fn new() -> Queue {
        Queue { state: Mutex::default() }
    }

    pub(super) fn push(&self, mut job: Box<dyn Job>) {
        let mut state = self.lock();
        if state.jobs.len() < WAITING_MAX && !state.closed {
            state.jobs.push_back(job);
            let idle = state.idle.pop();
            drop(state);
            if let Some(idle) = idle {
                idle.notify_one();
            }
            return;
        }
        drop(state);
        job.fail(Error::new(ErrorKind::Unavailable, "too many calls wait for the database"));
        job.finish();
    }

    /// Waits for the next call; none if the queue is closed and empty.
    pub(super) fn pop(&self) -> Option<Box<dyn Job>> {
        match self.pop_within(FOREVER) {
            Next::Job(job) => Some(job),
            Next::Nothing | Next::Closed => None,
        }
    }

    /// Waits for the next call, with a time limit.
    pub(super) fn pop_within(&self, patience: Duration) -> Next {
        let mut state = self.lock();
        let mut own = None;
        let started = Instant::now();
        loop {
            if let Some(job) = state.jobs.pop_front() {
                return Next::Job(job);
            }
            if state.closed {
                return Next::Closed;
            }
            let left = patience.saturating_sub(started.elapsed());
            if left.is_zero() {
                return Next::Nothing;
            }
            let own = own.get_or_insert_with(|| Arc::new(Condvar::new()));
            state.idle.push(own.clone());
            state = own.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
            // Threads may wake spuriously, and then are still in the list.
            state.idle.retain(|idle| !Arc::ptr_eq(idle, own));
        }
    }

    /// The next call, if one waits and `wanted` accepts it.
    pub(super) fn pop_if(&self, wanted: impl Fn(&dyn Job) -> bool) -> Option<Box<dyn Job>> {
        let mut state = self.lock();
        if wanted(&**state.jobs.front()?) { state.jobs.pop_front() } else { None }
    }

    pub(super) fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        for idle in state.idle.drain(..) {
            idle.notify_one();
        }
    }

    pub(super) fn len(&self) -> usize {
        self.lock().jobs.len()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
