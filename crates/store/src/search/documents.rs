//! The documents in the databases: which have some terms, and their texts and entities.

use std::collections::HashMap;

use words::Expression;

use super::filter::SearchFilter;
use crate::db::Tx;
use crate::entity::{self, Entity, select_entity};
use crate::error::Result;
use crate::value::Row;
use crate::values;

pub(super) type ByNumber<T> = HashMap<i64, T, foldhash::fast::RandomState>;

/// The newest documents with some terms, newest first.
pub(super) fn newest(
    tx: &mut Tx<'_>,
    expression: &Expression,
    filter: &SearchFilter,
    limit: i64,
) -> Result<Vec<i64>> {
    let is_any_time = filter.created_from.is_none() && filter.created_to.is_none();
    let sql = match () {
        () if tx.is_postgres() => NEWEST_POSTGRES,
        () if is_any_time && !filter.include_deleted => {
            let text = expression.fts5();
            return tx.rows(NEWEST_LIVE_SQLITE, values![&text, limit], |row| row.get(0));
        }
        () => NEWEST_SQLITE,
    };
    numbers(tx, sql, expression, filter, limit)
}

/// The documents with some terms that changed last. This has to read all matches.
pub(super) fn last_changed(
    tx: &mut Tx<'_>,
    expression: &Expression,
    filter: &SearchFilter,
    limit: i64,
) -> Result<Vec<i64>> {
    let sql = if tx.is_postgres() {
        "select number from search_document
         where terms @@ (select cast(cast(?1 as text) as tsquery)) and (is_deleted = 0 or ?2 = 1)
           and (created_at >= ?3 or ?3 is null) and (created_at <= ?4 or ?4 is null)
         order by updated_at desc, number desc limit ?5"
    } else {
        "select d.number
         from search_index cross join search_document d indexed by search_document_state on d.number = search_index.rowid
         where search_index match ?1 and (d.is_deleted = 0 or ?2 = 1)
           and (d.created_at >= ?3 or ?3 is null) and (d.created_at <= ?4 or ?4 is null)
         order by d.updated_at desc, d.number desc limit ?5"
    };
    numbers(tx, sql, expression, filter, limit)
}

/// FTS5 reads from the newest to the oldest, and stops when there are enough. Of each document only a
/// small index is read: documents themselves are large, and each would be on a separate page.
const NEWEST_SQLITE: &str = "select d.number
     from search_index cross join search_document d indexed by search_document_state on d.number = search_index.rowid
     where search_index match ?1 and (d.is_deleted = 0 or ?2 = 1)
       and (d.created_at >= ?3 or ?3 is null) and (d.created_at <= ?4 or ?4 is null)
     order by search_index.rowid desc limit ?5";

/// Most searches need even less: an index of the few deleted documents.
const NEWEST_LIVE_SQLITE: &str = "select rowid from search_index
     where search_index match ?1
       and not exists (select 1 from search_document d indexed by search_document_deleted
                       where d.number = search_index.rowid and d.is_deleted = 1)
     order by rowid desc limit ?2";

/// The newest documents that meet a condition. The query and the limit are hidden from the planner,
/// which would otherwise scan all documents rather than use the index for a common word.
macro_rules! newest_of {
    ($($true:expr),+ $(,)?) => {
        concat!(
            "select number from (
                 select number from search_document where ",
            $($true,)+
            " and (is_deleted = 0 or ?2 = 1)
                 and (created_at >= ?3 or ?3 is null) and (created_at <= ?4 or ?4 is null)
                 offset 0) found
             order by number desc limit ?5"
        )
    };
}

/// The last documents: those in a block of a power of two, and in the one before it. Each document has terms for its blocks.
macro_rules! last_of {
    ($power:literal) => {
        concat!(
            "terms @@ (select cast('(' || cast(?1 as text) || ') & (''fb' || ",
            $power,
            " || 'x' || (number >> ",
            $power,
            ") || ''' | ''fb' || ",
            $power,
            " || 'x' || ((number >> ",
            $power,
            ") - 1) || ''')' as tsquery) from last_one)"
        )
    };
}

/// A GIN index finds all matches or none. So it is first queried for the last few thousand documents within the requested time,
/// which are enough for a common word. From their number follows in how many documents the wanted number
/// will be found, with some margin, and these are queried next; for a rare word, all. (Querying many blocks at once would not
/// help: the
/// index is slow with alternatives.)
const NEWEST_POSTGRES: &str = concat!(
    "with last_one as materialized (
         select coalesce(case when cast(?4 as bigint) is null then (select max(number) from search_document)
                              else (select number from search_document where created_at <= ?4
                                    order by created_at desc limit 1) end, 0) as number
     ), few as materialized (",
    newest_of!(last_of!("12")),
    "), next as materialized (
         select n_found = ?5 as is_enough,
             (select min(power) from generate_series(13, 21) power, last_one
              where (n_found << power) * 3 > ?5 * 4 * (4096 + number % 4096) and (cast(2 as bigint) << power) < number)
             as power
         from (select count(*) as n_found from few) counted
     ), more as materialized (",
    newest_of!(
        "(select not is_enough and power is not null from next) and ",
        last_of!("(select power from next)")
    ),
    ")
     select number from few where (select is_enough from next)
     union all
     select number from more where (select count(*) from more) = ?5
     union all
     (",
    newest_of!(
        "(select not is_enough from next) and (select count(*) from more) < ?5
         and terms @@ (select cast(cast(?1 as text) as tsquery))"
    ),
    ")"
);

/// A statement on the documents whose numbers are in a list.
macro_rules! of_numbers {
    ($tx:ident, $select:expr) => {
        if $tx.is_postgres() {
            concat!($select, "where d.number in (select unnest(cast(string_to_array(?1, ',') as bigint[])))")
        } else {
            concat!($select, "where d.number in (select cast(value as integer) from json_each(?1))")
        }
    };
}

/// The result for the terms of title and body, by the number of the document.
pub(super) fn of_texts<T>(
    tx: &mut Tx<'_>,
    numbers: &[i64],
    make: impl Fn(&str, &str) -> T,
) -> Result<ByNumber<T>> {
    let sql = of_numbers!(tx, "select d.number, d.title, d.body from search_text d ");
    by_number(tx, sql, numbers, |row| Ok(make(row.text(1)?, row.text(2)?)))
}

/// When documents were created and changed.
pub(super) fn times(tx: &mut Tx<'_>, numbers: &[i64]) -> Result<ByNumber<(i64, i64)>> {
    let sql = of_numbers!(tx, "select d.number, d.created_at, d.updated_at from search_document d ");
    by_number(tx, sql, numbers, |row| Ok((row.get(1)?, row.get(2)?)))
}

fn by_number<T>(
    tx: &mut Tx<'_>,
    sql: &'static str,
    numbers: &[i64],
    read: impl Fn(&Row<'_>) -> Result<T>,
) -> Result<ByNumber<T>> {
    if numbers.is_empty() {
        return Ok(ByNumber::default());
    }
    let list = tx.list(numbers);
    Ok(tx.rows(sql, values![&list], |row| Ok((row.get(0)?, read(row)?)))?.into_iter().collect())
}

/// A document and its entity.
pub(super) struct FoundDocument {
    pub(super) number: i64,
    pub(super) id: String,
    pub(super) entity: Entity,
}

/// The documents with these numbers, unordered.
pub(super) fn documents(tx: &mut Tx<'_>, numbers: &[i64]) -> Result<Vec<FoundDocument>> {
    if numbers.is_empty() {
        return Ok(Vec::new());
    }
    let sql = of_numbers!(
        tx,
        select_entity!(and ", d.number, d.id", "join search_document d on d.entity_id = e.id ")
    );
    let list = tx.list(numbers);
    tx.rows(sql, values![&list], |row| {
        let (number, id) = (row.get(entity::COLUMNS)?, row.get(entity::COLUMNS + 1)?);
        Ok(FoundDocument { number, id, entity: entity::read(row)? })
    })
}

fn numbers(
    tx: &mut Tx<'_>,
    sql: &'static str,
    expression: &Expression,
    filter: &SearchFilter,
    limit: i64,
) -> Result<Vec<i64>> {
    let text = if tx.is_postgres() { expression.tsquery() } else { expression.fts5() };
    let values = values![&text, filter.include_deleted, filter.created_from, filter.created_to, limit];
    tx.rows(sql, values, |row| row.get(0))
}
