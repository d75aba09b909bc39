//! A connection and its statements: prepared once and cached, or unnamed behind a pooler that gives the connection
//! to another client after each transaction.

use std::collections::HashMap;
use std::sync::Arc;

use postgres::types::private::BytesMut;
use postgres::types::{IsNull, ToSql, Type, to_sql_checked};
use postgres::{Client, Statement};

use super::Outcome;
use super::connect::Connected;
use super::lease::Leases;
use super::translate::translate;
use crate::db::tx::ReadRow;
use crate::value::{Row, Value};

/// How many prepared statements a connection caches.
const STATEMENTS_MAX: usize = 512;

pub(crate) struct Connection {
    pub(super) client: Client,
    /// None if statements cannot be cached.
    statements: Option<HashMap<Box<str>, Statement, foldhash::fast::RandomState>>,
    leases: Arc<Leases>,
}

impl Connection {
    pub(super) fn new(connected: Connected, leases: Arc<Leases>) -> Connection {
        let Connected { client, is_pooled } = connected;
        Connection { client, statements: (!is_pooled).then(HashMap::default), leases }
    }

    pub(in crate::db) fn leases(&self) -> &Arc<Leases> {
        &self.leases
    }

    pub(in crate::db) fn each(
        &mut self,
        sql: &str,
        values: &[Value<'_>],
        read: &mut ReadRow<'_>,
    ) -> Outcome<()> {
        let rows = match self.prepare(sql)? {
            Some(statement) => self.client.query(&statement, &untyped(values)),
            None => self.client.query_typed(&dollars(sql), &typed(values)),
        };
        for row in &rows.map_err(|error| translate(&error))? {
            read(&Row::Postgres(row)).map_err(|error| (error, None))?;
        }
        Ok(())
    }

    pub(in crate::db) fn execute(&mut self, sql: &str, values: &[Value<'_>]) -> Outcome<u64> {
        let changed = match self.prepare(sql)? {
            Some(statement) => self.client.execute(&statement, &untyped(values)),
            None => self.client.execute_typed(&dollars(sql), &typed(values)),
        };
        changed.map_err(|error| translate(&error))
    }

    /// Runs a statement whose parameters are arrays.
    pub(in crate::db) fn execute_arrays(&mut self, sql: &str, arrays: &[Array]) -> Outcome<u64> {
        let changed = match self.prepare(sql)? {
            Some(statement) => {
                let parameters: Vec<_> = arrays.iter().map(Array::parameter).collect();
                self.client.execute(&statement, &parameters)
            }
            None => {
                let parameters: Vec<_> =
                    arrays.iter().map(|array| (array.parameter(), array.kind())).collect();
                self.client.execute_typed(&dollars(sql), &parameters)
            }
        };
        changed.map_err(|error| translate(&error))
    }

    pub(in crate::db) fn script(&mut self, sql: &str) -> Outcome<()> {
        self.client.batch_execute(sql).map_err(|error| translate(&error))
    }

    /// A prepared statement, where statements are kept.
    fn prepare(&mut self, sql: &str) -> Outcome<Option<Statement>> {
        let Some(statements) = &mut self.statements else { return Ok(None) };
        if let Some(statement) = statements.get(sql) {
            return Ok(Some(statement.clone()));
        }
        let statement = self.client.prepare(&dollars(sql)).map_err(|error| translate(&error))?;
        // Filters have more shapes than a connection can cache. Those in use are prepared again.
        if statements.len() >= STATEMENTS_MAX {
            statements.clear();
        }
        statements.insert(sql.into(), statement.clone());
        Ok(Some(statement))
    }
}

/// A column of many rows.
pub(in crate::db) enum Array {
    Texts(Vec<Option<String>>),
    Numbers(Vec<Option<i64>>),
}

impl Array {
    fn parameter(&self) -> &(dyn ToSql + Sync) {
        match self {
            Array::Texts(texts) => texts,
            Array::Numbers(numbers) => numbers,
        }
    }

    fn kind(&self) -> Type {
        match self {
            Array::Texts(_) => Type::TEXT_ARRAY,
            Array::Numbers(_) => Type::INT8_ARRAY,
        }
    }
}

/// Turns `?1` into `$1`. Our statements have no other question marks.
fn dollars(sql: &str) -> String {
    sql.replace('?', "$")
}

fn untyped<'a>(values: &'a [Value<'_>]) -> Vec<&'a (dyn ToSql + Sync)> {
    values.iter().map(|value| value as &(dyn ToSql + Sync)).collect()
}

/// Values with their types. The server infers the type of a null.
fn typed<'a>(values: &'a [Value<'_>]) -> Vec<(&'a (dyn ToSql + Sync), Type)> {
    let kind = |value: &Value<'_>| match value {
        Value::Null => Type::UNKNOWN,
        Value::Number(_) => Type::INT8,
        Value::Text(_) | Value::List(_) => Type::TEXT,
    };
    values.iter().map(|value| (value as &(dyn ToSql + Sync), kind(value))).collect()
}

impl ToSql for Value<'_> {
    fn to_sql(
        &self,
        kind: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        match self {
            Value::Null => Ok(IsNull::Yes),
            Value::Number(number) => match *kind {
                Type::INT4 => i32::try_from(*number)?.to_sql(kind, out),
                _ => number.to_sql(kind, out),
            },
            Value::Text(text) => text.to_sql(kind, out),
            Value::List(texts) => Value::array(texts).to_sql(kind, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}
