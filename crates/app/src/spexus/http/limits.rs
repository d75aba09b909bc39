//! How often one may ask.

use std::num::NonZeroU32;
use std::sync::Arc;

use governor::clock::{Clock, DefaultClock};
use governor::state::keyed::DashMapStateStore;
use governor::{Quota, RateLimiter};
use ops::{Caller, Error, ErrorKind, Result};

use super::guesses::Guesses;

/// How often, per minute.
#[derive(Clone, Copy, Debug)]
pub struct LimitSettings {
    /// Requests of one user.
    pub requests: u32,
    /// Failed logins of one account from one address.
    pub failures: u32,
    /// Conversations that agents begin with one token.
    pub sessions: u32,
    /// Streams of changes that one user has open, at any time.
    pub streams: u32,
}

impl Default for LimitSettings {
    fn default() -> Self {
        LimitSettings { requests: 600, failures: 10, sessions: 30, streams: 100 }
    }
}

/// Counts by key.
pub type Keyed<K> = RateLimiter<K, DashMapStateStore<K>, DefaultClock>;

/// Counts requests and conversations by user.
pub struct Limits {
    requests: Option<Keyed<Arc<str>>>,
    sessions: Option<Keyed<Arc<str>>>,
    /// Failed authentications.
    pub guesses: Arc<Guesses>,
    clock: DefaultClock,
}

/// Counters that nobody uses are forgotten when there are more than this.
pub const KEYS_MAX: usize = 10_000;

impl Limits {
    pub fn new(settings: &LimitSettings) -> Limits {
        // Zero means no limit.
        let requests =
            NonZeroU32::new(settings.requests).map(|number| RateLimiter::dashmap(Quota::per_minute(number)));
        let sessions =
            NonZeroU32::new(settings.sessions).map(|number| RateLimiter::dashmap(Quota::per_minute(number)));
        let guesses = Arc::new(Guesses::new(settings.failures));
        Limits { requests, sessions, guesses, clock: DefaultClock::default() }
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
}

/// An error that says when to try again.
pub fn limited(message: String, seconds: u64) -> Error {
    Error { retry_after_s: Some(seconds), ..Error::new(ErrorKind::RateLimited, message) }
}
