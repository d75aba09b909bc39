//! A few threads for calls that take longer, started when they are first needed.

use std::{
    collections::VecDeque,
    sync::{Arc, Condvar, Mutex, PoisonError},
    thread,
};

/// More would only make them wait for each other.
const THREADS_MAX: usize = 8;

type Job = Box<dyn FnOnce() + Send>;

#[derive(Clone, Default)]
pub struct Workers(Arc<Shared>);

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    added: Condvar,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
    n_threads: usize,
    n_idle: usize,
}

impl Workers {
    /// Runs a job soon. Jobs do not panic: [`super::connection`] sees to that.
    pub fn submit(&self, job: impl FnOnce() + Send + 'static) {
        let mut queue = self.0.queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.jobs.push_back(Box::new(job));
        let is_busy = queue.n_idle < queue.jobs.len();
        if is_busy && queue.n_threads < THREADS_MAX {
            queue.n_threads += 1;
            let shared = self.0.clone();
            thread::spawn(move || work(&shared));
        }
        let is_someone_idle = queue.n_idle > 0;
        drop(queue);
        if is_someone_idle {
            self.0.added.notify_one();
        }
    }
}

fn work(shared: &Shared) {
    let mut queue = shared.queue.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        match queue.jobs.pop_front() {
            Some(job) => {
                drop(queue);
                job();
                queue = shared.queue.lock().unwrap_or_else(PoisonError::into_inner);
            }
            None => {
                queue.n_idle += 1;
                queue = shared.added.wait(queue).unwrap_or_else(PoisonError::into_inner);
                queue.n_idle -= 1;
            }
        }
    }
}
