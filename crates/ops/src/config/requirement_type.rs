//! Types of requirements.

use schemars::JsonSchema;
use serde::Deserialize;
use store::types::{RequirementType, Type};

use super::types;
use crate::context::{Cx, check_version};
use crate::error::{Error, Result};
use crate::input::{Limit, Offset, Patch, Set, Text, Version};
use crate::operation::{
    Columns, Command, Effect, Operation, Output, Route, command, create, delete, get, patch,
};
use crate::page::{Cursor, Page};

impl Output for RequirementType {
    fn version(&self) -> Option<i64> {
        Some(self.version)
    }

    fn reference(&self) -> Option<&str> {
        Some(&self.id)
    }
}

/// List the types of requirements.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListRequirementTypes {
    /// How many to return; 50 when absent.
    limit: Option<Limit>,
    /// How many to leave out.
    offset: Option<Offset>,
    /// Where to go on: `next_cursor` of the page before.
    cursor: Option<Cursor>,
}

impl Operation for ListRequirementTypes {
    type Output = Page<RequirementType>;
    const NAME: &'static str = "list_requirement_types";
    const COMMANDS: &'static [Command] = &[command("requirement-type list")];
    const ROUTES: &'static [Route] = &[get("/config/requirement-types")];
    const EFFECT: Effect = Effect::Reads;
    const COLUMNS: &'static [Columns] = &[(None, &["name", "description", "version"])];

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<Page<RequirementType>> {
        types::list(cx, self.limit, self.offset, self.cursor.as_ref())
    }
}

/// Read a type of requirements.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetRequirementType {
    /// Its name or id.
    requirement_type: Text<1, 100>,
}

impl Operation for GetRequirementType {
    type Output = RequirementType;
    const NAME: &'static str = "get_requirement_type";
    const COMMANDS: &'static [Command] = &[command("requirement-type show")];
    const ROUTES: &'static [Route] = &[get("/config/requirement-types/{requirement_type}")];
    const EFFECT: Effect = Effect::Reads;
    const POSITIONAL: &'static [&'static str] = &["requirement_type"];

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<RequirementType> {
        types::find(cx, self.requirement_type.as_str())
    }
}

/// Create a type of requirements.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateRequirementType {
    /// The name.
    name: Text<1, 100>,
    /// What it is for.
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

/// Change a type of requirements. Requirements of the type follow a new name.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateRequirementType {
    /// Its name or id.
    requirement_type: Text<1, 100>,
    /// The new name.
    #[serde(default)]
    name: Set<Text<1, 100>>,
    /// What it is for; null clears it.
    #[serde(default)]
    description: Patch<Text<0, 5_000>>,
    /// Refuse the change when the version is another one.
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
        let before: RequirementType = types::find(cx, self.requirement_type.as_str())?;
        check_version(self.expected_version, &before.name, before.version, &before)?;
        let mut after = before.clone();
        if let Some(name) = &self.name.0 {
            types::check_name::<RequirementType>(cx, name.as_str(), Some(&before.id))?;
            after.name = name.into();
        }
        after.description = self.description.apply(after.description.take(), |text| text.into());
        types::change(cx, before, after)
    }
}

/// Delete a type that no requirement has.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeleteRequirementType {
    /// Its name or id.
    requirement_type: Text<1, 100>,
    /// Refuse when the version is another one.
    expected_version: Option<Version>,
}

impl Operation for DeleteRequirementType {
    type Output = RequirementType;
    const NAME: &'static str = "delete_requirement_type";
    const COMMANDS: &'static [Command] = &[command("requirement-type delete")];
    const ROUTES: &'static [Route] = &[delete("/config/requirement-types/{requirement_type}")];
    const EFFECT: Effect = Effect::Administers;
    const POSITIONAL: &'static [&'static str] = &["requirement_type"];

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<RequirementType> {
        let gone: RequirementType = types::find(cx, self.requirement_type.as_str())?;
        check_version(self.expected_version, &gone.name, gone.version, &gone)?;
        let used = gone.n_uses(cx.tx)?;
        if used > 0 {
            let message = format!("{used} requirements (deleted ones included) have the type {}", gone.name);
            return Err(Error::conflict(message));
        }
        types::remove(cx, gone)
    }
}
