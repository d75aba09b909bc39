//! Epics, user stories, acceptance criteria, requirements and steering documents: one table, one set of queries.

mod leaf;
mod list;
mod names;
mod project_pages;
mod tree;

use schemars::JsonSchema;
use serde::Serialize;

use crate::db::Tx;
use crate::error::{Error, Result};
use crate::model::{DEFAULT_PROJECT_KEY, Kind, Reference, Time, reference_id};
use crate::search;
use crate::value::Row;
use crate::values;

pub use self::leaf::{Dependents, delete_leaf, dependents};
pub use self::list::{Filter, Sort, VALUES_MAX, count, list};
pub use self::names::{Named, names};
pub use self::project_pages::{Extent, document_links, page_of_kind};
pub use self::tree::{
    Ancestor, Below, ancestors, below, delete, deletion, deletion_members, lock_below, lock_deletion, purge,
    released_at, restore,
};

/// An epic, user story, acceptance criterion, requirement or steering document. A field that its kind does not have, or
/// that is empty, is absent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Entity {
    /// The UUID.
    pub id: String,
    /// The reference id, such as `REQ-012`.
    pub reference_id: String,
    /// What it is.
    pub kind: Kind,
    /// The key of its project.
    pub project: String,
    /// The project's UUID.
    #[serde(skip)]
    pub project_id: String,
    /// The number in its reference id.
    #[serde(skip)]
    pub number: i64,
    /// The title; acceptance criteria have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The text, in Markdown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// 1 critical, 2 high, 3 medium, 4 low.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<i64>,
    /// The status, from the status model of its kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// A user story's epic.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epic_id: Option<String>,
    /// The reference id of a user story's epic.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epic: Option<String>,
    /// The user story of a criterion or a requirement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_story_id: Option<String>,
    /// The reference id of that user story.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_story: Option<String>,
    /// The criterion that a requirement serves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub acceptance_criteria_id: Option<String>,
    /// The reference id of that criterion.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub acceptance_criteria: Option<String>,
    /// A requirement's type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub type_id: Option<String>,
    /// The name of a requirement's type.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub type_name: Option<String>,
    /// Who made it.
    pub creator_id: String,
    /// The name of who made it.
    pub creator: String,
    /// The same name, of an acceptance criterion.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    /// Who works on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assignee_id: Option<String>,
    /// The name of who works on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assignee: Option<String>,
    /// Goes up by one with each change.
    pub version: i64,
    /// The version at which its text last changed; links that were made before are suspect.
    #[serde(skip)]
    pub content_version: i64,
    /// When it was made.
    pub created_at: Time,
    /// When it was last changed.
    pub updated_at: Time,
    /// When it was deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deleted_at: Option<Time>,
    /// The deletion that it went with.
    #[serde(skip)]
    pub deletion_id: Option<String>,
    /// When its text was erased for good.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub purged_at: Option<Time>,
}

impl Entity {
    /// The id of its epic or story.
    pub fn parent_id(&self) -> Option<&str> {
        self.epic_id.as_deref().or(self.user_story_id.as_deref())
    }

    /// What to call it in a sentence: its title, or the beginning of its text.
    pub fn label(&self) -> &str {
        self.title.as_deref().or(self.description.as_deref()).unwrap_or_default()
    }
}

/// Selects entities with everything that is shown of them; what follows is the condition.
macro_rules! select_entity {
    ($($rest:expr),+) => {
        select_entity!(and "", $($rest),+)
    };
    // With more columns behind those of an entity.
    (and $more:literal, $($rest:expr),+) => {
        concat!(
            "select e.project_id, p.key, e.id, e.kind, e.number, e.parent_id, parent.number, e.criterion_id,
                    criterion.number, e.title, e.description, e.priority, e.status, e.type_id, t.name,
                    e.creator_id, creator.username, e.assignee_id, assignee.username, e.version, e.content_version,
                    e.created_at, e.updated_at, e.deleted_at, e.deletion_id, e.purged_at",
            $more,
            " from entity e
             join project p on p.id = e.project_id
             join user_account creator on creator.id = e.creator_id
             left join user_account assignee on assignee.id = e.assignee_id
             left join requirement_type t on t.id = e.type_id
             left join entity parent on parent.id = e.parent_id
             left join entity criterion on criterion.id = e.criterion_id ",
            $($rest),+
        )
    };
}
pub(crate) use select_entity;

/// How many columns of an entity that selects, before any others.
pub(crate) const COLUMNS: usize = 26;

/// The entity that a reference names, deleted or not.
pub fn find(tx: &mut Tx<'_>, reference: &Reference) -> Result<Option<Entity>> {
    match reference {
        Reference::Id(id) => tx.row(select_entity!("where e.id = ?1"), values![id], read),
        Reference::Numbered { project, kind, number } => {
            let key = project.as_deref().unwrap_or(DEFAULT_PROJECT_KEY);
            let sql = select_entity!(
                "where e.project_id = (select id from project where key = ?1) and e.kind = ?2 and e.number = ?3"
            );
            tx.row(sql, values![key, kind.name(), *number], read)
        }
    }
}

/// Adds an entity with the number and the version that it has; false when the number is taken.
pub fn insert(tx: &mut Tx<'_>, entity: &Entity) -> Result<bool> {
    let sql = "insert into entity (project_id, id, kind, number, parent_id, parent_kind, criterion_id, title, description,
                   priority, status, type_id, creator_id, assignee_id, version, content_version, created_at, updated_at)
               values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)
               on conflict (project_id, kind, number) do nothing";
    let values = values![
        &entity.project_id,
        &entity.id,
        entity.kind.name(),
        entity.number,
        entity.parent_id(),
        entity.kind.parent().map(Kind::name),
        &entity.acceptance_criteria_id,
        &entity.title,
        &entity.description,
        entity.priority,
        &entity.status,
        &entity.type_id,
        &entity.creator_id,
        &entity.assignee_id,
        entity.version,
        entity.content_version,
        entity.created_at,
        entity.updated_at,
    ];
    let is_written = tx.execute(sql, values)? == 1;
    if is_written {
        search::put_entity(tx, entity)?;
    }
    Ok(is_written)
}

/// Writes a changed entity, whose version is one more than the stored one; false when another change was faster.
pub fn update(tx: &mut Tx<'_>, entity: &Entity) -> Result<bool> {
    let sql = "update entity set parent_id = ?2, criterion_id = ?3, title = ?4, description = ?5, priority = ?6, status = ?7,
                   type_id = ?8, assignee_id = ?9, version = ?10, content_version = ?11, updated_at = ?12
               where id = ?1 and version = ?10 - 1";
    let values = values![
        &entity.id,
        entity.parent_id(),
        &entity.acceptance_criteria_id,
        &entity.title,
        &entity.description,
        entity.priority,
        &entity.status,
        &entity.type_id,
        &entity.assignee_id,
        entity.version,
        entity.content_version,
        entity.updated_at,
    ];
    let is_written = tx.execute(sql, values)? == 1;
    if is_written {
        search::put_entity(tx, entity)?;
    }
    Ok(is_written)
}

/// Links a steering document with an epic; false when it was already.
pub fn link_document(tx: &mut Tx<'_>, epic: &Entity, document_id: &str, now: Time) -> Result<bool> {
    let sql =
        "insert into steering_link (project_id, epic_id, epic_kind, document_id, document_kind, created_at)
               values (?1, ?2, 'epic', ?3, 'steering_document', ?4) on conflict do nothing";
    Ok(tx.execute(sql, values![&epic.project_id, &epic.id, document_id, now])? == 1)
}

/// The links of a project, as ids of epic and document.
pub fn links_of_project(tx: &mut Tx<'_>, project_id: &str) -> Result<Vec<(String, String)>> {
    let sql = "select l.epic_id, l.document_id from steering_link l
               join entity epic on epic.id = l.epic_id join entity document on document.id = l.document_id
               where l.project_id = ?1 order by epic.number, document.number";
    tx.rows(sql, values![project_id], |row| Ok((row.get(0)?, row.get(1)?)))
}

/// Kind, number and id of everything in a project, deleted or not.
pub fn keys_of_project(tx: &mut Tx<'_>, project_id: &str) -> Result<Vec<(Kind, i64, String)>> {
    let sql = "select kind, number, id from entity where project_id = ?1";
    tx.rows(sql, values![project_id], |row| {
        Ok((read_kind(&row.get::<String>(0)?)?, row.get(1)?, row.get(2)?))
    })
}

/// Takes the link away; false when there was none.
pub fn unlink_document(tx: &mut Tx<'_>, epic: &Entity, document_id: &str) -> Result<bool> {
    let sql = "delete from steering_link where project_id = ?1 and epic_id = ?2 and document_id = ?3";
    Ok(tx.execute(sql, values![&epic.project_id, &epic.id, document_id])? == 1)
}

pub(crate) fn read(row: &Row<'_>) -> Result<Entity> {
    let key: String = row.get(1)?;
    let kind = read_kind(&row.get::<String>(3)?)?;
    let number: i64 = row.get(4)?;
    let parent_id: Option<String> = row.get(5)?;
    let parent =
        kind.parent().zip(row.get::<Option<i64>>(6)?).map(|(kind, number)| reference_id(&key, kind, number));
    let criterion =
        row.get::<Option<i64>>(8)?.map(|number| reference_id(&key, Kind::AcceptanceCriteria, number));
    let of_story = kind.parent() == Some(Kind::UserStory);
    let (epic_id, user_story_id) = if of_story { (None, parent_id) } else { (parent_id, None) };
    let (epic, user_story) = if of_story { (None, parent) } else { (parent, None) };
    let creator: String = row.get(16)?;
    Ok(Entity {
        project_id: row.get(0)?,
        id: row.get(2)?,
        reference_id: reference_id(&key, kind, number),
        kind,
        project: key,
        number,
        title: row.get(9)?,
        description: row.get(10)?,
        priority: row.get(11)?,
        status: row.get(12)?,
        epic_id,
        epic,
        user_story_id,
        user_story,
        acceptance_criteria_id: row.get(7)?,
        acceptance_criteria: criterion,
        type_id: row.get(13)?,
        type_name: row.get(14)?,
        creator_id: row.get(15)?,
        author: (kind == Kind::AcceptanceCriteria).then(|| creator.clone()),
        creator,
        assignee_id: row.get(17)?,
        assignee: row.get(18)?,
        version: row.get(19)?,
        content_version: row.get(20)?,
        created_at: row.get(21)?,
        updated_at: row.get(22)?,
        deleted_at: row.get(23)?,
        deletion_id: row.get(24)?,
        purged_at: row.get(25)?,
    })
}

pub(crate) fn read_kind(name: &str) -> Result<Kind> {
    Kind::from_stored(name).ok_or_else(|| Error::internal(format!("no kind is called {name}")))
}
