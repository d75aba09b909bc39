//! Types of relationships.

use schemars::JsonSchema;
use serde::Deserialize;
use store::Mode;
use store::types::{self, RelationshipType, same_name};

use super::record;
use crate::context::{Cx, check_version, overtaken};
use crate::error::{Error, Result};
use crate::input::{Limit, Offset, Patch, Set, Text, Version};
use crate::operation::{Command, Effect, Operation, Output, Route, command, create, delete, get, patch};
use crate::page::{Page, page, window};
use crate::relationship::relationship_type;

const KIND: &str = "relationship_type";

impl Output for RelationshipType {
    fn version(&self) -> Option<i64> {
        Some(self.version)
    }

    fn reference(&self) -> Option<&str> {
        Some(&self.id)
    }
}

/// List the types of relationships.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListRelationshipTypes {
    /// How many to return; 50 when absent.
    limit: Option<Limit>,
    /// How many to leave out.
    offset: Option<Offset>,
}

impl Operation for ListRelationshipTypes {
    type Output = Page<RelationshipType>;
    const NAME: &'static str = "list_relationship_types";
    const COMMANDS: &'static [Command] = &[command("relationship-type list")];
    const ROUTES: &'static [Route] = &[get("/config/relationship-types")];
    const EFFECT: Effect = Effect::Reads;

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<Page<RelationshipType>> {
        let all = types::relationship_types(cx.tx)?;
        let (total, window) = (all.len() as i64, window(self.limit, self.offset));
        let shown = all.into_iter().skip(window.1 as usize).take(window.0 as usize).collect();
        Ok(page(shown, total, window))
    }
}

/// Read a type of relationships.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetRelationshipType {
    /// Its name or id.
    relationship_type: Text<1, 100>,
}

impl Operation for GetRelationshipType {
    type Output = RelationshipType;
    const NAME: &'static str = "get_relationship_type";
    const COMMANDS: &'static [Command] = &[command("relationship-type show")];
    const ROUTES: &'static [Route] = &[get("/config/relationship-types/{relationship_type}")];
    const EFFECT: Effect = Effect::Reads;
    const POSITIONAL: &'static [&'static str] = &["relationship_type"];

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<RelationshipType> {
        find(cx, &self.relationship_type)
    }
}

/// Create a type of relationships.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateRelationshipType {
    /// The name, read from source to target.
    name: Text<1, 100>,
    /// The name read the other way round.
    inverse_name: Text<1, 100>,
    /// Whether such relationships must not form a circle.
    #[serde(default)]
    acyclic: bool,
    /// What it is for.
    description: Option<Text<0, 5_000>>,
}

impl Operation for CreateRelationshipType {
    type Output = RelationshipType;
    const NAME: &'static str = "create_relationship_type";
    const COMMANDS: &'static [Command] = &[command("relationship-type create")];
    const ROUTES: &'static [Route] = &[create("/config/relationship-types")];
    const EFFECT: Effect = Effect::Administers;

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<RelationshipType> {
        check_name(cx, self.name.as_str(), None)?;
        let new = RelationshipType {
            id: cx.new_id(),
            name: (&self.name).into(),
            inverse_name: (&self.inverse_name).into(),
            acyclic: self.acyclic,
            description: self.description.as_ref().map(Into::into),
            version: 1,
            created_at: cx.now(),
            updated_at: cx.now(),
        };
        add(cx, new)
    }
}

/// Writes a new type.
pub(crate) fn add(cx: &mut Cx<'_, '_>, new: RelationshipType) -> Result<RelationshipType> {
    types::insert_relationship_type(cx.tx, &new)?;
    record(cx, KIND, &new.id, 1, None, Some(&new))?;
    Ok(new)
}

/// Change a type of relationships. Relationships of the type follow a new name.
///
/// Whether circles are allowed cannot be changed once relationships of the type exist.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateRelationshipType {
    /// Its name or id.
    relationship_type: Text<1, 100>,
    /// The new name.
    #[serde(default)]
    name: Set<Text<1, 100>>,
    /// The new name read the other way round.
    #[serde(default)]
    inverse_name: Set<Text<1, 100>>,
    /// Whether such relationships must not form a circle.
    #[serde(default)]
    acyclic: Set<bool>,
    /// What it is for; null clears it.
    #[serde(default)]
    description: Patch<Text<0, 5_000>>,
    /// Refuse the change when the version is another one.
    expected_version: Option<Version>,
}

impl Operation for UpdateRelationshipType {
    type Output = RelationshipType;
    const NAME: &'static str = "update_relationship_type";
    const COMMANDS: &'static [Command] = &[command("relationship-type update")];
    const ROUTES: &'static [Route] = &[patch("/config/relationship-types/{relationship_type}")];
    const EFFECT: Effect = Effect::Administers;
    const MODE: Option<Mode> = Some(Mode::Serializable);
    const POSITIONAL: &'static [&'static str] = &["relationship_type"];

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<RelationshipType> {
        let before = find(cx, &self.relationship_type)?;
        check_version(self.expected_version.map(|version| version.0), &before.name, before.version, &before)?;
        let mut after = before.clone();
        if let Some(name) = &self.name.0 {
            check_name(cx, name.as_str(), Some(&before.id))?;
            after.name = name.into();
        }
        if let Some(inverse_name) = &self.inverse_name.0 {
            after.inverse_name = inverse_name.into();
        }
        if let Some(acyclic) = self.acyclic.0.filter(|acyclic| *acyclic != before.acyclic) {
            let used = types::count_relationships(cx.tx, &before.id)?;
            if used > 0 {
                let message = format!(
                    "{used} relationships have the type {}, so circles cannot be decided anew",
                    before.name
                );
                return Err(Error::conflict(message));
            }
            after.acyclic = acyclic;
        }
        after.description = self.description.apply(after.description.take(), |text| text.into());
        change(cx, before, after)
    }
}

/// Writes a changed type, if it differs.
pub(crate) fn change(
    cx: &mut Cx<'_, '_>,
    before: RelationshipType,
    mut after: RelationshipType,
) -> Result<RelationshipType> {
    if after == before {
        return Ok(before);
    }
    after.version += 1;
    after.updated_at = cx.now();
    if !types::update_relationship_type(cx.tx, &after)? {
        return Err(overtaken(&before.name));
    }
    record(cx, KIND, &after.id, after.version, Some(&before), Some(&after))?;
    Ok(after)
}

/// Delete a type that no relationship has.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeleteRelationshipType {
    /// Its name or id.
    relationship_type: Text<1, 100>,
}

impl Operation for DeleteRelationshipType {
    type Output = RelationshipType;
    const NAME: &'static str = "delete_relationship_type";
    const COMMANDS: &'static [Command] = &[command("relationship-type delete")];
    const ROUTES: &'static [Route] = &[delete("/config/relationship-types/{relationship_type}")];
    const EFFECT: Effect = Effect::Administers;
    const MODE: Option<Mode> = Some(Mode::Serializable);
    const POSITIONAL: &'static [&'static str] = &["relationship_type"];

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<RelationshipType> {
        let gone = find(cx, &self.relationship_type)?;
        let used = types::count_relationships(cx.tx, &gone.id)?;
        if used > 0 {
            let message = format!("{used} relationships (deleted ones included) have the type {}", gone.name);
            return Err(Error::conflict(message));
        }
        remove(cx, gone)
    }
}

/// Deletes a type that nothing has.
pub(crate) fn remove(cx: &mut Cx<'_, '_>, gone: RelationshipType) -> Result<RelationshipType> {
    types::delete_relationship_type(cx.tx, &gone.id)?;
    record(cx, KIND, &gone.id, gone.version + 1, Some(&gone), None)?;
    Ok(gone)
}

fn find(cx: &mut Cx<'_, '_>, wanted: &Text<1, 100>) -> Result<RelationshipType> {
    relationship_type(cx, "relationship_type", wanted.as_str())
        .map_err(|_| Error::not_found("relationship type", wanted.as_str()))
}

fn check_name(cx: &mut Cx<'_, '_>, name: &str, own_id: Option<&str>) -> Result<()> {
    let all = types::relationship_types(cx.tx)?;
    match all.iter().find(|other| same_name(&other.name, name) && own_id != Some(&other.id)) {
        Some(other) => Err(Error::conflict(format!("there is already a relationship type {}", other.name))),
        None => Ok(()),
    }
}
