//! The local store. It is opened beside the handshake and not before it, since some hosts start a server only to ask what
//! it can do.

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

/// A store that could not be opened is not tried again sooner than this.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);
/// One agent asks a few things at once.
const CONNECTIONS: usize = 4;

/// The store, and who acts on it.
pub struct Local {
    config: StoreConfig,
    credentials: Credentials,
    tools: Arc<Tools>,
    slot: Mutex<Slot>,
    /// How the checkout is looked at that the agent works in.
    beside: Arc<OnceLock<LookBeside>>,
}

#[derive(Default)]
struct Slot {
    opened: Option<Opened>,
    failure: Option<(Instant, Failure)>,
}

/// What is known of a store that is open.
#[derive(Clone)]
pub struct Opened {
    /// The store.
    pub store: Store,
    /// What answers from it.
    pub server: Arc<Requirements>,
    /// What had happened when it was opened; whatever comes after is new to this session.
    pub place: Place,
}

impl Local {
    /// A store that nobody has opened yet.
    pub fn new(config: StoreConfig, acting: Option<String>, tools: Arc<Tools>) -> Arc<Local> {
        let credentials = Credentials::LocalAgent(acting);
        Arc::new(Local { config, credentials, tools, slot: Mutex::default(), beside: Arc::default() })
    }

    /// Joins the checkout that the agent works in, from now on.
    pub fn join(&self, look: LookBeside) {
        // There is one checkout in a session.
        let _ = self.beside.set(look);
    }

    /// Opens the store on another thread.
    pub fn open_soon(self: Arc<Local>) {
        // Without a thread it is opened by the first who needs it.
        let _ = std::thread::Builder::new().name("store".into()).spawn(move || drop(self.server()));
    }

    /// What answers from the store.
    pub fn server(&self) -> Result<Arc<Requirements>, Failure> {
        self.opened().map(|opened| opened.server)
    }

    /// What answers from the store, if it is open.
    pub fn server_if_open(&self) -> Option<Arc<Requirements>> {
        let slot = self.slot.try_lock().ok()?;
        slot.opened.as_ref().map(|opened| opened.server.clone())
    }

    /// The store, if it is open.
    pub fn store_if_open(&self) -> Option<Store> {
        let slot = self.slot.try_lock().ok()?;
        slot.opened.as_ref().map(|opened| opened.store.clone())
    }

    /// Who acts on the store.
    pub fn credentials(&self) -> Credentials {
        self.credentials.clone()
    }

    /// The open store. One that could not be opened is tried again now and then, so that the server recovers when it is
    /// mended.
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
                let server = Requirements::new(engine, self.credentials.clone(), self.tools.clone());
                Ok(slot.opened.insert(Opened { store, server: Arc::new(server), place }).clone())
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
        // Hosts keep what servers log, so that no secret can be told here. It also saves the memory and the time of hashing
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
