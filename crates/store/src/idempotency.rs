//! Stored answers to requests with a key, so that a repeated request is executed once.

use crate::db::Tx;
use crate::error::Result;
use crate::model::Time;
use crate::values;

/// A stored answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answered {
    /// The hash of the request.
    pub body_hash: String,
    /// The status of the answer.
    pub status: i64,
    /// The answer, as JSON.
    pub answer: String,
    /// The ids of the projects that the request was about.
    pub projects: Vec<String>,
}

/// The answer stored for this key.
pub fn find(tx: &mut Tx<'_>, user_id: &str, operation: &str, key: &str) -> Result<Option<Answered>> {
    let sql = "select body_hash, status, answer, projects from idempotency
               where user_id = ?1 and operation = ?2 and key = ?3";
    tx.row(sql, values![user_id, operation, key], |row| {
        let projects = row.text(3)?.split_whitespace().map(str::to_owned).collect();
        Ok(Answered { body_hash: row.get(0)?, status: row.get(1)?, answer: row.get(2)?, projects })
    })
}

/// Claims a key before the work is done; false if it is taken.
pub fn claim(
    tx: &mut Tx<'_>,
    user_id: &str,
    operation: &str,
    key: &str,
    body_hash: &str,
    now: Time,
) -> Result<bool> {
    let sql = "insert into idempotency (user_id, operation, key, body_hash, status, answer, created_at)
               values (?1, ?2, ?3, ?4, 0, '', ?5) on conflict do nothing";
    Ok(tx.execute(sql, values![user_id, operation, key, body_hash, now])? == 1)
}

/// Stores the answer, and the ids of the projects of the request.
pub fn keep(
    tx: &mut Tx<'_>,
    user_id: &str,
    operation: &str,
    key: &str,
    answer: &str,
    projects: &str,
) -> Result<()> {
    let sql = "update idempotency set status = 1, answer = ?4, projects = ?5
               where user_id = ?1 and operation = ?2 and key = ?3";
    tx.execute(sql, values![user_id, operation, key, answer, projects])?;
    Ok(())
}

/// Replaces all answers that mention an id.
pub fn replace(tx: &mut Tx<'_>, mentioned_id: &str, answer: &str) -> Result<()> {
    let sql = "update idempotency set answer = ?2 where replace(answer, ?1, '') <> answer";
    tx.execute(sql, values![mentioned_id, answer])?;
    Ok(())
}
