//! How far the work is.

use schemars::JsonSchema;
use serde::Serialize;

use super::{Mention, Scope, from_epic, in_epic, mention, read_mention};
use crate::db::{Shape, Tx};
use crate::entity::read_kind;
use crate::error::Result;
use crate::model::{Kind, Time};
use crate::project::in_projects;
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
    /// With a final status.
    pub done: i64,
    /// Given to nobody.
    pub unassigned: i64,
}

/// A summary of each kind of which there is something.
pub fn summaries(tx: &mut Tx<'_>, scope: &Scope) -> Result<Vec<Summary>> {
    let of_epic = in_epic!(
        "select e.kind, count(*), count(*) filter (where s.is_initial = 1), count(*) filter (where s.is_final = 1),
                count(*) filter (where e.assignee_id is null)",
        "left join status s on s.entity_kind = e.kind and s.name = e.status",
        "group by e.kind"
    );
    let of_projects = concat!(
        "select t.kind, cast(coalesce(sum(t.n) filter (where t.dimension = 'status'), 0) as bigint),
                cast(coalesce(sum(t.n) filter (where s.is_initial = 1), 0) as bigint),
                cast(coalesce(sum(t.n) filter (where s.is_final = 1), 0) as bigint),
                cast(coalesce(sum(t.n) filter (where t.dimension = 'assignee' and t.value = ''), 0) as bigint)
         from tallied t left join status s on t.dimension = 'status' and s.entity_kind = t.kind and s.name = t.value
         where t.dimension in ('status', 'assignee')
           and t.kind in ('epic', 'user_story', 'acceptance_criteria', 'requirement') and ",
        in_projects!("t.project_id", "?1", "?2", "?3"),
        " group by t.kind"
    );
    let sql = if scope.is_epic() { of_epic } else { of_projects };
    tx.rows(sql, &scope.values(), |row| {
        Ok(Summary {
            kind: read_kind(&row.get::<String>(0)?)?,
            total: row.get(1)?,
            not_begun: row.get(2)?,
            done: row.get(3)?,
            unassigned: row.get(4)?,
        })
    })
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

/// How many entities are in each group, at most `limit` groups of a kind.
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
        // The largest first; whoever has nothing is not there.
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

/// Epics and stories that were begun and have not ended, the longest untouched first.
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
        // An index of nothing but epics and stories has each status of each project by time.
        Scope::Projects(projects) => {
            shape.add(" from project p cross join status s cross join entity e", &[]);
            // SQLite would take another index, which does not have the times.
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
