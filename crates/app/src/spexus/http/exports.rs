//! An export is made into a file, which takes a thread of the store meanwhile, and is kept until it is sent. Both are
//! bounded.

use std::sync::Arc;
use std::time::Duration;

use ops::{Error, ErrorKind, Result};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Exports that are made at once.
const MADE_MAX: usize = 2;
/// Files that are sent at once.
const SENT_MAX: usize = 16;
/// An export waits this long for its turn.
const WAIT: Duration = Duration::from_secs(10);
/// And is asked to come again after this long.
const RETRY_S: u64 = 10;

/// Exports under way.
pub struct Exports {
    made: Arc<Semaphore>,
    sent: Arc<Semaphore>,
}

impl Default for Exports {
    fn default() -> Self {
        Exports { made: Arc::new(Semaphore::new(MADE_MAX)), sent: Arc::new(Semaphore::new(SENT_MAX)) }
    }
}

impl Exports {
    /// Waits until an export may be made.
    pub async fn make(&self) -> Result<OwnedSemaphorePermit> {
        permit(&self.made).await
    }

    /// Lets an export be made now, or not: for callers that have a thread waiting.
    pub fn make_now(&self) -> Result<OwnedSemaphorePermit> {
        self.made.clone().try_acquire_owned().map_err(|_| busy())
    }

    /// Waits until one more file may be sent.
    pub async fn send(&self) -> Result<OwnedSemaphorePermit> {
        permit(&self.sent).await
    }
}

async fn permit(of: &Arc<Semaphore>) -> Result<OwnedSemaphorePermit> {
    let turn = tokio::time::timeout(WAIT, of.clone().acquire_owned()).await;
    turn.ok().and_then(std::result::Result::ok).ok_or_else(busy)
}

fn busy() -> Error {
    let error = Error::new(ErrorKind::Unavailable, "too many exports are under way; try again soon");
    Error { retry_after_s: Some(RETRY_S), ..error }
}
