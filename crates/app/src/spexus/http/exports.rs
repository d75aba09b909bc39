//! Exports take memory: several times the file while it is made, and once until it is sent. Both are bounded.

use std::sync::Arc;
use std::time::Duration;

use ops::{Error, Kind, Result};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Exports that are made at once.
const MADE_MAX: usize = 2;
/// What files that are being sent may take together, in MiB. A file that is larger is sent alone.
const SENT_MIB_MAX: u32 = 128;
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
        let sent = Arc::new(Semaphore::new(SENT_MIB_MAX as usize));
        Exports { made: Arc::new(Semaphore::new(MADE_MAX)), sent }
    }
}

impl Exports {
    /// Waits until an export may be made.
    pub async fn make(&self) -> Result<OwnedSemaphorePermit> {
        permit(&self.made, 1).await
    }

    /// Lets an export be made now, or not: for callers that have a thread waiting.
    pub fn make_now(&self) -> Result<OwnedSemaphorePermit> {
        self.made.clone().try_acquire_owned().map_err(|_| busy())
    }

    /// Waits until a file of this size may be sent.
    pub async fn send(&self, n_bytes: usize) -> Result<OwnedSemaphorePermit> {
        let n_mib = u32::try_from(n_bytes >> 20).unwrap_or(u32::MAX).saturating_add(1);
        permit(&self.sent, n_mib.min(SENT_MIB_MAX)).await
    }
}

async fn permit(of: &Arc<Semaphore>, number: u32) -> Result<OwnedSemaphorePermit> {
    let turn = tokio::time::timeout(WAIT, of.clone().acquire_many_owned(number)).await;
    turn.ok().and_then(std::result::Result::ok).ok_or_else(busy)
}

fn busy() -> Error {
    let error = Error::new(Kind::Unavailable, "too many exports are under way; try again soon");
    Error { retry_after_s: Some(RETRY_S), ..error }
}
