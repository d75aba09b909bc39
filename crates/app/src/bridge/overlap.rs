//! Joins two streams of changes while one takes the other's place: no change is lost, and none is announced twice.
//!
//! A change that the older stream announces meanwhile is held back. The newer stream announces it too, unless it happened
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
    /// What the newest stream has announced since it began; none when it is the only one.
    announced: Option<BTreeSet<Change>>,
    /// What older streams have announced since then.
    held: BTreeSet<Change>,
}

impl Overlap {
    /// A stream begins, beside those with lower numbers.
    pub fn begin(&self, number: u64) {
        let mut state = self.lock();
        (state.newest, state.announced) = (number, Some(BTreeSet::new()));
    }

    /// Takes a change from a stream. Returns whether to announce it now.
    pub fn take(&self, number: u64, change: &Change) -> bool {
        let mut state = self.lock();
        let is_newest = number >= state.newest;
        if !is_newest {
            state.held.insert(change.clone());
        } else if let Some(announced) = &mut state.announced {
            announced.insert(change.clone());
        }
        is_newest
    }

    /// The older streams have ended. Returns what only they announced.
    pub fn end(&self) -> BTreeSet<Change> {
        let mut state = self.lock();
        let announced = state.announced.take().unwrap_or_default();
        &std::mem::take(&mut state.held) - &announced
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
}
