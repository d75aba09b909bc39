//! Personal access tokens, and the owners of tokens and sessions. Only hashes of secrets are stored.

use schemars::JsonSchema;
use serde::Serialize;

use crate::db::Tx;
use crate::error::Result;
use crate::model::{Role, Time};
use crate::user::read_role;
use crate::value::Row;
use crate::values;

/// A personal access token, without its secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Token {
    /// The UUID.
    pub id: String,
    /// Whose it is.
    pub user_id: String,
    /// The owner's name.
    pub user: String,
    /// What it is for.
    pub name: String,
    /// The beginning of the secret, to tell tokens apart.
    pub prefix: String,
    /// What it may do, at most.
    pub scopes: Vec<String>,
    /// The keys of the projects that it is narrowed to; absent where it reaches all that its owner sees.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub projects: Option<Vec<String>>,
    /// The names of the repositories that it pushes to; absent where its scope is not `evidence`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repositories: Option<Vec<String>>,
    /// When it expires.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Time>,
    /// When it was last used, to the minute.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_used_at: Option<Time>,
    /// Goes up by one with each change.
    pub version: i64,
    /// When it was made.
    pub created_at: Time,
    /// When it was last changed.
    pub updated_at: Time,
}

/// A secret's owner, as of now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The user's id.
    pub user_id: String,
    /// The user's name.
    pub username: String,
    /// The user's role.
    pub role: Role,
    /// Whether the user is kept out.
    pub disabled: bool,
    /// The hash that was found, to compare in constant time.
    pub hash: String,
    /// When the secret stops working.
    pub expires_at: Option<Time>,
    /// The token's id; for a session, that of the token with which it was begun.
    pub token_id: Option<String>,
    /// The token's scopes.
    pub scopes: Vec<String>,
    /// When the token or the session was last used.
    pub last_used_at: Option<Time>,
    /// The session's id.
    pub session_id: Option<String>,
    /// Whether the token is narrowed to some projects.
    pub is_narrowed: bool,
    /// Whether some project is open to its members alone.
    pub has_closed_projects: bool,
}

/// What decides whether a secret's owner sees every project.
macro_rules! reach {
    () => {
        ", coalesce(t.narrowed, 0), cast(case when exists (select 1 from project where access = 'members') then 1 else 0 end as bigint) "
    };
}

/// The owner of the token with this hash.
pub fn owner(tx: &mut Tx<'_>, hash: &str) -> Result<Option<Owner>> {
    let sql = concat!(
        "select u.id, u.username, u.role, u.disabled, t.hash, t.expires_at, t.id, t.scopes, t.last_used_at,
                cast(null as text)",
        reach!(),
        "from token t join user_account u on u.id = t.user_id where t.hash = ?1"
    );
    tx.row(sql, values![hash], read_owner)
}

/// The owner of the session with this hash.
pub fn session_owner(tx: &mut Tx<'_>, hash: &str) -> Result<Option<Owner>> {
    let sql = concat!(
        "select u.id, u.username, u.role, u.disabled, s.hash,
                case when t.expires_at < s.expires_at then t.expires_at else s.expires_at end,
                t.id, t.scopes, s.last_used_at, s.id",
        reach!(),
        "from session s join user_account u on u.id = s.user_id left join token t on t.id = s.token_id
         where s.hash = ?1"
    );
    tx.row(sql, values![hash], read_owner)
}

/// Adds a token. Its repositories are granted separately.
pub fn insert(tx: &mut Tx<'_>, token: &Token, hash: &str) -> Result<()> {
    let Token {
        id,
        user_id,
        user: _,
        name,
        prefix,
        scopes,
        projects,
        repositories: _,
        expires_at,
        last_used_at,
        version,
        created_at,
        updated_at,
    } = token;
    let sql = "insert into token (id, user_id, name, hash, prefix, scopes, expires_at, last_used_at, version, created_at,
                   updated_at, narrowed)
               values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)";
    let scopes = scopes.join(" ");
    let values = values![
        id,
        user_id,
        name,
        hash,
        prefix,
        &scopes,
        *expires_at,
        *last_used_at,
        *version,
        *created_at,
        *updated_at,
        projects.is_some(),
    ];
    tx.execute(sql, values)?;
    narrow(tx, id, projects.as_deref())
}

/// Sets the projects that a token is restricted to.
fn narrow(tx: &mut Tx<'_>, id: &str, keys: Option<&[String]>) -> Result<()> {
    tx.execute("delete from token_project where token_id = ?1", values![id])?;
    for key in keys.unwrap_or_default() {
        let sql =
            "insert into token_project (token_id, project_id) select ?1, id from project where key = ?2";
        tx.execute(sql, values![id, key])?;
    }
    Ok(())
}

/// Adds the projects and the repositories that tokens are restricted to.
fn with_reach(tx: &mut Tx<'_>, mut tokens: Vec<Token>) -> Result<Vec<Token>> {
    for token in tokens.iter_mut().filter(|token| token.projects.is_some()) {
        let sql =
            "select p.key from token_project n join project p on p.id = n.project_id where n.token_id = ?1
                   order by p.key";
        token.projects = Some(tx.rows(sql, values![&token.id], |row| row.get(0))?);
        let sql = "select r.name from token_repository g join repository r on r.id = g.repository_id where g.token_id = ?1
                   order by r.name_folded";
        let repositories: Vec<String> = tx.rows(sql, values![&token.id], |row| row.get(0))?;
        token.repositories = Some(repositories).filter(|names| !names.is_empty());
    }
    Ok(tokens)
}

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "select t.id, t.user_id, u.username, t.name, t.prefix, t.scopes, t.expires_at, t.last_used_at, t.version,
                    t.created_at, t.updated_at, t.narrowed from token t join user_account u on u.id = t.user_id ",
            $rest
        )
    };
}

/// A user's tokens, or everybody's, newest first.
pub fn list(tx: &mut Tx<'_>, user_id: Option<&str>, limit: i64, offset: i64) -> Result<(Vec<Token>, i64)> {
    let tokens = match user_id {
        Some(user_id) => {
            let sql = select!("where t.user_id = ?1 order by t.created_at desc, t.id limit ?2 offset ?3");
            tx.rows(sql, values![user_id, limit, offset], read)?
        }
        None => {
            let sql = select!("order by t.created_at desc, t.id limit ?1 offset ?2");
            tx.rows(sql, values![limit, offset], read)?
        }
    };
    let total = match user_id {
        Some(user_id) => {
            tx.row("select count(*) from token where user_id = ?1", values![user_id], |row| row.get(0))?
        }
        None => tx.row("select count(*) from token", values![], |row| row.get(0))?,
    };
    Ok((with_reach(tx, tokens)?, total.unwrap_or_default()))
}

/// The token with this id.
pub fn find(tx: &mut Tx<'_>, id: &str) -> Result<Option<Token>> {
    let found = tx.rows(select!("where t.id = ?1"), values![id], read)?;
    Ok(with_reach(tx, found)?.pop())
}

/// The token of a user with this name.
pub fn find_by_name(tx: &mut Tx<'_>, user_id: &str, name: &str) -> Result<Option<Token>> {
    let found = tx.rows(select!("where t.user_id = ?1 and t.name = ?2"), values![user_id, name], read)?;
    Ok(with_reach(tx, found)?.pop())
}

/// Stores a token's new name, scopes, projects and expiry; false if another change was faster.
pub fn update(tx: &mut Tx<'_>, token: &Token) -> Result<bool> {
    let Token { id, name, projects, expires_at, version, updated_at, .. } = token;
    let scopes = token.scopes.join(" ");
    let sql = "update token set name = ?2, scopes = ?3, expires_at = ?4, version = ?5, updated_at = ?6, narrowed = ?7
               where id = ?1 and version = ?5 - 1";
    let values = values![id, name, &scopes, *expires_at, *version, *updated_at, projects.is_some()];
    if tx.execute(sql, values)? != 1 {
        return Ok(false);
    }
    narrow(tx, id, projects.as_deref())?;
    Ok(true)
}

/// Records that a token is used.
pub fn touch(tx: &mut Tx<'_>, id: &str, now: Time) -> Result<()> {
    tx.execute("update token set last_used_at = ?2 where id = ?1", values![id, now])?;
    Ok(())
}

/// Revokes a token; false if another change was faster.
pub fn delete(tx: &mut Tx<'_>, gone: &Token) -> Result<bool> {
    let sql = "delete from token where id = ?1 and version = ?2";
    Ok(tx.execute(sql, values![&gone.id, gone.version])? == 1)
}

fn read(row: &Row<'_>) -> Result<Token> {
    Ok(Token {
        id: row.get(0)?,
        user_id: row.get(1)?,
        user: row.get(2)?,
        name: row.get(3)?,
        prefix: row.get(4)?,
        scopes: split(&row.get::<String>(5)?),
        projects: row.get::<bool>(11)?.then(Vec::new),
        repositories: None,
        expires_at: row.get(6)?,
        last_used_at: row.get(7)?,
        version: row.get(8)?,
        created_at: row.get(9)?,
        updated_at: row.get(10)?,
    })
}

fn read_owner(row: &Row<'_>) -> Result<Owner> {
    Ok(Owner {
        user_id: row.get(0)?,
        username: row.get(1)?,
        role: read_role(&row.get::<String>(2)?)?,
        disabled: row.get(3)?,
        hash: row.get(4)?,
        expires_at: row.get(5)?,
        token_id: row.get(6)?,
        scopes: split(&row.get::<Option<String>>(7)?.unwrap_or_default()),
        last_used_at: row.get(8)?,
        session_id: row.get(9)?,
        is_narrowed: row.get(10)?,
        has_closed_projects: row.get(11)?,
    })
}

fn split(scopes: &str) -> Vec<String> {
    scopes.split_whitespace().map(str::to_owned).collect()
}
