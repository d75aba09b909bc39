//! Refused authentications: logged, counted, and noted in the audit trail, which strangers cannot fill.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use ops::Error;
use store::Mode;
use store::audit::{self, NewEvent};

use super::App;
use super::address::counted;
use super::limits::KEYS_MAX;
use crate::spexus::now;

/// An address has one row in the audit trail in this time; the log has a line for each refusal.
const NOTED_EVERY: Duration = Duration::from_secs(60);

/// What somebody tried to prove who they are with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tried {
    /// Nothing: they are told to say who they are, and nothing is written.
    Nothing,
    /// A token or a session.
    Token,
    /// The code of a sign-in link.
    Link,
    /// The password of a user, to log in.
    Login(String),
    /// The password of a user who is known by a token or a session.
    Password(String),
}

impl Tried {
    /// The user whose password was tried.
    pub fn name(&self) -> Option<&str> {
        match self {
            Tried::Nothing | Tried::Token | Tried::Link => None,
            Tried::Login(name) | Tried::Password(name) => Some(name),
        }
    }
}

/// Where and when somebody was refused.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The operation.
    pub operation: &'a str,
    /// The address.
    pub address: Option<IpAddr>,
    /// The request.
    pub request_id: &'a str,
}

/// After so many rows in the audit trail, old ones are forgotten without waiting for the usual tidying.
const TIDIED_EVERY: u64 = 1_000;

/// When a refusal of each address was last noted.
#[derive(Default)]
pub struct Noted {
    by_address: Mutex<HashMap<IpAddr, Instant>>,
    n_rows: AtomicU64,
}

impl Noted {
    /// Whether a refusal is to be noted now.
    fn is_due(&self, address: IpAddr) -> bool {
        let mut noted = self.by_address.lock().unwrap_or_else(PoisonError::into_inner);
        let address = counted(address);
        if noted.get(&address).is_some_and(|last| last.elapsed() < NOTED_EVERY) {
            return false;
        }
        noted.retain(|_, last| last.elapsed() < NOTED_EVERY);
        // With more addresses than that the log has to do.
        let has_room = noted.len() < KEYS_MAX;
        if has_room {
            noted.insert(address, Instant::now());
        }
        has_room
    }
}

impl App {
    /// Takes note of a refused authentication, and returns the error to answer with.
    pub(super) fn refused(&self, error: Error, tried: &Tried, place: Place<'_>) -> Error {
        if *tried == Tried::Nothing {
            return error;
        }
        let from = place.address.map(|address| address.to_string()).unwrap_or_default();
        let (event, user) = match tried {
            Tried::Nothing | Tried::Token => ("token_refused", None),
            Tried::Link => ("link_refused", None),
            Tried::Login(name) => ("login_failed", Some(name.clone())),
            Tried::Password(name) => ("password_refused", Some(name.clone())),
        };
        let (req_id, operation) = (place.request_id, place.operation);
        // What a stranger types as a name may be a password.
        let shown = user.as_deref().filter(|_| matches!(tried, Tried::Password(_))).unwrap_or("-");
        tracing::warn!(req_id, user = shown, operation, address = from, "refused: {}", error.message);
        // Whoever is known can be asked; strangers could go on for ever.
        let is_known = matches!(tried, Tried::Password(_));
        if is_known || place.address.is_some_and(|address| self.noted.is_due(address)) {
            self.note(event, user, place);
        }
        let guesses = &self.limits.guesses;
        let counted = match tried {
            Tried::Nothing | Tried::Token | Tried::Link => guesses.note_token(place.address),
            Tried::Login(name) | Tried::Password(name) => {
                guesses.note_password(place.address, guesses.account(name))
            }
        };
        counted.err().unwrap_or(error)
    }

    /// Writes a row into the audit trail. Nobody waits for it.
    fn note(&self, event: &'static str, username: Option<String>, place: Place<'_>) {
        let event = NewEvent {
            user_id: None,
            username,
            event,
            address: place.address.map(|address| address.to_string()),
            request_id: Some(place.request_id.to_owned()),
        };
        let now = now();
        let id = ops::new_id(now);
        let is_tidied = self.noted.n_rows.fetch_add(1, Ordering::Relaxed) % TIDIED_EVERY == TIDIED_EVERY - 1;
        let body = move |tx: &mut store::Tx<'_>| {
            audit::note_authentication(tx, &id, &event, now)?;
            if is_tidied { audit::forget_refusals(tx, 2 * TIDIED_EVERY as i64).map(drop) } else { Ok(()) }
        };
        let (req_id, operation) = (place.request_id.to_owned(), place.operation.to_owned());
        self.engine.store().run(Mode::Aside, body, move |noted: store::Result<()>| {
            if let Err(error) = noted {
                tracing::warn!(req_id, operation, "a failed authentication could not be noted: {error}");
            }
        });
    }
}
