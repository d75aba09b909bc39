//! Lists of entities: filtered, sorted, by page. The filters decide which index serves a list, so a
//! statement has only the given conditions, and other columns are looked up only for the entities of the page.

use serde::{Deserialize, Serialize};

use super::filter::{EntityFilter, Lack};
use super::{Entity, read, select_entity};
use crate::db::{Shape, Tx};
use crate::error::Result;
use crate::tally::{self, Dimension, Total};
use crate::value::Value;
use crate::values;

/// The order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sort {
    /// By number, project after project.
    #[default]
    Number,
    /// By number, the highest first, project after project.
    NumberDescending,
    /// By title.
    Title,
    /// By priority, the most important first.
    Priority,
    /// By creation, newest first.
    Created,
    /// By last change, newest first.
    Updated,
}

/// The part of a list to read.
#[derive(Clone, Debug)]
pub struct Page {
    /// After this position; default: from the beginning.
    pub after: Option<Place>,
    /// How many to skip from there.
    pub offset: i64,
    /// How many to read.
    pub limit: i64,
}

impl Page {
    /// The first few.
    pub fn first(limit: i64) -> Page {
        Page { after: None, offset: 0, limit }
    }
}

/// The position of an entity in a sorted list. It does not move when others are created or deleted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The sort key before projects and numbers.
    pub by: By,
    /// The key of the project.
    pub project: String,
    /// The number.
    pub number: i64,
}

/// A sort key before projects and numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum By {
    /// Nothing.
    Number,
    /// The title, or empty.
    Title(String),
    /// The priority, or zero.
    Priority(i64),
    /// A time, in microseconds.
    Time(i64),
}

impl Sort {
    /// The position of an entity in this order.
    pub fn place(self, entity: &Entity) -> Place {
        let by = match self {
            Sort::Number | Sort::NumberDescending => By::Number,
            Sort::Title => By::Title(entity.title.clone().unwrap_or_default()),
            Sort::Priority => By::Priority(entity.priority.unwrap_or_default()),
            Sort::Created => By::Time(entity.created_at.microseconds()),
            Sort::Updated => By::Time(entity.updated_at.microseconds()),
        };
        Place { by, project: entity.project.clone(), number: entity.number }
    }

    const fn order(self) -> &'static str {
        match self {
            Sort::Number => " order by p.key, e.kind, e.number",
            Sort::NumberDescending => " order by p.key, e.kind, e.number desc",
            Sort::Title => " order by coalesce(e.title, ''), p.key, e.number",
            Sort::Priority => " order by coalesce(e.priority, 0), p.key, e.number",
            Sort::Created => " order by e.created_at desc, p.key desc, e.number desc",
            Sort::Updated => " order by e.updated_at desc, p.key desc, e.number desc",
        }
    }

    /// The same among those of one kind in one project, as an index has it.
    const fn order_in_project(self) -> Option<&'static str> {
        match self {
            Sort::Number => Some(" order by e.number"),
            Sort::NumberDescending => Some(" order by e.number desc"),
            Sort::Created => Some(" order by e.created_at desc, e.number desc"),
            Sort::Updated => Some(" order by e.updated_at desc, e.number desc"),
            Sort::Title | Sort::Priority => None,
        }
    }

    /// Adds the condition that an entity `e` of a project `p` comes after a position.
    fn restrict<'a>(self, shape: &mut Shape<'a>, place: &'a Place) {
        let Place { by, project, number } = place;
        match (self, by) {
            // Each project is read from the number where its part of the page begins.
            (Sort::NumberDescending, _) => {
                let condition = "p.key >= ? and e.number < case when p.key = ? then cast(? as bigint) else 9223372036854775807 end";
                shape.condition(condition, values![project, project, *number]);
            }
            (Sort::Title, By::Title(title)) => {
                let condition = "coalesce(e.title, '') >= ?
                    and (coalesce(e.title, '') > ? or p.key > ? or (p.key = ? and e.number > ?))";
                shape.condition(condition, values![title, title, project, project, *number]);
            }
            (Sort::Priority, By::Priority(priority)) => {
                let condition = "coalesce(e.priority, 0) >= ?
                    and (coalesce(e.priority, 0) > ? or p.key > ? or (p.key = ? and e.number > ?))";
                shape.condition(condition, values![*priority, *priority, project, project, *number]);
            }
            (Sort::Created, By::Time(time)) => {
                let condition =
                    "e.created_at <= ? and (e.created_at < ? or p.key < ? or (p.key = ? and e.number < ?))";
                shape.condition(condition, values![*time, *time, project, project, *number]);
            }
            (Sort::Updated, By::Time(time)) => {
                let condition =
                    "e.updated_at <= ? and (e.updated_at < ? or p.key < ? or (p.key = ? and e.number < ?))";
                shape.condition(condition, values![*time, *time, project, project, *number]);
            }
            _ => {
                let condition =
                    "p.key >= ? and e.number > case when p.key = ? then cast(? as bigint) else 0 end";
                shape.condition(condition, values![project, project, *number]);
            }
        }
    }
}

/// A page of entities.
pub fn list(tx: &mut Tx<'_>, filter: &EntityFilter, sort: Sort, page: &Page) -> Result<Vec<Entity>> {
    let is_postgres = tx.is_postgres();
    let mut shape = Shape::new(select_entity!("where e.id in ("));
    match sort {
        Sort::Created | Sort::Updated if !filter.is_of_one_project() && !filter.is_narrow() => {
            newest_of_projects(&mut shape, filter, sort, page, is_postgres);
        }
        // Of several statuses each has its own range of an index, in order; these are merged.
        Sort::Number | Sort::NumberDescending if filter.statuses.len() > 1 && !filter.is_narrow() => {
            let reach = page.limit + page.offset;
            shape.add("select merged.id from (", &[]);
            for (index, status) in filter.statuses.iter().enumerate() {
                shape.add(if index > 0 { " union all select * from (" } else { "select * from (" }, &[]);
                ids(&mut shape, "select e.id, p.key, e.kind, e.number from ", filter, sort, page);
                shape.condition("e.status = ?", values![status]);
                shape.add(in_order(filter, sort), &[]).add(" limit ?) part", values![reach]);
            }
            let order = match sort {
                Sort::NumberDescending => ") merged order by key, kind, number desc",
                _ => ") merged order by key, kind, number",
            };
            shape.add(order, &[]).add(" limit ? offset ?", values![page.limit, page.offset]);
        }
        _ => {
            ids(&mut shape, "select e.id from ", filter, sort, page);
            filter.restrict_statuses(&mut shape);
            shape.add(in_order(filter, sort), &[]).add(" limit ? offset ?", values![page.limit, page.offset]);
        }
    }
    shape.add(")", &[]).add(sort.order(), &[]);
    tx.shaped_rows(&shape, read)
}

/// The best order for a database: within one project that of an index.
fn in_order(filter: &EntityFilter, sort: Sort) -> &'static str {
    let in_project = sort.order_in_project().filter(|_| filter.is_of_one_project());
    in_project.unwrap_or(sort.order())
}

/// Selects from the entities of a filter after the start of a page.
fn ids<'a>(
    shape: &mut Shape<'a>,
    select: &'static str,
    filter: &'a EntityFilter,
    sort: Sort,
    page: &'a Page,
) {
    shape.select(select);
    from(shape, filter);
    if let Some(place) = &page.after {
        sort.restrict(shape, place);
    }
}

/// Adds entities `e` and their projects `p`, and the conditions of a filter. Indexes begin with a project, so every
/// project is read separately: `cross join` makes SQLite do so in the order of their keys, and stop when a page is full.
fn from<'a>(shape: &mut Shape<'a>, filter: &'a EntityFilter) {
    if filter.is_of_one_project() || filter.is_narrow() {
        shape.add("entity e join project p on p.id = e.project_id", &[]);
    } else {
        shape.add("project p cross join entity e", &[]).condition("e.project_id = p.id", &[]);
    }
    filter.restrict(shape);
}

/// Selects the ids of a page of the newest among several projects, from the newest of each.
fn newest_of_projects<'a>(
    shape: &mut Shape<'a>,
    filter: &'a EntityFilter,
    sort: Sort,
    page: &'a Page,
    is_postgres: bool,
) {
    shape.add("select e.id from project p cross join ", &[]);
    shape.add(if is_postgres { "lateral (select e.*" } else { "entity e where e.id in (select e.id" }, &[]);
    shape.select(" from entity e").condition("e.project_id = p.id", &[]);
    filter.restrict(shape);
    filter.restrict_statuses(shape);
    if let Some(place) = &page.after {
        sort.restrict(shape, place);
    }
    let newest = match sort {
        Sort::Updated => " order by e.updated_at desc, e.number desc limit ?)",
        _ => " order by e.created_at desc, e.number desc limit ?)",
    };
    shape.add(newest, values![page.limit + page.offset]).add(if is_postgres { " e" } else { "" }, &[]);
    shape.add(sort.order(), &[]).add(" limit ? offset ?", values![page.limit, page.offset]);
}

/// The number on all pages.
pub fn count(tx: &mut Tx<'_>, filter: &EntityFilter) -> Result<Total> {
    if let Some((dimension, wanted)) = filter.dimension() {
        let kind = filter.kind.map_or("", |kind| kind.name());
        let wanted: Vec<Value<'_>> = wanted.iter().map(Value::from).collect();
        return tally::sum(tx, kind, &filter.projects, dimension, &wanted).map(Total::exact);
    }
    let mut shape = Shape::new("select 1 from ");
    from(&mut shape, filter);
    filter.restrict_statuses(&mut shape);
    tally::counted(tx, shape)
}

impl EntityFilter {
    /// The field whose counters give the total, and its values. None if the filter has more than one condition.
    fn dimension(&self) -> Option<(Dimension, Vec<String>)> {
        let EntityFilter { type_id, assignee_id, creator_id, .. } = self;
        let times = [self.created_from, self.created_to, self.updated_from, self.updated_to];
        let is_counted = self.kind.is_some()
            && !self.include_deleted
            && !self.is_narrow()
            && creator_id.is_none()
            && self.lacks != Some(Lack::Relationship)
            && times.iter().all(Option::is_none);
        let mut given = Vec::new();
        if !self.statuses.is_empty() {
            given.push((Dimension::Status, self.statuses.clone()));
        }
        if !self.priorities.is_empty() {
            given.push((Dimension::Priority, self.priorities.iter().map(i64::to_string).collect()));
        }
        given.extend(type_id.clone().map(|id| (Dimension::Type, vec![id])));
        given.extend(assignee_id.clone().map(|id| (Dimension::Assignee, vec![id])));
        given.extend(self.lacks.map(|_| (Dimension::Criterion, vec!["0".to_owned()])));
        match given.len() {
            _ if !is_counted => None,
            0 => Some((Dimension::Status, Vec::new())),
            1 => given.pop(),
            _ => None,
        }
    }
}
