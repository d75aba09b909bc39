//! Detects that a dump was loaded into another PostgreSQL cluster. Transaction numbers start from the beginning there, so
//! the order of changes would be wrong, and change numbers that clients know would be reused.

use crate::backup;
use crate::db::{Mode, Store, Tx};
use crate::error::Result;
use crate::model::Time;
use crate::revision;

/// The name of a change of the whole store in the audit trail.
const MOVED: &str = "move_store";

/// Tells all clients that follow the store to start again, if it has moved to another cluster.
pub(crate) fn notice_move(store: &Store, now: Time) -> Result<()> {
    // Without the right to read the cluster's id, nothing can be detected.
    if !store.is_remote() || store.wait(Mode::Point, is_known).unwrap_or(true) {
        return Ok(());
    }
    store.wait(Mode::Write, move |tx| {
        tx.lock("cluster")?;
        // Another server may have been faster.
        if is_known(tx)? {
            return Ok(());
        }
        if has_moved(tx)? {
            revision::forget_transactions(tx)?;
            backup::announce(tx, 0, MOVED, now)?;
        }
        tx.execute("delete from cluster", &[])?;
        tx.execute(
            "insert into cluster (identifier)
             select cast(system_identifier as text) from pg_control_system()",
            &[],
        )?;
        Ok(())
    })
}

/// Whether the store is in the recorded cluster.
fn is_known(tx: &mut Tx<'_>) -> Result<bool> {
    let sql =
        "select 1 from cluster join pg_control_system() on identifier = cast(system_identifier as text)";
    Ok(tx.row(sql, &[], |_| Ok(()))?.is_some())
}

/// Whether it was in another cluster before. Earlier versions have not recorded the cluster; then a change with a future
/// transaction number shows it.
fn has_moved(tx: &mut Tx<'_>) -> Result<bool> {
    let sql = "select 1 from cluster
               union all
               select 1 from change
               where transaction_number >= cast(cast(pg_snapshot_xmax(pg_current_snapshot()) as text) as bigint) limit 1";
    Ok(tx.row(sql, &[], |_| Ok(()))?.is_some())
}
