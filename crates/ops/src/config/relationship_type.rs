//! Types of relationships.

use schemars::JsonSchema;
use serde::Deserialize;
use store::relationship;
use store::types::{RelationshipType, Type};

use super::types;
use crate::context::{Cx, check_version};
use crate::error::{Error, Result};
use crate::input::{Limit, Offset, Patch, Set, Text, Version};
use crate::operation::{
    Columns, Command, Effect, Operation, Output, Route, command, create, delete, get, patch,
};
use crate::page::{Cursor, Page};

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
    /// Where to go on: `next_cursor` of the page before.
    cursor: Option<Cursor>,
}

impl Operation for ListRelationshipTypes {
    type Output = Page<RelationshipType>;
    const NAME: &'static str = "list_relationship_types";
    const COMMANDS: &'static [Command] = &[command("relationship-type list")];
    const ROUTES: &'static [Route] = &[get("/config/relationship-types")];
    const EFFECT: Effect = Effect::Reads;
    const COLUMNS: &'static [Columns] =
        &[(None, &["name", "inverse_name", "acyclic", "description", "version"])];

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<Page<RelationshipType>> {
        types::list(cx, self.limit, self.offset, self.cursor.as_ref())
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
        types::find(cx, self.relationship_type.as_str())
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
        types::check_name::<RelationshipType>(cx, self.name.as_str(), None)?;
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
        types::add(cx, new)
    }
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
    const POSITIONAL: &'static [&'static str] = &["relationship_type"];

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<RelationshipType> {
        relationship::lock_types(cx.tx)?;
        let before: RelationshipType = types::find(cx, self.relationship_type.as_str())?;
        check_version(self.expected_version, &before.name, before.version, &before)?;
        let mut after = before.clone();
        if let Some(name) = &self.name.0 {
            types::check_name::<RelationshipType>(cx, name.as_str(), Some(&before.id))?;
            after.name = name.into();
        }
        if let Some(inverse_name) = &self.inverse_name.0 {
            after.inverse_name = inverse_name.into();
        }
        if let Some(acyclic) = self.acyclic.0.filter(|acyclic| *acyclic != before.acyclic) {
            let used = before.n_uses(cx.tx)?;
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
        types::change(cx, before, after)
    }
}

/// Delete a type that no relationship has.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeleteRelationshipType {
    /// Its name or id.
    relationship_type: Text<1, 100>,
    /// Refuse when the version is another one.
    expected_version: Option<Version>,
}

impl Operation for DeleteRelationshipType {
    type Output = RelationshipType;
    const NAME: &'static str = "delete_relationship_type";
    const COMMANDS: &'static [Command] = &[command("relationship-type delete")];
    const ROUTES: &'static [Route] = &[delete("/config/relationship-types/{relationship_type}")];
    const EFFECT: Effect = Effect::Administers;
    const POSITIONAL: &'static [&'static str] = &["relationship_type"];

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<RelationshipType> {
        let gone: RelationshipType = types::find(cx, self.relationship_type.as_str())?;
        check_version(self.expected_version, &gone.name, gone.version, &gone)?;
        let used = gone.n_uses(cx.tx)?;
        if used > 0 {
            let message = format!("{used} relationships (deleted ones included) have the type {}", gone.name);
            return Err(Error::conflict(message));
        }
        types::remove(cx, gone)
    }
}
