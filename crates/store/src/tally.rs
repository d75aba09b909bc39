//! Totals without counting: triggers maintain a number for each value of some fields of existing entities
//! (`migrations/0011_lists.sql`). With two conditions rows are counted, up to a limit.

use crate::db::{Shape, Tx};
use crate::error::Result;
use crate::migrate::Slice;
use crate::project::Projects;
use crate::value::Value;
use crate::values;

/// The limit of counting. Nobody needs an exact number beyond it, and counting on would take longer than the list.
pub const COUNTED_MAX: i64 = 10_000;

/// A total.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Total {
    /// The counted number.
    pub count: i64,
    /// Whether it is exact; otherwise there are more.
    pub is_exact: bool,
}

impl Total {
    /// An exact number.
    pub fn exact(count: i64) -> Total {
        Total { count, is_exact: true }
    }
}

/// A field with counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dimension {
    /// An entity's status. Every counted row has one, perhaps an empty one, so the numbers add up to the total.
    Status,
    Priority,
    Type,
    Assignee,
    /// Whether a requirement has a criterion: `1` or `0`.
    Criterion,
    /// Whether a comment is resolved: `1` or `0`.
    Resolved,
    /// All rows of the audit trail.
    All,
}

impl Dimension {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Dimension::Status => "status",
            Dimension::Priority => "priority",
            Dimension::Type => "type",
            Dimension::Assignee => "assignee",
            Dimension::Criterion => "criterion",
            Dimension::Resolved => "resolved",
            Dimension::All => "all",
        }
    }
}

/// The number of entities of a kind with one of some values, or any.
pub(crate) fn sum(
    tx: &mut Tx<'_>,
    kind: &str,
    projects: &Projects,
    dimension: Dimension,
    wanted: &[Value<'_>],
) -> Result<i64> {
    let mut shape = Shape::new("select cast(coalesce(sum(t.n), 0) as bigint) from tallied t");
    shape.condition("t.kind = ?", values![kind]).condition("t.dimension = ?", values![dimension.name()]);
    projects.restrict(&mut shape, "t.project_id");
    shape.one_of("t.value", wanted);
    Ok(tx.shaped_rows(&shape, |row| row.get(0))?.first().copied().unwrap_or_default())
}

/// Counts the rows of a statement, up to the limit.
pub(crate) fn counted(tx: &mut Tx<'_>, mut rows: Shape<'_>) -> Result<Total> {
    rows.add(" limit ?", values![COUNTED_MAX + 1]).within("select count(*) from (", ") counted");
    let count: i64 = tx.shaped_rows(&rows, |row| row.get(0))?.first().copied().unwrap_or_default();
    Ok(Total { count: count.min(COUNTED_MAX), is_exact: count <= COUNTED_MAX })
}

/// How many rows are summed up at once.
const FOLDED_MAX: i64 = 20_000;

/// Sums up the pending counts of writers, and returns whether there may be more. SQLite's only writer does so at once.
pub fn fold(tx: &mut Tx<'_>) -> Result<bool> {
    if !tx.is_postgres() {
        return Ok(false);
    }
    let sql = "with taken as (
                   delete from tally_delta where ctid in (select ctid from tally_delta limit ?1 for update skip locked)
                   returning kind, project_id, dimension, value, n
               ), summed as (
                   insert into tally (kind, project_id, dimension, value, n)
                   select kind, project_id, dimension, value, sum(n) from taken
                   group by kind, project_id, dimension, value order by kind, project_id, dimension, value
                   on conflict (kind, project_id, dimension, value) do update set n = tally.n + excluded.n
               )
               select count(*) from taken";
    let count: Option<i64> = tx.row(sql, values![FOLDED_MAX], |row| row.get(0))?;
    Ok(count.unwrap_or_default() == FOLDED_MAX)
}

/// Counts the existing entities and comments of the project `?1` from before the triggers. Both parts are one
/// statement, so that they see the same rows: concurrent additions are in neither.
macro_rules! count_project {
    ($before:literal) => {
        concat!(
            $before,
            "insert into tally (kind, project_id, dimension, value, n)
             select e.kind, e.project_id, 'status', coalesce(e.status, ''), count(*) from entity e
             where e.project_id = ?1 and e.deleted_at is null group by e.kind, e.project_id, coalesce(e.status, '')
             union all
             select e.kind, e.project_id, 'priority', coalesce(cast(e.priority as varchar), ''), count(*) from entity e
             where e.project_id = ?1 and e.deleted_at is null
             group by e.kind, e.project_id, coalesce(cast(e.priority as varchar), '')
             union all
             select e.kind, e.project_id, 'type', coalesce(e.type_id, ''), count(*) from entity e
             where e.project_id = ?1 and e.deleted_at is null group by e.kind, e.project_id, coalesce(e.type_id, '')
             union all
             select e.kind, e.project_id, 'assignee', coalesce(e.assignee_id, ''), count(*) from entity e
             where e.project_id = ?1 and e.deleted_at is null
             group by e.kind, e.project_id, coalesce(e.assignee_id, '')
             union all
             select e.kind, e.project_id, 'criterion', case when e.criterion_id is null then '0' else '1' end, count(*)
             from entity e where e.project_id = ?1 and e.deleted_at is null
             group by e.kind, e.project_id, case when e.criterion_id is null then '0' else '1' end
             union all
             select 'comment', c.project_id, 'resolved', cast(c.resolved as varchar), count(*) from comment c
             where c.project_id = ?1 and c.deleted_at is null group by c.project_id, c.resolved"
        )
    };
}

/// Counts the audit trail in the same way.
macro_rules! count_trail {
    ($before:literal) => {
        concat!(
            $before,
            "insert into tally (kind, project_id, dimension, value, n)
             select 'revision', '', 'all', '', count(*) from revision
             union all
             select 'authentication_event', '', 'all', '', count(*) from authentication_event"
        )
    };
}

/// Counts what existed before the triggers: a project at a time, by id, and the audit trail first.
pub(crate) fn backfill(tx: &mut Tx<'_>, position: &str) -> Result<Slice> {
    let is_postgres = tx.is_postgres();
    let n_rows = if position.is_empty() {
        if is_postgres {
            let sql = count_trail!("with counted as (delete from tally_delta where project_id = '') ");
            tx.execute(sql, &[])?
        } else {
            tx.execute("delete from tally where project_id = ''", &[])?;
            tx.execute(count_trail!(""), &[])?
        }
    } else if is_postgres {
        let sql = count_project!("with counted as (delete from tally_delta where project_id = ?1) ");
        tx.execute(sql, values![position])?
    } else {
        tx.execute("delete from tally where project_id = ?1", values![position])?;
        tx.execute(count_project!(""), values![position])?
    };
    let sql = "select id from project where id > ?1 order by id limit 1";
    Ok(Slice { next: tx.row(sql, values![position], |row| row.get(0))?, n_rows })
}
