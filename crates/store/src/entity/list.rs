//! Lists of entities: filtered, sorted, a page at a time.

use super::{Entity, read, select_entity};
use crate::db::{Shape, Tx};
use crate::error::Result;
use crate::member::{Viewer, visible};
use crate::model::{Kind, Time};
use crate::project::Projects;
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

/// A page of entities. Which index serves it depends on what is asked for, so a statement has only the conditions that are
/// given, and what is shown of entities is looked up for those of the page alone.
pub fn list(tx: &mut Tx<'_>, filter: &Filter, sort: Sort, limit: i64, offset: i64) -> Result<Vec<Entity>> {
    let window = values![limit, offset];
    if sort == Sort::Number && filter.is_in_order() {
        let mut shape = Shape::new(select_entity!(""));
        filter.restrict(&mut shape);
        shape.add(" order by e.number limit ? offset ?", window);
        return tx.shaped_rows(&shape, read);
    }
    let order = match sort {
        Sort::Number => " order by p.key, e.kind, e.number",
        Sort::NumberDescending => " order by p.key, e.kind, e.number desc",
        Sort::Title => " order by e.title, e.id",
        Sort::Priority => " order by e.priority, p.key, e.number",
        Sort::Created => " order by e.created_at desc, e.id desc",
        Sort::Updated => " order by e.updated_at desc, e.id desc",
    };
    let mut shape = Shape::new(select_entity!("where e.id in (select e.id from "));
    // `cross join` makes SQLite read projects in order of their keys and stop when the page is full.
    let by_project = matches!(sort, Sort::Number | Sort::NumberDescending) && !filter.is_narrow();
    if by_project {
        shape.add("project p cross join entity e", &[]).condition("e.project_id = p.id", &[]);
    } else {
        shape.add("entity e join project p on p.id = e.project_id", &[]);
    }
    filter.restrict(&mut shape);
    shape.add(order, &[]).add(" limit ? offset ?)", window).add(order, &[]);
    tx.shaped_rows(&shape, read)
}

/// How many there are on all pages.
pub fn count(tx: &mut Tx<'_>, filter: &Filter) -> Result<i64> {
    let mut shape = Shape::new("select count(*) from entity e");
    filter.restrict(&mut shape);
    Ok(tx.shaped_rows(&shape, |row| row.get(0))?.first().copied().unwrap_or_default())
}

impl Filter {
    /// Adds its conditions on entities `e`.
    fn restrict<'a>(&'a self, shape: &mut Shape<'a>) {
        if let Some(kind) = self.kind {
            shape.condition("e.kind = ?", values![kind.name()]);
        }
        match &self.projects {
            Projects::All => {}
            Projects::One(id) => {
                shape.condition("e.project_id = ?", values![id]);
            }
            Projects::VisibleTo(Viewer { user_id, token_id }) => {
                let condition = concat!("e.project_id in (", visible!("?", "?"), ")");
                shape.condition(condition, values![user_id, token_id, token_id]);
            }
        }
        if let Some(epic) = &self.epic_id {
            let condition =
                "(e.parent_id = ? or e.parent_id in (select s.id from entity s where s.parent_id = ?))";
            shape.condition(condition, values![epic, epic]);
        }
        if let Some(linked) = &self.linked_with {
            let condition = "(e.id in (select epic_id from steering_link where document_id = ?)
                              or e.id in (select document_id from steering_link where epic_id = ?))";
            shape.condition(condition, values![linked, linked]);
        }
        shape.one_of("e.status", &self.statuses.iter().map(Value::from).collect::<Vec<_>>());
        shape
            .one_of("e.priority", &self.priorities.iter().map(|number| (*number).into()).collect::<Vec<_>>());
        let texts = [
            ("e.parent_id = ?", &self.parent_id),
            ("e.type_id = ?", &self.type_id),
            ("e.criterion_id = ?", &self.criterion_id),
            ("e.assignee_id = ?", &self.assignee_id),
            ("e.creator_id = ?", &self.creator_id),
        ];
        for (condition, text) in texts {
            if let Some(text) = text {
                shape.condition(condition, values![text]);
            }
        }
        let times = [
            ("e.created_at >= ?", self.created_from),
            ("e.created_at <= ?", self.created_to),
            ("e.updated_at >= ?", self.updated_from),
            ("e.updated_at <= ?", self.updated_to),
        ];
        for (condition, time) in times {
            if let Some(time) = time {
                shape.condition(condition, values![time]);
            }
        }
        if !self.include_deleted {
            shape.condition("e.deleted_at is null", &[]);
        }
    }

    /// Whether an index has them in the order of their numbers: those of one kind in one project or below one parent.
    fn is_in_order(&self) -> bool {
        self.kind.is_some() && (self.parent_id.is_some() || matches!(self.projects, Projects::One(_)))
    }

    /// Whether an index finds the few that it is about, wherever they are.
    fn is_narrow(&self) -> bool {
        let by_index = [&self.parent_id, &self.epic_id, &self.criterion_id, &self.linked_with];
        by_index.iter().any(|id| id.is_some())
    }
}
