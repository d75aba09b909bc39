//! The changes in projects, newest first: who changed what, when, and through which surface.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value as Json};

use crate::db::{Shape, Tx};
use crate::entity::read_kind;
use crate::error::{Error, Result};
use crate::model::{Kind, Time, reference_id};
use crate::project::Projects;
use crate::tally::{self, Total};
use crate::value::Row;
use crate::values;

/// A change in a project.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ProjectChange {
    /// The UUID of the revision.
    pub id: String,
    /// The operation that did it.
    pub operation: String,
    /// The kind of what changed: `requirement`, `comment`, `relationship`, `project`.
    pub entity_kind: String,
    /// The id of what changed.
    pub entity_id: String,
    /// The key of the project.
    pub project: String,
    /// The reference id of what changed; of a comment, what it is about; of a relationship, where it starts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference_id: Option<String>,
    /// The present title of that, or the beginning of its text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Of a relationship, its type and where it leads: `depends_on REQ-002`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leads_to: Option<String>,
    /// When the text of what changed was erased for good.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub purged_at: Option<Time>,
    /// The version of what changed after the change.
    pub version: i64,
    /// Who did it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor_id: Option<String>,
    /// The name of who did it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    /// The surface: `web`, `cli` or `rest`, and `mcp` for agents.
    pub via: String,
    /// The name of the token that it was done with, unless that was revoked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// The fields that changed, each as `[before, after]`. Long text is cut.
    pub changes: Map<String, Json>,
    /// When.
    pub created_at: Time,
}

/// Which changes to list.
#[derive(Clone, Debug)]
pub struct ChangeFilter {
    /// In which projects.
    pub projects: Projects,
    /// Only those by agents.
    pub by_agents: bool,
}

impl ChangeFilter {
    /// Adds the condition on the actors of revisions `t`.
    fn restrict(&self, shape: &mut Shape<'_>) {
        if self.by_agents {
            // Spelled as in their index.
            shape.condition("t.via = 'mcp'", &[]);
        }
    }
}

/// The position of a change: its time in microseconds, and the id of its revision.
pub type Place = (i64, String);

/// A page of changes after a position, newest first.
pub fn list(
    tx: &mut Tx<'_>,
    filter: &ChangeFilter,
    after: Option<&Place>,
    limit: i64,
    offset: i64,
) -> Result<Vec<ProjectChange>> {
    let mut shape = Shape::new(
        "select r.id, r.operation, r.entity_kind, r.entity_id, p.key, e.kind, e.number,
                coalesce(e.title, substr(e.description, 1, 100)), r.version, r.actor_id, u.username, r.via, k.name, r.changes,
                r.created_at, rt.name, te.number, case when r.entity_id = e.id then e.purged_at end
         from (select t.id, t.project_id, t.operation, t.entity_kind, t.entity_id, t.version, t.actor_id, t.token_id, t.via,
                      t.changes, t.created_at
               from ",
    );
    // Indexes begin with a project, so each of several projects is read separately for its newest changes.
    match &filter.projects {
        Projects::One(id) => {
            shape.add("revision t", &[]).condition("t.project_id = ?", values![id]);
            after_place(&mut shape, filter, after);
        }
        several => {
            let is_postgres = tx.is_postgres();
            let newest = if is_postgres {
                "lateral (select t.* from revision t"
            } else {
                "revision t where t.id in (select t.id from revision t"
            };
            shape.add("project q cross join ", &[]).select(newest).condition("t.project_id = q.id", &[]);
            several.restrict(&mut shape, "q.id");
            after_place(&mut shape, filter, after);
            shape.add(" order by t.created_at desc, t.id desc limit ?)", values![limit + offset]);
            shape.add(if is_postgres { " t" } else { "" }, &[]);
        }
    }
    shape.add(" order by t.created_at desc, t.id desc limit ? offset ?", values![limit, offset]);
    shape.add(
        ") r join project p on p.id = r.project_id
         left join comment c on r.entity_kind = 'comment' and c.id = r.entity_id
         left join relationship l on r.entity_kind = 'relationship' and l.id = r.entity_id
         left join relationship_type rt on rt.id = l.type_id
         left join entity te on te.id = l.target_id
         left join entity e on e.id = coalesce(c.entity_id, l.source_id, r.entity_id)
         left join user_account u on u.id = r.actor_id left join token k on k.id = r.token_id
         order by r.created_at desc, r.id desc",
        &[],
    );
    tx.shaped_rows(&shape, read)
}

fn after_place<'a>(shape: &mut Shape<'a>, filter: &ChangeFilter, after: Option<&'a Place>) {
    filter.restrict(shape);
    if let Some((time, id)) = after {
        let condition = "t.created_at <= ? and (t.created_at < ? or t.id < ?)";
        shape.condition(condition, values![*time, *time, id]);
    }
}

/// How many changes there are on all pages.
pub fn count(tx: &mut Tx<'_>, filter: &ChangeFilter) -> Result<Total> {
    let mut shape = Shape::new("select 1 from ");
    match &filter.projects {
        Projects::One(id) => _ = shape.add("revision t", &[]).condition("t.project_id = ?", values![id]),
        several => {
            shape.add("project q cross join revision t", &[]).condition("t.project_id = q.id", &[]);
            several.restrict(&mut shape, "q.id");
        }
    }
    filter.restrict(&mut shape);
    tally::counted(tx, shape)
}

fn read(row: &Row<'_>) -> Result<ProjectChange> {
    let key: String = row.get(4)?;
    let leads_to = match (row.get::<Option<String>>(15)?, row.get::<Option<i64>>(16)?) {
        (Some(name), Some(number)) => {
            Some(format!("{name} {}", reference_id(&key, Kind::Requirement, number)))
        }
        _ => None,
    };
    let reference_id = match (row.get::<Option<String>>(5)?, row.get::<Option<i64>>(6)?) {
        (Some(kind), Some(number)) => Some(reference_id(&key, read_kind(&kind)?, number)),
        _ => None,
    };
    Ok(ProjectChange {
        id: row.get(0)?,
        operation: row.get(1)?,
        entity_kind: row.get(2)?,
        entity_id: row.get(3)?,
        project: key,
        reference_id,
        title: row.get(7)?,
        leads_to,
        purged_at: row.get(17)?,
        version: row.get(8)?,
        actor_id: row.get(9)?,
        actor: row.get(10)?,
        via: row.get(11)?,
        token: row.get(12)?,
        changes: serde_json::from_str(row.text(13)?).map_err(Error::internal)?,
        created_at: row.get(14)?,
    })
}
