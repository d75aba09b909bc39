//! The local store. It is opened during the handshake and not before, because some hosts start a server only to ask for its
//! capabilities.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use mcp::{Failure, FailureKind};
use ops::thread::LookBeside;
use ops::{Credentials, Engine};
use store::model::Via;
use store::revision::{self, Place};
use store::{Mode, Store, user};

use crate::requirements::{Requirements, Tools};
use crate::spexus::config::StoreConfig;
use crate::spexus::now;
use crate::tmkb::Patterns;

/// The pause before opening an unusable store again.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);
/// One agent sends few requests at once.
const CONNECTIONS: usize = 4;

/// The store, and the acting user.
pub struct Local {
    config: StoreConfig,
    credentials: Credentials,
    tools: Arc<Tools>,
    slot: Mutex<Slot>,
    /// Reads the agent's checkout.
    beside: Arc<OnceLock<LookBeside>>,
}

#[derive(Default)]
struct Slot {
    opened: Option<Opened>,
    failure: Option<(Instant, Failure)>,
}

/// An open store.
#[derive(Clone)]
pub struct Opened {
    /// The store.
    pub store: Store,
    /// The engine that runs operations on it.
    pub engine: Engine,
    /// The server that answers from it.
    pub server: Arc<Requirements>,
    /// The last change when it was opened; later ones are new to this session.
    pub place: Place,
}

impl Local {
    /// A store that is not open yet.
    pub fn new(config: StoreConfig, acting: Option<String>, tools: Arc<Tools>) -> Arc<Local> {
        let credentials = Credentials::LocalAgent(acting);
        Arc::new(Local { config, credentials, tools, slot: Mutex::default(), beside: Arc::default() })
    }

    /// Uses the agent's checkout from now on.
    pub fn join(&self, look: LookBeside) {
        // There is one checkout in a session.
        let _ = self.beside.set(look);
    }

    /// Opens the store on another thread.
    pub fn open_soon(self: Arc<Local>) {
        // Without a thread it is opened on first use.
        let _ = std::thread::Builder::new().name("store".into()).spawn(move || drop(self.server()));
    }

    /// The server that answers from the store.
    pub fn server(&self) -> Result<Arc<Requirements>, Failure> {
        self.opened().map(|opened| opened.server)
    }

    /// The same, if the store is open.
    pub fn server_if_open(&self) -> Option<Arc<Requirements>> {
        let slot = self.slot.try_lock().ok()?;
        slot.opened.as_ref().map(|opened| opened.server.clone())
    }

    /// The store, if it is open.
    pub fn store_if_open(&self) -> Option<Store> {
        let slot = self.slot.try_lock().ok()?;
        slot.opened.as_ref().map(|opened| opened.store.clone())
    }

    /// The acting user.
    pub fn credentials(&self) -> Credentials {
        self.credentials.clone()
    }

    /// The open store. Opening is retried from time to time, so that the server recovers when the store is
    /// repaired.
    pub fn opened(&self) -> Result<Opened, Failure> {
        let mut slot = self.slot.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(opened) = &slot.opened {
            return Ok(opened.clone());
        }
        if let Some((at, failure)) = &slot.failure
            && at.elapsed() < RETRY_INTERVAL
        {
            return Err(failure.clone());
        }
        match self.open() {
            Ok((store, place)) => {
                let beside = self.beside.clone();
                let look = move || beside.get().and_then(|look| look());
                let engine =
                    Engine::new(store.clone()).beside(Arc::new(look)).knowing(Arc::new(Patterns::default()));
                let server = Requirements::new(engine.clone(), self.credentials.clone(), self.tools.clone());
                Ok(slot.opened.insert(Opened { store, engine, server: Arc::new(server), place }).clone())
            }
            Err(message) => {
                tracing::error!("{message}");
                let failure = Failure::new(FailureKind::Unavailable, message);
                slot.failure = Some((Instant::now(), failure.clone()));
                Err(failure)
            }
        }
    }

    fn open(&self) -> Result<(Store, Place), String> {
        let store = self.config.open(CONNECTIONS)?;
        let request = ops::Request::new(Via::Mcp, now());
        let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", self.config.location);
        // Hosts keep the logs of servers, so no secret can be printed here. This also saves the memory and the time of hashing
        // a password.
        if ops::silent_first_start(&store, &request).map_err(|error| failed(&error))? {
            tracing::warn!(
                "a new store is at {}; `spexus token create` makes a token for it",
                self.config.location
            );
        }
        if self.credentials == Credentials::LocalAgent(None)
            && store.wait(Mode::Snapshot, user::count_enabled).map_err(|error| failed(&error))? > 1
        {
            tracing::warn!(
                "the store has several users and none was chosen, so that nothing can be changed; start with --as USER"
            );
        }
        let place = store.wait(Mode::Snapshot, revision::newest_place).map_err(|error| failed(&error))?;
        Ok((store, place))
    }
}
