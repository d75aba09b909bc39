//! A few threads for calls that take longer, started when they are first needed.

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
    /// Signalled when there is room in the queue, if somebody waits for that.
    taken: Condvar,
    threads_max: usize,
    waiting_max: usize,
}

#[derive(Default)]
struct Queue {
    calls: VecDeque<Call>,
    n_threads: usize,
    n_idle: usize,
    n_submitting: usize,
    is_closed: bool,
}

impl Workers {
    /// Makes what runs some calls at a time, while others wait.
    pub fn new(threads_max: usize, waiting_max: usize) -> Self {
        let (queue, added, taken) = (Mutex::default(), Condvar::new(), Condvar::new());
        Self(Arc::new(Shared { queue, added, taken, threads_max, waiting_max }))
    }

    /// Runs a call soon, with `run`, which does not panic: [`super::connection`] sees to that. Where many wait already,
    /// as those of a batch may, it waits for room.
    pub fn submit(&self, call: Call, run: impl Fn(Call) + Send + Sync + 'static) {
        let mut queue = self.lock();
        while queue.calls.len() >= self.0.waiting_max && !queue.is_closed {
            queue.n_submitting += 1;
            queue = self.0.taken.wait(queue).unwrap_or_else(PoisonError::into_inner);
            queue.n_submitting -= 1;
        }
        queue.calls.push_back(call);
        let is_busy = queue.n_idle < queue.calls.len();
        if is_busy && queue.n_threads < self.0.threads_max {
            let run = Arc::new(run);
            let (shared, running) = (self.0.clone(), run.clone());
            let started = thread::Builder::new().spawn(move || work(&shared, &*running));
            queue.n_threads += usize::from(started.is_ok());
            // Where the system gives us no thread at all, the one that reads has to do.
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

    /// Forgets calls that nobody waits for any more, and what they hold.
    pub fn forget_cancelled(&self) {
        let mut queue = self.lock();
        queue.calls.retain(|call| !call.ticket.is_cancelled());
        self.0.tell_room(&queue);
    }

    /// Lets the threads end when they have nothing to do any more.
    pub fn close(&self) {
        self.lock().is_closed = true;
        self.0.added.notify_all();
        self.0.taken.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.0.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shared {
    fn tell_room(&self, queue: &Queue) {
        if queue.n_submitting > 0 && queue.calls.len() < self.waiting_max {
            self.taken.notify_all();
        }
    }
}

fn work(shared: &Shared, run: impl Fn(Call)) {
    let mut queue = shared.queue.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        match queue.calls.pop_front() {
            Some(call) => {
                shared.tell_room(&queue);
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

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::{Duration, Instant};

    use mcp::{Profile, Session, Step};

    use super::*;

    #[test]
    fn calls_wait_to_be_submitted_where_many_wait_already() {
        let mut session = Session::stdio(Arc::new(Profile::new("test", "1")), "test");
        let mut call = |id: usize| {
            let meta = r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}"#;
            let line = format!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":"server/discover","params":{{"_meta":{meta}}}}}"#
            );
            let steps = session.handle(line.as_bytes(), Instant::now());
            steps.into_iter().find_map(|step| if let Step::Call(call) = step { Some(call) } else { None })
        };
        let calls: Vec<Call> = (0..10).map(|id| call(id).expect("a call")).collect();
        let workers = Workers::new(1, 2);
        let (sender, submitted) = mpsc::channel();
        let (go_on, may_go_on) = mpsc::channel::<()>();
        let may_go_on = Arc::new(Mutex::new(may_go_on));
        let (ran, n_run) = mpsc::channel();
        let submitting = workers.clone();
        let submitter = thread::spawn(move || {
            for call in calls {
                let (may_go_on, ran) = (may_go_on.clone(), ran.clone());
                submitting.submit(call, move |_| {
                    let _ = may_go_on.lock().unwrap().recv();
                    let _ = ran.send(());
                });
                let _ = sender.send(());
            }
        });
        // One runs, two wait, and nobody takes more.
        for _ in 0..3 {
            submitted.recv_timeout(Duration::from_secs(20)).unwrap();
        }
        assert!(submitted.recv_timeout(Duration::from_millis(100)).is_err());
        assert_eq!(workers.lock().calls.len(), 2);
        drop(go_on);
        submitter.join().unwrap();
        for _ in 0..10 {
            n_run.recv_timeout(Duration::from_secs(20)).unwrap();
        }
    }
}
