//! Limits how often the last use of a token or session is recorded: a write for every read would make reads as slow as
//! writes.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use store::model::Time;

use crate::caller::Caller;

/// How often the last use of a token or session is stored.
const EVERY_S: i64 = 60;

/// When this process last stored the use of a token or session.
#[derive(Default)]
pub struct Touched(Mutex<HashMap<String, Time>>);

impl Touched {
    /// Returns true at most once a minute for each token or session; the caller of this function then records the use.
    pub fn is_due(&self, caller: &Caller, now: Time) -> bool {
        let Some(id) = caller.session_id.as_ref().or(caller.token_id.as_ref()) else { return false };
        let is_recent = |last: &Time| *last <= now && last.plus_seconds(EVERY_S) > now;
        if caller.last_used_at.as_ref().is_some_and(is_recent) {
            return false;
        }
        let mut touched = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if touched.get(id).is_some_and(is_recent) {
            return false;
        }
        touched.retain(|_, last| is_recent(last));
        touched.insert(id.clone(), now);
        true
    }
}
