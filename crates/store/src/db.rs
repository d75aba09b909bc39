//! One dialect, two engines. [`Store`] runs closures in transactions on SQLite or PostgreSQL; [`Tx`] is what they query.
//!
//! The dialect: columns are `text` or `bigint`, parameters `?1`, statements `&'static str` or a [`Shape`] of such parts, so that
//! none can be assembled from input. A closure may run more than once (a lost race is retried), so it must have no effects but
//! its queries. Results
//! are passed to a callback and not returned, because callers may be asynchronous and the store is not.

mod cancel;
mod gathered;
mod job;
mod location;
mod number;
mod open;
mod postgres;
mod queue;
mod rows;
#[cfg(test)]
pub(crate) mod seen;
mod shape;
mod signal;
mod sqlite;
mod tx;

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use crate::search;

pub use self::cancel::Cancel;
use self::job::{Job, Task};
pub use self::location::Location;
pub(crate) use self::open::WeakStore;
pub use self::rows::{Columns, Holds};
pub use self::shape::Shape;
use self::signal::Signal;
pub(crate) use self::sqlite::told as translate_sqlite;
pub use self::tx::Tx;
use self::tx::{Connection, Failure};

/// How a closure uses the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// A few reads by key, each seeing what is committed when it runs. On SQLite they run on the calling thread.
    Point,
    /// Reads that see one consistent state.
    Snapshot,
    /// Like `Snapshot`, but of many short statements: the time limit applies to each statement, not to the call.
    LongSnapshot,
    /// Bookkeeping writes that publish no change: last use of tokens, sessions, probes.
    Aside,
    /// Writes, guarded by versions and constraints, and by [`Tx::lock`] where an invariant spans rows.
    Write,
    /// Like `Write`, but long: no other write shares its commit.
    Long,
}

/// Options for opening a store.
#[derive(Clone, Debug)]
pub struct Options {
    /// The number of threads that work on the database, each with a connection.
    pub connections: usize,
    /// How long one statement may take.
    pub statement_timeout: Duration,
    /// How long a call waits for an unreachable database.
    pub wait_max: Duration,
    /// A file with a certificate authority for PostgreSQL, in addition to the system's.
    pub certificate_authority: Option<PathBuf>,
    /// Receives a line of text at each step of an upgrade.
    pub notice: fn(&str),
    /// The URL to listen for changes on, if the store itself is behind a pooler.
    pub listen_url: Option<String>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            connections: 16,
            statement_timeout: Duration::from_secs(30),
            wait_max: Duration::from_secs(10),
            certificate_authority: None,
            notice: |_| {},
            listen_url: None,
        }
    }
}

/// An open store. Cloning is cheap; dropping the last clone closes it after the waiting calls have run.
#[derive(Clone)]
pub struct Store {
    engine: Arc<Engine>,
    options: Options,
    signal: Arc<Signal>,
}

enum Engine {
    Sqlite(sqlite::Engine),
    Postgres(postgres::Engine),
}

impl Store {
    /// Opens a store without checking its schema.
    pub fn open_as_it_is(location: &Location, options: Options) -> Result<Store> {
        let signal = Arc::new(Signal::default());
        let engine = match location {
            Location::Sqlite(path) => {
                Engine::Sqlite(sqlite::Engine::open(path, &options, signal.clone(), search::tidy_some)?)
            }
            Location::Postgres(url) => {
                Engine::Postgres(postgres::Engine::open(url, &options, signal.clone())?)
            }
        };
        Ok(Store { engine: Arc::new(engine), options, signal })
    }

    /// The name of the engine, for people.
    pub fn engine_name(&self) -> &'static str {
        match *self.engine {
            Engine::Sqlite(_) => "SQLite",
            Engine::Postgres(_) => "PostgreSQL",
        }
    }

    /// Whether every call is a round trip to another process, so that two calls cost twice as much as one.
    pub fn is_remote(&self) -> bool {
        matches!(*self.engine, Engine::Postgres(_))
    }

    /// Runs `body` in a transaction and passes its result to `done`, on whatever thread it ran. The writes of `body` are
    /// committed if it returned `Ok`, and then `done` is called after the commit.
    pub fn run<T, E, B, D>(&self, mode: Mode, body: B, done: D)
    where
        T: Send + 'static,
        E: From<Error> + Send + 'static,
        B: FnMut(&mut Tx<'_>) -> Result<T, E> + Send + 'static,
        D: FnOnce(Result<T, E>) + Send + 'static,
    {
        self.run_unless(None, mode, body, done);
    }

    /// Like [`Store::run`], unless it is cancelled before.
    pub fn run_unless<T, E, B, D>(&self, cancelled: Option<Cancel>, mode: Mode, body: B, done: D)
    where
        T: Send + 'static,
        E: From<Error> + Send + 'static,
        B: FnMut(&mut Tx<'_>) -> Result<T, E> + Send + 'static,
        D: FnOnce(Result<T, E>) + Send + 'static,
    {
        let task = Task::new(mode, Instant::now() + self.options.wait_max, cancelled, body, done);
        self.submit(Box::new(task));
    }

    /// Like [`Store::run`], but waits for the result. Not for asynchronous callers.
    pub fn wait<T, E, B>(&self, mode: Mode, body: B) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<Error> + Send + 'static,
        B: FnMut(&mut Tx<'_>) -> Result<T, E> + Send + 'static,
    {
        let (sender, receiver) = mpsc::sync_channel(1);
        self.run(mode, body, move |result| {
            // If the receiver is dropped, nobody needs the result.
            let _ = sender.send(result);
        });
        receiver.recv().unwrap_or_else(|_| Err(Error::internal("the store dropped a call").into()))
    }

    /// Calls `listener`, which must be fast, whenever something may have changed: after a commit of this process,
    /// and on PostgreSQL after one of any other. Writes of other processes to the same SQLite file are not signalled.
    pub fn on_change(&self, listener: impl Fn() + Send + Sync + 'static) -> Result<()> {
        self.signal.add(Box::new(listener));
        match &*self.engine {
            Engine::Sqlite(_) => Ok(()),
            Engine::Postgres(engine) => engine.listen(),
        }
    }

    /// Whether damage in the file is known. It stays so until [`Store::note_mended`].
    pub fn is_damaged(&self) -> bool {
        match &*self.engine {
            Engine::Sqlite(engine) => engine.damage().load(Ordering::Relaxed),
            Engine::Postgres(_) => false,
        }
    }

    /// Records that a check of the file has found damage.
    pub fn note_damage(&self) {
        if let Engine::Sqlite(engine) = &*self.engine {
            engine.damage().store(true, Ordering::Relaxed);
        }
    }

    /// Records that the file was checked and is intact, perhaps because a backup was restored into it.
    pub fn note_mended(&self) {
        if let Engine::Sqlite(engine) = &*self.engine {
            engine.damage().store(false, Ordering::Relaxed);
        }
    }

    /// The number of waiting calls, for the metrics.
    pub fn waiting(&self) -> usize {
        match &*self.engine {
            Engine::Sqlite(engine) => engine.waiting(),
            Engine::Postgres(engine) => engine.waiting(),
        }
    }

    /// The number of threads with a connection, for the metrics.
    pub fn connections(&self) -> usize {
        self.options.connections
    }

    fn submit(&self, job: Box<dyn Job>) {
        match &*self.engine {
            Engine::Sqlite(engine) => engine.submit(job),
            Engine::Postgres(engine) => engine.submit(job),
        }
    }

    pub(crate) fn options(&self) -> &Options {
        &self.options
    }

    /// Runs a statement that PostgreSQL rejects in a transaction, on a separate connection. Not needed for SQLite.
    pub(crate) fn run_outside_transaction(&self, sql: &str) -> Result<()> {
        match &*self.engine {
            Engine::Sqlite(_) => Err(Error::internal("SQLite runs everything in transactions")),
            Engine::Postgres(engine) => engine.run_outside_transaction(sql),
        }
    }

    /// Hands to `done` the first damage that is in the file; nothing on PostgreSQL, which looks after itself.
    pub(crate) fn look_through(
        &self,
        done: impl FnOnce(Result<Option<String>>) + Send + 'static,
    ) -> Result<()> {
        match &*self.engine {
            Engine::Sqlite(engine) => engine.look_through(done),
            Engine::Postgres(_) => Ok(()),
        }
    }

    pub(crate) fn sqlite_path(&self) -> Option<&Path> {
        match &*self.engine {
            Engine::Sqlite(engine) => Some(engine.path()),
            Engine::Postgres(_) => None,
        }
    }
}
