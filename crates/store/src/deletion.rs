//! Deletions. Whatever went with one names it, so that all of it can be brought back at once.

use crate::db::Tx;
use crate::error::Result;
use crate::model::Time;
use crate::values;

/// A deletion that is being made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deletion {
    /// The UUID.
    pub id: String,
    /// Who deletes.
    pub actor_id: String,
    /// When.
    pub at: Time,
}

impl Deletion {
    /// Notes what it began with. It must be noted before anything names it.
    pub fn note(&self, tx: &mut Tx<'_>, project_id: &str, root_id: &str) -> Result<()> {
        let sql = "insert into deletion (id, project_id, root_id, actor_id, deleted_at) values (?1, ?2, ?3, ?4, ?5)";
        tx.execute(sql, values![&self.id, project_id, root_id, &self.actor_id, self.at])?;
        Ok(())
    }
}
