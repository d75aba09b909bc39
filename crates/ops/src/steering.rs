//! Steering documents: texts that apply to epics.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::entity::{self, Entity};
use store::model::Kind;

use crate::context::Cx;
use crate::entity::arguments::{create_arguments, create_with, update_arguments, update_with};
use crate::entity::{add, blank, change};
use crate::error::{Error, Result};
use crate::input::{Id, Text};
use crate::operation::{
    Change, Command, Effect, Operation, Output, Route, Tool, command, create, delete, patch, put, tool,
};
use crate::versioned::record_field;

create_arguments! {
    steering_document:
    /// Create a steering document.
    ///
    /// It has rules, decisions or background for the epics that it is linked with.
    CreateSteeringDocument {
        /// The key or id of the project. Default: the default project.
        project: Option<Text<1, 64>>,
    }
}

impl Operation for CreateSteeringDocument {
    type Output = Entity;
    const NAME: &'static str = "create_steering_document";
    const COMMANDS: &'static [Command] = &[command("steering-document create")];
    const ROUTES: &'static [Route] = &[create("/steering-documents")];
    const TOOLS: &'static [Tool] = &[tool(
        "steering",
        r#"{"title": "Security rules", "description": "Card data never reaches a log."}"#,
    )];
    const EFFECT: Effect = Effect::Writes;
    const POSITIONAL: &'static [&'static str] = &["title"];

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<Entity> {
        let project = cx.project("project", self.project.as_ref().map(Text::as_str))?;
        let mut document = blank(cx, Kind::SteeringDocument, (&project.id, &project.key), None)?;
        self.fill(&mut document);
        add(cx, document)
    }
}

update_arguments! {
    steering_document:
    /// Change a steering document.
    UpdateSteeringDocument {
        /// The document, such as `STD-001`.
        steering_document_id: Id,
    }
}

impl Operation for UpdateSteeringDocument {
    type Output = Entity;
    const NAME: &'static str = "update_steering_document";
    const COMMANDS: &'static [Command] = &[command("steering-document update")];
    const ROUTES: &'static [Route] = &[patch("/steering-documents/{steering_document_id}")];
    const TOOLS: &'static [Tool] =
        &[tool("steering", r#"{"steering_document_id": "STD-001", "title": "Rules for card data"}"#)];
    const EFFECT: Effect = Effect::Writes;
    const POSITIONAL: &'static [&'static str] = &["steering_document_id"];

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<Entity> {
        let document =
            cx.entity("steering_document_id", &self.steering_document_id, Kind::SteeringDocument)?;
        change(cx, document, self.expected_version, |_, document| {
            self.edit(document);
            Ok(())
        })
    }
}

/// Link a steering document with an epic of the same project.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkSteeringDocument {
    /// The epic, such as `EP-001`.
    epic_id: Id,
    /// The document, such as `STD-001`.
    steering_document_id: Id,
}

/// The result of linking or unlinking.
#[derive(Serialize, JsonSchema)]
pub struct Link {
    /// The reference id of the epic.
    epic: String,
    /// The reference id of the document.
    steering_document: String,
    /// Whether they are linked now.
    linked: bool,
}

impl Output for Link {}

impl Operation for LinkSteeringDocument {
    type Output = Link;
    const NAME: &'static str = "link_steering_document";
    const COMMANDS: &'static [Command] = &[command("steering-document link")];
    const ROUTES: &'static [Route] = &[put("/epics/{epic_id}/steering-documents/{steering_document_id}")];
    const TOOLS: &'static [Tool] =
        &[tool("steering", r#"{"epic_id": "EP-001", "steering_document_id": "STD-001"}"#)];
    const EFFECT: Effect = Effect::Writes;
    const POSITIONAL: &'static [&'static str] = &["steering_document_id", "epic_id"];

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<Link> {
        set_link(cx, &self.epic_id, &self.steering_document_id, true)
    }
}

/// Remove the link between a steering document and an epic.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UnlinkSteeringDocument {
    /// The epic, such as `EP-001`.
    epic_id: Id,
    /// The document, such as `STD-001`.
    steering_document_id: Id,
}

impl Operation for UnlinkSteeringDocument {
    type Output = Link;
    const NAME: &'static str = "unlink_steering_document";
    const COMMANDS: &'static [Command] = &[command("steering-document unlink")];
    const ROUTES: &'static [Route] = &[delete("/epics/{epic_id}/steering-documents/{steering_document_id}")];
    const TOOLS: &'static [Tool] =
        &[tool("steering", r#"{"epic_id": "EP-001", "steering_document_id": "STD-001"}"#)];
    const EFFECT: Effect = Effect::Writes;
    const CHANGE: Change = Change::Edits;
    const POSITIONAL: &'static [&'static str] = &["steering_document_id", "epic_id"];

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<Link> {
        set_link(cx, &self.epic_id, &self.steering_document_id, false)
    }
}

fn set_link(cx: &mut Cx<'_, '_>, epic_id: &Id, document_id: &Id, linked: bool) -> Result<Link> {
    let epic = cx.entity("epic_id", epic_id, Kind::Epic)?;
    let document = cx.entity("steering_document_id", document_id, Kind::SteeringDocument)?;
    if epic.project_id != document.project_id {
        let message = format!("{} is in another project than {}", document.reference_id, epic.reference_id);
        return Err(Error::field("steering_document_id", message));
    }
    change_link(cx, &epic, &document, linked)?;
    Ok(Link { epic: epic.reference_id, steering_document: document.reference_id, linked })
}

/// Links or unlinks a document and an epic, unless that is done already.
pub(crate) fn change_link(cx: &mut Cx<'_, '_>, epic: &Entity, document: &Entity, linked: bool) -> Result<()> {
    let changed = if linked {
        entity::link_document(cx.tx, epic, &document.id, cx.now())?
    } else {
        entity::unlink_document(cx.tx, epic, &document.id)?
    };
    if changed {
        let name = Some(&document.reference_id);
        let pair = if linked { (None, name) } else { (name, None) };
        record_field(cx, epic, "steering_document", pair)?;
    }
    Ok(())
}
