//! The tree of epics, stories, criteria and requirements: ancestors and descendants, deletion and restoring.

use schemars::JsonSchema;
use serde::Serialize;

use super::{Entity, FIELDS, read, read_kind, select_entity};
use crate::db::{Shape, Tx};
use crate::deletion::Deletion;
use crate::error::Result;
use crate::model::{Kind, Time, reference_id};
use crate::search;
use crate::value::Value;
use crate::values;

/// A step on the way up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Ancestor {
    /// The UUID.
    pub id: String,
    /// The reference id.
    pub reference_id: String,
    /// What it is.
    pub kind: Kind,
    /// The title, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
}

/// From the epic down to the entity itself.
pub fn ancestors(tx: &mut Tx<'_>, id: &str) -> Result<Vec<Ancestor>> {
    // A parent is looked up separately, because PostgreSQL would join all entities for what it estimates to be many rows.
    let sql = "with recursive up (id, depth) as (
                   select id, 0 from (select id from entity where id = ?1 limit 1) itself
                   union all
                   select (select parent_id from entity where id = up.id), depth + 1 from up where id is not null
               )
               select e.id, p.key, e.kind, e.number, e.title
               from up cross join entity e join project p on p.id = e.project_id where e.id = up.id
               order by up.depth desc";
    tx.rows(sql, values![id], |row| {
        let kind = read_kind(&row.get::<String>(2)?)?;
        let key: String = row.get(1)?;
        Ok(Ancestor {
            id: row.get(0)?,
            reference_id: reference_id(&key, kind, row.get(3)?),
            kind,
            title: row.get(4)?,
        })
    })
}

/// What a tree shows of an entity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leaf {
    /// The UUID.
    pub id: String,
    /// The id of what it is below.
    pub parent_id: Option<String>,
    /// What it is.
    pub kind: Kind,
    /// The reference id.
    pub reference_id: String,
    /// The title, or the text where it has none.
    pub label: String,
    /// The status.
    pub status: Option<String>,
    /// The priority.
    pub priority: Option<i64>,
    /// The name of a requirement's type.
    pub type_name: Option<String>,
    /// The reference id of the criterion that a requirement serves.
    pub criterion: Option<String>,
}

/// Entities with all their existing descendants down to a level: parents before children, each level by
/// kind and number.
pub fn leaves(tx: &mut Tx<'_>, roots: &[&str], depth: i64, limit: i64) -> Result<Vec<Leaf>> {
    macro_rules! leaves {
        ($roots:literal) => {
            concat!(
                "with recursive down (id, depth) as (
                     select id, 1 from entity where id in (",
                $roots,
                ") union all
                     select child.id, down.depth + 1 from entity child join down on child.parent_id = down.id
                     where child.deleted_at is null and down.depth < ?2
                 )
                 select e.id, e.parent_id, e.kind, p.key, e.number, coalesce(e.title, e.description, ''), e.status,
                        e.priority, t.name, criterion.number
                 from down cross join entity e join project p on p.id = e.project_id
                 left join requirement_type t on t.id = e.type_id
                 left join entity criterion on criterion.id = e.criterion_id
                 where e.id = down.id
                 order by down.depth, e.kind, e.number limit ?3"
            )
        };
    }
    // `cross join` makes SQLite look up the found rows, instead of scanning everything.
    let sql = if tx.is_postgres() {
        leaves!("select unnest(string_to_array(?1, ','))")
    } else {
        leaves!("select value from json_each(?1)")
    };
    let roots = tx.list(roots);
    tx.rows(sql, values![&roots, depth, limit], |row| {
        let kind = read_kind(row.text(2)?)?;
        let key = row.text(3)?;
        let criterion = row.get::<Option<i64>>(9)?;
        Ok(Leaf {
            id: row.get(0)?,
            parent_id: row.get(1)?,
            kind,
            reference_id: reference_id(key, kind, row.get(4)?),
            label: row.get(5)?,
            status: row.get(6)?,
            priority: row.get(7)?,
            type_name: row.get(8)?,
            criterion: criterion.map(|number| reference_id(key, Kind::AcceptanceCriteria, number)),
        })
    })
}

/// The number of existing children of each entity, if any.
pub fn count_children(tx: &mut Tx<'_>, parents: &[&str]) -> Result<Vec<(String, i64)>> {
    let sql = if tx.is_postgres() {
        "select parent_id, count(*) from entity where parent_id in (select unnest(string_to_array(?1, ','))) and deleted_at is null
         group by parent_id"
    } else {
        "select parent_id, count(*) from entity where parent_id in (select value from json_each(?1))
           and deleted_at is null group by parent_id"
    };
    let parents = tx.list(parents);
    tx.rows(sql, values![&parents], |row| Ok((row.get(0)?, row.get(1)?)))
}

/// One of the children of an entity, and its place among them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Child {
    /// The UUID.
    pub id: String,
    /// What it is.
    pub kind: Kind,
    /// The number in its reference id.
    pub number: i64,
}

/// A page of the existing children of an entity, by kind and number as in [`leaves`], after the position given by these two.
pub fn children(
    tx: &mut Tx<'_>,
    parent_id: &str,
    after: Option<(&str, i64)>,
    limit: i64,
    offset: i64,
) -> Result<Vec<Child>> {
    let sql = "select id, kind, number from entity
               where parent_id = ?1 and (kind, number) > (?2, ?3) and deleted_at is null
               order by kind, number limit ?4 offset ?5";
    let (kind, number) = after.unwrap_or_default();
    tx.rows(sql, values![parent_id, kind, number, limit, offset], |row| {
        Ok(Child { id: row.get(0)?, kind: read_kind(row.text(1)?)?, number: row.get(2)? })
    })
}

/// What depends on an entity and would go with it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Below {
    /// User stories.
    pub user_stories: i64,
    /// Acceptance criteria.
    pub acceptance_criteria: i64,
    /// Requirements.
    pub requirements: i64,
    /// Relationships of those requirements.
    pub relationships: i64,
    /// Comments on any of them.
    pub comments: i64,
}

/// Everything live below the entity `?1`, and itself.
macro_rules! with_down {
    ($rest:literal) => {
        concat!(
            "with recursive down (id) as (
                 select id from entity where id = ?1
                 union all
                 select child.id from entity child join down on child.parent_id = down.id
                 where child.deleted_at is null
             ) ",
            $rest
        )
    };
}

/// The number of relationships and comments of an entity and its existing descendants.
pub fn count_attached(tx: &mut Tx<'_>, id: &str) -> Result<(i64, i64)> {
    let sql = with_down!(
        "select (select count(*) from (
                     select r.id from relationship r where r.deleted_at is null and r.source_id in (select id from down)
                     union
                     select r.id from relationship r where r.deleted_at is null and r.target_id in (select id from down)
                 ) related),
                (select count(*) from comment c where c.deleted_at is null and c.entity_id in (select id from down))"
    );
    Ok(tx.row(sql, values![id], |row| Ok((row.get(0)?, row.get(1)?)))?.unwrap_or_default())
}

/// Locks an entity and its existing descendants against changes and new dependents, until the commit.
pub fn lock_below(tx: &mut Tx<'_>, id: &str) -> Result<()> {
    if tx.is_postgres() {
        let sql = with_down!(
            "select e.id from entity e where e.id in (select id from down) order by e.id for update of e"
        );
        tx.each(sql, values![id], |_| Ok(()))?;
    }
    Ok(())
}

/// Locks the entities of a deletion against restoring and purging until the commit.
pub fn lock_deletion(tx: &mut Tx<'_>, deletion_id: &str) -> Result<()> {
    tx.lock(&format!("deletion {deletion_id}"))
}

/// Marks an entity, its descendants, and their relationships and comments as deleted by one deletion. All of them get
/// a new version.
pub fn delete(tx: &mut Tx<'_>, entity: &Entity, deletion: &Deletion) -> Result<()> {
    deletion.note(tx, &entity.project_id, &entity.id)?;
    // Dependents before the entities: nothing existing may depend on something deleted.
    let values = values![&entity.id, deletion.at, &deletion.id];
    let sql = with_down!(
        "update comment set deleted_at = ?2, deletion_id = ?3, version = version + 1, updated_at = ?2
         where deleted_at is null and entity_id in (select id from down)"
    );
    tx.execute(sql, values)?;
    let sql = with_down!(
        "update relationship set deleted_at = ?2, deletion_id = ?3, version = version + 1, updated_at = ?2
         where deleted_at is null
           and (source_id in (select id from down) or target_id in (select id from down))"
    );
    tx.execute(sql, values)?;
    let sql = with_down!(
        "update entity set deleted_at = ?2, deletion_id = ?3, version = version + 1, updated_at = ?2
         where deleted_at is null and id in (select id from down)"
    );
    tx.execute(sql, values)?;
    search::mark_deleted(tx, &deletion.id)
}

/// The root of a deletion.
pub fn deletion(tx: &mut Tx<'_>, deletion_id: &str) -> Result<Option<String>> {
    tx.row("select root_id from deletion where id = ?1", values![deletion_id], |row| row.get(0))
}

/// The entities of a deletion, parents before children.
pub fn deletion_members(tx: &mut Tx<'_>, deletion_id: &str) -> Result<Vec<Entity>> {
    let sql = select_entity!(
        "where e.deletion_id = ?1
         order by case e.kind when 'epic' then 1 when 'user_story' then 2 when 'acceptance_criteria' then 3 else 4 end,
                  e.number"
    );
    tx.rows(sql, values![deletion_id], read)
}

/// Restores everything of a deletion, except what was purged and its dependents.
pub fn restore(tx: &mut Tx<'_>, deletion_id: &str, now: Time) -> Result<()> {
    search::mark_restored(tx, deletion_id)?;
    let sql =
        "update entity set deleted_at = null, deletion_id = null, version = version + 1, updated_at = ?2
               where deletion_id = ?1 and purged_at is null";
    tx.execute(sql, values![deletion_id, now])?;
    let sql = "update relationship set deleted_at = null, deletion_id = null, version = version + 1, updated_at = ?2
               where deletion_id = ?1
                 and not exists (select 1 from entity e
                     where e.id in (relationship.source_id, relationship.target_id) and e.purged_at is not null)";
    tx.execute(sql, values![deletion_id, now])?;
    let sql = "with recursive purged (id) as (
                   select id from comment where deletion_id = ?1 and purged_at is not null
                   union
                   select c.id from comment c join purged on c.parent_id = purged.id where c.deletion_id = ?1
               )
               update comment set deleted_at = null, deletion_id = null, version = version + 1, updated_at = ?2
               where deletion_id = ?1 and id not in (select id from purged)
                 and not exists (select 1 from entity e where e.id = comment.entity_id and e.purged_at is not null)";
    tx.execute(sql, values![deletion_id, now])?;
    Ok(())
}

/// The requirements that lost a criterion when it was deleted, and still are in its story without one.
pub fn released_at(tx: &mut Tx<'_>, criterion: &Entity, deleted_at: Time) -> Result<Vec<Entity>> {
    let sql = select_entity!(
        "where e.parent_id = ?1 and e.kind = 'requirement' and e.criterion_id is null and e.purged_at is null
           and exists (select 1 from revision r
               where r.entity_id = e.id and r.created_at = ?2 and r.changes like ?3)
         order by e.number"
    );
    let change = format!("%\"acceptance_criteria_id\":[\"{}\",null]%", criterion.id);
    tx.rows(sql, values![criterion.user_story_id.as_deref(), deleted_at, &change], read)
}

/// How many comments and revisions a purge would erase.
pub fn count_erased(tx: &mut Tx<'_>, id: &str) -> Result<(i64, i64)> {
    let sql = "select (select count(*) from comment where entity_id = ?1), (select count(*) from revision where entity_id = ?1)";
    Ok(tx.row(sql, values![id], |row| Ok((row.get(0)?, row.get(1)?)))?.unwrap_or_default())
}

/// Erases the text of a deleted entity and of its comments.
pub fn purge(tx: &mut Tx<'_>, entity: &Entity, now: Time) -> Result<()> {
    let mut shape = Shape::new("");
    shape.add("update entity set purged_at = ?, version = version + 1, updated_at = ?", values![now, now]);
    for field in FIELDS.iter().filter(|field| field.nature.is_text) {
        // Required fields get a placeholder.
        let is_needed = field.is_needed(entity.kind) == Some(true);
        let empty = if is_needed { Value::Text("(purged)") } else { Value::Null };
        shape.add(", ", &[]).add(field.name, &[]).add(" = ?", &[empty]);
    }
    shape.add(" where id = ?", values![&entity.id]);
    tx.execute_shaped(&shape)?;
    tx.execute("delete from entity_alias where entity_id = ?1", values![&entity.id])?;
    let sql =
        "update revision set changes = '{}' where entity_id in (select id from comment where entity_id = ?1)";
    tx.execute(sql, values![&entity.id])?;
    let sql = "update comment set content = '(purged)', quote = null, anchor_start = null, anchor_end = null, purged_at = ?2
               where entity_id = ?1";
    tx.execute(sql, values![&entity.id, now])?;
    search::remove(tx, &entity.id)
}
