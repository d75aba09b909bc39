//! Backups. A backup is always a SQLite file with the schema of a store, whatever the engine of the store: it can be inspected,
//! opened as a store, and restored on either engine, which also moves a store from one to the other.
//!
//! A file gets its name only when it is complete and checked; until then it is called `….partial`.

mod access;
mod file;
mod table;

use std::path::Path;

use self::access::Revoked;
pub use self::access::Tokens;
use self::file::{Partial, SqliteFile};
use self::table::TABLES;
use crate::db::{Location, Mode, Options, Store, Tx};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{Time, Via};
use crate::revision::{self, New};
use crate::search;

/// The progress of a backup or a restore, in pages or rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// How much is done.
    pub done: u64,
    /// How much there is.
    pub total: u64,
}

/// Options of a restore.
#[derive(Clone, Copy, Debug, Default)]
pub struct Choices {
    /// Whether to replace a store with content. What was revoked in it stays revoked.
    pub replace: bool,
    /// Whether to revoke all tokens of the backup.
    pub revoke_tokens: bool,
}

/// Writes everything that was committed when this began, except sessions and sign-in links, to a new file. Others continue
/// reading and writing.
pub fn backup(
    store: &Store,
    path: &Path,
    now: Time,
    progress: impl FnMut(Progress) + Send + 'static,
) -> Result<()> {
    refuse_existing(path)?;
    let partial = Partial::beside(path)?;
    match store.sqlite_path() {
        Some(from) => {
            file::copy(from, partial.path(), progress)?;
            access::end_sessions_in(&SqliteFile::open_to_write(partial.path())?)?;
        }
        None => from_postgres(store, partial.path(), now, progress)?,
    }
    file::check(partial.path())?;
    refuse_existing(path)?;
    partial.keep_as(path)
}

/// Fills a store from a backup.
///
/// The store must be empty or missing, unless it is to be replaced. A backup of an older version is
/// migrated, without changing the file; one of a newer version is rejected.
pub fn restore(
    location: &Location,
    path: &Path,
    choices: Choices,
    options: Options,
    now: Time,
    progress: impl FnMut(Progress) + Send + 'static,
) -> Result<Tokens> {
    if file::is_partial(path) {
        let message = format!("{} is a backup that was not finished", path.display());
        return Err(Error::new(ErrorKind::Schema, message));
    }
    let is_current = file::check(path)?;
    match location {
        Location::Sqlite(target) => to_sqlite(target, path, choices, options, now, progress),
        Location::Postgres(_) if is_current => to_postgres(location, path, choices, options, now, progress),
        Location::Postgres(_) => {
            let partial = Partial::beside(path)?;
            file::copy(path, partial.path(), |_| {})?;
            migrate(partial.path(), now)?;
            to_postgres(location, partial.path(), choices, options, now, progress)
        }
    }
}

/// Copies one snapshot of PostgreSQL, table by table, into a file with a new schema.
fn from_postgres(
    store: &Store,
    path: &Path,
    now: Time,
    mut progress: impl FnMut(Progress) + Send + 'static,
) -> Result<()> {
    let path = path.to_owned();
    store.wait(Mode::Snapshot, move |tx| {
        // After a lost connection everything starts again, including the file.
        file::begin(&path)?;
        migrate(&path, now)?;
        let sqlite = SqliteFile::open_to_write(&path)?;
        tx.script("set local statement_timeout = 0")?;
        let mut total = 0;
        for table in TABLES {
            total += table::count_in_postgres(tx, table)?;
        }
        let mut done = 0;
        sqlite.run("pragma foreign_keys = off; begin")?;
        table::clear_sqlite(&sqlite)?;
        for table in TABLES {
            table::to_sqlite(tx, &sqlite, table, |n_rows| {
                done += n_rows;
                progress(Progress { done, total });
            })?;
        }
        table::sequence_to_sqlite(tx, &sqlite)?;
        sqlite.run("commit")?;
        drop(sqlite);
        open_file(&path, now)?.wait(Mode::Long, search::clear)?;
        rebuild_derived(&Location::Sqlite(path.clone()), Options::default())?;
        SqliteFile::open_to_write(&path)?.run("pragma journal_mode = delete")
    })
}

/// Replaces the store's file by a checked and migrated copy, or copies it into the existing file.
fn to_sqlite(
    target: &Path,
    path: &Path,
    choices: Choices,
    options: Options,
    now: Time,
    progress: impl FnMut(Progress),
) -> Result<Tokens> {
    if target.exists() && !choices.replace && !file::is_empty(target)? {
        return Err(not_empty(&Location::Sqlite(target.to_owned())));
    }
    if let Some(folder) = target.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder).map_err(|error| file::failed(folder, "cannot be made", &error))?;
    }
    let partial = Partial::beside(target)?;
    file::copy(path, partial.path(), progress)?;
    // A store is often replaced because it is damaged.
    let has_store = target.exists() && !file::is_empty(target).unwrap_or_default();
    let old = SqliteFile::open_to_read(target);
    let reached =
        old.as_ref().ok().and_then(|old| table::last_change_in_sqlite(old).ok()).unwrap_or_default();
    let revoked = match &old {
        Ok(old) if has_store => Revoked::in_sqlite(old).ok(),
        _ if has_store => None,
        _ => Some(Revoked::default()),
    };
    drop(old);
    let revocations_lost = revoked.is_none();
    let revoked = revoked.unwrap_or_default();
    let tokens = open_file(partial.path(), now)?.wait(Mode::Long, move |tx| {
        let tokens = access::revoke(tx, &revoked, choices.revoke_tokens, now)?;
        announce(tx, reached, RESTORED, now).map(|()| tokens)
    })?;
    file::check(partial.path())?;
    if target.exists() {
        file::copy_into(partial.path(), target, options.wait_max)?;
        file::check(target)?;
    } else {
        partial.keep_as(target)?;
    }
    Ok(Tokens { revocations_lost, ..tokens })
}

/// Replaces everything in one transaction.
fn to_postgres(
    location: &Location,
    path: &Path,
    choices: Choices,
    options: Options,
    now: Time,
    mut progress: impl FnMut(Progress) + Send + 'static,
) -> Result<Tokens> {
    let store = Store::open(location, options.clone(), now)?;
    let path = path.to_owned();
    let refusal = not_empty(location);
    let tokens = store.wait(Mode::Write, move |tx| {
        let sqlite = SqliteFile::open_to_read(&path)?;
        tx.script("set local statement_timeout = 0; set local lock_timeout = 0")?;
        if !choices.replace && !is_empty(tx)? {
            return Err(refusal.clone());
        }
        let reached = table::last_change_in_postgres(tx)?;
        let revoked = Revoked::in_postgres(tx)?;
        table::clear_postgres(tx)?;
        let mut total = 0;
        for table in TABLES {
            total += sqlite.count(table)?;
        }
        let mut done = 0;
        for table in TABLES {
            let expected = sqlite.count(table)?;
            let found = table::to_postgres(&sqlite, tx, table, |n_rows| {
                done += n_rows;
                progress(Progress { done, total });
            })?;
            if found != expected {
                let message = format!("{table}: {expected} rows were to be copied, and {found} were");
                return Err(Error::internal(message));
            }
        }
        table::sequence_to_postgres(&sqlite, tx)?;
        // Without statistics the planner would read whole tables for one row.
        tx.script("analyze")?;
        let tokens = access::revoke(tx, &revoked, choices.revoke_tokens, now)?;
        announce(tx, reached, RESTORED, now)?;
        search::clear(tx)?;
        Ok(tokens)
    })?;
    rebuild_derived(location, options)?;
    Ok(tokens)
}

/// The name of a restore in the audit trail.
const RESTORED: &str = "restore_backup";

/// Tells clients that follow the store, and the audit trail, that everything was replaced. Change numbers continue far
/// above all earlier ones, including those after the backup: a client that knows the store up to a number must not take new
/// changes for known ones.
pub(crate) fn announce(tx: &mut Tx<'_>, reached: u64, operation: &str, now: Time) -> Result<()> {
    const LEAP: u64 = 1_000_000;
    table::leap(tx, reached, LEAP)?;
    let id = uuid::Uuid::now_v7().to_string();
    let new = New {
        id: &id,
        project_id: None,
        entity_kind: revision::WHOLE_STORE,
        entity_id: &uuid::Uuid::nil().to_string(),
        reference_id: None,
        version: 1,
        actor_id: None,
        token_id: None,
        via: Via::Cli,
        operation,
        changes: "{}",
        now,
        request_id: None,
        import_id: None,
    };
    revision::insert(tx, &new)
}

/// Rebuilds the search index, which does not fit the copied tables.
fn rebuild_derived(location: &Location, options: Options) -> Result<()> {
    search::rebuild_if_old(&Store::open_as_it_is(location, options)?)
}

/// Migrates the schema of a file, or creates it.
fn migrate(path: &Path, now: Time) -> Result<()> {
    open_file(path, now).map(drop)
}

fn open_file(path: &Path, now: Time) -> Result<Store> {
    Store::open(&Location::Sqlite(path.to_owned()), Options::default(), now)
}

/// Whether a store has no users and no data: its first start is still to come.
fn is_empty(tx: &mut Tx<'_>) -> Result<bool> {
    let sql = "select 1 where exists (select 1 from user_account) or exists (select 1 from entity)";
    Ok(tx.row(sql, &[], |_| Ok(()))?.is_none())
}

fn not_empty(location: &Location) -> Error {
    let message = format!(
        "{location} is not empty; restore into an empty store, or say that everything in it is to be replaced"
    );
    Error::new(ErrorKind::Taken, message)
}

fn refuse_existing(path: &Path) -> Result<()> {
    match path.symlink_metadata() {
        Ok(_) => Err(Error::new(
            ErrorKind::Taken,
            format!("{} exists already; choose another name", path.display()),
        )),
        Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::TABLES;
    use super::access::SESSION_TABLES;
    use crate::db::{Location, Mode, Options, Store};
    use crate::model::Time;

    /// Tables with these prefixes are derived from others, and so rebuilt instead of copied.
    const DERIVED: &[&str] = &["search", "tally", "migration", "entity_label", "cluster"];

    /// A forgotten table would be missing in every backup.
    #[test]
    fn every_table_is_copied_or_derived() {
        let folder = tempfile::tempdir().expect("a folder");
        let location = Location::Sqlite(folder.path().join("spexus.db"));
        let store = Store::open(&location, Options::default(), Time::from_microseconds(0)).expect("a store");
        let sql = "select name from sqlite_schema where type = 'table' and name not like 'sqlite_%'";
        let found: Vec<String> =
            store.wait(Mode::Snapshot, move |tx| tx.rows(sql, &[], |row| row.get(0))).expect("tables");
        for name in &found {
            let is_derived = DERIVED.iter().any(|prefix| name.starts_with(prefix));
            let is_known = TABLES.contains(&name.as_str()) || SESSION_TABLES.contains(&name.as_str());
            assert!(is_derived || is_known, "{name}");
        }
        assert_eq!(found.iter().filter(|name| TABLES.contains(&name.as_str())).count(), TABLES.len());
    }
}
