//! Reports about many entities, computed in the database: progress, and gaps in the tree.

pub(crate) mod burn_up;
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

pub use self::burn_up::{WeekCount, burn_up};
pub use self::hierarchy::{
    Counts, EpicCounts, Gap, StoryCounts, StoryVerification, counts, epics, gap, stories, verified_stories,
};
pub use self::impact::{Affected, BATCH, Step, affected_by};
pub use self::status::{
    DoneOverDrafts, Group, Grouping, Summary, UnderWay, done_over_drafts, groups, oldest_under_way, summaries,
};

/// What a report is about.
#[derive(Clone, Debug)]
pub enum Scope {
    /// Projects.
    Projects(Projects),
    /// The epic with this id and everything below it.
    Epic(String),
}

impl Scope {
    /// The first three parameters of a statement about a scope: the projects, or only the epic.
    fn values(&self) -> [Value<'_>; 3] {
        match self {
            Scope::Projects(projects) => projects.values(),
            Scope::Epic(id) => [id.into(), Value::Null, Value::Null],
        }
    }

    /// Whether it is an epic. Totals of projects are maintained; totals below an epic are counted.
    fn is_epic(&self) -> bool {
        matches!(self, Scope::Epic(_))
    }
}

/// The epic with an id, given three times, and everything below it, as entities `e`: found by index.
macro_rules! from_epic {
    ($first:literal, $second:literal, $third:literal) => {
        concat!(
            " from (select id from entity where id = ",
            $first,
            " union all
                    select id from entity where parent_id = ",
            $second,
            " union all
                    select child.id from entity story join entity child on child.parent_id = story.id
                    where story.parent_id = ",
            $third,
            ") scope join entity e on e.id = scope.id "
        )
    };
}
use from_epic;

/// Selects from the live entities `e` of the epic `?1`; `?2` and `?3` are null.
macro_rules! in_epic {
    ($select:expr, $joins:expr, $rest:expr) => {
        concat!(
            $select,
            $crate::report::from_epic!("?1", "?1", "?1"),
            $joins,
            " where e.deleted_at is null and cast(?2 as text) is null and cast(?3 as text) is null ",
            $rest
        )
    };
}
use in_epic;

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
