//! Entities in reading order: an epic, its first story, the criteria and the requirements of that story,
//! the next story. Each statement reads a part that an index has in order.

use std::collections::HashSet;

use super::{Entity, Extent, read, select_entity};
use crate::db::{Shape, Tx};
use crate::error::Result;
use crate::model::{Kind, Time};
use crate::value::Value;
use crate::values;

/// How many stories [`below_stories`] takes at once.
pub const STORIES_AT_ONCE: usize = 16;

/// The existing criteria and requirements of some stories, story by story, by number, criteria first. Of the first story only
/// those from a
/// position on, if given.
pub fn below_stories(
    tx: &mut Tx<'_>,
    stories: &[&Entity],
    from: Option<(Kind, i64)>,
    limit: i64,
) -> Result<Vec<Entity>> {
    let stories = &stories[..stories.len().min(STORIES_AT_ONCE)];
    let Some(first) = stories.first() else { return Ok(Vec::new()) };
    let mut shape = Shape::new(select_entity!(""));
    let ids: Vec<Value<'_>> = stories.iter().map(|story| (&story.id).into()).collect();
    shape.one_of("e.parent_id", &ids);
    shape.condition("e.kind in ('acceptance_criteria', 'requirement') and e.deleted_at is null", &[]);
    if let Some((kind, number)) = from {
        let condition = "(e.parent_id <> ? or e.kind > ? or (e.kind = ? and e.number >= ?))";
        shape.condition(condition, values![&first.id, kind.name(), kind.name(), number]);
    }
    shape.add(" order by parent.number, e.kind, e.number limit ?", values![limit]);
    tx.shaped_rows(&shape, read)
}

/// The number of existing epics of a project before a number.
pub fn n_epics_before(tx: &mut Tx<'_>, project_id: &str, number: i64) -> Result<i64> {
    let sql = "select count(*) from entity e
               where e.project_id = ?1 and e.kind = 'epic' and e.number < ?2 and e.deleted_at is null";
    Ok(tx.row(sql, values![project_id, number], |row| row.get(0))?.unwrap_or_default())
}

/// The number of existing children of a kind before a number.
pub fn n_children_before(tx: &mut Tx<'_>, parent_id: &str, kind: Kind, number: i64) -> Result<i64> {
    let sql = "select count(*) from entity e
               where e.parent_id = ?1 and e.kind = ?2 and e.number < ?3 and e.deleted_at is null";
    Ok(tx.row(sql, values![parent_id, kind.name(), number], |row| row.get(0))?.unwrap_or_default())
}

/// The existing epics, stories, criteria and requirements of an extent, as kinds and numbers.
pub fn numbers(tx: &mut Tx<'_>, extent: &Extent) -> Result<HashSet<(Kind, i64)>> {
    let mut found = HashSet::new();
    for kind in [Kind::Epic, Kind::UserStory, Kind::AcceptanceCriteria, Kind::Requirement] {
        let mut shape = Shape::new("select e.number from entity e");
        shape.condition("e.project_id = ?", values![&extent.project_id]);
        shape.condition("e.kind = ?", values![kind.name()]).condition("e.deleted_at is null", &[]);
        extent.restrict(&mut shape, kind);
        tx.shaped_rows(&shape, |row| row.get(0))?
            .into_iter()
            .for_each(|number| _ = found.insert((kind, number)));
    }
    Ok(found)
}

/// When an existing entity of a project last changed.
pub fn last_change(tx: &mut Tx<'_>, extent: &Extent) -> Result<Option<Time>> {
    let mut newest = None;
    for kind in [Kind::Epic, Kind::UserStory, Kind::AcceptanceCriteria, Kind::Requirement] {
        let mut shape = Shape::new("select e.updated_at from entity e");
        shape.condition("e.project_id = ?", values![&extent.project_id]);
        shape.condition("e.kind = ?", values![kind.name()]).condition("e.deleted_at is null", &[]);
        extent.restrict(&mut shape, kind);
        shape.add(" order by e.updated_at desc limit 1", &[]);
        newest = newest.max(tx.shaped_rows(&shape, |row| row.get(0))?.pop());
    }
    Ok(newest)
}
