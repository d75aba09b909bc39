//! Purging deleted entities: their text is erased permanently, and a dry run reports first how much that is.

use schemars::JsonSchema;
use serde::Serialize;
use store::entity;

use crate::context::Cx;
use crate::error::{Error, Result};
use crate::input::Version;
use crate::operation::Output;
use crate::versioned::{Versioned, record_field};

/// The result of a purge, or its preview.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Purged{T}")]
pub struct Purged<T> {
    #[serde(flatten)]
    thing: T,
    /// What would be erased with it, in a dry run.
    #[serde(skip_serializing_if = "Option::is_none")]
    would_erase: Option<Erased>,
}

/// The extent of a purge.
#[derive(Serialize, JsonSchema)]
struct Erased {
    /// The number of comments on it.
    comments: i64,
    /// The number of versions in its history.
    versions: i64,
}

impl<T: Output> Output for Purged<T> {
    fn version(&self) -> Option<i64> {
        self.thing.version()
    }

    fn reference(&self) -> Option<&str> {
        self.thing.reference()
    }
}

/// Reports what a purge would erase.
pub(crate) fn look<T: Versioned>(
    cx: &mut Cx<'_, '_>,
    gone: T,
    expected: Option<Version>,
) -> Result<Purged<T>> {
    gone.check_version(cx, expected)?;
    check_purgeable(&gone)?;
    let (comments, versions) = entity::count_erased(cx.tx, gone.subject().id)?;
    Ok(Purged { thing: gone, would_erase: Some(Erased { comments, versions }) })
}

/// Erases the text of something deleted permanently, also from history and stored answers, and returns what `find` finds then.
pub(crate) fn purge<T: Versioned>(
    cx: &mut Cx<'_, '_>,
    gone: T,
    expected: Option<Version>,
    erase: impl FnOnce(&mut Cx<'_, '_>, &T) -> Result<()>,
    find: impl FnOnce(&mut Cx<'_, '_>) -> Result<T>,
) -> Result<Purged<T>> {
    gone.check_version(cx, expected)?;
    if gone.purged_at().is_some() {
        return Ok(Purged { thing: gone, would_erase: None });
    }
    check_purgeable(&gone)?;
    erase(cx, &gone)?;
    cx.erase(gone.subject().id)?;
    let purged = find(cx)?;
    record_field(cx, &purged, "purged_at", ((), purged.purged_at()))?;
    Ok(Purged { thing: purged, would_erase: None })
}

/// Rejects purging what is not deleted.
fn check_purgeable<T: Versioned>(gone: &T) -> Result<()> {
    match gone.deleted_at() {
        Some(_) => Ok(()),
        None => Err(Error::conflict(format!("{} is not deleted; delete it first", gone.label()))),
    }
}
