//! The creator and the creation time of imported entities. Only administrators can import those of others: what
//! anybody else imports is created by them, now, unless the row names them.

use store::model::Time;

use super::plan::Plan;
use super::rows::Row;
use crate::context::Cx;
use crate::error::Result;

/// The note for a row that names another creator.
const OF_ANOTHER: &str = "only administrators import what others made, so it is yours and made now";
/// The note for a row with only a time.
const TIME_OF_NOBODY: &str =
    "only administrators import times of what does not name you as its maker, so it is made now";

/// The creator and the time.
pub(super) struct Made {
    pub by_id: String,
    pub by: String,
    pub created_at: Time,
    pub updated_at: Time,
}

impl Plan<'_> {
    /// The creator of a new entity, whom `field` names, and the time.
    pub fn made(&mut self, cx: &mut Cx<'_, '_>, row: &Row, field: &'static str) -> Result<Made> {
        let named = self.user(cx, row, field)?;
        let created_at = self.time(row, "created_at");
        let updated_at = self.time(row, "updated_at");
        let by_administrator = self.is_by_administrator();
        let is_own = named.as_ref() == Some(&self.caller);
        if by_administrator || is_own {
            let (by_id, by) = named.unwrap_or_else(|| self.caller.clone());
            let created_at = created_at.unwrap_or(cx.now());
            return Ok(Made { by_id, by, created_at, updated_at: updated_at.unwrap_or(created_at) });
        }
        match (named, created_at) {
            (Some((_, name)), _) => self.note(row, field, OF_ANOTHER, format!("the file says {name}")),
            (None, Some(time)) => {
                self.note(row, "created_at", TIME_OF_NOBODY, format!("the file says {time}"));
            }
            (None, None) => {}
        }
        let (by_id, by) = self.caller.clone();
        Ok(Made { by_id, by, created_at: cx.now(), updated_at: cx.now() })
    }
}
