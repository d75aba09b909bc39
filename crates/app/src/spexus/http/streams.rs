//! How many streams of changes one user and one address may have open.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use ops::{Error, ErrorKind, Result};

use super::address::counted;

/// An address may have so many times the streams of one user, for the people behind it.
const USERS_PER_ADDRESS: usize = 4;
/// Whoever has too many is asked to come again after this long.
const RETRY_S: u64 = 15;

/// Counts open streams.
pub struct Streams {
    per_user: usize,
    open: Mutex<HashMap<Holder, usize>>,
}

/// Who has a stream open.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Holder {
    User(String),
    Address(IpAddr),
}

impl Streams {
    /// No streams yet. Zero is no limit.
    pub fn new(per_user: usize) -> Arc<Streams> {
        Arc::new(Streams { per_user, open: Mutex::default() })
    }

    /// Counts a stream until what is returned is dropped.
    pub fn open(self: &Arc<Self>, user_id: &str, address: Option<IpAddr>) -> Result<OpenStream> {
        let mut opened = OpenStream { streams: self.clone(), holders: Vec::new() };
        if self.per_user == 0 {
            return Ok(opened);
        }
        let user = (Holder::User(user_id.to_owned()), self.per_user, "this user");
        let limit = self.per_user * USERS_PER_ADDRESS;
        let address = address.map(|address| (Holder::Address(counted(address)), limit, "this address"));
        for (holder, limit, name) in [Some(user), address].into_iter().flatten() {
            let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            let n_open = open.entry(holder.clone()).or_default();
            if *n_open >= limit {
                drop(open);
                let message = format!("{name} has {limit} streams open already; close some first");
                return Err(Error {
                    retry_after_s: Some(RETRY_S),
                    ..Error::new(ErrorKind::RateLimited, message)
                });
            }
            *n_open += 1;
            opened.holders.push(holder);
        }
        Ok(opened)
    }
}

/// A stream that is counted.
pub struct OpenStream {
    streams: Arc<Streams>,
    holders: Vec<Holder>,
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        let mut open = self.streams.open.lock().unwrap_or_else(PoisonError::into_inner);
        for holder in &self.holders {
            if let Some(n_open) = open.get_mut(holder) {
                *n_open -= 1;
                if *n_open == 0 {
                    open.remove(holder);
                }
            }
        }
    }
}
