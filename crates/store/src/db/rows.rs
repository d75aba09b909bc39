//! Inserts many rows: a statement for each on SQLite, one statement with an array for each column on PostgreSQL.

use super::postgres::Array;
use super::sqlite;
use super::tx::{Connection, Tx};
use crate::error::Result;
use crate::value::Value;

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// Text.
    Text,
    /// A whole number.
    Number,
}

/// The inserted columns of a table. A row whose key exists is skipped.
#[derive(Debug)]
pub struct Columns {
    /// The table.
    pub table: &'static str,
    /// The columns, and what they hold.
    pub columns: &'static [(&'static str, Holds)],
}

impl Columns {
    fn names(&self) -> String {
        self.columns.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
    }

    fn insert_on_sqlite(&self) -> String {
        let places: Vec<String> = (1..=self.columns.len()).map(|index| format!("?{index}")).collect();
        let (table, names) = (self.table, self.names());
        format!("insert into {table} ({names}) values ({}) on conflict do nothing", places.join(", "))
    }

    fn insert_on_postgres(&self) -> String {
        let arrays = self.columns.iter().enumerate().map(|(index, (_, holds))| match holds {
            Holds::Text => format!("cast(?{} as text[])", index + 1),
            Holds::Number => format!("cast(?{} as bigint[])", index + 1),
        });
        let arrays: Vec<String> = arrays.collect();
        let (table, names) = (self.table, self.names());
        format!(
            "insert into {table} ({names}) select * from unnest({}) on conflict do nothing",
            arrays.join(", ")
        )
    }
}

/// Rows by column, as `unnest` takes them.
pub(super) struct Rows {
    /// How many there are.
    pub(super) n: usize,
    /// What the columns hold.
    pub(super) columns: Vec<Array>,
}

impl Rows {
    pub(super) fn new(holds: impl IntoIterator<Item = Holds>) -> Rows {
        let array = |holds| match holds {
            Holds::Text => Array::Texts(Vec::new()),
            Holds::Number => Array::Numbers(Vec::new()),
        };
        Rows { n: 0, columns: holds.into_iter().map(array).collect() }
    }

    /// Adds a row and returns its size in bytes of text.
    pub(super) fn push(&mut self, values: &[Value<'_>]) -> usize {
        let mut n_bytes = 0;
        for (column, value) in self.columns.iter_mut().zip(values) {
            match (column, value) {
                (Array::Texts(texts), Value::Text(text)) => {
                    n_bytes += text.len();
                    texts.push(Some((*text).to_owned()));
                }
                (Array::Numbers(numbers), Value::Number(number)) => numbers.push(Some(*number)),
                (Array::Texts(texts), _) => texts.push(None),
                (Array::Numbers(numbers), _) => numbers.push(None),
            }
        }
        self.n += 1;
        n_bytes
    }

    /// The values of a row.
    pub(super) fn row(&self, index: usize) -> Vec<Value<'_>> {
        let values = self.columns.iter().map(|column| match column {
            Array::Texts(texts) => texts[index].as_deref().into(),
            Array::Numbers(numbers) => numbers[index].into(),
        });
        values.collect()
    }

    /// Removes the row whose first column is this text.
    pub(super) fn remove(&mut self, id: &str) {
        let Some(Array::Texts(ids)) = self.columns.first() else { return };
        let Some(place) = ids.iter().rposition(|known| known.as_deref() == Some(id)) else { return };
        for column in &mut self.columns {
            match column {
                Array::Texts(texts) => drop(texts.remove(place)),
                Array::Numbers(numbers) => drop(numbers.remove(place)),
            }
        }
        self.n -= 1;
    }
}

impl Tx<'_> {
    /// Inserts rows with values in the order of the columns, and returns how many are new.
    pub fn insert_rows<'a, R: AsRef<[Value<'a>]>>(
        &mut self,
        into: &'static Columns,
        rows: impl IntoIterator<Item = R>,
    ) -> Result<u64> {
        let result = match &mut self.connection {
            Connection::Sqlite(connection) => {
                let sql = into.insert_on_sqlite();
                rows.into_iter()
                    .try_fold(0, |n_new, row| Ok(n_new + sqlite::execute(connection, &sql, row.as_ref())?))
            }
            Connection::Postgres(connection) => {
                let mut gathered = Rows::new(into.columns.iter().map(|(_, holds)| *holds));
                for row in rows {
                    gathered.push(row.as_ref());
                }
                if gathered.n == 0 {
                    return Ok(0);
                }
                connection.execute_arrays(&into.insert_on_postgres(), &gathered.columns)
            }
        };
        self.noted(result)
    }
}
