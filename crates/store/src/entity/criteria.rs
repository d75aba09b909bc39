//! The acceptance criteria of many user stories at once, for tables that compare them with requirements.

use crate::db::Tx;
use crate::error::Result;
use crate::model::{Kind, reference_id};
use crate::values;

/// An acceptance criterion, with the beginning of its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Criterion {
    /// The reference id.
    pub reference_id: String,
    /// The beginning of its text.
    pub text: String,
    /// The id of its user story.
    pub user_story_id: String,
}

/// The existing criteria of some user stories, story by story, by number.
pub fn criteria_of(tx: &mut Tx<'_>, story_ids: &[&str], limit: i64) -> Result<Vec<Criterion>> {
    macro_rules! select {
        ($ids:literal) => {
            concat!(
                "select p.key, e.number, substr(e.description, 1, 100), e.parent_id
                 from entity e join project p on p.id = e.project_id
                 where e.kind = 'acceptance_criteria' and e.deleted_at is null and e.parent_id ",
                $ids,
                " order by e.parent_id, e.number limit ?2"
            )
        };
    }
    let sql = if tx.is_postgres() {
        select!("in (select unnest(string_to_array(?1, ',')))")
    } else {
        select!("in (select value from json_each(?1))")
    };
    let ids = tx.list(story_ids);
    tx.rows(sql, values![&ids, limit], |row| {
        let key: String = row.get(0)?;
        Ok(Criterion {
            reference_id: reference_id(&key, Kind::AcceptanceCriteria, row.get(1)?),
            text: row.get(2)?,
            user_story_id: row.get(3)?,
        })
    })
}
