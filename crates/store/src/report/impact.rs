//! The impact of a change: one step at a time, from many entities at once.

use super::{Mention, mention, read_mention};
use crate::db::Tx;
use crate::error::Result;
use crate::value::Value;

/// How an entity was reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The id of the entity that it was reached from.
    pub from: String,
    /// The relation: the name of a relationship type, or `belongs_to`, `serves`, `steered_by`.
    pub relation: String,
    /// Whether the relation reads from the reached entity: `REQ-002 depends_on REQ-001`.
    pub backwards: bool,
    /// The relationship, if it is suspect.
    pub suspect_id: Option<String>,
    /// Whether it is not followed further.
    pub ends_here: bool,
}

/// An entity that is affected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Affected {
    /// Its id.
    pub id: String,
    /// What it is.
    pub entity: Mention,
    /// How it was reached.
    pub step: Step,
}

/// How many entities one statement expands.
pub const BATCH: usize = 16;

macro_rules! batch {
    () => {
        "(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)"
    };
}

/// The entities one step from any of some entities, at most [`BATCH`]. In an acyclic relationship the
/// source depends on the target, so it is followed backwards; `blocks` is the opposite. Other types concern both ends, and
/// are followed only if `loose` is requested.
pub fn affected_by(tx: &mut Tx<'_>, ids: &[&str], loose: bool, limit: i64) -> Result<Vec<Affected>> {
    // `blocks` is identified by its id, because administrators may rename it.
    let sql = concat!(
        "select ",
        mention!(),
        ", e.id, step.from_id, step.relation, step.backwards, step.suspect_id, step.ends_here
         from (
             select r.source_id as id, r.target_id as from_id, t.name as relation, cast(1 as bigint) as backwards,
                    cast(0 as bigint) as ends_here,
                    case when target.content_version > r.target_version then r.id end as suspect_id
             from relationship r join relationship_type t on t.id = r.type_id
             join entity target on target.id = r.target_id
             where r.target_id in ",
        batch!(),
        "  and r.deleted_at is null and t.acyclic = 1 and t.id <> '00000000-0000-7000-8000-000000000202'
             union all
             select r.target_id, r.source_id, t.name, 0, 0,
                    case when target.content_version > r.target_version then r.id end
             from relationship r join relationship_type t on t.id = r.type_id
             join entity target on target.id = r.target_id
             where r.source_id in ",
        batch!(),
        "  and r.deleted_at is null and t.id = '00000000-0000-7000-8000-000000000202'
             union all
             select r.source_id, r.target_id, t.name, 1, 1,
                    case when target.content_version > r.target_version then r.id end
             from relationship r join relationship_type t on t.id = r.type_id
             join entity target on target.id = r.target_id
             where r.target_id in ",
        batch!(),
        "  and r.deleted_at is null and t.acyclic = 0 and ?17 = 1
             union all
             select r.target_id, r.source_id, t.name, 0, 1,
                    case when target.content_version > r.target_version then r.id end
             from relationship r join relationship_type t on t.id = r.type_id
             join entity target on target.id = r.target_id
             where r.source_id in ",
        batch!(),
        "  and r.deleted_at is null and t.acyclic = 0 and ?17 = 1
             union all
             select child.id, child.parent_id, 'belongs_to', 1, 0, null from entity child where child.parent_id in ",
        batch!(),
        "    union all
             select served.id, served.criterion_id, 'serves', 1, 0, null from entity served
             where served.criterion_id in ",
        batch!(),
        "    union all
             select l.epic_id, l.document_id, 'steered_by', 1, 0, null from steering_link l where l.document_id in ",
        batch!(),
        "    ) step join entity e on e.id = step.id join project p on p.id = e.project_id
         where e.deleted_at is null
         order by step.ends_here, p.key, e.kind, e.number, step.from_id, step.relation limit ?18"
    );
    let mut values: Vec<Value<'_>> = (0..BATCH).map(|index| Value::from(ids.get(index).copied())).collect();
    values.push(loose.into());
    values.push(limit.into());
    tx.rows(sql, &values, |row| {
        Ok(Affected {
            entity: read_mention(row)?,
            id: row.get(5)?,
            step: Step {
                from: row.get(6)?,
                relation: row.get(7)?,
                backwards: row.get::<i64>(8)? != 0,
                suspect_id: row.get(9)?,
                ends_here: row.get::<i64>(10)? != 0,
            },
        })
    })
}
