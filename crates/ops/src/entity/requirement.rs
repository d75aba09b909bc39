//! Requirements.

use store::entity::{Entity, TypeName};
use store::model::Kind;
use store::types::{RequirementType, Type as _};

use super::arguments::{MEDIUM, create_arguments, create_with, update_with, update_work};
use super::{add, assign, blank, change, move_below, requirement_type};
use crate::context::Cx;
use crate::error::{Error, Result};
use crate::input::{Id, Patch, Set, Text};
use crate::operation::{Command, Effect, Operation, Route, Tool, command, create, patch, tool};

create_arguments! {
    work:
    /// Create a requirement in a user story.
    ///
    /// A requirement says what the product must do. It starts with the initial status of its status model.
    CreateRequirement {
        /// The user story, such as `US-001`.
        user_story_id: Id,
        /// Its type by name or id, such as `Functional`. Default: the store's first type.
        type_id: Option<Text<1, 100>>,
        /// The criterion of the same story that it belongs to, such as `AC-001`.
        acceptance_criteria_id: Option<Id>,
        /// Who works on it: a user's id or name. Default: the caller.
        assignee_id: Option<Text<1, 100>>,
    }
}

impl Operation for CreateRequirement {
    type Output = Entity;
    const NAME: &'static str = "create_requirement";
    const COMMANDS: &'static [Command] = &[command("requirement create").defaulting(MEDIUM)];
    const ROUTES: &'static [Route] =
        &[create("/requirements"), create("/user-stories/{user_story_id}/requirements")];
    const TOOLS: &'static [Tool] = &[tool(
        "requirements",
        r#"{"user_story_id": "US-001", "title": "Mask card numbers", "type_id": "Functional", "priority": 1, "acceptance_criteria_id": "AC-001", "description": "The page shows no more than the last four digits of a card."}"#,
    )
    .requiring(&["type_id"])
    .daily(&["user_story_id", "type_id", "acceptance_criteria_id", "title", "priority", "description"]).about("Create a requirement in a user story: one thing that the product must do.")];
    const EFFECT: Effect = Effect::Writes;
    const POSITIONAL: &'static [&'static str] = &["title"];

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<Entity> {
        let (story, (type_id, type_name)) = self.story_and_type(cx)?;
        let project = (story.project_id.as_str(), story.project.as_str());
        let mut requirement = blank(cx, Kind::Requirement, project, Some(&story))?;
        self.fill(&mut requirement);
        (requirement.type_id, requirement.type_name) = (Some(type_id), Some(type_name));
        if let Some(criterion) = &self.acceptance_criteria_id {
            serve(cx, &mut requirement, criterion)?;
        }
        assign(cx, &mut requirement, self.assignee_id.as_ref().map(Text::as_str))?;
        add(cx, requirement)
    }
}

impl CreateRequirement {
    fn story_and_type(&self, cx: &mut Cx<'_, '_>) -> Result<(Entity, TypeName)> {
        let Some(wanted) = &self.type_id else {
            let story = cx.entity("user_story_id", &self.user_story_id, Kind::UserStory)?;
            let first = RequirementType::all(cx.tx)?.into_iter().next();
            let first = first.ok_or_else(|| Error::field("type_id", "the store has no requirement types"))?;
            return Ok((story, (first.id, first.name)));
        };
        let (story, known) = cx.story_and_type("user_story_id", &self.user_story_id, wanted.as_str())?;
        let named = match known {
            Some(known) => known,
            None => requirement_type(cx, "type_id", wanted.as_str())?,
        };
        Ok((story, named))
    }
}

update_work! {
    /// Change a requirement.
    ///
    /// Absent fields stay unchanged; null clears optional fields. `user_story_id` moves it to another
    /// story of the same project, and removes its criterion unless a new one is given.
    UpdateRequirement {
        /// The requirement, such as `REQ-001`.
        requirement_id: Id,
        /// The type: its name or its id.
        #[serde(default)]
        type_id: Set<Text<1, 100>>,
        /// The criterion of the same story that it belongs to; null for none.
        #[serde(default)]
        acceptance_criteria_id: Patch<Id>,
        /// The story to move it to.
        #[serde(default)]
        user_story_id: Set<Id>,
    }
}

impl Operation for UpdateRequirement {
    type Output = Entity;
    const NAME: &'static str = "update_requirement";
    const COMMANDS: &'static [Command] = &[command("requirement update")];
    const ROUTES: &'static [Route] = &[patch("/requirements/{requirement_id}")];
    const TOOLS: &'static [Tool] = &[tool(
        "requirements",
        r#"{"requirement_id": "REQ-001", "status": "Active", "assignee_id": "admin"}"#,
    )
    .daily(&[
        "requirement_id",
        "status",
        "assignee_id",
        "title",
        "priority",
        "description",
        "expected_version",
    ])];
    const EFFECT: Effect = Effect::Writes;
    const POSITIONAL: &'static [&'static str] = &["requirement_id"];

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<Entity> {
        let requirement = cx.entity("requirement_id", &self.requirement_id, Kind::Requirement)?;
        change(cx, requirement, self.expected_version, |cx, requirement| {
            self.apply(cx, requirement)?;
            if let Some(wanted) = &self.type_id.0 {
                let (id, name) = requirement_type(cx, "type_id", wanted.as_str())?;
                (requirement.type_id, requirement.type_name) = (Some(id), Some(name));
            }
            if let Some(story_id) = &self.user_story_id.0 {
                let story = cx.entity("user_story_id", story_id, Kind::UserStory)?;
                if requirement.user_story_id.as_deref() != Some(&story.id) {
                    move_below(requirement, "user_story_id", &story)?;
                    (requirement.acceptance_criteria_id, requirement.acceptance_criteria) = (None, None);
                }
            }
            match &self.acceptance_criteria_id {
                Patch::Absent => {}
                Patch::Null => {
                    (requirement.acceptance_criteria_id, requirement.acceptance_criteria) = (None, None);
                }
                Patch::Value(criterion) => serve(cx, requirement, criterion)?,
            }
            Ok(())
        })
    }
}

/// Sets the criterion of a requirement.
fn serve(cx: &mut Cx<'_, '_>, requirement: &mut Entity, id: &Id) -> Result<()> {
    let criterion = cx.entity("acceptance_criteria_id", id, Kind::AcceptanceCriteria)?;
    if criterion.user_story_id != requirement.user_story_id {
        let message = format!(
            "{} belongs to {}, and the requirement to {}",
            criterion.reference_id,
            criterion.user_story.unwrap_or_default(),
            requirement.user_story.as_deref().unwrap_or_default()
        );
        return Err(Error::field("acceptance_criteria_id", message));
    }
    requirement.acceptance_criteria_id = Some(criterion.id);
    requirement.acceptance_criteria = Some(criterion.reference_id);
    Ok(())
}
