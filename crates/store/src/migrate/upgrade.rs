//! Runs migrations while servers read and write: each part is a short transaction that records its progress, so
//! that another process, after a crash or concurrently, continues from there. Time limits of requests do not apply, and
//! lock waits are short, because later requests would queue behind them.

use std::time::{Duration, Instant};

use super::script::{Part, concurrently, parts};
use super::{Backfill, Migration, Slice, State, Step, check, compare, hash_of};
use crate::db::{Mode, Options, Store, Tx};
use crate::error::{Error, ErrorKind, Result};
use crate::model::Time;
use crate::values;

/// The longest time that PostgreSQL accepts; SQLite accepts it as well.
pub(super) const UNLIMITED: Duration = Duration::from_millis(i32::MAX as u64);
/// How long a statement waits for a lock: requests for the same table queue behind it.
const LOCK_WAIT: &str = "set local lock_timeout = '500ms'";
/// The pause before the next attempt, in which others can proceed; it doubles up to the longest.
const PAUSE_FIRST: Duration = Duration::from_millis(250);
const PAUSE_LONGEST: Duration = Duration::from_secs(5);
/// How long to wait for locks in total: a dump of a large database holds them while it runs.
const LOCK_PATIENCE: Duration = Duration::from_secs(3600);
/// How long to wait for an unreachable database, or a file that another process has locked.
const OUTAGE_PATIENCE: Duration = Duration::from_secs(60);
/// How often to check whether another server is done.
const TURN_PAUSE: Duration = Duration::from_millis(50);
/// The minimal and maximal pause after a slice: half of the slice's duration.
const SLICE_PAUSE: (Duration, Duration) = (Duration::from_millis(2), Duration::from_millis(200));
/// How often the progress of a backfill is reported.
const TOLD_EVERY: Duration = Duration::from_secs(5);

/// Brings a schema up to date.
pub(super) struct Upgrade {
    pub(super) store: Store,
    pub(super) steps: &'static [Step],
    pub(super) now: Time,
    told: Option<Instant>,
}

/// The outcome of a step.
enum Turn {
    /// Every migration has run.
    Done,
    /// Another server is running the migration.
    Busy,
    /// A part is done; the text names it.
    Part(String),
    /// A slice of a backfill is done; the text has the progress.
    Slice(String),
    /// An index must be built outside of any transaction.
    Build { migration: &'static str, name: String, sql: String },
}

impl Upgrade {
    pub(super) fn new(store: Store, steps: &'static [Step], now: Time) -> Upgrade {
        Upgrade { store, steps, now, told: None }
    }

    pub(super) fn run(&mut self) -> Result<()> {
        loop {
            let started = Instant::now();
            match self.insist(|upgrade| upgrade.turn())? {
                Turn::Done => return Ok(()),
                Turn::Busy => std::thread::sleep(TURN_PAUSE),
                Turn::Part(text) => self.tell(&text),
                Turn::Slice(text) => {
                    if self.told.is_none_or(|told| told.elapsed() >= TOLD_EVERY) {
                        self.tell(&text);
                    }
                    std::thread::sleep((started.elapsed() / 2).clamp(SLICE_PAUSE.0, SLICE_PAUSE.1));
                }
                Turn::Build { migration, name, sql } => {
                    self.tell(&format!("migration {migration}: building index {name}"));
                    // The next step checks whether it exists.
                    self.insist(|upgrade| {
                        upgrade.store.run_outside_transaction(&sql).map_err(|error| within(migration, error))
                    })?;
                }
            }
        }
    }

    /// Retries while others hold locks or the database is unreachable. Every attempt checks what is done, so even
    /// one with an unknown outcome can be repeated.
    fn insist<T>(&mut self, attempt: impl Fn(&Upgrade) -> Result<T>) -> Result<T> {
        let started = Instant::now();
        let mut pause = PAUSE_FIRST;
        loop {
            let error = match attempt(self) {
                Err(error) => error,
                done => return done,
            };
            let patience = match error.kind {
                ErrorKind::Contention => LOCK_PATIENCE,
                ErrorKind::Unavailable | ErrorKind::Unknown => OUTAGE_PATIENCE,
                _ => return Err(error),
            };
            if started.elapsed() + pause > patience {
                return Err(error);
            }
            if self.told.is_none_or(|told| told.elapsed() >= TOLD_EVERY) {
                let cause = error.cause.as_ref().unwrap_or(&error.message);
                self.tell(&format!("the upgrade waits and tries again: {cause}"));
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(PAUSE_LONGEST);
        }
    }

    fn tell(&mut self, text: &str) {
        self.told = Some(Instant::now());
        (self.store.options().notice)(text);
    }

    /// Runs the next part of the first missing migration.
    fn turn(&self) -> Result<Turn> {
        let (steps, now) = (self.steps, self.now);
        self.store.wait(Mode::Long, move |tx| {
            let turn = turn(tx, steps, now);
            if turn.is_err() {
                // Without a pause in between, a contended lock would be requested all the time.
                tx.leave_retry_to_caller();
            }
            turn
        })
    }
}

fn turn(tx: &mut Tx<'_>, steps: &'static [Step], now: Time) -> Result<Turn> {
    if !claim(tx)? {
        return Ok(Turn::Busy);
    }
    tx.script(TABLES)?;
    let migrations = compare(tx, steps)?;
    check(&migrations)?;
    let is_pending = |migration: &Migration| migration.state == State::Pending;
    let Some(index) = migrations.iter().position(is_pending) else { return Ok(Turn::Done) };
    if migrations.iter().all(is_pending) && progress(tx, steps[0].name)?.is_none() {
        // Nobody uses an empty store yet, so everything is created in one transaction.
        steps.iter().try_for_each(|step| whole(tx, step, now).map_err(|error| within(step.name, error)))?;
        return Ok(Turn::Done);
    }
    let step = &steps[index];
    part(tx, step, now).map_err(|error| within(step.name, error))
}

/// The completed migrations, and the progress of the current one. Earlier versions know only the first table.
const TABLES: &str =
    "create table if not exists migration (name text primary key, hash text not null, applied_at bigint not null);
     create table if not exists migration_progress (
         name text primary key, part bigint not null, position text not null, n_rows bigint not null
     )";

/// Locks out other servers until the end of the transaction, unless one of them is faster. A session lock would
/// not survive a pooler that assigns a connection per transaction. SQLite's only writer needs no lock.
fn claim(tx: &mut Tx<'_>) -> Result<bool> {
    if !tx.is_postgres() {
        return Ok(true);
    }
    tx.script(LOCK_WAIT)?;
    // Any number, as long as every version uses the same: it is `spexus` in ASCII.
    let sql = "select cast(pg_try_advisory_xact_lock(126918102873459) as int)::bigint";
    Ok(tx.row(sql, &[], |row| row.get::<i64>(0))? == Some(1))
}

/// The progress of a migration: the completed parts, the position of a backfill, and how many rows it has filled.
fn progress(tx: &mut Tx<'_>, name: &str) -> Result<Option<(i64, String, i64)>> {
    let sql = "select part, position, n_rows from migration_progress where name = ?1";
    tx.row(sql, values![name], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
}

/// Runs a migration in the open transaction.
fn whole(tx: &mut Tx<'_>, step: &Step, now: Time) -> Result<()> {
    for part in parts(step.sql, tx.is_postgres()) {
        match part {
            Part::Transaction(sql) => tx.script(&with_time(&sql, now))?,
            Part::Index { sql, .. } => tx.script(&sql)?,
        }
    }
    for Backfill { slice, .. } in step.backfills {
        let mut position = String::new();
        while let Slice { next: Some(next), .. } = slice(tx, &position)? {
            position = next;
        }
    }
    record(tx, step, now)
}

/// Runs the next part of a migration.
fn part(tx: &mut Tx<'_>, step: &'static Step, now: Time) -> Result<Turn> {
    let (n_done, position, n_rows) = progress(tx, step.name)?.unwrap_or_default();
    let parts = parts(step.sql, tx.is_postgres());
    let n_parts = parts.len() + step.backfills.len();
    let done = |what: &str| {
        Turn::Part(format!("migration {}: {what} ({} of {n_parts} parts)", step.name, n_done + 1))
    };
    let n_done = n_done as usize;
    let turn = match parts.get(n_done) {
        Some(Part::Transaction(sql)) => {
            tx.script(&with_time(sql, now))?;
            done("changed the schema")
        }
        Some(Part::Index { name, sql, .. }) if !tx.is_postgres() => {
            tx.script(sql)?;
            done(&format!("built index {name}"))
        }
        Some(Part::Index { name, table, sql }) => {
            if !has_index(tx, name, table)? {
                let sql = concurrently(sql);
                return Ok(Turn::Build { migration: step.name, name: name.clone(), sql });
            }
            done(&format!("built index {name}"))
        }
        None => match step.backfills.get(n_done - parts.len()) {
            Some(Backfill { name, slice }) => {
                let Slice { next, n_rows: n_more } = slice(tx, &position)?;
                let n_rows = n_rows + n_more as i64;
                if let Some(next) = next {
                    keep_progress(tx, step, n_done, &next, n_rows)?;
                    return Ok(Turn::Slice(format!("migration {}: {name}, {n_rows} rows so far", step.name)));
                }
                done(&format!("{name}, {n_rows} rows"))
            }
            None => done("nothing was left to do"),
        },
    };
    if n_done + 1 >= n_parts {
        record(tx, step, now)?;
    } else {
        keep_progress(tx, step, n_done + 1, "", 0)?;
    }
    Ok(turn)
}

/// Whether PostgreSQL has an index. An invalid one is removed, to be built again.
fn has_index(tx: &mut Tx<'_>, name: &str, table: &str) -> Result<bool> {
    // The server that builds an index holds this lock until it is done. Readers and writers do not wait for it.
    tx.script(&format!("lock table {table} in share update exclusive mode"))?;
    let sql =
        "select cast(i.indisvalid as int)::bigint from pg_index i join pg_class c on c.oid = i.indexrelid
               join pg_namespace n on n.oid = c.relnamespace
               where c.relname = ?1 and n.nspname = current_schema()";
    let is_valid = tx.row(sql, values![name], |row| row.get::<i64>(0))?;
    if is_valid == Some(0) {
        tx.script(&format!("drop index {name}"))?;
    }
    Ok(is_valid == Some(1))
}

fn keep_progress(tx: &mut Tx<'_>, step: &Step, n_done: usize, position: &str, n_rows: i64) -> Result<()> {
    let sql = "insert into migration_progress (name, part, position, n_rows) values (?1, ?2, ?3, ?4)
               on conflict (name) do update set part = ?2, position = ?3, n_rows = ?4";
    tx.execute(sql, values![step.name, n_done as i64, position, n_rows])?;
    Ok(())
}

fn record(tx: &mut Tx<'_>, step: &Step, now: Time) -> Result<()> {
    tx.execute("delete from migration_progress where name = ?1", values![step.name])?;
    let sql = "insert into migration (name, hash, applied_at) values (?1, ?2, ?3)";
    tx.execute(sql, values![step.name, &hash_of(step), now])?;
    Ok(())
}

fn with_time(sql: &str, now: Time) -> String {
    sql.replace("{now}", &now.microseconds().to_string())
}

fn within(migration: &str, error: Error) -> Error {
    Error { message: format!("migration {migration}: {}", error.message), ..error }
}

/// How the store is opened for an upgrade: exclusively, without a time limit.
pub(super) fn options(options: &Options) -> Options {
    Options { connections: 1, statement_timeout: UNLIMITED, ..options.clone() }
}
