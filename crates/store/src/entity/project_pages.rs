//! The contents of a project by page and without offsets, so that an export of any size takes little memory.

use super::{Entity, read, select_entity};
use crate::db::{Shape, Tx};
use crate::error::Result;
use crate::model::Kind;
use crate::values;

/// What to read of a project.
#[derive(Clone, Debug)]
pub struct Extent {
    /// The project's id.
    pub project_id: String,
    /// The id of an epic: only this, everything below it, and its linked documents.
    pub epic_id: Option<String>,
    /// Include deleted ones. Purged ones are never read.
    pub include_deleted: bool,
}

impl Extent {
    /// Adds the condition that entities `e` of a kind belong to the epic, where only one is read.
    pub(super) fn restrict<'a>(&'a self, shape: &mut Shape<'a>, kind: Kind) {
        let Some(epic_id) = &self.epic_id else { return };
        let condition = match kind {
            Kind::Epic => "e.id = ?",
            Kind::UserStory => "e.parent_id = ?",
            Kind::SteeringDocument => {
                "e.id in (select l.document_id from steering_link l where l.epic_id = ?)"
            }
            _ => "e.parent_id in (select s.id from entity s where s.parent_id = ?)",
        };
        shape.condition(condition, values![epic_id]);
    }
}

/// The entities of a kind after a number, by number.
pub fn page_of_kind(
    tx: &mut Tx<'_>,
    extent: &Extent,
    kind: Kind,
    after: i64,
    limit: i64,
) -> Result<Vec<Entity>> {
    let mut shape = Shape::new(select_entity!(""));
    shape
        .condition("e.project_id = ?", values![&extent.project_id])
        .condition("e.kind = ?", values![kind.name()])
        .condition("e.number > ?", values![after])
        .condition("e.purged_at is null", &[]);
    if !extent.include_deleted {
        shape.condition("e.deleted_at is null", &[]);
    }
    extent.restrict(&mut shape, kind);
    shape.add(" order by e.number limit ?", values![limit]);
    tx.shaped_rows(&shape, read)
}

/// The links between epics and steering documents of a project, as numbers.
pub fn document_links(tx: &mut Tx<'_>, extent: &Extent) -> Result<Vec<(i64, i64)>> {
    let mut shape = Shape::new(
        "select epic.number, document.number from steering_link l
         join entity epic on epic.id = l.epic_id join entity document on document.id = l.document_id",
    );
    shape
        .condition("l.project_id = ?", values![&extent.project_id])
        .condition("epic.purged_at is null and document.purged_at is null", &[]);
    if !extent.include_deleted {
        shape.condition("epic.deleted_at is null and document.deleted_at is null", &[]);
    }
    if let Some(epic_id) = &extent.epic_id {
        shape.condition("l.epic_id = ?", values![epic_id]);
    }
    shape.add(" order by epic.number, document.number", &[]);
    tx.shaped_rows(&shape, |row| Ok((row.get(0)?, row.get(1)?)))
}
