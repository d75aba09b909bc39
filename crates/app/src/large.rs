//! Texts that are too large for memory: each is in a temporary file, and messages contain a placeholder until they are
//! written.
//!
//! A text is stored as it arrived, including escapes, and sent with the same bytes; nothing in between reads it.

use std::{
    cell::RefCell,
    fs::File,
    hash::{BuildHasher, RandomState},
    io::{self, Seek, Write},
    sync::{
        LazyLock,
        atomic::{AtomicU64, Ordering},
    },
};

/// A text in a file.
#[derive(Debug)]
pub struct LargeText {
    mark: String,
    file: File,
    n_bytes: u64,
}

thread_local! {
    /// The texts of the request that this thread works on.
    static KEPT: RefCell<Vec<LargeText>> = const { RefCell::new(Vec::new()) };
}

/// The placeholders of this process are unguessable, so that none can be forged.
static MARKS: LazyLock<String> = LazyLock::new(|| {
    let random = || RandomState::new().hash_one(0u8);
    format!("large text {:016x}{:016x} ", random(), random())
});
static N_MARKS: AtomicU64 = AtomicU64::new(0);

impl LargeText {
    /// An empty one.
    pub fn new() -> io::Result<Self> {
        let number = N_MARKS.fetch_add(1, Ordering::Relaxed);
        Ok(Self { mark: format!("{}{number}.", *MARKS), file: tempfile::tempfile()?, n_bytes: 0 })
    }

    /// Its placeholder.
    pub fn mark(&self) -> &str {
        &self.mark
    }

    /// Its size.
    pub fn n_bytes(&self) -> u64 {
        self.n_bytes
    }

    /// Adds to it.
    pub fn add(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.n_bytes += bytes.len() as u64;
        self.file.write_all(bytes)
    }

    /// The file, from its beginning.
    pub fn reader(&mut self) -> io::Result<&mut File> {
        self.file.rewind()?;
        Ok(&mut self.file)
    }
}

/// Stores texts for the answer to the request that this thread works on.
pub fn keep(texts: Vec<LargeText>) {
    KEPT.with_borrow_mut(|kept| kept.extend(texts));
}

/// Returns the texts that were stored on this thread since the last call.
pub fn take() -> Vec<LargeText> {
    KEPT.take()
}

/// Finds the placeholders in a message. Returns the message without them, the texts with their positions in order, and
/// the texts without a placeholder.
pub fn place(message: &[u8], texts: Vec<LargeText>) -> (Vec<u8>, Vec<(usize, LargeText)>, Vec<LargeText>) {
    let mut found = Vec::new();
    let mut others = Vec::new();
    for text in texts {
        match memchr::memmem::find(message, text.mark.as_bytes()) {
            Some(at) => found.push((at, text)),
            None => others.push(text),
        }
    }
    found.sort_by_key(|(at, _)| *at);
    let mut rest = Vec::with_capacity(message.len());
    let mut copied = 0;
    for (at, text) in &mut found {
        rest.extend_from_slice(&message[copied..*at]);
        copied = *at + text.mark.len();
        *at = rest.len();
    }
    rest.extend_from_slice(&message[copied..]);
    (rest, found, others)
}
