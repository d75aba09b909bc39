//! Writes gathered rows one by one: the terms of all documents last, one after the other.

use rusqlite::{Connection, params_from_iter};

use super::Gathered;
use crate::db::sqlite::{Outcome, execute, translate};

const REVISION: &str =
    "insert into revision (id, project_id, entity_kind, entity_id, version, actor_id, token_id, via, operation, changes,
         created_at, request_id, import_id)
     values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)";
const CHANGE: &str =
    "insert into change (transaction_number, project_id, entity_kind, entity_id, reference_id, version, operation, actor_id,
         created_at)
     values (0, ?2, ?3, ?4, ?14, ?5, ?9, ?6, ?11)";
const DOCUMENT: &str =
    "insert into search_document (id, entity_id, created_at, updated_at, is_deleted, title, body)
     values (?1, ?2, ?3, ?4, ?5, ?6, ?7)
     on conflict (id) do update set updated_at = ?4, is_deleted = ?5, title = ?6, body = ?7
     returning number";
/// Some terms depend on other rows: the epic and the status.
const TERMS: &str = "insert or replace into search_index (rowid, terms) values (?13, ?8
         || coalesce(' fe' || replace((select parent_id from entity where id = ?9), '-', ''), '')
         || coalesce(?10 || (select mark from status where entity_kind = ?11 and name = ?12), ''))";

impl Gathered {
    pub(in crate::db) fn write_to_sqlite(self, connection: &Connection) -> Outcome<()> {
        for index in 0..self.revisions.n {
            let values = self.revisions.row(index);
            execute(connection, REVISION, &values[..13])?;
            execute(connection, CHANGE, &values)?;
        }
        let mut numbers = Vec::with_capacity(self.documents.n);
        for index in 0..self.documents.n {
            let values = &self.documents.row(index)[..7];
            let mut statement = connection.prepare_cached(DOCUMENT).map_err(translate)?;
            let number: i64 =
                statement.query_row(params_from_iter(values), |row| row.get(0)).map_err(translate)?;
            numbers.push(number);
        }
        for (index, number) in numbers.into_iter().enumerate() {
            let mut values = self.documents.row(index);
            values.push(number.into());
            execute(connection, TERMS, &values)?;
        }
        Ok(())
    }
}
