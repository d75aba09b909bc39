//! The state shared by the threads that serve one client.

use std::{
    io::{self, Write},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use mcp::{Answer, Call, Pending, Profile, Server, Session, Step};

use super::workers::Workers;
use crate::{
    large::{self, LargeText},
    outbox::{Finish, Outbox},
};

/// How often the log reports statistics, at level debug.
const REPORT_INTERVAL: Duration = Duration::from_secs(60);

/// Why serving ends.
#[derive(Debug)]
pub enum Ending {
    EndOfInput,
    Shutdown,
    Signal,
    ReadFailed(io::Error),
    WriteFailed(io::Error),
}

pub struct Connection {
    server: Arc<dyn Server>,
    state: Mutex<State>,
    /// Signalled only when a thread waits, because waking one costs more than most answers.
    changed: Condvar,
    pub outbox: Outbox,
    workers: Workers,
}

struct State {
    session: Session,
    /// Why serving ends; the first reason counts. The watcher takes it.
    ending: Option<Ending>,
    /// Serving ends: nothing more is read.
    is_ending: bool,
    /// The reader waits for input. Input that arrives after the decision to end is not handled.
    is_reading: bool,
    has_reader: bool,
    /// How many threads wait for calls to be answered.
    n_awaiting: usize,
    /// The watcher sleeps, because there was nothing to watch.
    is_watcher_asleep: bool,
    /// Large texts of answers whose batch is not complete.
    texts: Vec<LargeText>,
}

impl Connection {
    pub fn new(
        profile: Profile,
        server: Arc<dyn Server>,
        output: impl Write + Send + 'static,
        threads_max: usize,
    ) -> Arc<Self> {
        let label = format!("{:x}", std::process::id());
        let session = Session::stdio(Arc::new(profile), &label);
        let state = State {
            session,
            ending: None,
            is_ending: false,
            is_reading: false,
            has_reader: true,
            n_awaiting: 0,
            is_watcher_asleep: false,
            texts: Vec::new(),
        };
        Arc::new(Self {
            server,
            state: Mutex::new(state),
            changed: Condvar::new(),
            outbox: Outbox::new(output),
            workers: Workers::new(threads_max),
        })
    }

    /// Handles one line: answers it, runs it, or hands it to a worker. The messages of a batch obey the limit of
    /// requests in flight as if each had a line.
    pub fn handle(self: &Arc<Self>, line: &[u8]) {
        if line.trim_ascii().is_empty() {
            return;
        }
        let begun = catch_unwind(AssertUnwindSafe(|| {
            let arrived = mcp::read(line);
            self.lock().session.begin(arrived)
        }));
        let Ok(mut pending) = begun else {
            return self.outbox.push(&mcp::internal_error());
        };
        self.handle_next(&mut pending);
        while !pending.is_empty() && self.wait_for_capacity() {
            self.handle_next(&mut pending);
        }
    }

    fn handle_next(self: &Arc<Self>, pending: &mut Pending<'_>) {
        let mut state = self.lock();
        let handled = catch_unwind(AssertUnwindSafe(|| state.session.next(pending, Instant::now())));
        let steps = handled.unwrap_or_else(|_| vec![Step::Send(mcp::internal_error())]);
        self.tell_interest(&mut state);
        // Written under the lock: a subscription must be acknowledged before its first notification.
        for step in &steps {
            match step {
                Step::Send(message) => self.push(&mut state, message),
                Step::Stop => state.end(Ending::Shutdown),
                Step::Refused(id, error) => log_refusal(id.as_ref(), error),
                Step::Call(_) | Step::Cancel(_) => {}
            }
        }
        drop(state);
        self.workers.forget_cancelled();
        for step in steps {
            let Step::Call(call) = step else { continue };
            if self.server.is_quick(&call.request) {
                self.run(call);
            } else {
                let connection = self.clone();
                self.workers.submit(call, move |call| {
                    connection.run(call);
                    connection.write();
                });
                if self.lock().is_watcher_asleep {
                    self.changed.notify_all();
                }
            }
        }
    }

    pub fn refuse_large_message(&self) {
        tracing::error!("a message over {} bytes was rejected", mcp::MESSAGE_BYTES_MAX);
        self.outbox.push(&mcp::too_large());
    }

    /// Runs a call and sends its answer, whatever happens in between.
    fn run(&self, call: Call) {
        let ticket = call.ticket.clone();
        if ticket.is_cancelled() {
            return;
        }
        let method = ticket.method();
        let started = Instant::now();
        let send = |message: Vec<u8>| {
            self.outbox.push_if_room(&message);
            self.outbox.ask();
        };
        let answer = catch_unwind(AssertUnwindSafe(|| mcp::run(&*self.server, call, &send)));
        let texts = large::take();
        let answer = answer.unwrap_or_else(|_| {
            tracing::error!(req_id = %ticket.id, request_id = ticket.request_id(), "{method} panicked");
            Answer::internal_error(ticket.clone())
        });
        match &answer.error {
            Some(error) => {
                tracing::error!(req_id = %ticket.id, "{method}: {} ({})", error.message, error.code)
            }
            None => tracing::debug!(req_id = %ticket.id, duration = ?started.elapsed(), "{method}"),
        }
        let mut state = self.lock();
        match state.session.finish(answer) {
            Some(message) if !ticket.is_in_batch() && texts.is_empty() => self.outbox.push(&message),
            Some(message) if !ticket.is_in_batch() => {
                let (message, placed, _) = large::place(&message, texts);
                self.outbox.push_large(&message, placed);
            }
            message => {
                // Nothing is kept of an answer that was cancelled.
                let is_kept = ticket.is_in_batch() && !ticket.is_cancelled();
                state.texts.extend(texts.into_iter().filter(|_| is_kept));
                if let Some(message) = message {
                    self.push(&mut state, &message);
                }
            }
        }
        self.tell_interest(&mut state);
        if state.n_awaiting > 0 {
            self.changed.notify_all();
        }
    }

    /// Adds a message, with its large texts.
    fn push(&self, state: &mut State, message: &[u8]) {
        if state.texts.is_empty() {
            return self.outbox.push(message);
        }
        let (message, placed, others) = large::place(message, std::mem::take(&mut state.texts));
        state.texts = others;
        self.outbox.push_large(&message, placed);
    }

    /// Under the lock, so that the server gets the latest state last.
    fn tell_interest(&self, state: &mut State) {
        if let Some(interest) = state.session.new_interest() {
            self.server.interest(interest);
        }
    }

    /// Writes the waiting answers. An error ends serving, because the client can no longer be reached.
    pub fn write(&self) {
        if let Err(error) = self.outbox.write() {
            self.end(Ending::WriteFailed(error));
        }
    }

    /// Forwards the server's changes to the client from now on.
    pub fn watch_changes(self: Arc<Self>) {
        let server = self.server.clone();
        let connection = Arc::downgrade(&self);
        server.watch(Box::new(move |change| {
            let Some(connection) = connection.upgrade() else { return };
            let state = connection.lock();
            for message in state.session.notify(&change) {
                connection.outbox.push_note(message);
            }
            connection.outbox.ask();
        }));
    }

    /// Waits until another request may be handled; `false` if the client no longer reads answers.
    pub fn wait_for_capacity(&self) -> bool {
        if self.outbox.is_filling() || self.lock().session.is_full() {
            self.write();
        }
        let mut state = self.lock();
        while state.session.is_full() {
            state.n_awaiting += 1;
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.n_awaiting -= 1;
        }
        drop(state);
        self.outbox.wait_for_room()
    }

    /// Marks that the reader waits for input; `false` if it should stop.
    pub fn begin_reading(&self) -> bool {
        let mut state = self.lock();
        state.is_reading = !state.is_ending;
        if state.n_awaiting > 0 {
            self.changed.notify_all();
        }
        state.is_reading
    }

    /// Marks that input arrived; `false` if it was too late.
    pub fn end_reading(&self) -> bool {
        let mut state = self.lock();
        state.is_reading = false;
        !state.is_ending
    }

    /// Marks that the reader has ended, with the reason if it decided so.
    pub fn reader_ended(&self, ending: Option<Ending>) {
        let mut state = self.lock();
        state.has_reader = false;
        if let Some(ending) = ending {
            state.end(ending);
        }
        drop(state);
        self.changed.notify_all();
    }

    pub fn end(&self, ending: Ending) {
        self.lock().end(ending);
        self.changed.notify_all();
    }

    /// Times out slow calls until serving ends. Returns why it does.
    pub fn watch(&self, timeout: Duration, interval: Duration) -> Ending {
        let mut state = self.lock();
        loop {
            if let Some(ending) = state.ending.take() {
                return ending;
            }
            state = self.pause(state, timeout, interval);
        }
    }

    /// Waits a moment for the reader to reach the end of input; `false` if it does not.
    pub fn has_client_left(&self, patience: Duration) -> bool {
        let deadline = Instant::now() + patience;
        let mut state = self.lock();
        while state.has_reader {
            let left = deadline.saturating_duration_since(Instant::now());
            if left == Duration::ZERO {
                return false;
            }
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    /// Finishes all requests that were read, and writes all answers. Returns how that ended.
    pub fn drain(&self, patience: Duration, timeout: Duration, interval: Duration) -> Finish {
        let deadline = Instant::now() + patience;
        let mut state = self.lock();
        state.n_awaiting += 1;
        while state.has_unanswered() && Instant::now() < deadline + interval {
            state = self.pause(state, timeout, interval);
        }
        for message in state.session.close() {
            self.outbox.push(&message);
        }
        drop(state);
        self.workers.close();
        self.outbox.finish(patience)
    }

    fn pause<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        timeout: Duration,
        interval: Duration,
    ) -> MutexGuard<'a, State> {
        if !state.has_unanswered() {
            state.is_watcher_asleep = true;
            let (mut state, waited) =
                self.changed.wait_timeout(state, REPORT_INTERVAL).unwrap_or_else(PoisonError::into_inner);
            state.is_watcher_asleep = false;
            if waited.timed_out() {
                state.report();
            }
            return state;
        }
        let mut state = self.changed.wait_timeout(state, interval).unwrap_or_else(PoisonError::into_inner).0;
        for (ticket, message) in state.session.expire(Instant::now(), timeout) {
            tracing::error!(req_id = %ticket.id, "{} took longer than {timeout:?}", ticket.method());
            if let Some(message) = message {
                self.push(&mut state, &message);
                self.outbox.ask();
            }
            self.changed.notify_all();
        }
        self.tell_interest(&mut state);
        self.workers.forget_cancelled();
        state
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn end(&mut self, ending: Ending) {
        if !self.is_ending && self.ending.is_none() {
            // If the client does not read answers, the reader continues, to find out whether the client left or failed.
            self.is_ending = !matches!(ending, Ending::WriteFailed(_));
            self.ending = Some(ending);
        }
    }

    /// Logs memory use, to make leaks visible.
    fn report(&self) {
        tracing::debug!(
            requests = self.session.n_requests(),
            in_flight = self.session.n_in_flight(),
            resident_kib = resident_kib(),
            "still serving"
        );
    }

    fn has_unanswered(&self) -> bool {
        let is_handling = self.has_reader && !self.is_reading;
        is_handling || self.session.n_in_flight() > 0
    }
}

/// The current memory of this process; 0 if the system does not say.
fn resident_kib() -> u64 {
    const PAGE_KIB: u64 = 4;
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let n_pages: u64 = statm.split_whitespace().nth(1).and_then(|pages| pages.parse().ok()).unwrap_or(0);
    n_pages * PAGE_KIB
}

fn log_refusal(id: Option<&mcp::Id>, error: &mcp::Error) {
    match id {
        Some(id) if let Some(version) = error.received_version() => {
            let received_version = mcp::shown(version);
            tracing::warn!(req_id = %id, received_version, "{} ({})", error.message, error.code);
        }
        Some(id) => tracing::error!(req_id = %id, "{} ({})", error.message, error.code),
        None => tracing::error!("{} ({})", error.message, error.code),
    }
}
