//! Threads for work that must not block a thread with a connection: hashing passwords. Password guessing
//! occupies these threads only, and if too many jobs wait, the next one is rejected.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use crate::error::{Error, ErrorKind, Result};

/// How many jobs may wait. Hashing takes about 30 ms, so the last one waits for two seconds on one thread.
const WAITING_MAX: usize = 64;

/// A job. It receives an error at once if too many others wait.
type Job = Box<dyn FnOnce(Result<()>) + Send>;

/// The threads, which start with the first job and end after the last.
pub struct Workers {
    threads_max: usize,
    queue: Arc<Mutex<Queue>>,
}

#[derive(Default)]
struct Queue {
    n_threads: usize,
    waiting: VecDeque<Job>,
}

impl Default for Workers {
    /// Half of the processors, so that the others remain for other requests.
    fn default() -> Self {
        let n_processors = thread::available_parallelism().map_or(1, usize::from);
        Workers::new((n_processors / 2).max(1))
    }
}

impl Workers {
    fn new(threads_max: usize) -> Workers {
        Workers { threads_max, queue: Arc::default() }
    }

    /// Runs a job on one of the threads, or rejects it on this one.
    pub fn run(&self, job: impl FnOnce(Result<()>) + Send + 'static) {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        if queue.waiting.len() >= WAITING_MAX {
            drop(queue);
            return job(Err(busy()));
        }
        queue.waiting.push_back(Box::new(job));
        if queue.n_threads == self.threads_max {
            return;
        }
        let shared = self.queue.clone();
        let started = thread::Builder::new().name("passwords".to_owned()).spawn(move || work(&shared));
        if started.is_ok() {
            queue.n_threads += 1;
        } else if queue.n_threads == 0 {
            // The system has no thread to give, and nobody else would take the job.
            let job = queue.waiting.pop_back();
            drop(queue);
            job.into_iter().for_each(|job| job(Err(busy())));
        }
    }
}

/// Takes jobs until there are none.
fn work(queue: &Mutex<Queue>) {
    loop {
        let job = {
            let mut queue = queue.lock().unwrap_or_else(PoisonError::into_inner);
            match queue.waiting.pop_front() {
                Some(job) => job,
                None => {
                    queue.n_threads -= 1;
                    return;
                }
            }
        };
        // A panicking job drops its call, which is reported there; the thread continues with the next job.
        let _ = catch_unwind(AssertUnwindSafe(|| job(Ok(()))));
    }
}

fn busy() -> Error {
    Error::new(ErrorKind::Unavailable, "too many passwords are being checked; try again shortly")
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Arc, Mutex, mpsc};

    use super::{WAITING_MAX, Workers};
    use crate::error::ErrorKind;

    #[test]
    fn jobs_run_a_few_at_a_time_and_too_many_are_rejected() {
        const THREADS: usize = 3;
        let workers = Workers::new(THREADS);
        let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (go, wait) = mpsc::channel::<()>();
        let wait = Arc::new(Mutex::new(wait));
        let (started, has_started) = mpsc::channel();
        let (done, outcomes) = mpsc::channel();
        let submit = || {
            let (running, most, wait) = (running.clone(), most.clone(), wait.clone());
            let (started, done) = (started.clone(), done.clone());
            workers.run(move |admitted| {
                if let Err(error) = &admitted {
                    assert_eq!(error.kind, ErrorKind::Unavailable);
                } else {
                    most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    started.send(()).expect("the test waits");
                    let _ = wait.lock().expect("no panic").recv();
                    running.fetch_sub(1, Ordering::SeqCst);
                }
                done.send(admitted.is_ok()).expect("the test waits");
            });
        };
        for _ in 0..THREADS {
            submit();
            has_started.recv().expect("a job on a thread of its own");
        }
        for _ in 0..WAITING_MAX + 2 {
            submit();
        }
        assert_eq!((outcomes.recv(), outcomes.recv()), (Ok(false), Ok(false)), "two too many");
        for _ in 0..THREADS + WAITING_MAX {
            go.send(()).expect("jobs wait");
        }
        for _ in 0..THREADS + WAITING_MAX {
            assert_eq!(outcomes.recv(), Ok(true));
        }
        assert_eq!(most.load(Ordering::SeqCst), THREADS);
    }

    #[test]
    fn a_job_that_panics_takes_no_thread_with_it() {
        let workers = Workers::new(1);
        let (done, is_done) = mpsc::channel();
        workers.run(|_| panic!("as in a test"));
        workers.run(move |_| done.send(()).expect("the test waits"));
        assert_eq!(is_done.recv(), Ok(()));
    }
}
