//! Collects the answers to a batch (2025-03-26 only), which are sent together when all are there.

use std::collections::HashMap;

/// Identifies a batch within its session.
pub(crate) type BatchNumber = u64;

#[derive(Debug, Default)]
pub(crate) struct Batches {
    open: HashMap<BatchNumber, Batch>,
    last: BatchNumber,
}

#[derive(Debug, Default)]
struct Batch {
    n_awaited: usize,
    answers: Vec<Vec<u8>>,
}

impl Batches {
    /// Begins a batch. It counts as one awaited answer until [`Batches::close`], so that it cannot be
    /// complete while its messages are still being read.
    pub fn open(&mut self) -> BatchNumber {
        self.last += 1;
        self.open.insert(self.last, Batch { n_awaited: 1, answers: Vec::new() });
        self.last
    }

    /// Expects one more answer.
    pub fn expect(&mut self, number: BatchNumber) {
        if let Some(batch) = self.open.get_mut(&number) {
            batch.n_awaited += 1;
        }
    }

    /// Adds an answer that was not expected.
    pub fn add(&mut self, number: BatchNumber, answer: Vec<u8>) {
        if let Some(batch) = self.open.get_mut(&number) {
            batch.answers.push(answer);
        }
    }

    /// All messages have been read. Returns the whole answer if none is missing.
    pub fn close(&mut self, number: BatchNumber) -> Option<Vec<u8>> {
        self.arrived(number, None)
    }

    /// An expected answer has arrived, or will never arrive. Returns the whole answer if it was the last.
    pub fn arrived(&mut self, number: BatchNumber, answer: Option<Vec<u8>>) -> Option<Vec<u8>> {
        let batch = self.open.get_mut(&number)?;
        batch.answers.extend(answer);
        batch.n_awaited -= 1;
        if batch.n_awaited > 0 {
            return None;
        }
        let answers = self.open.remove(&number)?.answers;
        // A batch of notifications only has no answer.
        if answers.is_empty() {
            return None;
        }
        Some([b"[", answers.join(&b","[..]).as_slice(), b"]"].concat())
    }
}
