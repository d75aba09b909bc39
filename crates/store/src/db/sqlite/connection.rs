//! Connections to a file: how it is opened, how long a call may take, and whether damage was found.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection as Sqlite, ErrorCode, OpenFlags};

use super::translate;
use crate::error::{Error, ErrorKind, Result};

/// How long to wait for another process that writes the same file, and the pause between attempts to set it up.
const BUSY_WAIT: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(10);
/// How long emptying the journal waits for its readers.
const EMPTYING_WAIT: Duration = Duration::from_millis(500);
/// How many prepared statements a connection caches.
const STATEMENTS: usize = 256;

/// Only its owner can access a new database, because it has the hashes of passwords and tokens. SQLite gives its companion
/// files the
/// same permissions. An error here occurs again when the file is opened, and is reported then.
pub(super) fn make_private(path: &Path) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        let _ = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    }
    #[cfg(not(unix))]
    let _ = path;
}

pub(super) fn connect(
    path: &Path,
    writes: bool,
    statement_timeout: Duration,
    cache_kib: i64,
) -> Result<Connected> {
    let flags =
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let open = || -> rusqlite::Result<Sqlite> {
        let connection = Sqlite::open_with_flags(path, flags)?;
        connection.busy_timeout(BUSY_WAIT)?;
        connection.set_prepared_statement_cache_capacity(STATEMENTS);
        connection.pragma_update(None, "foreign_keys", "on")?;
        // The writer's savepoints go into a file: in memory, SQLite walks through a whole savepoint at the end of each
        // statement, which doubles the time of bulk operations.
        if !writes || tempfile::tempfile().is_err() {
            connection.pragma_update(None, "temp_store", "memory")?;
        }
        connection.pragma_update(None, "cache_size", -cache_kib)?;
        // Otherwise a statement is recompiled whenever its parameters change, in case another plan is better for
        // them, which costs several times most statements.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        if writes {
            keep_journal(&connection)?;
            connection.pragma_update(None, "synchronous", "full")?;
            // Purged text must not stay in freed space, from which it would get into backups.
            connection.pragma_update(None, "secure_delete", "on")?;
            connection.pragma_update(None, "journal_size_limit", 64 << 20)?;
        } else {
            connection.pragma_update(None, "query_only", "on")?;
        }
        Ok(connection)
    };
    let connection = open().map_err(|error| {
        let (error, _) = translate(error);
        Error::new(error.kind, format!("{} cannot be opened: {}", path.display(), error.message))
    })?;
    watched(connection, statement_timeout)
}

/// Switches the file to a write-ahead log. Two processes that do this to a new file at the same time deadlock;
/// SQLite then fails one of them at once, regardless of the busy time-out.
fn keep_journal(connection: &Sqlite) -> rusqlite::Result<()> {
    let started = Instant::now();
    loop {
        match connection.pragma_update(None, "journal_mode", "wal") {
            Err(error)
                if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
                    && started.elapsed() < BUSY_WAIT =>
            {
                std::thread::sleep(PAUSE);
            }
            done => return done,
        }
    }
}

/// A connection, and the start of its current call.
pub(super) struct Connected {
    pub(super) sqlite: Sqlite,
    pub(super) watch: Arc<Watch>,
    pub(super) damage: Arc<AtomicBool>,
}

impl Connected {
    /// Records if a statement has found damage in the file.
    pub(super) fn note_damage(&self, error: Option<&Error>) {
        if error.is_some_and(|error| error.kind == ErrorKind::Damaged) {
            self.damage.store(true, Ordering::Relaxed);
        }
    }
}

/// Tells SQLite's progress handler when the current call began.
pub(super) struct Watch {
    epoch: Instant,
    started_ms: AtomicU64,
}

impl Watch {
    pub(super) fn start(&self) {
        self.started_ms.store(self.now_ms(), Ordering::Relaxed);
    }

    /// Interrupts nothing until the next start: a long call consists of many short statements.
    pub(super) fn rest(&self) {
        self.started_ms.store(u64::MAX, Ordering::Relaxed);
    }

    fn now_ms(&self) -> u64 {
        self.epoch.elapsed().as_millis() as u64
    }
}

/// Interrupts a call that runs for too long.
fn watched(mut sqlite: Sqlite, timeout: Duration) -> Result<Connected> {
    const STEPS: i32 = 100_000;
    let watch = Arc::new(Watch { epoch: Instant::now(), started_ms: AtomicU64::new(0) });
    let seen = watch.clone();
    let limit_ms = timeout.as_millis() as u64;
    let handler = move || seen.now_ms().saturating_sub(seen.started_ms.load(Ordering::Relaxed)) > limit_ms;
    sqlite.progress_handler(STEPS, Some(handler)).map_err(|error| translate(error).0)?;
    Ok(Connected { sqlite, watch, damage: Arc::default() })
}

/// Copies the journal into the file and empties it, so that nothing of overwritten data stays in it. False if somebody
/// is still reading from it.
pub(super) fn empty_journal(connected: &Connected) -> bool {
    let connection = &connected.sqlite;
    let _ = connection.busy_timeout(EMPTYING_WAIT);
    let is_busy = connection.query_row("pragma wal_checkpoint(truncate)", [], |row| row.get::<_, i64>(0));
    let _ = connection.busy_timeout(BUSY_WAIT);
    is_busy.is_ok_and(|is_busy| is_busy == 0)
}

#[cfg(test)]
mod tests {
    use rusqlite::StatementStatus;

    use super::super::each;
    use super::*;
    use crate::db::Options;
    use crate::value::Value;

    const CACHE_KIB: i64 = 8_000;

    #[test]
    fn a_statement_is_compiled_once_for_all_parameters() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("spexus.db");
        let location = crate::Location::Sqlite(path.clone());
        let now = crate::model::Time::from_microseconds(0);
        drop(crate::Store::open(&location, Options::default(), now).expect("a store"));
        let connected = connect(&path, false, Duration::from_secs(30), CACHE_KIB).expect("a connection");
        let sql = "select u.id, u.username, u.role, u.disabled, t.hash, t.expires_at, t.id, t.scopes, t.last_used_at
               from token t join user_account u on u.id = t.user_id where t.hash = ?1";
        for hash in ["a", "b", "c"] {
            let values = [Value::Text(hash)];
            each(&connected.sqlite, sql, &values, &mut |_| Ok(()))
                .unwrap_or_else(|(error, _)| panic!("{error}"));
        }
        let statement = connected.sqlite.prepare_cached(sql).expect("a statement");
        assert_eq!(statement.get_status(StatementStatus::RePrepare), 0);
    }

    #[test]
    fn a_new_file_is_opened_by_many_at_once() {
        const N_THREADS: usize = 8;
        for round in 0..40 {
            let folder = tempfile::tempdir().expect("a folder");
            let path = folder.path().join("spexus.db");
            let barrier = std::sync::Barrier::new(N_THREADS);
            std::thread::scope(|scope| {
                for _ in 0..N_THREADS {
                    scope.spawn(|| {
                        barrier.wait();
                        let opened = connect(&path, true, Duration::from_secs(30), CACHE_KIB);
                        opened.map(drop).unwrap_or_else(|error| panic!("round {round}: {error}"));
                    });
                }
            });
        }
    }
}
