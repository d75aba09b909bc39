//! Open requirements, what they wait for, and what waits for them.

use std::collections::HashMap;

use super::lease::KIND;
use crate::db::{Shape, Tx};
use crate::error::Result;
use crate::model::reference_id;
use crate::status;
use crate::value::{Row, Value};
use crate::values;

/// The type of relationship whose source needs its target.
const DEPENDS_ON: &str = "00000000-0000-7000-8000-000000000201";
/// The type of relationship whose target cannot proceed before its source is done. Administrators may rename both.
const BLOCKS: &str = "00000000-0000-7000-8000-000000000202";

/// The scope in which work is searched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkScope {
    /// In all of a project.
    Project,
    /// Below an epic.
    Epic(String),
    /// Below a user story.
    Story(String),
    /// One requirement.
    One(String),
}

/// An open requirement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenRequirement {
    /// The id.
    pub id: String,
    /// The id of its story.
    pub story_id: Option<String>,
    /// The priority, from 1 on; the lowest if it has none.
    pub priority: i64,
    /// Its number.
    pub number: i64,
}

/// The names of the statuses that are not final.
fn open_statuses(tx: &mut Tx<'_>) -> Result<Vec<String>> {
    let statuses = status::of(tx, KIND)?.statuses;
    Ok(statuses.into_iter().filter(|status| !status.is_final).map(|status| status.name).collect())
}

/// Open requirements without citations or evidence, according to pushes, by priority and number.
pub fn not_begun(
    tx: &mut Tx<'_>,
    project_id: &str,
    scope: &WorkScope,
    (limit, offset): (i64, i64),
) -> Result<Vec<OpenRequirement>> {
    let is_new = "not exists (select 1 from verification v where v.entity_id = e.id and (v.is_cited = 1 or v.is_verified = 1))";
    open(tx, project_id, scope, is_new, (limit, offset))
}

/// The same with citations, but not closed by evidence.
pub fn begun(
    tx: &mut Tx<'_>,
    project_id: &str,
    scope: &WorkScope,
    limit: i64,
) -> Result<Vec<OpenRequirement>> {
    let is_begun = "exists (select 1 from verification v where v.entity_id = e.id and v.is_cited = 1 and v.is_verified = 0)";
    open(tx, project_id, scope, is_begun, (limit, 0))
}

/// Which of some requirements are in a scope of a project, and open.
pub fn among(
    tx: &mut Tx<'_>,
    project_id: &str,
    scope: &WorkScope,
    ids: &[&str],
) -> Result<Vec<OpenRequirement>> {
    let list = tx.list(ids);
    let is_wanted = if tx.is_postgres() {
        "e.id in (select unnest(string_to_array(?, ',')))"
    } else {
        "e.id in (select value from json_each(?))"
    };
    open_that(tx, project_id, scope, (is_wanted, values![&list]), (ids.len() as i64, 0))
}

fn open(
    tx: &mut Tx<'_>,
    project_id: &str,
    scope: &WorkScope,
    condition: &'static str,
    window: (i64, i64),
) -> Result<Vec<OpenRequirement>> {
    open_that(tx, project_id, scope, (condition, &[]), window)
}

fn open_that(
    tx: &mut Tx<'_>,
    project_id: &str,
    scope: &WorkScope,
    (condition, values): (&'static str, &[Value<'_>]),
    (limit, offset): (i64, i64),
) -> Result<Vec<OpenRequirement>> {
    let statuses = open_statuses(tx)?;
    let statuses: Vec<Value<'_>> = statuses.iter().map(Value::from).collect();
    let mut shape = Shape::new("select e.id, e.parent_id, coalesce(e.priority, 9), e.number from ");
    match scope {
        WorkScope::Project => {
            shape.add("entity e", &[]);
            shape.condition("e.project_id = ? and e.kind = 'requirement'", values![project_id]);
        }
        WorkScope::Epic(id) => {
            shape.add("entity story join entity e on e.parent_id = story.id and e.kind = 'requirement'", &[]);
            let is_below = "story.parent_id = ? and story.kind = 'user_story' and story.deleted_at is null";
            shape.condition(is_below, values![id]);
        }
        WorkScope::Story(id) => {
            shape.add("entity e", &[]);
            shape.condition("e.parent_id = ? and e.kind = 'requirement'", values![id]);
        }
        WorkScope::One(id) => {
            shape.add("entity e", &[]);
            shape.condition("e.id = ? and e.kind = 'requirement'", values![id]);
        }
    }
    shape.one_of("e.status", &statuses);
    shape.condition("e.deleted_at is null", &[]);
    shape.condition(condition, values);
    shape.add(" order by coalesce(e.priority, 9), e.number limit ? offset ?", values![limit, offset]);
    tx.shaped_rows(&shape, |row| {
        Ok(OpenRequirement {
            id: row.get(0)?,
            story_id: row.get(1)?,
            priority: row.get(2)?,
            number: row.get(3)?,
        })
    })
}

/// A waiting requirement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wait {
    /// The id of the waiting requirement.
    pub waiting_id: String,
    /// The id of the requirement it waits for.
    pub blocker_id: String,
    /// The reference id of the requirement it waits for.
    pub blocker: String,
}

/// A relation by which requirements wait for each other, from the requested side.
macro_rules! waits {
    ($ids:literal) => {
        concat!(
            "select w.waiting_id, w.blocker_id, p.key, b.number from (
                 select r.source_id as waiting_id, r.target_id as blocker_id from relationship r
                 where r.source_id ",
            $ids,
            " and r.type_id = ?2 and r.deleted_at is null
                 union
                 select r.target_id, r.source_id from relationship r
                 where r.target_id ",
            $ids,
            " and r.type_id = ?3 and r.deleted_at is null
             ) w join entity b on b.id = w.blocker_id join project p on p.id = b.project_id
             left join status s on s.entity_kind = b.kind and s.name = b.status
             where coalesce(s.is_final, 0) = 0
               and not exists (select 1 from verification v where v.entity_id = b.id and v.is_verified = 1)
             order by w.waiting_id, b.number"
        )
    };
}

/// What some requirements wait for: other open requirements that are not closed by evidence, according to pushes.
pub fn waits_of(tx: &mut Tx<'_>, ids: &[&str]) -> Result<Vec<Wait>> {
    let sql = if tx.is_postgres() {
        waits!("in (select unnest(string_to_array(?1, ',')))")
    } else {
        waits!("in (select value from json_each(?1))")
    };
    let ids = tx.list(ids);
    tx.rows(sql, values![&ids, DEPENDS_ON, BLOCKS], |row: &Row<'_>| {
        Ok(Wait {
            waiting_id: row.get(0)?,
            blocker_id: row.get(1)?,
            blocker: reference_id(row.text(2)?, KIND, row.get(3)?),
        })
    })
}

/// The number of open requirements that wait for each of some.
macro_rules! waiting {
    ($ids:literal) => {
        concat!(
            "select w.blocker_id, count(*) from (
                 select r.source_id as waiting_id, r.target_id as blocker_id from relationship r
                 where r.target_id ",
            $ids,
            " and r.type_id = ?2 and r.deleted_at is null
                 union
                 select r.target_id, r.source_id from relationship r
                 where r.source_id ",
            $ids,
            " and r.type_id = ?3 and r.deleted_at is null
             ) w join entity e on e.id = w.waiting_id
             left join status s on s.entity_kind = e.kind and s.name = e.status
             where coalesce(s.is_final, 0) = 0 group by w.blocker_id"
        )
    };
}

/// The number of requirements that wait for each of some.
pub fn count_waiting(tx: &mut Tx<'_>, ids: &[&str]) -> Result<HashMap<String, i64>> {
    let sql = if tx.is_postgres() {
        waiting!("in (select unnest(string_to_array(?1, ',')))")
    } else {
        waiting!("in (select value from json_each(?1))")
    };
    let ids = tx.list(ids);
    let counted =
        tx.rows(sql, values![&ids, DEPENDS_ON, BLOCKS], |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(counted.into_iter().collect())
}
