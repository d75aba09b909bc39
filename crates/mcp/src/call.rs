//! A request in flight: what to run, and the ticket that assigns its answer.

use std::{
    collections::BTreeSet,
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use serde_json::{Map, Value};

use crate::{
    batch::BatchNumber,
    error::{Error, error_bytes, outcome_bytes},
    failure::{Failure, FailureKind},
    id::Id,
    method::Method,
    profile::Profile,
    request::Request,
    revision::Revision,
    tool::{Outcome, failed_result},
};

/// A request to be run.
#[derive(Debug)]
pub struct Call {
    /// Identifies the request.
    pub ticket: Arc<Ticket>,
    /// The request itself.
    pub request: Request,
    pub(crate) progress_token: Option<Id>,
    /// The capabilities of the client, if the request states them.
    pub(crate) client_capabilities: Option<Map<String, Value>>,
    pub(crate) profile: Arc<Profile>,
}

impl Call {
    /// Whether the client requested progress notifications.
    pub fn wants_progress(&self) -> bool {
        self.progress_token.is_some()
    }
}

/// What is known about a request while it is in flight.
#[derive(Debug)]
pub struct Ticket {
    /// The request's own id.
    pub id: Id,
    /// The revision of its answer.
    pub revision: Revision,
    pub(crate) method: Method,
    pub(crate) label: Arc<str>,
    /// Whether the label was made for this request only, as over HTTP.
    pub(crate) has_own_label: bool,
    pub(crate) number: u64,
    pub(crate) n_bytes: usize,
    pub(crate) started: Instant,
    pub(crate) batch: Option<BatchNumber>,
    pub(crate) subscribes: Option<String>,
    pub(crate) cancelled: AtomicBool,
    pub(crate) hook: Mutex<Option<Hook>>,
}

/// Runs when nobody waits for the answer any more.
pub(crate) struct Hook(Box<dyn FnOnce() + Send>);

impl fmt::Debug for Hook {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a hook")
    }
}

impl Ticket {
    /// The name of its method.
    pub fn method(&self) -> &'static str {
        self.method.name()
    }

    /// Names the request in logs and in internal errors; unlike its id, never used twice.
    pub fn request_id(&self) -> String {
        if self.has_own_label { self.label.to_string() } else { format!("{}-{}", self.label, self.number) }
    }

    /// Whether its answer is part of a batch.
    pub fn is_in_batch(&self) -> bool {
        self.batch.is_some()
    }

    /// Whether nobody waits for the answer any more.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Marks that nobody waits for the answer any more.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::SeqCst);
        if let Some(Hook(hook)) = self.hook().take() {
            hook();
        }
    }

    pub(crate) fn on_cancel(&self, hook: Box<dyn FnOnce() + Send>) {
        *self.hook() = Some(Hook(hook));
        if self.cancelled.load(Ordering::SeqCst) {
            self.cancel();
        }
    }

    fn hook(&self) -> MutexGuard<'_, Option<Hook>> {
        self.hook.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn timed_out(&self, profile: &Profile, timeout: Duration) -> Vec<u8> {
        let failure = Failure::new(FailureKind::Timeout, format!("Request timed out after {timeout:?}"));
        let request_id = self.request_id();
        let result = match self.method {
            Method::CallTool => failed_result(profile, self.revision, &failure, &request_id),
            _ => None,
        };
        match result {
            Some(result) => {
                let mut outcome = Outcome::from(result);
                if self.revision.is_stateless() {
                    crate::stateless::complete(profile, self.method, &mut outcome);
                }
                outcome_bytes(&self.id, &outcome)
            }
            None => error_bytes(Some(&self.id), &failure.to_error(self.revision, &request_id)),
        }
    }
}

/// The answer to a call, ready to be written.
#[derive(Debug)]
pub struct Answer {
    pub(crate) ticket: Arc<Ticket>,
    pub(crate) bytes: Vec<u8>,
    /// The resources of a new subscription, for which the session builds the answer.
    pub(crate) watched: Option<BTreeSet<String>>,
    /// The error, for the log.
    pub error: Option<Error>,
}

impl Answer {
    pub(crate) fn new(ticket: Arc<Ticket>, result: Result<Outcome, Error>) -> Self {
        let (bytes, error) = match result {
            Ok(result) => (outcome_bytes(&ticket.id, &result), None),
            Err(error) => (error_bytes(Some(&ticket.id), &error), Some(error)),
        };
        Self { ticket, bytes, watched: None, error }
    }

    pub(crate) fn listening(ticket: Arc<Ticket>, watched: BTreeSet<String>) -> Self {
        Self { ticket, bytes: Vec::new(), watched: Some(watched), error: None }
    }

    /// The answer to a call that the transport had to reject.
    pub fn refused(ticket: Arc<Ticket>, error: Error) -> Self {
        Self::new(ticket, Err(error))
    }

    /// The answer to a call that panicked. It says only where to look in the log.
    pub fn internal_error(ticket: Arc<Ticket>) -> Self {
        let error = Failure::internal().to_error(ticket.revision, &ticket.request_id());
        Self::new(ticket, Err(error))
    }
}
