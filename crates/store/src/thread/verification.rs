//! How much of each entity is closed by evidence, stored for reports that count many of them. Questions about one entity are
//! answered from its citations and results.

use std::collections::HashMap;

use crate::db::{Columns, Holds, Shape, Tx};
use crate::error::Result;
use crate::model::Kind;
use crate::report::Scope;
use crate::status::{self, StatusOutcome};
use crate::value::{Row, Value};
use crate::values;

/// How much of an entity is closed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verification {
    /// The entity.
    pub entity_id: String,
    /// Its project.
    pub project_id: String,
    /// How many units its text has.
    pub n_units: i64,
    /// How many of them code cites.
    pub n_implemented: i64,
    /// How many of them a test cites.
    pub n_tested: i64,
    /// How many of them are closed by evidence.
    pub n_closed: i64,
    /// Whether anything cites it.
    pub is_cited: bool,
    /// Whether a test of it failed.
    pub has_failed: bool,
    /// Whether all units are closed.
    pub is_verified: bool,
    /// The version of the text that was counted.
    pub content_version: i64,
}

const COLUMNS: Columns = Columns {
    table: "verification",
    columns: &[
        ("entity_id", Holds::Text),
        ("project_id", Holds::Text),
        ("n_units", Holds::Number),
        ("n_implemented", Holds::Number),
        ("n_tested", Holds::Number),
        ("n_closed", Holds::Number),
        ("is_verified", Holds::Number),
        ("is_cited", Holds::Number),
        ("has_failed", Holds::Number),
        ("content_version", Holds::Number),
    ],
};

/// Replaces the counts of some entities; those without citations and evidence have none.
pub fn replace(tx: &mut Tx<'_>, entity_ids: &[&str], new: &[Verification]) -> Result<()> {
    let sql = if tx.is_postgres() {
        "delete from verification v using unnest(string_to_array(?1, ',')) wanted (id) where v.entity_id = wanted.id"
    } else {
        "delete from verification where entity_id in (select value from json_each(?1))"
    };
    let ids = tx.list(entity_ids);
    tx.execute(sql, values![&ids])?;
    let rows = new.iter().map(|new| {
        [
            Value::from(&new.entity_id),
            (&new.project_id).into(),
            new.n_units.into(),
            new.n_implemented.into(),
            new.n_tested.into(),
            new.n_closed.into(),
            new.is_verified.into(),
            new.is_cited.into(),
            new.has_failed.into(),
            new.content_version.into(),
        ]
    });
    tx.insert_rows(&COLUMNS, rows)?;
    Ok(())
}

/// Records that nothing closes some entities, until they are recounted.
pub fn reopen(tx: &mut Tx<'_>, entity_ids: &[&str]) -> Result<()> {
    let sql = if tx.is_postgres() {
        "update verification v set is_verified = 0, n_closed = 0
         from unnest(string_to_array(?1, ',')) wanted (id) where v.entity_id = wanted.id"
    } else {
        "update verification set is_verified = 0, n_closed = 0 where entity_id in (select value from json_each(?1))"
    };
    let ids = tx.list(entity_ids);
    tx.execute(sql, values![&ids])?;
    Ok(())
}

/// The counts of entities, by their ids.
pub fn of_entities(tx: &mut Tx<'_>, entity_ids: &[&str]) -> Result<HashMap<String, Verification>> {
    let sql = if tx.is_postgres() {
        "select entity_id, project_id, n_units, n_implemented, n_tested, n_closed, is_cited, has_failed, is_verified,
                content_version
         from unnest(string_to_array(?1, ',')) wanted (id) join verification v on v.entity_id = wanted.id"
    } else {
        "select entity_id, project_id, n_units, n_implemented, n_tested, n_closed, is_cited, has_failed, is_verified,
                content_version
         from verification where entity_id in (select value from json_each(?1))"
    };
    let ids = tx.list(entity_ids);
    let found = tx.rows(sql, values![&ids], read)?;
    Ok(found.into_iter().map(|found| (found.entity_id.clone(), found)).collect())
}

/// The number of verified and of cited entities.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// How many of them are verified.
    pub n_verified: i64,
    /// How many of them something cites.
    pub n_cited: i64,
}

/// Counts the entities of a kind that are neither cancelled nor obsolete.
pub fn count(tx: &mut Tx<'_>, scope: &Scope, kind: Kind) -> Result<Counts> {
    let statuses = status::model(tx, kind)?.map(|model| model.statuses).unwrap_or_default();
    let is_over = |outcome| matches!(outcome, Some(StatusOutcome::Cancelled | StatusOutcome::Obsolete));
    let over = statuses.iter().filter(|status| is_over(status.outcome));
    let mut shape = Shape::new(
        "select cast(coalesce(sum(v.is_verified), 0) as bigint), cast(coalesce(sum(v.is_cited), 0) as bigint) from ",
    );
    match scope {
        Scope::Epic(id) => {
            shape.add(
                "entity story join entity e on e.parent_id = story.id join verification v on v.entity_id = e.id",
                &[],
            );
            shape.condition("story.parent_id = ? and story.deleted_at is null", values![id]);
        }
        Scope::Projects(projects) => {
            shape.add("verification v join entity e on e.id = v.entity_id", &[]);
            projects.restrict(&mut shape, "v.project_id");
        }
    }
    shape.condition("e.deleted_at is null and e.kind = ?", values![kind.name()]);
    for status in over {
        shape.condition("coalesce(e.status, '') <> ?", values![&status.name]);
    }
    let counts = tx.shaped_rows(&shape, read_counts)?;
    Ok(counts.into_iter().next().unwrap_or_default())
}

/// Counts the requirements and criteria below an epic or a story.
pub fn count_below(tx: &mut Tx<'_>, parent_id: &str, kind: Kind) -> Result<Counts> {
    let sql = match kind {
        Kind::Epic => {
            "select cast(coalesce(sum(v.is_verified), 0) as bigint), cast(coalesce(sum(v.is_cited), 0) as bigint)
             from entity story join entity e on e.parent_id = story.id and e.deleted_at is null
             join verification v on v.entity_id = e.id
             where story.parent_id = ?1 and story.kind = 'user_story' and story.deleted_at is null"
        }
        _ => {
            "select cast(coalesce(sum(v.is_verified), 0) as bigint), cast(coalesce(sum(v.is_cited), 0) as bigint)
             from entity e join verification v on v.entity_id = e.id
             where e.parent_id = ?1 and e.deleted_at is null"
        }
    };
    Ok(tx.row(sql, values![parent_id], read_counts)?.unwrap_or_default())
}

fn read_counts(row: &Row<'_>) -> Result<Counts> {
    Ok(Counts { n_verified: row.get(0)?, n_cited: row.get(1)? })
}

fn read(row: &Row<'_>) -> Result<Verification> {
    Ok(Verification {
        entity_id: row.get(0)?,
        project_id: row.get(1)?,
        n_units: row.get(2)?,
        n_implemented: row.get(3)?,
        n_tested: row.get(4)?,
        n_closed: row.get(5)?,
        is_cited: row.get(6)?,
        has_failed: row.get(7)?,
        is_verified: row.get(8)?,
        content_version: row.get(9)?,
    })
}
