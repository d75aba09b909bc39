//! Which call a thread works on, for whoever logs that it panicked.

use std::cell::RefCell;

thread_local! {
    static RUNNING: RefCell<Option<Running>> = const { RefCell::new(None) };
}

/// A call that a thread works on.
#[derive(Clone, Debug)]
pub struct Running {
    /// The request's id.
    pub request_id: String,
    /// Who asks.
    pub user: String,
    /// What they ask for.
    pub operation: &'static str,
}

impl Running {
    /// The call that this thread works on, if any.
    pub fn now() -> Option<Running> {
        RUNNING.try_with(|running| running.try_borrow().ok()?.clone()).ok().flatten()
    }

    /// Works on a call until what is returned is dropped. The hook of a panic runs before that.
    pub(super) fn begin(self) -> Working {
        RUNNING.set(Some(self));
        Working
    }
}

/// A thread at work.
pub(super) struct Working;

impl Drop for Working {
    fn drop(&mut self) {
        RUNNING.set(None);
    }
}
