//! How far the work is.

use schemars::JsonSchema;
use serde::Serialize;

use super::{Mention, Scope, in_scope, mention, read_mention};
use crate::db::Tx;
use crate::entity::read_kind;
use crate::error::Result;
use crate::model::{Kind, Time};
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

macro_rules! summaries {
    ($scope:ident) => {
        in_scope!(
            $scope,
            "select e.kind, count(*), count(*) filter (where s.is_initial = 1), count(*) filter (where s.is_final = 1),
                    count(*) filter (where e.assignee_id is null)",
            "left join status s on s.entity_kind = e.kind and s.name = e.status",
            "group by e.kind"
        )
    };
}

/// A summary of each kind of which there is something.
pub fn summaries(tx: &mut Tx<'_>, scope: &Scope) -> Result<Vec<Summary>> {
    let sql = if scope.is_epic() { summaries!(epic) } else { summaries!(project) };
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
macro_rules! groups {
    ($scope:ident, $name:literal, $order:literal, $joins:literal, $kinds:literal) => {
        concat!(
            "select kind, name, count from (",
            in_scope!(
                $scope,
                concat!(
                    "select e.kind as kind, ",
                    $name,
                    " as name, ",
                    $order,
                    " as position, count(*) as count,
                     row_number() over (partition by e.kind order by count(*) desc, ",
                    $name,
                    ") as rank"
                ),
                $joins,
                concat!("and e.kind in (", $kinds, ") group by e.kind, ", $name, ", ", $order)
            ),
            ") grouped where rank <= ?4 order by kind, position, count desc, name"
        )
    };
}

macro_rules! every_grouping {
    ($scope:ident, $by:expr) => {
        match $by {
            Grouping::Status => groups!(
                $scope,
                "e.status",
                "s.position",
                "join status s on s.entity_kind = e.kind and s.name = e.status",
                "'epic', 'user_story', 'requirement'"
            ),
            Grouping::Priority => groups!(
                $scope,
                "cast(e.priority as text)",
                "e.priority",
                "",
                "'epic', 'user_story', 'requirement'"
            ),
            Grouping::Type => groups!(
                $scope,
                "t.name",
                "t.name_folded",
                "join requirement_type t on t.id = e.type_id",
                "'requirement'"
            ),
            // The largest first; whoever has nothing is not there.
            Grouping::Assignee => groups!(
                $scope,
                "u.username",
                "e.kind",
                "left join user_account u on u.id = e.assignee_id",
                "'epic', 'user_story', 'requirement'"
            ),
        }
    };
}

/// How many entities are in each group, at most `limit` groups of a kind.
pub fn groups(tx: &mut Tx<'_>, scope: &Scope, by: Grouping, limit: i64) -> Result<Vec<Group>> {
    let [first, user, token] = scope.values();
    let sql = if scope.is_epic() { every_grouping!(epic, by) } else { every_grouping!(project, by) };
    tx.rows(sql, values![first, user, token, limit], |row| {
        Ok(Group { kind: read_kind(&row.get::<String>(0)?)?, name: row.get(1)?, count: row.get(2)? })
    })
}

macro_rules! oldest {
    ($scope:ident) => {
        in_scope!(
            $scope,
            concat!("select ", mention!(), ", e.created_at, e.updated_at, u.username"),
            "join project p on p.id = e.project_id
             join status s on s.entity_kind = e.kind and s.name = e.status and s.is_initial = 0 and s.is_final = 0
             left join user_account u on u.id = e.assignee_id",
            "and e.kind in ('epic', 'user_story') order by e.updated_at, e.id limit ?4"
        )
    };
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
    let [first, user, token] = scope.values();
    let sql = if scope.is_epic() { oldest!(epic) } else { oldest!(project) };
    tx.rows(sql, values![first, user, token, limit], |row| {
        let Mention { reference_id, kind, title, status } = read_mention(row)?;
        let (created_at, updated_at, assignee) = (row.get(5)?, row.get(6)?, row.get(7)?);
        Ok(UnderWay { reference_id, kind, title, status, assignee, created_at, updated_at })
    })
}
