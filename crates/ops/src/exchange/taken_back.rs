//! Undoes one change of an import.

use serde_json::{Map, Value, json};
use store::entity::Entity;
use store::import::Written;
use store::model::Reference;
use store::{comment, prompt, relationship};

use crate::context::Cx;
use crate::entity::history::take_back;
use crate::error::{Error, Result};
use crate::input::Id;
use crate::steering::change_link;

/// The outcome.
pub(super) enum Undone {
    Deleted,
    Restored,
    /// It is gone already.
    Nothing,
}

/// Undoes one change. New entities have been deleted together before ([`super::leaves`]).
pub(super) fn undo_one(cx: &mut Cx<'_, '_>, kind: &str, written: &Written) -> Result<Undone> {
    let changes: Map<String, Value> = serde_json::from_str(&written.changes).unwrap_or_default();
    let id = &written.entity_id;
    let is_new = written.is_new();
    match kind {
        "prompt" => {
            let found = prompt::find(cx.tx, &Reference::Id(id.clone()))?;
            match found.filter(|found| found.deleted_at.is_none()) {
                None => Ok(Undone::Nothing),
                Some(_) if is_new => delete(cx, "delete_prompt", "prompt_id", written),
                Some(_) => {
                    Err(Error::conflict("a prompt that was changed is not taken back; see its history"))
                }
            }
        }
        "comment" => {
            let found = comment::find(cx.tx, id)?;
            match found.filter(|found| found.deleted_at.is_none()) {
                None => Ok(Undone::Nothing),
                Some(_) if is_new => delete(cx, "delete_comment", "comment_id", written),
                Some(found) => restore_comment(cx, found, written, &changes),
            }
        }
        "relationship" => {
            let found = relationship::find(cx.tx, id)?;
            match found.filter(|found| found.deleted_at.is_none()) {
                None => Ok(Undone::Nothing),
                Some(_) if is_new => delete(cx, "delete_relationship", "id", written),
                Some(before) => {
                    check_version(before.version, written)?;
                    let version = changes.get("target_version").and_then(|pair| pair[0].as_i64());
                    let version = version.unwrap_or(before.target_version);
                    let target = cx.find_entity(&Reference::Id(before.target_id.clone()))?;
                    let suspect = target.is_some_and(|target| target.content_version > version);
                    crate::relationship::confirm(cx, &before, version, suspect)?;
                    Ok(Undone::Restored)
                }
            }
        }
        _ => match cx.find_entity(&Reference::Id(id.clone()))? {
            None => Ok(Undone::Nothing),
            Some(found) if found.deleted_at.is_some() => Ok(Undone::Nothing),
            Some(found) => match changes.get("steering_document") {
                Some(pair) => unlink(cx, &found, pair),
                None => restore(cx, found, written, &changes),
            },
        },
    }
}

/// Deletes a new entity by its operation, unless it was changed or something depends on it.
fn delete(cx: &mut Cx<'_, '_>, operation: &str, argument: &str, written: &Written) -> Result<Undone> {
    let Some(entry) = crate::find(operation) else {
        return Err(Error::new(
            crate::ErrorKind::InternalError,
            format!("there is no operation {operation}"),
        ));
    };
    let arguments = json!({ argument: written.entity_id, "expected_version": written.version });
    let operation = entry.parse(&arguments)?;
    cx.within(entry.doing(), |cx| operation.run(cx))?;
    Ok(Undone::Deleted)
}

/// Restores the text, fields and parent that an entity had before the import.
fn restore(
    cx: &mut Cx<'_, '_>,
    entity: Entity,
    written: &Written,
    changes: &Map<String, Value>,
) -> Result<Undone> {
    check_version(entity.version, written)?;
    // Restoring a version ignores what it cannot restore; an undo reports it.
    for field in ["epic_id", "user_story_id", "acceptance_criteria_id"] {
        if let Some(id) = changes.get(field).and_then(|pair| pair[0].as_str()) {
            cx.live_entity(field, &Id(Reference::Id(id.to_owned())))?;
        }
    }
    take_back(cx, entity, written.version - 1)?;
    Ok(Undone::Restored)
}

fn restore_comment(
    cx: &mut Cx<'_, '_>,
    before: comment::Comment,
    written: &Written,
    changes: &Map<String, Value>,
) -> Result<Undone> {
    check_version(before.version, written)?;
    let mut after = before.clone();
    if let Some(content) = changes.get("content").and_then(|pair| pair[0].as_str()) {
        after.content = content.to_owned();
    }
    if let Some(resolved) = changes.get("resolved").and_then(|pair| pair[0].as_bool()) {
        after.resolved = resolved;
    }
    crate::comment::change(cx, before, after)?;
    Ok(Undone::Restored)
}

/// Removes the link that an import has created.
fn unlink(cx: &mut Cx<'_, '_>, epic: &Entity, pair: &Value) -> Result<Undone> {
    let document = pair[1].as_str().and_then(Reference::parse);
    let document = document.map(|document| cx.find_entity(&document)).transpose()?.flatten();
    match document.filter(|document| document.deleted_at.is_none()) {
        None => Ok(Undone::Nothing),
        Some(document) => {
            change_link(cx, epic, &document, false)?;
            Ok(Undone::Deleted)
        }
    }
}

/// Why a changed entity stays.
pub(super) const CHANGED_SINCE: &str = "it was changed since";

pub(super) fn check_version(version: i64, written: &Written) -> Result<()> {
    match version == written.version {
        true => Ok(()),
        false => Err(Error::conflict(CHANGED_SINCE)),
    }
}

/// The name of an entity.
pub(super) fn name(cx: &mut Cx<'_, '_>, kind: &str, id: &str) -> Result<String> {
    let reference = Reference::Id(id.to_owned());
    let name = match kind {
        "prompt" => prompt::find(cx.tx, &reference)?.map(|found| found.reference_id),
        "comment" | "relationship" => None,
        _ => cx.find_entity(&reference)?.map(|found| found.reference_id),
    };
    Ok(name.unwrap_or_else(|| id.to_owned()))
}
