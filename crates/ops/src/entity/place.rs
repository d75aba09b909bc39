//! The parents of an entity in its history: their names, and restoring them.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value, json};
use store::entity::{self, Entity};
use store::model::{Kind, Reference};

use super::move_below;
use crate::context::Cx;
use crate::error::Result;

/// The fields with parents, each with the field for the parent's reference id.
const PLACES: [(&str, &str); 3] =
    [("epic_id", "epic"), ("user_story_id", "user_story"), ("acceptance_criteria_id", "acceptance_criteria")];

/// Adds reference ids to changes, which are stored with UUIDs only: a reference id follows from the UUID, a title may change.
pub(crate) fn name_places(cx: &mut Cx<'_, '_>, changes: &mut [&mut Map<String, Value>]) -> Result<()> {
    let ids: HashSet<String> = changes.iter().flat_map(|changes| ids_in(changes)).collect();
    if ids.is_empty() {
        return Ok(());
    }
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let names = entity::references(cx.tx, &ids)?;
    changes.iter_mut().for_each(|changes| name_in(changes, &names));
    Ok(())
}

fn ids_in(changes: &Map<String, Value>) -> Vec<String> {
    let pairs = PLACES.iter().filter_map(|(field, _)| changes.get(*field)?.as_array());
    pairs.flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

fn name_in(changes: &mut Map<String, Value>, names: &HashMap<String, String>) {
    for (field, name) in PLACES {
        if let Some(pair) = changes.get(field) {
            let named = |value: &Value| value.as_str().and_then(|id| names.get(id));
            let pair = json!([named(&pair[0]), named(&pair[1])]);
            changes.insert(name.to_owned(), pair);
        }
    }
}

/// Restores the parent of an entity. If that is deleted, the entity stays where it is.
pub(super) fn put_back(cx: &mut Cx<'_, '_>, entity: &mut Entity, then: &Map<String, Value>) -> Result<()> {
    for field in ["epic_id", "user_story_id"] {
        if let Some(parent) = live(cx, then, field)?
            && entity.parent_id() != Some(&parent.id)
        {
            move_below(entity, field, &parent)?;
            (entity.acceptance_criteria_id, entity.acceptance_criteria) = (None, None);
        }
    }
    let Some(criterion) = then.get("acceptance_criteria_id") else { return Ok(()) };
    if criterion.is_null() {
        (entity.acceptance_criteria_id, entity.acceptance_criteria) = (None, None);
    } else if let Some(criterion) = live(cx, then, "acceptance_criteria_id")?
        && criterion.user_story_id == entity.user_story_id
        && entity.kind == Kind::Requirement
    {
        entity.acceptance_criteria_id = Some(criterion.id);
        entity.acceptance_criteria = Some(criterion.reference_id);
    }
    Ok(())
}

/// The entity that a field named, unless it is deleted.
fn live(cx: &mut Cx<'_, '_>, then: &Map<String, Value>, field: &str) -> Result<Option<Entity>> {
    let Some(id) = then.get(field).and_then(Value::as_str) else { return Ok(None) };
    let found = cx.find_entity(&Reference::Id(id.to_owned()))?;
    Ok(found.filter(|found| found.deleted_at.is_none()))
}
