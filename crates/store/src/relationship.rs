//! Relationships between requirements.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::circles;
use crate::db::{Shape, Tx};
use crate::deletion::Deletion;
use crate::error::Result;
use crate::migrate::Slice;
use crate::model::{Kind, Time, reference_id};
use crate::project::Projects;
use crate::value::Row;
use crate::values;

/// A relationship between two requirements.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Relationship {
    /// The UUID.
    pub id: String,
    /// The project's UUID.
    #[serde(skip)]
    pub project_id: String,
    /// The UUID of the requirement that it starts from.
    pub source_id: String,
    /// The reference id of the requirement that it starts from.
    pub source: String,
    /// The UUID of the requirement that it leads to.
    pub target_id: String,
    /// The reference id of the requirement that it leads to.
    pub target: String,
    /// The UUID of its type.
    pub type_id: String,
    /// The name of its type.
    #[serde(rename = "type")]
    pub type_name: String,
    /// The name of its type, read from the target.
    pub inverse_type: String,
    /// Who made it.
    pub creator_id: String,
    /// The version of the target that it was made or confirmed against.
    pub target_version: i64,
    /// Whether the target's text has changed since.
    pub suspect: bool,
    /// Goes up by one with each change.
    pub version: i64,
    /// When it was made.
    pub created_at: Time,
    /// When it was last changed.
    pub updated_at: Time,
    /// When it was deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deleted_at: Option<Time>,
    /// The deletion that it went with.
    #[serde(skip)]
    pub deletion_id: Option<String>,
}

macro_rules! select {
    ($rest:expr) => {
        select!("", $rest)
    };
    // With more columns after those of a relationship.
    ($more:literal, $rest:expr) => {
        concat!(
            "select r.id, r.project_id, p.key, r.source_id, source.number, r.target_id, target.number, r.type_id, t.name,
                    t.inverse_name, r.creator_id, r.target_version, target.content_version, r.version, r.created_at,
                    r.updated_at, r.deleted_at, r.deletion_id",
            $more,
            " from relationship r join project p on p.id = r.project_id
             join entity source on source.id = r.source_id join entity target on target.id = r.target_id
             join relationship_type t on t.id = r.type_id ",
            $rest
        )
    };
}

/// The relationship with this id, deleted or not.
pub fn find(tx: &mut Tx<'_>, id: &str) -> Result<Option<Relationship>> {
    tx.row(select!("where r.id = ?1"), values![id], read)
}

/// The relationships of a requirement, in both directions.
pub fn of(tx: &mut Tx<'_>, requirement_id: &str, limit: i64, offset: i64) -> Result<Vec<Relationship>> {
    let sql = select!(
        "where (r.source_id = ?1 or r.target_id = ?1) and r.deleted_at is null
         order by r.created_at, r.id limit ?2 offset ?3"
    );
    tx.rows(sql, values![requirement_id, limit, offset], read)
}

/// Their number.
pub fn count_of(tx: &mut Tx<'_>, requirement_id: &str) -> Result<i64> {
    let sql =
        "select count(*) from relationship where (source_id = ?1 or target_id = ?1) and deleted_at is null";
    Ok(tx.row(sql, values![requirement_id], |row| row.get(0))?.unwrap_or_default())
}

/// Their ids.
pub fn ids_of(tx: &mut Tx<'_>, requirement_id: &str) -> Result<Vec<String>> {
    let sql = "select id from relationship where (source_id = ?1 or target_id = ?1) and deleted_at is null";
    tx.rows(sql, values![requirement_id], |row| row.get(0))
}

/// The relationships of some requirements, in both directions, oldest first.
pub fn of_many(tx: &mut Tx<'_>, requirement_ids: &[&str], limit: i64) -> Result<Vec<Relationship>> {
    macro_rules! select_of {
        ($ids:literal) => {
            select!(concat!(
                "where r.id in (select o.id from relationship o where o.deleted_at is null and o.source_id ",
                $ids,
                " union select i.id from relationship i where i.deleted_at is null and i.target_id ",
                $ids,
                ") order by r.created_at, r.id limit ?2"
            ))
        };
    }
    let sql = if tx.is_postgres() {
        select_of!("in (select unnest(string_to_array(?1, ',')))")
    } else {
        select_of!("in (select value from json_each(?1))")
    };
    let ids = tx.list(requirement_ids);
    tx.rows(sql, values![&ids, limit], read)
}

/// A relationship whose target has changed since it was made or confirmed, and when it did.
pub type Suspect = (Relationship, Time);

/// The position of a suspect relationship in the list: since when it is suspect, in microseconds, and its id.
pub type SuspectPlace = (i64, String);

/// Suspect relationships, the last to become so first, and their number.
pub fn suspects(
    tx: &mut Tx<'_>,
    projects: &Projects,
    after: Option<&SuspectPlace>,
    limit: i64,
    offset: i64,
) -> Result<(Vec<Suspect>, i64)> {
    let suspect = |text: &'static str| {
        let mut shape = Shape::new(text);
        shape.condition("r.suspect_at is not null and r.deleted_at is null", &[]);
        projects.restrict(&mut shape, "r.project_id");
        shape
    };
    let total = tx.shaped_rows(&suspect("select count(*) from relationship r"), |row| row.get(0))?;
    let mut shape = suspect(select!(", r.suspect_at", ""));
    if let Some((time, id)) = after {
        let condition = "r.suspect_at <= ? and (r.suspect_at < ? or r.id < ?)";
        shape.condition(condition, values![*time, *time, id]);
    }
    shape.add(" order by r.suspect_at desc, r.id desc limit ? offset ?", values![limit, offset]);
    let found = tx.shaped_rows(&shape, |row| Ok((read(row)?, row.get(18)?)))?;
    Ok((found, total.first().copied().unwrap_or_default()))
}

/// The existing suspect relationships with a requirement as target.
pub fn suspects_to(tx: &mut Tx<'_>, target_id: &str) -> Result<Vec<Relationship>> {
    let sql = select!(
        "where r.target_id = ?1 and r.suspect_at is not null and r.deleted_at is null order by r.created_at, r.id"
    );
    tx.rows(sql, values![target_id], read)
}

/// Sets since when relationships after an id are suspect, where that is not stored yet.
pub(crate) fn find_suspects(tx: &mut Tx<'_>, position: &str) -> Result<Slice> {
    const SLICE: i64 = 2_000;
    let sql = "select id from relationship where id > ?1 order by id limit ?2";
    let ids: Vec<String> = tx.rows(sql, values![position, SLICE], |row| row.get(0))?;
    let Some(last) = ids.last() else { return Ok(Slice { next: None, n_rows: 0 }) };
    let sql = "update relationship
               set suspect_at = (select updated_at from entity
                                 where entity.id = target_id and content_version > target_version)
               where id > ?1 and id <= ?2";
    let n_rows = tx.execute(sql, values![position, last])?;
    Ok(Slice { next: Some(last.clone()), n_rows })
}

/// A page of a project's relationships between requirements that were not purged, by time, each with its
/// target's current version.
pub fn page_of_project(
    tx: &mut Tx<'_>,
    project_id: &str,
    include_deleted: bool,
    (time, id): (Time, &str),
    limit: i64,
) -> Result<Vec<(Relationship, i64)>> {
    let sql = select!(
        ", target.version",
        "where r.project_id = ?1 and (r.created_at, r.id) > (?3, ?4) and (r.deleted_at is null or ?2 = 1)
           and source.purged_at is null and target.purged_at is null
         order by r.created_at, r.id limit ?5"
    );
    let values = values![project_id, include_deleted, time, id, limit];
    tx.rows(sql, values, |row| Ok((read(row)?, row.get(18)?)))
}

/// Calls `read` with the existing acyclic relationships of a project, as ids of source and target, without collecting them.
pub fn each_acyclic(tx: &mut Tx<'_>, project_id: &str, mut each: impl FnMut(&str, &str)) -> Result<()> {
    let sql =
        "select r.source_id, r.target_id from relationship r join relationship_type t on t.id = r.type_id
               where r.project_id = ?1 and r.deleted_at is null and t.acyclic = 1";
    tx.each(sql, values![project_id], |row| {
        each(row.text(0)?, row.text(1)?);
        Ok(())
    })
}

/// The number of relationships of a project: in total, and existing ones.
pub fn count_in(tx: &mut Tx<'_>, project_id: &str) -> Result<(i64, i64)> {
    let sql = "select count(*), count(live) from relationship where project_id = ?1";
    Ok(tx.row(sql, values![project_id], |row| Ok((row.get(0)?, row.get(1)?)))?.unwrap_or_default())
}

/// Adds a relationship.
pub fn insert(tx: &mut Tx<'_>, new: &Relationship) -> Result<()> {
    let sql = "insert into relationship (project_id, id, source_id, target_id, requirement_kind, type_id, creator_id,
                   target_version, version, created_at, updated_at)
               values (?1, ?2, ?3, ?4, 'requirement', ?5, ?6, ?7, ?8, ?9, ?10)";
    let values = values![
        &new.project_id,
        &new.id,
        &new.source_id,
        &new.target_id,
        &new.type_id,
        &new.creator_id,
        new.target_version,
        new.version,
        new.created_at,
        new.updated_at,
    ];
    tx.execute(sql, values)?;
    Ok(())
}

/// The existing relationship of a type between two requirements.
pub fn between(
    tx: &mut Tx<'_>,
    source_id: &str,
    target_id: &str,
    type_id: &str,
) -> Result<Option<Relationship>> {
    let sql =
        select!("where r.source_id = ?1 and r.target_id = ?2 and r.type_id = ?3 and r.deleted_at is null");
    tx.row(sql, values![source_id, target_id, type_id], read)
}

/// The path from one requirement to another along existing acyclic relationships, as reference ids.
pub fn way(tx: &mut Tx<'_>, project_key: &str, from: &str, to: &str) -> Result<Option<Vec<String>>> {
    let sql = "select r.target_id, target.number from relationship r
               join relationship_type t on t.id = r.type_id join entity target on target.id = r.target_id
               where r.source_id = ?1 and r.deleted_at is null and t.acyclic = 1";
    let mut numbers = HashMap::new();
    let way = circles::way(from.to_owned(), to.to_owned(), |id| {
        let targets: Vec<(String, i64)> = tx.rows(sql, values![id], |row| Ok((row.get(0)?, row.get(1)?)))?;
        numbers.extend(targets.iter().cloned());
        Ok(targets.into_iter().map(|(id, _)| id).collect())
    })?;
    let name = |id: String| Some(reference_id(project_key, Kind::Requirement, *numbers.get(&id)?));
    Ok(way.map(|steps| steps.into_iter().filter_map(name).collect()))
}

/// Confirms a relationship for the target's current text; false if another change was faster.
pub fn confirm(tx: &mut Tx<'_>, changed: &Relationship) -> Result<bool> {
    let sql = "update relationship set target_version = ?2, version = ?3, updated_at = ?4
               where id = ?1 and version = ?3 - 1";
    let values = values![&changed.id, changed.target_version, changed.version, changed.updated_at];
    Ok(tx.execute(sql, values)? == 1)
}

/// Locks a project against new relationships that could close a cycle, and against changes of which
/// types are acyclic, until the commit.
pub fn lock_circles(tx: &mut Tx<'_>, project_id: &str) -> Result<()> {
    tx.lock_shared(TYPES_LOCK)?;
    tx.lock(&format!("circles in {project_id}"))
}

/// Locks out new relationships until the commit, so that the properties of types can change.
pub fn lock_types(tx: &mut Tx<'_>) -> Result<()> {
    tx.lock(TYPES_LOCK)
}

const TYPES_LOCK: &str = "relationship types";

/// Marks one relationship as deleted; false if another change was faster.
pub fn delete(tx: &mut Tx<'_>, gone: &Relationship, deletion: &Deletion) -> Result<bool> {
    deletion.note(tx, &gone.project_id, &gone.id)?;
    let sql =
        "update relationship set deleted_at = ?2, deletion_id = ?3, version = version + 1, updated_at = ?2
               where id = ?1 and version = ?4 and deleted_at is null";
    Ok(tx.execute(sql, values![&gone.id, deletion.at, &deletion.id, gone.version])? == 1)
}

/// The relationships of a deletion.
pub fn of_deletion(tx: &mut Tx<'_>, deletion_id: &str) -> Result<Vec<Relationship>> {
    tx.rows(select!("where r.deletion_id = ?1 order by r.created_at, r.id"), values![deletion_id], read)
}

fn read(row: &Row<'_>) -> Result<Relationship> {
    let key: String = row.get(2)?;
    let target_version: i64 = row.get(11)?;
    Ok(Relationship {
        id: row.get(0)?,
        project_id: row.get(1)?,
        source_id: row.get(3)?,
        source: reference_id(&key, Kind::Requirement, row.get(4)?),
        target_id: row.get(5)?,
        target: reference_id(&key, Kind::Requirement, row.get(6)?),
        type_id: row.get(7)?,
        type_name: row.get(8)?,
        inverse_type: row.get(9)?,
        creator_id: row.get(10)?,
        target_version,
        suspect: row.get::<i64>(12)? > target_version,
        version: row.get(13)?,
        created_at: row.get(14)?,
        updated_at: row.get(15)?,
        deleted_at: row.get(16)?,
        deletion_id: row.get(17)?,
    })
}
