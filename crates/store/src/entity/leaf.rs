//! Entities without dependents, which can be deleted many at a time, each by its own deletion.

use std::collections::HashMap;

use super::Entity;
use crate::db::Tx;
use crate::error::Result;
use crate::model::Time;
use crate::values;

/// The dependents of an entity, each as an id.
#[derive(Clone, Debug, Default)]
pub struct Dependents {
    /// A child, or a requirement of a criterion.
    pub entity: Option<String>,
    /// A relationship of it.
    pub relationship: Option<String>,
    /// A comment on it.
    pub comment: Option<String>,
}

/// One dependent of each kind for some entities, by their ids, if there is one.
pub fn dependents(tx: &mut Tx<'_>, ids: &[&str]) -> Result<HashMap<String, Dependents>> {
    macro_rules! select {
        ($ids:literal) => {
            concat!(
                "select e.id,
                        coalesce((select id from entity where parent_id = e.id and deleted_at is null limit 1),
                                 (select id from entity where criterion_id = e.id and deleted_at is null limit 1)),
                        coalesce((select id from relationship where source_id = e.id and deleted_at is null limit 1),
                                 (select id from relationship where target_id = e.id and deleted_at is null limit 1)),
                        (select id from comment where entity_id = e.id and deleted_at is null limit 1)
                 from entity e where e.id ",
                $ids
            )
        };
    }
    let sql = if tx.is_postgres() {
        select!("in (select unnest(string_to_array(?1, ',')))")
    } else {
        select!("in (select value from json_each(?1))")
    };
    let ids = tx.list(ids);
    let found = tx.rows(sql, values![&ids], |row| {
        let dependents = Dependents { entity: row.get(1)?, relationship: row.get(2)?, comment: row.get(3)? };
        Ok((row.get(0)?, dependents))
    })?;
    Ok(found.into_iter().collect())
}

/// Marks entities without dependents as deleted, each by its own deletion; false if another change
/// was faster.
pub fn delete_leaves(
    tx: &mut Tx<'_>,
    leaves: &[(&Entity, String)],
    actor_id: &str,
    now: Time,
) -> Result<bool> {
    let ids = tx.list(leaves.iter().map(|(entity, _)| &entity.id));
    let versions = tx.list(leaves.iter().map(|(entity, _)| entity.version));
    let deletions = tx.list(leaves.iter().map(|(_, deletion_id)| deletion_id));
    let (note, mark, hide) = if tx.is_postgres() { POSTGRES } else { SQLITE };
    tx.execute(note, values![&ids, &deletions, actor_id, now])?;
    let n_marked = tx.execute(mark, values![&ids, &deletions, &versions, now])?;
    tx.execute(hide, values![&ids])?;
    Ok(n_marked as usize == leaves.len())
}

/// The statements that delete leaves: they record the deletions, mark the entities, and hide them from searches.
type Statements = (&'static str, &'static str, &'static str);

const POSTGRES: Statements = (
    "insert into deletion (id, project_id, root_id, actor_id, deleted_at)
     select d.id, e.project_id, e.id, ?3, ?4
     from unnest(string_to_array(?1, ','), string_to_array(?2, ',')) as d (root_id, id)
     join entity e on e.id = d.root_id",
    "update entity set deleted_at = ?4, deletion_id = d.id, version = entity.version + 1, updated_at = ?4
     from unnest(string_to_array(?1, ','), string_to_array(?2, ','),
                 cast(string_to_array(?3, ',') as bigint[])) as d (root_id, id, version)
     where entity.id = d.root_id and entity.version = d.version and entity.deleted_at is null",
    "update search_document set is_deleted = 1 where id in (select unnest(string_to_array(?1, ',')))",
);

const SQLITE: Statements = (
    "insert into deletion (id, project_id, root_id, actor_id, deleted_at)
     select d.value, e.project_id, e.id, ?3, ?4
     from json_each(?1) root join json_each(?2) d on d.key = root.key join entity e on e.id = root.value",
    "update entity set deleted_at = ?4, deletion_id = d.id, version = entity.version + 1, updated_at = ?4
     from (select root.value as root_id, d.value as id, cast(v.value as integer) as version
           from json_each(?1) root join json_each(?2) d on d.key = root.key join json_each(?3) v on v.key = root.key) d
     where entity.id = d.root_id and entity.version = d.version and entity.deleted_at is null",
    "update search_document set is_deleted = 1 where id in (select value from json_each(?1))",
);
