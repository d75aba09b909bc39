//! Threads for slower calls, started on first use.

use std::{
    collections::VecDeque,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
};

use mcp::Call;

#[derive(Clone)]
pub struct Workers(Arc<Shared>);

struct Shared {
    queue: Mutex<Queue>,
    added: Condvar,
    threads_max: usize,
}

#[derive(Default)]
struct Queue {
    calls: VecDeque<Call>,
    n_threads: usize,
    n_idle: usize,
    is_closed: bool,
}

impl Workers {
    /// Creates a pool that runs some calls concurrently and queues others. The queue is bounded by the limit of calls in flight.
    pub fn new(threads_max: usize) -> Self {
        let (queue, added) = (Mutex::default(), Condvar::new());
        Self(Arc::new(Shared { queue, added, threads_max }))
    }

    /// Queues a call for `run`, which does not panic: [`super::connection`] ensures that.
    pub fn submit(&self, call: Call, run: impl Fn(Call) + Send + Sync + 'static) {
        let mut queue = self.lock();
        queue.calls.push_back(call);
        let is_busy = queue.n_idle < queue.calls.len();
        if is_busy && queue.n_threads < self.0.threads_max {
            let run = Arc::new(run);
            let (shared, running) = (self.0.clone(), run.clone());
            let started = thread::Builder::new().spawn(move || work(&shared, &*running));
            queue.n_threads += usize::from(started.is_ok());
            // If the system provides no thread at all, the reading thread runs it.
            if queue.n_threads == 0
                && let Some(call) = queue.calls.pop_back()
            {
                drop(queue);
                return run(call);
            }
        }
        let is_someone_idle = queue.n_idle > 0;
        drop(queue);
        if is_someone_idle {
            self.0.added.notify_one();
        }
    }

    /// Removes cancelled calls from the queue.
    pub fn forget_cancelled(&self) {
        self.lock().calls.retain(|call| !call.ticket.is_cancelled());
    }

    /// Lets the threads end when the queue is empty.
    pub fn close(&self) {
        self.lock().is_closed = true;
        self.0.added.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.0.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn work(shared: &Shared, run: impl Fn(Call)) {
    let mut queue = shared.queue.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        match queue.calls.pop_front() {
            Some(call) => {
                drop(queue);
                run(call);
                queue = shared.queue.lock().unwrap_or_else(PoisonError::into_inner);
            }
            None if queue.is_closed => return,
            None => {
                queue.n_idle += 1;
                queue = shared.added.wait(queue).unwrap_or_else(PoisonError::into_inner);
                queue.n_idle -= 1;
            }
        }
    }
}
