//! Warns of a transaction of the database that holds back events.

use std::time::{Duration, Instant};

use store::revision::Holder;

use super::hub::LOOK_EVERY_REMOTE;

/// Changes may be held back by a transaction for so long before somebody is told.
const HELD_MAX: Duration = Duration::from_secs(10);

/// Looks for a transaction that holds back changes, and warns of each once.
#[derive(Default)]
pub struct HolderWatch {
    looked: Option<Instant>,
    found: Option<(Holder, Instant)>,
    is_told: bool,
}

impl HolderWatch {
    /// Whether it is time to look again.
    pub fn is_due(&self) -> bool {
        self.looked.is_none_or(|looked| looked.elapsed() >= LOOK_EVERY_REMOTE)
    }

    /// Notes what was found.
    pub fn note(&mut self, holder: Option<Holder>) {
        let now = Instant::now();
        self.looked = Some(now);
        match (holder, self.found) {
            (Some(holder), Some((known, since))) if known == holder => {
                let held_s = (now - since).as_secs();
                if now - since >= HELD_MAX && !std::mem::replace(&mut self.is_told, true) {
                    tracing::warn!(
                        backend_pid = holder.pid,
                        held_s,
                        "a transaction of the database has been open for too long: events wait until it ends; see \
                         pg_stat_activity, and pg_terminate_backend to end it"
                    );
                }
            }
            (holder, _) => {
                if std::mem::take(&mut self.is_told) {
                    tracing::info!("events go on");
                }
                self.found = holder.map(|holder| (holder, now));
            }
        }
    }
}
