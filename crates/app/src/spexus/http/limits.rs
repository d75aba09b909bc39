//! How often one may ask, and how often one may fail to say who one is.

use std::collections::HashMap;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use governor::clock::{Clock, DefaultClock};
use governor::state::keyed::DashMapStateStore;
use governor::{Quota, RateLimiter};
use ops::{Caller, Error, Kind, Result};
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};

/// How often, per minute.
#[derive(Clone, Copy, Debug)]
pub struct LimitSettings {
    /// Requests of one user.
    pub requests: u32,
    /// Failed authentications from one address.
    pub failures: u32,
    /// Conversations that agents begin with one token.
    pub sessions: u32,
}

impl Default for LimitSettings {
    fn default() -> Self {
        LimitSettings { requests: 600, failures: 10, sessions: 30 }
    }
}

type Keyed<K> = RateLimiter<K, DashMapStateStore<K>, DefaultClock>;

/// Counts requests by user and failures by address.
pub struct Limits {
    requests: Option<Keyed<Arc<str>>>,
    failures: Option<Keyed<IpAddr>>,
    sessions: Option<Keyed<Arc<str>>>,
    /// Until when an address that has failed too often may not try passwords.
    blocked: Mutex<HashMap<IpAddr, Instant>>,
    /// Passwords are tried one after the other from each address; otherwise many could be tried before the first has failed.
    trying: Mutex<HashMap<IpAddr, Arc<AsyncMutex<()>>>>,
    clock: DefaultClock,
}

/// Counters that nobody uses are forgotten when there are more than this.
const KEYS_MAX: usize = 10_000;

impl Limits {
    pub fn new(settings: &LimitSettings) -> Limits {
        // Zero means no limit.
        let requests =
            NonZeroU32::new(settings.requests).map(|number| RateLimiter::dashmap(Quota::per_minute(number)));
        let failures =
            NonZeroU32::new(settings.failures).map(|number| RateLimiter::dashmap(Quota::per_minute(number)));
        let sessions =
            NonZeroU32::new(settings.sessions).map(|number| RateLimiter::dashmap(Quota::per_minute(number)));
        let (blocked, trying) = (Mutex::default(), Mutex::default());
        Limits { requests, failures, sessions, blocked, trying, clock: DefaultClock::default() }
    }

    /// Counts a request of a known user.
    pub fn admit(&self, caller: &Caller) -> Result<()> {
        let Some(requests) = &self.requests else { return Ok(()) };
        if requests.len() > KEYS_MAX {
            requests.retain_recent();
        }
        requests.check_key(&Arc::from(caller.user_id.as_str())).map_err(|refusal| {
            let seconds = refusal.wait_time_from(self.clock.now()).as_secs() + 1;
            limited(format!("{} asks too often; try again in {seconds} s", caller.username), seconds)
        })
    }

    /// Counts several requests that came as one.
    pub fn admit_more(&self, user_id: &str, n_more: u32) -> Result<()> {
        let (Some(requests), Some(n_more)) = (&self.requests, NonZeroU32::new(n_more)) else { return Ok(()) };
        match requests.check_key_n(&Arc::from(user_id), n_more) {
            Ok(Ok(())) => Ok(()),
            Ok(Err(refusal)) => {
                let seconds = refusal.wait_time_from(self.clock.now()).as_secs() + 1;
                Err(limited(format!("too many messages at once; try again in {seconds} s"), seconds))
            }
            Err(_) => Err(limited("a batch holds more messages than may be sent in a minute".to_owned(), 60)),
        }
    }

    /// Counts a conversation that an agent begins with a token, or as a user where it showed none.
    pub fn admit_session(&self, id: &str) -> Result<()> {
        let Some(sessions) = &self.sessions else { return Ok(()) };
        if sessions.len() > KEYS_MAX {
            sessions.retain_recent();
        }
        sessions.check_key(&Arc::from(id)).map_err(|refusal| {
            let seconds = refusal.wait_time_from(self.clock.now()).as_secs() + 1;
            limited(format!("initialize was sent too often; try again in {seconds} s"), seconds)
        })
    }

    /// Counts a failed authentication; an error when the address has failed too often.
    pub fn note_failure(&self, address: Option<IpAddr>) -> Result<()> {
        let (Some(failures), Some(address)) = (&self.failures, address) else { return Ok(()) };
        if failures.len() > KEYS_MAX {
            failures.retain_recent();
        }
        failures.check_key(&address).map_err(|refusal| {
            let wait = refusal.wait_time_from(self.clock.now());
            let mut blocked = self.blocked.lock().unwrap_or_else(PoisonError::into_inner);
            let now = Instant::now();
            blocked.retain(|_, until| *until > now);
            blocked.insert(address, now + wait);
            too_many_failures(wait)
        })
    }

    /// Waits until nobody else tries a password from an address. What is returned is to be kept until the outcome was noted.
    pub async fn turn(&self, address: Option<IpAddr>) -> Option<OwnedMutexGuard<()>> {
        let address = address.filter(|_| self.failures.is_some())?;
        let turn = {
            let mut trying = self.trying.lock().unwrap_or_else(PoisonError::into_inner);
            trying.retain(|_, turn| Arc::strong_count(turn) > 1);
            trying.entry(address).or_default().clone()
        };
        Some(turn.lock_owned().await)
    }

    /// Refuses an address that has failed too often, before a password is looked at. A token is looked at always: nobody
    /// guesses one, and others behind the same address must not be kept out.
    pub fn check_failures(&self, address: Option<IpAddr>) -> Result<()> {
        let Some(address) = address else { return Ok(()) };
        let blocked = self.blocked.lock().unwrap_or_else(PoisonError::into_inner);
        match blocked.get(&address).and_then(|until| until.checked_duration_since(Instant::now())) {
            Some(wait) => Err(too_many_failures(wait)),
            None => Ok(()),
        }
    }
}

fn too_many_failures(wait: Duration) -> Error {
    let seconds = wait.as_secs() + 1;
    limited(format!("too many failed attempts from this address; try again in {seconds} s"), seconds)
}

fn limited(message: String, seconds: u64) -> Error {
    Error { retry_after_s: Some(seconds), ..Error::new(Kind::RateLimited, message) }
}
