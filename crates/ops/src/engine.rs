//! The single entry point. Every call from every surface goes through [`Engine::call`]: authentication, authorization,
//! idempotency key, transaction, operation, commit.

mod again;
mod run;
mod running;
mod touched;

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use serde_json::Value;
use store::model::Time;
use store::{Cancel, Mode, Store, Workers};

use self::again::Refused;
pub(crate) use self::again::erased;
use self::run::Run;
pub use self::running::Running;
use self::touched::Touched;
use crate::caller::{Caller, Credentials, Request, authenticate};
use crate::error::{Error, ErrorKind, Result};
use crate::identity::Issuers;
use crate::operation::{Answer, Entry};
use crate::progress::OnProgress;
use crate::sink::Sink;
use crate::thread::LookBeside;
use crate::threat::ThreatLibrary;
use crate::upload::Upload;

/// A call of an operation.
pub struct Call {
    /// The operation.
    pub entry: &'static Entry,
    /// Its arguments: a JSON object.
    pub arguments: Value,
    /// The caller's credentials.
    pub credentials: Credentials,
    /// The circumstances.
    pub request: Request,
    /// The key that makes repeated calls execute once.
    pub idempotency_key: Option<String>,
    /// Cancels the call.
    pub cancel: Option<Cancel>,
    /// Receives the progress.
    pub progress: Option<OnProgress>,
    /// Receives the file of an export, which is then not in the answer.
    pub sink: Option<Box<dyn Sink>>,
    /// The file of an import, which is then not in the arguments.
    pub upload: Option<Upload>,
}

impl Call {
    /// A call without a key, cancellation and progress.
    pub fn new(entry: &'static Entry, arguments: Value, credentials: Credentials, request: Request) -> Call {
        Call {
            entry,
            arguments,
            credentials,
            request,
            idempotency_key: None,
            cancel: None,
            progress: None,
            sink: None,
            upload: None,
        }
    }
}

/// The result of a call.
#[derive(Debug)]
pub struct Reply {
    /// The answer, or the error.
    pub result: Result<Answer>,
    /// The caller, if identified.
    pub caller: Option<Caller>,
    /// Whether it is the stored answer of an earlier call with the same key.
    pub replayed: bool,
    /// The arguments, if they could not be parsed, so that a transport can report all mistakes in them.
    pub rejected: Option<Value>,
}

impl Reply {
    /// A failure without further information.
    pub fn failed(error: Error) -> Reply {
        Reply { result: Err(error), caller: None, replayed: false, rejected: None }
    }
}

/// Decides whether an identified caller may continue: rate limits.
pub type Gate = dyn Fn(&Caller) -> Result<()> + Send + Sync;

/// Runs operations on a store.
#[derive(Clone)]
pub struct Engine {
    store: Store,
    gate: Option<Arc<Gate>>,
    issuers: Arc<Issuers>,
    look_beside: Option<LookBeside>,
    threats: Option<Arc<dyn ThreatLibrary>>,
    running: Arc<Mutex<HashSet<String>>>,
    touched: Arc<Touched>,
    workers: Arc<Workers>,
}

impl Engine {
    /// An engine on a store.
    pub fn new(store: Store) -> Engine {
        Engine {
            store,
            gate: None,
            issuers: Arc::default(),
            look_beside: None,
            threats: None,
            running: Arc::default(),
            touched: Arc::default(),
            workers: Arc::default(),
        }
    }

    /// The same engine with a gate.
    #[must_use]
    pub fn behind(mut self, gate: Arc<Gate>) -> Engine {
        self.gate = Some(gate);
        self
    }

    /// The same engine, which accepts identity tokens of CI runs from these issuers.
    #[must_use]
    pub fn trusting(mut self, issuers: Issuers) -> Engine {
        self.issuers = Arc::new(issuers);
        self
    }

    /// The same engine, whose callers work in a checkout on this machine.
    #[must_use]
    pub fn beside(mut self, look: LookBeside) -> Engine {
        self.look_beside = Some(look);
        self
    }

    /// The same engine with a threat library.
    #[must_use]
    pub fn knowing(mut self, threats: Arc<dyn ThreatLibrary>) -> Engine {
        self.threats = Some(threats);
        self
    }

    /// The store.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Runs a call and passes the result to `done`, on whatever thread it ran.
    pub fn call(&self, mut call: Call, done: impl FnOnce(Reply) + Send + 'static) {
        let entry = call.entry;
        // Before the transaction, because reading the checkout may query the store.
        if let Some(look) = self.look_beside.as_ref().filter(|_| entry.looks_beside) {
            call.request.checkout = look();
        }
        call.request.threats.clone_from(&self.threats);
        let key = match again::key(&call) {
            Ok(key) => key,
            Err(error) => return done(Reply::failed(error)),
        };
        let (mut run, arguments) = Run::new(self.clone(), call, key);
        let parsed = entry.parse(&arguments);
        if parsed.is_err() {
            run.reject(arguments);
        } else {
            // The file of an import is large; keep only one copy from here on.
            drop(arguments);
        }
        match parsed {
            // With a key, an error in the arguments is stored like any other answer.
            Err(error) if run.has_key() => run.start(Box::new(Refused(error)), done),
            // Report missing rights before mistakes in the arguments.
            Err(error) => run.let_in_first(move |run, admitted| done(run.reply(admitted.and(Err(error))))),
            Ok(operation)
                if (self.store.is_remote() || entry.mode == Mode::Point)
                    && !(entry.prepares || operation.computes()) =>
            {
                // Every round trip to the database counts, and here a short read runs on the calling thread:
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

    /// Like [`Engine::call`], but waits for the result. Not for asynchronous callers.
    pub fn wait(&self, call: Call) -> Reply {
        let (sender, receiver) = std::sync::mpsc::sync_channel(1);
        self.call(call, move |reply| {
            let _ = sender.send(reply);
        });
        let dropped = |_| Reply::failed(Error::new(ErrorKind::InternalError, "the call was dropped"));
        receiver.recv().unwrap_or_else(dropped)
    }

    /// Identifies the caller without running an operation.
    pub fn identify(
        &self,
        credentials: Credentials,
        now: Time,
        done: impl FnOnce(Result<Option<Caller>>) + Send + 'static,
    ) {
        if let Credentials::Known(caller) = credentials {
            return done(Ok(Some(*caller)));
        }
        self.store.run(Mode::Point, move |tx| authenticate(tx, &credentials, now), done);
    }

    /// Like [`Engine::identify`], but waits for the result. Not for asynchronous callers.
    pub fn who(&self, credentials: Credentials, now: Time) -> Result<Option<Caller>> {
        let (sender, receiver) = std::sync::mpsc::sync_channel(1);
        self.identify(credentials, now, move |caller| {
            let _ = sender.send(caller);
        });
        receiver.recv().unwrap_or_else(|_| Err(Error::new(ErrorKind::InternalError, "the call was dropped")))
    }
}
