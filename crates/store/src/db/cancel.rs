//! Lets a call be given up when nobody waits for it any more.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// A handle on a call. Reads stop when it is cancelled; writes that have begun are finished.
#[derive(Clone, Default)]
pub struct Cancel {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    is_cancelled: AtomicBool,
    /// Interrupts what is running now.
    interrupt: Mutex<Option<Box<dyn FnOnce() + Send>>>,
}

impl Cancel {
    /// Says that nobody waits any more.
    pub fn cancel(&self) {
        self.shared.is_cancelled.store(true, Ordering::SeqCst);
        if let Some(interrupt) = self.interrupt().take() {
            interrupt();
        }
    }

    /// Whether nobody waits any more.
    pub fn is_cancelled(&self) -> bool {
        self.shared.is_cancelled.load(Ordering::SeqCst)
    }

    /// Sets what interrupts the call while it runs.
    pub(super) fn arm(&self, interrupt: impl FnOnce() + Send + 'static) {
        *self.interrupt() = Some(Box::new(interrupt));
    }

    /// The call does not run any more.
    pub(super) fn disarm(&self) {
        self.interrupt().take();
    }

    fn interrupt(&self) -> std::sync::MutexGuard<'_, Option<Box<dyn FnOnce() + Send>>> {
        self.shared.interrupt.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
