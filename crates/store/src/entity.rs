//! Epics, user stories, acceptance criteria, requirements and steering documents: one table, one set of queries.

mod criteria;
mod field;
mod filter;
mod leaf;
mod list;
mod names;
mod project_pages;
mod reading;
mod tree;

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::Serialize;

use crate::db::{Shape, Tx};
use crate::error::{Error, Result};
use crate::model::{DEFAULT_PROJECT_KEY, Kind, Reference, Time, reference_id};
use crate::search;
use crate::types::fold;
use crate::value::{Row, Value};
use crate::values;

pub use self::criteria::{Criterion, criteria_of};
use self::field::Content;
pub(crate) use self::field::every_field;
pub use self::field::{FIELDS, Field};
pub use self::filter::{EntityFilter, Lack, VALUES_MAX};
pub use self::leaf::{Dependents, delete_leaves, dependents};
pub use self::list::{By, Page, Place, Sort, count, list};
pub use self::names::{Named, ids_beginning, names, references};
pub use self::project_pages::{Extent, document_links, page_of_kind};
pub use self::reading::{
    STORIES_AT_ONCE, below_stories, last_change, n_children_before, n_epics_before, numbers,
};
pub use self::tree::{
    Ancestor, Below, Child, Leaf, ancestors, children, count_attached, count_children, count_erased, delete,
    deletion, deletion_members, leaves, lock_below, lock_deletion, purge, released_at, restore,
};

/// Declares what an entity holds, with the fields of the table where they are shown.
macro_rules! declare {
    ($($(#[$field_about:meta])* $field:ident: $type:ty = $nature:expr,)*) => {
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
            $($(#[$field_about])* #[serde(skip_serializing_if = "Content::is_empty")] pub $field: $type,)*
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

        /// The positions of the fields among the columns of an entity.
        fn read_fields(row: &Row<'_>, entity: &mut Entity) -> Result<()> {
            let mut index = FIXED_COLUMNS;
            $(
                entity.$field = row.get(index)?;
                index += 1;
            )*
            debug_assert_eq!(index, COLUMNS);
            Ok(())
        }

        impl Entity {
            /// An entity with only a kind.
            pub fn empty(kind: Kind) -> Entity {
                let (none, start) = (String::new, Time::from_microseconds(0));
                Entity {
                    id: none(),
                    reference_id: none(),
                    kind,
                    project: none(),
                    project_id: none(),
                    number: 0,
                    $($field: Default::default(),)*
                    status: None,
                    epic_id: None,
                    epic: None,
                    user_story_id: None,
                    user_story: None,
                    acceptance_criteria_id: None,
                    acceptance_criteria: None,
                    type_id: None,
                    type_name: None,
                    creator_id: none(),
                    creator: none(),
                    author: None,
                    assignee_id: None,
                    assignee: None,
                    version: 1,
                    content_version: 1,
                    created_at: start,
                    updated_at: start,
                    deleted_at: None,
                    deletion_id: None,
                    purged_at: None,
                }
            }
        }
    };
}
every_field!(declare);

impl Entity {
    /// The id of its epic or story.
    pub fn parent_id(&self) -> Option<&str> {
        self.epic_id.as_deref().or(self.user_story_id.as_deref())
    }

    /// The text in addition to its title, for searches.
    pub(crate) fn body(&self) -> Cow<'_, str> {
        let mut body = Cow::Borrowed("");
        for field in FIELDS.iter().filter(|field| field.nature.is_text && field.name != "title") {
            let text = match field.value(self) {
                Value::Text(text) => Cow::Borrowed(text),
                Value::List(texts) => Cow::Owned(texts.join("\n")),
                Value::Null | Value::Number(_) => continue,
            };
            body = if body.is_empty() { text } else { Cow::Owned(format!("{body}\n{text}")) };
        }
        body
    }

    /// Its name in a sentence: its title, or the beginning of its text.
    pub fn label(&self) -> &str {
        self.title.as_deref().or(self.description.as_deref()).unwrap_or_default()
    }
}

/// Selects entities with everything that is shown of them; what follows is the condition.
macro_rules! select_entity {
    ($($rest:expr),+) => {
        select_entity!(and "", $($rest),+)
    };
    // With more columns after those of an entity.
    (and $more:literal, $($rest:expr),+) => {
        concat!(
            "select e.project_id, p.key, e.id, e.kind, e.number, e.parent_id, parent.number, e.criterion_id,
                    criterion.number, e.status, e.type_id, t.name, e.creator_id, creator.username, e.assignee_id,
                    assignee.username, e.version, e.content_version, e.created_at, e.updated_at, e.deleted_at,
                    e.deletion_id, e.purged_at",
            $crate::entity::every_field!($crate::entity::columns),
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

/// The columns of the fields, each after a comma.
macro_rules! columns {
    ($($(#[$about:meta])* $field:ident: $type:ty = $nature:expr,)*) => {
        concat!($(", e.", stringify!($field)),*)
    };
}
pub(crate) use columns;

/// The number of columns before those of the fields.
const FIXED_COLUMNS: usize = 23;
/// How many columns of an entity that selects, before any others.
pub(crate) const COLUMNS: usize = FIXED_COLUMNS + FIELDS.len();

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

/// The highest number of a kind in a project, of what is not deleted.
pub fn last_number(tx: &mut Tx<'_>, project_id: &str, kind: Kind) -> Result<Option<i64>> {
    let sql = "select number from entity where project_id = ?1 and kind = ?2 and deleted_at is null
               order by number desc limit 1";
    tx.row(sql, values![project_id, kind.name()], |row| row.get(0))
}

/// The entities with these ids, deleted or not.
pub fn of_ids(tx: &mut Tx<'_>, ids: &[&str]) -> Result<Vec<Entity>> {
    let sql = if tx.is_postgres() {
        select_entity!("where e.id in (select unnest(string_to_array(?1, ',')))")
    } else {
        select_entity!("where e.id in (select value from json_each(?1))")
    };
    let ids = tx.list(ids);
    tx.rows(sql, values![&ids], read)
}

/// The entities of a kind with these numbers in a project, deleted or not.
pub fn of_numbers(tx: &mut Tx<'_>, project_key: &str, kind: Kind, numbers: &[i64]) -> Result<Vec<Entity>> {
    let sql = if tx.is_postgres() {
        // Without the limit PostgreSQL may scan the project's entities and compare each with the list, if it takes the project for
        // a small one.
        select_entity!(
            "where e.id in (select found.id from unnest(cast(string_to_array(?3, ',') as bigint[])) wanted (number)
                 cross join lateral (select n.id from entity n
                     where n.project_id = (select id from project where key = ?1) and n.kind = ?2
                         and n.number = wanted.number limit 1) found)"
        )
    } else {
        select_entity!(
            "where e.project_id = (select id from project where key = ?1) and e.kind = ?2
                 and e.number in (select cast(value as integer) from json_each(?3))"
        )
    };
    let numbers = tx.list(numbers);
    tx.rows(sql, values![project_key, kind.name(), &numbers], read)
}

/// The id and the name of a requirement type.
pub type TypeName = (String, String);

/// Like [`find`], and in the same round trip the id and the name of the requirement type with this id or exactly this name.
pub fn find_with_type(
    tx: &mut Tx<'_>,
    reference: &Reference,
    wanted: &str,
) -> Result<Option<(Entity, Option<TypeName>)>> {
    macro_rules! select {
        ($condition:literal) => {
            select_entity!(
                and ", wanted.id, wanted.name",
                "left join requirement_type wanted on wanted.id = ?1 or wanted.name_folded = ?2 ",
                $condition
            )
        };
    }
    let read = |row: &Row<'_>| {
        let id: Option<String> = row.get(COLUMNS)?;
        Ok((read(row)?, id.zip(row.get(COLUMNS + 1)?)))
    };
    let folded = fold(wanted);
    match reference {
        Reference::Id(id) => tx.row(select!("where e.id = ?3"), values![wanted, &folded, id], read),
        Reference::Numbered { project, kind, number } => {
            let key = project.as_deref().unwrap_or(DEFAULT_PROJECT_KEY);
            let sql = select!(
                "where e.project_id = (select id from project where key = ?3) and e.kind = ?4 and e.number = ?5"
            );
            tx.row(sql, values![wanted, &folded, key, kind.name(), *number], read)
        }
    }
}

/// Adds an entity with its number and version; false if the number is taken.
pub fn insert(tx: &mut Tx<'_>, entity: &Entity) -> Result<bool> {
    let is_written = insert_row(tx, entity)?.is_some();
    if is_written {
        search::put_entity(tx, entity)?;
    }
    Ok(is_written)
}

/// Adds a new entity, with the initial status of its kind; false if its number is taken.
pub fn insert_new(tx: &mut Tx<'_>, entity: &mut Entity) -> Result<bool> {
    let Some(status) = insert_row(tx, entity)? else { return Ok(false) };
    entity.status = status;
    search::put_entity(tx, entity)?;
    Ok(true)
}

/// Adds the row alone and returns its status, by default the initial one. None if the number is taken.
fn insert_row(tx: &mut Tx<'_>, entity: &Entity) -> Result<Option<Option<String>>> {
    let mut shape = Shape::new(
        "insert into entity (project_id, id, kind, number, parent_id, parent_kind, criterion_id, type_id, creator_id,
             assignee_id, version, content_version, created_at, updated_at, status",
    );
    for field in FIELDS {
        shape.add(", ", &[]).add(field.name, &[]);
    }
    let kind = entity.kind.name();
    let values = values![
        &entity.project_id,
        &entity.id,
        kind,
        entity.number,
        entity.parent_id(),
        entity.kind.parent().map(Kind::name),
        &entity.acceptance_criteria_id,
        &entity.type_id,
        &entity.creator_id,
        &entity.assignee_id,
        entity.version,
        entity.content_version,
        entity.created_at,
        entity.updated_at,
        &entity.status,
        kind,
    ];
    shape.add(
        ") values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?,
             coalesce(?, (select name from status where entity_kind = ? and is_initial = 1))",
        values,
    );
    for field in FIELDS {
        shape.add(", ?", &[field.value(entity)]);
    }
    shape.add(") on conflict (project_id, kind, number) do nothing returning status", &[]);
    Ok(tx.shaped_rows(&shape, |row| row.get(0))?.pop())
}

/// Stores a changed entity, whose version is one above the stored one; false if another change was faster.
pub fn update(tx: &mut Tx<'_>, entity: &Entity) -> Result<bool> {
    let mut shape = Shape::new("");
    shape.add(
        "update entity set parent_id = ?, criterion_id = ?, status = ?, type_id = ?, assignee_id = ?, version = ?,
             content_version = ?, updated_at = ?",
        values![
            entity.parent_id(),
            &entity.acceptance_criteria_id,
            &entity.status,
            &entity.type_id,
            &entity.assignee_id,
            entity.version,
            entity.content_version,
            entity.updated_at,
        ],
    );
    for field in FIELDS {
        shape.add(", ", &[]).add(field.name, &[]).add(" = ?", &[field.value(entity)]);
    }
    shape.add(" where id = ? and version = ?", values![&entity.id, entity.version - 1]);
    let is_written = tx.execute_shaped(&shape)? == 1;
    if is_written {
        search::put_entity(tx, entity)?;
    }
    Ok(is_written)
}

/// Links a steering document with an epic; false if it was linked already.
pub fn link_document(tx: &mut Tx<'_>, epic: &Entity, document_id: &str, now: Time) -> Result<bool> {
    let sql =
        "insert into steering_link (project_id, epic_id, epic_kind, document_id, document_kind, created_at)
               values (?1, ?2, 'epic', ?3, 'steering_document', ?4) on conflict do nothing";
    Ok(tx.execute(sql, values![&epic.project_id, &epic.id, document_id, now])? == 1)
}

/// Whether an epic and a document are linked.
pub fn is_linked(tx: &mut Tx<'_>, epic: &Entity, document_id: &str) -> Result<bool> {
    let sql =
        "select created_at from steering_link where project_id = ?1 and epic_id = ?2 and document_id = ?3";
    Ok(tx.row(sql, values![&epic.project_id, &epic.id, document_id], |row| row.get::<Time>(0))?.is_some())
}

/// Removes the link; false if there was none.
pub fn unlink_document(tx: &mut Tx<'_>, epic: &Entity, document_id: &str) -> Result<bool> {
    let sql = "delete from steering_link where project_id = ?1 and epic_id = ?2 and document_id = ?3";
    Ok(tx.execute(sql, values![&epic.project_id, &epic.id, document_id])? == 1)
}

pub(crate) fn read(row: &Row<'_>) -> Result<Entity> {
    let key: String = row.get(1)?;
    let kind = read_kind(row.text(3)?)?;
    let number: i64 = row.get(4)?;
    let parent_id: Option<String> = row.get(5)?;
    let parent =
        kind.parent().zip(row.get::<Option<i64>>(6)?).map(|(kind, number)| reference_id(&key, kind, number));
    let criterion =
        row.get::<Option<i64>>(8)?.map(|number| reference_id(&key, Kind::AcceptanceCriteria, number));
    let of_story = kind.parent() == Some(Kind::UserStory);
    let (epic_id, user_story_id) = if of_story { (None, parent_id) } else { (parent_id, None) };
    let (epic, user_story) = if of_story { (None, parent) } else { (parent, None) };
    let creator: String = row.get(13)?;
    let mut entity = Entity {
        project_id: row.get(0)?,
        id: row.get(2)?,
        reference_id: reference_id(&key, kind, number),
        project: key,
        number,
        status: row.get(9)?,
        epic_id,
        epic,
        user_story_id,
        user_story,
        acceptance_criteria_id: row.get(7)?,
        acceptance_criteria: criterion,
        type_id: row.get(10)?,
        type_name: row.get(11)?,
        creator_id: row.get(12)?,
        author: (kind == Kind::AcceptanceCriteria).then(|| creator.clone()),
        creator,
        assignee_id: row.get(14)?,
        assignee: row.get(15)?,
        version: row.get(16)?,
        content_version: row.get(17)?,
        created_at: row.get(18)?,
        updated_at: row.get(19)?,
        deleted_at: row.get(20)?,
        deletion_id: row.get(21)?,
        purged_at: row.get(22)?,
        ..Entity::empty(kind)
    };
    read_fields(row, &mut entity)?;
    Ok(entity)
}

pub(crate) fn read_kind(name: &str) -> Result<Kind> {
    Kind::from_stored(name).ok_or_else(|| Error::internal(format!("no kind is called {name}")))
}
