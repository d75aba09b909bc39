//! The one door. Every call, whichever way it came, goes through [`Engine::call`]: who is asking, may they, is it the
//! same request again, a transaction, the operation, the commit.

mod again;
mod run;
mod running;

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use serde_json::Value;
use store::model::Time;
use store::{Cancel, Edition, Mode, Store, Tx, Workers};

use self::again::Refused;
pub(crate) use self::again::erased;
use self::run::Run;
pub use self::running::Running;
use crate::caller::{Caller, Credentials, Request, authenticate};
use crate::error::{Error, Kind, Result};
use crate::memory::{Memory, SecretHash};
use crate::operation::{Answer, Entry};
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
    /// The arguments, where they could not be parsed, so that a transport can say all that is wrong with them.
    pub rejected: Option<Value>,
}

impl Reply {
    /// A failure of a call of which nothing else is known.
    pub fn failed(error: Error) -> Reply {
        Reply { result: Err(error), caller: None, replayed: false, rejected: None }
    }
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
    workers: Arc<Workers>,
}

impl Engine {
    /// An engine on a store.
    pub fn new(store: Store) -> Engine {
        Engine { store, gate: None, running: Arc::default(), memory: Arc::default(), workers: Arc::default() }
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
        let entry = call.entry;
        let key = match again::key(&call) {
            Ok(key) => key,
            Err(error) => return done(Reply::failed(error)),
        };
        let (mut run, arguments) = Run::new(self.clone(), call, key);
        if let Some(result) = run.recall() {
            return done(run.reply(result));
        }
        let parsed = entry.parse(&arguments);
        if parsed.is_err() {
            run.reject(arguments);
        } else {
            // An import is large: from here on there is one copy of it.
            drop(arguments);
        }
        match parsed {
            // With a key, that the arguments are wrong is an answer like any other.
            Err(error) if run.has_key() => run.start(Box::new(Refused(error)), done),
            // Report missing rights before mistakes in the arguments.
            Err(error) => run.let_in_first(move |run, admitted| done(run.reply(admitted.and(Err(error))))),
            Ok(operation)
                if (self.store.is_remote() || entry.mode == Mode::Point)
                    && !(entry.prepares || operation.computes()) =>
            {
                // Every journey to another machine counts, and here a short read is done where it is asked for:
                // everything happens in one.
                run.start(operation, done);
            }
            Ok(operation) => run.let_in_first(move |run, admitted| match admitted {
                Err(error) => done(run.reply(Err(error))),
                Ok(()) if entry.prepares => run.prepare(operation, done),
                Ok(()) => run.compute(operation, done),
            }),
        }
    }

    /// Like [`Engine::call`], and waits for it. Not for asynchronous callers.
    pub fn wait(&self, call: Call) -> Reply {
        let (sender, receiver) = std::sync::mpsc::sync_channel(1);
        self.call(call, move |reply| {
            let _ = sender.send(reply);
        });
        let dropped = |_| Reply::failed(Error::new(Kind::InternalError, "the call was dropped"));
        receiver.recv().unwrap_or_else(dropped)
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

    /// Like [`Engine::identify`], and waits for it. Not for asynchronous callers.
    pub fn who(&self, credentials: Credentials, now: Time) -> Result<Option<Caller>> {
        let (sender, receiver) = std::sync::mpsc::sync_channel(1);
        self.identify(credentials, now, move |caller| {
            let _ = sender.send(caller);
        });
        receiver.recv().unwrap_or_else(|_| Err(Error::new(Kind::InternalError, "the call was dropped")))
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
}
