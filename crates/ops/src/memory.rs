//! What was found out before and is still true: whose a secret is, and what was answered. Each is true for one edition of
//! the store, so that nothing has to be taken back after a write, whichever process made it; where the store cannot tell
//! its edition, nothing is remembered. Written by hand because what is kept must go by bytes and by edition, and is short.

use std::collections::{HashMap, VecDeque};
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use store::Edition;
use store::model::Time;
use subtle::ConstantTimeEq;

use crate::caller::Caller;
use crate::operation::Answer;

/// What the answers may take, and the callers.
const ANSWERS_MAX: usize = 32 << 20;
const CALLERS_MAX: usize = 1 << 20;
/// How often the last use of a token is written down.
pub const TOUCH_EVERY_S: i64 = 60;
/// What an entry takes beside its texts, about.
const ENTRY: usize = 300;
/// An answer that takes more than this part of the room is not kept: it would push out too many others.
const PART_MAX: usize = 512;

/// What is remembered.
pub struct Memory {
    callers: Mutex<Kept<SecretHash, Caller>>,
    answers: Mutex<Kept<Arc<str>, Answer>>,
    /// When the use of a token was last written down by this process.
    touched: Mutex<HashMap<String, Time>>,
    n_recalled: AtomicU64,
}

impl Default for Memory {
    fn default() -> Self {
        Memory {
            callers: Mutex::new(Kept::new(CALLERS_MAX)),
            answers: Mutex::new(Kept::new(ANSWERS_MAX)),
            touched: Mutex::default(),
            n_recalled: AtomicU64::new(0),
        }
    }
}

impl Memory {
    /// Whose secret has this hash.
    pub fn caller(&self, edition: Edition, hash: &SecretHash) -> Option<Arc<Caller>> {
        self.callers.lock().unwrap_or_else(PoisonError::into_inner).find(edition, hash)
    }

    /// Remembers whose secret has this hash.
    pub fn keep_caller(&self, edition: Edition, hash: SecretHash, caller: Caller) {
        let n_bytes = ENTRY + hash.0.len() + caller.username.len();
        let mut callers = self.callers.lock().unwrap_or_else(PoisonError::into_inner);
        callers.keep(edition, hash, caller, n_bytes);
    }

    /// What a question was answered with.
    pub fn answer(&self, edition: Edition, question: &str) -> Option<Arc<Answer>> {
        let answer = self.answers.lock().unwrap_or_else(PoisonError::into_inner).find(edition, question)?;
        self.n_recalled.fetch_add(1, Ordering::Relaxed);
        Some(answer)
    }

    /// Whether the use of a token is to be written down now. Who is told so does it.
    pub fn touch(&self, token_id: &str, now: Time) -> bool {
        let mut touched = self.touched.lock().unwrap_or_else(PoisonError::into_inner);
        let is_recent = |last: &Time| *last <= now && last.plus_seconds(TOUCH_EVERY_S) > now;
        if touched.get(token_id).is_some_and(is_recent) {
            return false;
        }
        touched.retain(|_, last| is_recent(last));
        touched.insert(token_id.to_owned(), now);
        true
    }

    /// How many answers were given again.
    pub fn n_recalled(&self) -> u64 {
        self.n_recalled.load(Ordering::Relaxed)
    }

    /// Remembers what a question was answered with.
    pub fn keep_answer(&self, edition: Edition, question: &str, answer: &Answer) {
        let n_bytes = ENTRY + question.len() + answer.json.len();
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        answers.keep(edition, question.into(), answer.clone(), n_bytes);
    }
}

/// The hash of a secret. Comparing it takes equally long, however much of it is right.
#[derive(Clone)]
pub struct SecretHash(pub String);

impl PartialEq for SecretHash {
    fn eq(&self, other: &Self) -> bool {
        self.0.as_bytes().ct_eq(other.0.as_bytes()).into()
    }
}

impl Eq for SecretHash {}

impl Hash for SecretHash {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

/// Entries within a number of bytes; the oldest give way.
struct Kept<K, T> {
    entries: HashMap<K, Entry<T>>,
    oldest_first: VecDeque<K>,
    n_bytes: usize,
    n_bytes_max: usize,
}

struct Entry<T> {
    edition: Edition,
    value: Arc<T>,
    n_bytes: usize,
}

impl<K: Clone + Eq + Hash, T> Kept<K, T> {
    fn new(n_bytes_max: usize) -> Self {
        Kept { entries: HashMap::new(), oldest_first: VecDeque::new(), n_bytes: 0, n_bytes_max }
    }

    fn find<Q: Eq + Hash + ?Sized>(&self, edition: Edition, key: &Q) -> Option<Arc<T>>
    where
        K: std::borrow::Borrow<Q>,
    {
        self.entries.get(key).filter(|entry| entry.edition == edition).map(|entry| entry.value.clone())
    }

    fn keep(&mut self, edition: Edition, key: K, value: T, n_bytes: usize) {
        if n_bytes > self.n_bytes_max / PART_MAX {
            return;
        }
        let entry = Entry { edition, value: Arc::new(value), n_bytes };
        self.n_bytes += n_bytes;
        match self.entries.insert(key.clone(), entry) {
            Some(before) => self.n_bytes -= before.n_bytes,
            None => self.oldest_first.push_back(key),
        }
        while self.n_bytes > self.n_bytes_max
            && let Some(oldest) = self.oldest_first.pop_front()
        {
            self.n_bytes -= self.entries.remove(&oldest).map_or(0, |entry| entry.n_bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use store::model::Time;
    use store::{Location, Mode, Options, Store, Tx};

    use super::{Edition, Kept, PART_MAX};

    /// Two editions of a store.
    fn editions() -> [Edition; 2] {
        let folder = tempfile::tempdir().expect("a folder");
        let location = Location::Sqlite(folder.path().join("spexus.db"));
        let now = Time::from_microseconds(0);
        let store = Store::open(&location, Options::default(), now).expect("a store");
        let first = store.edition().expect("an edition");
        let write =
            move |tx: &mut Tx<'_>| store::idempotency::claim(tx, "user", "operation", "key", "hash", now);
        assert!(store.wait(Mode::Write, write).expect("a write"));
        let second = store.edition().expect("an edition");
        assert_ne!(first, second);
        [first, second]
    }

    #[test]
    fn what_is_kept_is_true_for_its_edition_and_the_oldest_gives_way() {
        let [first, second] = editions();
        let n_bytes = 10;
        let mut kept: Kept<&str, u32> = Kept::new(n_bytes * PART_MAX);
        kept.keep(first, "a", 1, n_bytes);
        assert_eq!(kept.find(first, "a").as_deref(), Some(&1));
        assert_eq!(kept.find(second, "a"), None);
        kept.keep(second, "a", 2, n_bytes);
        assert_eq!((kept.find(first, "a"), kept.find(second, "a").as_deref()), (None, Some(&2)));
        kept.keep(second, "large", 3, n_bytes + 1);
        assert_eq!(kept.find(second, "large"), None, "what is too large is not kept");

        let names: Vec<String> = (0..PART_MAX).map(|number| number.to_string()).collect();
        let mut kept: Kept<&str, u32> = Kept::new(n_bytes * PART_MAX);
        kept.keep(first, "a", 1, n_bytes);
        for name in &names {
            kept.keep(first, name, 2, n_bytes);
        }
        assert_eq!((kept.entries.len(), kept.oldest_first.len()), (PART_MAX, PART_MAX));
        assert_eq!(kept.n_bytes, n_bytes * PART_MAX);
        assert_eq!(kept.find(first, "a"), None);
        assert!(kept.find(first, names[0].as_str()).is_some());
    }
}
