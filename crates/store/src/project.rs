//! Projects: everything else belongs to one.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::db::{Shape, Tx};
use crate::error::{Error, Result};
use crate::member::{Viewer, visible};
use crate::model::Time;
use crate::value::{Row, Value};
use crate::values;

/// A project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Project {
    /// The UUID.
    pub id: String,
    /// The letters before its reference ids, such as `ABC`.
    pub key: String,
    /// The name for people.
    pub name: String,
    /// What it is about, in Markdown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Who sees it.
    pub access: Access,
    /// Goes up by one with each change.
    pub version: i64,
    /// When it was made.
    pub created_at: Time,
    /// When it was last changed.
    pub updated_at: Time,
}

/// Who sees a project.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Access {
    /// Everybody, with the role that they have everywhere.
    #[default]
    Open,
    /// Its members, with the role that they have in it, and administrators.
    Members,
}

impl Access {
    /// The name in the store and in arguments.
    pub const fn name(self) -> &'static str {
        match self {
            Access::Open => "open",
            Access::Members => "members",
        }
    }
}

impl fmt::Display for Access {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// Which projects a list, a report or a search covers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Projects {
    /// Every project: the viewer sees all, or something else already limits the list to what they see.
    #[default]
    All,
    /// The one with this id.
    One(String),
    /// Those that somebody sees who does not see all.
    VisibleTo(Viewer),
}

impl Projects {
    /// The parameters of [`in_projects`]: the project, the user, and the token if it is restricted.
    pub(crate) fn values(&self) -> [Value<'_>; 3] {
        match self {
            Projects::All => [Value::Null, Value::Null, Value::Null],
            Projects::One(id) => [id.into(), Value::Null, Value::Null],
            Projects::VisibleTo(Viewer { user_id, token_id }) => {
                [Value::Null, user_id.into(), token_id.into()]
            }
        }
    }
}

impl Projects {
    /// Adds the condition that a column is one of them.
    pub(crate) fn restrict<'a>(&'a self, shape: &mut Shape<'a>, column: &'static str) {
        match self {
            Projects::All => {}
            Projects::One(id) => {
                shape.condition(column, &[]).add(" = ?", values![id]);
            }
            Projects::VisibleTo(Viewer { user_id, token_id }) => {
                let seen = concat!(" in (", visible!("?", "?"), ")");
                shape.condition(column, &[]).add(seen, values![user_id, token_id, token_id]);
            }
        }
    }
}

/// The condition that a column names one of some [`Projects`], whose values are three parameters. Where everything is
/// covered, nothing is looked up.
macro_rules! in_projects {
    ($column:literal, $project:literal, $user:literal, $token:literal) => {
        concat!(
            " (",
            $column,
            " = ",
            $project,
            " or ",
            $project,
            " is null) and (cast(",
            $user,
            " as text) is null or ",
            $column,
            " in (",
            $crate::member::visible!($user, $token),
            ")) "
        )
    };
}
pub(crate) use in_projects;

macro_rules! select {
    ($rest:expr) => {
        concat!(
            "select id, key, name, description, access, version, created_at, updated_at from project ",
            $rest
        )
    };
}

/// The project with this id or key.
pub fn find(tx: &mut Tx<'_>, id_or_key: &str) -> Result<Option<Project>> {
    let (id, key) = (id_or_key.to_ascii_lowercase(), id_or_key.to_ascii_uppercase());
    tx.row(select!("where id = ?1 or key = ?2"), values![&id, &key], read)
}

/// The visible projects of a viewer, or all, by key.
pub fn list(tx: &mut Tx<'_>, viewer: Option<&Viewer>, limit: i64, offset: i64) -> Result<Vec<Project>> {
    let Some(Viewer { user_id, token_id }) = viewer else {
        return tx.rows(select!("order by key limit ?1 offset ?2"), values![limit, offset], read);
    };
    let sql = select!(concat!("where id in (", visible!("?1", "?2"), ") order by key limit ?3 offset ?4"));
    tx.rows(sql, values![user_id, token_id, limit, offset], read)
}

/// Their number.
pub fn count(tx: &mut Tx<'_>, viewer: Option<&Viewer>) -> Result<i64> {
    let total = match viewer {
        None => tx.row("select count(*) from project", &[], |row| row.get(0))?,
        Some(Viewer { user_id, token_id }) => {
            let sql = concat!("select count(*) from (", visible!("?1", "?2"), ") seen");
            tx.row(sql, values![user_id, token_id], |row| row.get(0))?
        }
    };
    Ok(total.unwrap_or_default())
}

/// The id of the project, if there is only one.
pub fn only(tx: &mut Tx<'_>) -> Result<Option<String>> {
    let mut ids: Vec<String> = tx.rows("select id from project limit 2", &[], |row| row.get(0))?;
    Ok(if ids.len() == 1 { ids.pop() } else { None })
}

/// Adds a project.
pub fn insert(tx: &mut Tx<'_>, project: &Project) -> Result<()> {
    let Project { id, key, name, description, access, version, created_at, updated_at } = project;
    let sql = "insert into project (id, key, name, description, access, version, created_at, updated_at)
               values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
    let access = access.name();
    tx.execute(sql, values![id, key, name, description, access, *version, *created_at, *updated_at])?;
    Ok(())
}

/// Stores a changed project; false if another change was faster.
pub fn update(tx: &mut Tx<'_>, project: &Project) -> Result<bool> {
    let Project { id, name, description, access, version, updated_at, .. } = project;
    let sql = "update project set name = ?2, description = ?3, access = ?4, version = ?5, updated_at = ?6
               where id = ?1 and version = ?5 - 1";
    let access = access.name();
    Ok(tx.execute(sql, values![id, name, description, access, *version, *updated_at])? == 1)
}

/// Whether anything was ever created in it; deleted entities count, because their reference ids must not be reused.
pub fn is_empty(tx: &mut Tx<'_>, id: &str) -> Result<bool> {
    Ok(tx.row("select 1 from entity where project_id = ?1 limit 1", values![id], |_| Ok(()))?.is_none())
}

/// Removes an empty project, with its members; false if another change was faster. A token that was restricted to
/// it alone then reaches nothing.
pub fn delete(tx: &mut Tx<'_>, gone: &Project) -> Result<bool> {
    for sql in [
        "delete from counter where project_id = ?1",
        "delete from project_member where project_id = ?1",
        "delete from token_project where project_id = ?1",
    ] {
        tx.execute(sql, values![&gone.id])?;
    }
    let sql = "delete from project where id = ?1 and version = ?2";
    Ok(tx.execute(sql, values![&gone.id, gone.version])? == 1)
}

fn read(row: &Row<'_>) -> Result<Project> {
    Ok(Project {
        id: row.get(0)?,
        key: row.get(1)?,
        name: row.get(2)?,
        description: row.get(3)?,
        access: match row.text(4)? {
            "open" => Access::Open,
            "members" => Access::Members,
            other => return Err(Error::internal(format!("{other:?} is not a kind of access"))),
        },
        version: row.get(5)?,
        created_at: row.get(6)?,
        updated_at: row.get(7)?,
    })
}
