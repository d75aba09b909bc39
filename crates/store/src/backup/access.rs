//! Credentials in a backup: sessions and sign-in links are left out, and revocations are kept.

use std::collections::HashSet;

use super::file::SqliteFile;
use crate::db::Tx;
use crate::error::Result;
use crate::model::{Time, Via};
use crate::revision::{self, New};
use crate::values;

/// Tables of sessions and sign-in links, parents before children. A backup has none of their rows.
pub(super) const SESSION_TABLES: &[&str] = &["session", "mcp_session", "mcp_subscription", "sign_in_link"];

/// Deleted tokens and users of a store.
#[derive(Default)]
pub(super) struct Revoked {
    tokens: HashSet<String>,
    users: HashSet<String>,
}

const GONE_TOKENS: &str = "select distinct r.entity_id from revision r
    where r.entity_kind = 'token' and not exists (select 1 from token t where t.id = r.entity_id)";
const GONE_USERS: &str = "select distinct r.entity_id from revision r
    where r.entity_kind = 'user' and not exists (select 1 from user_account u where u.id = r.entity_id)";

impl Revoked {
    pub fn in_sqlite(sqlite: &SqliteFile) -> Result<Revoked> {
        let tokens = sqlite.texts(GONE_TOKENS)?.into_iter().collect();
        Ok(Revoked { tokens, users: sqlite.texts(GONE_USERS)?.into_iter().collect() })
    }

    pub fn in_postgres(tx: &mut Tx<'_>) -> Result<Revoked> {
        let tokens = tx.rows(GONE_TOKENS, &[], |row| row.get(0))?.into_iter().collect();
        Ok(Revoked { tokens, users: tx.rows(GONE_USERS, &[], |row| row.get(0))?.into_iter().collect() })
    }
}

/// Deletes all sessions and sign-in links from a file, and overwrites their hashes.
pub(super) fn end_sessions_in(sqlite: &SqliteFile) -> Result<()> {
    sqlite.run("pragma secure_delete = on")?;
    SESSION_TABLES.iter().rev().try_for_each(|table| sqlite.run(&format!("delete from {table}")))
}

/// The tokens of a restored backup.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tokens {
    /// How many are valid again.
    pub restored: u64,
    /// How many were revoked, because they had been revoked in the store before, or because all were to be.
    pub revoked: u64,
    /// Whether the revocations of the replaced store are unknown, because it could not be read.
    pub revocations_lost: bool,
}

/// Ends all sessions and links of an older backup, and revokes tokens. The history records this, which the
/// next restore reads.
pub(super) fn revoke(tx: &mut Tx<'_>, revoked: &Revoked, all: bool, now: Time) -> Result<Tokens> {
    for table in [
        "delete from mcp_subscription",
        "delete from mcp_session",
        "delete from session",
        "delete from sign_in_link",
    ] {
        tx.execute(table, &[])?;
    }
    let mut tokens = Tokens::default();
    let found: Vec<(String, String, i64)> =
        tx.rows("select id, user_id, version from token order by id", &[], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })?;
    for (id, user_id, version) in found {
        if !all && !revoked.tokens.contains(&id) && !revoked.users.contains(&user_id) {
            tokens.restored += 1;
            continue;
        }
        tokens.revoked += 1;
        tx.execute("delete from token where id = ?1", values![&id])?;
        let revision_id = uuid::Uuid::now_v7().to_string();
        let new = New {
            id: &revision_id,
            project_id: None,
            entity_kind: "token",
            entity_id: &id,
            reference_id: None,
            version: version + 1,
            actor_id: None,
            token_id: None,
            via: Via::Cli,
            operation: "restore_backup",
            changes: "{}",
            now,
            request_id: None,
            import_id: None,
        };
        revision::insert(tx, &new)?;
    }
    Ok(tokens)
}
