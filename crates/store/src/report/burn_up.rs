//! The number of entities of a kind at the end of each of the last weeks, and how many of them were done. Triggers have counted
//! additions and
//! removals by week (`migrations/0020_weeks.sql`), so nothing is counted here: the past is the present minus later changes.

use std::collections::HashMap;

use crate::db::{Shape, Tx};
use crate::error::Result;
use crate::migrate::Slice;
use crate::model::{Kind, Time};
use crate::project::Projects;
use crate::status::{self, StatusOutcome};
use crate::value::Value;
use crate::values;

/// How many there were at the end of a week.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WeekCount {
    /// Monday, at midnight.
    pub from: Time,
    /// The number without cancelled and obsolete ones.
    pub total: i64,
    /// How many of them were done.
    pub done: i64,
}

/// The number of a week, from Monday, since 1970: the first began on 29 December 1969.
const WEEK: i64 = 7 * DAY;
const DAY: i64 = 86_400_000_000;
/// From Monday to 1 January 1970, a Thursday.
const SHIFT: i64 = 3 * DAY;
/// The value for all statuses together.
const ALL: &str = "*";

/// The last weeks, the current one last.
pub fn burn_up(
    tx: &mut Tx<'_>,
    projects: &Projects,
    kind: Kind,
    now: Time,
    n_weeks: i64,
) -> Result<Vec<WeekCount>> {
    let model = status::of(tx, kind)?;
    let outcome = |name: &str| match model.statuses.iter().find(|status| status.name == name) {
        Some(status) => status.outcome,
        // The status is no longer in the model; its name tells the outcome.
        None => StatusOutcome::from_name(&name.to_lowercase()),
    };
    let counted = |name: &str, n: i64| match (name, outcome(name)) {
        (ALL, _) => (n, 0),
        (_, Some(StatusOutcome::Done)) => (0, n),
        (_, Some(_)) => (-n, 0),
        (_, None) => (0, 0),
    };
    let this_week = (now.microseconds() + SHIFT).div_euclid(WEEK);
    let first_week = this_week - n_weeks + 1;
    let (mut total, mut done) = (0, 0);
    for (name, n) in numbers(tx, projects, kind, "status", None)? {
        let (more, more_done) = counted(&name, n);
        (total, done) = (total + more + n, done + more_done);
    }
    let mut moved: HashMap<i64, (i64, i64)> = HashMap::new();
    for (value, n) in numbers(tx, projects, kind, "week", Some(&first_week.to_string()))? {
        let Some((week, name)) = value.split_once(' ') else { continue };
        let Some(week) = week.parse::<i64>().ok().filter(|week| *week >= first_week) else { continue };
        let (more, more_done) = counted(name, n);
        let of_week = moved.entry(week).or_default();
        *of_week = (of_week.0 + more, of_week.1 + more_done);
    }
    let mut weeks = Vec::new();
    for week in (first_week..=this_week).rev() {
        let from = Time::from_microseconds(week * WEEK - SHIFT);
        weeks.push(WeekCount { from, total: total.max(0), done: done.max(0) });
        let (less, less_done) = moved.get(&week).copied().unwrap_or_default();
        (total, done) = (total - less, done - less_done);
    }
    weeks.reverse();
    Ok(weeks)
}

/// The counters of a dimension, by value, from a value on.
fn numbers(
    tx: &mut Tx<'_>,
    projects: &Projects,
    kind: Kind,
    dimension: &'static str,
    from: Option<&str>,
) -> Result<Vec<(String, i64)>> {
    let mut shape = Shape::new("select t.value, cast(sum(t.n) as bigint) from tallied t");
    shape.condition("t.kind = ?", values![kind.name()]).condition("t.dimension = ?", values![dimension]);
    projects.restrict(&mut shape, "t.project_id");
    if let Some(from) = from {
        shape.condition("t.value >= ?", &[Value::Text(from)]);
    }
    shape.add(" group by t.value", &[]);
    tx.shaped_rows(&shape, |row| Ok((row.get(0)?, row.get(1)?)))
}

/// The assumed history of the existing entities of the project `?1` before counting by week: each was added when it was
/// created, and has had its
/// status since its last change.
macro_rules! count_weeks {
    ($before:literal, $into:literal) => {
        concat!(
            $before,
            "insert into ",
            $into,
            " (kind, project_id, dimension, value, n)
             select kind, project_id, 'week', value, count(*) from (
                 select e.kind, e.project_id, ((e.created_at + 259200000000) / 604800000000) || ' *' as value
                 from entity e where e.project_id = ?1 and e.deleted_at is null and e.status is not null
                 union all
                 select e.kind, e.project_id, ((e.updated_at + 259200000000) / 604800000000) || ' ' || e.status
                 from entity e where e.project_id = ?1 and e.deleted_at is null and e.status is not null
             ) counted group by kind, project_id, value"
        )
    };
}

/// Counts by week what existed before the triggers, a project at a time, by id.
pub(crate) fn backfill(tx: &mut Tx<'_>, position: &str) -> Result<Slice> {
    let n_rows = if tx.is_postgres() {
        // Servers of the previous version may have summed up some of the triggers' rows.
        let sql = count_weeks!(
            "with folded as (delete from tally where project_id = ?1 and dimension = 'week'),
                  waiting as (delete from tally_delta where project_id = ?1 and dimension = 'week') ",
            "tally_delta"
        );
        tx.execute(sql, values![position])?
    } else {
        tx.execute("delete from tally where project_id = ?1 and dimension = 'week'", values![position])?;
        tx.execute(count_weeks!("", "tally"), values![position])?
    };
    let sql = "select id from project where id > ?1 order by id limit 1";
    Ok(Slice { next: tx.row(sql, values![position], |row| row.get(0))?, n_rows })
}
