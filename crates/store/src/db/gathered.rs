//! Rows that every write adds: a revision, a change for listeners, and a search document.
//! Nothing in a transaction depends on when they are written, so it gathers them and writes many at a time: before the commit,
//! and before any statement that names their tables. PostgreSQL takes them with one statement. SQLite's index of terms keeps
//! what follows each other in memory, where any other statement in between makes it write a part of its own.

mod postgres;
mod sqlite;

use super::rows::{Holds, Rows};
use crate::value::Value;

/// How many rows, or how many bytes of text, are written at once.
const ROWS_MAX: usize = 250;
const BYTES_MAX: usize = 1 << 20;

/// Statements that use one of the tables contain one of these texts.
const TABLES: [&str; 3] = ["revision", "change", "search_"];

/// The number of columns per table.
pub(super) const REVISION_COLUMNS: usize = 14;
pub(super) const DOCUMENT_COLUMNS: usize = 12;

/// Rows that are still to be written.
pub(super) struct Gathered {
    revisions: Rows,
    documents: Rows,
    n_bytes: usize,
}

impl Default for Gathered {
    fn default() -> Self {
        use Holds::{Number as N, Text as T};
        Gathered {
            revisions: Rows::new([T, T, T, T, N, T, T, T, T, T, N, T, T, T]),
            documents: Rows::new([T, T, N, N, N, T, T, T, T, T, T, T]),
            n_bytes: 0,
        }
    }
}

impl Gathered {
    /// Adds a revision and its change. Values are in the order of the statement below.
    pub(super) fn add_revision(&mut self, values: &[Value<'_>; REVISION_COLUMNS]) {
        self.n_bytes += self.revisions.push(values);
    }

    /// Adds a document, replacing an earlier one with its id.
    pub(super) fn add_document(&mut self, values: &[Value<'_>; DOCUMENT_COLUMNS]) {
        if let Value::Text(id) = values[0] {
            self.documents.remove(id);
        }
        self.n_bytes += self.documents.push(values);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.revisions.n == 0 && self.documents.n == 0
    }

    /// Whether there are so many rows that they should be written now.
    pub(super) fn is_full(&self) -> bool {
        self.revisions.n.max(self.documents.n) >= ROWS_MAX || self.n_bytes >= BYTES_MAX
    }

    /// Whether a statement may read or change gathered rows.
    pub(super) fn concerns(&self, sql: &str) -> bool {
        !self.is_empty() && TABLES.iter().any(|table| sql.contains(table))
    }
}
