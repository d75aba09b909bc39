//! Notifies listeners in this process that something has changed. They read the changes from the store.

use std::sync::{PoisonError, RwLock};

type Listener = Box<dyn Fn() + Send + Sync>;

#[derive(Default)]
pub(super) struct Signal {
    listeners: RwLock<Vec<Listener>>,
}

impl Signal {
    pub(super) fn add(&self, listener: Listener) {
        self.listeners.write().unwrap_or_else(PoisonError::into_inner).push(listener);
    }

    pub(super) fn raise(&self) {
        for listener in &*self.listeners.read().unwrap_or_else(PoisonError::into_inner) {
            listener();
        }
    }
}
