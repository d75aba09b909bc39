//! Whole tables out of PostgreSQL and into it, a part at a time, for backups.

use std::io::Write as _;

use super::Connection;
use super::translate::translate;
use crate::error::{Error, Result};

impl Connection {
    /// Calls `read` with the rows of a query, at most `n_rows` at a time.
    pub(crate) fn read_in_parts(
        &mut self,
        sql: &str,
        n_rows: usize,
        mut read: impl FnMut(&[postgres::Row]) -> Result<()>,
    ) -> Result<()> {
        let told = |error: postgres::Error| translate(&error).0;
        self.client.batch_execute(&format!("declare part no scroll cursor for {sql}")).map_err(told)?;
        let fetch = format!("fetch {n_rows} from part");
        loop {
            let rows = self.client.query_typed(&fetch, &[]).map_err(told)?;
            if rows.is_empty() {
                return self.client.batch_execute("close part").map_err(told);
            }
            read(&rows)?;
        }
    }

    /// Sends lines to a `copy … from stdin` while `fill` returns some, and returns the number of rows.
    pub(crate) fn write_lines(
        &mut self,
        sql: &str,
        mut fill: impl FnMut(&mut String) -> Result<bool>,
    ) -> Result<u64> {
        let told = |error: postgres::Error| translate(&error).0;
        let mut writer = self.client.copy_in(sql).map_err(told)?;
        let mut lines = String::new();
        while fill(&mut lines)? {
            writer.write_all(lines.as_bytes()).map_err(Error::internal)?;
            lines.clear();
        }
        writer.finish().map_err(told)
    }

    /// The single number of a single row.
    pub(crate) fn number(&mut self, sql: &str) -> Result<u64> {
        let row = self.client.query_typed_one(sql, &[]).map_err(|error| translate(&error).0)?;
        Ok(row.get::<_, i64>(0).max(0) as u64)
    }
}
