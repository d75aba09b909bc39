//! A value that is fetched once and cached until it is invalidated.

use std::{
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// How often a request that waits for another's fetch checks whether it was cancelled.
const LOOK_INTERVAL: Duration = Duration::from_millis(20);

/// The maximal age of a value while no change notifications arrive.
const UNTOLD_AGE_MAX: Duration = Duration::from_secs(60);

pub struct Cached<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
}

struct State<T> {
    value: Option<(Arc<T>, Instant)>,
    is_fetching: bool,
    /// Increases with each change, so that a value fetched before it is not cached.
    n_changes: u64,
}

impl<T> Default for Cached<T> {
    fn default() -> Self {
        let state = State { value: None, is_fetching: false, n_changes: 0 };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }
}

impl<T> Cached<T> {
    /// Returns the value. Of concurrent requests one fetches; `give_up` tells a waiting one that it has ended.
    pub fn get<E>(
        &self,
        is_told: bool,
        give_up: impl Fn() -> Option<E>,
        fetch: impl FnOnce() -> Result<T, E>,
    ) -> Result<Arc<T>, E> {
        let mut state = self.lock();
        loop {
            match &state.value {
                Some((value, since)) if is_told || since.elapsed() < UNTOLD_AGE_MAX => {
                    return Ok(value.clone());
                }
                _ if !state.is_fetching => break,
                _ => {}
            }
            if let Some(error) = give_up() {
                return Err(error);
            }
            state = self.changed.wait_timeout(state, LOOK_INTERVAL).unwrap_or_else(PoisonError::into_inner).0;
        }
        state.is_fetching = true;
        let n_changes = state.n_changes;
        drop(state);
        // Even a fetch that panics must let the next one try.
        let _fetching = Fetching(self);
        let value = Arc::new(fetch()?);
        let mut state = self.lock();
        if state.n_changes == n_changes {
            state.value = Some((value.clone(), Instant::now()));
        }
        Ok(value)
    }

    /// Invalidates the value.
    pub fn forget(&self) {
        let mut state = self.lock();
        state.value = None;
        state.n_changes += 1;
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Fetching<'a, T>(&'a Cached<T>);

impl<T> Drop for Fetching<'_, T> {
    fn drop(&mut self) {
        self.0.lock().is_fetching = false;
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::atomic::{AtomicU32, Ordering},
        thread,
    };

    use super::*;

    #[test]
    fn many_that_ask_at_once_cause_one_fetch() {
        let cached = Cached::default();
        let n_fetches = AtomicU32::new(0);
        let fetch = || {
            n_fetches.fetch_add(1, Ordering::Relaxed);
            thread::sleep(Duration::from_millis(30));
            Ok::<_, ()>(7)
        };
        thread::scope(|scope| {
            for _ in 0..20 {
                scope.spawn(|| assert_eq!(cached.get(true, || None, fetch).as_deref(), Ok(&7)));
            }
        });
        assert_eq!(n_fetches.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn what_was_fetched_before_a_change_is_not_kept() {
        let cached = Cached::default();
        let fetched = cached.get(
            true,
            || None,
            || {
                cached.forget();
                Ok::<_, ()>("old")
            },
        );
        assert_eq!(fetched.as_deref(), Ok(&"old"));
        assert_eq!(cached.get(true, || None, || Ok::<_, ()>("new")).as_deref(), Ok(&"new"));
        assert_eq!(cached.get(true, || None, || Err("fetched again")).as_deref(), Ok(&"new"));
        cached.forget();
        assert_eq!(cached.get(true, || None, || Err("fetched again")), Err("fetched again"));
        assert_eq!(cached.get(true, || None, || Ok::<_, &str>("newest")).as_deref(), Ok(&"newest"));
    }
}
