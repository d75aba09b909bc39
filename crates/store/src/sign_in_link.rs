//! One-time sign-in links. Only hashes of their codes are stored.

use crate::db::Tx;
use crate::error::Result;
use crate::model::Time;
use crate::values;

/// A valid link, without its code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignInLink {
    /// The id of its user.
    pub user_id: String,
    /// The user's name.
    pub user: String,
    /// Whether it can set a new password.
    pub sets_password: bool,
    /// When it expires.
    pub expires_at: Time,
}

/// Stores a link, replacing the user's previous one, and deletes expired ones.
pub fn put(tx: &mut Tx<'_>, link: &SignInLink, hash: &str, now: Time) -> Result<()> {
    tx.execute("delete from sign_in_link where expires_at <= ?1", values![now])?;
    let SignInLink { user_id, sets_password, expires_at, .. } = link;
    let sql = "insert into sign_in_link (user_id, hash, sets_password, created_at, expires_at)
               values (?1, ?2, ?3, ?4, ?5)
               on conflict (user_id) do update set hash = ?2, sets_password = ?3, created_at = ?4, expires_at = ?5";
    tx.execute(sql, values![user_id, hash, *sets_password, now, *expires_at])?;
    Ok(())
}

/// The link whose code has this hash, unless it has expired or its user is disabled.
pub fn find(tx: &mut Tx<'_>, hash: &str, now: Time) -> Result<Option<SignInLink>> {
    let sql = "select l.user_id, u.username, l.sets_password, l.expires_at
               from sign_in_link l join user_account u on u.id = l.user_id
               where l.hash = ?1 and l.expires_at > ?2 and u.disabled = 0";
    tx.row(sql, values![hash, now], |row| {
        Ok(SignInLink {
            user_id: row.get(0)?,
            user: row.get(1)?,
            sets_password: row.get(2)?,
            expires_at: row.get(3)?,
        })
    })
}

/// Uses a link up; false if another request was faster.
pub fn use_up(tx: &mut Tx<'_>, hash: &str) -> Result<bool> {
    Ok(tx.execute("delete from sign_in_link where hash = ?1", values![hash])? == 1)
}

/// Revokes the link of a user, if there is one.
pub fn revoke(tx: &mut Tx<'_>, user_id: &str) -> Result<()> {
    tx.execute("delete from sign_in_link where user_id = ?1", values![user_id])?;
    Ok(())
}
