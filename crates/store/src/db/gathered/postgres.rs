//! Writes what was gathered with one statement.

use super::Gathered;
use crate::db::postgres::{Array, Connection, Outcome};

impl Gathered {
    pub(in crate::db) fn write_to_postgres(self, connection: &mut Connection) -> Outcome<()> {
        let arrays: Vec<Array> = self.revisions.columns.into_iter().chain(self.documents.columns).collect();
        connection.execute_arrays(INSERT, &arrays).map(drop)
    }
}

/// The terms for the blocks of a document: those of each power of two, which searches start with.
macro_rules! blocks {
    ($number:literal) => {
        concat!(
            "(select array_agg('fb' || power || 'x' || (",
            $number,
            " >> power)) from generate_series(12, 21) power)"
        )
    };
}

/// Writes everything. Changes are numbered in the order of their creation. Terms of a document that depend on
/// other rows, the epic and the status, are read here.
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
