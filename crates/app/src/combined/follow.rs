//! Follows the store during the session, because other processes write to it, too.

use std::sync::{Arc, Weak};
use std::time::Duration;

use mcp::{Change, Changed};
use ops::Caller;
use store::member;
use store::revision::{self, Place};
use store::{Mode, Store, Tx};

use super::local::Local;
use crate::requirements::changes;

/// How often the store is polled, which reads only the end of an index.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// How many changes are read at once.
const READ_AT_ONCE: i64 = 500;

/// Sends change notifications from now on, until the session ends.
pub fn start(local: &Arc<Local>, changed: Arc<Changed>) {
    let local = Arc::downgrade(local);
    let spawned = std::thread::Builder::new().name("changes".into()).spawn(move || follow(&local, &changed));
    if let Err(error) = spawned {
        tracing::warn!("change notifications failed: {error}");
    }
}

fn follow(local: &Weak<Local>, changed: &Changed) {
    let mut last: Option<Place> = None;
    while let Some(local) = local.upgrade() {
        let is_behind = match local.opened() {
            Ok(opened) => {
                let last = last.get_or_insert(opened.place);
                // Callers without rights get no notifications either.
                opened.server.caller().is_some_and(|caller| look(&opened.store, &caller, last, changed))
            }
            // The error is reported when a call needs the store.
            Err(_) => false,
        };
        drop(local);
        if !is_behind {
            std::thread::sleep(LOOK_EVERY);
        }
    }
}

/// Sends what is new, and returns whether there is more.
fn look(store: &Store, caller: &Caller, last: &mut Place, changed: &Changed) -> bool {
    let (after, viewer) = (*last, caller.viewer().cloned());
    let read = move |tx: &mut Tx<'_>| -> store::Result<(Vec<revision::Change>, Vec<Change>)> {
        let found = revision::changes_after(tx, after, READ_AT_ONCE)?;
        let mut seen = Vec::new();
        for change in &found {
            let is_seen = match (&viewer, &change.project_id) {
                (Some(viewer), Some(project_id)) => member::role(tx, viewer, project_id)?.is_some(),
                _ => true,
            };
            if is_seen {
                seen.push(change.clone());
            }
        }
        let told = changes::of(tx, &seen)?;
        Ok((found, told))
    };
    match store.wait(Mode::Snapshot, read) {
        Ok((found, told)) => {
            *last = found.last().map_or(after, |change| change.place);
            told.into_iter().for_each(changed);
            found.len() as i64 == READ_AT_ONCE
        }
        Err(error) => {
            tracing::warn!("changes cannot be read: {error}");
            false
        }
    }
}
