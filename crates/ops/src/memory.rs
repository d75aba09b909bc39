//! What was found out before and is still true: whose a secret is, and what was answered. Each is true for one edition of
//! the store, so that nothing has to be taken back after a write, whichever process made it; where the store cannot tell
//! its edition, nothing is remembered. Written by hand because what is kept must go by bytes and by edition, and is short.

mod packer;

use std::collections::{HashMap, VecDeque};
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use store::Edition;
use store::member::Viewer;
use store::model::Time;
use subtle::ConstantTimeEq;

use self::packer::{Packed, Packer};
use crate::caller::Caller;
use crate::operation::Answer;

/// What the answers may take: those to 100,000 short requirements. And the callers.
const ANSWERS_MAX: usize = 56 << 20;
const CALLERS_MAX: usize = 1 << 20;
/// What an entry takes beside its text, about.
const ENTRY: usize = 144;
/// An answer that takes more than this part of the room is not kept: it would push out too many others.
const PART_MAX: usize = 512;
/// How often the last use of a token or session is written down.
pub const TOUCH_EVERY_S: i64 = 60;

/// What is remembered.
pub struct Memory {
    callers: Mutex<Kept<SecretHash, Arc<Caller>>>,
    answers: Mutex<Kept<Question, Said>>,
    packer: Packer,
    /// When the use of a token or session was last written down by this process.
    touched: Mutex<HashMap<String, Time>>,
    n_recalled: AtomicU64,
}

/// The hash of a question: there may be many, and they need not be known again.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Question([u8; 16]);

impl Question {
    /// The operation and its arguments.
    pub fn new(operation: &str, arguments: &Value) -> Question {
        Question::hashed(format!("{operation} {arguments}").as_bytes())
    }

    /// The same question by a caller: those who do not see every project are not given what others were.
    pub fn of(self, caller: Option<&Caller>) -> Question {
        match caller.and_then(Caller::viewer) {
            None => self,
            Some(Viewer { user_id, token_id }) => {
                let token_id = token_id.as_deref().unwrap_or_default();
                Question::hashed(&[&self.0, user_id.as_bytes(), b" ", token_id.as_bytes()].concat())
            }
        }
    }

    fn hashed(text: &[u8]) -> Question {
        Question(*blake3::hash(text).as_bytes().first_chunk().expect("a hash has 32 bytes"))
    }
}

/// What is kept of an answer. Only what makes something new needs to say what it is called.
#[derive(Clone)]
struct Said {
    json: Packed,
    version: Option<i64>,
}

impl Default for Memory {
    fn default() -> Self {
        Memory {
            callers: Mutex::new(Kept::new(CALLERS_MAX)),
            answers: Mutex::new(Kept::new(ANSWERS_MAX)),
            packer: Packer::default(),
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
        let n_bytes = 4 * ENTRY + 2 * hash.0.len() + caller.username.len();
        let mut callers = self.callers.lock().unwrap_or_else(PoisonError::into_inner);
        callers.keep(edition, hash, Arc::new(caller), n_bytes);
    }

    /// What a question was answered with.
    pub fn answer(&self, edition: Edition, question: &Question) -> Option<Answer> {
        let said = self.answers.lock().unwrap_or_else(PoisonError::into_inner).find(edition, question)?;
        let json = self.packer.unpack(&said.json)?;
        self.n_recalled.fetch_add(1, Ordering::Relaxed);
        Some(Answer { json, version: said.version, reference: None })
    }

    /// Remembers what a question was answered with.
    pub fn keep_answer(&self, edition: Edition, question: Question, answer: &Answer) {
        let Some(json) = self.packer.pack(&answer.json) else { return };
        let said = Said { json, version: answer.version };
        let n_bytes = ENTRY + said.json.len();
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        answers.keep(edition, question, said, n_bytes);
    }

    /// Whether the use of a token or session is to be written down now. Who is told so does it.
    pub fn touch(&self, id: &str, now: Time) -> bool {
        let mut touched = self.touched.lock().unwrap_or_else(PoisonError::into_inner);
        let is_recent = |last: &Time| *last <= now && last.plus_seconds(TOUCH_EVERY_S) > now;
        if touched.get(id).is_some_and(is_recent) {
            return false;
        }
        touched.retain(|_, last| is_recent(last));
        touched.insert(id.to_owned(), now);
        true
    }

    /// How many answers were given again.
    pub fn n_recalled(&self) -> u64 {
        self.n_recalled.load(Ordering::Relaxed)
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

/// Entries of one edition within a number of bytes; the oldest give way. Those of editions before are not looked for, since
/// that would take as long as all of them together: they give way when they are the oldest.
struct Kept<K, T> {
    edition: Option<Edition>,
    /// Counts editions, to tell entries of the current one.
    number: u32,
    entries: HashMap<K, Entry<T>>,
    oldest_first: VecDeque<K>,
    n_bytes: usize,
    n_bytes_max: usize,
}

struct Entry<T> {
    number: u32,
    n_bytes: u32,
    value: T,
}

impl<K: Clone + Eq + Hash, T: Clone> Kept<K, T> {
    fn new(n_bytes_max: usize) -> Self {
        Kept {
            edition: None,
            number: 0,
            entries: HashMap::new(),
            oldest_first: VecDeque::new(),
            n_bytes: 0,
            n_bytes_max,
        }
    }

    fn find<Q: Eq + Hash + ?Sized>(&self, edition: Edition, key: &Q) -> Option<T>
    where
        K: std::borrow::Borrow<Q>,
    {
        let entry = self.entries.get(key).filter(|entry| entry.number == self.number)?;
        (self.edition == Some(edition)).then(|| entry.value.clone())
    }

    fn keep(&mut self, edition: Edition, key: K, value: T, n_bytes: usize) {
        if n_bytes > self.n_bytes_max / PART_MAX {
            return;
        }
        if self.edition != Some(edition) {
            self.begin(edition);
        }
        let entry = Entry { number: self.number, n_bytes: u32::try_from(n_bytes).unwrap_or(u32::MAX), value };
        self.n_bytes += entry.n_bytes as usize;
        match self.entries.insert(key.clone(), entry) {
            Some(before) => self.n_bytes -= before.n_bytes as usize,
            None => self.oldest_first.push_back(key),
        }
        while self.n_bytes > self.n_bytes_max
            && let Some(oldest) = self.oldest_first.pop_front()
        {
            self.n_bytes -= self.entries.remove(&oldest).map_or(0, |entry| entry.n_bytes as usize);
        }
    }

    fn begin(&mut self, edition: Edition) {
        self.edition = Some(edition);
        self.number = self.number.wrapping_add(1);
        if self.number == 0 {
            // All numbers were used once.
            self.entries.clear();
            self.oldest_first.clear();
            self.n_bytes = 0;
        }
    }
}

// Elsewhere stores do not tell their editions.
#[cfg(all(test, unix))]
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
        assert_eq!(kept.find(first, "a"), Some(1));
        assert_eq!(kept.find(second, "a"), None);
        kept.keep(second, "a", 2, n_bytes);
        assert_eq!((kept.find(first, "a"), kept.find(second, "a")), (None, Some(2)));
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

        kept.number = u32::MAX;
        kept.keep(second, "a", 3, n_bytes);
        assert_eq!((kept.entries.len(), kept.n_bytes, kept.find(second, "a")), (1, n_bytes, Some(3)));
    }
}
