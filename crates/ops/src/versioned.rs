//! The common parts of entities, comments, prompts and relationships: a version, a history, soft deletion
//! and purging.

use serde::Serialize;
use serde_json::{Map, json};
use store::Tx;
use store::comment::Comment;
use store::deletion::Deletion;
use store::entity::Entity;
use store::model::{Kind, Time};
use store::prompt::Prompt;
use store::relationship::Relationship;

use crate::context::{Cx, Subject, check_version, overtaken, to_value};
use crate::error::{Error, ErrorKind, Result};
use crate::input::Version;
use crate::since::since;

/// Something with a version and a history.
pub(crate) trait Versioned: Clone + PartialEq + Serialize {
    /// The subject of its revisions.
    fn subject(&self) -> Subject<'_>;
    /// Its name in errors.
    fn label(&self) -> &str;
    /// When it was deleted.
    fn deleted_at(&self) -> Option<Time>;
    /// When its text was purged.
    fn purged_at(&self) -> Option<Time>;
    /// Whether it can be restored individually.
    fn can_be_restored(&self) -> bool;
    /// Increments its version.
    fn go_on(&mut self, now: Time);

    /// Checks the version that a caller expects. For a stale one, the error lists the changes since.
    fn check_version(&self, cx: &mut Cx<'_, '_>, expected: Option<Version>) -> Result<()> {
        let Subject { id, version, .. } = self.subject();
        let Err(stale) = check_version(expected, self.label(), version, self) else { return Ok(()) };
        match expected {
            Some(expected) if expected.0 < version => Err(stale.saying(since(cx, id, expected.0)?)),
            _ => Err(stale),
        }
    }

    /// Rejects what is deleted, and says when it was.
    fn live(self) -> Result<Self> {
        let Some(deleted_at) = self.deleted_at() else { return Ok(self) };
        let restore = if self.can_be_restored() { "; it can be restored" } else { "" };
        let message = format!("{} was deleted at {deleted_at}{restore}", self.label());
        Err(Error::new(ErrorKind::NotFound, message).with(json!({ "deleted_at": deleted_at })))
    }

    /// The error for restoring what is not deleted.
    fn not_deleted(&self) -> Error {
        Error::conflict(format!("{} is not deleted", self.label()))
    }

    /// Rejects restoring what was purged.
    fn check_unpurged(&self) -> Result<()> {
        refuse_purged(self.label(), self.purged_at())
    }
}

/// Rejects restoring what was purged, by the name that it has here.
pub(crate) fn refuse_purged(name: &str, purged_at: Option<Time>) -> Result<()> {
    purged_at.map_or(Ok(()), |_| {
        Err(Error::conflict(format!("{name} was purged: its text was erased permanently")))
    })
}

/// Records a change. Without a previous state, it is new.
pub(crate) fn record<T: Versioned>(cx: &mut Cx<'_, '_>, before: Option<&T>, after: &T) -> Result<()> {
    let before = before.map(to_value).transpose()?;
    cx.record(&after.subject(), before.as_ref(), Some(&to_value(after)?))
}

/// Records the change of one field, without comparing states.
pub(crate) fn record_field(
    cx: &mut Cx<'_, '_>,
    thing: &impl Versioned,
    field: &str,
    (before, after): (impl Serialize, impl Serialize),
) -> Result<()> {
    let pair = json!([to_value(&before)?, to_value(&after)?]);
    cx.record_changes(&thing.subject(), &Map::from_iter([(field.to_owned(), pair)]))
}

/// A deletion by the caller, now.
pub(crate) fn new_deletion(cx: &Cx<'_, '_>) -> Result<Deletion> {
    Ok(Deletion { id: cx.new_id(), actor_id: cx.caller()?.user_id.clone(), at: cx.now() })
}

/// Records a deletion.
pub(crate) fn record_deleted(cx: &mut Cx<'_, '_>, gone: &impl Versioned) -> Result<()> {
    record_field(cx, gone, "deleted_at", ((), gone.deleted_at()))
}

/// Records a restore.
pub(crate) fn record_restored(
    cx: &mut Cx<'_, '_>,
    back: &impl Versioned,
    deleted_at: Option<Time>,
) -> Result<()> {
    record_field(cx, back, "deleted_at", (deleted_at, ()))
}

/// Stores a change as the next version, if it differs.
pub(crate) fn change<T: Versioned>(
    cx: &mut Cx<'_, '_>,
    before: T,
    mut after: T,
    update: impl FnOnce(&mut Tx<'_>, &T) -> store::Result<bool>,
) -> Result<T> {
    if after == before {
        return Ok(before);
    }
    after.go_on(cx.now());
    if !update(cx.tx, &after)? {
        return Err(overtaken(before.label()));
    }
    record(cx, Some(&before), &after)?;
    Ok(after)
}

macro_rules! versioned {
    (
        $type:ty, $self:ident, kind: $kind:expr, project: $project_id:expr, reference: $reference_id:expr,
        label: $label:expr, purged: $purged_at:expr, restorable: $can_be_restored:expr,
    ) => {
        impl Versioned for $type {
            fn subject(&$self) -> Subject<'_> {
                let (id, version) = (&$self.id, $self.version);
                Subject { project_id: $project_id, kind: $kind, id, reference_id: $reference_id, version }
            }

            fn label(&$self) -> &str {
                $label
            }

            fn deleted_at(&$self) -> Option<Time> {
                $self.deleted_at
            }

            fn purged_at(&$self) -> Option<Time> {
                $purged_at
            }

            fn can_be_restored(&$self) -> bool {
                $can_be_restored
            }

            fn go_on(&mut $self, now: Time) {
                $self.version += 1;
                $self.updated_at = now;
            }
        }
    };
}

versioned! {
    Entity, self, kind: self.kind.name(), project: Some(&self.project_id), reference: Some(&self.reference_id),
    label: &self.reference_id, purged: self.purged_at, restorable: self.purged_at.is_none(),
}

versioned! {
    Comment, self, kind: Kind::Comment.name(), project: Some(&self.project_id), reference: Some(&self.entity),
    label: "the comment", purged: self.purged_at, restorable: self.purged_at.is_none(),
}

versioned! {
    Prompt, self, kind: Kind::Prompt.name(), project: None, reference: Some(&self.reference_id),
    label: &self.reference_id, purged: self.purged_at, restorable: self.purged_at.is_none(),
}

versioned! {
    Relationship, self, kind: "relationship", project: Some(&self.project_id), reference: None,
    label: "the relationship", purged: None, restorable: false,
}
