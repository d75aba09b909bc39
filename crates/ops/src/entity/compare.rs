//! What differs between two versions of an entity.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use store::Mode;
use store::entity::{Entity, FIELDS};

use super::history::fields_at;
use super::place::name_places;
use crate::context::Cx;
use crate::error::{Error, Result};
use crate::input::{Id, Version};
use crate::operation::{Command, Effect, Operation, Output, Route, command, get};

/// Compare two versions of an epic, user story, acceptance criterion, requirement or steering document.
///
/// By default the current version is compared with the previous one.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CompareVersions {
    /// Its UUID or reference id, such as `REQ-012`.
    reference: Id,
    /// The older version; default: the one before `to`.
    from: Option<Version>,
    /// The newer version; default: the current one.
    to: Option<Version>,
}

/// What differs between two versions.
#[derive(Serialize, JsonSchema)]
pub struct VersionsCompared {
    /// The reference id.
    reference_id: String,
    /// The older version.
    from: i64,
    /// The newer version.
    to: i64,
    /// The fields that differ, each as `[older, newer]`.
    changes: Map<String, Value>,
}

impl Output for VersionsCompared {}

/// What is compared beside the fields. Where an entity belongs is kept as ids, which get their reference ids afterwards.
const OTHERS: [&str; 3] = ["status", "type", "assignee"];
const PLACES: [&str; 3] = ["epic_id", "user_story_id", "acceptance_criteria_id"];

impl Operation for CompareVersions {
    type Output = VersionsCompared;
    const NAME: &'static str = "compare_versions";
    const COMMANDS: &'static [Command] = &[command("diff")];
    const ROUTES: &'static [Route] = &[get("/versions/{reference}/compare")];
    const EFFECT: Effect = Effect::Reads;
    const MODE: Option<Mode> = Some(Mode::Snapshot);
    const POSITIONAL: &'static [&'static str] = &["reference"];

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<VersionsCompared> {
        let entity = cx.any_entity("reference", &self.reference)?;
        let to = self.to.map_or(entity.version, |version| version.0);
        if to > entity.version {
            let message = format!("expected at most {}, the present version, found {to}", entity.version);
            return Err(Error::field("to", message));
        }
        let from = self.from.map_or((to - 1).max(1), |version| version.0);
        if from > to {
            return Err(Error::field("from", format!("expected at most {to}, found {from}")));
        }
        let (older, newer) = (at(cx, &entity, from)?, at(cx, &entity, to)?);
        let names = FIELDS.iter().map(|field| field.name).chain(OTHERS).chain(PLACES);
        let value = |fields: &Map<String, Value>, name| fields.get(name).cloned().unwrap_or_default();
        let pairs = names.map(|name| (name.to_owned(), json!([value(&older, name), value(&newer, name)])));
        let mut changes: Map<String, Value> = pairs.filter(|(_, pair)| pair[0] != pair[1]).collect();
        name_places(cx, &mut [&mut changes])?;
        changes.retain(|name, _| !PLACES.contains(&name.as_str()));
        Ok(VersionsCompared { reference_id: entity.reference_id, from, to, changes })
    }
}

/// The fields of an entity as they were at a version.
fn at(cx: &mut Cx<'_, '_>, entity: &Entity, version: i64) -> Result<Map<String, Value>> {
    let Value::Object(mut fields) = json!(entity) else { return Ok(Map::new()) };
    fields.extend(fields_at(cx, entity, version)?);
    Ok(fields)
}
