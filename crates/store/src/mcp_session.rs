//! Sessions of agents over HTTP: their owners, revisions and subscriptions.

use std::collections::HashMap;

use crate::db::Tx;
use crate::error::Result;
use crate::model::Time;
use crate::values;

/// An unused session is deleted after this time.
pub const KEPT_S: i64 = 24 * 3600;
/// How often the last use is stored.
const TOUCH_EVERY_S: i64 = 60;
/// How many resources one session may subscribe to.
pub const SUBSCRIPTIONS_MAX: i64 = 10_000;

/// A session.
#[derive(Clone, Debug)]
pub struct Session {
    /// Its id.
    pub id: String,
    /// The id of its owner.
    pub user_id: String,
    /// The revision of the protocol.
    pub revision: String,
    /// The client program, as it introduced itself.
    pub client: String,
    /// When it was last used.
    pub used_at: Time,
}

impl Session {
    /// Whether its last use should be stored again.
    pub fn is_touch_due(&self, now: Time) -> bool {
        self.used_at.plus_seconds(TOUCH_EVERY_S) <= now
    }
}

/// Starts a session.
pub fn insert(tx: &mut Tx<'_>, session: &Session) -> Result<()> {
    let sql = "insert into mcp_session (id, user_id, revision, client, created_at, used_at) values (?1, ?2, ?3, ?4, ?5, ?5)";
    let Session { id, user_id, revision, client, used_at } = session;
    tx.execute(sql, values![id, user_id, revision, client, *used_at])?;
    Ok(())
}

/// The session with an id, if it exists.
pub fn find(tx: &mut Tx<'_>, id: &str, now: Time) -> Result<Option<Session>> {
    let sql = "select id, user_id, revision, client, used_at from mcp_session where id = ?1 and used_at > ?2";
    tx.row(sql, values![id, now.plus_seconds(-KEPT_S)], |row| {
        Ok(Session {
            id: row.get(0)?,
            user_id: row.get(1)?,
            revision: row.get(2)?,
            client: row.get(3)?,
            used_at: row.get(4)?,
        })
    })
}

/// Records that a session was used.
pub fn touch(tx: &mut Tx<'_>, id: &str, now: Time) -> Result<()> {
    tx.execute("update mcp_session set used_at = ?2 where id = ?1", values![id, now])?;
    Ok(())
}

/// A server without a sign of life for this long has stopped.
const CLAIM_S: i64 = 40;

/// Makes this server the one that notifies a session: its newest stream was opened here.
pub fn claim(tx: &mut Tx<'_>, id: &str, server: &str, now: Time) -> Result<()> {
    tx.execute("update mcp_session set told_by = ?2, told_at = ?3 where id = ?1", values![id, server, now])?;
    Ok(())
}

/// Records that a server still has a stream of a session, and makes it the notifier if no other is.
pub fn keep_claim(tx: &mut Tx<'_>, id: &str, server: &str, now: Time) -> Result<()> {
    let sql = "update mcp_session set told_by = ?2, told_at = ?3
               where id = ?1 and (told_by is null or told_by = ?2 or told_at <= ?4)";
    tx.execute(sql, values![id, server, now, now.plus_seconds(-CLAIM_S)])?;
    Ok(())
}

/// Records that a server has no stream of a session any more.
pub fn release(tx: &mut Tx<'_>, id: &str, server: &str) -> Result<()> {
    tx.execute("update mcp_session set told_by = null where id = ?1 and told_by = ?2", values![id, server])?;
    Ok(())
}

/// The server that notifies each session.
pub fn claims(tx: &mut Tx<'_>, now: Time) -> Result<HashMap<String, String>> {
    let sql = "select id, told_by from mcp_session where told_by is not null and told_at > ?1";
    let claims = tx.rows(sql, values![now.plus_seconds(-CLAIM_S)], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(claims.into_iter().collect())
}

/// Ends a session.
pub fn delete(tx: &mut Tx<'_>, id: &str) -> Result<()> {
    tx.execute("delete from mcp_session where id = ?1", values![id])?;
    Ok(())
}

/// Deletes some of the unused sessions, and returns how many.
pub fn forget(tx: &mut Tx<'_>, now: Time, limit: i64) -> Result<u64> {
    let sql = "delete from mcp_session where id in (select id from mcp_session where used_at <= ?1 limit ?2)";
    tx.execute(sql, values![now.plus_seconds(-KEPT_S), limit])
}

/// Subscribes a session to a resource. False if it has the maximal number of subscriptions.
pub fn subscribe(tx: &mut Tx<'_>, id: &str, topic: &str, uri: &str) -> Result<bool> {
    let count = "select count(*) from mcp_subscription where session_id = ?1";
    let n_subscriptions: Option<i64> = tx.row(count, values![id], |row| row.get(0))?;
    if n_subscriptions.unwrap_or_default() >= SUBSCRIPTIONS_MAX {
        return Ok(false);
    }
    let sql = "insert into mcp_subscription (session_id, topic, uri) values (?1, ?2, ?3)
               on conflict (session_id, topic) do update set uri = ?3";
    tx.execute(sql, values![id, topic, uri])?;
    Ok(true)
}

/// Ends the subscription of a session to a resource.
pub fn unsubscribe(tx: &mut Tx<'_>, id: &str, topic: &str) -> Result<()> {
    tx.execute("delete from mcp_subscription where session_id = ?1 and topic = ?2", values![id, topic])?;
    Ok(())
}

/// The sessions subscribed to a resource, each with the resource as its client wrote it.
pub fn subscribers(tx: &mut Tx<'_>, topic: &str) -> Result<Vec<(String, String)>> {
    let sql = "select session_id, uri from mcp_subscription where topic = ?1";
    tx.rows(sql, values![topic], |row| Ok((row.get(0)?, row.get(1)?)))
}
