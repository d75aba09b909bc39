//! Stores one copy of each repeated text: the annotations of a project cite the same targets and quotes many times.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use foldhash::fast::RandomState;

/// Texts are distributed by their lengths, so that threads seldom wait for each other.
const SHARDS: usize = 16;

/// The texts so far, shared by threads.
#[derive(Debug, Default)]
pub struct Interner {
    shards: [Mutex<HashSet<Arc<str>, RandomState>>; SHARDS],
}

impl Interner {
    /// Returns the shared copy of a text. Equal texts have the same address.
    pub fn intern(&self, text: &str) -> Arc<str> {
        let shard = &self.shards[text.len() % SHARDS];
        let mut texts = shard.lock().unwrap_or_else(PoisonError::into_inner);
        match texts.get(text) {
            Some(known) => known.clone(),
            None => {
                let new: Arc<str> = text.into();
                texts.insert(new.clone());
                new
            }
        }
    }
}
