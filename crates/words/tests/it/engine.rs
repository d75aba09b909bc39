//! Documents in a real FTS5 table, and the same search in plain Rust.

use rusqlite::Connection;
use words::{Clause, Query, Terms, terms};

/// Title and body.
pub type Document = (String, String);

/// Returns the terms of each document.
pub fn index(documents: &[Document]) -> Vec<Terms> {
    documents.iter().map(|(title, body)| terms(title, body)).collect()
}

/// Stores the documents under their index.
pub fn table(documents: &[Terms]) -> Connection {
    let connection = Connection::open_in_memory().unwrap();
    connection
        .execute_batch("create virtual table found using fts5(title, body, tokenize = 'ascii', content = '')")
        .unwrap();
    for (id, Terms { title, body }) in documents.iter().enumerate() {
        let sql = "insert into found (rowid, title, body) values (?1, ?2, ?3)";
        connection.execute(sql, (id as i64, title, body)).unwrap();
    }
    connection
}

/// Returns what the table finds.
pub fn find(connection: &Connection, query: &Query) -> Vec<usize> {
    let sql = "select rowid from found where found match ?1 order by rowid";
    let mut statement = connection.prepare_cached(sql).unwrap();
    let rows = statement.query_map([query.fts5()], |row| row.get::<_, i64>(0));
    let rows = rows.and_then(|rows| rows.collect::<Result<Vec<_>, _>>());
    rows.unwrap_or_else(|error| panic!("{}: {error}", query.fts5()))
        .into_iter()
        .map(|id| id as usize)
        .collect()
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
