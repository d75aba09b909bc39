//! Filters of lists of entities.

use crate::db::Shape;
use crate::model::{Kind, Time};
use crate::project::Projects;
use crate::value::Value;
use crate::values;

/// What a requirement can lack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lack {
    /// The acceptance criterion that it serves.
    Criterion,
    /// A relationship with another requirement, in either direction.
    Relationship,
}

impl Lack {
    /// The condition that an entity `e` lacks it.
    const fn condition(self) -> &'static str {
        match self {
            Lack::Criterion => "e.criterion_id is null",
            Lack::Relationship => {
                "not exists (select 1 from relationship r where r.source_id = e.id and r.deleted_at is null)
                 and not exists (select 1 from relationship r where r.target_id = e.id and r.deleted_at is null)"
            }
        }
    }
}

/// A filter of entities.
#[derive(Clone, Debug, Default)]
pub struct EntityFilter {
    /// The kind; default: all kinds.
    pub kind: Option<Kind>,
    /// In these projects.
    pub projects: Projects,
    /// The id of the epic or story that they belong to.
    pub parent_id: Option<String>,
    /// The id of an epic above them.
    pub epic_id: Option<String>,
    /// One of these statuses.
    pub statuses: Vec<String>,
    /// One of these priorities.
    pub priorities: Vec<i64>,
    /// The id of the requirement type.
    pub type_id: Option<String>,
    /// The id of the criterion of requirements.
    pub criterion_id: Option<String>,
    /// The id of the assignee.
    pub assignee_id: Option<String>,
    /// The id of the creator.
    pub creator_id: Option<String>,
    /// The id of a steering document linked with epics, or of an epic linked with documents.
    pub linked_with: Option<String>,
    /// All of these labels, in any case.
    pub labels: Vec<String>,
    /// Not created before.
    pub created_from: Option<Time>,
    /// Not created after.
    pub created_to: Option<Time>,
    /// Not changed before.
    pub updated_from: Option<Time>,
    /// Not changed after.
    pub updated_to: Option<Time>,
    /// What they lack.
    pub lacks: Option<Lack>,
    /// Include deleted ones.
    pub include_deleted: bool,
}

/// How many values a filter accepts.
pub const VALUES_MAX: usize = 8;

impl EntityFilter {
    /// Adds the conditions on entities `e`, all but that on statuses.
    pub(super) fn restrict<'a>(&'a self, shape: &mut Shape<'a>) {
        if let Some(kind) = self.kind {
            shape.condition("e.kind = ?", values![kind.name()]);
        }
        self.projects.restrict(shape, "e.project_id");
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
        for label in &self.labels {
            let condition =
                "e.id in (select l.entity_id from entity_label l where l.label = lower(cast(? as text)))";
            shape.condition(condition, values![label]);
        }
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
        if let Some(lack) = self.lacks {
            shape.condition(lack.condition(), &[]);
        }
        if !self.include_deleted {
            shape.condition("e.deleted_at is null", &[]);
        }
    }

    /// Adds the condition on statuses.
    pub(super) fn restrict_statuses<'a>(&'a self, shape: &mut Shape<'a>) {
        shape.one_of("e.status", &self.statuses.iter().map(Value::from).collect::<Vec<_>>());
    }

    /// Whether it selects one kind in one project, of which indexes have several orders.
    pub(super) fn is_of_one_project(&self) -> bool {
        self.kind.is_some() && matches!(self.projects, Projects::One(_)) && !self.is_narrow()
    }

    /// Whether an index finds the few selected entities, wherever they are.
    pub(super) fn is_narrow(&self) -> bool {
        let by_index = [&self.parent_id, &self.epic_id, &self.criterion_id, &self.linked_with];
        by_index.iter().any(|id| id.is_some()) || !self.labels.is_empty()
    }
}
