//! One dialect, two engines. [`Store`] runs closures in transactions on SQLite or PostgreSQL; [`Tx`] is what they query.
//!
//! The dialect: columns are `text` or `bigint`, parameters `?1`, statements `&'static str` or a [`Shape`] of such parts, so that
//! none can be assembled from input. A closure may run more than once (a lost race is retried), so it has no effect but its queries. Results
//! are handed to a callback and not returned, because callers may be asynchronous and the store is not.

mod cancel;
mod gathered;
mod job;
mod location;
mod number;
mod open;
mod postgres;
mod queue;
#[cfg(test)]
pub(crate) mod seen;
mod shape;
mod signal;
mod sqlite;

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use crate::search;
use crate::value::{Row, Value};

pub use self::cancel::Cancel;
use self::gathered::Gathered;
use self::job::{Job, Task};
pub use self::location::Location;
pub(crate) use self::open::WeakStore;
pub use self::shape::Shape;
use self::signal::Signal;
pub(crate) use self::sqlite::told as translate_sqlite;

/// How a closure uses the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// A few reads by key, each seeing what is committed when it runs. On SQLite they run on the calling thread.
    Point,
    /// Reads that see one state from beginning to end.
    Snapshot,
    /// Like `Snapshot`, but made of many short statements: what limits the time of one does not limit the call.
    LongSnapshot,
    /// Bookkeeping writes that publish no change: last use of tokens, sessions, probes.
    Aside,
    /// Writes, guarded by versions and constraints, and by [`Tx::lock`] where an invariant spans rows.
    Write,
    /// Like `Write`, but long: nobody else's write waits for the same commit.
    Long,
}

/// What can be chosen when a store is opened.
#[derive(Clone, Debug)]
pub struct Options {
    /// Threads that work on the database, each with a connection.
    pub connections: usize,
    /// How long one statement may take.
    pub statement_timeout: Duration,
    /// How long a call waits for a database that is away.
    pub wait_max: Duration,
    /// A file with a certificate that signs PostgreSQL's, beside those the system trusts.
    pub certificate_authority: Option<PathBuf>,
    /// Receives a line of text at each step of an upgrade.
    pub notice: fn(&str),
    /// The URL to listen for changes on, where the store itself is behind a pooler.
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

/// An open store. Cloning is cheap; the last clone to go closes it after what waits has run.
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
    /// Opens a store without looking at its schema.
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

    /// Whether every call travels to another process, so that two calls cost twice as much as one.
    pub fn is_remote(&self) -> bool {
        matches!(*self.engine, Engine::Postgres(_))
    }

    /// Runs `body` in a transaction and hands its result to `done`, on whatever thread it ran. What `body` wrote stays
    /// when it returned `Ok`, and then `done` is called after the commit.
    pub fn run<T, E, B, D>(&self, mode: Mode, body: B, done: D)
    where
        T: Send + 'static,
        E: From<Error> + Send + 'static,
        B: FnMut(&mut Tx<'_>) -> Result<T, E> + Send + 'static,
        D: FnOnce(Result<T, E>) + Send + 'static,
    {
        self.run_unless(None, mode, body, done);
    }

    /// Like [`Store::run`], as long as somebody waits for it.
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

    /// Like [`Store::run`], and waits for the result. Not for asynchronous callers.
    pub fn wait<T, E, B>(&self, mode: Mode, body: B) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<Error> + Send + 'static,
        B: FnMut(&mut Tx<'_>) -> Result<T, E> + Send + 'static,
    {
        let (sender, receiver) = mpsc::sync_channel(1);
        self.run(mode, body, move |result| {
            // A receiver that is gone has nobody to tell.
            let _ = sender.send(result);
        });
        receiver.recv().unwrap_or_else(|_| Err(Error::internal("the store dropped a call").into()))
    }

    /// Calls `listener`, which must be quick, whenever something has probably changed: after a commit of this process,
    /// and on PostgreSQL after one of any other. Another process that writes the same SQLite file is not heard.
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

    /// Says that a look into the file has found damage.
    pub fn note_damage(&self) {
        if let Engine::Sqlite(engine) = &*self.engine {
            engine.damage().store(true, Ordering::Relaxed);
        }
    }

    /// Says that the file was checked and is whole, perhaps because a backup was restored into it.
    pub fn note_mended(&self) {
        if let Engine::Sqlite(engine) = &*self.engine {
            engine.damage().store(false, Ordering::Relaxed);
        }
    }

    /// How many calls wait for a thread, for the metrics.
    pub fn waiting(&self) -> usize {
        match &*self.engine {
            Engine::Sqlite(engine) => engine.waiting(),
            Engine::Postgres(engine) => engine.waiting(),
        }
    }

    /// How many threads with a connection there are, for the metrics.
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

    /// Runs what PostgreSQL refuses in a transaction, on a connection of its own. SQLite has nothing of the kind.
    pub(crate) fn run_outside_transaction(&self, sql: &str) -> Result<()> {
        match &*self.engine {
            Engine::Sqlite(_) => Err(Error::internal("SQLite runs everything in transactions")),
            Engine::Postgres(engine) => engine.run_outside_transaction(sql),
        }
    }

    pub(crate) fn sqlite_path(&self) -> Option<&Path> {
        match &*self.engine {
            Engine::Sqlite(engine) => Some(engine.path()),
            Engine::Postgres(_) => None,
        }
    }
}

/// A transaction that is open, or for [`Mode::Point`] a connection.
pub struct Tx<'a> {
    connection: Connection<'a>,
    failure: Option<Failure>,
    /// The last error of a statement, whatever the closure made of it.
    error: Option<Error>,
    /// Projects that this transaction has made, whose numbers are counted inside it.
    own_projects: Vec<String>,
    counts_inside: bool,
    /// Whether others will want to know what this transaction did.
    has_changed: bool,
    /// Whether this transaction has erased text that must not stay on the disk.
    has_erased: bool,
    /// What is still to be written, on PostgreSQL.
    gathered: Gathered,
}

impl<'a> Tx<'a> {
    fn new(connection: Connection<'a>) -> Tx<'a> {
        Tx {
            connection,
            failure: None,
            error: None,
            own_projects: Vec::new(),
            counts_inside: false,
            has_changed: false,
            has_erased: false,
            gathered: Gathered::default(),
        }
    }
}

enum Connection<'a> {
    Sqlite(&'a rusqlite::Connection),
    Postgres(&'a mut postgres::Connection),
}

/// What went wrong below a closure, whatever it made of the error.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Failure {
    /// Another transaction won; the same may succeed at the next attempt.
    LostRace,
    /// The connection is gone.
    Disconnected,
    /// The server cannot be written to, perhaps because another one has taken its place.
    ReadOnly,
}

impl Tx<'_> {
    /// All rows of a query.
    pub fn rows<T>(
        &mut self,
        sql: &'static str,
        values: &[Value<'_>],
        mut read: impl FnMut(&Row<'_>) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut found = Vec::new();
        self.each(sql, values, |row| {
            found.push(read(row)?);
            Ok(())
        })?;
        Ok(found)
    }

    /// All rows of a query that was put together.
    pub fn shaped_rows<T>(
        &mut self,
        shape: &Shape<'_>,
        mut read: impl FnMut(&Row<'_>) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut found = Vec::new();
        self.query(shape.text(), shape.values(), |row| {
            found.push(read(row)?);
            Ok(())
        })?;
        Ok(found)
    }

    /// The first row of a query.
    pub fn row<T>(
        &mut self,
        sql: &'static str,
        values: &[Value<'_>],
        mut read: impl FnMut(&Row<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        let mut found = None;
        self.each(sql, values, |row| {
            if found.is_none() {
                found = Some(read(row)?);
            }
            Ok(())
        })?;
        Ok(found)
    }

    /// Hands every row of a query to `read`, without gathering them.
    pub fn each(
        &mut self,
        sql: &'static str,
        values: &[Value<'_>],
        read: impl FnMut(&Row<'_>) -> Result<()>,
    ) -> Result<()> {
        self.query(sql, values, read)
    }

    fn query(
        &mut self,
        sql: &str,
        values: &[Value<'_>],
        read: impl FnMut(&Row<'_>) -> Result<()>,
    ) -> Result<()> {
        self.write_before(sql)?;
        #[cfg(test)]
        seen::note(sql);
        let result = match &mut self.connection {
            Connection::Sqlite(connection) => sqlite::each(connection, sql, values, read),
            Connection::Postgres(connection) => connection.each(sql, values, read),
        };
        self.noted(result)
    }

    /// Runs a statement and returns how many rows it changed.
    pub fn execute(&mut self, sql: &'static str, values: &[Value<'_>]) -> Result<u64> {
        self.run_statement(sql, values)
    }

    fn run_statement(&mut self, sql: &str, values: &[Value<'_>]) -> Result<u64> {
        self.write_before(sql)?;
        #[cfg(test)]
        seen::note(sql);
        let result = match &mut self.connection {
            Connection::Sqlite(connection) => sqlite::execute(connection, sql, values),
            Connection::Postgres(connection) => connection.execute(sql, values),
        };
        self.noted(result)
    }

    /// Runs a statement that was put together, and returns how many rows it changed.
    pub fn execute_shaped(&mut self, shape: &Shape<'_>) -> Result<u64> {
        self.run_statement(shape.text(), shape.values())
    }

    /// Runs `body`, and undoes what it wrote when it fails, while the transaction goes on.
    pub fn savepoint<T, E: From<Error>>(
        &mut self,
        body: impl FnOnce(&mut Self) -> Result<T, E>,
    ) -> Result<T, E> {
        // What is gathered from here on goes with the savepoint, what was gathered before does not.
        self.write_gathered()?;
        self.script("savepoint inner_part")?;
        match body(self).and_then(|value| self.write_gathered().map(|()| value).map_err(E::from)) {
            Ok(value) => {
                self.script("release inner_part")?;
                Ok(value)
            }
            Err(error) => {
                self.gathered = Gathered::default();
                // A connection that is gone has undone it already; the first error says more.
                if self.failure.is_none() {
                    self.script("rollback to inner_part; release inner_part")?;
                }
                Err(error)
            }
        }
    }

    /// Waits until no other transaction holds the lock of this name, and holds it until the commit: what is read from now on
    /// stays true until then, as long as everybody who changes it takes the same lock. SQLite has one writer, and needs no
    /// locks.
    pub fn lock(&mut self, name: &str) -> Result<()> {
        self.advisory_lock("select pg_advisory_xact_lock(hashtextextended(?1, 0))", name)
    }

    /// Like [`Tx::lock`], beside others who share it.
    pub fn lock_shared(&mut self, name: &str) -> Result<()> {
        self.advisory_lock("select pg_advisory_xact_lock_shared(hashtextextended(?1, 0))", name)
    }

    fn advisory_lock(&mut self, sql: &'static str, name: &str) -> Result<()> {
        if self.is_postgres() {
            self.each(sql, &[Value::Text(name)], |_| Ok(()))?;
        }
        Ok(())
    }

    /// Says that another transaction was faster than what this one has read: PostgreSQL undoes this one and runs it again.
    /// SQLite has one writer, so nothing can be different the next time.
    pub fn lose_race(&mut self) {
        if self.is_postgres() {
            self.failure = self.failure.or(Some(Failure::LostRace));
        }
    }

    /// Says that the caller decides whether and when this transaction runs again, if it has lost a race.
    pub(crate) fn leave_retry_to_caller(&mut self) {
        self.failure = self.failure.filter(|failure| *failure != Failure::LostRace);
    }

    /// Says that others will want to know of this transaction once it is committed.
    pub(crate) fn note_change(&mut self) {
        self.has_changed = true;
    }

    /// Says that this transaction has erased text for good. On SQLite it is then removed from the journal before the answer.
    pub fn note_erased(&mut self) {
        self.has_erased = true;
    }

    /// The number of this transaction, in which others see its changes become visible.
    pub fn transaction_number(&mut self) -> Result<i64> {
        if self.is_postgres() {
            let sql = "select cast(cast(pg_current_xact_id() as text) as bigint)";
            return Ok(self.row(sql, &[], |row| row.get(0))?.unwrap_or_default());
        }
        Ok(0)
    }

    /// The number before which every transaction that may note a change has ended.
    pub fn oldest_open_transaction(&mut self) -> Result<i64> {
        if self.is_postgres() {
            return Ok(self.row(postgres::OLDEST_OPEN_WRITER, &[], |row| row.get(0))?.unwrap_or_default());
        }
        // SQLite has one writer, so sequence order is commit order.
        Ok(i64::MAX)
    }

    /// Writes a revision and its change, now or with others before the commit. False on SQLite, where nothing is gathered.
    pub(crate) fn gather_revision(
        &mut self,
        values: &[Value<'_>; gathered::REVISION_COLUMNS],
    ) -> Result<bool> {
        self.gather(|gathered| gathered.add_revision(values))
    }

    /// Writes a search document, now or with others before the commit. False on SQLite, where nothing is gathered.
    pub(crate) fn gather_document(
        &mut self,
        values: &[Value<'_>; gathered::DOCUMENT_COLUMNS],
    ) -> Result<bool> {
        self.gather(|gathered| gathered.add_document(values))
    }

    fn gather(&mut self, add: impl FnOnce(&mut Gathered)) -> Result<bool> {
        if !self.is_postgres() {
            return Ok(false);
        }
        add(&mut self.gathered);
        if self.gathered.is_full() {
            self.write_gathered()?;
        }
        Ok(true)
    }

    /// Writes what was gathered if a statement might read it.
    fn write_before(&mut self, sql: &str) -> Result<()> {
        if self.gathered.concerns(sql) { self.write_gathered() } else { Ok(()) }
    }

    fn write_gathered(&mut self) -> Result<()> {
        if self.gathered.is_empty() {
            return Ok(());
        }
        let gathered = std::mem::take(&mut self.gathered);
        let result = match &mut self.connection {
            Connection::Sqlite(_) => Ok(()),
            Connection::Postgres(connection) => gathered.write(connection),
        };
        self.noted(result)
    }

    /// Runs several statements without parameters.
    pub(crate) fn script(&mut self, sql: &str) -> Result<()> {
        self.write_before(sql)?;
        let result = match &mut self.connection {
            Connection::Sqlite(connection) => sqlite::script(connection, sql),
            Connection::Postgres(connection) => connection.script(sql),
        };
        self.noted(result)
    }

    /// Numbers or ids as one parameter: an array of JSON for `json_each` on SQLite, and what `string_to_array` splits at
    /// commas on PostgreSQL.
    pub(crate) fn list(&self, items: impl IntoIterator<Item = impl std::fmt::Display>) -> String {
        let quote = if self.is_postgres() { "" } else { "\"" };
        let items: Vec<String> = items.into_iter().map(|item| format!("{quote}{item}{quote}")).collect();
        if self.is_postgres() { items.join(",") } else { format!("[{}]", items.join(",")) }
    }

    /// The connection itself, for what only PostgreSQL has.
    pub(crate) fn postgres(&mut self) -> Result<&mut postgres::Connection> {
        self.write_gathered()?;
        match &mut self.connection {
            Connection::Postgres(connection) => Ok(connection),
            Connection::Sqlite(_) => Err(Error::internal("the store is not on PostgreSQL")),
        }
    }

    pub(crate) fn is_postgres(&self) -> bool {
        matches!(self.connection, Connection::Postgres(_))
    }

    fn noted<T>(&mut self, result: std::result::Result<T, (Error, Option<Failure>)>) -> Result<T> {
        result.map_err(|(error, failure)| {
            self.failure = self.failure.or(failure);
            self.error = Some(error.clone());
            error
        })
    }
}
