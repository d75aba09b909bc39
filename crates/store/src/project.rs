//! Projects: everything else belongs to one.

use schemars::JsonSchema;
use serde::Serialize;

use crate::db::Tx;
use crate::error::Result;
use crate::model::Time;
use crate::value::Row;
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
    /// Goes up by one with each change.
    pub version: i64,
    /// When it was made.
    pub created_at: Time,
    /// When it was last changed.
    pub updated_at: Time,
}

macro_rules! select {
    ($rest:literal) => {
        concat!("select id, key, name, description, version, created_at, updated_at from project ", $rest)
    };
}

/// The project with this id or key.
pub fn find(tx: &mut Tx<'_>, id_or_key: &str) -> Result<Option<Project>> {
    let (id, key) = (id_or_key.to_ascii_lowercase(), id_or_key.to_ascii_uppercase());
    tx.row(select!("where id = ?1 or key = ?2"), values![&id, &key], read)
}

/// All projects, by key.
pub fn list(tx: &mut Tx<'_>, limit: i64, offset: i64) -> Result<Vec<Project>> {
    tx.rows(select!("order by key limit ?1 offset ?2"), values![limit, offset], read)
}

/// How many there are.
pub fn count(tx: &mut Tx<'_>) -> Result<i64> {
    Ok(tx.row("select count(*) from project", &[], |row| row.get(0))?.unwrap_or_default())
}

/// The only project's id, when there is but one.
pub fn only(tx: &mut Tx<'_>) -> Result<Option<String>> {
    let mut ids: Vec<String> = tx.rows("select id from project limit 2", &[], |row| row.get(0))?;
    Ok(if ids.len() == 1 { ids.pop() } else { None })
}

/// Adds a project.
pub fn insert(tx: &mut Tx<'_>, project: &Project) -> Result<()> {
    let Project { id, key, name, description, version, created_at, updated_at } = project;
    let sql = "insert into project (id, key, name, description, version, created_at, updated_at)
               values (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    tx.execute(sql, values![id, key, name, description, *version, *created_at, *updated_at])?;
    Ok(())
}

/// Writes a changed project; false when another change was faster.
pub fn update(tx: &mut Tx<'_>, project: &Project) -> Result<bool> {
    let Project { id, name, description, version, updated_at, .. } = project;
    let sql = "update project set name = ?2, description = ?3, version = ?4, updated_at = ?5
               where id = ?1 and version = ?4 - 1";
    Ok(tx.execute(sql, values![id, name, description, *version, *updated_at])? == 1)
}

/// Whether anything was ever made in it; deleted entities count, for their reference ids must not come again.
pub fn is_empty(tx: &mut Tx<'_>, id: &str) -> Result<bool> {
    Ok(tx.row("select 1 from entity where project_id = ?1 limit 1", values![id], |_| Ok(()))?.is_none())
}

/// Removes an empty project; false when another change was faster.
pub fn delete(tx: &mut Tx<'_>, gone: &Project) -> Result<bool> {
    tx.execute("delete from counter where project_id = ?1", values![&gone.id])?;
    let sql = "delete from project where id = ?1 and version = ?2";
    Ok(tx.execute(sql, values![&gone.id, gone.version])? == 1)
}

fn read(row: &Row<'_>) -> Result<Project> {
    Ok(Project {
        id: row.get(0)?,
        key: row.get(1)?,
        name: row.get(2)?,
        description: row.get(3)?,
        version: row.get(4)?,
        created_at: row.get(5)?,
        updated_at: row.get(6)?,
    })
}
