//! The tree in numbers, and its gaps.

use schemars::JsonSchema;
use serde::Serialize;

use super::{Mention, Scope, from_epic, in_epic, mention, read_mention};
use crate::db::{Shape, Tx};
use crate::entity::read_kind;
use crate::error::Result;
use crate::model::Kind;
use crate::project::in_projects;
use crate::tally::{self, Dimension, Total};
use crate::value::Value;
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

/// How much a scope has of each kind.
pub fn counts(tx: &mut Tx<'_>, scope: &Scope) -> Result<Counts> {
    let of_epic = in_epic!("select e.kind, count(*)", "", "group by e.kind");
    let of_projects = concat!(
        "select t.kind, cast(sum(t.n) as bigint) from tallied t
         where t.dimension = 'status' and t.kind in ('epic', 'user_story', 'acceptance_criteria', 'requirement') and ",
        in_projects!("t.project_id", "?1", "?2", "?3"),
        " group by t.kind"
    );
    let sql = if scope.is_epic() { of_epic } else { of_projects };
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

/// The page of epics that the tree shows: `?1` to `?3` the projects, `?4` how many, `?5` how many come before. An epic is a
/// page of its own.
macro_rules! page {
    (epic) => {
        "with page (id) as (
             select e.id from entity e
             where e.id = ?1 and cast(?2 as text) is null and cast(?3 as text) is null and cast(?4 as bigint) > 0
               and cast(?5 as bigint) = 0
         ) "
    };
    (projects) => {
        concat!(
            "with page (id) as (
             select e.id from project p cross join entity e
             where e.project_id = p.id and e.kind = 'epic' and e.deleted_at is null and ",
            in_projects!("p.id", "?1", "?2", "?3"),
            "order by p.key, e.number limit ?4 offset ?5
         ) "
        )
    };
}

/// A page of epics with the numbers below them.
pub fn epics(tx: &mut Tx<'_>, scope: &Scope, limit: i64, offset: i64) -> Result<Vec<EpicCounts>> {
    macro_rules! epics {
        ($scope:ident) => {
            concat!(
                page!($scope),
                "select ",
                mention!(),
                ", e.id, (select count(*) from entity story
                          where story.parent_id = e.id and story.kind = 'user_story' and story.deleted_at is null),
                    (select count(*) from entity story join entity child on child.parent_id = story.id
                     where story.parent_id = e.id and story.deleted_at is null
                       and child.kind = 'acceptance_criteria' and child.deleted_at is null),
                    (select count(*) from entity story join entity child on child.parent_id = story.id
                     where story.parent_id = e.id and story.deleted_at is null
                       and child.kind = 'requirement' and child.deleted_at is null)
                 from page cross join entity e join project p on p.id = e.project_id where e.id = page.id
                 order by p.key, e.number"
            )
        };
    }
    let sql = if scope.is_epic() { epics!(epic) } else { epics!(projects) };
    let [first, user, token] = scope.values();
    tx.rows(sql, values![first, user, token, limit, offset], |row| {
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
    /// Its id.
    pub id: String,
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
    macro_rules! stories {
        ($scope:ident) => {
            concat!(
                page!($scope),
                "select ",
                mention!(),
                ", e.parent_id, e.id,
                    (select count(*) from entity child
                     where child.parent_id = e.id and child.kind = 'acceptance_criteria' and child.deleted_at is null),
                    (select count(*) from entity child
                     where child.parent_id = e.id and child.kind = 'requirement' and child.deleted_at is null)
                 from page cross join entity epic cross join entity e join project p on p.id = e.project_id
                 where epic.id = page.id and e.parent_id = page.id and e.deleted_at is null
                 order by p.key, epic.number, e.number limit ?6"
            )
        };
    }
    let sql = if scope.is_epic() { stories!(epic) } else { stories!(projects) };
    let [first, user, token] = scope.values();
    tx.rows(sql, values![first, user, token, limit, offset, stories_max], |row| {
        Ok(StoryCounts {
            story: read_mention(row)?,
            epic_id: row.get(5)?,
            id: row.get(6)?,
            acceptance_criteria: row.get(7)?,
            requirements: row.get(8)?,
        })
    })
}

/// How many requirements and criteria of a user story something cites, and how many evidence closes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoryVerification {
    /// The id of the story.
    pub id: String,
    /// The id of its epic.
    pub epic_id: String,
    /// How many something cites.
    pub n_cited: i64,
    /// How many evidence closes.
    pub n_verified: i64,
}

/// The stories of the same page of epics with cited or closed requirements.
pub fn verified_stories(
    tx: &mut Tx<'_>,
    scope: &Scope,
    limit: i64,
    offset: i64,
) -> Result<Vec<StoryVerification>> {
    macro_rules! verified {
        ($scope:ident) => {
            concat!(
                page!($scope),
                "select story.id, story.parent_id, cast(sum(v.is_cited) as bigint), cast(sum(v.is_verified) as bigint)
                 from page cross join entity story cross join entity e cross join verification v
                 where story.parent_id = page.id and story.deleted_at is null
                   and e.parent_id = story.id and e.deleted_at is null and v.entity_id = e.id
                 group by story.id, story.parent_id"
            )
        };
    }
    let sql = if scope.is_epic() { verified!(epic) } else { verified!(projects) };
    let [first, user, token] = scope.values();
    tx.rows(sql, values![first, user, token, limit, offset], |row| {
        Ok(StoryVerification {
            id: row.get(0)?,
            epic_id: row.get(1)?,
            n_cited: row.get(2)?,
            n_verified: row.get(3)?,
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

impl Gap {
    /// The condition that an entity `e` is a gap.
    const fn condition(self) -> &'static str {
        match self {
            Gap::EpicWithoutStories => {
                "e.kind = 'epic' and not exists (select 1 from entity child
                     where child.parent_id = e.id and child.deleted_at is null)"
            }
            Gap::StoryWithoutCriteria => {
                "e.kind = 'user_story' and not exists (select 1 from entity child
                     where child.parent_id = e.id and child.kind = 'acceptance_criteria' and child.deleted_at is null)"
            }
            Gap::StoryWithoutRequirements => {
                "e.kind = 'user_story' and not exists (select 1 from entity child
                     where child.parent_id = e.id and child.kind = 'requirement' and child.deleted_at is null)"
            }
            Gap::CriterionWithoutRequirements => {
                "e.kind = 'acceptance_criteria' and not exists (select 1 from entity served
                     where served.criterion_id = e.id and served.deleted_at is null)"
            }
            Gap::RequirementWithoutCriterion => "e.kind = 'requirement' and e.criterion_id is null",
        }
    }

    /// Selects the gaps among the entities `e` of a scope, and their projects `p`.
    fn among<'a>(self, select: &'static str, scope: &'a Scope) -> Shape<'a> {
        let mut shape = Shape::new(select);
        match scope {
            Scope::Epic(id) => {
                shape.add(from_epic!("?", "?", "?"), values![id, id, id]);
                shape.add(" join project p on p.id = e.project_id", &[]);
            }
            Scope::Projects(projects) => {
                // `cross join` makes SQLite read projects in the order of their keys, and stop when there are enough.
                shape.add(" from project p cross join entity e", &[]).condition("e.project_id = p.id", &[]);
                projects.restrict(&mut shape, "p.id");
            }
        }
        shape.condition("e.deleted_at is null", &[]).condition(self.condition(), &[]);
        shape
    }
}

/// The first gaps, and their number.
pub fn gap(tx: &mut Tx<'_>, scope: &Scope, gap: Gap, limit: i64) -> Result<(Vec<Mention>, Total)> {
    let mut list = gap.among(concat!("select ", mention!()), scope);
    list.add(" order by p.key, e.number limit ?", values![limit]);
    let found = tx.shaped_rows(&list, read_mention)?;
    let total = match scope {
        _ if (found.len() as i64) < limit => Total::exact(found.len() as i64),
        Scope::Projects(projects) if gap == Gap::RequirementWithoutCriterion => {
            let without = [Value::Text("0")];
            Total::exact(tally::sum(tx, Kind::Requirement.name(), projects, Dimension::Criterion, &without)?)
        }
        scope => tally::counted(tx, gap.among("select 1", scope))?,
    };
    Ok((found, total))
}
