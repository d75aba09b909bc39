//! Deletes the entities that an import created, all of a part at once, because each alone takes several round trips to PostgreSQL.

use std::collections::HashMap;

use store::entity::{self, Dependents, Entity};
use store::import::Written;

use super::taken_back::{Undone, check_version, name};
use crate::context::{Cx, overtaken};
use crate::error::{Error, Result};
use crate::versioned::record_deleted;

/// Deletes the new entities of a part that nobody has changed and nothing depends on. Returns the outcome of each revision of the
/// part; `None` for revisions of other entities.
pub(super) fn delete_new(
    cx: &mut Cx<'_, '_>,
    kind: &str,
    part: &[Written],
) -> Result<Vec<Option<Result<Undone>>>> {
    if matches!(kind, "prompt" | "comment" | "relationship") {
        return Ok(part.iter().map(|_| None).collect());
    }
    let new = part.iter().filter(|written| written.is_new());
    let ids: Vec<&str> = new.map(|written| written.entity_id.as_str()).collect();
    let mut found: HashMap<String, Entity> = HashMap::new();
    for entity in entity::of_ids(cx.tx, &ids)? {
        if cx.sees(&entity.project_id)? {
            found.insert(entity.id.clone(), entity);
        }
    }
    let dependents = entity::dependents(cx.tx, &ids)?;
    let mut leaves = Vec::new();
    let mut undone = Vec::new();
    for written in part {
        undone.push(match found.get(&written.entity_id) {
            _ if !written.is_new() => None,
            None => Some(Ok(Undone::Nothing)),
            Some(entity) if entity.deleted_at.is_some() => Some(Ok(Undone::Nothing)),
            Some(entity) => {
                let dependents = dependents.get(&entity.id).cloned().unwrap_or_default();
                let checked =
                    check_version(entity.version, written).and_then(|()| check_leaf(cx, &dependents));
                if checked.is_ok() {
                    leaves.push((entity, cx.new_id()));
                }
                Some(checked.map(|()| Undone::Deleted))
            }
        });
    }
    if !leaves.is_empty() {
        let actor_id = &cx.caller()?.user_id;
        if !entity::delete_leaves(cx.tx, &leaves, actor_id, cx.now())? {
            return Err(overtaken(&leaves[0].0.reference_id));
        }
    }
    for (entity, _) in &leaves {
        let gone = Entity { deleted_at: Some(cx.now()), version: entity.version + 1, ..(*entity).clone() };
        record_deleted(cx, &gone)?;
    }
    Ok(undone)
}

/// Rejects deleting entities to which others have added something. The import's own additions are deleted already.
fn check_leaf(cx: &mut Cx<'_, '_>, dependents: &Dependents) -> Result<()> {
    if let Some(id) = &dependents.entity {
        return Err(Error::conflict(format!("{} depends on it", name(cx, "", id)?)));
    }
    if dependents.relationship.is_some() {
        return Err(Error::conflict("a relationship of it was added since"));
    }
    if dependents.comment.is_some() {
        return Err(Error::conflict("a comment on it was added since"));
    }
    Ok(())
}
