//! The execution of one call: the caller is identified once, then the operation runs.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use store::{Cancel, Mode, Tx, idempotency, session, token};

use super::{Call, Engine, Reply, Running, again};
use crate::caller::{Caller, Credentials, Request, authenticate};
use crate::context::Cx;
use crate::error::{Error, ErrorKind, Result};
use crate::operation::{Answer, Effect, Entry, Prepared};
use crate::progress::OnProgress;
use crate::sink::Sink;
use crate::upload::Upload;

/// How often an operation is retried after a constraint violation.
const REFUSALS_MAX: u32 = 4;

/// A call in execution.
pub struct Run {
    engine: Engine,
    entry: &'static Entry,
    credentials: Credentials,
    request: Request,
    key: Option<(String, String)>,
    cancel: Option<Cancel>,
    progress: Option<OnProgress>,
    sink: Option<Box<dyn Sink>>,
    upload: Option<Upload>,
    caller: Option<Caller>,
    admitted: bool,
    replayed: bool,
    rejected: Option<Value>,
    /// The key in the set of running calls, while this call holds it.
    claimed: Option<String>,
    /// How often a constraint has rejected values that the operation had found to be free.
    n_refusals: u32,
}

impl Run {
    /// A call before its execution, and its arguments.
    pub fn new(engine: Engine, call: Call, key: Option<(String, String)>) -> (Run, Value) {
        let run = Run {
            engine,
            entry: call.entry,
            credentials: call.credentials,
            request: call.request,
            key,
            cancel: call.cancel,
            progress: call.progress,
            sink: call.sink,
            upload: call.upload,
            caller: None,
            admitted: false,
            replayed: false,
            rejected: None,
            claimed: None,
            n_refusals: 0,
        };
        (run, call.arguments)
    }

    /// Keeps arguments that could not be parsed, for the reply.
    pub fn reject(&mut self, arguments: Value) {
        self.rejected = Some(arguments);
    }

    /// Whether the call has an idempotency key.
    pub fn has_key(&self) -> bool {
        self.key.is_some()
    }

    /// The result, when nothing more is to be done.
    pub fn reply(self, result: Result<Answer>) -> Reply {
        let now = self.request.now;
        if let Some(caller) = self.caller.as_ref().filter(|_| result.is_ok())
            && self.engine.touched.is_due(caller, now)
        {
            let (session_id, token_id) = (caller.session_id.clone(), caller.token_id.clone());
            let body = move |tx: &mut Tx<'_>| {
                session_id.iter().try_for_each(|id| session::touch(tx, id, now))?;
                token_id.iter().try_for_each(|id| token::touch(tx, id, now))
            };
            // Nobody waits for it, and failing to record the use does not invalidate the token.
            self.engine.store.run(Mode::Aside, body, |_: store::Result<()>| {});
        }
        if let Some(claimed) = &self.claimed {
            self.engine.running.lock().unwrap_or_else(PoisonError::into_inner).remove(claimed);
        }
        Reply { result, caller: self.caller, replayed: self.replayed, rejected: self.rejected }
    }

    /// Authenticates and authorizes before anything else, in a separate transaction.
    pub fn let_in_first(mut self, next: impl FnOnce(Run, Result<()>) + Send + 'static) {
        if let Credentials::Known(caller) = &self.credentials {
            let caller = (**caller).clone();
            let admitted = self.let_in(Some(caller));
            return next(self, admitted);
        }
        let engine = self.engine.clone();
        let run = Arc::new(Mutex::new(Some(self)));
        let handle = run.clone();
        let body = move |tx: &mut Tx<'_>| with(&handle, |run| run.admit(tx));
        engine.store.run(Mode::Point, body, move |admitted: Result<()>| {
            let run = run.lock().unwrap_or_else(PoisonError::into_inner).take();
            next(run.expect("a run is taken once"), admitted);
        });
    }

    /// Authenticates and authorizes. Does nothing the second time.
    fn admit(&mut self, tx: &mut Tx<'_>) -> Result<()> {
        if self.admitted {
            return Ok(());
        }
        let caller = authenticate(tx, &self.credentials, self.request.now)?;
        self.let_in(caller)
    }

    /// Authorizes the caller.
    fn let_in(&mut self, caller: Option<Caller>) -> Result<()> {
        match &caller {
            None if self.entry.effect == Effect::Public => {}
            None => return Err(Error::new(ErrorKind::Unauthenticated, "a token is required")),
            Some(caller) => {
                self.caller = Some(caller.clone());
                // A caller who was identified before has passed the gate then.
                let is_known = matches!(self.credentials, Credentials::Known(_));
                if let Some(gate) = self.engine.gate.as_ref().filter(|_| !is_known) {
                    gate(caller)?;
                }
                caller.may(self.entry.effect)?;
            }
        }
        self.admitted = true;
        self.claim()
    }

    /// Records that a request with this key is running in this process.
    fn claim(&mut self) -> Result<()> {
        let (Some((key, _)), Some(caller)) = (&self.key, &self.caller) else { return Ok(()) };
        let claimed = format!("{} {} {key}", caller.user_id, self.entry.name);
        let mut running = self.engine.running.lock().unwrap_or_else(PoisonError::into_inner);
        if running.insert(claimed.clone()) {
            self.claimed = Some(claimed);
            return Ok(());
        }
        Err(again::still_running())
    }

    /// Does slow work outside of the writing thread, then the rest.
    pub fn prepare(self, operation: Box<dyn Prepared>, done: impl FnOnce(Reply) + Send + 'static) {
        let (engine, cancel) = (self.engine.clone(), self.cancel.clone());
        let mode = if self.entry.is_unbounded { Mode::LongSnapshot } else { Mode::Snapshot };
        let state = Arc::new(Mutex::new(Some((self, operation))));
        let handle = state.clone();
        let body = move |tx: &mut Tx<'_>| -> Result<()> {
            let mut state = handle.lock().unwrap_or_else(PoisonError::into_inner);
            let (run, operation) = state.as_mut().expect("a run is taken once");
            let _working = run.running().begin();
            let mut cx = Cx::new(tx, &run.request, run.entry.doing(), run.caller.as_ref())
                .telling(run.progress.as_ref());
            cx.upload = run.upload.take();
            operation.prepare(&mut cx)
        };
        engine.store.run_unless(cancel, mode, body, move |prepared: Result<()>| {
            let state = state.lock().unwrap_or_else(PoisonError::into_inner).take();
            let (run, operation) = state.expect("a run is taken once");
            match prepared {
                Ok(()) => run.compute(operation, done),
                Err(error) => done(run.reply(Err(error))),
            }
        });
    }

    /// Does work that needs no store, if any, then runs the operation.
    pub fn compute(self, mut operation: Box<dyn Prepared>, done: impl FnOnce(Reply) + Send + 'static) {
        if !operation.computes() {
            return self.do_parts(operation, done);
        }
        self.engine.workers.clone().run(move |admitted| {
            let _working = self.running().begin();
            let is_cancelled = self.cancel.as_ref().is_some_and(Cancel::is_cancelled);
            let computed = match admitted {
                Ok(()) if is_cancelled => {
                    Err(Error::new(ErrorKind::Timeout, "the caller no longer waits for the answer"))
                }
                Ok(()) => operation.compute(&self.engine.issuers),
                Err(busy) => Err(busy.into()),
            };
            match computed {
                Ok(()) => self.do_parts(operation, done),
                Err(error) => done(self.reply(Err(error))),
            }
        });
    }

    /// Runs the parts of the operation one after the other, then the rest. Each part queues behind other
    /// writers. The first can be cancelled; once begun, it is finished.
    fn do_parts(self, operation: Box<dyn Prepared>, done: impl FnOnce(Reply) + Send + 'static) {
        match operation.n_parts() {
            0 => self.start(operation, done),
            n_parts => self.do_part(operation, 0, n_parts, done),
        }
    }

    fn do_part(
        mut self,
        operation: Box<dyn Prepared>,
        index: usize,
        n_parts: usize,
        done: impl FnOnce(Reply) + Send + 'static,
    ) {
        let (engine, mode) = (self.engine.clone(), self.entry.mode);
        let cancel = if index == 0 { self.cancel.take() } else { None };
        let state = Arc::new(Mutex::new(Some((self, operation))));
        let handle = state.clone();
        let body = move |tx: &mut Tx<'_>| -> Result<bool> {
            let mut state = handle.lock().unwrap_or_else(PoisonError::into_inner);
            let (run, operation) = state.as_mut().expect("a run is taken once");
            if index == 0 && run.is_answered(tx)? {
                return Ok(true);
            }
            let _working = run.running().begin();
            let mut cx = Cx::new(tx, &run.request, run.entry.doing(), run.caller.as_ref())
                .telling(run.progress.as_ref());
            let result = operation.part(&mut cx, index);
            note_race(tx, &result, &mut run.n_refusals);
            result.map(|()| false)
        };
        engine.store.run_unless(cancel, mode, body, move |is_answered: Result<bool>| {
            let state = state.lock().unwrap_or_else(PoisonError::into_inner).take();
            let (run, operation) = state.expect("a run is taken once");
            match is_answered {
                Err(error) => done(run.reply(Err(operation.interrupted(error, index)))),
                Ok(false) if index + 1 < n_parts => run.do_part(operation, index + 1, n_parts, done),
                Ok(_) => run.start(operation, done),
            }
        });
    }

    /// Whether the same request was answered before.
    fn is_answered(&self, tx: &mut Tx<'_>) -> Result<bool> {
        match (&self.key, &self.caller) {
            (Some((key, _)), Some(caller)) => {
                Ok(idempotency::find(tx, &caller.user_id, self.entry.name, key)?.is_some())
            }
            _ => Ok(false),
        }
    }

    /// Runs the operation in its transaction.
    pub fn start(mut self, operation: Box<dyn Prepared>, done: impl FnOnce(Reply) + Send + 'static) {
        let (engine, cancel) = (self.engine.clone(), self.cancel.clone());
        let mode = operation.mode().unwrap_or(self.entry.mode);
        // Reads may be executed repeatedly.
        if matches!(mode, Mode::Point | Mode::Snapshot | Mode::LongSnapshot) {
            self.key = None;
        }
        let run = Arc::new(Mutex::new(Some(self)));
        let handle = run.clone();
        let body = move |tx: &mut Tx<'_>| with(&handle, |run| run.execute(tx, &*operation));
        engine.store.run_unless(cancel, mode, body, move |result: Result<Result<Answer>>| {
            let run = run.lock().unwrap_or_else(PoisonError::into_inner).take();
            let (run, result) = (run.expect("a run is taken once"), result.and_then(|answer| answer));
            done(run.reply(result));
        });
    }

    fn running(&self) -> Arc<Running> {
        Arc::new(Running {
            request_id: self.request.request_id.clone().unwrap_or_default(),
            user: self.caller.as_ref().map_or("-", |caller| caller.username.as_str()).to_owned(),
            operation: self.entry.name.into(),
        })
    }

    /// An outer error undoes everything; an inner one is an answer that is stored for the key.
    fn execute(&mut self, tx: &mut Tx<'_>, operation: &dyn Prepared) -> Result<Result<Answer>> {
        self.replayed = false;
        self.admit(tx)?;
        let _working = self.running().begin();
        let (Some((key, hash)), Some(caller)) = (&self.key, &self.caller) else {
            let mut cx = Cx::new(tx, &self.request, self.entry.doing(), self.caller.as_ref())
                .telling(self.progress.as_ref())
                .writing_to(self.sink.as_deref_mut());
            let result = operation.run(&mut cx);
            note_race(tx, &result, &mut self.n_refusals);
            return result.map(Ok);
        };
        let name = self.entry.name;
        if !idempotency::claim(tx, &caller.user_id, name, key, hash, self.request.now)? {
            self.replayed = true;
            return again::replay(tx, caller, self.entry.doing(), key, hash, &self.request).map(Ok);
        }
        let (request, progress) = (&self.request, self.progress.as_ref());
        let doing = self.entry.doing();
        let mut projects = String::new();
        let result = tx.savepoint(|tx| {
            let mut cx = Cx::new(tx, request, doing, Some(caller)).telling(progress);
            let result = operation.run(&mut cx);
            projects = cx.projects_met();
            result
        });
        note_race(tx, &result, &mut self.n_refusals);
        again::keep(tx, &caller.user_id, name, key, &result, &projects)?;
        Ok(result)
    }
}

/// Lets the store run the operation again if another transaction was faster. What was stored for a key is undone, too.
fn note_race<T>(tx: &mut Tx<'_>, result: &Result<T>, n_refusals: &mut u32) {
    let Some(error) = result.as_ref().err().filter(|error| error.lost_race) else { return };
    // A constraint that fails repeatedly is reported to the caller.
    if error.kind.is_callers() {
        *n_refusals += 1;
    }
    if *n_refusals <= REFUSALS_MAX {
        tx.lose_race();
    }
}

fn with<T>(run: &Mutex<Option<Run>>, body: impl FnOnce(&mut Run) -> Result<T>) -> Result<T> {
    let mut run = run.lock().unwrap_or_else(PoisonError::into_inner);
    body(run.as_mut().expect("a run is taken once"))
}
