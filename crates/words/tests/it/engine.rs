//! Documents in a real FTS5 table, and the same search in plain Rust.

use rusqlite::Connection;
use words::{Clause, Place, Query, Terms, terms};

/// Title and body.
pub type Document = (String, String);

/// Returns the terms of each document.
pub fn index(documents: &[Document]) -> Vec<Terms> {
    documents.iter().map(|(title, body)| terms(title, body)).collect()
}

/// Documents in a table, under their index.
pub struct Table {
    connection: Connection,
    documents: Vec<Terms>,
}

/// Stores the documents under their index.
pub fn table(documents: &[Terms]) -> Table {
    let connection = Connection::open_in_memory().unwrap();
    connection
        .execute_batch(
            "create virtual table found using fts5(terms, tokenize = 'ascii', content = '', detail = none)",
        )
        .unwrap();
    for (id, document) in documents.iter().enumerate() {
        let sql = "insert into found (rowid, terms) values (?1, ?2)";
        connection.execute(sql, (id as i64, document.postings())).unwrap();
    }
    Table { connection, documents: documents.to_vec() }
}

/// Returns what the table finds.
pub fn find(table: &Table, query: &Query) -> Vec<usize> {
    let sql = "select rowid from found where found match ?1 order by rowid";
    let expression = query.expression(Place::Anywhere).fts5();
    let mut statement = table.connection.prepare_cached(sql).unwrap();
    let rows = statement.query_map([&expression], |row| row.get::<_, i64>(0));
    let rows = rows.and_then(|rows| rows.collect::<Result<Vec<_>, _>>());
    let found =
        rows.unwrap_or_else(|error| panic!("{expression}: {error}")).into_iter().map(|id| id as usize);
    let is_match = |id: &usize| {
        let Terms { title, body } = &table.documents[*id];
        let is_match = query.matches(title, body);
        assert!(is_match || query.is_loose(), "{expression}");
        is_match
    };
    found.filter(is_match).collect()
}

/// Returns what the query means.
pub fn find_plainly(documents: &[Terms], query: &Query) -> Vec<usize> {
    let matches = |document: &Terms, clause: &Clause| {
        [&document.title, &document.body].into_iter().any(|field| {
            let terms: Vec<&str> = field.split_whitespace().collect();
            terms.windows(clause.terms.len()).any(|window| window == clause.terms)
                || terms.iter().any(|term| clause.compound.as_deref() == Some(term))
                || terms
                    .iter()
                    .any(|term| clause.prefix.as_ref().is_some_and(|prefix| term.starts_with(prefix)))
        })
    };
    let is_found = |document: &Terms| {
        let mut clauses = query.clauses.iter();
        !query.is_nothing() && clauses.all(|clause| matches(document, clause) != clause.is_excluded)
    };
    (0..documents.len()).filter(|id| is_found(&documents[*id])).collect()
}
