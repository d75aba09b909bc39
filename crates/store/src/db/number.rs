//! Reference numbers. A counter row has the next number; it only increases, so that a number is never reused. On
//! PostgreSQL numbers are taken outside the transaction, so that creates do not queue for the row: a transaction that
//! is rolled back leaves a gap.
//!
//! An imported number may be in a block that a server has leased and not used up. These blocks are not known to
//! others, so an insert with a leased number may find it taken, and must take the next one.

use std::ops::Range;

use super::{Connection, Tx};
use crate::error::{Error, ErrorKind, Result};
use crate::values;

impl Tx<'_> {
    /// Takes the next number of a kind in a project. Numbers may be skipped, but are never reused.
    pub fn next_number(&mut self, project_id: &str, kind: &str) -> Result<i64> {
        let leased = self.outside(project_id, |leases| leases.take(project_id, kind))?;
        match leased {
            Some(number) => Ok(number),
            None => Ok(self.count(project_id, kind, 1)?.start),
        }
    }

    /// Takes the next `count` numbers.
    pub fn next_numbers(&mut self, project_id: &str, kind: &str, count: usize) -> Result<Vec<i64>> {
        let leased = self.outside(project_id, |leases| leases.take_many(project_id, kind, count))?;
        match leased {
            Some(numbers) => Ok(numbers),
            None => Ok(self.count(project_id, kind, count as i64)?.collect()),
        }
    }

    /// Ensures that imported numbers up to this one are not assigned from now on.
    pub fn reserve_numbers(&mut self, project_id: &str, kind: &str, last: i64) -> Result<()> {
        let reserved = self.outside(project_id, |leases| leases.reserve(project_id, kind, last))?;
        if reserved.is_some() {
            return Ok(());
        }
        let sql = "insert into counter (project_id, kind, next) values (?1, ?2, cast(?3 as bigint) + 1)
                   on conflict (project_id, kind) do update
                   set next = case when counter.next > ?3 then counter.next else ?3 + 1 end";
        self.execute(sql, values![project_id, kind, last])?;
        Ok(())
    }

    /// Skips the numbers that imported entities have.
    pub fn skip_taken_numbers(&mut self, project_id: &str, kind: &str) -> Result<()> {
        let sql = "select max(number) from entity where project_id = ?1 and kind = ?2";
        let last: Option<i64> = self.row(sql, values![project_id, kind], |row| row.get(0))?.flatten();
        if let Some(last) = last {
            self.reserve_numbers(project_id, kind, last)?;
        }
        if let Connection::Postgres(connection) = &self.connection {
            connection.leases().give_up(project_id, kind);
        }
        Ok(())
    }

    /// Takes numbers inside the transaction from now on, so that a rollback returns them: for dry runs.
    pub fn count_inside(&mut self) {
        self.counts_inside = true;
    }

    /// Takes leased numbers. None if numbers are to be counted inside this transaction: on SQLite, behind a
    /// pooler, in a dry run, and in a project that this transaction has created.
    fn outside<T>(
        &mut self,
        project_id: &str,
        ask: impl FnOnce(&super::postgres::Leases) -> super::postgres::Outcome<T>,
    ) -> Result<Option<T>> {
        let Connection::Postgres(connection) = &mut self.connection else { return Ok(None) };
        // Once counted inside, always: the other connection would wait for our own row.
        if !connection.leases().are_available()
            || self.counts_inside
            || self.own_projects.iter().any(|own| own == project_id)
        {
            return Ok(None);
        }
        match ask(connection.leases()) {
            Ok(answer) => Ok(Some(answer)),
            Err((error, _)) if error.kind == ErrorKind::Referenced => {
                self.own_projects.push(project_id.to_owned());
                Ok(None)
            }
            Err(failed) => self.noted(Err(failed)),
        }
    }

    fn count(&mut self, project_id: &str, kind: &str, count: i64) -> Result<Range<i64>> {
        let sql = "insert into counter (project_id, kind, next) values (?1, ?2, cast(?3 as bigint) + 1)
                   on conflict (project_id, kind) do update set next = counter.next + ?3 returning next";
        let next: Option<i64> = self.row(sql, values![project_id, kind, count], |row| row.get(0))?;
        let next = next.ok_or_else(|| Error::internal("an upsert returns a row"))?;
        Ok(next - count..next)
    }
}
