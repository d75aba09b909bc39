//! The one door. Every call, whichever way it came, goes through [`Engine::call`]: who is asking, may they, is it the
//! same request again, a transaction, the operation, the commit.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use store::model::Time;
use store::{Cancel, Edition, Mode, Store, Tx, idempotency, token};

use crate::caller::{Caller, Credentials, Request, authenticate};
use crate::context::Cx;
use crate::error::{Error, FieldError, Kind, Result};
use crate::memory::{Memory, Question, SecretHash, TOUCH_EVERY_S};
use crate::operation::{Answer, Effect, Entry, Prepared};
use crate::progress::OnProgress;
use crate::secret;

/// A call of an operation.
pub struct Call {
    /// The operation.
    pub entry: &'static Entry,
    /// Its arguments: a JSON object.
    pub arguments: Value,
    /// What the caller shows.
    pub credentials: Credentials,
    /// The circumstances.
    pub request: Request,
    /// Makes the same call twice happen once.
    pub idempotency_key: Option<String>,
    /// Gives the call up when nobody waits for it any more.
    pub cancel: Option<Cancel>,
    /// Hears how far the call has come.
    pub progress: Option<OnProgress>,
}

impl Call {
    /// A call that has no key, is not given up, and tells nobody how far it is.
    pub fn new(entry: &'static Entry, arguments: Value, credentials: Credentials, request: Request) -> Call {
        Call { entry, arguments, credentials, request, idempotency_key: None, cancel: None, progress: None }
    }
}

/// What came of a call.
#[derive(Debug)]
pub struct Reply {
    /// The answer, or why there is none.
    pub result: Result<Answer>,
    /// Who asked, where that was found out.
    pub caller: Option<Caller>,
    /// Whether it is the answer to an earlier call with the same key.
    pub replayed: bool,
}

/// Decides whether a known caller may go on: rate limits.
pub type Gate = dyn Fn(&Caller) -> Result<()> + Send + Sync;

/// Runs operations on a store.
#[derive(Clone)]
pub struct Engine {
    store: Store,
    gate: Option<Arc<Gate>>,
    running: Arc<Mutex<HashSet<String>>>,
    memory: Arc<Memory>,
}

/// How long the key of an idempotent request may be.
const KEY_MAX: usize = 255;

impl Engine {
    /// An engine on a store.
    pub fn new(store: Store) -> Engine {
        Engine { store, gate: None, running: Arc::default(), memory: Arc::default() }
    }

    /// The same engine behind a gate.
    #[must_use]
    pub fn behind(mut self, gate: Arc<Gate>) -> Engine {
        self.gate = Some(gate);
        self
    }

    /// The store.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// How many reads were answered from memory, because nothing was written since they were answered before.
    pub fn n_recalled(&self) -> u64 {
        self.memory.n_recalled()
    }

    /// Runs a call and hands what came of it to `done`, on whatever thread it ran.
    pub fn call(&self, call: Call, done: impl FnOnce(Reply) + Send + 'static) {
        let Call { entry, arguments, credentials, request, idempotency_key, cancel, progress } = call;
        let key = match idempotency_key.filter(|_| entry.takes_key()) {
            Some(key)
                if key.is_empty()
                    || key.len() > KEY_MAX
                    || !key.bytes().all(|byte| byte.is_ascii_graphic()) =>
            {
                let message = format!("expected 1 to {KEY_MAX} visible ASCII characters");
                return done(Reply {
                    result: Err(Error::field("Idempotency-Key", message)),
                    caller: None,
                    replayed: false,
                });
            }
            Some(key) => Some((key, hash_of(&arguments))),
            None => None,
        };
        let edition = self.store.edition();
        let is_kept = edition.is_some() && entry.keeps;
        let mut run = Run {
            engine: self.clone(),
            edition,
            question: is_kept.then(|| Question::new(entry.name, &arguments)),
            entry,
            credentials,
            request,
            key,
            cancel,
            progress,
            caller: None,
            admitted: false,
            replayed: false,
            claimed: None,
        };
        if let Some(result) = run.recall() {
            return done(run.reply(result));
        }
        match entry.parse(arguments) {
            // Who may not ask is told that first, and not what is wrong with the question.
            Err(error) => self.admit(run, move |run, admitted| done(run.reply(admitted.and(Err(error))))),
            Ok(operation) if (self.store.is_remote() || entry.mode == Mode::Point) && !entry.prepares => {
                // Every journey to another machine counts, and here a short read is done where it is asked for:
                // everything happens in one.
                run.start(operation, done);
            }
            Ok(operation) => self.admit(run, move |run, admitted| match admitted {
                Err(error) => done(run.reply(Err(error))),
                Ok(()) if entry.prepares => run.prepare(operation, done),
                Ok(()) => run.start(operation, done),
            }),
        }
    }

    /// Like [`Engine::call`], and waits for it. Not for asynchronous callers.
    pub fn wait(&self, call: Call) -> Reply {
        let (sender, receiver) = std::sync::mpsc::sync_channel(1);
        self.call(call, move |reply| {
            let _ = sender.send(reply);
        });
        receiver.recv().unwrap_or_else(|_| Reply {
            result: Err(Error::new(Kind::InternalError, "the call was dropped")),
            caller: None,
            replayed: false,
        })
    }

    /// Finds out who is asking, without doing anything.
    pub fn identify(
        &self,
        credentials: Credentials,
        now: Time,
        done: impl FnOnce(Result<Option<Caller>>) + Send + 'static,
    ) {
        let edition = self.store.edition();
        if let Some(caller) = self.recall_caller(edition, &credentials, now) {
            return done(caller.map(Some));
        }
        let engine = self.clone();
        self.store.run(Mode::Point, move |tx| engine.authenticate(tx, edition, &credentials, now), done);
    }

    /// Who is asking, where that is known without a look into the store.
    fn recall_caller(
        &self,
        edition: Option<Edition>,
        credentials: &Credentials,
        now: Time,
    ) -> Option<Result<Caller>> {
        match credentials {
            Credentials::Known(caller) => Some(Ok((**caller).clone())),
            Credentials::Bearer(secret) => {
                let caller = self.memory.caller(edition?, &SecretHash(secret::hash(secret)))?;
                Some(caller.check_time(now).map(|()| (*caller).clone()))
            }
            Credentials::None | Credentials::Local(_) => None,
        }
    }

    /// Finds out who is asking, in a transaction that has written nothing, and remembers it for the edition that was
    /// current before.
    fn authenticate(
        &self,
        tx: &mut Tx<'_>,
        edition: Option<Edition>,
        credentials: &Credentials,
        now: Time,
    ) -> Result<Option<Caller>> {
        let caller = authenticate(tx, credentials, now)?;
        if let (Some(caller), Credentials::Bearer(secret)) = (&caller, credentials)
            && let Some(edition) = self.unchanged(edition)
        {
            self.memory.keep_caller(edition, SecretHash(secret::hash(secret)), caller.clone());
        }
        Ok(caller)
    }

    /// The edition, if it is still current.
    fn unchanged(&self, edition: Option<Edition>) -> Option<Edition> {
        edition.filter(|_| self.store.edition() == edition)
    }

    fn admit(&self, mut run: Run, next: impl FnOnce(Run, Result<()>) + Send + 'static) {
        if let Some(admitted) = run.recall_admission() {
            return next(run, admitted);
        }
        let run = Arc::new(Mutex::new(Some(run)));
        let handle = run.clone();
        let body = move |tx: &mut Tx<'_>| with(&handle, |run| run.admit(tx));
        self.store.run(Mode::Point, body, move |admitted: Result<()>| {
            let run = run.lock().unwrap_or_else(PoisonError::into_inner).take();
            next(run.expect("a run is taken once"), admitted);
        });
    }
}

/// One call on its way.
struct Run {
    engine: Engine,
    /// The edition of the store before anything was read.
    edition: Option<Edition>,
    /// What is asked, where the answer may be kept.
    question: Option<Question>,
    entry: &'static Entry,
    credentials: Credentials,
    request: Request,
    key: Option<(String, String)>,
    cancel: Option<Cancel>,
    progress: Option<OnProgress>,
    caller: Option<Caller>,
    admitted: bool,
    replayed: bool,
    /// The key in the set of running calls, while this one holds it.
    claimed: Option<String>,
}

impl Run {
    fn reply(self, result: Result<Answer>) -> Reply {
        let now = self.request.now;
        if let Some(caller) = self.caller.as_ref().filter(|_| result.is_ok())
            && let Some(id) = caller.token_id.as_ref()
            && caller.last_used_at.is_none_or(|last| last.plus_seconds(TOUCH_EVERY_S) <= now)
            && self.engine.memory.touch(id, now)
        {
            let id = id.clone();
            // Nobody waits for it, and a token whose use could not be noted still worked.
            self.engine.store.run(Mode::Aside, move |tx| token::touch(tx, &id, now), |_| {});
        }
        if let Some(claimed) = &self.claimed {
            self.engine.running.lock().unwrap_or_else(PoisonError::into_inner).remove(claimed);
        }
        Reply { result, caller: self.caller, replayed: self.replayed }
    }

    /// Checks who is asking and whether they may. Does nothing the second time.
    fn admit(&mut self, tx: &mut Tx<'_>) -> Result<()> {
        if let Some(admitted) = self.recall_admission() {
            return admitted;
        }
        let caller = self.engine.authenticate(tx, self.edition, &self.credentials, self.request.now)?;
        self.let_in(caller)
    }

    /// The same, where it is known without a look into the store who is asking. None where it is not.
    fn recall_admission(&mut self) -> Option<Result<()>> {
        if self.admitted {
            return Some(Ok(()));
        }
        let caller = self.engine.recall_caller(self.edition, &self.credentials, self.request.now)?;
        Some(caller.and_then(|caller| self.let_in(Some(caller))))
    }

    /// What the same question was answered with, if nothing was written since.
    fn recall(&mut self) -> Option<Result<Answer>> {
        let answer = self.engine.memory.answer(self.edition?, self.question.as_ref()?)?;
        Some(self.recall_admission()?.map(|()| answer))
    }

    /// Remembers what was answered, if nothing was written meanwhile.
    fn remember(&self, result: &Result<Answer>) {
        if let (Some(question), Ok(answer)) = (self.question, result)
            && let Some(edition) = self.engine.unchanged(self.edition)
        {
            self.engine.memory.keep_answer(edition, question, answer);
        }
    }

    /// Lets a caller in who may do this.
    fn let_in(&mut self, caller: Option<Caller>) -> Result<()> {
        match &caller {
            None if self.entry.effect == Effect::Public => {}
            None => return Err(Error::new(Kind::Unauthenticated, "a token is required")),
            Some(caller) => {
                self.caller = Some(caller.clone());
                // Who was found out before has passed the gate then.
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

    /// Notes that a request with this key is running in this process.
    fn claim(&mut self) -> Result<()> {
        let (Some((key, _)), Some(caller)) = (&self.key, &self.caller) else { return Ok(()) };
        let claimed = format!("{} {} {key}", caller.user_id, self.entry.name);
        let mut running = self.engine.running.lock().unwrap_or_else(PoisonError::into_inner);
        if running.insert(claimed.clone()) {
            self.claimed = Some(claimed);
            return Ok(());
        }
        let error = Error::new(Kind::StillRunning, "a request with this Idempotency-Key is still running");
        Err(Error { retry_after_s: Some(1), ..error })
    }

    /// Does what is slow, off the thread that writes, and then the rest.
    fn prepare(self, operation: Box<dyn Prepared>, done: impl FnOnce(Reply) + Send + 'static) {
        let (engine, cancel) = (self.engine.clone(), self.cancel.clone());
        let state = Arc::new(Mutex::new(Some((self, operation))));
        let handle = state.clone();
        let body = move |tx: &mut Tx<'_>| -> Result<()> {
            let mut state = handle.lock().unwrap_or_else(PoisonError::into_inner);
            let (run, operation) = state.as_mut().expect("a run is taken once");
            let mut cx = Cx::new(tx, &run.request, run.entry.name, run.caller.as_ref());
            operation.prepare(&mut cx)
        };
        engine.store.run_unless(cancel, Mode::Snapshot, body, move |prepared: Result<()>| {
            let state = state.lock().unwrap_or_else(PoisonError::into_inner).take();
            let (run, operation) = state.expect("a run is taken once");
            match prepared {
                Ok(()) => run.start(operation, done),
                Err(error) => done(run.reply(Err(error))),
            }
        });
    }

    /// Runs the operation in its transaction.
    fn start(self, operation: Box<dyn Prepared>, done: impl FnOnce(Reply) + Send + 'static) {
        let (engine, cancel) = (self.engine.clone(), self.cancel.clone());
        let mode = self.entry.mode;
        let run = Arc::new(Mutex::new(Some(self)));
        let handle = run.clone();
        let body = move |tx: &mut Tx<'_>| with(&handle, |run| run.execute(tx, &*operation));
        engine.store.run_unless(cancel, mode, body, move |result: Result<Result<Answer>>| {
            let run = run.lock().unwrap_or_else(PoisonError::into_inner).take();
            let (run, result) = (run.expect("a run is taken once"), result.and_then(|answer| answer));
            run.remember(&result);
            done(run.reply(result));
        });
    }

    /// An outer error undoes everything; an inner one is an answer that is kept for the key.
    fn execute(&mut self, tx: &mut Tx<'_>, operation: &dyn Prepared) -> Result<Result<Answer>> {
        self.admit(tx)?;
        let (Some((key, hash)), Some(caller)) = (&self.key, &self.caller) else {
            let mut cx = Cx::new(tx, &self.request, self.entry.name, self.caller.as_ref())
                .telling(self.progress.as_ref());
            return operation.run(&mut cx).map(Ok);
        };
        let name = self.entry.name;
        if !idempotency::claim(tx, &caller.user_id, name, key, hash, self.request.now)? {
            self.replayed = true;
            return replay(tx, &caller.user_id, name, key, hash).map(Ok);
        }
        let (request, progress) = (&self.request, self.progress.as_ref());
        let result =
            tx.savepoint(|tx| operation.run(&mut Cx::new(tx, request, name, Some(caller)).telling(progress)));
        let kept = match &result {
            Ok(answer) => Kept::Answer {
                json: answer.json.clone(),
                version: answer.version,
                reference: answer.reference.clone(),
            },
            Err(error) if error.kind.is_callers() => Kept::Error {
                code: error.kind.code().to_owned(),
                message: error.message.clone(),
                fields: error.fields.clone(),
                more: error.more.clone(),
            },
            Err(error) => return Err(error.clone()),
        };
        let text = serde_json::to_string(&kept)
            .map_err(|error| Error::new(Kind::InternalError, error.to_string()))?;
        idempotency::keep(tx, &caller.user_id, name, key, 1, &text)?;
        Ok(result)
    }
}

/// An answer as it is kept for a key.
#[derive(Serialize, Deserialize)]
enum Kept {
    Answer { json: String, version: Option<i64>, reference: Option<String> },
    Error { code: String, message: String, fields: Vec<FieldError>, more: Option<Box<Value>> },
}

/// What is kept in the place of an answer whose text was erased for good.
pub(crate) fn erased() -> Result<String> {
    let kept = Kept::Error {
        code: Kind::NotFound.code().to_owned(),
        message: "what this request was about has been purged, and the answer with it".to_owned(),
        fields: Vec::new(),
        more: None,
    };
    serde_json::to_string(&kept).map_err(|error| Error::new(Kind::InternalError, error.to_string()))
}

fn replay(tx: &mut Tx<'_>, user_id: &str, operation: &str, key: &str, hash: &str) -> Result<Answer> {
    let found = idempotency::find(tx, user_id, operation, key)?;
    let Some(found) = found.filter(|found| found.status != 0) else {
        let error = Error::new(Kind::StillRunning, "a request with this Idempotency-Key is still running");
        return Err(Error { retry_after_s: Some(1), ..error });
    };
    if found.body_hash != hash {
        let message = "this Idempotency-Key was used with another request; use a new key for a new request";
        return Err(Error::new(Kind::IdempotencyKeyReused, message));
    }
    match serde_json::from_str(&found.answer) {
        Ok(Kept::Answer { json, version, reference }) => Ok(Answer { json, version, reference }),
        Ok(Kept::Error { code, message, fields, more }) => {
            let kind = Kind::from_code(&code).unwrap_or(Kind::InternalError);
            Err(Error { fields, more, ..Error::new(kind, message) })
        }
        Err(error) => Err(Error::new(Kind::InternalError, format!("a kept answer is damaged: {error}"))),
    }
}

/// The hash of arguments, whatever the order of their fields.
fn hash_of(arguments: &Value) -> String {
    let mut sorted = arguments.clone();
    sorted.sort_all_objects();
    blake3::hash(sorted.to_string().as_bytes()).to_hex().to_string()
}

fn with<T>(run: &Mutex<Option<Run>>, body: impl FnOnce(&mut Run) -> Result<T>) -> Result<T> {
    let mut run = run.lock().unwrap_or_else(PoisonError::into_inner);
    body(run.as_mut().expect("a run is taken once"))
}
