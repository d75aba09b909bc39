//! Saved views of tables: a named query, for its owner or for everybody who can see the project.

use schemars::JsonSchema;
use serde::Serialize;

use crate::db::Tx;
use crate::entity::read_kind;
use crate::error::Result;
use crate::model::{Kind, Time};
use crate::types::fold;
use crate::value::Row;
use crate::values;

/// A saved view of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SavedView {
    /// The UUID.
    pub id: String,
    /// The project's UUID.
    #[serde(skip)]
    pub project_id: String,
    /// The key of the project.
    pub project: String,
    /// What the table lists.
    pub kind: Kind,
    /// The name, which no other view of the same owner has for this table.
    pub name: String,
    /// Filters, order and columns as in the address of the table: `status=Draft&sort=priority`.
    pub query: String,
    /// Whether everybody who sees the project sees it.
    pub shared: bool,
    /// Whose it is.
    pub owner_id: String,
    /// The name of whose it is.
    pub owner: String,
    /// Goes up by one with each change.
    pub version: i64,
    /// When it was first saved.
    pub created_at: Time,
    /// When it was last changed.
    pub updated_at: Time,
}

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "select v.id, v.project_id, p.key, v.kind, v.name, v.query, v.shared, v.owner_id, u.username, v.version,
                    v.created_at, v.updated_at
             from saved_view v join project p on p.id = v.project_id join user_account u on u.id = v.owner_id ",
            $rest
        )
    };
}

/// The visible views of a user in a project, by name: their own and shared ones; of one kind, if given. With
/// their number.
pub fn list(
    tx: &mut Tx<'_>,
    (project_id, viewer_id): (&str, &str),
    kind: Option<Kind>,
    (limit, offset): (i64, i64),
) -> Result<(Vec<SavedView>, i64)> {
    let kind = kind.map(Kind::name);
    let sql = select!(
        "where v.project_id = ?1 and (v.shared = 1 or v.owner_id = ?2) and (cast(?3 as text) is null or v.kind = ?3)
         order by v.name_folded, v.id limit ?4 offset ?5"
    );
    let views = tx.rows(sql, values![project_id, viewer_id, kind, limit, offset], read)?;
    let sql = "select count(*) from saved_view v
               where v.project_id = ?1 and (v.shared = 1 or v.owner_id = ?2) and (cast(?3 as text) is null or v.kind = ?3)";
    let total = tx.row(sql, values![project_id, viewer_id, kind], |row| row.get(0))?;
    Ok((views, total.unwrap_or_default()))
}

/// The view with an id.
pub fn find(tx: &mut Tx<'_>, id: &str) -> Result<Option<SavedView>> {
    tx.row(select!("where v.id = ?1"), values![id], read)
}

/// The view of an owner with a name.
pub fn find_named(
    tx: &mut Tx<'_>,
    project_id: &str,
    kind: Kind,
    owner_id: &str,
    name: &str,
) -> Result<Option<SavedView>> {
    let sql = select!("where v.project_id = ?1 and v.kind = ?2 and v.owner_id = ?3 and v.name_folded = ?4");
    tx.row(sql, values![project_id, kind.name(), owner_id, &fold(name)], read)
}

/// The number of a user's views in a project, and of shared ones.
pub fn count(tx: &mut Tx<'_>, project_id: &str, owner_id: &str) -> Result<(i64, i64)> {
    let sql = "select cast(coalesce(sum(case when owner_id = ?2 then 1 else 0 end), 0) as bigint),
                      cast(coalesce(sum(shared), 0) as bigint)
               from saved_view where project_id = ?1";
    let counts = tx.row(sql, values![project_id, owner_id], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(counts.unwrap_or_default())
}

/// Locks the views of a project until the commit.
pub fn lock(tx: &mut Tx<'_>, project_id: &str) -> Result<()> {
    tx.lock(&format!("views of {project_id}"))
}

/// Adds a view.
pub fn insert(tx: &mut Tx<'_>, new: &SavedView) -> Result<()> {
    let SavedView { id, project_id, name, query, shared, owner_id, version, created_at, updated_at, .. } =
        new;
    let sql = "insert into saved_view (id, project_id, kind, owner_id, name, name_folded, query, shared, version, created_at,
                   updated_at)
               values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";
    let (kind, folded) = (new.kind.name(), fold(name));
    let values = values![
        id,
        project_id,
        kind,
        owner_id,
        name,
        &folded,
        query,
        *shared,
        *version,
        *created_at,
        *updated_at
    ];
    tx.execute(sql, values)?;
    Ok(())
}

/// Stores a changed view; false if another change was faster.
pub fn update(tx: &mut Tx<'_>, changed: &SavedView) -> Result<bool> {
    let SavedView { id, name, query, shared, version, updated_at, .. } = changed;
    let sql = "update saved_view set name = ?2, name_folded = ?3, query = ?4, shared = ?5, version = ?6, updated_at = ?7
               where id = ?1 and version = ?6 - 1";
    let folded = fold(name);
    Ok(tx.execute(sql, values![id, name, &folded, query, *shared, *version, *updated_at])? == 1)
}

/// Removes a view; false if another change was faster.
pub fn delete(tx: &mut Tx<'_>, gone: &SavedView) -> Result<bool> {
    let sql = "delete from saved_view where id = ?1 and version = ?2";
    Ok(tx.execute(sql, values![&gone.id, gone.version])? == 1)
}

fn read(row: &Row<'_>) -> Result<SavedView> {
    Ok(SavedView {
        id: row.get(0)?,
        project_id: row.get(1)?,
        project: row.get(2)?,
        kind: read_kind(row.text(3)?)?,
        name: row.get(4)?,
        query: row.get(5)?,
        shared: row.get(6)?,
        owner_id: row.get(7)?,
        owner: row.get(8)?,
        version: row.get(9)?,
        created_at: row.get(10)?,
        updated_at: row.get(11)?,
    })
}
