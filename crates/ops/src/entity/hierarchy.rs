//! The tree of epics, stories, criteria and requirements.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::entity::{self, Ancestor, Entity, Filter, Sort};
use store::model::Kind;

use crate::context::Cx;
use crate::error::{Error, Result};
use crate::input::{Id, Limit, Offset, Text};
use crate::operation::{Command, Effect, Operation, Output, Route, command, get};
use crate::page::window;

/// Read the tree below an entity, or below all epics of a project.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetHierarchy {
    /// The root, such as `EP-001`; all epics when absent.
    reference: Option<Id>,
    /// Only this project: a key or an id. A root must be in it.
    project: Option<Text<1, 64>>,
    /// How many epics to return; 50 when absent.
    limit: Option<Limit>,
    /// How many epics to leave out.
    offset: Option<Offset>,
}

/// A tree of entities.
#[derive(Serialize, JsonSchema)]
pub struct Hierarchy {
    /// The roots, each with what is below it.
    pub data: Vec<Node>,
    /// How many roots there are on all pages.
    pub total_count: i64,
    /// How many roots this page could hold.
    pub limit: i64,
    /// How many roots came before.
    pub offset: i64,
}

impl Output for Hierarchy {}

/// An entity with what is below it.
#[derive(Serialize, JsonSchema)]
pub struct Node {
    /// The UUID.
    id: String,
    /// The reference id.
    reference_id: String,
    /// What it is.
    kind: Kind,
    /// The title, or the text of a criterion.
    title: String,
    /// The status.
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<String>,
    /// The priority.
    #[serde(skip_serializing_if = "Option::is_none")]
    priority: Option<i64>,
    /// The name of a requirement's type.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    type_name: Option<String>,
    /// The reference id of the criterion that a requirement serves.
    #[serde(skip_serializing_if = "Option::is_none")]
    acceptance_criteria: Option<String>,
    /// What is below it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    children: Vec<Node>,
}

/// A tree larger than this is cut into pages by asking for parts of it.
const TREE_MAX: i64 = 20_000;

impl Operation for GetHierarchy {
    type Output = Hierarchy;
    const NAME: &'static str = "get_hierarchy";
    const COMMANDS: &'static [Command] = &[command("hierarchy")];
    const ROUTES: &'static [Route] = &[get("/hierarchy"), get("/hierarchy/{reference}")];
    const EFFECT: Effect = Effect::Reads;
    const POSITIONAL: &'static [&'static str] = &["reference"];

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<Hierarchy> {
        if let Some(reference) = &self.reference {
            let root = cx.live_entity("reference", reference)?;
            if let Some(name) = &self.project
                && cx.project("project", Some(name.as_str()))?.id != root.project_id
            {
                let message = format!("{} is in the project {}", root.reference_id, root.project);
                return Err(Error::field("project", message));
            }
            return Ok(Hierarchy { data: vec![tree(cx, &root)?], total_count: 1, limit: 1, offset: 0 });
        }
        let projects = cx.projects("project", self.project.as_ref().map(Text::as_str))?;
        let filter = Filter { kind: Some(Kind::Epic), projects, ..Filter::default() };
        let (limit, offset) = window(self.limit, self.offset);
        let roots = entity::list(cx.tx, &filter, Sort::Number, limit, offset)?;
        let total_count = entity::count(cx.tx, &filter)?;
        let data = roots.iter().map(|root| tree(cx, root)).collect::<Result<_>>()?;
        Ok(Hierarchy { data, total_count, limit, offset })
    }
}

fn tree(cx: &mut Cx<'_, '_>, root: &Entity) -> Result<Node> {
    let members = entity::below(cx.tx, &root.id, TREE_MAX + 1)?;
    if members.len() as i64 > TREE_MAX {
        let message =
            format!("{} has more than {TREE_MAX} entities below it; ask for its parts", root.reference_id);
        return Err(Error::new(crate::Kind::TooLarge, message));
    }
    let mut children: std::collections::HashMap<&str, Vec<&Entity>> = std::collections::HashMap::new();
    for member in &members {
        if let Some(parent) = member.parent_id().filter(|_| member.id != root.id) {
            children.entry(parent).or_default().push(member);
        }
    }
    Ok(node(root, &children))
}

fn node(entity: &Entity, children: &std::collections::HashMap<&str, Vec<&Entity>>) -> Node {
    let below = children.get(entity.id.as_str()).map(Vec::as_slice).unwrap_or_default();
    Node {
        id: entity.id.clone(),
        reference_id: entity.reference_id.clone(),
        kind: entity.kind,
        title: entity.label().to_owned(),
        status: entity.status.clone(),
        priority: entity.priority,
        type_name: entity.type_name.clone(),
        acceptance_criteria: entity.acceptance_criteria.clone(),
        children: below.iter().map(|child| node(child, children)).collect(),
    }
}

/// Read the way from an epic down to an entity.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetPath {
    /// The entity, such as `REQ-012`.
    reference: Id,
}

/// The way from an epic down to an entity.
#[derive(Serialize, JsonSchema)]
pub struct Way {
    /// From the epic to the entity itself.
    path: Vec<Ancestor>,
}

impl Output for Way {}

impl Operation for GetPath {
    type Output = Way;
    const NAME: &'static str = "get_path";
    const COMMANDS: &'static [Command] = &[command("path")];
    const ROUTES: &'static [Route] = &[get("/hierarchy/{reference}/path")];
    const EFFECT: Effect = Effect::Reads;
    const POSITIONAL: &'static [&'static str] = &["reference"];

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<Way> {
        let found = cx.live_entity("reference", &self.reference)?;
        Ok(Way { path: entity::ancestors(cx.tx, &found.id)? })
    }
}
