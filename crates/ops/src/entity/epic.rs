//! Epics.

use schemars::JsonSchema;
use serde::Deserialize;
use store::entity::Entity;
use store::model::Kind;

use super::{add, assign, blank, change};
use crate::context::Cx;
use crate::error::Result;
use crate::input::{Description, Id, Priority, Text, Title};
use crate::operation::{Command, Effect, Operation, Route, Tool, command, create, patch, tool};

/// Create an epic.
///
/// An epic is a large goal that user stories belong to. It begins with the initial status of its status model.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateEpic {
    /// The title.
    title: Title,
    /// 1 critical, 2 high, 3 medium, 4 low.
    priority: Priority,
    /// The text, in Markdown.
    description: Option<Description>,
    /// Who works on it: a user's id or name. The caller when absent.
    assignee_id: Option<Text<1, 100>>,
    /// The key or id of the project. The default project when absent.
    project: Option<Text<1, 64>>,
}

impl Operation for CreateEpic {
    type Output = Entity;
    const NAME: &'static str = "create_epic";
    const COMMANDS: &'static [Command] = &[command("epic create")];
    const ROUTES: &'static [Route] = &[create("/epics")];
    const TOOLS: &'static [Tool] = &[tool(
        "requirements",
        r#"{"title": "Checkout", "priority": 1, "description": "Customers pay for what is in their basket."}"#,
    )];
    const EFFECT: Effect = Effect::Writes;

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<Entity> {
        let project = cx.project("project", self.project.as_ref().map(Text::as_str))?;
        let mut epic = blank(cx, Kind::Epic, (&project.id, &project.key), None)?;
        epic.title = Some((&self.title).into());
        epic.description = self.description.as_ref().map(Into::into);
        epic.priority = Some(self.priority.0);
        assign(cx, &mut epic, self.assignee_id.as_ref().map(Text::as_str))?;
        add(cx, epic)
    }
}

/// Declares the arguments of an update: those named, and those that epics, stories and requirements share. Fields are
/// not nested with `flatten`, because errors would then not name them.
macro_rules! update_arguments {
    ($(#[$about:meta])* $name:ident { $($(#[$field_about:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$about])*
        #[derive(serde::Deserialize, schemars::JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            $($(#[$field_about])* $field: $type,)*
            /// The title.
            #[serde(default)]
            title: $crate::input::Set<$crate::input::Title>,
            /// The text, in Markdown; null clears it.
            #[serde(default)]
            description: $crate::input::Patch<$crate::input::Description>,
            /// 1 critical, 2 high, 3 medium, 4 low.
            #[serde(default)]
            priority: $crate::input::Set<$crate::input::Priority>,
            /// The status, in any case.
            #[serde(default)]
            status: $crate::input::Set<$crate::input::Text<1, 50>>,
            /// Who works on it: a user's id or name; null for nobody.
            #[serde(default)]
            assignee_id: $crate::input::Patch<$crate::input::Text<1, 100>>,
            /// Refuse the change when the version is another one.
            expected_version: Option<$crate::input::Version>,
        }

        impl $name {
            fn apply(
                &self,
                cx: &mut $crate::context::Cx<'_, '_>,
                entity: &mut store::entity::Entity,
            ) -> $crate::error::Result<()> {
                if let Some(title) = &self.title.0 {
                    entity.title = Some(title.into());
                }
                entity.description = self.description.apply(entity.description.take(), |text| text.into());
                if let Some(priority) = self.priority.0 {
                    entity.priority = Some(priority.0);
                }
                if let Some(status) = &self.status.0 {
                    $crate::entity::set_status(cx, entity, status.as_str())?;
                }
                $crate::entity::reassign(cx, entity, &self.assignee_id)
            }
        }
    };
}
pub(crate) use update_arguments;

update_arguments! {
    /// Change an epic.
    ///
    /// Fields that are absent stay as they are; null clears those that may be empty.
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
        &[tool("requirements", r#"{"epic_id": "EP-001", "status": "In Progress", "expected_version": 1}"#)];
    const EFFECT: Effect = Effect::Writes;
    const POSITIONAL: &'static [&'static str] = &["epic_id"];

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<Entity> {
        let epic = cx.entity("epic_id", &self.epic_id, Kind::Epic)?;
        change(cx, epic, self.expected_version, |cx, epic| self.apply(cx, epic))
    }
}
