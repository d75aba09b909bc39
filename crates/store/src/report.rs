//! Figures about many entities at once, computed in the database: how far the work is, and what the tree lacks.

mod hierarchy;
mod impact;
mod status;

use schemars::JsonSchema;
use serde::Serialize;

use crate::entity::read_kind;
use crate::error::Result;
use crate::model::{Kind, reference_id};
use crate::value::Row;

pub use self::hierarchy::{Counts, EpicCounts, Gap, StoryCounts, counts, epics, gap, stories};
pub use self::impact::{Affected, BATCH, Step, affected_by};
pub use self::status::{Group, Grouping, Summary, UnderWay, groups, oldest_under_way, summaries};

/// What a report is about.
#[derive(Clone, Debug)]
pub enum Scope {
    /// Every project.
    All,
    /// The project with this id.
    Project(String),
    /// The epic with this id and everything below it.
    Epic(String),
}

impl Scope {
    /// The parameters of every statement about a scope: the id of the project, the id of the epic.
    fn ids(&self) -> (Option<&str>, Option<&str>) {
        match self {
            Scope::All => (None, None),
            Scope::Project(id) => (Some(id), None),
            Scope::Epic(id) => (None, Some(id)),
        }
    }
}

/// Selects from live entities `e` of a scope. The second form finds an epic's by index, which a condition with `or`
/// would prevent; `?1` is the project or nothing in the first, the epic in the second.
macro_rules! in_scope {
    (project, $select:expr, $joins:expr, $rest:expr) => {
        concat!(
            $select,
            " from entity e ",
            $joins,
            " where e.deleted_at is null and (e.project_id = ?1 or ?1 is null) ",
            $rest
        )
    };
    (epic, $select:expr, $joins:expr, $rest:expr) => {
        concat!(
            $select,
            " from (select id from entity where id = ?1
                    union all
                    select id from entity where parent_id = ?1
                    union all
                    select child.id from entity story join entity child on child.parent_id = story.id
                    where story.parent_id = ?1) scope
              join entity e on e.id = scope.id ",
            $joins,
            " where e.deleted_at is null ",
            $rest
        )
    };
}
use in_scope;

/// An entity in a report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Mention {
    /// The reference id.
    pub reference_id: String,
    /// What it is.
    pub kind: Kind,
    /// The title, or the beginning of a criterion's text.
    pub title: String,
    /// The status.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
}

/// The columns that [`read_mention`] reads. A criterion has no title, and its text may be long.
macro_rules! mention {
    () => {
        "p.key, e.kind, e.number, coalesce(e.title, substr(e.description, 1, 100)), e.status"
    };
}
use mention;

fn read_mention(row: &Row<'_>) -> Result<Mention> {
    let key: String = row.get(0)?;
    let kind = read_kind(&row.get::<String>(1)?)?;
    let reference_id = reference_id(&key, kind, row.get(2)?);
    Ok(Mention { reference_id, kind, title: row.get(3)?, status: row.get(4)? })
}
