//! User stories.

use store::entity::Entity;
use store::model::Kind;

use super::arguments::{MEDIUM, RARE, create_arguments, create_with, update_with, update_work};
use super::{add, assign, blank, change, move_below};
use crate::context::Cx;
use crate::error::Result;
use crate::input::{Id, Set, Text};
use crate::operation::{Command, Effect, Operation, Route, Tool, command, create, patch, tool};

create_arguments! {
    work:
    /// Create a user story in an epic.
    ///
    /// A user story says which user wants something, and why. It starts with the initial status of its status model.
    CreateUserStory {
        /// The epic, such as `EP-001`.
        epic_id: Id,
        /// Who works on it: a user's id or name. Default: the caller.
        assignee_id: Option<Text<1, 100>>,
    }
}

impl Operation for CreateUserStory {
    type Output = Entity;
    const NAME: &'static str = "create_user_story";
    const COMMANDS: &'static [Command] = &[command("user-story create").defaulting(MEDIUM)];
    const ROUTES: &'static [Route] = &[create("/user-stories"), create("/epics/{epic_id}/user-stories")];
    const TOOLS: &'static [Tool] = &[tool(
        "requirements",
        r#"{"epic_id": "EP-001", "title": "Pay with a saved card", "priority": 2, "description": "As a customer I want to pay with a saved card, so that I need not type it again."}"#,
    ).hiding(RARE).daily(&["epic_id", "title", "priority", "description"])];
    const EFFECT: Effect = Effect::Writes;
    const POSITIONAL: &'static [&'static str] = &["title"];

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<Entity> {
        let epic = cx.entity("epic_id", &self.epic_id, Kind::Epic)?;
        let mut story = blank(cx, Kind::UserStory, (&epic.project_id, &epic.project), Some(&epic))?;
        self.fill(&mut story);
        assign(cx, &mut story, self.assignee_id.as_ref().map(Text::as_str))?;
        add(cx, story)
    }
}

update_work! {
    /// Change a user story.
    ///
    /// Absent fields stay unchanged; null clears optional fields. `epic_id` moves the story, with everything
    /// below it, to another epic of the same project.
    UpdateUserStory {
        /// The user story, such as `US-001`.
        user_story_id: Id,
        /// The epic to move it to.
        #[serde(default)]
        epic_id: Set<Id>,
    }
}

impl Operation for UpdateUserStory {
    type Output = Entity;
    const NAME: &'static str = "update_user_story";
    const COMMANDS: &'static [Command] = &[command("user-story update")];
    const ROUTES: &'static [Route] = &[patch("/user-stories/{user_story_id}")];
    const TOOLS: &'static [Tool] =
        &[tool("requirements", r#"{"user_story_id": "US-001", "priority": 1}"#).hiding(RARE).daily(&[
            "user_story_id",
            "status",
            "assignee_id",
            "title",
            "priority",
            "description",
            "expected_version",
        ])];
    const EFFECT: Effect = Effect::Writes;
    const POSITIONAL: &'static [&'static str] = &["user_story_id"];

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<Entity> {
        let story = cx.entity("user_story_id", &self.user_story_id, Kind::UserStory)?;
        change(cx, story, self.expected_version, |cx, story| {
            self.apply(cx, story)?;
            if let Some(epic_id) = &self.epic_id.0 {
                let epic = cx.entity("epic_id", epic_id, Kind::Epic)?;
                move_below(story, "epic_id", &epic)?;
            }
            Ok(())
        })
    }
}
