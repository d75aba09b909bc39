//! Reference numbers on PostgreSQL. A counter row that every create locks until its commit would make them queue, so a
//! server leases small blocks in transactions of their own and hands the numbers out from memory.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use postgres::Client;

use super::connect::Connector;
use super::{Failure, Outcome, translate};

/// A block of this size costs at most so many unused numbers per kind when a server stops; it doubles while numbers are
/// taken one block after the other, up to the largest.
const BLOCK: i64 = 8;
const BLOCK_MAX: i64 = 64;

pub(in crate::db) struct Leases {
    connector: Arc<Connector>,
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
    pub(super) fn new(connector: Arc<Connector>) -> Leases {
        Leases { connector, state: Mutex::default() }
    }

    pub(in crate::db) fn take(&self, project_id: &str, kind: &str) -> Outcome<i64> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let State { client, blocks } = &mut *state;
        let block = blocks
            .entry((project_id.to_owned(), kind.to_owned()))
            .or_insert(Block { numbers: 0..0, size: BLOCK });
        if let Some(number) = block.numbers.next() {
            return Ok(number);
        }
        if client.as_ref().is_some_and(Client::is_closed) {
            *client = None;
        }
        let connected = match client {
            Some(connected) => connected,
            None => {
                client.insert(self.connector.connect().map_err(|error| (error, Some(Failure::Disconnected)))?)
            }
        };
        let sql = "insert into counter (project_id, kind, next) values ($1, $2, cast($3 as bigint) + 1)
                   on conflict (project_id, kind) do update set next = counter.next + cast($3 as bigint) returning next";
        let row = match connected.query_one(sql, &[&project_id, &kind, &block.size]) {
            Ok(row) => row,
            Err(error) => {
                *client = None;
                return Err(translate(&error));
            }
        };
        let next: i64 = row.get(0);
        block.numbers = next - block.size..next;
        block.size = (block.size * 2).min(BLOCK_MAX);
        Ok(block.numbers.next().expect("a block has numbers"))
    }
}
