//! PostgreSQL through its driver alone: a connection with prepared statements per client.

use std::collections::HashMap;
use std::hint::black_box;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use anyhow::Context;
use postgres::types::{ToSql, Type};
use postgres::{Client, NoTls, Statement};
use store::Value;

use crate::Side;
use crate::statements::{self, Bare, Known, New, Search};
use bench_shared::fill::Layout;
use bench_shared::measure::{Measured, drive};
use bench_shared::text::{self, PER_STORY, Random};

pub struct Postgres {
    url: String,
    known: Known,
    /// Numbers of new requirements, far from those of the server. The server leases its numbers in blocks, which costs
    /// one statement in 64 creates; this side is spared even that.
    next_number: AtomicI64,
}

const SEARCH: Search = Search {
    document: None,
    index: "with document as (
                insert into search_document (number, id, entity_id, created_at, updated_at, is_deleted, terms)
                select number, ?1, ?2, cast(?3 as bigint), cast(?4 as bigint), cast(?5 as bigint),
                    cast(cast(?8 as text)
                    || coalesce(' fe' || replace((select parent_id from entity where id = ?9), '-', ''), '')
                    || coalesce(cast(?10 as text) || (select mark from status where entity_kind = ?11 and name = ?12), '')
                    || (select string_agg(' fb' || power || 'x' || (number >> power), '')
                        from generate_series(12, 21) power) as tsvector)
                from (select nextval('search_number') as number) next
                returning number)
            insert into search_text (number, title, body) select number, ?6, ?7 from document",
};
const CHANGE: &str =
    "insert into change (transaction_number, project_id, entity_kind, entity_id, reference_id, version,
        operation, actor_id, created_at)
    values (cast(cast(pg_current_xact_id() as text) as bigint), ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";

impl Postgres {
    pub fn open(url: &str) -> anyhow::Result<Postgres> {
        let mut connection = Connection::open(url)?;
        let known = Known::read(&mut connection)?;
        let next = "select cast(greatest(max(number), 1000000000) + 1 as text) from entity";
        let next_number = connection.text(next, &[], 0)?.parse()?;
        Ok(Postgres { url: url.to_owned(), known, next_number: AtomicI64::new(next_number) })
    }

    fn another(&self, number: u64, layout: Layout) -> New {
        let now = store::model::Time::from_microseconds(1_800_000_000_000_000 + number as i64);
        let (terms, postings) = text::terms(number);
        New {
            id: ops::new_id(now),
            revision_id: ops::new_id(now),
            number: Some(self.next_number.fetch_add(1, Ordering::Relaxed)),
            story: 1 + (number % layout.n_stories()) as i64,
            title: text::title(number),
            description: text::description(number),
            title_terms: terms.title,
            body_terms: terms.body,
            postings,
            now: now.microseconds(),
        }
    }
}

impl Side for Postgres {
    fn read(&self, n_clients: usize, time: Duration, layout: Layout) -> anyhow::Result<Measured> {
        drive(
            n_clients,
            time,
            || Connection::open(&self.url),
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
            || Connection::open(&self.url),
            |connection, number| {
                let story = 1 + Random(number).below(layout.n_stories()) as i64;
                let found = statements::list_of_story(connection, &self.known, story)?;
                anyhow::ensure!(found == PER_STORY as usize, "{found} requirements of story {story}");
                Ok(())
            },
        )
    }

    fn create(&self, n_clients: usize, time: Duration, layout: Layout) -> anyhow::Result<Measured> {
        drive(
            n_clients,
            time,
            || Connection::open(&self.url),
            |connection, number| {
                let new = self.another(number, layout);
                connection.script("begin")?;
                statements::authenticate(connection, &self.known)?;
                statements::create(connection, &self.known, &new, CHANGE, &SEARCH)?;
                connection.script("commit")
            },
        )
    }
}

struct Connection {
    client: Client,
    statements: HashMap<&'static str, Statement>,
}

impl Connection {
    fn open(url: &str) -> anyhow::Result<Connection> {
        Ok(Connection { client: Client::connect(url, NoTls)?, statements: HashMap::new() })
    }

    fn rows(&mut self, sql: &'static str, values: &[Value<'_>]) -> anyhow::Result<Vec<postgres::Row>> {
        let statement = match self.statements.get(sql) {
            Some(statement) => statement.clone(),
            None => {
                let statement = self.client.prepare(&sql.replace('?', "$"))?;
                self.statements.insert(sql, statement.clone());
                statement
            }
        };
        let values: Vec<&(dyn ToSql + Sync)> = values.iter().map(|value| value as _).collect();
        let rows = self.client.query(&statement, &values)?;
        for row in &rows {
            for (index, column) in row.columns().iter().enumerate() {
                if *column.type_() == Type::TEXT {
                    black_box(row.get::<_, Option<String>>(index));
                } else {
                    black_box(row.get::<_, Option<i64>>(index));
                }
            }
        }
        Ok(rows)
    }
}

impl Bare for Connection {
    fn script(&mut self, sql: &'static str) -> anyhow::Result<()> {
        Ok(self.client.batch_execute(sql)?)
    }

    fn run(&mut self, sql: &'static str, values: &[Value<'_>]) -> anyhow::Result<usize> {
        Ok(self.rows(sql, values)?.len())
    }

    fn text(&mut self, sql: &'static str, values: &[Value<'_>], column: usize) -> anyhow::Result<String> {
        let rows = self.rows(sql, values)?;
        let row = rows.first().with_context(|| format!("no row: {sql}"))?;
        Ok(row.get(column))
    }
}
