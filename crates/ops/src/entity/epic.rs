//! Epics.

use store::entity::Entity;
use store::model::Kind;

use super::arguments::{MEDIUM, RARE, create_arguments, create_with, update_with, update_work};
use super::{add, assign, blank, change};
use crate::context::Cx;
use crate::error::Result;
use crate::input::{Id, Text};
use crate::operation::{Command, Effect, Operation, Route, Tool, command, create, patch, tool};

create_arguments! {
    work:
    /// Create an epic.
    ///
    /// An epic is a large goal with user stories. It starts with the initial status of its status model.
    CreateEpic {
        /// Who works on it: a user's id or name. Default: the caller.
        assignee_id: Option<Text<1, 100>>,
        /// The key or id of the project. Default: the default project.
        project: Option<Text<1, 64>>,
    }
}

impl Operation for CreateEpic {
    type Output = Entity;
    const NAME: &'static str = "create_epic";
    const COMMANDS: &'static [Command] = &[command("epic create").defaulting(MEDIUM)];
    const ROUTES: &'static [Route] = &[create("/epics")];
    const TOOLS: &'static [Tool] = &[tool(
        "requirements",
        r#"{"title": "Checkout", "priority": 1, "description": "Customers pay for what is in their basket."}"#,
    ).hiding(RARE).daily(&["title", "priority", "description"]).about("Create an epic: a goal that user stories belong to.")];
    const EFFECT: Effect = Effect::Writes;
    const POSITIONAL: &'static [&'static str] = &["title"];

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<Entity> {
        let project = cx.project("project", self.project.as_ref().map(Text::as_str))?;
        let mut epic = blank(cx, Kind::Epic, (&project.id, &project.key), None)?;
        self.fill(&mut epic);
        assign(cx, &mut epic, self.assignee_id.as_ref().map(Text::as_str))?;
        add(cx, epic)
    }
}

update_work! {
    /// Change an epic.
    ///
    /// Absent fields stay unchanged; null clears optional fields.
    UpdateEpic {
        /// The epic, such as `EP-001`.
        epic_id: Id,
    }
}

impl Operation for UpdateEpic {
    type Output = Entity;
    const NAME: &'static str = "update_epic";
    const COMMANDS: &'static [Command] = &[command("epic update")];
    const ROUTES: &'static [Route] = &[patch("/epics/{epic_id}")];
    const TOOLS: &'static [Tool] =
        &[tool("requirements", r#"{"epic_id": "EP-001", "status": "In Progress", "expected_version": 1}"#)
            .hiding(RARE)
            .daily(&[
                "epic_id",
                "status",
                "assignee_id",
                "title",
                "priority",
                "description",
                "expected_version",
            ])
            .about("Change an epic: its status, text, priority or assignee.")];
    const EFFECT: Effect = Effect::Writes;
    const POSITIONAL: &'static [&'static str] = &["epic_id"];

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<Entity> {
        let epic = cx.entity("epic_id", &self.epic_id, Kind::Epic)?;
        change(cx, epic, self.expected_version, |cx, epic| self.apply(cx, epic))
    }
}
