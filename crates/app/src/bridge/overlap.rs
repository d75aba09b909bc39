//! Merges two streams of changes while one replaces the other: no change is lost or announced twice.
//!
//! A change from the older stream is held back. The newer stream announces it, too, unless it happened
//! before that stream began; then it is announced at the end.
//! before that stream began; then it is announced at the end.

use std::{
    collections::BTreeSet,
    sync::{Mutex, MutexGuard, PoisonError},
};

use mcp::Change;

#[derive(Default)]
pub struct Overlap(Mutex<State>);

#[derive(Default)]
struct State {
    /// The number of the newest stream.
    newest: u64,
    /// How many streams have begun whose predecessors have not ended.
    n_begun: usize,
    /// The changes announced since the first of them began.
    announced: BTreeSet<Change>,
    /// The changes that older streams have announced since then.
    held: BTreeSet<Change>,
}

impl Overlap {
    /// A stream begins, while those with lower numbers are still open.
    pub fn begin(&self, number: u64) {
        let mut state = self.lock();
        state.newest = number;
        state.n_begun += 1;
    }

    /// Receives a change from a stream. Returns whether to announce it now.
    pub fn take(&self, number: u64, change: &Change) -> bool {
        let mut state = self.lock();
        let is_newest = number >= state.newest;
        if !is_newest {
            state.held.insert(change.clone());
        } else if state.n_begun > 0 {
            state.announced.insert(change.clone());
        }
        is_newest
    }

    /// The predecessors of a stream have ended. Returns the changes that only they announced.
    pub fn end(&self) -> BTreeSet<Change> {
        let mut state = self.lock();
        state.n_begun = state.n_begun.saturating_sub(1);
        let missing = &std::mem::take(&mut state.held) - &state.announced;
        if state.n_begun == 0 {
            state.announced.clear();
        }
        missing
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_change_is_announced_once_whichever_stream_comes_first() {
        let overlap = Overlap::default();
        let take = |number: u64, uri: &str| overlap.take(number, &Change::Resource(uri.into()));
        overlap.begin(1);
        assert!(take(1, "before"));
        assert!(overlap.end().is_empty());
        overlap.begin(2);
        assert!(!take(1, "older first") && take(2, "older first"));
        assert!(take(2, "newer first") && !take(1, "newer first"));
        assert!(!take(1, "on its way"));
        assert_eq!(overlap.end(), BTreeSet::from([Change::Resource("on its way".into())]));
        assert!(take(2, "after"));
        assert!(overlap.end().is_empty());
    }

    #[test]
    fn a_third_stream_does_not_announce_again_what_the_second_did() {
        let overlap = Overlap::default();
        let change = Change::Prompts;
        overlap.begin(1);
        assert!(overlap.end().is_empty());
        overlap.begin(2);
        assert!(!overlap.take(1, &change) && overlap.take(2, &change));
        overlap.begin(3);
        assert!(overlap.end().is_empty() && !overlap.take(1, &change));
        assert!(overlap.end().is_empty());
    }
}
