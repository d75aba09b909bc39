//! The rights of tokens with the scope `evidence`, and the used identity tokens.

use crate::db::Tx;
use crate::error::Result;
use crate::model::Time;
use crate::values;

/// A repository that a token can push to, and the verified claims of its CI run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// The repository's id.
    pub repository_id: String,
    /// The trust of its pushes.
    pub trust: String,
    /// The only allowed ref.
    pub ref_name: Option<String>,
    /// The only allowed commit.
    pub commit_id: Option<String>,
}

/// The repositories that a token can push to. None for a token without repositories, which is limited by its scopes only.
pub fn grants(tx: &mut Tx<'_>, token_id: &str) -> Result<Vec<Grant>> {
    let sql = "select repository_id, trust, ref, commit_id from token_repository where token_id = ?1";
    tx.rows(sql, values![token_id], |row| {
        Ok(Grant {
            repository_id: row.get(0)?,
            trust: row.get(1)?,
            ref_name: row.get(2)?,
            commit_id: row.get(3)?,
        })
    })
}

/// Lets a token push to a repository.
pub fn grant(tx: &mut Tx<'_>, token_id: &str, grant: &Grant) -> Result<()> {
    let sql = "insert into token_repository (token_id, repository_id, trust, ref, commit_id) values (?1, ?2, ?3, ?4, ?5)";
    let (trust, ref_name) = (&grant.trust, &grant.ref_name);
    tx.execute(sql, values![token_id, &grant.repository_id, trust, ref_name, &grant.commit_id])?;
    Ok(())
}

/// Restricts the tokens of a repository to the projects of their repositories, as far as their owners can see them, after these
/// have changed.
pub(super) fn narrow(tx: &mut Tx<'_>, repository_id: &str) -> Result<()> {
    let sql = "delete from token_project where token_id in (select token_id from token_repository where repository_id = ?1)";
    tx.execute(sql, values![repository_id])?;
    let sql = "insert into token_project (token_id, project_id)
               select distinct g.token_id, p.project_id
               from token_repository g join token t on t.id = g.token_id
               join repository_project p on p.repository_id = g.repository_id
               join project_role seen on seen.project_id = p.project_id and seen.user_id = t.user_id and seen.role is not null
               where g.token_id in (select token_id from token_repository where repository_id = ?1)";
    tx.execute(sql, values![repository_id])?;
    Ok(())
}

/// Removes tokens of CI runs that expired before a time.
pub fn forget_ended(tx: &mut Tx<'_>, before: Time) -> Result<()> {
    let sql = "delete from token where expires_at < ?1
                 and id in (select token_id from token_repository where trust in ('unverified', 'oidc'))";
    tx.execute(sql, values![before])?;
    Ok(())
}

/// Uses up an identity token; false if it was used before. Expired ones are deleted.
pub fn use_up(tx: &mut Tx<'_>, issuer: &str, token_id: &str, expires_at: Time, now: Time) -> Result<bool> {
    tx.execute("delete from used_identity where expires_at < ?1", values![now])?;
    let sql =
        "insert into used_identity (issuer, token_id, expires_at) values (?1, ?2, ?3) on conflict do nothing";
    Ok(tx.execute(sql, values![issuer, token_id, expires_at])? == 1)
}
