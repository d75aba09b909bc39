//! Entities that nothing depends on, which can be deleted one at a time, each by its key.

use super::Entity;
use crate::db::Tx;
use crate::error::Result;
use crate::model::Time;
use crate::values;

/// What an entity cannot be deleted without, each as an id: something live that depends on it.
#[derive(Clone, Debug, Default)]
pub struct Dependents {
    /// Something below it, or a requirement that serves it.
    pub entity: Option<String>,
    /// A relationship of it.
    pub relationship: Option<String>,
    /// A comment on it.
    pub comment: Option<String>,
}

/// One of each that depends on an entity.
pub fn dependents(tx: &mut Tx<'_>, id: &str) -> Result<Dependents> {
    let sql = "select coalesce((select id from entity where parent_id = ?1 and deleted_at is null limit 1),
                               (select id from entity where criterion_id = ?1 and deleted_at is null limit 1)),
                      coalesce((select id from relationship where source_id = ?1 and deleted_at is null limit 1),
                               (select id from relationship where target_id = ?1 and deleted_at is null limit 1)),
                      (select id from comment where entity_id = ?1 and deleted_at is null limit 1)";
    let found = tx.row(sql, values![id], |row| {
        Ok(Dependents { entity: row.get(0)?, relationship: row.get(1)?, comment: row.get(2)? })
    })?;
    Ok(found.unwrap_or_default())
}

/// Marks an entity that nothing depends on as deleted by a deletion of its own; false when another change was faster.
pub fn delete_leaf(
    tx: &mut Tx<'_>,
    entity: &Entity,
    deletion_id: &str,
    actor_id: &str,
    now: Time,
) -> Result<bool> {
    let sql =
        "insert into deletion (id, project_id, root_id, actor_id, deleted_at) values (?1, ?2, ?3, ?4, ?5)";
    tx.execute(sql, values![deletion_id, &entity.project_id, &entity.id, actor_id, now])?;
    let sql = "update entity set deleted_at = ?2, deletion_id = ?3, version = version + 1, updated_at = ?2
               where id = ?1 and version = ?4 and deleted_at is null";
    let is_deleted = tx.execute(sql, values![&entity.id, now, deletion_id, entity.version])? == 1;
    tx.execute("update search_document set is_deleted = 1 where id = ?1", values![&entity.id])?;
    Ok(is_deleted)
}
