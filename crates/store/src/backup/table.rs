//! Tables, and copying their rows between engines.

use std::fmt::Write as _;

use rusqlite::types::{Value, ValueRef};

use super::access::SESSION_TABLES;
use super::file::SqliteFile;
use crate::db::Tx;
use crate::error::{Error, Result};

/// All tables of a backup, parents before children.
pub(super) const TABLES: &[&str] = &[
    "project",
    "user_account",
    "project_member",
    "saved_view",
    "token",
    "token_project",
    "requirement_type",
    "relationship_type",
    "status_model",
    "status",
    "status_transition",
    "deletion",
    "entity",
    "entity_alias",
    "counter",
    "relationship",
    "comment",
    "steering_link",
    "prompt",
    "revision",
    "import",
    "repository",
    "repository_project",
    "token_repository",
    "used_identity",
    "trace_snapshot",
    "trace_head",
    "trace_file",
    "citation",
    "test_run",
    "test_case",
    "test_result",
    "execution",
    "manual_evidence",
    "lease",
    "threat_link",
    "threat_criterion",
    "verification",
    "baseline",
    "baseline_entity",
    "baseline_snapshot",
    "authentication_event",
    "change",
    "idempotency",
];

/// Rows in memory at a time.
const ROWS: usize = 200;
/// Transaction numbers have no meaning in another database; 0 is visible to everyone.
const FOREIGN_COLUMN: &str = "transaction_number";

/// Copies a table to a file. `progress` receives the number of additional rows.
pub(super) fn to_sqlite(
    tx: &mut Tx<'_>,
    sqlite: &SqliteFile,
    table: &str,
    mut progress: impl FnMut(u64),
) -> Result<()> {
    let columns = columns(sqlite, table)?;
    let places: Vec<String> = (1..=columns.len()).map(|index| format!("?{index}")).collect();
    let insert = format!("insert into {table} ({}) values ({})", columns.join(", "), places.join(", "));
    let mut statement = sqlite.connection.prepare(&insert).map_err(sqlite.told())?;
    let query = format!("select {} from {table}", columns.join(", "));
    tx.postgres()?.read_in_parts(&query, ROWS, |rows| {
        for row in rows {
            for (index, column) in columns.iter().enumerate() {
                let value = match row.columns()[index].type_() {
                    _ if column == FOREIGN_COLUMN => Value::Integer(0),
                    kind if *kind == postgres::types::Type::INT8 => {
                        row.try_get::<_, Option<i64>>(index).map_err(Error::internal)?.into()
                    }
                    _ => row.try_get::<_, Option<String>>(index).map_err(Error::internal)?.into(),
                };
                statement.raw_bind_parameter(index + 1, value).map_err(sqlite.told())?;
            }
            statement.raw_execute().map_err(sqlite.told())?;
        }
        progress(rows.len() as u64);
        Ok(())
    })
}

/// Copies a table from a file, and returns the number of rows. One statement takes all of them, so that rows may refer
/// to later ones.
pub(super) fn to_postgres(
    sqlite: &SqliteFile,
    tx: &mut Tx<'_>,
    table: &str,
    mut progress: impl FnMut(u64),
) -> Result<u64> {
    let columns = columns(sqlite, table)?;
    let query = format!("select {} from {table}", columns.join(", "));
    let mut statement = sqlite.connection.prepare(&query).map_err(sqlite.told())?;
    let mut rows = statement.query([]).map_err(sqlite.told())?;
    let copy = format!("copy {table} ({}) from stdin", columns.join(", "));
    tx.postgres()?.write_lines(&copy, |lines| {
        let mut n_rows = 0;
        while n_rows < ROWS {
            let Some(row) = rows.next().map_err(sqlite.told())? else { break };
            for (index, column) in columns.iter().enumerate() {
                if index > 0 {
                    lines.push('\t');
                }
                match row.get_ref(index).map_err(sqlite.told())? {
                    _ if column == FOREIGN_COLUMN => lines.push('0'),
                    ValueRef::Null => lines.push_str("\\N"),
                    ValueRef::Integer(number) => _ = write!(lines, "{number}"),
                    ValueRef::Text(text) => {
                        escape(std::str::from_utf8(text).map_err(Error::internal)?, lines);
                    }
                    other => {
                        let kind = other.data_type();
                        return Err(Error::internal(format!(
                            "{table}.{column} holds a value of the type {kind}"
                        )));
                    }
                }
            }
            lines.push('\n');
            n_rows += 1;
        }
        progress(n_rows as u64);
        Ok(n_rows > 0)
    })
}

/// Escapes a value for PostgreSQL's copy format: separators of fields and rows get a backslash.
fn escape(text: &str, lines: &mut String) {
    for char in text.chars() {
        match char {
            '\\' => lines.push_str("\\\\"),
            '\t' => lines.push_str("\\t"),
            '\n' => lines.push_str("\\n"),
            '\r' => lines.push_str("\\r"),
            char => lines.push(char),
        }
    }
}

/// The columns of a table in the schema of the file.
fn columns(sqlite: &SqliteFile, table: &str) -> Result<Vec<String>> {
    sqlite.texts(&format!("select name from pragma_table_info('{table}') order by cid"))
}

pub(super) fn count_in_postgres(tx: &mut Tx<'_>, table: &str) -> Result<u64> {
    tx.postgres()?.number(&format!("select count(*) from {table}"))
}

/// Removes rows that a migration has inserted.
pub(super) fn clear_sqlite(sqlite: &SqliteFile) -> Result<()> {
    TABLES.iter().rev().try_for_each(|table| sqlite.run(&format!("delete from {table}")))
}

pub(super) fn clear_postgres(tx: &mut Tx<'_>) -> Result<()> {
    let tables = [TABLES, SESSION_TABLES, &["tally", "tally_delta", "entity_label"]].concat().join(", ");
    tx.script(&format!("truncate {tables} restart identity"))
}

/// Continues the numbering of changes, because readers request changes after a number.
pub(super) fn sequence_to_sqlite(tx: &mut Tx<'_>, sqlite: &SqliteFile) -> Result<()> {
    sqlite.run(&count_on_in_sqlite(last_change_in_postgres(tx)?))
}

pub(super) fn sequence_to_postgres(sqlite: &SqliteFile, tx: &mut Tx<'_>) -> Result<()> {
    tx.script(&count_on_in_postgres(last_change_in_sqlite(sqlite)?))
}

/// Continues the numbering of changes far above all numbers here or, as `reached` says, elsewhere.
pub(super) fn leap(tx: &mut Tx<'_>, reached: u64, how_far: u64) -> Result<()> {
    if tx.is_postgres() {
        let last = last_change_in_postgres(tx)?.max(reached);
        return tx.script(&count_on_in_postgres(last + how_far));
    }
    let sql = "select max(seq) from sqlite_sequence where name = 'change'";
    let last = tx.row(sql, &[], |row| row.get::<Option<i64>>(0))?.flatten().unwrap_or_default() as u64;
    tx.script(&count_on_in_sqlite(last.max(reached) + how_far))
}

pub(super) fn last_change_in_postgres(tx: &mut Tx<'_>) -> Result<u64> {
    tx.postgres()?.number("select case when is_called then last_value else 0 end from change_sequence_seq")
}

/// The number of the last change in a file, which may still be empty.
pub(super) fn last_change_in_sqlite(sqlite: &SqliteFile) -> Result<u64> {
    if sqlite.number("select count(*) from sqlite_schema where name = 'sqlite_sequence'")? == 0 {
        return Ok(0);
    }
    sqlite.number("select coalesce(max(seq), 0) from sqlite_sequence where name = 'change'")
}

fn count_on_in_postgres(last: u64) -> String {
    format!("select setval('change_sequence_seq', {}, {})", last.max(1), last > 0)
}

fn count_on_in_sqlite(last: u64) -> String {
    format!(
        "delete from sqlite_sequence where name = 'change'; insert into sqlite_sequence (name, seq) values ('change', {last})"
    )
}
