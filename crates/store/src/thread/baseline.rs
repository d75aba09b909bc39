//! Baselines: named states of a project, with the version of each entity and the snapshots that were heads.

use schemars::JsonSchema;
use serde::Serialize;

use crate::db::Tx;
use crate::entity::read_kind;
use crate::error::Result;
use crate::model::{Kind, Time, reference_id};
use crate::types::fold;
use crate::value::Row;
use crate::values;

/// A named state of a project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Baseline {
    /// The UUID.
    pub id: String,
    /// The project's id.
    #[serde(skip)]
    pub project_id: String,
    /// The key of the project.
    pub project: String,
    /// Its name.
    pub name: String,
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// How many entities it has.
    pub n_entities: i64,
    /// How many of them were verified.
    pub n_verified: i64,
    /// Who pinned it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    /// When.
    pub created_at: Time,
}

/// Pins the current state of a project. Returns the number of entities, and of verified ones.
pub fn pin(tx: &mut Tx<'_>, new: &Baseline, actor_id: &str) -> Result<(i64, i64)> {
    let sql = "insert into baseline (id, project_id, name, name_folded, note, n_entities, n_verified, actor_id, created_at)
               values (?1, ?2, ?3, ?4, ?5, 0, 0, ?6, ?7)";
    let folded = fold(&new.name);
    tx.execute(
        sql,
        values![&new.id, &new.project_id, &new.name, &folded, &new.note, actor_id, new.created_at],
    )?;
    let entities =
        "insert into baseline_entity (baseline_id, entity_id, version, content_version, is_verified)
                    select cast(?1 as text), e.id, e.version, e.content_version, coalesce(v.is_verified, 0)
                    from entity e left join verification v on v.entity_id = e.id
                    where e.project_id = ?2 and e.deleted_at is null";
    tx.execute(entities, values![&new.id, &new.project_id])?;
    let snapshots = "insert into baseline_snapshot (baseline_id, snapshot_id)
                     select cast(?1 as text), h.snapshot_id from repository_project rp
                     join repository r on r.id = rp.repository_id
                     join trace_head h on h.repository_id = r.id and h.ref = r.main_ref
                     where rp.project_id = ?2";
    tx.execute(snapshots, values![&new.id, &new.project_id])?;
    let counted = "select count(*), cast(coalesce(sum(is_verified), 0) as bigint) from baseline_entity where baseline_id = ?1";
    let (n_entities, n_verified): (i64, i64) =
        tx.row(counted, values![&new.id], |row| Ok((row.get(0)?, row.get(1)?)))?.unwrap_or_default();
    let update = "update baseline set n_entities = ?2, n_verified = ?3 where id = ?1";
    tx.execute(update, values![&new.id, n_entities, n_verified])?;
    Ok((n_entities, n_verified))
}

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "select b.id, b.project_id, p.key, b.name, b.note, b.n_entities, b.n_verified, u.username, b.created_at
             from baseline b join project p on p.id = b.project_id left join user_account u on u.id = b.actor_id ",
            $rest
        )
    };
}

/// The baseline of a project with a name or an id.
pub fn find(tx: &mut Tx<'_>, project_id: &str, name: &str) -> Result<Option<Baseline>> {
    let sql = select!("where b.project_id = ?1 and (b.id = ?2 or b.name_folded = ?3)");
    tx.row(sql, values![project_id, name, &fold(name)], read)
}

/// The baselines of a project, newest first, and their number.
pub fn list(tx: &mut Tx<'_>, project_id: &str, limit: i64, offset: i64) -> Result<(Vec<Baseline>, i64)> {
    let sql = select!("where b.project_id = ?1 order by b.created_at desc, b.id desc limit ?2 offset ?3");
    let found = tx.rows(sql, values![project_id, limit, offset], read)?;
    let count = "select count(*) from baseline where project_id = ?1";
    let total = tx.row(count, values![project_id], |row| row.get(0))?;
    Ok((found, total.unwrap_or_default()))
}

/// The entities of a baseline by kind and number: their ids and versions, and whether they were verified.
pub fn entities(tx: &mut Tx<'_>, id: &str) -> Result<Vec<(String, i64, bool)>> {
    let sql = "select b.entity_id, b.version, b.is_verified from baseline_entity b join entity e on e.id = b.entity_id
               where b.baseline_id = ?1 order by e.kind, e.number";
    tx.rows(sql, values![id], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
}

/// Removes a baseline.
pub fn delete(tx: &mut Tx<'_>, id: &str) -> Result<()> {
    for sql in [
        "delete from baseline_entity where baseline_id = ?1",
        "delete from baseline_snapshot where baseline_id = ?1",
        "delete from baseline where id = ?1",
    ] {
        tx.execute(sql, values![id])?;
    }
    Ok(())
}

/// An entity as it was in one state and is in another; a version is none where it is not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The entity's id.
    pub entity_id: String,
    /// Its reference id.
    pub reference_id: String,
    /// Its kind.
    pub kind: Kind,
    /// Its title, or the beginning of its text, now.
    pub title: String,
    /// The version and the version of its text, and whether it was verified, in the first state.
    pub before: Option<(i64, i64, bool)>,
    /// The same in the second state.
    pub after: Option<(i64, i64, bool)>,
}

impl Pair {
    /// Whether its text differs.
    pub fn has_other_text(&self) -> bool {
        matches!((self.before, self.after), (Some(before), Some(after)) if before.1 != after.1)
    }
}

macro_rules! pairs {
    ($from:literal) => {
        concat!(
            "select e.id, p.key, e.kind, e.number, coalesce(e.title, e.description, ''), a.version, a.content_version,
                    a.is_verified, b.version, b.content_version, b.is_verified
             from ",
            $from,
            " join entity e on e.id = x.entity_id join project p on p.id = e.project_id order by e.kind, e.number"
        )
    };
}

/// The differences between two baselines, or between one and the present.
pub fn compare(tx: &mut Tx<'_>, project_id: &str, from: &str, to: Option<&str>) -> Result<Vec<Pair>> {
    let mut found = Vec::new();
    let keep = |row: &Row<'_>| -> Result<()> {
        let pair = read_pair(row)?;
        if pair.before != pair.after {
            found.push(pair);
        }
        Ok(())
    };
    match to {
        Some(to) => {
            let sql = pairs!(
                "(select entity_id from baseline_entity where baseline_id = ?1
                  union select entity_id from baseline_entity where baseline_id = ?2) x
                 left join baseline_entity a on a.baseline_id = ?1 and a.entity_id = x.entity_id
                 left join baseline_entity b on b.baseline_id = ?2 and b.entity_id = x.entity_id"
            );
            tx.each(sql, values![from, to], keep)?;
        }
        None => {
            let sql = pairs!(
                "(select entity_id from baseline_entity where baseline_id = ?1
                  union select id from entity where project_id = ?2 and deleted_at is null) x
                 left join baseline_entity a on a.baseline_id = ?1 and a.entity_id = x.entity_id
                 left join (select n.id, n.version, n.content_version, coalesce(v.is_verified, 0) as is_verified
                            from entity n left join verification v on v.entity_id = n.id
                            where n.project_id = ?2 and n.deleted_at is null) b on b.id = x.entity_id"
            );
            tx.each(sql, values![from, project_id], keep)?;
        }
    }
    Ok(found)
}

fn read_pair(row: &Row<'_>) -> Result<Pair> {
    let kind = read_kind(row.text(2)?)?;
    let state = |index: usize| -> Result<Option<(i64, i64, bool)>> {
        let version: Option<i64> = row.get(index)?;
        version.map(|version| Ok((version, row.get(index + 1)?, row.get(index + 2)?))).transpose()
    };
    Ok(Pair {
        entity_id: row.get(0)?,
        reference_id: reference_id(row.text(1)?, kind, row.get(3)?),
        kind,
        title: row.get(4)?,
        before: state(5)?,
        after: state(8)?,
    })
}

fn read(row: &Row<'_>) -> Result<Baseline> {
    Ok(Baseline {
        id: row.get(0)?,
        project_id: row.get(1)?,
        project: row.get(2)?,
        name: row.get(3)?,
        note: row.get(4)?,
        n_entities: row.get(5)?,
        n_verified: row.get(6)?,
        actor: row.get(7)?,
        created_at: row.get(8)?,
    })
}
