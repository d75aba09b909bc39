//! Epics, user stories, acceptance criteria and requirements.

pub(crate) mod arguments;
pub mod browse;
pub mod compare;
pub mod criteria;
pub mod delete;
pub mod epic;
pub mod hierarchy;
pub mod history;
pub(crate) mod place;
pub mod read;
pub mod requirement;
mod said_again;
pub mod story;

use store::entity::{self, Entity, FIELDS, Field};
use store::model::{Kind, reference_id};
use store::types::RequirementType;
use store::{comment, search, status};

use crate::config::types::named;
use crate::context::{Cx, overtaken};
use crate::error::{Error, Result};
use crate::input::{Patch, Text, Version};
use crate::operation::versioned_output;
use crate::thread::counted;
use crate::versioned::{Versioned as _, record};

versioned_output!(Entity, version, reference_id);

/// A new entity without text: of a kind, in a project, below a parent, created by the caller now. [`add`] sets its status.
pub(crate) fn blank(
    cx: &mut Cx<'_, '_>,
    kind: Kind,
    project: (&str, &str),
    parent: Option<&Entity>,
) -> Result<Entity> {
    let number = cx.next_number(project.0, kind)?;
    let mut new = unnumbered(cx, kind, project, parent)?;
    give_number(&mut new, number);
    Ok(new)
}

/// A new entity without text, number and status.
pub(crate) fn unnumbered(
    cx: &Cx<'_, '_>,
    kind: Kind,
    project: (&str, &str),
    parent: Option<&Entity>,
) -> Result<Entity> {
    let (project_id, project_key) = project;
    let caller = cx.caller()?;
    let of_story = kind.parent() == Some(Kind::UserStory);
    let parent_id = parent.map(|parent| parent.id.clone());
    let parent_reference = parent.map(|parent| parent.reference_id.clone());
    Ok(Entity {
        id: cx.new_id(),
        project: project_key.to_owned(),
        project_id: project_id.to_owned(),
        epic_id: parent_id.clone().filter(|_| !of_story),
        epic: parent_reference.clone().filter(|_| !of_story),
        user_story_id: parent_id.filter(|_| of_story),
        user_story: parent_reference.filter(|_| of_story),
        creator_id: caller.user_id.clone(),
        creator: caller.username.clone(),
        author: (kind == Kind::AcceptanceCriteria).then(|| caller.username.clone()),
        created_at: cx.now(),
        updated_at: cx.now(),
        ..Entity::empty(kind)
    })
}

/// Sets the reference number of an entity.
pub(crate) fn give_number(entity: &mut Entity, number: i64) {
    entity.number = number;
    entity.reference_id = reference_id(&entity.project, entity.kind, number);
}

/// Assigns an entity to a user, or to its creator.
pub(crate) fn assign(cx: &mut Cx<'_, '_>, entity: &mut Entity, assignee: Option<&str>) -> Result<()> {
    let (id, name) = match assignee {
        Some(who) => cx.assignee("assignee_id", who)?,
        None => (entity.creator_id.clone(), entity.creator.clone()),
    };
    entity.assignee_id = Some(id);
    entity.assignee = Some(name);
    Ok(())
}

/// Assigns an entity to somebody else, to nobody, or leaves it.
pub(crate) fn reassign(
    cx: &mut Cx<'_, '_>,
    entity: &mut Entity,
    assignee: &Patch<Text<1, 100>>,
) -> Result<()> {
    match assignee {
        Patch::Absent => {}
        Patch::Null => (entity.assignee_id, entity.assignee) = (None, None),
        Patch::Value(who) => {
            let (id, name) = cx.assignee("assignee_id", who.as_str())?;
            (entity.assignee_id, entity.assignee) = (Some(id), Some(name));
        }
    }
    Ok(())
}

/// How many consecutive numbers may have been taken by imports.
pub(crate) const TAKEN_MAX: usize = 10_000;

/// How many numbers are tried one by one before all taken ones are skipped.
const TRIED_MAX: usize = 64;

/// Inserts a new entity, with the initial status of its kind. If an import has taken its number, it gets the next free one.
pub(crate) fn add(cx: &mut Cx<'_, '_>, mut new: Entity) -> Result<Entity> {
    for n_taken in 1..=TAKEN_MAX {
        if entity::insert_new(cx.tx, &mut new)? {
            record(cx, None, &new)?;
            return Ok(new);
        }
        if n_taken.is_multiple_of(TRIED_MAX) {
            cx.tx.skip_taken_numbers(&new.project_id, new.kind.name())?;
        }
        let number = cx.next_number(&new.project_id, new.kind)?;
        give_number(&mut new, number);
    }
    Err(Error::conflict(format!("no free number for a {} was found", new.kind.words())))
}

/// Inserts an imported entity with its own number; false if that is taken.
pub(crate) fn add_numbered(cx: &mut Cx<'_, '_>, new: &Entity) -> Result<bool> {
    let added = entity::insert(cx.tx, new)?;
    if added {
        record(cx, None, new)?;
    }
    Ok(added)
}

/// Changes an entity by `edit`, if its version is the expected one. Without a difference nothing is stored.
pub(crate) fn change(
    cx: &mut Cx<'_, '_>,
    before: Entity,
    expected: Option<Version>,
    edit: impl FnOnce(&mut Cx<'_, '_>, &mut Entity) -> Result<()>,
) -> Result<Entity> {
    before.check_version(cx, expected)?;
    let mut after = before.clone();
    edit(cx, &mut after)?;
    if after == before {
        return Ok(before);
    }
    after.go_on(cx.now());
    // Its parent and its assignee may change without making links to it suspect.
    let is_other = |field: &&Field| field.json(&before) != field.json(&after);
    let makes_suspect = FIELDS.iter().filter(is_other).any(|field| field.nature.makes_suspect);
    let says_other = makes_suspect || before.type_id != after.type_id;
    if says_other {
        after.content_version = after.version;
    }
    if !entity::update(cx.tx, &after)? {
        return Err(overtaken(&before.reference_id));
    }
    if before.description != after.description {
        move_anchors(cx, &after)?;
    }
    if before.parent_id() != after.parent_id() {
        search::moved(cx.tx, &after.id)?;
    }
    record(cx, Some(&before), &after)?;
    if says_other && after.kind == Kind::Requirement {
        said_again::settle(cx, &after)?;
    }
    // Obsolete entities are not verified, whatever their tests show.
    if says_other || before.status != after.status {
        counted::count_again(cx, &[&after.id])?;
    }
    Ok(after)
}

/// Updates the anchors of comments after a change of the text.
fn move_anchors(cx: &mut Cx<'_, '_>, entity: &Entity) -> Result<()> {
    for anchored in comment::anchored(cx.tx, &entity.id)? {
        let quote = anchored.quote.as_deref().unwrap_or_default();
        let anchor = comment::locate(entity, quote, anchored.anchor_start);
        if anchor != anchored.anchor_start.zip(anchored.anchor_end) {
            comment::move_anchor(cx.tx, &anchored.id, anchor)?;
        }
    }
    Ok(())
}

/// Sets the status with a name, if the model allows the transition.
pub(crate) fn set_status(cx: &mut Cx<'_, '_>, entity: &mut Entity, wanted: &str) -> Result<()> {
    let model = status::of(cx.tx, entity.kind)?;
    let Some(found) = model.status(wanted) else {
        return Err(Error::not_allowed(
            "status",
            wanted,
            model.statuses.iter().map(|status| status.name.as_str()),
        ));
    };
    let from = entity.status.clone().unwrap_or_default();
    if !model.allows(&from, &found.name) {
        let next =
            model.statuses.iter().filter(|status| model.allows(&from, &status.name) && status.name != from);
        let next: Vec<&str> = next.map(|status| status.name.as_str()).collect();
        let next = if next.is_empty() { "nothing".to_owned() } else { next.join(", ") };
        let message =
            format!("{} is {from}, which {} cannot follow; {next} can", entity.reference_id, found.name);
        return Err(Error::conflict(message).about("status"));
    }
    entity.status = Some(found.name.clone());
    Ok(())
}

/// The id and the name of the requirement type with this id or name.
pub(crate) fn requirement_type(cx: &mut Cx<'_, '_>, field: &str, wanted: &str) -> Result<(String, String)> {
    let found: RequirementType = named(cx, field, wanted)?;
    Ok((found.id, found.name))
}

/// Moves an entity below another parent of the same project.
pub(crate) fn move_below(entity: &mut Entity, field: &str, parent: &Entity) -> Result<()> {
    if parent.project_id != entity.project_id {
        let message = format!("{} is in another project than {}", parent.reference_id, entity.reference_id);
        return Err(Error::field(field, message));
    }
    let (id, reference) = (Some(parent.id.clone()), Some(parent.reference_id.clone()));
    if parent.kind == Kind::Epic {
        (entity.epic_id, entity.epic) = (id, reference);
    } else {
        (entity.user_story_id, entity.user_story) = (id, reference);
    }
    Ok(())
}
