//! Users: who may do what.

use schemars::JsonSchema;
use serde::Serialize;
use words::name::fold;

use crate::db::Tx;
use crate::error::{Error, Result};
use crate::migrate::Slice;
use crate::model::{Role, Time};
use crate::value::Row;
use crate::values;

/// A user, without the password.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct User {
    /// The UUID.
    pub id: String,
    /// The name to log in with.
    pub username: String,
    /// The address.
    pub email: String,
    /// What the user may do at most.
    pub role: Role,
    /// Whether the user is kept out.
    pub disabled: bool,
    /// Goes up by one with each change.
    pub version: i64,
    /// When the user was made.
    pub created_at: Time,
    /// When the user was last changed.
    pub updated_at: Time,
}

/// What everybody may know of a user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Name {
    /// The UUID.
    pub id: String,
    /// The name.
    pub username: String,
}

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "select id, username, email, role, disabled, version, created_at, updated_at from user_account ",
            $rest
        )
    };
}

/// Folds the names and addresses of all users again, which are few. One that would then be a duplicate stays unchanged.
pub(crate) fn fold_again(tx: &mut Tx<'_>, _position: &str) -> Result<Slice> {
    let sql = "select id, username, email from user_account order by created_at, id";
    let users: Vec<(String, String, String)> =
        tx.rows(sql, &[], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let n_rows = users.len() as u64;
    for (id, username, email) in users {
        let sql = "update user_account set username_folded = ?2 where id = ?1
                     and not exists (select 1 from user_account where username_folded = ?2 and id <> ?1)";
        tx.execute(sql, values![&id, &fold(&username)])?;
        let sql = "update user_account set email_folded = ?2 where id = ?1
                     and not exists (select 1 from user_account where email_folded = ?2 and id <> ?1)";
        tx.execute(sql, values![&id, &fold(&email)])?;
    }
    Ok(Slice { next: None, n_rows })
}

/// The user with this id, name or address.
pub fn find(tx: &mut Tx<'_>, who: &str) -> Result<Option<User>> {
    tx.row(select!("where id = ?1 or username_folded = ?1 or email_folded = ?1"), values![&fold(who)], read)
}

/// The oldest administrator who is not disabled: the default user of the command line.
pub fn first_administrator(tx: &mut Tx<'_>) -> Result<Option<User>> {
    tx.row(
        select!("where role = 'Administrator' and disabled = 0 order by created_at, id limit 1"),
        &[],
        read,
    )
}

/// All users, by name.
pub fn list(tx: &mut Tx<'_>, limit: i64, offset: i64) -> Result<Vec<User>> {
    tx.rows(select!("order by username_folded limit ?1 offset ?2"), values![limit, offset], read)
}

/// How many there are.
pub fn count(tx: &mut Tx<'_>) -> Result<i64> {
    Ok(tx.row("select count(*) from user_account", &[], |row| row.get(0))?.unwrap_or_default())
}

/// How many users can log in.
pub fn count_enabled(tx: &mut Tx<'_>) -> Result<i64> {
    let sql = "select count(*) from user_account where disabled = 0";
    Ok(tx.row(sql, &[], |row| row.get(0))?.unwrap_or_default())
}

/// How many administrators can log in.
pub fn count_administrators(tx: &mut Tx<'_>) -> Result<i64> {
    let sql = "select count(*) from user_account where role = 'Administrator' and disabled = 0";
    Ok(tx.row(sql, &[], |row| row.get(0))?.unwrap_or_default())
}

/// The names of users who are not disabled.
pub fn directory(tx: &mut Tx<'_>, limit: i64, offset: i64) -> Result<(Vec<Name>, i64)> {
    let sql = "select id, username from user_account where disabled = 0 order by username_folded limit ?1 offset ?2";
    let names =
        tx.rows(sql, values![limit, offset], |row| Ok(Name { id: row.get(0)?, username: row.get(1)? }))?;
    let total = tx.row("select count(*) from user_account where disabled = 0", &[], |row| row.get(0))?;
    Ok((names, total.unwrap_or_default()))
}

/// The hash of the password, if there is one.
pub fn password_hash(tx: &mut Tx<'_>, id: &str) -> Result<Option<String>> {
    let sql = "select password_hash from user_account where id = ?1";
    Ok(tx.row(sql, values![id], |row| row.get::<Option<String>>(0))?.flatten())
}

/// Adds a user.
pub fn insert(tx: &mut Tx<'_>, user: &User, password_hash: Option<&str>) -> Result<()> {
    let User { id, username, email, role, disabled, version, created_at, updated_at } = user;
    let sql =
        "insert into user_account (id, username, username_folded, email, email_folded, password_hash, role,
                   disabled, version, created_at, updated_at)
               values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";
    let (name, address) = (fold(username), fold(email));
    let values = values![
        id,
        username,
        &name,
        email,
        &address,
        password_hash,
        role.name(),
        *disabled,
        *version,
        *created_at,
        *updated_at
    ];
    tx.execute(sql, values)?;
    Ok(())
}

/// Stores a changed user; false if another change was faster.
pub fn update(tx: &mut Tx<'_>, user: &User) -> Result<bool> {
    let User { id, username, email, role, disabled, version, updated_at, .. } = user;
    let sql = "update user_account set username = ?2, username_folded = ?3, email = ?4, email_folded = ?5, role = ?6,
                   disabled = ?7, version = ?8, updated_at = ?9
               where id = ?1 and version = ?8 - 1";
    let (name, address) = (fold(username), fold(email));
    let values = values![id, username, &name, email, &address, role.name(), *disabled, *version, *updated_at];
    Ok(tx.execute(sql, values)? == 1)
}

/// Sets a password.
pub fn set_password(tx: &mut Tx<'_>, id: &str, password_hash: &str) -> Result<()> {
    tx.execute("update user_account set password_hash = ?2 where id = ?1", values![id, password_hash])?;
    Ok(())
}

/// Replaces the hash of a password; false if it is no longer `before`, or the user is disabled. Locks the user until
/// the transaction ends.
pub fn replace_password(tx: &mut Tx<'_>, id: &str, before: &str, after: &str) -> Result<bool> {
    let sql =
        "update user_account set password_hash = ?3 where id = ?1 and password_hash = ?2 and disabled = 0";
    Ok(tx.execute(sql, values![id, before, after])? == 1)
}

/// Locks a user until the transaction ends; false if the user does not exist or is disabled. This
/// writes the row rather than locking it: PostgreSQL then also rejects a serializable change that began before, which would not
/// see what this transaction adds for the user.
pub fn hold(tx: &mut Tx<'_>, id: &str) -> Result<bool> {
    let sql = "update user_account set disabled = 0 where id = ?1 and disabled = 0";
    Ok(tx.execute(sql, values![id])? == 1)
}

/// Removes a user without references, with tokens and sessions; false if another change was faster.
pub fn delete(tx: &mut Tx<'_>, gone: &User) -> Result<bool> {
    tx.execute("delete from token where user_id = ?1", values![&gone.id])?;
    tx.execute("delete from session where user_id = ?1", values![&gone.id])?;
    tx.execute("delete from sign_in_link where user_id = ?1", values![&gone.id])?;
    tx.execute("delete from project_member where user_id = ?1", values![&gone.id])?;
    let sql = "delete from user_account where id = ?1 and version = ?2";
    Ok(tx.execute(sql, values![&gone.id, gone.version])? == 1)
}

/// Locks changes of who is an administrator until the commit.
pub fn lock_administrators(tx: &mut Tx<'_>) -> Result<()> {
    tx.lock("administrators")
}

fn read(row: &Row<'_>) -> Result<User> {
    Ok(User {
        id: row.get(0)?,
        username: row.get(1)?,
        email: row.get(2)?,
        role: read_role(&row.get::<String>(3)?)?,
        disabled: row.get(4)?,
        version: row.get(5)?,
        created_at: row.get(6)?,
        updated_at: row.get(7)?,
    })
}

pub(crate) fn read_role(name: &str) -> Result<Role> {
    Role::from_name(name).ok_or_else(|| Error::internal(format!("no role is called {name}")))
}

/// Whether anything refers to the user as its creator, assignee or author.
pub fn is_referenced(tx: &mut Tx<'_>, id: &str) -> Result<bool> {
    let sql = "select 1 where exists (select 1 from entity where creator_id = ?1 or assignee_id = ?1)
                 or exists (select 1 from comment where author_id = ?1)
                 or exists (select 1 from relationship where creator_id = ?1)
                 or exists (select 1 from prompt where creator_id = ?1)
                 or exists (select 1 from deletion where actor_id = ?1)
                 or exists (select 1 from revision where actor_id = ?1)";
    Ok(tx.row(sql, values![id], |_| Ok(()))?.is_some())
}
