//! Removes superseded pushes, in slices between which others can write.

use store::thread::repository::Repository;
use store::thread::{run, snapshot};

use crate::context::Cx;
use crate::error::Result;

/// How many rows a slice removes of each table.
const ROWS: i64 = 2_000;
/// The runs of how many commits of a ref are kept, and how many runs in total.
const RUNS_KEPT: (i64, i64) = (20, 500);
/// A push that has not ended after this time is considered interrupted.
const BROKEN_OFF_S: i64 = 24 * 3_600;
/// How many slices one push removes at most; the rest waits for the next push.
const SLICES_MAX: usize = 200;

/// Data that is no longer used.
pub(super) enum Leftover {
    /// A snapshot that is neither a head nor pinned.
    Snapshot(String),
    /// A run that newer ones of its ref have superseded.
    Run(String),
}

/// The unused data of a repository.
pub(super) fn leftovers(cx: &mut Cx<'_, '_>, repository: &Repository) -> Result<Vec<Leftover>> {
    let before = cx.now().plus_seconds(-BROKEN_OFF_S);
    let snapshots = snapshot::superseded(cx.tx, &repository.id, before)?;
    let runs = run::superseded(cx.tx, &repository.id, RUNS_KEPT, before)?;
    Ok(snapshots.into_iter().map(Leftover::Snapshot).chain(runs.into_iter().map(Leftover::Run)).collect())
}

/// How many slices are planned. Most repositories need fewer; a slice without data costs nothing.
pub(super) fn n_slices(leftovers: &[Leftover]) -> usize {
    if leftovers.is_empty() { 0 } else { SLICES_MAX }
}

/// Removes a slice of the first remaining data.
pub(super) fn remove_slice(cx: &mut Cx<'_, '_>, leftovers: &mut Vec<Leftover>) -> Result<()> {
    let Some(leftover) = leftovers.first() else { return Ok(()) };
    let is_gone = match leftover {
        Leftover::Snapshot(id) => snapshot::remove_some(cx.tx, id, ROWS)?,
        Leftover::Run(id) => run::remove_some(cx.tx, id, ROWS)?,
    };
    if is_gone {
        leftovers.remove(0);
    }
    Ok(())
}

/// Removes everything of a repository.
pub(super) fn remove_all(cx: &mut Cx<'_, '_>, repository: &Repository) -> Result<()> {
    snapshot::remove_heads(cx.tx, &repository.id)?;
    for id in snapshot::all(cx.tx, &repository.id)? {
        while !snapshot::remove_some(cx.tx, &id, ROWS)? {}
    }
    for id in run::all(cx.tx, &repository.id)? {
        while !run::remove_some(cx.tx, &id, ROWS)? {}
    }
    Ok(())
}
