//! Parameters of statements and rows of results: text and whole numbers, nothing else.

use crate::error::{Error, Result};
use crate::model::Time;

/// A parameter of a statement.
#[derive(Clone, Copy, Debug)]
pub enum Value<'a> {
    /// No value.
    Null,
    /// A whole number, a flag or a time.
    Number(i64),
    /// Text.
    Text(&'a str),
    /// Several texts, stored as a JSON array; null if there are none.
    List(&'a [String]),
}

impl Value<'_> {
    /// The array of a list that is not empty.
    pub(crate) fn array(texts: &[String]) -> Option<String> {
        // Texts can always be serialized.
        (!texts.is_empty()).then(|| serde_json::to_string(texts).unwrap_or_default())
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Value::Text(text)
    }
}

impl<'a> From<&'a String> for Value<'a> {
    fn from(text: &'a String) -> Self {
        Value::Text(text)
    }
}

impl From<i64> for Value<'_> {
    fn from(number: i64) -> Self {
        Value::Number(number)
    }
}

impl From<bool> for Value<'_> {
    fn from(flag: bool) -> Self {
        Value::Number(i64::from(flag))
    }
}

impl From<Time> for Value<'_> {
    fn from(time: Time) -> Self {
        Value::Number(time.microseconds())
    }
}

impl<'a, T: Into<Value<'a>>> From<Option<T>> for Value<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Value::Null, Into::into)
    }
}

impl<'a> From<&'a Option<String>> for Value<'a> {
    fn from(value: &'a Option<String>) -> Self {
        value.as_deref().into()
    }
}

/// Creates the parameters of a statement: `values![id, version, title]`.
#[macro_export]
macro_rules! values {
    ($($value:expr),* $(,)?) => { &[$($crate::Value::from($value)),*] };
}

/// One row of a result. Columns are read in order, by position.
pub enum Row<'a> {
    #[doc(hidden)]
    Sqlite(&'a rusqlite::Row<'a>),
    #[doc(hidden)]
    Postgres(&'a postgres::Row),
}

impl Row<'_> {
    /// Reads the column at `index`.
    pub fn get<T: Column>(&self, index: usize) -> Result<T> {
        T::read(self, index)
    }

    /// Reads a text without copying it.
    pub(crate) fn text(&self, index: usize) -> Result<&str> {
        match self {
            Row::Sqlite(row) => {
                row.get_ref(index).map_err(Error::internal)?.as_str().map_err(Error::internal)
            }
            Row::Postgres(row) => row.try_get(index).map_err(Error::internal),
        }
    }
}

/// A type that can be read from a column.
pub trait Column: Sized {
    /// Reads it.
    fn read(row: &Row<'_>, index: usize) -> Result<Self>;
}

impl Column for Option<i64> {
    fn read(row: &Row<'_>, index: usize) -> Result<Self> {
        match row {
            Row::Sqlite(row) => row.get(index).map_err(Error::internal),
            Row::Postgres(row) => row.try_get(index).map_err(Error::internal),
        }
    }
}

impl Column for Option<String> {
    fn read(row: &Row<'_>, index: usize) -> Result<Self> {
        match row {
            Row::Sqlite(row) => row.get(index).map_err(Error::internal),
            Row::Postgres(row) => row.try_get(index).map_err(Error::internal),
        }
    }
}

impl Column for i64 {
    fn read(row: &Row<'_>, index: usize) -> Result<Self> {
        Option::<i64>::read(row, index)?.ok_or_else(|| null(index))
    }
}

impl Column for String {
    fn read(row: &Row<'_>, index: usize) -> Result<Self> {
        Option::<String>::read(row, index)?.ok_or_else(|| null(index))
    }
}

impl Column for bool {
    fn read(row: &Row<'_>, index: usize) -> Result<Self> {
        Ok(i64::read(row, index)? != 0)
    }
}

impl Column for Time {
    fn read(row: &Row<'_>, index: usize) -> Result<Self> {
        i64::read(row, index).map(Time::from_microseconds)
    }
}

impl Column for Option<Time> {
    fn read(row: &Row<'_>, index: usize) -> Result<Self> {
        Ok(Option::<i64>::read(row, index)?.map(Time::from_microseconds))
    }
}

fn null(index: usize) -> Error {
    Error::internal(format!("column {index} is null"))
}
