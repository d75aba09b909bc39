//! Filters of a search. A filter becomes terms of documents, so that the engines
//! intersect them with the words: a rare filter is as fast as a rare word.

use words::Expression;

use super::index::status_mark;
use crate::db::Tx;
use crate::error::Result;
use crate::member;
use crate::model::{Kind, Time};
use crate::project::Projects;
use crate::values;

/// More years, months and days than this are left to the statement. There are as many only if a clock was very wrong.
const DAYS_MAX: usize = 250;

/// A filter of documents. Absent conditions do not apply.
#[derive(Clone, Debug, Default)]
pub struct SearchFilter {
    /// One of these kinds.
    pub kinds: Vec<Kind>,
    /// In which projects.
    pub projects: Projects,
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
    /// The id of the assignee.
    pub assignee_id: Option<String>,
    /// The id of the creator.
    pub creator_id: Option<String>,
    /// Not created before.
    pub created_from: Option<Time>,
    /// Not created after.
    pub created_to: Option<Time>,
    /// Include deleted ones.
    pub include_deleted: bool,
    /// Possible external ids in the query. Their entities come first, as with reference ids.
    pub external_ids: Vec<String>,
}

/// The terms that documents must have, and those that they must not have.
pub(super) struct Marks {
    required: Vec<Expression>,
    excluded: Vec<Expression>,
}

impl Marks {
    /// Words within the filter. Exclusions come last, because engines start with the wanted terms.
    pub(super) fn among(&self, words: Expression, mark: Option<Expression>) -> Expression {
        let mut excluded = self.excluded.clone();
        let wanted = match words {
            Expression::Without(wanted, unwanted) => {
                excluded.push(*unwanted);
                *wanted
            }
            words => words,
        };
        let all: Vec<Expression> = self.required.iter().cloned().chain(mark).chain([wanted]).collect();
        let all = one_of(all, Expression::All);
        if excluded.is_empty() {
            return all;
        }
        Expression::Without(Box::new(all), Box::new(one_of(excluded, Expression::Any)))
    }
}

/// Expressions joined, where there are several.
fn one_of(mut expressions: Vec<Expression>, join: impl FnOnce(Vec<Expression>) -> Expression) -> Expression {
    if expressions.len() == 1 { expressions.remove(0) } else { join(expressions) }
}

impl SearchFilter {
    /// The conditions on terms. Times within a day are left to the statement.
    pub(super) fn marks(&self, tx: &mut Tx<'_>) -> Result<Marks> {
        let mut all = Vec::new();
        let mut any = |marks: Vec<String>| {
            let marks: Vec<Expression> = marks.into_iter().map(Expression::Term).collect();
            if !marks.is_empty() {
                all.push(one_of(marks, Expression::Any));
            }
        };
        any(self.kinds.iter().map(|kind| kind_mark(*kind)).collect());
        let (visible, hidden) = self.project_marks(tx)?;
        any(visible);
        let ids = [
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
            // A removed status must match nothing, instead of everything.
            statuses.push(format!("{}{}", status_mark(*kind), mark.unwrap_or_default()));
        }
        any(statuses);
        if self.created_from.is_some() || self.created_to.is_some() {
            any(self.days(tx)?);
        }
        let excluded = hidden.into_iter().map(Expression::Term).collect();
        Ok(Marks { required: all, excluded })
    }

    /// The terms of the searched projects, or of the others: whichever are fewer.
    fn project_marks(&self, tx: &mut Tx<'_>) -> Result<(Vec<String>, Vec<String>)> {
        let marks = |ids: Vec<String>| ids.iter().map(|id| id_mark("fj", id)).collect::<Vec<_>>();
        let viewer = match &self.projects {
            Projects::All => return Ok((Vec::new(), Vec::new())),
            Projects::One(id) => return Ok((vec![id_mark("fj", id)], Vec::new())),
            Projects::VisibleTo(viewer) => viewer,
        };
        let (visible, hidden) = member::visible_and_hidden(tx, viewer)?;
        if visible.is_empty() {
            // No document has this term: an empty list would match everything.
            return Ok((vec!["fj".to_owned()], Vec::new()));
        }
        if visible.len() <= hidden.len() {
            Ok((marks(visible), Vec::new()))
        } else {
            Ok((Vec::new(), marks(hidden)))
        }
    }

    /// The years, months and days that together cover the requested time, as far as there are documents.
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
            // Nothing was created in that time; no document has this term.
            marks.push("fd".to_owned());
        }
        Ok(marks)
    }
}

/// The terms for the day, the month and the year of a creation.
pub(super) fn day_marks(time: Time) -> [String; 3] {
    let (year, month, day) = Time::civil(time.day());
    [format!("fd{year:04}{month:02}{day:02}"), format!("fm{year:04}{month:02}"), format!("fy{year:04}")]
}

/// The term for a kind.
pub(super) fn kind_mark(kind: Kind) -> String {
    let name = if kind == Kind::Comment { "com" } else { kind.prefix() };
    format!("fk{}", name.to_ascii_lowercase())
}

/// The term for a UUID.
pub(super) fn id_mark(name: &str, id: &str) -> String {
    format!("{name}{}", id.replace('-', ""))
}
