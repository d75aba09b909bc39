//! What happened: revisions of entities, and the changes that listeners receive. Rows are never updated.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::db::Tx;
use crate::error::{Error, Result};
use crate::member;
use crate::model::{Time, Via};
use crate::value::Row;
use crate::values;

/// The kind of what changed when everything did: the store was restored from a backup.
pub const WHOLE_STORE: &str = "store";

/// A revision to be written.
#[derive(Debug)]
pub struct New<'a> {
    /// A UUID.
    pub id: &'a str,
    /// The project, where there is one.
    pub project_id: Option<&'a str>,
    /// The kind of what changed: `epic`, `user`, `requirement_type`.
    pub entity_kind: &'a str,
    /// The id of what changed.
    pub entity_id: &'a str,
    /// The reference id of what changed, where it has one.
    pub reference_id: Option<&'a str>,
    /// Its version after the change.
    pub version: i64,
    /// Who did it.
    pub actor_id: Option<&'a str>,
    /// With which token.
    pub token_id: Option<&'a str>,
    /// Through which surface.
    pub via: Via,
    /// By which operation.
    pub operation: &'a str,
    /// A JSON object: field → `[before, after]`.
    pub changes: &'a str,
    /// When.
    pub now: Time,
    /// In which request.
    pub request_id: Option<&'a str>,
    /// By which import.
    pub import_id: Option<&'a str>,
}

/// A change that was made.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Revision {
    /// The UUID.
    pub id: String,
    /// The kind of what changed.
    pub entity_kind: String,
    /// The id of what changed.
    pub entity_id: String,
    /// Its version after the change.
    pub version: i64,
    /// The operation that did it.
    pub operation: String,
    /// Who did it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor_id: Option<String>,
    /// The name of who did it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    /// The token that it was done with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_id: Option<String>,
    /// The name of that token, unless it was revoked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// The surface: `rest`, `mcp`, `web` or `cli`.
    pub via: String,
    /// The fields that changed, each as `[before, after]`.
    #[schemars(with = "std::collections::BTreeMap<String, Vec<serde_json::Value>>")]
    pub changes: Box<RawValue>,
    /// When.
    pub created_at: Time,
    /// The request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
}

/// Writes a revision, and the change that listeners receive.
pub fn insert(tx: &mut Tx<'_>, new: &New<'_>) -> Result<()> {
    tx.note_change();
    let values = values![
        new.id,
        new.project_id,
        new.entity_kind,
        new.entity_id,
        new.version,
        new.actor_id,
        new.token_id,
        new.via.name(),
        new.operation,
        new.changes,
        new.now,
        new.request_id,
        new.import_id,
        new.reference_id,
    ];
    tx.gather_revision(values)
}

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "select r.id, r.entity_kind, r.entity_id, r.version, r.operation, r.actor_id, u.username, r.token_id, r.via,
                    r.changes, r.created_at, r.request_id, k.name
             from revision r left join user_account u on u.id = r.actor_id left join token k on k.id = r.token_id ",
            $rest
        )
    };
}

/// The history of an entity, the newest first.
pub fn history(tx: &mut Tx<'_>, entity_id: &str, limit: i64, offset: i64) -> Result<(Vec<Revision>, i64)> {
    let sql = select!("where r.entity_id = ?1 order by r.version desc, r.id desc limit ?2 offset ?3");
    let revisions = tx.rows(sql, values![entity_id, limit, offset], read)?;
    let total =
        tx.row("select count(*) from revision where entity_id = ?1", values![entity_id], |row| row.get(0))?;
    Ok((revisions, total.unwrap_or_default()))
}

/// The fields that changed with a version: a JSON object of `[before, after]`.
pub fn fields_of(tx: &mut Tx<'_>, entity_id: &str, version: i64) -> Result<Option<String>> {
    let sql = "select changes from revision where entity_id = ?1 and version = ?2 order by id desc limit 1";
    tx.row(sql, values![entity_id, version], |row| row.get(0))
}

/// When an entity got a version.
pub fn time_of(tx: &mut Tx<'_>, entity_id: &str, version: i64) -> Result<Option<Time>> {
    let sql =
        "select created_at from revision where entity_id = ?1 and version = ?2 order by id desc limit 1";
    tx.row(sql, values![entity_id, version], |row| row.get(0))
}

/// Hands on the versions of an entity after a version with the fields that changed, the newest first, at most `limit`.
pub fn each_after(
    tx: &mut Tx<'_>,
    entity_id: &str,
    version: i64,
    limit: i64,
    mut each: impl FnMut(i64, &str),
) -> Result<()> {
    let sql = "select version, changes from revision where entity_id = ?1 and version > ?2
               order by version desc, id desc limit ?3";
    tx.each(sql, values![entity_id, version, limit], |row| {
        each(row.get(0)?, row.text(1)?);
        Ok(())
    })
}

/// Erases the texts of an entity from its history.
pub fn purge(tx: &mut Tx<'_>, entity_id: &str) -> Result<()> {
    tx.execute("update revision set changes = '{}' where entity_id = ?1", values![entity_id])?;
    Ok(())
}

/// The kind of change that tells that sessions of a user have ended. Nobody is shown it: servers check by it who may still
/// listen.
pub const SESSIONS_ENDED: &str = "sessions_ended";

/// Tells that sessions of the selected users end.
pub(crate) fn tell_session_end(
    tx: &mut Tx<'_>,
    users: &'static str,
    values: &[crate::Value<'_>],
) -> Result<()> {
    let sql = if tx.is_postgres() {
        "insert into change (transaction_number, entity_kind, entity_id, version, operation, created_at)
         values (cast(cast(pg_current_xact_id() as text) as bigint), ?1, ?2, 1, 'end_session', 0)"
    } else {
        "insert into change (transaction_number, entity_kind, entity_id, version, operation, created_at)
         values (0, ?1, ?2, 1, 'end_session', 0)"
    };
    let users: Vec<String> = tx.rows(users, values, |row| row.get(0))?;
    for user_id in users {
        tx.execute(sql, values![SESSIONS_ENDED, &user_id])?;
    }
    Ok(())
}

/// A change, as listeners receive it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Change {
    /// Its number. Changes are delivered in another order, because numbers are assigned before the commit.
    pub sequence: i64,
    /// Its place in that order.
    #[serde(skip)]
    pub place: Place,
    /// The project's UUID.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project_id: Option<String>,
    /// The ids of the users who see the project; none where everybody does.
    #[serde(skip)]
    pub audience: Option<Arc<HashSet<String>>>,
    /// The kind of what changed.
    pub entity_kind: String,
    /// The id of what changed.
    pub entity_id: String,
    /// The reference id of what changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference_id: Option<String>,
    /// Its version after the change.
    pub version: i64,
    /// The operation.
    pub operation: String,
    /// Who did it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor_id: Option<String>,
    /// When.
    pub created_at: Time,
}

impl Change {
    /// Whether what somebody may do can have changed with it, who is known by one of these ids: a user's or a token's.
    pub fn concerns(&self, ids: &[String]) -> bool {
        self.entity_kind == WHOLE_STORE || self.is_about_account() && ids.contains(&self.entity_id)
    }

    /// Whether it is about a user, a token or sessions.
    pub fn is_about_account(&self) -> bool {
        matches!(self.entity_kind.as_str(), "user" | "token" | SESSIONS_ENDED)
    }
}

/// A place in the order of changes: by transaction, then by number. A transaction that began to write later may have
/// taken a lower number and still be open, so that numbers alone would let its changes be missed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    transaction: i64,
    sequence: i64,
}

impl Place {
    /// The number of the change that is there, which clients name the place by.
    pub fn sequence(self) -> i64 {
        self.sequence
    }
}

/// Adds who may be told of each change, as of now.
pub fn address(tx: &mut Tx<'_>, changes: &mut [Change]) -> Result<()> {
    let mut audiences = HashMap::new();
    for change in changes {
        let Some(project_id) = &change.project_id else { continue };
        let audience = match audiences.entry(project_id.clone()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(member::audience(tx, project_id)?.map(Arc::new)),
        };
        change.audience = audience.clone();
    }
    Ok(())
}

/// The changes after a place, as far as no open transaction can still add one before them.
pub fn changes_after(tx: &mut Tx<'_>, after: Place, limit: i64) -> Result<Vec<Change>> {
    let horizon = tx.oldest_open_transaction()?;
    let sql = if tx.is_postgres() {
        "select sequence, transaction_number, project_id, entity_kind, entity_id, reference_id, version, operation, actor_id,
                created_at
         from change where (transaction_number, sequence) > (?1, ?2) and transaction_number < ?3
         order by transaction_number, sequence limit ?4"
    } else {
        // Its only writer has transaction 0.
        "select sequence, transaction_number, project_id, entity_kind, entity_id, reference_id, version, operation, actor_id,
                created_at
         from change where ?1 = 0 and sequence > ?2 and ?3 > 0 order by sequence limit ?4"
    };
    tx.rows(sql, values![after.transaction, after.sequence, horizon, limit], |row| {
        let sequence = row.get(0)?;
        Ok(Change {
            sequence,
            place: Place { transaction: row.get(1)?, sequence },
            project_id: row.get(2)?,
            audience: None,
            entity_kind: row.get(3)?,
            entity_id: row.get(4)?,
            reference_id: row.get(5)?,
            version: row.get(6)?,
            operation: row.get(7)?,
            actor_id: row.get(8)?,
            created_at: row.get(9)?,
        })
    })
}

/// An open transaction that keeps changes of others from being told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holder {
    /// Its number.
    pub transaction: i64,
    /// The process of the database that it runs in; 0 when it is not known.
    pub pid: i64,
}

/// The transaction that holds back changes after a place, if there is one.
pub fn holder(tx: &mut Tx<'_>, after: Place) -> Result<Option<Holder>> {
    if !tx.is_postgres() {
        return Ok(None);
    }
    let transaction = tx.oldest_open_transaction()?;
    let sql = "select 1 from change where (transaction_number, sequence) > (?1, ?2) and transaction_number >= ?3 limit 1";
    if tx.row(sql, values![after.transaction, after.sequence, transaction], |_| Ok(()))?.is_none() {
        return Ok(None);
    }
    let sql = "select cast(coalesce(max(pid), 0) as bigint) from pg_locks
               where locktype = 'transactionid' and mode = 'ExclusiveLock'
                 and cast(cast(transactionid as text) as bigint) = cast(?1 as bigint) % 4294967296";
    let pid = tx.row(sql, values![transaction], |row| row.get(0))?.unwrap_or_default();
    Ok(Some(Holder { transaction, pid }))
}

/// The place of the newest change that can be told.
pub fn newest_place(tx: &mut Tx<'_>) -> Result<Place> {
    let horizon = tx.oldest_open_transaction()?;
    let sql = if tx.is_postgres() {
        "select transaction_number, sequence from change where transaction_number < ?1
         order by transaction_number desc, sequence desc limit 1"
    } else {
        "select transaction_number, sequence from change where transaction_number < ?1 order by sequence desc limit 1"
    };
    Ok(tx.row(sql, values![horizon], read_place)?.unwrap_or_default())
}

/// The place of the change with a number, or the beginning for 0. None when what follows it may have been forgotten.
pub fn place_of(tx: &mut Tx<'_>, sequence: i64) -> Result<Option<Place>> {
    if sequence == 0 {
        let first: Option<i64> = tx.row("select min(sequence) from change", &[], |row| row.get(0))?.flatten();
        return Ok(first.is_none_or(|first| first == 1).then(Place::default));
    }
    tx.row(
        "select transaction_number, sequence from change where sequence = ?1",
        values![sequence],
        read_place,
    )
}

fn read_place(row: &Row<'_>) -> Result<Place> {
    Ok(Place { transaction: row.get(0)?, sequence: row.get(1)? })
}

/// Forgets which transactions changes were made in, because their numbers mean nothing here. What is left is an order by
/// number, in which all of them come before those of any transaction to come.
pub(crate) fn forget_transactions(tx: &mut Tx<'_>) -> Result<()> {
    tx.execute("update change set transaction_number = 0", &[])?;
    Ok(())
}

/// Forgets some of what nobody will ask for again, and returns how much: old changes and old answers to idempotent requests.
pub fn forget(tx: &mut Tx<'_>, before: Time, limit: i64) -> Result<u64> {
    // Old changes come first, so that nothing else is read. The last change stays, so that the place in their order is never
    // forgotten.
    let sql = "delete from change where sequence in (
                   select sequence from change
                   where sequence < coalesce((select sequence from change where created_at >= ?1 order by sequence limit 1),
                                             (select max(sequence) from change))
                   order by sequence limit ?2)";
    let n_changes = tx.execute(sql, values![before, limit])?;
    let sql = "delete from idempotency where (user_id, operation, key) in (
                   select user_id, operation, key from idempotency where created_at < ?1 limit ?2)";
    Ok(n_changes + tx.execute(sql, values![before, limit])?)
}

fn read(row: &Row<'_>) -> Result<Revision> {
    let changes: String = row.get(9)?;
    Ok(Revision {
        id: row.get(0)?,
        entity_kind: row.get(1)?,
        entity_id: row.get(2)?,
        version: row.get(3)?,
        operation: row.get(4)?,
        actor_id: row.get(5)?,
        actor: row.get(6)?,
        token_id: row.get(7)?,
        via: row.get(8)?,
        changes: RawValue::from_string(changes).map_err(Error::internal)?,
        created_at: row.get(10)?,
        request_id: row.get(11)?,
        token: row.get(12)?,
    })
}
