//! Imports epics, user stories, acceptance criteria, requirements and steering documents.

use ::exchange::RecordKind;
use store::entity::{self, Entity};
use store::model::{DEFAULT_PROJECT_KEY, Kind, Reference};
use store::types::same_name;

use super::fields;
use super::notes::{Kept, TAKEN, is_of_another, what_to_do};
use super::plan::{Outcome, Plan};
use super::rows::Row;
use super::things::Planned;
use crate::context::Cx;
use crate::entity::{give_number, move_below, unnumbered};
use crate::error::{Error, Result};

/// Parents before children, whatever the order in the file.
const KINDS: [(RecordKind, Kind); 5] = [
    (RecordKind::Epic, Kind::Epic),
    (RecordKind::UserStory, Kind::UserStory),
    (RecordKind::AcceptanceCriteria, Kind::AcceptanceCriteria),
    (RecordKind::Requirement, Kind::Requirement),
    (RecordKind::SteeringDocument, Kind::SteeringDocument),
];
/// The default priority: medium.
const PRIORITY: i64 = 3;

/// Whether rows of a kind are entities.
pub(super) fn is_entity(kind: RecordKind) -> bool {
    KINDS.iter().any(|(of_entity, _)| *of_entity == kind)
}

/// Plans the rows.
pub(super) fn plan(cx: &mut Cx<'_, '_>, plan: &mut Plan<'_>) -> Result<()> {
    for (record_kind, kind) in KINDS {
        plan.each_row(cx, record_kind, |cx, plan, row| {
            plan_row(cx, plan, row, kind)?;
            if plan.outcomes[row.index].is_without() {
                plan.forget(row);
            }
            cx.steps.advance();
            Ok(())
        })?;
    }
    Ok(())
}

/// Checks all fields of a row, even after a mistake was found.
fn plan_row(cx: &mut Cx<'_, '_>, plan: &mut Plan<'_>, row: &Row, kind: Kind) -> Result<()> {
    let id = plan.id(row);
    plan.check_aliases(row);
    if let Some(done) = done(cx, plan, row, id.as_deref())? {
        if done.deleted_at.is_some() {
            plan.decide(row, Outcome::LeftOut);
            return Ok(());
        }
        let before = Some(done.clone());
        return plan.add(
            row,
            &Planned {
                row: Some(row.index),
                before,
                entity: done,
                brings_number: false,
                aliases: Vec::new(),
            },
        );
    }
    let existing = existing(cx, plan, row, kind, id.as_deref())?;
    let field = if kind.parent() == Some(Kind::Epic) { "epic" } else { "user_story" };
    let parent = match kind.parent() {
        Some(parent_kind) => plan.named(cx, row, field, Some(parent_kind))?,
        None => None,
    };
    if plan.outcomes[row.index] == Outcome::LeftOut {
        return Ok(());
    }
    let above = parent.as_ref().map(|parent| &parent.entity);
    let (before, mut entity) = match existing {
        Existing::Stored(before) => {
            plan.note_kept(cx, row, &kept(&before))?;
            let entity = (*before).clone();
            (Some(*before), entity)
        }
        Existing::New { project, number } => {
            let new = begin(cx, plan, row, kind, (project.as_deref(), number), above)?;
            (None, with_id(cx, plan, row, new, id)?)
        }
    };
    fill(cx, plan, row, before.as_ref(), &mut entity)?;
    match above {
        Some(above) => place(cx, plan, row, before.as_ref(), &mut entity, field, above)?,
        None if kind == Kind::Requirement => {
            plan.named(cx, row, "acceptance_criteria", Some(Kind::AcceptanceCriteria))?;
        }
        None => {}
    }
    let aliases = plan.new_aliases(cx, row, before.as_ref())?;
    let outcome = match &before {
        None => Outcome::Created,
        Some(before) if *before == entity && aliases.is_empty() => {
            plan.note_version(row, &before.reference_id, before.version);
            Outcome::Unchanged
        }
        Some(before) => {
            plan.check_version(row, &before.reference_id, before.version);
            Outcome::Updated
        }
    };
    plan.decide(row, outcome);
    if !plan.is_wrong(row) {
        let brings_number = before.is_none() && entity.number > 0;
        plan.add(row, &Planned { row: Some(row.index), before, entity, brings_number, aliases })?;
    }
    Ok(())
}

/// What a row has created or changed before its import stopped. The row is done, whatever was changed since.
fn done(cx: &mut Cx<'_, '_>, plan: &mut Plan<'_>, row: &Row, id: Option<&str>) -> Result<Option<Entity>> {
    if !plan.import.is_resumed {
        return Ok(None);
    }
    let reference = row.text("reference_id").and_then(|text| plan.reference(text));
    let ids = id.map(str::to_owned).into_iter().chain([plan.new_id(row.index)]).map(Reference::Id);
    for candidate in reference.into_iter().chain(ids) {
        if let Some(found) = plan.stored(cx, &candidate)?
            && plan.is_done(&found.id)
        {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// The meaning of a row's own id.
enum Existing {
    Stored(Box<Entity>),
    New { project: Option<String>, number: Option<i64> },
}

const NEW: Existing = Existing::New { project: None, number: None };

/// Finds the entity of a row. On a mistake, which is reported, it is treated as a new one.
fn existing(
    cx: &mut Cx<'_, '_>,
    plan: &mut Plan<'_>,
    row: &Row,
    kind: Kind,
    id: Option<&str>,
) -> Result<Existing> {
    let reference = row.text("reference_id").and_then(|text| plan.reference(text));
    let stored = match (&reference, row.text("reference_id"), id) {
        (Some(reference @ Reference::Numbered { project, kind: named, .. }), ..) => {
            let key = project.as_deref().unwrap_or(DEFAULT_PROJECT_KEY);
            if *named != kind {
                let (is, this) = (named.with_article(), kind.with_article());
                plan.wrong(row, "reference_id", format!("{reference} names {is}, and this is {this}"));
                return Ok(NEW);
            }
            if !plan.projects.contains_key(key) {
                let message = format!("there is no project {key}, neither in the file nor here");
                plan.wrong(row, "reference_id", message);
                return Ok(NEW);
            }
            plan.stored(cx, reference)?
        }
        (_, None, Some(id)) => {
            let by_id = plan.stored(cx, &Reference::Id(id.to_owned()))?;
            if by_id.is_none() { plan.stored_by_alias(cx, row)? } else { by_id }
        }
        _ => plan.stored_by_alias(cx, row)?,
    };
    let is_by_alias = stored.as_ref().is_some_and(|stored| {
        let by_reference = matches!(reference, Some(Reference::Numbered { .. }));
        !by_reference && id.is_none_or(|id| id != stored.id)
    });
    let Some(stored) = stored else {
        return Ok(match reference {
            Some(Reference::Numbered { project, number, .. }) if plan.may_bring(row, number) => {
                let project = project.or(Some(DEFAULT_PROJECT_KEY.to_owned()));
                Existing::New { project, number: Some(number) }
            }
            _ => NEW,
        });
    };
    let field = match () {
        () if row.text("reference_id").is_some() => "reference_id",
        () if is_by_alias => "aliases",
        () => "id",
    };
    if stored.kind != kind {
        let (is, this) = (stored.kind.with_article(), kind.with_article());
        plan.wrong(row, field, format!("{} is {is}, and this is {this}", stored.reference_id));
        return Ok(NEW);
    }
    if is_by_alias && stored.deleted_at.is_some() {
        plan.leave_deleted(row, &stored);
    } else if let Some(deleted_at) = stored.deleted_at {
        let message = format!("{} was deleted at {deleted_at}", stored.reference_id);
        plan.wrong(row, field, message + what_to_do(stored.purged_at));
    }
    if let Some(id) = id.filter(|id| *id != stored.id) {
        match plan.stored(cx, &Reference::Id(id.to_owned()))? {
            Some(other) => plan.wrong(row, "id", is_of_another(&other.reference_id, &stored.reference_id)),
            None => plan.note_unchanged(row, "id", &stored.reference_id, &stored.id, id),
        }
    }
    Ok(Existing::Stored(Box::new(stored)))
}

fn kept(entity: &Entity) -> Kept<'_> {
    Kept {
        name: &entity.reference_id,
        maker: maker(entity.kind),
        maker_id: Some(&entity.creator_id),
        created_at: entity.created_at,
    }
}

/// The field with the creator.
fn maker(kind: Kind) -> &'static str {
    if kind == Kind::AcceptanceCriteria { "author" } else { "creator" }
}

/// A new entity: its project, and its number if given.
fn begin(
    cx: &mut Cx<'_, '_>,
    plan: &mut Plan<'_>,
    row: &Row,
    kind: Kind,
    (project_key, number): (Option<&str>, Option<i64>),
    above: Option<&Entity>,
) -> Result<Entity> {
    if let (Some(above), Some(key)) = (above, project_key)
        && above.project != key
    {
        let other = &above.project;
        let message = format!("it is in the project {key}, and what it belongs to is in {other}");
        plan.wrong(row, "reference_id", message);
    }
    let (project_id, key) = match (above, project_key) {
        (Some(above), _) => (above.project_id.clone(), above.project.clone()),
        (None, Some(key)) => (plan.projects[key].id.clone(), key.to_owned()),
        (None, None) => (plan.project().id, plan.project().key),
    };
    if !cx.sees(&project_id)? {
        return Err(Error::not_found("project", key));
    }
    let mut new = unnumbered(cx, kind, (&project_id, &key), above)?;
    new.id = plan.new_id(row.index);
    if let Some(number) = number {
        give_number(&mut new, number);
    }
    Ok(new)
}

/// Gives a new entity the id in its row, if that is free.
fn with_id(
    cx: &mut Cx<'_, '_>,
    plan: &mut Plan<'_>,
    row: &Row,
    mut new: Entity,
    id: Option<String>,
) -> Result<Entity> {
    let Some(id) = id else { return Ok(new) };
    if plan.is_in_file(&id)? {
        return Ok(new);
    }
    match plan.stored(cx, &Reference::Id(id.clone()))? {
        // The id itself may be invalid.
        Some(_) if plan.is_wrong(row) => {}
        Some(other) => plan.note(row, "id", TAKEN, format!("{} has it", other.reference_id)),
        // A hidden entity may have it, which the caller must not learn.
        None if cx.is_limited() && entity::find(cx.tx, &Reference::Id(id.clone()))?.is_some() => {}
        None => new.id = id,
    }
    Ok(new)
}

/// Sets the fields of a row. Absent fields stay unchanged, or have the default of a new entity.
fn fill(
    cx: &mut Cx<'_, '_>,
    plan: &mut Plan<'_>,
    row: &Row,
    before: Option<&Entity>,
    entity: &mut Entity,
) -> Result<()> {
    let kind = entity.kind;
    fields::read(plan, row, entity);
    if kind.has_status() {
        entity.priority = entity.priority.or(Some(PRIORITY));
        set_status(plan, row, before, entity);
    }
    if kind == Kind::Requirement {
        set_type(plan, row, entity);
    }
    if before.is_none() {
        let made = plan.made(cx, row, maker(kind))?;
        (entity.creator_id, entity.creator) = (made.by_id, made.by);
        entity.author = entity.author.is_some().then(|| entity.creator.clone());
        (entity.created_at, entity.updated_at) = (made.created_at, made.updated_at);
        entity.version = plan.version(row).unwrap_or(1);
        // The export does not say which version last changed the text; links say which version they were confirmed for.
        entity.content_version = entity.version;
    }
    if kind.has_status() {
        let assignee = match plan.is_foreign() {
            true => plan.foreign_user(cx, row, "assignee")?,
            false => plan.user(cx, row, "assignee")?,
        };
        match assignee {
            Some((id, name)) => (entity.assignee_id, entity.assignee) = (Some(id), Some(name)),
            // Exports have the version of everything; then an empty assignee means nobody.
            None if before.is_none() && row.number("version").is_none() && !plan.is_foreign() => {
                (entity.assignee_id, entity.assignee) =
                    (Some(entity.creator_id.clone()), Some(entity.creator.clone()));
            }
            None => {}
        }
    }
    Ok(())
}

fn set_status(plan: &mut Plan<'_>, row: &Row, before: Option<&Entity>, entity: &mut Entity) {
    let model = &plan.models[&entity.kind];
    let Some(text) = row.text("status") else {
        if before.is_none() {
            entity.status = model.initial().map(|status| status.name.clone());
        }
        return;
    };
    if plan.is_foreign() {
        return plan.set_foreign_status(row, before, entity, text);
    }
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

fn set_type(plan: &mut Plan<'_>, row: &Row, entity: &mut Entity) {
    if let Some(text) = row.text("type").filter(|_| plan.is_foreign()) {
        return plan.set_foreign_type(row, entity, text);
    }
    let types = &plan.requirement_types;
    let found = match row.text("type") {
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
            let found = row.text("type").unwrap_or_default();
            plan.wrong(row, "type", format!("expected one of {}, found {found:?}", known.join(", ")));
        }
    }
}

/// Moves an existing entity below the parent in the row, and sets a requirement's criterion.
fn place(
    cx: &mut Cx<'_, '_>,
    plan: &mut Plan<'_>,
    row: &Row,
    before: Option<&Entity>,
    entity: &mut Entity,
    field: &str,
    above: &Entity,
) -> Result<()> {
    if before.is_some() && entity.parent_id() != Some(&above.id) {
        if entity.kind == Kind::AcceptanceCriteria {
            let message = format!("{} cannot move to another user story", entity.reference_id);
            plan.wrong(row, field, message);
        } else if let Err(error) = move_below(entity, field, above) {
            plan.wrong_by(row, field, error);
        }
        (entity.acceptance_criteria_id, entity.acceptance_criteria) = (None, None);
    }
    if entity.kind == Kind::Requirement
        && let Some(criterion) = plan.named(cx, row, "acceptance_criteria", Some(Kind::AcceptanceCriteria))?
    {
        let criterion = &criterion.entity;
        if criterion.user_story_id.as_ref() != Some(&above.id) {
            plan.wrong(row, "acceptance_criteria", "belongs to another user story than the requirement");
            return Ok(());
        }
        entity.acceptance_criteria_id = Some(criterion.id.clone());
        entity.acceptance_criteria = Some(criterion.reference_id.clone());
    }
    Ok(())
}
