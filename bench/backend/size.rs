//! Where the bytes of a store go.

use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use crate::rows::Row;

/// Tables and indexes that are listed one by one.
const LISTED: usize = 14;

/// A store that was kept has more of them than it was filled with.
const COUNT: &str = "select count(*) from entity";

/// What each table and index takes, and all together.
type Sizes = Vec<(String, u64)>;

pub fn of_sqlite(path: &Path) -> anyhow::Result<Vec<Row>> {
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let n_entities: i64 = connection.query_row(COUNT, [], |row| row.get(0))?;
    let mut statement =
        connection.prepare("select name, pgsize from dbstat where aggregate = true order by pgsize desc")?;
    let sizes = statement
        .query_map([], |row| Ok((row.get(0)?, row.get::<_, i64>(1)? as u64)))?
        .collect::<Result<Sizes, _>>()?;
    Ok(rows(sizes, n_entities as u64))
}

pub fn of_postgres(url: &str) -> anyhow::Result<Vec<Row>> {
    let mut client = postgres::Client::connect(url, postgres::NoTls)?;
    let n_entities: i64 = client.query_one(COUNT, &[])?.get(0);
    let sql = "select c.relname::text, (pg_relation_size(c.oid) + coalesce(pg_total_relation_size(nullif(c.reltoastrelid, 0)), 0))::bigint
               from pg_class c join pg_namespace n on n.oid = c.relnamespace
               where n.nspname = 'public' and c.relkind in ('r', 'i') order by 2 desc";
    let sizes = client.query(sql, &[])?.iter().map(|row| (row.get(0), row.get::<_, i64>(1) as u64)).collect();
    Ok(rows(sizes, n_entities as u64))
}

fn rows(sizes: Sizes, n_entities: u64) -> Vec<Row> {
    let total: u64 = sizes.iter().map(|(_, size)| size).sum();
    let each = |size: u64| format!("{} bytes an entity", size / n_entities.max(1));
    let mut rows = vec![Row::new(
        format!("size of the store, {n_entities} entities"),
        format!("{}, {} MB in all", each(total), total / 1_000_000),
        "≤ 2,000 bytes an entity",
    )];
    let rest: u64 = sizes.iter().skip(LISTED).map(|(_, size)| size).sum();
    rows.extend(
        sizes.into_iter().take(LISTED).map(|(name, size)| Row::new(format!("  {name}"), each(size), "")),
    );
    rows.push(Row::new("  the rest", each(rest), ""));
    rows
}
