//! Types of requirements.

use schemars::JsonSchema;
use serde::Deserialize;
use store::Mode;
use store::types::{self, RequirementType, same_name};

use super::record;
use crate::context::{Cx, check_version, overtaken};
use crate::error::{Error, Result};
use crate::input::{Limit, Offset, Patch, Set, Text, Version};
use crate::operation::{Command, Effect, Operation, Output, Route, command, create, delete, get, patch};
use crate::page::{Page, page, window};

const KIND: &str = "requirement_type";

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
}

impl Operation for ListRequirementTypes {
    type Output = Page<RequirementType>;
    const NAME: &'static str = "list_requirement_types";
    const COMMANDS: &'static [Command] = &[command("requirement-type list")];
    const ROUTES: &'static [Route] = &[get("/config/requirement-types")];
    const EFFECT: Effect = Effect::Reads;

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<Page<RequirementType>> {
        let all = types::requirement_types(cx.tx)?;
        let (total, window) = (all.len() as i64, window(self.limit, self.offset));
        let shown = all.into_iter().skip(window.1 as usize).take(window.0 as usize).collect();
        Ok(page(shown, total, window))
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
        find(cx, &self.requirement_type)
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
        check_name(cx, self.name.as_str(), None)?;
        let new = RequirementType {
            id: cx.new_id(),
            name: (&self.name).into(),
            description: self.description.as_ref().map(Into::into),
            version: 1,
            created_at: cx.now(),
            updated_at: cx.now(),
        };
        add(cx, new)
    }
}

/// Writes a new type.
pub(crate) fn add(cx: &mut Cx<'_, '_>, new: RequirementType) -> Result<RequirementType> {
    types::insert_requirement_type(cx.tx, &new)?;
    record(cx, KIND, &new.id, 1, None, Some(&new))?;
    Ok(new)
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
        let before = find(cx, &self.requirement_type)?;
        check_version(self.expected_version.map(|version| version.0), &before.name, before.version, &before)?;
        let mut after = before.clone();
        if let Some(name) = &self.name.0 {
            check_name(cx, name.as_str(), Some(&before.id))?;
            after.name = name.into();
        }
        after.description = self.description.apply(after.description.take(), |text| text.into());
        change(cx, before, after)
    }
}

/// Writes a changed type, if it differs.
pub(crate) fn change(
    cx: &mut Cx<'_, '_>,
    before: RequirementType,
    mut after: RequirementType,
) -> Result<RequirementType> {
    if after == before {
        return Ok(before);
    }
    after.version += 1;
    after.updated_at = cx.now();
    if !types::update_requirement_type(cx.tx, &after)? {
        return Err(overtaken(&before.name));
    }
    record(cx, KIND, &after.id, after.version, Some(&before), Some(&after))?;
    Ok(after)
}

/// Delete a type that no requirement has.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeleteRequirementType {
    /// Its name or id.
    requirement_type: Text<1, 100>,
}

impl Operation for DeleteRequirementType {
    type Output = RequirementType;
    const NAME: &'static str = "delete_requirement_type";
    const COMMANDS: &'static [Command] = &[command("requirement-type delete")];
    const ROUTES: &'static [Route] = &[delete("/config/requirement-types/{requirement_type}")];
    const EFFECT: Effect = Effect::Administers;
    const MODE: Option<Mode> = Some(Mode::Serializable);
    const POSITIONAL: &'static [&'static str] = &["requirement_type"];

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<RequirementType> {
        let gone = find(cx, &self.requirement_type)?;
        let used = types::count_requirements(cx.tx, &gone.id)?;
        if used > 0 {
            let message = format!("{used} requirements (deleted ones included) have the type {}", gone.name);
            return Err(Error::conflict(message));
        }
        remove(cx, gone)
    }
}

/// Deletes a type that nothing has.
pub(crate) fn remove(cx: &mut Cx<'_, '_>, gone: RequirementType) -> Result<RequirementType> {
    types::delete_requirement_type(cx.tx, &gone.id)?;
    record(cx, KIND, &gone.id, gone.version + 1, Some(&gone), None)?;
    Ok(gone)
}

fn find(cx: &mut Cx<'_, '_>, wanted: &Text<1, 100>) -> Result<RequirementType> {
    let wanted = wanted.as_str();
    let mut all = types::requirement_types(cx.tx)?.into_iter();
    all.find(|known| known.id.eq_ignore_ascii_case(wanted) || same_name(&known.name, wanted))
        .ok_or_else(|| Error::not_found("requirement type", wanted))
}

fn check_name(cx: &mut Cx<'_, '_>, name: &str, own_id: Option<&str>) -> Result<()> {
    let all = types::requirement_types(cx.tx)?;
    match all.iter().find(|other| same_name(&other.name, name) && own_id != Some(&other.id)) {
        Some(other) => Err(Error::conflict(format!("there is already a requirement type {}", other.name))),
        None => Ok(()),
    }
}
