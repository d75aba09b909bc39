//! Types and statuses, which administrators configure.

pub mod relationship_type;
pub mod requirement_type;
pub mod status_model;
pub(crate) mod types;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::model::Kind;
use store::status::{self, StatusModel};
use store::types::{RelationshipType, RequirementType, Type};

use crate::context::{Cx, Subject, to_value};
use crate::error::Result;
use crate::operation::{Command, Effect, Operation, Output, Route, Shape, Tool, command, get, tool};

/// List requirement types, relationship types, and statuses with their transitions.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListTypes {}

/// All types and statuses.
#[derive(Serialize, JsonSchema)]
pub struct Types {
    /// The types of requirements.
    requirement_types: Vec<RequirementType>,
    /// The types of relationships.
    relationship_types: Vec<RelationshipType>,
    /// The statuses of epics, stories and requirements.
    status_models: Vec<StatusModel>,
}

impl Output for Types {}

impl Operation for ListTypes {
    type Output = Types;
    const NAME: &'static str = "list_types";
    const COMMANDS: &'static [Command] = &[command("types")];
    const ROUTES: &'static [Route] = &[get("/config")];
    const TOOLS: &'static [Tool] = &[tool("requirements", r#"{}"#).also(&[
        "types",
        "get_types",
        "get_requirement_types",
        "list_requirement_types",
    ])];
    const EFFECT: Effect = Effect::Reads;
    const SHAPE: Option<Shape> = Some(Shape::Names);

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<Types> {
        Ok(Types {
            requirement_types: RequirementType::all(cx.tx)?,
            relationship_types: RelationshipType::all(cx.tx)?,
            status_models: status_models(cx)?,
        })
    }
}

fn status_models(cx: &mut Cx<'_, '_>) -> Result<Vec<StatusModel>> {
    let kinds = Kind::ALL.into_iter().filter(|kind| kind.has_status());
    kinds.map(|kind| Ok(status::of(cx.tx, kind)?)).collect()
}

/// Records a change of something outside of projects.
fn record<T: Serialize>(
    cx: &mut Cx<'_, '_>,
    kind: &'static str,
    id: &str,
    version: i64,
    before: Option<&T>,
    after: Option<&T>,
) -> Result<()> {
    let subject = Subject { project_id: None, kind, id, reference_id: None, version };
    let before = before.map(to_value).transpose()?;
    let after = after.map(to_value).transpose()?;
    cx.record(&subject, before.as_ref(), after.as_ref())
}
