//! Manual evidence: checks recorded by people, for what no program can test.

use schemars::JsonSchema;
use serde::Serialize;

use crate::db::Tx;
use crate::error::Result;
use crate::model::Time;
use crate::values;

/// Something that a person has tried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ManualEvidence {
    /// The UUID.
    pub id: String,
    /// The project's id.
    #[serde(skip)]
    pub project_id: String,
    /// The entity's id.
    #[serde(skip)]
    pub entity_id: String,
    /// The hash of the unit; empty for all of them.
    #[serde(skip)]
    pub unit_hash: String,
    /// `passed` or `failed`.
    pub outcome: String,
    /// What was done and seen.
    pub what: String,
    /// The hash of an attachment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attachment_digest: Option<String>,
    /// Who did it.
    #[serde(skip)]
    pub actor_id: String,
    /// The name of who did it.
    pub actor: String,
    /// When it was done.
    pub done_at: Time,
    /// When it was entered.
    pub created_at: Time,
}

/// Adds manual evidence.
pub fn insert(tx: &mut Tx<'_>, new: &ManualEvidence) -> Result<()> {
    let sql = "insert into manual_evidence (id, project_id, entity_id, unit_hash, outcome, what, attachment_digest, actor_id,
                   done_at, created_at)
               values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
    let values = values![
        &new.id,
        &new.project_id,
        &new.entity_id,
        &new.unit_hash,
        &new.outcome,
        &new.what,
        &new.attachment_digest,
        &new.actor_id,
        new.done_at,
        new.created_at,
    ];
    tx.execute(sql, values)?;
    Ok(())
}

/// The manual evidence of entities, newest first.
pub fn of_entities(tx: &mut Tx<'_>, entity_ids: &[&str]) -> Result<Vec<ManualEvidence>> {
    let sql = if tx.is_postgres() {
        "select m.id, m.project_id, m.entity_id, m.unit_hash, m.outcome, m.what, m.attachment_digest, m.actor_id,
                coalesce(u.username, ''), m.done_at, m.created_at
         from unnest(string_to_array(?1, ',')) wanted (id) join manual_evidence m on m.entity_id = wanted.id
         left join user_account u on u.id = m.actor_id order by m.created_at desc, m.id desc"
    } else {
        "select m.id, m.project_id, m.entity_id, m.unit_hash, m.outcome, m.what, m.attachment_digest, m.actor_id,
                coalesce(u.username, ''), m.done_at, m.created_at
         from json_each(?1) wanted cross join manual_evidence m on m.entity_id = wanted.value
         left join user_account u on u.id = m.actor_id order by m.created_at desc, m.id desc"
    };
    let ids = tx.list(entity_ids);
    tx.rows(sql, values![&ids], |row| {
        Ok(ManualEvidence {
            id: row.get(0)?,
            project_id: row.get(1)?,
            entity_id: row.get(2)?,
            unit_hash: row.get(3)?,
            outcome: row.get(4)?,
            what: row.get(5)?,
            attachment_digest: row.get(6)?,
            actor_id: row.get(7)?,
            actor: row.get(8)?,
            done_at: row.get(9)?,
            created_at: row.get(10)?,
        })
    })
}

/// Removes the manual evidence of a purged entity, which may quote its text.
pub fn purge(tx: &mut Tx<'_>, entity_id: &str) -> Result<()> {
    tx.execute("delete from manual_evidence where entity_id = ?1", values![entity_id])?;
    Ok(())
}
