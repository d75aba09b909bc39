//! Acceptance criteria.

use store::entity::Entity;
use store::model::Kind;

use super::arguments::{RARE, create_arguments, create_with, update_arguments, update_with};
use super::{add, blank, change};
use crate::context::Cx;
use crate::error::Result;
use crate::input::Id;
use crate::operation::{Command, Effect, Operation, Route, Tool, command, create, patch, tool};

create_arguments! {
    acceptance_criteria:
    /// Create an acceptance criterion of a user story.
    ///
    /// A criterion says how to tell that a story is done.
    CreateAcceptanceCriteria {
        /// The user story, such as `US-001`.
        user_story_id: Id,
    }
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
    ).hiding(RARE)];
    const EFFECT: Effect = Effect::Writes;
    const POSITIONAL: &'static [&'static str] = &["description"];

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<Entity> {
        let story = cx.entity("user_story_id", &self.user_story_id, Kind::UserStory)?;
        let project = (story.project_id.as_str(), story.project.as_str());
        let mut criterion = blank(cx, Kind::AcceptanceCriteria, project, Some(&story))?;
        self.fill(&mut criterion);
        add(cx, criterion)
    }
}

update_arguments! {
    acceptance_criteria:
    /// Change the text of an acceptance criterion.
    UpdateAcceptanceCriteria {
        /// The criterion, such as `AC-001`.
        acceptance_criteria_id: Id,
    }
}

impl Operation for UpdateAcceptanceCriteria {
    type Output = Entity;
    const NAME: &'static str = "update_acceptance_criteria";
    const COMMANDS: &'static [Command] = &[command("acceptance-criteria update")];
    const ROUTES: &'static [Route] = &[patch("/acceptance-criteria/{acceptance_criteria_id}")];
    const TOOLS: &'static [Tool] = &[tool("requirements", r#"{"acceptance_criteria_id": "AC-001", "description": "Given a saved card, when the customer pays, then no more than its last four digits are shown."}"#).hiding(RARE).requiring(&["description"])];
    const EFFECT: Effect = Effect::Writes;
    const POSITIONAL: &'static [&'static str] = &["acceptance_criteria_id"];

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<Entity> {
        let criterion =
            cx.entity("acceptance_criteria_id", &self.acceptance_criteria_id, Kind::AcceptanceCriteria)?;
        change(cx, criterion, self.expected_version, |_, criterion| {
            self.edit(criterion);
            Ok(())
        })
    }
}
