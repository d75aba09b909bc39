//! Types of relationships.

use schemars::JsonSchema;
use serde::Deserialize;
use store::relationship;
use store::types::{RelationshipType, Type};

use super::types::{self, Name};
use crate::context::Cx;
use crate::error::{Error, Result};
use crate::input::{Limit, Offset, Patch, Set, Text, Version};
use crate::operation::{Columns, Command, Effect, Operation, Route, command, create, delete, get, patch};
use crate::page::{Cursor, Page};

types::operations! {
    RelationshipType, relationship_type, "relationship-type", &["name", "inverse_name", "acyclic", "description", "version"],
    /// List the types of relationships.
    ListRelationshipTypes,
    /// Read a type of relationships.
    GetRelationshipType,
    /// Delete an unused type of relationships.
    DeleteRelationshipType,
}

/// Create a type of relationships.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateRelationshipType {
    /// The name, read from source to target.
    name: Name,
    /// The name read the other way round.
    inverse_name: Name,
    /// Whether such relationships must not form a cycle.
    #[serde(default)]
    acyclic: bool,
    /// Its purpose.
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

/// Change a type of relationships. A new name applies to existing relationships.
///
/// `acyclic` cannot be changed once relationships of the type exist.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateRelationshipType {
    /// Its name or id.
    relationship_type: Name,
    /// The new name.
    #[serde(default)]
    name: Set<Name>,
    /// The new name read the other way round.
    #[serde(default)]
    inverse_name: Set<Name>,
    /// Whether such relationships must not form a cycle.
    #[serde(default)]
    acyclic: Set<bool>,
    /// Its purpose; null clears it.
    #[serde(default)]
    description: Patch<Text<0, 5_000>>,
    /// Reject the change if the current version differs.
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
        types::edit(cx, &self.relationship_type, self.expected_version, &self.name, |cx, before, after| {
            let after: &mut RelationshipType = after;
            if let Some(inverse_name) = &self.inverse_name.0 {
                after.inverse_name = inverse_name.into();
            }
            if let Some(acyclic) = self.acyclic.0.filter(|acyclic| *acyclic != before.acyclic) {
                let used = before.n_uses(cx.tx)?;
                if used > 0 {
                    let message = format!(
                        "{used} relationships have the type {}, so `acyclic` cannot be changed",
                        before.name
                    );
                    return Err(Error::conflict(message));
                }
                after.acyclic = acyclic;
            }
            after.description = self.description.apply(after.description.take(), |text| text.into());
            Ok(())
        })
    }
}
