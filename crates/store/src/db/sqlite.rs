//! SQLite: one thread writes and groups commits, so that many small durable writes share one sync; a few threads read,
//! and short reads run on the caller's thread.

mod connection;
mod looking;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rusqlite::{Connection as Sqlite, ErrorCode, ffi, params_from_iter, types};

use self::connection::{Connected, connect, empty_journal, make_private};
use super::job::{Attempt, Job};
use super::queue::{Next, Queue};
use super::signal::Signal;
use super::tx::ReadRow;
use super::{Connection, Failure, Mode, Options, Tx};
use crate::error::{Error, ErrorKind, Result};
use crate::value::{Row, Value};

pub(super) type Outcome<T> = std::result::Result<T, (Error, Option<Failure>)>;

/// The maximal number of writes that share a commit, and the maximal time that they take together, for which the first one waits.
const GROUP_MAX: usize = 512;
const GROUP_TIME: Duration = Duration::from_millis(5);
/// Threads for long reads: one more than there are cores, so that one slow search does not block lists, within limits.
const READERS_MIN: usize = 3;
const READERS_MAX: usize = 9;
/// The cache size of each connection. There are many connections for reads by key, so each has a small cache; the larger
/// one is divided among the readers.
const CACHE_KIB: i64 = 8_000;
const KEY_CACHE_KIB: i64 = 2_000;
const READERS_CACHE_KIB: i64 = 52_000;
/// After this time without writes, background work starts, with pauses in between, so that new writes do not
/// wait for it.
const QUIET: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_millis(10);

/// The background work. It returns whether there is more to do.
pub(super) type Chore = fn(&mut Tx<'_>) -> Result<bool>;

pub(super) struct Engine {
    path: PathBuf,
    /// Connections for reads on the callers' threads.
    idle: Mutex<Vec<Connected>>,
    statement_timeout: Duration,
    writes: Arc<Queue>,
    reads: Arc<Queue>,
    threads: Vec<JoinHandle<()>>,
    /// Set when a call has found damage in the file.
    damage: Arc<AtomicBool>,
    /// False as soon as the store is closed.
    is_open: Arc<AtomicBool>,
}

impl Engine {
    pub(super) fn open(path: &Path, options: &Options, signal: Arc<Signal>, chore: Chore) -> Result<Engine> {
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder).map_err(|error| {
                Error::new(
                    ErrorKind::Unavailable,
                    format!("the folder {} cannot be made: {error}", folder.display()),
                )
            })?;
        }
        make_private(path);
        let writer = connect(path, true, options.statement_timeout, CACHE_KIB)?;
        let damage = writer.damage.clone();
        let mut engine = Engine {
            path: path.to_owned(),
            idle: Mutex::new(Vec::new()),
            statement_timeout: options.statement_timeout,
            writes: Arc::new(Queue::new()),
            reads: Arc::new(Queue::new()),
            threads: Vec::new(),
            damage: damage.clone(),
            is_open: Arc::new(AtomicBool::new(true)),
        };
        let queue = engine.writes.clone();
        engine.threads.push(spawn("store writer", move || {
            write_until_closed(&writer, &queue, &signal, chore);
        })?);
        let n_cores = std::thread::available_parallelism().map_or(1, usize::from);
        let n_readers = (n_cores + 1).clamp(READERS_MIN, READERS_MAX);
        for _ in 0..n_readers {
            let cache_kib = READERS_CACHE_KIB / n_readers as i64;
            let mut reader = connect(path, false, options.statement_timeout, cache_kib)?;
            reader.damage = damage.clone();
            let queue = engine.reads.clone();
            engine.threads.push(spawn("store reader", move || {
                while let Some(job) = queue.pop() {
                    read(&reader, job);
                }
            })?);
        }
        Ok(engine)
    }

    pub(super) fn submit(&self, job: Box<dyn Job>) {
        match job.mode() {
            Mode::Point => self.read_here(job),
            Mode::Snapshot | Mode::LongSnapshot => self.reads.push(job),
            Mode::Aside | Mode::Write | Mode::Long => self.writes.push(job),
        }
    }

    pub(super) fn waiting(&self) -> usize {
        self.writes.len() + self.reads.len()
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn damage(&self) -> &AtomicBool {
        &self.damage
    }

    /// Checks the file on a separate thread, and passes the first damage to `done`, unless the store is closed before.
    pub(super) fn look_through(
        &self,
        done: impl FnOnce(Result<Option<String>>) + Send + 'static,
    ) -> Result<()> {
        let (path, is_open) = (self.path.clone(), self.is_open.clone());
        let look = move || done(looking::look_through(&path, &is_open));
        spawn("store check", look).map(drop)
    }

    fn read_here(&self, mut job: Box<dyn Job>) {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let connection = match idle
            .map_or_else(|| connect(&self.path, false, self.statement_timeout, KEY_CACHE_KIB), Ok)
        {
            Ok(connection) => Connected { damage: self.damage.clone(), ..connection },
            Err(error) => {
                self.damage.fetch_or(error.kind == ErrorKind::Damaged, Ordering::Relaxed);
                job.fail(error);
                return job.finish();
            }
        };
        read(&connection, job);
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
    }
}

/// Waiting calls are still run; accepted calls are never dropped.
impl Drop for Engine {
    fn drop(&mut self) {
        self.is_open.store(false, Ordering::Relaxed);
        self.writes.close();
        self.reads.close();
        for thread in self.threads.drain(..) {
            // The last clone of a store may be dropped on one of its own threads, which cannot wait for itself.
            if thread.thread().id() != std::thread::current().id() {
                let _ = thread.join();
            }
        }
    }
}

fn read(connected: &Connected, mut job: Box<dyn Job>) {
    if job.mode() == Mode::LongSnapshot {
        connected.watch.rest();
    } else {
        connected.watch.start();
    }
    let connection = &connected.sqlite;
    let snapshot = job.mode() != Mode::Point;
    if snapshot && let Err((error, _)) = script(connection, "begin") {
        job.fail(error);
        return job.finish();
    }
    let mut tx = Tx::new(Connection::Sqlite(connection));
    let cancel = job.cancel().cloned();
    if let Some(cancel) = &cancel {
        let interrupt = connection.get_interrupt_handle();
        cancel.arm(move || interrupt.interrupt());
    }
    job.attempt(&mut tx);
    connected.note_damage(tx.error.as_ref());
    if let Some(cancel) = &cancel {
        cancel.disarm();
    }
    if snapshot && !connection.is_autocommit() {
        let _ = script(connection, "rollback");
    }
    job.finish();
}

fn write_until_closed(connected: &Connected, queue: &Queue, signal: &Signal, chore: Chore) {
    let mut patience = None;
    // Whether erased text may still be in the journal.
    let mut is_unclean = false;
    loop {
        let next = match patience {
            Some(patience) => queue.pop_within(patience),
            None => queue.pop().map_or(Next::Closed, Next::Job),
        };
        match next {
            Next::Job(first) => {
                let outcome = write_group(connected, queue, first);
                is_unclean |= outcome.has_erased;
                if outcome.has_changed {
                    signal.raise();
                    patience = Some(QUIET);
                }
            }
            Next::Nothing => {
                patience = do_some(connected, chore).then_some(PAUSE);
                if patience.is_none() && is_unclean {
                    // Background work may have moved erased words, and a reader may have kept the journal in use until now.
                    is_unclean = !empty_journal(connected);
                    patience = is_unclean.then_some(QUIET);
                }
            }
            Next::Closed => break,
        }
    }
    // Leaves a single file behind if possible; a failure is harmless.
    let _ = connected.sqlite.pragma_update(None, "wal_checkpoint", "truncate");
}

/// Does a part of the background work. Returns whether there is more. No caller waits for it, so failures are not reported.
fn do_some(connected: &Connected, chore: Chore) -> bool {
    let connection = &connected.sqlite;
    connected.watch.start();
    if script(connection, "begin immediate").is_err() {
        return false;
    }
    let done = chore(&mut Tx::new(Connection::Sqlite(connection)));
    let is_kept = done.is_ok() && script(connection, "commit").is_ok();
    if !is_kept && !connection.is_autocommit() {
        let _ = script(connection, "rollback");
    }
    is_kept && done.unwrap_or_default()
}

/// The effects of a group of writes.
#[derive(Clone, Copy)]
struct Written {
    /// Whether others need a notification.
    has_changed: bool,
    /// Whether text was erased permanently.
    has_erased: bool,
}

/// Runs `first` and the calls waiting behind it in one transaction, each in a savepoint. A long job is alone.
fn write_group(connected: &Connected, queue: &Queue, first: Box<dyn Job>) -> Written {
    let connection = &connected.sqlite;
    let started = Instant::now();
    let is_long = |job: &dyn Job| job.mode() == Mode::Long;
    let alone = is_long(&*first);
    let mut group = Vec::new();
    let mut written = Written { has_changed: false, has_erased: false };
    let mut next = Some(first);
    // Take the write lock at once: upgrading a read lock can fail midway.
    let mut failed = script(connection, "begin immediate").err().map(|(error, _)| error);
    // Then fail all waiting callers: one by one they would wait for the same lock many times as long.
    let is_locked = failed.is_some();
    while let Some(mut job) = next.take() {
        if failed.is_none() {
            if alone {
                connected.watch.rest()
            } else {
                connected.watch.start()
            }
            failed = write_one(connected, &mut *job, alone, &mut written);
        }
        group.push(job);
        let has_time = !alone && failed.is_none() && started.elapsed() < GROUP_TIME;
        if group.len() < GROUP_MAX && (has_time || is_locked) {
            next = queue.pop_if(|job| is_locked || !is_long(job));
        }
    }
    let failed = failed.or_else(|| script(connection, "commit").err().map(|(error, _)| error));
    connected.note_damage(failed.as_ref());
    if failed.is_some() && !connection.is_autocommit() {
        let _ = script(connection, "rollback");
    }
    if failed.is_some() {
        written = Written { has_changed: false, has_erased: false };
    }
    if written.has_erased {
        empty_journal(connected);
    }
    for mut job in group {
        // The whole group was rolled back, so every caller must be told.
        if let Some(error) = &failed {
            job.fail(error.clone());
        }
        job.finish();
    }
    written
}

/// Runs one job in a savepoint, unless it is alone. Returns an error if the whole transaction is lost.
fn write_one(connected: &Connected, job: &mut dyn Job, alone: bool, written: &mut Written) -> Option<Error> {
    let connection = &connected.sqlite;
    // A savepoint copies every changed page, which costs a long job much of its time.
    let (begin, keep, undo) = match alone {
        true => ("", "", "rollback; begin"),
        false => ("savepoint job", "release job", "rollback to job; release job"),
    };
    if let Err((error, _)) = script(connection, begin) {
        return Some(error);
    }
    let mut tx = Tx::new(Connection::Sqlite(connection));
    let end = match job.attempt(&mut tx) {
        Attempt::Keep => {
            written.has_changed |= tx.has_changed;
            written.has_erased |= tx.has_erased;
            keep
        }
        Attempt::Undo | Attempt::Again(_) => undo,
    };
    connected.note_damage(tx.error.as_ref());
    if connection.is_autocommit() {
        // With a full disk or a damaged file SQLite rolls back everything by itself.
        let cause = tx.error.take();
        let message = "the transaction was rolled back by the database";
        return Some(cause.unwrap_or_else(|| Error::new(ErrorKind::Unavailable, message)));
    }
    script(connection, end).err().map(|(error, _)| error)
}

pub(super) fn each(
    connection: &Sqlite,
    sql: &str,
    values: &[Value<'_>],
    read: &mut ReadRow<'_>,
) -> Outcome<()> {
    let mut statement = connection.prepare_cached(sql).map_err(translate)?;
    let mut rows = statement.query(params_from_iter(values)).map_err(translate)?;
    while let Some(row) = rows.next().map_err(translate)? {
        read(&Row::Sqlite(row)).map_err(|error| (error, None))?;
    }
    Ok(())
}

pub(super) fn execute(connection: &Sqlite, sql: &str, values: &[Value<'_>]) -> Outcome<u64> {
    let mut statement = connection.prepare_cached(sql).map_err(translate)?;
    let changed = statement.execute(params_from_iter(values)).map_err(translate)?;
    Ok(changed as u64)
}

pub(super) fn script(connection: &Sqlite, sql: &str) -> Outcome<()> {
    connection.execute_batch(sql).map_err(translate)
}

impl rusqlite::ToSql for Value<'_> {
    fn to_sql(&self) -> rusqlite::Result<types::ToSqlOutput<'_>> {
        Ok(types::ToSqlOutput::Borrowed(match self {
            Value::Null => types::ValueRef::Null,
            Value::Number(number) => types::ValueRef::Integer(*number),
            Value::Text(text) => types::ValueRef::Text(text.as_bytes()),
            Value::List(texts) => {
                let array = Value::array(texts).map_or(types::Value::Null, types::Value::Text);
                return Ok(types::ToSqlOutput::Owned(array));
            }
        }))
    }
}

/// Translates an error of SQLite.
pub(crate) fn told(error: rusqlite::Error) -> Error {
    translate(error).0
}

pub(super) fn translate(error: rusqlite::Error) -> (Error, Option<Failure>) {
    let rusqlite::Error::SqliteFailure(code, message) = &error else {
        return (Error::internal(&error), None);
    };
    let text = message.clone().unwrap_or_else(|| error.to_string());
    let told = |kind, message: &str| (Error::new(kind, message).because(&text), None);
    let (kind, text) = match (code.code, code.extended_code) {
        (_, ffi::SQLITE_CONSTRAINT_UNIQUE | ffi::SQLITE_CONSTRAINT_PRIMARYKEY) => (ErrorKind::Taken, text),
        (_, ffi::SQLITE_CONSTRAINT_FOREIGNKEY) => (ErrorKind::Referenced, text),
        (ErrorCode::ConstraintViolation, _) => (ErrorKind::Refused, text),
        (ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked, _) => {
            (ErrorKind::Unavailable, "another process keeps the database locked".to_owned())
        }
        (ErrorCode::OperationInterrupted, _) => (ErrorKind::Timeout, "the query took too long".to_owned()),
        (ErrorCode::DiskFull, _) => (ErrorKind::Full, "the disk is full".to_owned()),
        (ErrorCode::ReadOnly | ErrorCode::PermissionDenied, _) => {
            (ErrorKind::ReadOnly, "the database cannot be written to".to_owned())
        }
        (ErrorCode::CannotOpen, _) => return told(ErrorKind::Unavailable, "the file cannot be opened"),
        (ErrorCode::SystemIoFailure, _) => return told(ErrorKind::Unavailable, "reading or writing failed"),
        (ErrorCode::NotADatabase, _) => (ErrorKind::Schema, "the file is not a SQLite database".to_owned()),
        (ErrorCode::DatabaseCorrupt, _) => return told(ErrorKind::Damaged, "the file is damaged"),
        _ => (ErrorKind::Internal, text),
    };
    (Error::new(kind, text), None)
}

fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>> {
    std::thread::Builder::new()
        .name(name.to_owned())
        .spawn(body)
        .map_err(|error| Error::new(ErrorKind::Unavailable, format!("no thread for the store: {error}")))
}
