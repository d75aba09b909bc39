//! Figures about many entities at once, computed in the database: how far the work is, and what the tree lacks.

mod hierarchy;
mod impact;
mod status;

use schemars::JsonSchema;
use serde::Serialize;

use crate::entity::read_kind;
use crate::error::Result;
use crate::model::{Kind, reference_id};
use crate::project::Projects;
use crate::value::{Row, Value};

pub use self::hierarchy::{Counts, EpicCounts, Gap, StoryCounts, counts, epics, gap, stories};
pub use self::impact::{Affected, BATCH, Step, affected_by};
pub use self::status::{Group, Grouping, Summary, UnderWay, groups, oldest_under_way, summaries};

/// What a report is about.
#[derive(Clone, Debug)]
pub enum Scope {
    /// Projects.
    Projects(Projects),
    /// The epic with this id and everything below it.
    Epic(String),
}

impl Scope {
    /// The first three parameters of a statement about a scope: those of the projects, or the epic and nothing else.
    fn values(&self) -> [Value<'_>; 3] {
        match self {
            Scope::Projects(projects) => projects.values(),
            Scope::Epic(id) => [id.into(), Value::Null, Value::Null],
        }
    }

    /// Whether it is an epic, which other statements are for.
    fn is_epic(&self) -> bool {
        matches!(self, Scope::Epic(_))
    }
}

/// Selects from live entities `e` of a scope. The second form finds an epic's by index, which a condition with `or`
/// would prevent. `?1` to `?3` are the projects in the first, and the epic and two nulls in the second.
macro_rules! in_scope {
    (project, $select:expr, $joins:expr, $rest:expr) => {
        concat!(
            $select,
            " from entity e ",
            $joins,
            " where e.deleted_at is null and ",
            $crate::project::in_projects!("e.project_id", "?1", "?2", "?3"),
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
            " where e.deleted_at is null and cast(?2 as text) is null and cast(?3 as text) is null ",
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
