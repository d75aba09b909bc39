//! Imports epics, user stories, acceptance criteria, requirements and steering documents.

use std::collections::{BTreeMap, BTreeSet};

use ::exchange::Kind as RecordKind;
use store::entity::Entity;
use store::model::{DEFAULT_PROJECT_KEY, Kind, Reference};
use store::types::same_name;

use super::plan::{Outcome, Plan, Planned};
use crate::context::Cx;
use crate::entity::{add, add_numbered, change, give_number, move_below, unnumbered};
use crate::error::{Error, Result};
use crate::input::{Description, Text, Title};

/// Parents before children, whatever the order in the file.
const KINDS: [(RecordKind, Kind); 5] = [
    (RecordKind::Epic, Kind::Epic),
    (RecordKind::UserStory, Kind::UserStory),
    (RecordKind::AcceptanceCriteria, Kind::AcceptanceCriteria),
    (RecordKind::Requirement, Kind::Requirement),
    (RecordKind::SteeringDocument, Kind::SteeringDocument),
];
/// The largest number that a file may bring along: what is made afterwards gets higher ones.
const NUMBER_MAX: i64 = 999_999_999;
/// The priority of what says none: medium.
const PRIORITY: i64 = 3;

/// Decides what the rows do.
pub(super) fn plan(cx: &mut Cx<'_, '_>, plan: &mut Plan<'_>) -> Result<()> {
    for (record_kind, kind) in KINDS {
        for row in plan.rows(record_kind) {
            plan_row(cx, plan, row, kind)?;
            if plan.outcomes[row] == Outcome::Wrong || plan.outcomes[row] == Outcome::LeftOut {
                plan.forget(row);
            }
            cx.steps.advance();
        }
    }
    Ok(())
}

fn plan_row(cx: &mut Cx<'_, '_>, plan: &mut Plan<'_>, row: usize, kind: Kind) -> Result<()> {
    let Some(existing) = existing(cx, plan, row, kind)? else { return Ok(()) };
    let (field, parent_kind) = match kind.parent() {
        Some(Kind::Epic) => ("epic", Some(Kind::Epic)),
        Some(_) => ("user_story", Some(Kind::UserStory)),
        None => ("", None),
    };
    let parent = match parent_kind {
        Some(_) => match plan.named(cx, row, field, parent_kind)? {
            Some(parent) => Some(parent),
            None => return Ok(()),
        },
        None => None,
    };
    let mut entity = match &existing {
        Existing::Stored(before) => (**before).clone(),
        Existing::New { project, number } => {
            let Some(new) = begin(cx, plan, row, kind, project.as_deref(), *number, parent)? else {
                return Ok(());
            };
            new
        }
    };
    let before = match existing {
        Existing::Stored(before) => Some(*before),
        Existing::New { .. } => None,
    };
    fill(cx, plan, row, before.as_ref(), &mut entity)?;
    if let Some(parent) = parent {
        place(cx, plan, row, before.as_ref(), &mut entity, field, parent)?;
    }
    let outcome = match &before {
        None => Outcome::Created,
        Some(before) if *before == entity => Outcome::Unchanged,
        Some(before) => {
            plan.is_stale(row, &before.reference_id, before.version);
            Outcome::Updated
        }
    };
    plan.decide(row, outcome);
    if !plan.is_wrong(row) {
        plan.references[row] = Some(entity.reference_id.clone()).filter(|reference| !reference.is_empty());
        let brings_number = before.is_none() && entity.number > 0;
        plan.add(row, Planned { row: Some(row), before, entity, brings_number });
    }
    Ok(())
}

/// What a row's own name says about it.
enum Existing {
    Stored(Box<Entity>),
    New { project: Option<String>, number: Option<i64> },
}

/// Finds what a row is about. None when it is noted why that cannot be.
fn existing(cx: &mut Cx<'_, '_>, plan: &mut Plan<'_>, row: usize, kind: Kind) -> Result<Option<Existing>> {
    let reference = plan.text(row, "reference_id").and_then(|text| plan.reference(text));
    let id = plan.id(row);
    let stored = match (&reference, plan.text(row, "reference_id"), id) {
        (Some(reference @ Reference::Numbered { project, kind: named, number }), ..) => {
            let key = project.as_deref().unwrap_or(DEFAULT_PROJECT_KEY);
            if *named != kind {
                let message =
                    format!("{reference} names a {}, and this is a {}", named.words(), kind.words());
                plan.wrong(row, "reference_id", message);
                return Ok(None);
            }
            if *number > NUMBER_MAX {
                plan.wrong(
                    row,
                    "reference_id",
                    format!("expected a number up to {NUMBER_MAX}, found {number}"),
                );
                return Ok(None);
            }
            if !plan.projects.contains_key(key) {
                plan.wrong(
                    row,
                    "reference_id",
                    format!("there is no project {key}, neither in the file nor here"),
                );
                return Ok(None);
            }
            plan.stored(cx, reference)?
        }
        (_, None, Some(id)) => plan.stored(cx, &Reference::Id(id))?,
        _ => None,
    };
    let Some(stored) = stored else {
        let new = match reference {
            Some(Reference::Numbered { project, number, .. }) => Existing::New {
                project: project.or(Some(DEFAULT_PROJECT_KEY.to_owned())),
                number: Some(number),
            },
            _ => Existing::New { project: None, number: None },
        };
        return Ok(Some(new));
    };
    let field = if reference.is_some() { "reference_id" } else { "id" };
    if stored.kind != kind {
        let message =
            format!("{} is a {}, and this is a {}", stored.reference_id, stored.kind.words(), kind.words());
        plan.wrong(row, field, message);
        return Ok(None);
    }
    if let Some(deleted_at) = stored.deleted_at {
        let message = format!("{} was deleted at {deleted_at}; restore it first", stored.reference_id);
        plan.wrong(row, field, message);
        return Ok(None);
    }
    Ok(Some(Existing::Stored(Box::new(stored))))
}

/// Something new: its project, its number if it brings one, its id if that is free.
fn begin(
    cx: &mut Cx<'_, '_>,
    plan: &mut Plan<'_>,
    row: usize,
    kind: Kind,
    project_key: Option<&str>,
    number: Option<i64>,
    parent: Option<usize>,
) -> Result<Option<Entity>> {
    let above = parent.map(|index| &plan.entities[index].entity);
    let (project_id, key) = match (above, project_key) {
        (Some(above), Some(key)) if above.project != key => {
            let message =
                format!("it is in the project {key}, and what it belongs to is in {}", above.project);
            plan.wrong(row, "reference_id", message);
            return Ok(None);
        }
        (Some(above), _) => (above.project_id.clone(), above.project.clone()),
        (None, Some(key)) => (plan.projects[key].id.clone(), key.to_owned()),
        (None, None) => (plan.project().id, plan.project().key),
    };
    let mut new = unnumbered(cx, kind, (&project_id, &key), above)?;
    if let Some(number) = number {
        give_number(&mut new, number);
    }
    if let Some(id) = plan.id(row)
        && !plan.is_taken(cx, &id)?
    {
        new.id = id;
    }
    Ok(Some(new))
}

/// Takes the fields that a row has. What it does not say stays, or is as in everything new.
fn fill(
    cx: &mut Cx<'_, '_>,
    plan: &mut Plan<'_>,
    row: usize,
    before: Option<&Entity>,
    entity: &mut Entity,
) -> Result<()> {
    let records = plan.records;
    let record = &records[row];
    let kind = entity.kind;
    if let Some(text) = record.text("title").filter(|_| kind != Kind::AcceptanceCriteria) {
        let checked = plan.checked(row, "title", Title::new(text.to_owned()));
        entity.title = checked.map(Text::into_string).or(entity.title.take());
    }
    if let Some(text) = record.text("description") {
        let checked = if kind == Kind::AcceptanceCriteria {
            Text::<1, 50_000>::new(text.to_owned()).map(Text::into_string)
        } else {
            Description::new(text.to_owned()).map(Text::into_string)
        };
        entity.description = plan.checked(row, "description", checked).or(entity.description.take());
    }
    if kind.has_status() {
        match record.number("priority") {
            Some(priority) if (1..=4).contains(&priority) => entity.priority = Some(priority),
            Some(priority) => plan.wrong(row, "priority", format!("expected 1 to 4, found {priority}")),
            None => entity.priority = entity.priority.or(Some(PRIORITY)),
        }
        set_status(plan, row, before, entity);
    }
    if kind == Kind::Requirement {
        set_type(plan, row, entity);
    }
    if before.is_none() {
        let maker = if kind == Kind::AcceptanceCriteria { "author" } else { "creator" };
        (entity.creator_id, entity.creator) = plan.maker(cx, row, maker)?;
        entity.created_at = plan.time(row, "created_at").unwrap_or(cx.now());
        entity.updated_at = plan.time(row, "updated_at").unwrap_or(entity.created_at);
        entity.version = plan.version(row).unwrap_or(1);
        // Which of its versions last changed the text is not told; links say what they hold for.
        entity.content_version = entity.version;
    }
    if kind.has_status() {
        match plan.user(cx, row, "assignee")? {
            Some((id, name)) => (entity.assignee_id, entity.assignee) = (Some(id), Some(name)),
            // Exports say the version of everything; then nobody means nobody.
            None if before.is_none() && plan.records[row].number("version").is_none() => {
                (entity.assignee_id, entity.assignee) =
                    (Some(entity.creator_id.clone()), Some(entity.creator.clone()));
            }
            None => {}
        }
    }
    Ok(())
}

fn set_status(plan: &mut Plan<'_>, row: usize, before: Option<&Entity>, entity: &mut Entity) {
    let model = &plan.models[&entity.kind];
    let Some(text) = plan.text(row, "status") else {
        if before.is_none() {
            entity.status = model.initial().map(|status| status.name.clone());
        }
        return;
    };
    let Some(found) = model.status(text).map(|status| status.name.clone()) else {
        let known: Vec<&str> = model.statuses.iter().map(|status| status.name.as_str()).collect();
        let message = format!("expected one of {}, found {text:?}", known.join(", "));
        return plan.wrong(row, "status", message);
    };
    let from = before.and_then(|before| before.status.as_deref());
    if let Some(from) = from.filter(|from| !model.allows(from, &found)) {
        let message = format!("{} is {from}, which {found} cannot follow", entity.reference_id);
        return plan.wrong(row, "status", message);
    }
    entity.status = Some(found);
}

fn set_type(plan: &mut Plan<'_>, row: usize, entity: &mut Entity) {
    let types = &plan.requirement_types;
    let found = match plan.text(row, "type") {
        Some(text) => types.iter().find(|known| same_name(&known.name, text)),
        None if entity.type_id.is_some() => return,
        None => types.first(),
    };
    match found {
        Some(found) => {
            (entity.type_id, entity.type_name) = (Some(found.id.clone()), Some(found.name.clone()));
        }
        None => {
            let known: Vec<&str> = types.iter().map(|known| known.name.as_str()).collect();
            let found = plan.text(row, "type").unwrap_or_default();
            plan.wrong(row, "type", format!("expected one of {}, found {found:?}", known.join(", ")));
        }
    }
}

/// Moves what exists below the parent that the row names, and ties a requirement to its criterion.
fn place(
    cx: &mut Cx<'_, '_>,
    plan: &mut Plan<'_>,
    row: usize,
    before: Option<&Entity>,
    entity: &mut Entity,
    field: &str,
    parent: usize,
) -> Result<()> {
    let above = &plan.entities[parent].entity;
    if before.is_some() && entity.parent_id() != Some(&above.id) {
        if entity.kind == Kind::AcceptanceCriteria {
            let message = format!("{} cannot move to another user story", entity.reference_id);
            plan.wrong(row, field, message);
            return Ok(());
        }
        if let Err(error) = move_below(entity, field, above) {
            plan.wrong_by(row, field, error);
            return Ok(());
        }
        (entity.acceptance_criteria_id, entity.acceptance_criteria) = (None, None);
    }
    if entity.kind == Kind::Requirement
        && let Some(index) = plan.named(cx, row, "acceptance_criteria", Some(Kind::AcceptanceCriteria))?
    {
        let criterion = &plan.entities[index].entity;
        if criterion.user_story_id != entity.user_story_id {
            plan.wrong(row, "acceptance_criteria", "belongs to another user story than the requirement");
            return Ok(());
        }
        entity.acceptance_criteria_id = Some(criterion.id.clone());
        entity.acceptance_criteria = Some(criterion.reference_id.clone());
    }
    Ok(())
}

/// Writes what was decided.
pub(super) fn write(cx: &mut Cx<'_, '_>, plan: &mut Plan<'_>) -> Result<()> {
    number(cx, plan)?;
    for planned in &mut plan.entities {
        let Some(row) = planned.row else { continue };
        match &planned.before {
            Some(before) if *before == planned.entity => {}
            Some(before) => {
                let after = planned.entity.clone();
                let changed = change(cx, before.clone(), None, |_, entity| {
                    *entity = after;
                    Ok(())
                })?;
                planned.entity = changed;
            }
            None if planned.brings_number => {
                if !add_numbered(cx, &planned.entity)? {
                    let name = &planned.entity.reference_id;
                    let message = format!("{name} has just been made by somebody else; try again");
                    return Err(Error::conflict(message));
                }
            }
            None => planned.entity = add(cx, planned.entity.clone())?,
        }
        plan.references[row] = Some(planned.entity.reference_id.clone());
        cx.steps.advance();
    }
    Ok(())
}

/// Moves the counters past the numbers that the file brings along, and gives numbers to the rest.
fn number(cx: &mut Cx<'_, '_>, plan: &mut Plan<'_>) -> Result<()> {
    let mut brought: BTreeMap<(String, Kind), BTreeSet<i64>> = BTreeMap::new();
    let mut missing: BTreeMap<(String, Kind), Vec<usize>> = BTreeMap::new();
    for (index, planned) in plan.entities.iter().enumerate() {
        let new = &planned.entity;
        if planned.row.is_none() || planned.before.is_some() {
            continue;
        }
        let key = (new.project_id.clone(), new.kind);
        if planned.brings_number {
            brought.entry(key).or_default().insert(new.number);
        } else {
            missing.entry(key).or_default().push(index);
        }
    }
    for ((project_id, kind), numbers) in &brought {
        cx.tx.reserve_numbers(project_id, kind.name(), numbers.last().copied().unwrap_or_default())?;
    }
    for ((project_id, kind), mut indexes) in missing {
        indexes.reverse();
        let brought = brought.get(&(project_id.clone(), kind));
        // A block that was leased before may hold numbers that the file brings along.
        while !indexes.is_empty() {
            for number in cx.tx.next_numbers(&project_id, kind.name(), indexes.len())? {
                if brought.is_none_or(|brought| !brought.contains(&number))
                    && let Some(index) = indexes.pop()
                {
                    give_number(&mut plan.entities[index].entity, number);
                }
            }
        }
    }
    Ok(())
}
