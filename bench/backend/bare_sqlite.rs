//! SQLite through rusqlite alone, with the pragmas of the server: a connection per client for reads, one for writes.

use std::hint::black_box;
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, params_from_iter, types};
use store::Value;

use crate::Side;
use crate::statements::{self, Bare, Known, New, Search};
use bench_shared::fill::Layout;
use bench_shared::measure::{Measured, drive};
use bench_shared::text::{self, PER_STORY, Random};

pub struct Sqlite {
    path: std::path::PathBuf,
    known: Known,
}

const SEARCH: Search = Search {
    document: Some(
        "insert into search_document (id, entity_id, created_at, updated_at, is_deleted, title, body)
         values (?1, ?2, ?3, ?4, ?5, ?6, ?7) returning cast(number as text)",
    ),
    index: "insert or replace into search_index (rowid, terms) values (?1, cast(?2 as text)
                || coalesce(' fe' || replace((select parent_id from entity where id = ?3), '-', ''), '')
                || coalesce(cast(?4 as text) || (select mark from status where entity_kind = ?5 and name = ?6), ''))",
};
const CHANGE: &str =
    "insert into change (transaction_number, project_id, entity_kind, entity_id, reference_id, version,
        operation, actor_id, created_at) values (0, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";

impl Sqlite {
    pub fn open(path: &Path) -> anyhow::Result<Sqlite> {
        let known = Known::read(&mut connect(path)?)?;
        Ok(Sqlite { path: path.to_owned(), known })
    }

    /// Creates with one commit for as many as there are clients, as the server does it at best.
    pub fn create_grouped(
        &self,
        n_clients: usize,
        time: Duration,
        layout: Layout,
    ) -> anyhow::Result<Measured> {
        let mut measured = drive(
            1,
            time,
            || connect(&self.path),
            |connection, number| {
                connection.script("begin immediate")?;
                for client in 0..n_clients as u64 {
                    statements::authenticate(connection, &self.known)?;
                    connection.script("savepoint job")?;
                    statements::create(
                        connection,
                        &self.known,
                        &new(number * n_clients as u64 + client, layout),
                        CHANGE,
                        &SEARCH,
                    )?;
                    connection.script("release job")?;
                }
                connection.script("commit")
            },
        )?;
        measured.per_second *= n_clients as f64;
        Ok(measured)
    }
}

impl Side for Sqlite {
    fn read(&self, n_clients: usize, time: Duration, layout: Layout) -> anyhow::Result<Measured> {
        drive(
            n_clients,
            time,
            || connect(&self.path),
            |connection, number| {
                let wanted = 1 + Random(number).below(layout.n_requirements) as i64;
                statements::read(connection, &self.known, wanted)
            },
        )
    }

    fn list_of_story(&self, n_clients: usize, time: Duration, layout: Layout) -> anyhow::Result<Measured> {
        drive(
            n_clients,
            time,
            || connect(&self.path),
            |connection, number| {
                let story = 1 + Random(number).below(layout.n_stories()) as i64;
                let found = statements::list_of_story(connection, &self.known, story)?;
                anyhow::ensure!(found == PER_STORY as usize, "{found} requirements of story {story}");
                Ok(())
            },
        )
    }

    fn create(&self, n_clients: usize, time: Duration, layout: Layout) -> anyhow::Result<Measured> {
        let writer = Mutex::new(connect(&self.path)?);
        drive(
            n_clients,
            time,
            || connect(&self.path),
            |reader, number| {
                statements::authenticate(reader, &self.known)?;
                let new = new(number, layout);
                let mut writer = writer.lock().expect("no client panics");
                writer.script("begin immediate")?;
                statements::create(&mut *writer, &self.known, &new, CHANGE, &SEARCH)?;
                writer.script("commit")
            },
        )
    }
}

fn new(number: u64, layout: Layout) -> New {
    let now = store::model::Time::from_microseconds(1_800_000_000_000_000 + number as i64);
    let (terms, postings) = text::terms(number);
    New {
        id: ops::new_id(now),
        revision_id: ops::new_id(now),
        number: None,
        story: 1 + (number % layout.n_stories()) as i64,
        title: text::title(number),
        description: text::description(number),
        title_terms: terms.title,
        body_terms: terms.body,
        postings,
        now: now.microseconds(),
    }
}

fn connect(path: &Path) -> anyhow::Result<Connection> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(Duration::from_secs(5))?;
    connection.set_prepared_statement_cache_capacity(256);
    for (name, value) in [("foreign_keys", "on"), ("temp_store", "memory"), ("synchronous", "full")] {
        connection.pragma_update(None, name, value)?;
    }
    connection.pragma_update(None, "cache_size", -8_000)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.pragma_update(None, "journal_size_limit", 64 << 20)?;
    Ok(connection)
}

impl Bare for Connection {
    fn script(&mut self, sql: &'static str) -> anyhow::Result<()> {
        Ok(self.execute_batch(sql)?)
    }

    fn run(&mut self, sql: &'static str, values: &[Value<'_>]) -> anyhow::Result<usize> {
        let mut statement = self.prepare_cached(sql)?;
        let n_columns = statement.column_count();
        let mut rows = statement.query(params_from_iter(values))?;
        let mut n_rows = 0;
        while let Some(row) = rows.next()? {
            n_rows += 1;
            for column in 0..n_columns {
                black_box(row.get::<_, types::Value>(column)?);
            }
        }
        Ok(n_rows)
    }

    fn text(&mut self, sql: &'static str, values: &[Value<'_>], column: usize) -> anyhow::Result<String> {
        let mut statement = self.prepare_cached(sql)?;
        let n_columns = statement.column_count();
        let found = statement.query_row(params_from_iter(values), |row| {
            for other in (0..n_columns).filter(|other| *other != column) {
                black_box(row.get::<_, types::Value>(other)?);
            }
            row.get(column)
        });
        Ok(found?)
    }
}
