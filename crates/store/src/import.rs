//! Imports: their progress, and the revisions that they have written.

use schemars::JsonSchema;
use serde::Serialize;

use crate::db::Tx;
use crate::error::{Error, Result};
use crate::model::Time;
use crate::value::Row;
use crate::values;

/// An import of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Import {
    /// The UUID.
    pub id: String,
    /// The UUID of the project that new things without a project of their own went to.
    #[serde(skip)]
    pub project_id: String,
    /// The key of that project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// The UUID of the user who imported it.
    pub actor_id: String,
    /// The name of that user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    /// The format of the file.
    pub format: String,
    /// The hash of the file: BLAKE3, in hexadecimal digits.
    pub file_hash: String,
    /// How many rows the file has.
    pub rows_total: i64,
    /// How many of them are done.
    pub rows_done: i64,
    /// Where it stands.
    pub state: ImportState,
    /// How far an undo has come.
    #[serde(skip)]
    pub undo_cursor: Option<String>,
    /// When it began.
    pub created_at: Time,
    /// When rows were last written or taken back.
    pub updated_at: Time,
}

/// Where an import stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum ImportState {
    /// It is running, or it has stopped and can be resumed.
    Unfinished,
    /// All rows are done.
    Finished,
    /// It is being taken back, or that has stopped and can be run again.
    Undoing,
    /// It was taken back.
    Undone,
}

impl ImportState {
    fn name(self) -> &'static str {
        match self {
            ImportState::Unfinished => "unfinished",
            ImportState::Finished => "finished",
            ImportState::Undoing => "undoing",
            ImportState::Undone => "undone",
        }
    }

    fn from_name(name: &str) -> Option<ImportState> {
        let all = [ImportState::Unfinished, ImportState::Finished, ImportState::Undoing, ImportState::Undone];
        all.into_iter().find(|state| state.name() == name)
    }
}

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "select i.id, i.project_id, p.key, i.actor_id, u.username, i.format, i.file_hash, i.rows_total, i.rows_done,
                    i.state, i.undo_cursor, i.created_at, i.updated_at
             from import i left join project p on p.id = i.project_id left join user_account u on u.id = i.actor_id ",
            $rest
        )
    };
}

/// The import with an id.
pub fn find(tx: &mut Tx<'_>, id: &str) -> Result<Option<Import>> {
    tx.row(select!("where i.id = ?1"), values![id], read)
}

/// The imports of a user or of everybody, into a project or into all, newest first, and their number.
pub fn list(
    tx: &mut Tx<'_>,
    actor_id: Option<&str>,
    project_id: Option<&str>,
    limit: i64,
    offset: i64,
) -> Result<(Vec<Import>, i64)> {
    let project = project_id.unwrap_or_default();
    let (found, total) = match actor_id {
        Some(actor_id) => {
            let sql = select!(
                "where i.actor_id = ?1 and (?4 = '' or i.project_id = ?4)
                 order by i.created_at desc, i.id desc limit ?2 offset ?3"
            );
            let total = "select count(*) from import where actor_id = ?1 and (?2 = '' or project_id = ?2)";
            (
                tx.rows(sql, values![actor_id, limit, offset, project], read)?,
                tx.row(total, values![actor_id, project], |row| row.get(0))?,
            )
        }
        None => {
            let sql = select!(
                "where ?3 = '' or i.project_id = ?3 order by i.created_at desc, i.id desc limit ?1 offset ?2"
            );
            let total = "select count(*) from import where ?1 = '' or project_id = ?1";
            (
                tx.rows(sql, values![limit, offset, project], read)?,
                tx.row(total, values![project], |row| row.get(0))?,
            )
        }
    };
    Ok((found, total.unwrap_or_default()))
}

/// The unfinished import of a file into a project by a user.
pub fn unfinished(
    tx: &mut Tx<'_>,
    actor_id: &str,
    project_id: &str,
    file_hash: &str,
) -> Result<Option<Import>> {
    let sql = select!(
        "where i.actor_id = ?1 and i.project_id = ?2 and i.file_hash = ?3 and i.state = 'unfinished'
         order by i.created_at desc limit 1"
    );
    tx.row(sql, values![actor_id, project_id, file_hash], read)
}

/// Adds an import.
pub fn insert(tx: &mut Tx<'_>, new: &Import) -> Result<()> {
    let sql = "insert into import (id, project_id, actor_id, format, file_hash, rows_total, rows_done, state, created_at,
                   updated_at)
               values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
    let values = values![
        &new.id,
        &new.project_id,
        &new.actor_id,
        &new.format,
        &new.file_hash,
        new.rows_total,
        new.rows_done,
        new.state.name(),
        new.created_at,
        new.updated_at,
    ];
    tx.execute(sql, values)?;
    Ok(())
}

/// Moves an unfinished import from one row to another; false if it is at another row, because somebody else
/// has resumed or undone it.
pub fn advance(tx: &mut Tx<'_>, id: &str, from: i64, to: i64, now: Time) -> Result<bool> {
    let sql = "update import set rows_done = ?3, updated_at = ?4
               where id = ?1 and rows_done = ?2 and state = 'unfinished'";
    Ok(tx.execute(sql, values![id, from, to, now])? == 1)
}

/// Marks all rows as done; false as for [`advance`].
pub fn finish(tx: &mut Tx<'_>, id: &str, from: i64, now: Time) -> Result<bool> {
    let sql = "update import set rows_done = rows_total, state = 'finished', updated_at = ?3
               where id = ?1 and rows_done = ?2 and state = 'unfinished'";
    Ok(tx.execute(sql, values![id, from, now])? == 1)
}

/// Moves an undo from one position to another; false if it is elsewhere.
pub fn undo_to(
    tx: &mut Tx<'_>,
    before: &Import,
    state: ImportState,
    cursor: Option<&str>,
    now: Time,
) -> Result<bool> {
    let sql = "update import set state = ?4, undo_cursor = ?5, updated_at = ?6
               where id = ?1 and state = ?2 and coalesce(undo_cursor, '') = ?3";
    let stands = before.undo_cursor.as_deref().unwrap_or_default();
    let values = values![&before.id, before.state.name(), stands, state.name(), cursor, now];
    Ok(tx.execute(sql, values)? == 1)
}

/// A revision that an import has written.
#[derive(Clone, Debug)]
pub struct Written {
    /// The id of the revision.
    pub id: String,
    /// The id of what changed.
    pub entity_id: String,
    /// Its version after the change.
    pub version: i64,
    /// The fields that changed: a JSON object of `[before, after]`.
    pub changes: String,
}

impl Written {
    /// Whether the import has created it: then every field is new, including its id.
    pub fn is_new(&self) -> bool {
        let changes: serde_json::Map<String, serde_json::Value> =
            serde_json::from_str(&self.changes).unwrap_or_default();
        changes.contains_key("id")
    }
}

/// The revisions that an import has written of a kind, after one of them.
pub fn written_after(
    tx: &mut Tx<'_>,
    id: &str,
    kind: &str,
    (entity_id, revision_id): (&str, &str),
    limit: i64,
) -> Result<Vec<Written>> {
    let sql = "select id, entity_id, version, changes from revision
               where import_id = ?1 and entity_kind = ?2 and entity_id >= ?3 and (entity_id > ?3 or id > ?4)
               order by entity_id, id limit ?5";
    tx.rows(sql, values![id, kind, entity_id, revision_id, limit], |row| {
        Ok(Written { id: row.get(0)?, entity_id: row.get(1)?, version: row.get(2)?, changes: row.get(3)? })
    })
}

/// How many revisions an import has written.
pub fn count_written(tx: &mut Tx<'_>, id: &str) -> Result<i64> {
    let sql = "select count(*) from revision where import_id = ?1";
    Ok(tx.row(sql, values![id], |row| row.get(0))?.unwrap_or_default())
}

/// Something that an import has written and that can be taken back.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Its kind.
    pub kind: String,
    /// Its id.
    pub entity_id: String,
    /// Whether the import has made it.
    pub is_new: bool,
    /// Whether somebody has changed it since.
    pub is_changed_since: bool,
}

/// Calls `read` with everything that an import has created or changed of these kinds, once each, except what is deleted by now.
pub fn each_outcome(tx: &mut Tx<'_>, id: &str, kinds: &[&str], mut each: impl FnMut(Outcome)) -> Result<()> {
    let sql = "select w.entity_kind, w.entity_id, w.first,
                      (select max(r.version) from revision r where r.entity_id = w.entity_id) - w.last
               from (select entity_kind, entity_id, min(version) as first, max(version) as last from revision
                     where import_id = ?1 group by entity_kind, entity_id) w
               left join entity e on e.id = w.entity_id
               left join comment c on c.id = w.entity_id
               left join relationship l on l.id = w.entity_id
               left join prompt p on p.id = w.entity_id
               where coalesce(e.deleted_at, c.deleted_at, l.deleted_at, p.deleted_at) is null";
    tx.each(sql, values![id], |row| {
        let kind: String = row.get(0)?;
        if kinds.contains(&kind.as_str()) {
            each(Outcome {
                kind,
                entity_id: row.get(1)?,
                is_new: row.get::<i64>(2)? == 1,
                is_changed_since: row.get::<i64>(3)? > 0,
            });
        }
        Ok(())
    })
}

/// Calls `read` with the ids of everything that an import has written, without collecting them; some of them twice.
pub fn each_written_id(tx: &mut Tx<'_>, id: &str, mut each: impl FnMut(&str)) -> Result<()> {
    tx.each("select entity_id from revision where import_id = ?1", values![id], |row| {
        each(row.text(0)?);
        Ok(())
    })
}

fn read(row: &Row<'_>) -> Result<Import> {
    let state: String = row.get(9)?;
    Ok(Import {
        id: row.get(0)?,
        project_id: row.get(1)?,
        project: row.get(2)?,
        actor_id: row.get(3)?,
        actor: row.get(4)?,
        format: row.get(5)?,
        file_hash: row.get(6)?,
        rows_total: row.get(7)?,
        rows_done: row.get(8)?,
        state: ImportState::from_name(&state)
            .ok_or_else(|| Error::internal(format!("no state of an import is called {state}")))?,
        undo_cursor: row.get(10)?,
        created_at: row.get(11)?,
        updated_at: row.get(12)?,
    })
}
