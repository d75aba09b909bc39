//! Login sessions. Only hashes of their secrets are stored.

use schemars::JsonSchema;
use serde::Serialize;

use crate::db::Tx;
use crate::error::Result;
use crate::model::Time;
use crate::revision;
use crate::sign_in_link;
use crate::value::Row;
use crate::values;

/// A session of a user, without its secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct UserSession {
    /// The UUID.
    pub id: String,
    /// Whose it is.
    pub user_id: String,
    /// The user's name.
    pub user: String,
    /// What it was begun with.
    pub begun_with: BegunWith,
    /// The id of the token that it was begun with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_id: Option<String>,
    /// The name of that token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// The network address that it was begun from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// The program that began it, as it introduced itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_agent: Option<String>,
    /// Whether it is the one that asks.
    pub current: bool,
    /// When it was begun.
    pub created_at: Time,
    /// When it was last used, to the minute.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_used_at: Option<Time>,
    /// When it ends.
    pub expires_at: Time,
}

/// What a session was begun with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum BegunWith {
    /// A name and a password.
    Password,
    /// A personal access token.
    Token,
    /// A one-time link.
    Link,
}

/// A session that is about to begin.
pub struct BeginSession<'a> {
    /// The UUID.
    pub id: &'a str,
    /// The hash of its secret.
    pub hash: &'a str,
    /// Whose it is.
    pub user_id: &'a str,
    /// The token that it is begun with, if it is.
    pub token_id: Option<&'a str>,
    /// Whether it is begun with a one-time link.
    pub with_link: bool,
    /// The network address that it is begun from.
    pub address: Option<&'a str>,
    /// The program that begins it.
    pub user_agent: Option<&'a str>,
    /// When it ends.
    pub expires_at: Time,
}

/// A user has at most this many sessions; the oldest ends when another one starts.
pub const SESSIONS_MAX: i64 = 1_000;

/// Starts a session, and deletes expired ones.
pub fn begin(tx: &mut Tx<'_>, new: &BeginSession<'_>, now: Time) -> Result<()> {
    tx.execute("delete from session where expires_at <= ?1", values![now])?;
    let sql = "delete from session where user_id = ?1 and id not in
                   (select id from session where user_id = ?1 order by created_at desc, id desc limit ?2)";
    tx.execute(sql, values![new.user_id, SESSIONS_MAX - 1])?;
    let BeginSession { id, hash, user_id, token_id, with_link, address, user_agent, expires_at } = *new;
    let sql = "insert into session (id, hash, user_id, token_id, address, user_agent, created_at, expires_at, with_link)
               values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
    tx.execute(sql, values![id, hash, user_id, token_id, address, user_agent, now, expires_at, with_link])?;
    Ok(())
}

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "select s.id, s.user_id, u.username, s.token_id, t.name, s.address, s.user_agent, s.created_at, s.last_used_at,
                    case when t.expires_at < s.expires_at then t.expires_at else s.expires_at end, s.with_link
             from session s join user_account u on u.id = s.user_id left join token t on t.id = s.token_id ",
            $rest
        )
    };
}

/// A user's sessions that have not expired, newest first.
pub fn list(tx: &mut Tx<'_>, user_id: &str, now: Time) -> Result<Vec<UserSession>> {
    let sql = select!(
        "where s.user_id = ?1 and s.expires_at > ?2 and (t.expires_at is null or t.expires_at > ?2)
         order by s.created_at desc, s.id desc"
    );
    tx.rows(sql, values![user_id, now], read)
}

/// The session with this id.
pub fn find(tx: &mut Tx<'_>, id: &str) -> Result<Option<UserSession>> {
    tx.row(select!("where s.id = ?1"), values![id], read)
}

/// Replaces the secret of a session.
pub fn renew(tx: &mut Tx<'_>, id: &str, hash: &str) -> Result<()> {
    tx.execute("update session set hash = ?2 where id = ?1", values![id, hash])?;
    Ok(())
}

/// Ends a session; false if it had already ended.
pub fn end(tx: &mut Tx<'_>, id: &str) -> Result<bool> {
    revision::tell_session_end(tx, "select user_id from session where id = ?1", values![id])?;
    Ok(tx.execute("delete from session where id = ?1", values![id])? == 1)
}

/// Ends all sessions of a user but the given one, and revokes their sign-in link.
pub fn end_others(tx: &mut Tx<'_>, user_id: &str, id: Option<&str>) -> Result<()> {
    let values = values![user_id, id.unwrap_or_default()];
    let ending = "select distinct user_id from session where user_id = ?1 and id <> ?2";
    revision::tell_session_end(tx, ending, values)?;
    tx.execute("delete from session where user_id = ?1 and id <> ?2", values)?;
    sign_in_link::revoke(tx, user_id)
}

/// Records that a session is used.
pub fn touch(tx: &mut Tx<'_>, id: &str, now: Time) -> Result<()> {
    tx.execute("update session set last_used_at = ?2 where id = ?1", values![id, now])?;
    Ok(())
}

fn read(row: &Row<'_>) -> Result<UserSession> {
    let token_id: Option<String> = row.get(3)?;
    Ok(UserSession {
        id: row.get(0)?,
        user_id: row.get(1)?,
        user: row.get(2)?,
        begun_with: match (&token_id, row.get(10)?) {
            (Some(_), _) => BegunWith::Token,
            (None, true) => BegunWith::Link,
            (None, false) => BegunWith::Password,
        },
        token_id,
        token: row.get(4)?,
        address: row.get(5)?,
        user_agent: row.get(6)?,
        current: false,
        created_at: row.get(7)?,
        last_used_at: row.get(8)?,
        expires_at: row.get(9)?,
    })
}
