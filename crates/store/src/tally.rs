//! How many there are, without counting: triggers keep a number for each value of some fields of what is live
//! (`migrations/0011_lists.sql`). What has two conditions at once is counted, up to a limit.

use crate::db::{Shape, Tx};
use crate::error::Result;
use crate::project::Projects;
use crate::value::Value;
use crate::values;

/// What is counted of a list with conditions. Nobody looks further, and counting on would take longer than the list.
pub const COUNTED_MAX: i64 = 10_000;

/// How many there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Total {
    /// How many were counted.
    pub count: i64,
    /// Whether these are all; otherwise there are more.
    pub is_exact: bool,
}

impl Total {
    /// A number that is exact.
    pub fn exact(count: i64) -> Total {
        Total { count, is_exact: true }
    }
}

/// The field that a number is kept for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dimension {
    /// An entity's status. Everything that is counted has one, perhaps an empty one, so the numbers add up to all.
    Status,
    Priority,
    Type,
    Assignee,
    /// Whether a requirement serves a criterion: `1` or `0`.
    Criterion,
    /// Whether a comment is settled: `1` or `0`.
    Resolved,
    /// All lines of the audit trail together.
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

/// How many of a kind have one of some values, or any.
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

/// Counts the rows that a statement selects, as far as anybody wants to know.
pub(crate) fn counted(tx: &mut Tx<'_>, mut rows: Shape<'_>) -> Result<Total> {
    rows.add(" limit ?", values![COUNTED_MAX + 1]).within("select count(*) from (", ") counted");
    let count: i64 = tx.shaped_rows(&rows, |row| row.get(0))?.first().copied().unwrap_or_default();
    Ok(Total { count: count.min(COUNTED_MAX), is_exact: count <= COUNTED_MAX })
}

/// Rows that are summed up at once.
const FOLDED_MAX: i64 = 20_000;

/// Sums up what writers have counted, and says whether there may be more. SQLite's only writer does so at once.
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
