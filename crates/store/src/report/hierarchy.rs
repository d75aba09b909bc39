//! What hangs below what, in numbers, and what hangs on nothing.

use schemars::JsonSchema;
use serde::Serialize;

use super::{Mention, Scope, in_scope, mention, read_mention};
use crate::db::Tx;
use crate::entity::read_kind;
use crate::error::Result;
use crate::model::Kind;
use crate::project::in_projects;
use crate::value::{Row, Value};
use crate::values;

/// How much there is of each kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Counts {
    /// Epics.
    pub epics: i64,
    /// User stories.
    pub user_stories: i64,
    /// Acceptance criteria.
    pub acceptance_criteria: i64,
    /// Requirements.
    pub requirements: i64,
}

macro_rules! counts {
    ($scope:ident) => {
        in_scope!($scope, "select e.kind, count(*)", "", "group by e.kind")
    };
}

/// How much a scope has of each kind.
pub fn counts(tx: &mut Tx<'_>, scope: &Scope) -> Result<Counts> {
    let sql = if scope.is_epic() { counts!(epic) } else { counts!(project) };
    let mut counts = Counts::default();
    tx.each(sql, &scope.values(), |row| {
        let number = row.get(1)?;
        match read_kind(&row.get::<String>(0)?)? {
            Kind::Epic => counts.epics = number,
            Kind::UserStory => counts.user_stories = number,
            Kind::AcceptanceCriteria => counts.acceptance_criteria = number,
            Kind::Requirement => counts.requirements = number,
            _ => {}
        }
        Ok(())
    })?;
    Ok(counts)
}

/// An epic with how much is below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EpicCounts {
    /// The epic.
    pub epic: Mention,
    /// Its id.
    pub id: String,
    /// User stories.
    pub user_stories: i64,
    /// Acceptance criteria of those.
    pub acceptance_criteria: i64,
    /// Requirements of those.
    pub requirements: i64,
}

/// The page of epics that the tree shows: `?1` to `?3` the projects, `?4` the epic, `?5` how many, `?6` how many come before.
macro_rules! page {
    () => {
        concat!(
            "with page (id, position) as (
             select e.id, row_number() over (order by p.key, e.number)
             from entity e join project p on p.id = e.project_id
             where e.kind = 'epic' and e.deleted_at is null and (e.id = ?4 or ?4 is null) and ",
            in_projects!("e.project_id", "?1", "?2", "?3"),
            "order by p.key, e.number limit ?5 offset ?6
         ) "
        )
    };
}

/// The first four parameters of a page.
fn page_of(scope: &Scope) -> [Value<'_>; 4] {
    match scope {
        Scope::Epic(id) => [Value::Null, Value::Null, Value::Null, id.into()],
        Scope::Projects(projects) => {
            let [project, user, token] = projects.values();
            [project, user, token, Value::Null]
        }
    }
}

/// A page of epics with how much is below them.
pub fn epics(tx: &mut Tx<'_>, scope: &Scope, limit: i64, offset: i64) -> Result<Vec<EpicCounts>> {
    let sql = concat!(
        page!(),
        "select ",
        mention!(),
        ", e.id, count(distinct story.id), count(child.id) filter (where child.kind = 'acceptance_criteria'),
            count(child.id) filter (where child.kind = 'requirement')
         from page join entity e on e.id = page.id join project p on p.id = e.project_id
         left join entity story on story.parent_id = e.id and story.deleted_at is null
         left join entity child on child.parent_id = story.id and child.deleted_at is null
         group by page.position, e.id, p.key, e.kind, e.number, e.title, e.description, e.status
         order by page.position"
    );
    let [project, user, token, epic] = page_of(scope);
    tx.rows(sql, values![project, user, token, epic, limit, offset], |row| {
        Ok(EpicCounts {
            epic: read_mention(row)?,
            id: row.get(5)?,
            user_stories: row.get(6)?,
            acceptance_criteria: row.get(7)?,
            requirements: row.get(8)?,
        })
    })
}

/// A user story with how much is below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoryCounts {
    /// The story.
    pub story: Mention,
    /// The id of its epic.
    pub epic_id: String,
    /// Acceptance criteria.
    pub acceptance_criteria: i64,
    /// Requirements.
    pub requirements: i64,
}

/// The stories of the same page of epics, at most `stories_max`.
pub fn stories(
    tx: &mut Tx<'_>,
    scope: &Scope,
    limit: i64,
    offset: i64,
    stories_max: i64,
) -> Result<Vec<StoryCounts>> {
    let sql = concat!(
        page!(),
        "select ",
        mention!(),
        ", e.parent_id, count(child.id) filter (where child.kind = 'acceptance_criteria'),
            count(child.id) filter (where child.kind = 'requirement')
         from page join entity e on e.parent_id = page.id and e.deleted_at is null
         join project p on p.id = e.project_id
         left join entity child on child.parent_id = e.id and child.deleted_at is null
         group by page.position, e.id, p.key, e.kind, e.number, e.title, e.description, e.status, e.parent_id
         order by page.position, e.number limit ?7"
    );
    let [project, user, token, epic] = page_of(scope);
    tx.rows(sql, values![project, user, token, epic, limit, offset, stories_max], |row| {
        Ok(StoryCounts {
            story: read_mention(row)?,
            epic_id: row.get(5)?,
            acceptance_criteria: row.get(6)?,
            requirements: row.get(7)?,
        })
    })
}

/// What an entity can lack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Gap {
    EpicWithoutStories,
    StoryWithoutCriteria,
    StoryWithoutRequirements,
    CriterionWithoutRequirements,
    RequirementWithoutCriterion,
}

macro_rules! gap {
    ($scope:ident, $condition:literal) => {
        (
            in_scope!(
                $scope,
                concat!("select ", mention!()),
                "join project p on p.id = e.project_id",
                concat!($condition, " order by p.key, e.number limit ?4")
            ),
            in_scope!($scope, "select count(*)", "", $condition),
        )
    };
}

macro_rules! every_gap {
    ($scope:ident, $gap:expr) => {
        match $gap {
            Gap::EpicWithoutStories => gap!(
                $scope,
                "and e.kind = 'epic' and not exists (select 1 from entity child
                     where child.parent_id = e.id and child.deleted_at is null)"
            ),
            Gap::StoryWithoutCriteria => gap!(
                $scope,
                "and e.kind = 'user_story' and not exists (select 1 from entity child
                     where child.parent_id = e.id and child.kind = 'acceptance_criteria' and child.deleted_at is null)"
            ),
            Gap::StoryWithoutRequirements => gap!(
                $scope,
                "and e.kind = 'user_story' and not exists (select 1 from entity child
                     where child.parent_id = e.id and child.kind = 'requirement' and child.deleted_at is null)"
            ),
            Gap::CriterionWithoutRequirements => gap!(
                $scope,
                "and e.kind = 'acceptance_criteria' and not exists (select 1 from entity served
                     where served.criterion_id = e.id and served.deleted_at is null)"
            ),
            Gap::RequirementWithoutCriterion => {
                gap!($scope, "and e.kind = 'requirement' and e.criterion_id is null")
            }
        }
    };
}

/// The first entities that lack something, and how many there are in all.
pub fn gap(tx: &mut Tx<'_>, scope: &Scope, gap: Gap, limit: i64) -> Result<(Vec<Mention>, i64)> {
    let [first, user, token] = scope.values();
    let (list, count) = if scope.is_epic() { every_gap!(epic, gap) } else { every_gap!(project, gap) };
    let found = tx.rows(list, values![first, user, token, limit], read_mention)?;
    if (found.len() as i64) < limit {
        let total = found.len() as i64;
        return Ok((found, total));
    }
    let total = tx.row(count, &scope.values(), |row: &Row<'_>| row.get(0))?;
    Ok((found, total.unwrap_or_default()))
}
