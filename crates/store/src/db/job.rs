//! A queued closure: what to run, its result, and the callback.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use super::{Cancel, Failure, Mode, Tx};
use crate::error::{Error, ErrorKind, Result};

/// A call of the store with its types erased.
pub(super) trait Job: Send {
    fn mode(&self) -> Mode;
    /// How long it may wait for an unreachable database.
    fn deadline(&self) -> Instant;
    /// The handle that cancels it, if any.
    fn cancel(&self) -> Option<&Cancel>;
    /// Runs the body once, and stores the result.
    fn attempt(&mut self, tx: &mut Tx<'_>) -> Attempt;
    /// Replaces the result by an error.
    fn fail(&mut self, error: Error);
    /// Passes the result to the callback.
    fn finish(self: Box<Self>);
}

/// What to do after an attempt.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Attempt {
    Keep,
    Undo,
    Again(Failure),
}

pub(super) struct Task<T, E, B, D> {
    mode: Mode,
    deadline: Instant,
    cancel: Option<Cancel>,
    body: B,
    done: D,
    result: Option<Result<T, E>>,
}

impl<T, E, B, D> Task<T, E, B, D> {
    pub(super) fn new(mode: Mode, deadline: Instant, cancel: Option<Cancel>, body: B, done: D) -> Self {
        Task { mode, deadline, cancel, body, done, result: None }
    }
}

impl<T, E, B, D> Job for Task<T, E, B, D>
where
    T: Send,
    E: From<Error> + Send,
    B: FnMut(&mut Tx<'_>) -> Result<T, E> + Send,
    D: FnOnce(Result<T, E>) + Send,
{
    fn mode(&self) -> Mode {
        self.mode
    }

    fn deadline(&self) -> Instant {
        self.deadline
    }

    fn cancel(&self) -> Option<&Cancel> {
        self.cancel.as_ref()
    }

    fn attempt(&mut self, tx: &mut Tx<'_>) -> Attempt {
        if self.cancel.as_ref().is_some_and(Cancel::is_cancelled) {
            self.fail(Error::new(ErrorKind::Timeout, "the caller no longer waits for the answer"));
            return Attempt::Undo;
        }
        let body = &mut self.body;
        let result = catch_unwind(AssertUnwindSafe(|| body(tx))).unwrap_or_else(|panic| {
            Err(Error::internal(format!("panicked: {}", panic_message(&*panic))).into())
        });
        let result = result.and_then(|value| Ok(tx.write_gathered().map(|()| value)?));
        let attempt = match (&result, tx.failure) {
            (_, Some(failure)) => Attempt::Again(failure),
            (Ok(_), None) => Attempt::Keep,
            (Err(_), None) => Attempt::Undo,
        };
        self.result = Some(result);
        attempt
    }

    fn fail(&mut self, error: Error) {
        self.result = Some(Err(error.into()));
    }

    fn finish(self: Box<Self>) {
        let Task { done, result, .. } = *self;
        let result = result.unwrap_or_else(|| Err(Error::internal("the call did not run").into()));
        // A panicking callback must not end the database thread.
        let _ = catch_unwind(AssertUnwindSafe(move || done(result)));
    }
}

fn panic_message(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}
