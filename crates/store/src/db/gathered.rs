//! Rows that every write adds on PostgreSQL: a revision, a change for listeners, and a search document.
//! Nothing in a transaction depends on when they are written, so it gathers them and writes many with one statement: before
//! the commit, and before any statement that names their tables.

use super::postgres::{Array, Connection, Outcome};
use crate::value::Value;

/// So many rows, or so many bytes of text, are written at once.
const ROWS_MAX: usize = 250;
const BYTES_MAX: usize = 1 << 20;

/// Statements that name one of the tables have one of these in their text.
const TABLES: [&str; 3] = ["revision", "change", "search_"];

/// How many columns the statement takes of each.
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
        use Kind::{Number as N, Text as T};
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

    /// Adds a document, in place of an earlier one with its id.
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

    /// Whether a statement may read or change what was gathered.
    pub(super) fn concerns(&self, sql: &str) -> bool {
        !self.is_empty() && TABLES.iter().any(|table| sql.contains(table))
    }

    pub(super) fn write(self, connection: &mut Connection) -> Outcome<()> {
        let arrays: Vec<Array> = self.revisions.columns.into_iter().chain(self.documents.columns).collect();
        connection.execute_arrays(INSERT, &arrays).map(drop)
    }
}

#[derive(Clone, Copy)]
enum Kind {
    Text,
    Number,
}

/// Rows by column, as `unnest` takes them.
struct Rows {
    n: usize,
    columns: Vec<Array>,
}

impl Rows {
    fn new<const N: usize>(kinds: [Kind; N]) -> Rows {
        let array = |kind| match kind {
            Kind::Text => Array::Texts(Vec::new()),
            Kind::Number => Array::Numbers(Vec::new()),
        };
        Rows { n: 0, columns: kinds.map(array).into() }
    }

    /// Adds a row and returns how many bytes of text it has.
    fn push(&mut self, values: &[Value<'_>]) -> usize {
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

    /// Removes the row whose first column is this text.
    fn remove(&mut self, id: &str) {
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

/// The marks of the blocks that a document is in: those of each power of two, which searches begin with.
macro_rules! blocks {
    ($number:literal) => {
        concat!(
            "(select array_agg('fb' || power || 'x' || (",
            $number,
            " >> power)) from generate_series(12, 21) power)"
        )
    };
}

/// Writes everything. Changes get their numbers in the order in which they were made. The marks of a document that come from
/// other rows, the epic of a story's parts and the status, are read here.
const INSERT: &str = concat!(
    "with revised as materialized (
         select * from unnest(cast(?1 as text[]), cast(?2 as text[]), cast(?3 as text[]), cast(?4 as text[]),
             cast(?5 as bigint[]), cast(?6 as text[]), cast(?7 as text[]), cast(?8 as text[]), cast(?9 as text[]),
             cast(?10 as text[]), cast(?11 as bigint[]), cast(?12 as text[]), cast(?13 as text[]), cast(?14 as text[]))
         with ordinality as given (id, project_id, entity_kind, entity_id, version, actor_id, token_id, via, operation,
             changes, created_at, request_id, import_id, reference_id, place)
     ), written as (
         insert into revision (id, project_id, entity_kind, entity_id, version, actor_id, token_id, via, operation, changes,
             created_at, request_id, import_id)
         select id, project_id, entity_kind, entity_id, version, actor_id, token_id, via, operation, changes, created_at,
             request_id, import_id
         from revised
     ), told as (
         insert into change (transaction_number, project_id, entity_kind, entity_id, reference_id, version, operation,
             actor_id, created_at)
         select cast(cast(pg_current_xact_id() as text) as bigint), project_id, entity_kind, entity_id, reference_id, version,
             operation, actor_id, created_at
         from revised order by place
     ), document as materialized (
         select nextval('search_number') as number, given.*
         from unnest(cast(?15 as text[]), cast(?16 as text[]), cast(?17 as bigint[]), cast(?18 as bigint[]),
             cast(?19 as bigint[]), cast(?20 as text[]), cast(?21 as text[]), cast(?22 as text[]), cast(?23 as text[]),
             cast(?24 as text[]), cast(?25 as text[]), cast(?26 as text[]))
         as given (id, entity_id, created_at, updated_at, is_deleted, title, body, terms, story_id, status_mark, kind, status)
     ), indexed as (
         insert into search_document (number, id, entity_id, created_at, updated_at, is_deleted, terms)
         select number, id, entity_id, created_at, updated_at, is_deleted, cast(
             terms
             || coalesce(' fe' || replace((select parent_id from entity where id = story_id), '-', ''), '')
             || coalesce(status_mark || (select mark from status where entity_kind = kind and name = document.status), '')
             || ' ' || array_to_string(",
    blocks!("number"),
    ", ' ') as tsvector)
         from document
         on conflict (id) do update set updated_at = excluded.updated_at, is_deleted = excluded.is_deleted,
             terms = ts_delete(excluded.terms, ",
    blocks!("excluded.number"),
    ") || array_to_tsvector(",
    blocks!("search_document.number"),
    ")
         returning id, number
     )
     insert into search_text (number, title, body)
     select indexed.number, document.title, document.body from indexed join document on document.id = indexed.id
     on conflict (number) do update set title = excluded.title, body = excluded.body"
);
