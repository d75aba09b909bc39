//! Citable entities: requirements and acceptance criteria with their current text.

use crate::db::Tx;
use crate::entity::read_kind;
use crate::error::Result;
use crate::model::{Kind, reference_id};
use crate::status::StatusOutcome;
use crate::value::Row;
use crate::values;

/// A requirement or a criterion that can be cited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CitableText {
    /// The UUID.
    pub id: String,
    /// Its project's id.
    pub project_id: String,
    /// The id of its user story.
    pub parent_id: Option<String>,
    /// Its reference id.
    pub reference_id: String,
    /// What it is.
    pub kind: Kind,
    /// Its title; empty for a criterion.
    pub title: String,
    /// What it says.
    pub description: String,
    /// Its status.
    pub status: Option<String>,
    /// The outcome of its status, if it is final.
    pub outcome: Option<StatusOutcome>,
    /// Its version.
    pub version: i64,
    /// The version in which its text last changed.
    pub content_version: i64,
    /// Whether it was deleted.
    pub is_deleted: bool,
}

macro_rules! select {
    ($from:literal) => {
        concat!(
            "select e.id, e.project_id, p.key, e.kind, e.number, coalesce(e.title, ''), coalesce(e.description, ''), e.status,
                    e.version, e.content_version, cast(case when e.deleted_at is null then 0 else 1 end as bigint), e.parent_id,
                    coalesce(s.is_final, 0), s.outcome
             from ",
            $from
        )
    };
}

/// The entities with some ids.
pub fn of_ids(tx: &mut Tx<'_>, ids: &[&str]) -> Result<Vec<CitableText>> {
    let sql = if tx.is_postgres() {
        select!(
            "unnest(string_to_array(?1, ',')) wanted (id) join entity e on e.id = wanted.id
             join project p on p.id = e.project_id left join status s on s.entity_kind = e.kind and s.name = e.status"
        )
    } else {
        select!(
            "json_each(?1) wanted cross join entity e on e.id = wanted.value join project p on p.id = e.project_id
             left join status s on s.entity_kind = e.kind and s.name = e.status"
        )
    };
    let ids = tx.list(ids);
    tx.rows(sql, values![&ids], read)
}

/// The ids of a project's entities with some numbers of a kind, deleted or not, each with its number.
pub fn of_numbers(
    tx: &mut Tx<'_>,
    project_id: &str,
    kind: Kind,
    numbers: &[i64],
) -> Result<Vec<(i64, String)>> {
    let sql = if tx.is_postgres() {
        // The limit keeps the order of the join, as in `entity::of_numbers`.
        "select found.number, found.id from unnest(cast(string_to_array(?3, ',') as bigint[])) wanted (number)
         cross join lateral (select e.number, e.id from entity e
             where e.project_id = ?1 and e.kind = ?2 and e.number = wanted.number limit 1) found"
    } else {
        "select e.number, e.id from json_each(?3) wanted
         cross join entity e on e.project_id = ?1 and e.kind = ?2 and e.number = cast(wanted.value as integer)"
    };
    let numbers = tx.list(numbers);
    tx.rows(sql, values![project_id, kind.name(), &numbers], |row| Ok((row.get(0)?, row.get(1)?)))
}

/// The requirements and criteria `e` below the epic or the story `?1`: all, or those not closed by evidence.
macro_rules! below {
    (epic, $only:literal) => {
        concat!(
            "entity story join entity e on e.parent_id = story.id and e.deleted_at is null
                 and e.kind in ('acceptance_criteria', 'requirement')
             join project p on p.id = e.project_id left join status s on s.entity_kind = e.kind and s.name = e.status
             where story.parent_id = ?1 and story.kind = 'user_story' and story.deleted_at is null ",
            $only
        )
    };
    (story, $only:literal) => {
        concat!(
            "entity e join project p on p.id = e.project_id left join status s on s.entity_kind = e.kind and s.name = e.status
             where e.parent_id = ?1 and e.deleted_at is null and e.kind in ('acceptance_criteria', 'requirement') ",
            $only
        )
    };
    ($above:ident, open) => {
        below!(
            $above,
            "and not exists (select 1 from verification v where v.entity_id = e.id and v.is_verified = 1)"
        )
    };
    ($above:ident, all) => {
        below!($above, "")
    };
}

/// The number of requirements and criteria below an entity, or of those not closed by evidence.
pub fn count_below(tx: &mut Tx<'_>, parent_id: &str, kind: Kind, is_open: bool) -> Result<i64> {
    let sql = match (kind, is_open) {
        (Kind::Epic, false) => concat!("select count(*) from ", below!(epic, all)),
        (Kind::Epic, true) => concat!("select count(*) from ", below!(epic, open)),
        (_, false) => concat!("select count(*) from ", below!(story, all)),
        (_, true) => concat!("select count(*) from ", below!(story, open)),
    };
    Ok(tx.row(sql, values![parent_id], |row| row.get(0))?.unwrap_or_default())
}

/// Requirements and criteria below an entity, story by story, criteria first: all, or those not closed by evidence.
pub fn below(
    tx: &mut Tx<'_>,
    parent_id: &str,
    kind: Kind,
    is_open: bool,
    (limit, offset): (i64, i64),
) -> Result<Vec<CitableText>> {
    macro_rules! page {
        (epic, $which:ident) => {
            concat!(
                select!(""),
                below!(epic, $which),
                " order by story.number, e.kind, e.number limit ?2 offset ?3"
            )
        };
        (story, $which:ident) => {
            concat!(select!(""), below!(story, $which), " order by e.kind, e.number limit ?2 offset ?3")
        };
    }
    let sql = match (kind, is_open) {
        (Kind::Epic, false) => page!(epic, all),
        (Kind::Epic, true) => page!(epic, open),
        (_, false) => page!(story, all),
        (_, true) => page!(story, open),
    };
    tx.rows(sql, values![parent_id, limit, offset], read)
}

/// The existing user stories and requirements of a project after a given id, sorted by id.
pub fn threatened_after(
    tx: &mut Tx<'_>,
    project_id: &str,
    after: &str,
    limit: i64,
) -> Result<Vec<CitableText>> {
    let sql = concat!(
        select!(
            "entity e join project p on p.id = e.project_id
             left join status s on s.entity_kind = e.kind and s.name = e.status"
        ),
        " where e.project_id = ?1 and e.id > ?2 and e.kind in ('user_story', 'requirement') and e.deleted_at is null
          order by e.id limit ?3"
    );
    tx.rows(sql, values![project_id, after, limit], read)
}

/// The same below an epic or a user story, including the story itself.
pub fn threatened_below(
    tx: &mut Tx<'_>,
    parent_id: &str,
    kind: Kind,
    after: &str,
    limit: i64,
) -> Result<Vec<CitableText>> {
    macro_rules! among {
        ($ids:literal) => {
            concat!(
                select!("("),
                $ids,
                ") wanted join entity e on e.id = wanted.id join project p on p.id = e.project_id
                 left join status s on s.entity_kind = e.kind and s.name = e.status
                 where e.id > ?2 order by e.id limit ?3"
            )
        };
    }
    let sql = match kind {
        Kind::Epic => among!(
            "select story.id from entity story
             where story.parent_id = ?1 and story.kind = 'user_story' and story.deleted_at is null
             union all
             select r.id from entity story
             join entity r on r.parent_id = story.id and r.kind = 'requirement' and r.deleted_at is null
             where story.parent_id = ?1 and story.kind = 'user_story' and story.deleted_at is null"
        ),
        _ => among!(
            "select story.id from entity story where story.id = ?1 and story.deleted_at is null
             union all
             select r.id from entity r where r.parent_id = ?1 and r.kind = 'requirement' and r.deleted_at is null"
        ),
    };
    tx.rows(sql, values![parent_id, after, limit], read)
}

fn read(row: &Row<'_>) -> Result<CitableText> {
    let kind = read_kind(row.text(3)?)?;
    let status: Option<String> = row.get(7)?;
    let (is_final, outcome): (bool, Option<String>) = (row.get(12)?, row.get(13)?);
    let outcome =
        status.as_deref().and_then(|status| StatusOutcome::read(status, is_final, outcome.as_deref()));
    Ok(CitableText {
        id: row.get(0)?,
        project_id: row.get(1)?,
        parent_id: row.get(11)?,
        reference_id: reference_id(row.text(2)?, kind, row.get(4)?),
        kind,
        title: row.get(5)?,
        description: row.get(6)?,
        status,
        outcome,
        version: row.get(8)?,
        content_version: row.get(9)?,
        is_deleted: row.get(10)?,
    })
}
