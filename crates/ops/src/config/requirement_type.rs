//! Types of requirements.

use schemars::JsonSchema;
use serde::Deserialize;
use store::types::RequirementType;

use super::types::{self, Name};
use crate::context::Cx;
use crate::error::Result;
use crate::input::{Limit, Offset, Patch, Set, Text, Version};
use crate::operation::{Columns, Command, Effect, Operation, Route, command, create, delete, get, patch};
use crate::page::{Cursor, Page};

types::operations! {
    RequirementType, requirement_type, "requirement-type", &["name", "description", "version"],
    /// List the types of requirements.
    ListRequirementTypes,
    /// Read a type of requirements.
    GetRequirementType,
    /// Delete an unused type of requirements.
    DeleteRequirementType,
}

/// Create a type of requirements.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateRequirementType {
    /// The name.
    name: Name,
    /// Its purpose.
    description: Option<Text<0, 5_000>>,
}

impl Operation for CreateRequirementType {
    type Output = RequirementType;
    const NAME: &'static str = "create_requirement_type";
    const COMMANDS: &'static [Command] = &[command("requirement-type create")];
    const ROUTES: &'static [Route] = &[create("/config/requirement-types")];
    const EFFECT: Effect = Effect::Administers;

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<RequirementType> {
        types::check_name::<RequirementType>(cx, self.name.as_str(), None)?;
        let new = RequirementType {
            id: cx.new_id(),
            name: (&self.name).into(),
            description: self.description.as_ref().map(Into::into),
            version: 1,
            created_at: cx.now(),
            updated_at: cx.now(),
        };
        types::add(cx, new)
    }
}

/// Change a type of requirements. A new name applies to existing requirements.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateRequirementType {
    /// Its name or id.
    requirement_type: Name,
    /// The new name.
    #[serde(default)]
    name: Set<Name>,
    /// Its purpose; null clears it.
    #[serde(default)]
    description: Patch<Text<0, 5_000>>,
    /// Reject the change if the current version differs.
    expected_version: Option<Version>,
}

impl Operation for UpdateRequirementType {
    type Output = RequirementType;
    const NAME: &'static str = "update_requirement_type";
    const COMMANDS: &'static [Command] = &[command("requirement-type update")];
    const ROUTES: &'static [Route] = &[patch("/config/requirement-types/{requirement_type}")];
    const EFFECT: Effect = Effect::Administers;
    const POSITIONAL: &'static [&'static str] = &["requirement_type"];

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<RequirementType> {
        types::edit(cx, &self.requirement_type, self.expected_version, &self.name, |_, _, after| {
            let after: &mut RequirementType = after;
            after.description = self.description.apply(after.description.take(), |text| text.into());
            Ok(())
        })
    }
}
