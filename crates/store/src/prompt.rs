//! Prompts: texts for agents. At most one is active; it is part of the instructions for agents.

use schemars::JsonSchema;
use serde::Serialize;

use crate::db::Tx;
use crate::error::Result;
use crate::model::{DEFAULT_PROJECT_KEY, Kind, Reference, Time, reference_id};
use crate::types::fold;
use crate::value::Row;
use crate::values;

/// A prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Prompt {
    /// The UUID.
    pub id: String,
    /// The reference id, such as `PROMPT-001`.
    pub reference_id: String,
    /// The number in its reference id.
    #[serde(skip)]
    pub number: i64,
    /// The name that agents ask for.
    pub name: String,
    /// The title for people.
    pub title: String,
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The text.
    pub content: String,
    /// Who says it: `user` or `assistant`.
    pub role: String,
    /// Whether agents receive it when they connect.
    pub active: bool,
    /// Who made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub creator_id: Option<String>,
    /// The name of who made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub creator: Option<String>,
    /// Goes up by one with each change.
    pub version: i64,
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

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "select m.id, m.number, m.name, m.title, m.description, m.content, m.role, m.active, m.creator_id, u.username,
                    m.version, m.created_at, m.updated_at, m.deleted_at, m.deletion_id, m.purged_at
             from prompt m left join user_account u on u.id = m.creator_id ",
            $rest
        )
    };
}

/// The prompt with a reference, deleted or not.
pub fn find(tx: &mut Tx<'_>, reference: &Reference) -> Result<Option<Prompt>> {
    match reference {
        Reference::Id(id) => tx.row(select!("where m.id = ?1"), values![id], read),
        Reference::Numbered { kind: Kind::Prompt, number, project: None } => {
            tx.row(select!("where m.number = ?1"), values![*number], read)
        }
        Reference::Numbered { .. } => Ok(None),
    }
}

/// The existing prompt with this name.
pub fn find_by_name(tx: &mut Tx<'_>, name: &str) -> Result<Option<Prompt>> {
    // Earlier versions stored names in lower case, which differs in a few letters.
    let lowered = name.trim().to_lowercase();
    let sql = select!("where m.name_folded in (?1, ?2) and m.deleted_at is null limit 1");
    tx.row(sql, values![&fold(name), &lowered], read)
}

/// The active prompt.
pub fn active(tx: &mut Tx<'_>) -> Result<Option<Prompt>> {
    tx.row(select!("where m.active = 1"), &[], read)
}

/// A page of prompts.
pub fn list(tx: &mut Tx<'_>, include_deleted: bool, limit: i64, offset: i64) -> Result<(Vec<Prompt>, i64)> {
    let sql = select!("where m.deleted_at is null or ?1 = 1 order by m.number limit ?2 offset ?3");
    let prompts = tx.rows(sql, values![include_deleted, limit, offset], read)?;
    let sql = "select count(*) from prompt where deleted_at is null or ?1 = 1";
    let total = tx.row(sql, values![include_deleted], |row| row.get(0))?;
    Ok((prompts, total.unwrap_or_default()))
}

/// Existing prompts after a number.
pub fn after(tx: &mut Tx<'_>, number: i64, limit: i64) -> Result<Vec<Prompt>> {
    let sql = select!("where m.deleted_at is null and m.number > ?1 order by m.number limit ?2");
    tx.rows(sql, values![number, limit], read)
}

/// Adds a prompt; false if its number is taken.
pub fn insert(tx: &mut Tx<'_>, new: &Prompt) -> Result<bool> {
    let sql = "insert into prompt (id, number, name, name_folded, title, description, content, role, active, creator_id,
                   version, created_at, updated_at)
               values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
               on conflict (number) do nothing";
    let folded = fold(&new.name);
    let values = values![
        &new.id,
        new.number,
        &new.name,
        &folded,
        &new.title,
        &new.description,
        &new.content,
        &new.role,
        new.active,
        &new.creator_id,
        new.version,
        new.created_at,
        new.updated_at,
    ];
    Ok(tx.execute(sql, values)? == 1)
}

/// Stores a changed prompt; false if another change was faster.
pub fn update(tx: &mut Tx<'_>, changed: &Prompt) -> Result<bool> {
    let sql = "update prompt set name = ?2, name_folded = ?3, title = ?4, description = ?5, content = ?6, role = ?7,
                   active = ?8, version = ?9, updated_at = ?10, deleted_at = ?11, deletion_id = ?12
               where id = ?1 and version = ?9 - 1";
    let folded = fold(&changed.name);
    let values = values![
        &changed.id,
        &changed.name,
        &folded,
        &changed.title,
        &changed.description,
        &changed.content,
        &changed.role,
        changed.active,
        changed.version,
        changed.updated_at,
        changed.deleted_at,
        &changed.deletion_id,
    ];
    Ok(tx.execute(sql, values)? == 1)
}

/// Locks the choice of the active prompt until the commit.
pub fn lock_active(tx: &mut Tx<'_>) -> Result<()> {
    tx.lock("active prompt")
}

/// Erases the text of a deleted prompt; false if another change was faster.
pub fn purge(tx: &mut Tx<'_>, gone: &Prompt, now: Time) -> Result<bool> {
    let sql = "update prompt set name = '(purged)', name_folded = '(purged)', title = '(purged)', description = null,
                   content = '(purged)', purged_at = ?2, version = version + 1, updated_at = ?2
               where id = ?1 and version = ?3";
    Ok(tx.execute(sql, values![&gone.id, now, gone.version])? == 1)
}

fn read(row: &Row<'_>) -> Result<Prompt> {
    let number = row.get(1)?;
    Ok(Prompt {
        id: row.get(0)?,
        reference_id: reference_id(DEFAULT_PROJECT_KEY, Kind::Prompt, number),
        number,
        name: row.get(2)?,
        title: row.get(3)?,
        description: row.get(4)?,
        content: row.get(5)?,
        role: row.get(6)?,
        active: row.get(7)?,
        creator_id: row.get(8)?,
        creator: row.get(9)?,
        version: row.get(10)?,
        created_at: row.get(11)?,
        updated_at: row.get(12)?,
        deleted_at: row.get(13)?,
        deletion_id: row.get(14)?,
        purged_at: row.get(15)?,
    })
}
