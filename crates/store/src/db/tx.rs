//! A transaction: statements of the common dialect, locks, savepoints, and gathered writes.

use super::gathered::{self, Gathered};
#[cfg(test)]
use super::seen;
use super::shape::Shape;
use super::{postgres, sqlite};
use crate::error::{Error, Result};
use crate::value::{Row, Value};

/// An open transaction, or for [`Mode::Point`] a connection.
pub struct Tx<'a> {
    pub(super) connection: Connection<'a>,
    pub(super) failure: Option<Failure>,
    /// The last error of a statement, even if the closure ignored it.
    pub(super) error: Option<Error>,
    /// Projects that this transaction has created, whose numbers are counted inside it.
    pub(super) own_projects: Vec<String>,
    pub(super) counts_inside: bool,
    /// Whether this transaction needs a notification.
    pub(super) has_changed: bool,
    /// Whether this transaction has erased text that must not stay on the disk.
    pub(super) has_erased: bool,
    /// What is still to be written.
    gathered: Gathered,
}

impl<'a> Tx<'a> {
    pub(super) fn new(connection: Connection<'a>) -> Tx<'a> {
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

/// Takes a row of an answer.
pub(super) type ReadRow<'a> = dyn FnMut(&Row<'_>) -> Result<()> + 'a;

pub(super) enum Connection<'a> {
    Sqlite(&'a rusqlite::Connection),
    Postgres(&'a mut postgres::Connection),
}

/// A failure of a statement, even if the closure ignored it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Failure {
    /// Another transaction won; a retry may succeed.
    LostRace,
    /// The connection is lost.
    Disconnected,
    /// The server is read-only, perhaps because another one has replaced it.
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

    /// All rows of a composed query.
    pub fn shaped_rows<T>(
        &mut self,
        shape: &Shape<'_>,
        mut read: impl FnMut(&Row<'_>) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut found = Vec::new();
        self.query(shape.text(), shape.values(), &mut |row| {
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

    /// Calls `read` with every row of a query, without collecting them.
    pub fn each(
        &mut self,
        sql: &'static str,
        values: &[Value<'_>],
        mut read: impl FnMut(&Row<'_>) -> Result<()>,
    ) -> Result<()> {
        self.query(sql, values, &mut read)
    }

    /// Not generic: what talks to the databases is compiled once and not for each of hundreds of queries.
    fn query(&mut self, sql: &str, values: &[Value<'_>], read: &mut ReadRow<'_>) -> Result<()> {
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

    /// Runs a composed statement and returns the number of changed rows.
    pub fn execute_shaped(&mut self, shape: &Shape<'_>) -> Result<u64> {
        self.run_statement(shape.text(), shape.values())
    }

    /// Runs `body`, and rolls back its writes if it fails, while the transaction continues.
    pub fn savepoint<T, E: From<Error>>(
        &mut self,
        body: impl FnOnce(&mut Self) -> Result<T, E>,
    ) -> Result<T, E> {
        // What is gathered from here on belongs to the savepoint.
        self.write_gathered()?;
        self.script("savepoint inner_part")?;
        match body(self).and_then(|value| self.write_gathered().map(|()| value).map_err(E::from)) {
            Ok(value) => {
                self.script("release inner_part")?;
                Ok(value)
            }
            Err(error) => {
                self.gathered = Gathered::default();
                // A lost connection has rolled back already; the first error is more useful.
                if self.failure.is_none() {
                    self.script("rollback to inner_part; release inner_part")?;
                }
                Err(error)
            }
        }
    }

    /// Waits for the lock with this name, and holds it until the commit: what is read from now on
    /// stays true until then, if every writer of it takes the same lock. SQLite has one writer, and needs no
    /// locks.
    pub fn lock(&mut self, name: &str) -> Result<()> {
        self.advisory_lock("select pg_advisory_xact_lock(hashtextextended(?1, 0))", name)
    }

    /// Like [`Tx::lock`], in shared mode.
    pub fn lock_shared(&mut self, name: &str) -> Result<()> {
        self.advisory_lock("select pg_advisory_xact_lock_shared(hashtextextended(?1, 0))", name)
    }

    fn advisory_lock(&mut self, sql: &'static str, name: &str) -> Result<()> {
        if self.is_postgres() {
            self.each(sql, &[Value::Text(name)], |_| Ok(()))?;
        }
        Ok(())
    }

    /// Reports that another transaction has changed what this one has read: PostgreSQL rolls this one back and retries it.
    /// SQLite has one writer, so a retry would not differ.
    pub fn lose_race(&mut self) {
        if self.is_postgres() {
            self.failure = self.failure.or(Some(Failure::LostRace));
        }
    }

    /// Lets the caller decide whether and when this transaction is retried after a lost race.
    pub(crate) fn leave_retry_to_caller(&mut self) {
        self.failure = self.failure.filter(|failure| *failure != Failure::LostRace);
    }

    /// Marks that this transaction needs a notification after its commit.
    pub(crate) fn note_change(&mut self) {
        self.has_changed = true;
    }

    /// Marks that this transaction has erased text permanently. On SQLite it is then removed from the journal before the answer.
    pub fn note_erased(&mut self) {
        self.has_erased = true;
    }

    /// The number of this transaction, at which its changes become visible to others.
    pub fn transaction_number(&mut self) -> Result<i64> {
        if self.is_postgres() {
            let sql = "select cast(cast(pg_current_xact_id() as text) as bigint)";
            return Ok(self.row(sql, &[], |row| row.get(0))?.unwrap_or_default());
        }
        Ok(0)
    }

    /// The number before which every transaction that may record a change has ended.
    pub fn oldest_open_transaction(&mut self) -> Result<i64> {
        if self.is_postgres() {
            return Ok(self.row(postgres::OLDEST_OPEN_WRITER, &[], |row| row.get(0))?.unwrap_or_default());
        }
        // SQLite has one writer, so sequence order is commit order.
        Ok(i64::MAX)
    }

    /// Writes a revision and its change, now or with others before the commit.
    pub(crate) fn gather_revision(&mut self, values: &[Value<'_>; gathered::REVISION_COLUMNS]) -> Result<()> {
        self.gathered.add_revision(values);
        self.write_if_many()
    }

    /// Writes a search document, now or with others before the commit.
    pub(crate) fn gather_document(&mut self, values: &[Value<'_>; gathered::DOCUMENT_COLUMNS]) -> Result<()> {
        self.gathered.add_document(values);
        self.write_if_many()
    }

    fn write_if_many(&mut self) -> Result<()> {
        if self.gathered.is_full() { self.write_gathered() } else { Ok(()) }
    }

    /// Writes gathered rows if a statement might read them.
    fn write_before(&mut self, sql: &str) -> Result<()> {
        if self.gathered.concerns(sql) { self.write_gathered() } else { Ok(()) }
    }

    pub(super) fn write_gathered(&mut self) -> Result<()> {
        if self.gathered.is_empty() {
            return Ok(());
        }
        let gathered = std::mem::take(&mut self.gathered);
        let result = match &mut self.connection {
            Connection::Sqlite(connection) => gathered.write_to_sqlite(connection),
            Connection::Postgres(connection) => gathered.write_to_postgres(connection),
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

    /// Lets PostgreSQL cache one plan for each statement from here on, whatever its values. By default it plans again for each list
    /// of one id, which takes longer than most lookups.
    pub fn plan_once(&mut self) -> Result<()> {
        match self.is_postgres() {
            true => self.script("set local plan_cache_mode = force_generic_plan"),
            false => Ok(()),
        }
    }

    /// Numbers or ids as one parameter: a JSON array for `json_each` on SQLite, and text for `string_to_array` with commas
    /// on PostgreSQL. There it is read as rows, by `in (select unnest(…))`: before a table has statistics, `= any(…)` is
    /// planned as a filter, which splits the list again for each row of the table.
    pub(crate) fn list(&self, items: impl IntoIterator<Item = impl std::fmt::Display>) -> String {
        let quote = if self.is_postgres() { "" } else { "\"" };
        let items: Vec<String> = items.into_iter().map(|item| format!("{quote}{item}{quote}")).collect();
        if self.is_postgres() { items.join(",") } else { format!("[{}]", items.join(",")) }
    }

    /// The connection itself, for features of PostgreSQL.
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

    pub(super) fn noted<T>(&mut self, result: std::result::Result<T, (Error, Option<Failure>)>) -> Result<T> {
        result.map_err(|(error, failure)| {
            self.failure = self.failure.or(failure);
            self.error = Some(error.clone());
            error
        })
    }
}
