//! Which documents a search is among. A filter becomes terms that documents are marked with, so that the engines
//! intersect them with the words: a rare filter is as quick as a rare word.

use words::Expression;

use super::index::status_mark;
use crate::db::Tx;
use crate::error::Result;
use crate::model::{Kind, Time};
use crate::values;

/// Of more years, months and days the statement alone makes sure. There are as many only if a clock was very wrong.
const DAYS_MAX: usize = 250;

/// Which documents to search. What is not given is not asked for.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// One of these kinds.
    pub kinds: Vec<Kind>,
    /// The id of the project.
    pub project_id: Option<String>,
    /// One of these statuses, each of a kind.
    pub statuses: Vec<(Kind, String)>,
    /// One of these priorities.
    pub priorities: Vec<i64>,
    /// The id of the requirement type.
    pub type_id: Option<String>,
    /// The id of the epic that it is part of.
    pub epic_id: Option<String>,
    /// The id of the user story that it is part of.
    pub user_story_id: Option<String>,
    /// The id of who works on it.
    pub assignee_id: Option<String>,
    /// The id of who made it.
    pub creator_id: Option<String>,
    /// Not made before.
    pub created_from: Option<Time>,
    /// Not made after.
    pub created_to: Option<Time>,
    /// Deleted ones too.
    pub include_deleted: bool,
}

impl Filter {
    /// The conditions on marks. Times within a day are left to the statement.
    pub(super) fn expressions(&self, tx: &mut Tx<'_>) -> Result<Vec<Expression>> {
        let mut all = Vec::new();
        let mut any = |marks: Vec<String>| {
            let mut marks: Vec<Expression> = marks.into_iter().map(Expression::Term).collect();
            match marks.len() {
                0 => {}
                1 => all.push(marks.remove(0)),
                _ => all.push(Expression::Any(marks)),
            }
        };
        any(self.kinds.iter().map(|kind| kind_mark(*kind)).collect());
        let ids = [
            ("fj", &self.project_id),
            ("ft", &self.type_id),
            ("fe", &self.epic_id),
            ("fu", &self.user_story_id),
            ("fa", &self.assignee_id),
            ("fc", &self.creator_id),
        ];
        for (name, id) in ids {
            any(id.as_deref().map(|id| id_mark(name, id)).into_iter().collect());
        }
        any(self.priorities.iter().map(|priority| format!("fp{priority}")).collect());
        let mut statuses = Vec::new();
        for (kind, name) in &self.statuses {
            let sql = "select mark from status where entity_kind = ?1 and name = ?2";
            let mark: Option<i64> = tx.row(sql, values![kind.name(), name], |row| row.get(0))?;
            // A status that is gone must not become no filter at all.
            statuses.push(format!("{}{}", status_mark(*kind), mark.unwrap_or_default()));
        }
        any(statuses);
        if self.created_from.is_some() || self.created_to.is_some() {
            any(self.days(tx)?);
        }
        Ok(all)
    }

    /// The years, months and days that together are the time asked for, as far as there are documents.
    fn days(&self, tx: &mut Tx<'_>) -> Result<Vec<String>> {
        let sql = "select (select min(created_at) from search_document), (select max(created_at) from search_document)";
        let range: Option<(Option<Time>, Option<Time>)> =
            tx.row(sql, &[], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let Some((Some(first), Some(last))) = range else { return Ok(Vec::new()) };
        let from = self.created_from.map_or(first, |from| from.max(first));
        let to = self.created_to.map_or(last, |to| to.min(last));
        let mut marks = Vec::new();
        let (mut day, end) = (from.day(), to.day());
        while day <= end {
            let (year, month, of_month) = Time::civil(day);
            let next_year = Time::day_of(year + 1, 1, 1);
            let next_month = if month == 12 { next_year } else { Time::day_of(year, month + 1, 1) };
            if (month, of_month) == (1, 1) && next_year - 1 <= end {
                marks.push(format!("fy{year:04}"));
                day = next_year;
            } else if of_month == 1 && next_month - 1 <= end {
                marks.push(format!("fm{year:04}{month:02}"));
                day = next_month;
            } else {
                marks.push(format!("fd{year:04}{month:02}{of_month:02}"));
                day += 1;
            }
        }
        if marks.len() > DAYS_MAX {
            return Ok(Vec::new());
        }
        if marks.is_empty() {
            // Nothing was made in that time; no document has this mark.
            marks.push("fd".to_owned());
        }
        Ok(marks)
    }
}

/// The marks of the day, the month and the year in which something was made.
pub(super) fn day_marks(time: Time) -> [String; 3] {
    let (year, month, day) = Time::civil(time.day());
    [format!("fd{year:04}{month:02}{day:02}"), format!("fm{year:04}{month:02}"), format!("fy{year:04}")]
}

/// The mark of a kind.
pub(super) fn kind_mark(kind: Kind) -> String {
    let name = if kind == Kind::Comment { "com" } else { kind.prefix() };
    format!("fk{}", name.to_ascii_lowercase())
}

/// The mark of something with a UUID.
pub(super) fn id_mark(name: &str, id: &str) -> String {
    format!("{name}{}", id.replace('-', ""))
}
