//! Acceptance criteria.

use schemars::JsonSchema;
use serde::Deserialize;
use store::entity::Entity;
use store::model::Kind;

use super::{add, blank, change};
use crate::context::Cx;
use crate::error::Result;
use crate::input::{Id, Set, Text, Version};
use crate::operation::{Command, Effect, Operation, Route, Tool, command, create, patch, tool};

/// Create an acceptance criterion of a user story.
///
/// A criterion says how to tell that a story is done.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateAcceptanceCriteria {
    /// The user story, such as `US-001`.
    user_story_id: Id,
    /// What must hold, in Markdown.
    description: Text<1, 50_000>,
}

impl Operation for CreateAcceptanceCriteria {
    type Output = Entity;
    const NAME: &'static str = "create_acceptance_criteria";
    const COMMANDS: &'static [Command] = &[command("acceptance-criteria create")];
    const ROUTES: &'static [Route] =
        &[create("/acceptance-criteria"), create("/user-stories/{user_story_id}/acceptance-criteria")];
    const TOOLS: &'static [Tool] = &[tool(
        "requirements",
        r#"{"user_story_id": "US-001", "description": "Given a saved card, when the customer pays, then only its last four digits are shown."}"#,
    )];
    const EFFECT: Effect = Effect::Writes;

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<Entity> {
        let story = cx.entity("user_story_id", &self.user_story_id, Kind::UserStory)?;
        let project = (story.project_id.as_str(), story.project.as_str());
        let mut criterion = blank(cx, Kind::AcceptanceCriteria, project, Some(&story))?;
        criterion.description = Some((&self.description).into());
        add(cx, criterion)
    }
}

/// Change the text of an acceptance criterion.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateAcceptanceCriteria {
    /// The criterion, such as `AC-001`.
    acceptance_criteria_id: Id,
    /// What must hold, in Markdown.
    #[serde(default)]
    description: Set<Text<1, 50_000>>,
    /// Refuse the change when the version is another one.
    expected_version: Option<Version>,
}

impl Operation for UpdateAcceptanceCriteria {
    type Output = Entity;
    const NAME: &'static str = "update_acceptance_criteria";
    const COMMANDS: &'static [Command] = &[command("acceptance-criteria update")];
    const ROUTES: &'static [Route] = &[patch("/acceptance-criteria/{acceptance_criteria_id}")];
    const TOOLS: &'static [Tool] = &[tool("requirements", r#"{"acceptance_criteria_id": "AC-001", "description": "Given a saved card, when the customer pays, then no more than its last four digits are shown."}"#).requiring(&["description"])];
    const EFFECT: Effect = Effect::Writes;
    const POSITIONAL: &'static [&'static str] = &["acceptance_criteria_id"];

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<Entity> {
        let criterion =
            cx.entity("acceptance_criteria_id", &self.acceptance_criteria_id, Kind::AcceptanceCriteria)?;
        change(cx, criterion, self.expected_version, |_, criterion| {
            if let Some(description) = &self.description.0 {
                criterion.description = Some(description.into());
            }
            Ok(())
        })
    }
}
