//! Notices that a dump was loaded into another PostgreSQL cluster. Transactions are numbered from the beginning there, so
//! that the order of changes would be wrong, and changes would be numbered again that somebody has already seen.

use crate::backup;
use crate::db::{Mode, Store, Tx};
use crate::error::Result;
use crate::model::Time;
use crate::revision;

/// What a change of the whole store is called in the audit trail.
const MOVED: &str = "move_store";

/// Tells everybody who follows the store to begin anew, if it has come into another cluster.
pub(crate) fn notice_move(store: &Store, now: Time) -> Result<()> {
    // Where nobody may ask for the cluster, nothing can be noticed.
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

/// Whether the store is where it was.
fn is_known(tx: &mut Tx<'_>) -> Result<bool> {
    let sql =
        "select 1 from cluster join pg_control_system() on identifier = cast(system_identifier as text)";
    Ok(tx.row(sql, &[], |_| Ok(()))?.is_some())
}

/// Whether it was in another cluster before. Earlier versions have not recorded which; then a change from a transaction that
/// is still to come gives it away.
fn has_moved(tx: &mut Tx<'_>) -> Result<bool> {
    let sql = "select 1 from cluster
               union all
               select 1 from change
               where transaction_number >= cast(cast(pg_snapshot_xmax(pg_current_snapshot()) as text) as bigint) limit 1";
    Ok(tx.row(sql, &[], |_| Ok(()))?.is_some())
}
