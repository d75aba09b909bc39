//! Lists of entities: filtered, sorted, a page at a time. Statements are fixed; a filter that is not given is null.

use super::{Entity, read, select_entity};
use crate::db::Tx;
use crate::error::Result;
use crate::model::{Kind, Time};
use crate::project::{Projects, in_projects};
use crate::value::Value;
use crate::values;

/// Which entities to list.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// The kind; all kinds when none is given.
    pub kind: Option<Kind>,
    /// In which projects.
    pub projects: Projects,
    /// The id of the epic or story that they belong to.
    pub parent_id: Option<String>,
    /// The id of the epic that they are anywhere below.
    pub epic_id: Option<String>,
    /// One of these statuses; four at most.
    pub statuses: Vec<String>,
    /// One of these priorities; four at most.
    pub priorities: Vec<i64>,
    /// The id of the requirement type.
    pub type_id: Option<String>,
    /// The id of the criterion that requirements serve.
    pub criterion_id: Option<String>,
    /// The id of who works on it.
    pub assignee_id: Option<String>,
    /// The id of who made it.
    pub creator_id: Option<String>,
    /// The id of a steering document that epics are linked with, or of an epic that documents are linked with.
    pub linked_with: Option<String>,
    /// Not made before.
    pub created_from: Option<Time>,
    /// Not made after.
    pub created_to: Option<Time>,
    /// Not changed before.
    pub updated_from: Option<Time>,
    /// Not changed after.
    pub updated_to: Option<Time>,
    /// Deleted ones too.
    pub include_deleted: bool,
}

/// In which order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sort {
    /// By number.
    #[default]
    Number,
    /// By number, the highest first.
    NumberDescending,
    /// By title.
    Title,
    /// By priority, the most important first.
    Priority,
    /// The newest first.
    Created,
    /// What changed last first.
    Updated,
}

/// How many values a filter takes; more are refused above.
pub const VALUES_MAX: usize = 8;

macro_rules! conditions {
    () => {
        concat!(
            " where (e.kind = ?1 or ?1 is null) and ",
            in_projects!("e.project_id", "?2", "?27", "?28"),
            "and (e.parent_id = ?3 or ?3 is null)
            and (e.parent_id = ?4 or e.parent_id in (select story.id from entity story where story.parent_id = ?4)
                 or ?4 is null)
            and (e.status in (?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12) or ?5 is null)
            and (e.priority in (?13, ?14, ?15, ?16) or ?13 is null)
            and (e.type_id = ?17 or ?17 is null) and (e.criterion_id = ?18 or ?18 is null)
            and (e.assignee_id = ?19 or ?19 is null) and (e.creator_id = ?20 or ?20 is null)
            and (e.id in (select epic_id from steering_link where document_id = ?21)
                 or e.id in (select document_id from steering_link where epic_id = ?21) or ?21 is null)
            and (e.created_at >= ?22 or ?22 is null) and (e.created_at <= ?23 or ?23 is null)
            and (e.updated_at >= ?24 or ?24 is null) and (e.updated_at <= ?25 or ?25 is null)
            and (e.deleted_at is null or ?26 = 1) "
        )
    };
}

/// The plain case (a kind of a project, or the children of a parent, live ones only) has statements of its own, because
/// a condition with `or` keeps both engines from using an index.
macro_rules! plain {
    (project) => {
        " where e.project_id = ?1 and e.kind = ?2 and e.deleted_at is null "
    };
    (parent) => {
        " where e.parent_id = ?1 and e.kind = ?2 and e.deleted_at is null "
    };
}

/// A page of entities.
pub fn list(tx: &mut Tx<'_>, filter: &Filter, sort: Sort, limit: i64, offset: i64) -> Result<Vec<Entity>> {
    if let Some((by_parent, values)) = filter.plain()
        && sort == Sort::Number
    {
        let sql = if by_parent {
            select_entity!(plain!(parent), "order by e.number limit ?3 offset ?4")
        } else {
            select_entity!(plain!(project), "order by e.number limit ?3 offset ?4")
        };
        return tx.rows(sql, values![values[0], values[1], limit, offset], read);
    }
    let sql = match sort {
        Sort::Number => {
            select_entity!(conditions!(), "order by p.key, e.kind, e.number limit ?29 offset ?30")
        }
        Sort::NumberDescending => {
            select_entity!(conditions!(), "order by p.key, e.kind, e.number desc limit ?29 offset ?30")
        }
        Sort::Title => select_entity!(conditions!(), "order by e.title, e.id limit ?29 offset ?30"),
        Sort::Priority => {
            select_entity!(conditions!(), "order by e.priority, p.key, e.number limit ?29 offset ?30")
        }
        Sort::Created => {
            select_entity!(conditions!(), "order by e.created_at desc, e.id desc limit ?29 offset ?30")
        }
        Sort::Updated => {
            select_entity!(conditions!(), "order by e.updated_at desc, e.id desc limit ?29 offset ?30")
        }
    };
    let mut values = filter.values();
    values.extend_from_slice(values![limit, offset]);
    tx.rows(sql, &values, read)
}

/// How many there are on all pages.
pub fn count(tx: &mut Tx<'_>, filter: &Filter) -> Result<i64> {
    let total = if let Some((by_parent, values)) = filter.plain() {
        let sql = if by_parent {
            concat!("select count(*) from entity e", plain!(parent))
        } else {
            concat!("select count(*) from entity e", plain!(project))
        };
        tx.row(sql, &values, |row| row.get(0))?
    } else {
        tx.row(concat!("select count(*) from entity e", conditions!()), &filter.values(), |row| row.get(0))?
    };
    Ok(total.unwrap_or_default())
}

impl Filter {
    fn values(&self) -> Vec<Value<'_>> {
        let [project, user, token] = self.projects.values();
        let mut values: Vec<Value<'_>> =
            values![self.kind.map(Kind::name), project, &self.parent_id, &self.epic_id].to_vec();
        values.extend((0..VALUES_MAX).map(|index| Value::from(self.statuses.get(index))));
        values.extend((0..4).map(|index| Value::from(self.priorities.get(index).copied())));
        values.extend_from_slice(values![
            &self.type_id,
            &self.criterion_id,
            &self.assignee_id,
            &self.creator_id,
            &self.linked_with,
            self.created_from,
            self.created_to,
            self.updated_from,
            self.updated_to,
            self.include_deleted,
            user,
            token,
        ]);
        values
    }

    /// The values of the plain case, and whether it is the one by parent.
    fn plain(&self) -> Option<(bool, [Value<'_>; 2])> {
        let kind = self.kind?.name().into();
        let others = self.epic_id.is_some()
            || !self.statuses.is_empty()
            || !self.priorities.is_empty()
            || self.type_id.is_some()
            || self.criterion_id.is_some()
            || self.assignee_id.is_some()
            || self.creator_id.is_some()
            || self.linked_with.is_some()
            || self.created_from.is_some()
            || self.created_to.is_some()
            || self.updated_from.is_some()
            || self.updated_to.is_some()
            || self.include_deleted;
        match (others, &self.parent_id, &self.projects) {
            (false, Some(parent), Projects::All) => Some((true, [parent.into(), kind])),
            (false, None, Projects::One(project)) => Some((false, [project.into(), kind])),
            _ => None,
        }
    }
}
