//! Progress by status.

use schemars::JsonSchema;
use serde::Serialize;

use super::{Mention, Scope, from_epic, in_epic, mention, read_mention};
use crate::db::{Shape, Tx};
use crate::entity::read_kind;
use crate::error::Result;
use crate::model::{Kind, Time};
use crate::project::in_projects;
use crate::status::{self, StatusOutcome};
use crate::tally::{self, Total};
use crate::value::Value;
use crate::values;

/// How many entities of a kind there are, and how far they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// The kind.
    pub kind: Kind,
    /// How many.
    pub total: i64,
    /// With the initial status.
    pub not_begun: i64,
    /// With a final status of each outcome, in the order of [`StatusOutcome::ALL`].
    pub ended: [i64; 3],
    /// Given to nobody.
    pub unassigned: i64,
}

impl Summary {
    /// How many ended like this.
    pub fn ended_as(&self, outcome: StatusOutcome) -> i64 {
        self.ended[outcome as usize]
    }
}

/// A summary of each kind with entities.
pub fn summaries(tx: &mut Tx<'_>, scope: &Scope) -> Result<Vec<Summary>> {
    let of_epic = in_epic!(
        "select e.kind, count(*), count(*) filter (where e.assignee_id is null), s.name, s.is_initial, s.is_final, s.outcome",
        "left join status s on s.entity_kind = e.kind and s.name = e.status",
        "group by e.kind, s.name, s.is_initial, s.is_final, s.outcome"
    );
    let of_projects = concat!(
        "select t.kind, cast(coalesce(sum(t.n) filter (where t.dimension = 'status'), 0) as bigint),
                cast(coalesce(sum(t.n) filter (where t.dimension = 'assignee' and t.value = ''), 0) as bigint),
                s.name, s.is_initial, s.is_final, s.outcome
         from tallied t left join status s on t.dimension = 'status' and s.entity_kind = t.kind and s.name = t.value
         where t.dimension in ('status', 'assignee')
           and t.kind in ('epic', 'user_story', 'acceptance_criteria', 'requirement') and ",
        in_projects!("t.project_id", "?1", "?2", "?3"),
        " group by t.kind, s.name, s.is_initial, s.is_final, s.outcome"
    );
    let sql = if scope.is_epic() { of_epic } else { of_projects };
    let mut summaries: Vec<Summary> = Vec::new();
    tx.each(sql, &scope.values(), |row| {
        let kind = read_kind(&row.get::<String>(0)?)?;
        let (count, unassigned): (i64, i64) = (row.get(1)?, row.get(2)?);
        let known = summaries.iter().position(|summary| summary.kind == kind).unwrap_or(summaries.len());
        if known == summaries.len() {
            summaries.push(Summary { kind, total: 0, not_begun: 0, ended: [0; 3], unassigned: 0 });
        }
        let summary = &mut summaries[known];
        summary.total += count;
        summary.unassigned += unassigned;
        let Some(status) = row.get::<Option<String>>(3)? else { return Ok(()) };
        if row.get(4)? {
            summary.not_begun += count;
        }
        let stored: Option<String> = row.get(6)?;
        if let Some(outcome) = StatusOutcome::read(&status, row.get(5)?, stored.as_deref()) {
            summary.ended[outcome as usize] += count;
        }
        Ok(())
    })?;
    Ok(summaries)
}

/// A user story that is done, although requirements of it are drafts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DoneOverDrafts {
    /// The reference id.
    pub reference_id: String,
    /// The title.
    pub title: String,
    /// The status.
    pub status: Option<String>,
    /// How many of its requirements have the initial status.
    pub draft_requirements: i64,
}

/// The requirements `r` of the story `e` that have the initial status.
macro_rules! drafts {
    () => {
        " from entity r where r.parent_id = e.id and r.kind = 'requirement' and r.deleted_at is null
          and r.status = (select name from status where entity_kind = 'requirement' and is_initial = 1)"
    };
}

/// The first user stories that are done although some of their requirements are drafts, and their number.
pub fn done_over_drafts(tx: &mut Tx<'_>, scope: &Scope, limit: i64) -> Result<(Vec<DoneOverDrafts>, Total)> {
    let model = status::of(tx, Kind::UserStory)?;
    let is_done = |status: &&status::Status| status.outcome == Some(StatusOutcome::Done);
    let done: Vec<Value<'_>> =
        model.statuses.iter().filter(is_done).map(|status| (&status.name).into()).collect();
    if done.is_empty() {
        return Ok((Vec::new(), Total::exact(0)));
    }
    let among = |select: &'static str| {
        let mut shape = Shape::new(select);
        match scope {
            Scope::Epic(id) => {
                shape.add(from_epic!("?", "?", "?"), values![id, id, id]);
                shape.add(" join project p on p.id = e.project_id", &[]);
            }
            Scope::Projects(projects) => {
                shape.add(" from project p cross join entity e", &[]).condition("e.project_id = p.id", &[]);
                projects.restrict(&mut shape, "p.id");
            }
        }
        shape.condition("e.kind = 'user_story' and e.deleted_at is null", &[]).one_of("e.status", &done);
        shape.condition(concat!("exists (select 1", drafts!(), ")"), &[]);
        shape
    };
    let mut list = among(concat!("select ", mention!(), ", (select count(*)", drafts!(), ")"));
    list.add(" order by p.key, e.number limit ?", values![limit]);
    let found = tx.shaped_rows(&list, |row| {
        let Mention { reference_id, title, status, .. } = read_mention(row)?;
        Ok(DoneOverDrafts { reference_id, title, status, draft_requirements: row.get(5)? })
    })?;
    let total = match (found.len() as i64) < limit {
        true => Total::exact(found.len() as i64),
        false => tally::counted(tx, among("select 1"))?,
    };
    Ok((found, total))
}

/// What entities are grouped by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Grouping {
    Status,
    Priority,
    Type,
    Assignee,
}

/// How many entities of a kind are in a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The kind.
    pub kind: Kind,
    /// The name of the group; none for what nobody works on.
    pub name: Option<String>,
    /// How many.
    pub count: i64,
}

/// The largest groups of each kind, at most `?4`, in the order of the groups themselves.
macro_rules! largest {
    ($counted:expr) => {
        concat!(
            "select kind, name, count from (
                 select counted.*, row_number() over (partition by kind order by count desc, name) as rank
                 from (",
            $counted,
            ") counted) grouped where rank <= ?4 order by kind, position, count desc, name"
        )
    };
}

/// The groups of the entities of an epic.
macro_rules! of_epic {
    ($name:literal, $order:literal, $joins:literal, $kinds:literal) => {
        largest!(in_epic!(
            concat!("select e.kind, ", $name, " as name, ", $order, " as position, count(*) as count"),
            $joins,
            concat!("and e.kind in (", $kinds, ") group by e.kind, ", $name, ", ", $order)
        ))
    };
}

/// The groups of the entities of projects, of which the numbers are known.
macro_rules! of_projects {
    ($dimension:literal, $name:literal, $order:literal, $joins:literal, $kinds:literal) => {
        largest!(concat!(
            "select t.kind, ",
            $name,
            " as name, ",
            $order,
            " as position, cast(sum(t.n) as bigint) as count from tallied t ",
            $joins,
            " where t.dimension = '",
            $dimension,
            "' and t.kind in (",
            $kinds,
            ") and ",
            in_projects!("t.project_id", "?1", "?2", "?3"),
            " group by t.kind, ",
            $name,
            ", ",
            $order,
            " having sum(t.n) > 0"
        ))
    };
}

/// The number of entities in each group, at most `limit` groups of a kind.
pub fn groups(tx: &mut Tx<'_>, scope: &Scope, by: Grouping, limit: i64) -> Result<Vec<Group>> {
    let sql = match (by, scope.is_epic()) {
        (Grouping::Status, true) => of_epic!(
            "e.status",
            "s.position",
            "join status s on s.entity_kind = e.kind and s.name = e.status",
            "'epic', 'user_story', 'requirement'"
        ),
        (Grouping::Status, false) => of_projects!(
            "status",
            "t.value",
            "s.position",
            "join status s on s.entity_kind = t.kind and s.name = t.value",
            "'epic', 'user_story', 'requirement'"
        ),
        (Grouping::Priority, true) => of_epic!(
            "cast(e.priority as text)",
            "cast(e.priority as text)",
            "",
            "'epic', 'user_story', 'requirement'"
        ),
        (Grouping::Priority, false) => {
            of_projects!("priority", "t.value", "t.value", "", "'epic', 'user_story', 'requirement'")
        }
        (Grouping::Type, true) => of_epic!(
            "t.name",
            "t.name_folded",
            "join requirement_type t on t.id = e.type_id",
            "'requirement'"
        ),
        (Grouping::Type, false) => of_projects!(
            "type",
            "of.name",
            "of.name_folded",
            "join requirement_type of on of.id = t.value",
            "'requirement'"
        ),
        // The largest first; groups without entities are absent.
        (Grouping::Assignee, true) => of_epic!(
            "u.username",
            "e.kind",
            "left join user_account u on u.id = e.assignee_id",
            "'epic', 'user_story', 'requirement'"
        ),
        (Grouping::Assignee, false) => of_projects!(
            "assignee",
            "u.username",
            "t.kind",
            "left join user_account u on u.id = t.value",
            "'epic', 'user_story', 'requirement'"
        ),
    };
    let [first, user, token] = scope.values();
    tx.rows(sql, values![first, user, token, limit], |row| {
        Ok(Group { kind: read_kind(&row.get::<String>(0)?)?, name: row.get(1)?, count: row.get(2)? })
    })
}

/// Work that was begun and has not ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct UnderWay {
    /// The reference id.
    pub reference_id: String,
    /// What it is.
    pub kind: Kind,
    /// The title.
    pub title: String,
    /// The status.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// Who works on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assignee: Option<String>,
    /// When it was made.
    pub created_at: Time,
    /// When it last changed.
    pub updated_at: Time,
}

/// Epics and stories in progress, the longest unchanged first.
pub fn oldest_under_way(tx: &mut Tx<'_>, scope: &Scope, limit: i64) -> Result<Vec<UnderWay>> {
    let is_postgres = tx.is_postgres();
    let mut shape = Shape::new(concat!(
        "select ",
        mention!(),
        ", e.created_at, e.updated_at, u.username
         from entity e join project p on p.id = e.project_id left join user_account u on u.id = e.assignee_id
         where (e.project_id, e.kind, e.number) in (select e.project_id, e.kind, e.number"
    ));
    match scope {
        Scope::Epic(id) => {
            shape.add(from_epic!("?", "?", "?"), values![id, id, id]);
            shape.add(" join status s on s.entity_kind = e.kind and s.name = e.status", &[]);
        }
        // An index of epics and stories only has each status of each project by time.
        Scope::Projects(projects) => {
            shape.add(" from project p cross join status s cross join entity e", &[]);
            // SQLite would choose another index, which does not have the times.
            shape.add(if is_postgres { "" } else { " indexed by entity_under_way" }, &[]);
            shape.condition("e.project_id = p.id and e.kind = s.entity_kind and e.status = s.name", &[]);
            projects.restrict(&mut shape, "p.id");
        }
    }
    shape.condition("s.is_initial = 0 and s.is_final = 0", &[]);
    shape.condition("e.kind in ('epic', 'user_story') and e.deleted_at is null", &[]);
    shape.add(" order by e.updated_at, e.number limit ?) order by e.updated_at, e.number", values![limit]);
    tx.shaped_rows(&shape, |row| {
        let Mention { reference_id, kind, title, status } = read_mention(row)?;
        let (created_at, updated_at, assignee) = (row.get(5)?, row.get(6)?, row.get(7)?);
        Ok(UnderWay { reference_id, kind, title, status, assignee, created_at, updated_at })
    })
}
