//! Reference numbers on PostgreSQL. A counter row that every create locks until its commit would serialize them, so a
//! server leases small blocks in separate transactions and assigns the numbers from memory.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use postgres::Client;
use postgres::types::{ToSql, Type};

use super::connect::Connector;
use super::translate::translate;
use super::{Failure, Outcome};

/// The initial block size, which is the maximal number of unused numbers per kind when a server stops; it doubles while blocks
/// are used in quick succession, up to the largest.
const BLOCK: i64 = 8;
const BLOCK_MAX: i64 = 64;

pub(in crate::db) struct Leases {
    /// None behind a pooler: transactions that hold all of its connections would wait here for another one.
    connector: Option<Arc<Connector>>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    client: Option<Client>,
    blocks: HashMap<(String, String), Block>,
}

struct Block {
    numbers: Range<i64>,
    size: i64,
}

impl Leases {
    pub(super) fn new(connector: Option<Arc<Connector>>) -> Leases {
        Leases { connector, state: Mutex::default() }
    }

    /// Whether numbers can be leased; otherwise a transaction counts them itself.
    pub(in crate::db) fn are_available(&self) -> bool {
        self.connector.is_some()
    }

    pub(in crate::db) fn take(&self, project_id: &str, kind: &str) -> Outcome<i64> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (project_id.to_owned(), kind.to_owned());
        if let Some(number) = state.blocks.get_mut(&key).and_then(|block| block.numbers.next()) {
            return Ok(number);
        }
        let size = state.blocks.get(&key).map_or(BLOCK, |block| block.size);
        let mut numbers = self.lease(&mut state, project_id, kind, size)?;
        let number = numbers.next().expect("a block has numbers");
        state.blocks.insert(key, Block { numbers, size: (size * 2).min(BLOCK_MAX) });
        Ok(number)
    }

    /// The rest of a block, and more from a block of just that size.
    pub(in crate::db) fn take_many(&self, project_id: &str, kind: &str, count: usize) -> Outcome<Vec<i64>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let block = state.blocks.get_mut(&(project_id.to_owned(), kind.to_owned()));
        let mut numbers: Vec<i64> =
            block.map(|block| block.numbers.by_ref().take(count).collect()).unwrap_or_default();
        let missing = (count - numbers.len()) as i64;
        if missing > 0 {
            numbers.extend(self.lease(&mut state, project_id, kind, missing)?);
        }
        Ok(numbers)
    }

    /// Discards the rest of a block, because its numbers are taken.
    pub(in crate::db) fn give_up(&self, project_id: &str, kind: &str) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.blocks.remove(&(project_id.to_owned(), kind.to_owned()));
    }

    /// Moves the counter past a number. Leased blocks stay leased.
    pub(in crate::db) fn reserve(&self, project_id: &str, kind: &str, last: i64) -> Outcome<()> {
        let sql = "insert into counter (project_id, kind, next) values ($1, $2, cast($3 as bigint) + 1)
                   on conflict (project_id, kind) do update set next = greatest(counter.next, cast($3 as bigint) + 1)
                   returning next";
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        self.ask(&mut state, sql, project_id, kind, last)?;
        Ok(())
    }

    fn lease(&self, state: &mut State, project_id: &str, kind: &str, count: i64) -> Outcome<Range<i64>> {
        let sql = "insert into counter (project_id, kind, next) values ($1, $2, cast($3 as bigint) + 1)
                   on conflict (project_id, kind) do update set next = counter.next + cast($3 as bigint) returning next";
        let next = self.ask(state, sql, project_id, kind, count)?;
        Ok(next - count..next)
    }

    fn ask(&self, state: &mut State, sql: &str, project_id: &str, kind: &str, number: i64) -> Outcome<i64> {
        if state.client.as_ref().is_some_and(Client::is_closed) {
            state.client = None;
        }
        let connected = match &mut state.client {
            Some(connected) => connected,
            empty => {
                let connector = self.connector.as_ref().expect("only available leases are asked for");
                let connected = connector.connect();
                empty.insert(connected.map_err(|error| (error, Some(Failure::Disconnected)))?.client)
            }
        };
        let values: [(&(dyn ToSql + Sync), Type); 3] =
            [(&project_id, Type::TEXT), (&kind, Type::TEXT), (&number, Type::INT8)];
        match connected.query_typed_one(sql, &values) {
            Ok(row) => Ok(row.get(0)),
            Err(error) => {
                let (told, failure) = translate(&error);
                if matches!(failure, Some(Failure::Disconnected | Failure::ReadOnly)) {
                    state.client = None;
                }
                Err((told, failure))
            }
        }
    }
}
