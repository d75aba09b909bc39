//! The tree of epics, stories, criteria and requirements.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::entity::{self, Ancestor, Entity, EntityFilter, Leaf, Sort};
use store::model::Kind;

use crate::context::Cx;
use crate::error::{Error, Result};
use crate::input::{Id, Limit, Number, Offset, Text};
use crate::operation::{Command, Effect, Operation, Output, Route, command, get};
use crate::page::{Cursor, page_after, window};

/// Read the tree below an entity, or below all epics of a project.
///
/// A large tree is read in parts: `depth` limits the levels, and deeper children are only counted; `limit` limits the
/// epics, or the children of the root, and `cursor` continues with the next ones.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetHierarchy {
    /// The root, such as `EP-001`; default: all epics.
    reference: Option<Id>,
    /// Only this project: a key or an id. A root must be in it.
    project: Option<Text<1, 64>>,
    /// How many levels to return: 1 is only the roots; default: all.
    depth: Option<Number<1, 3>>,
    /// How many epics to return; default 50. With a root, how many of its children; default: all.
    limit: Option<Limit>,
    /// How many epics, or children of the root, to skip.
    offset: Option<Offset>,
    /// Continue after a page: its `next_cursor`.
    cursor: Option<Cursor>,
}

/// A tree of entities.
#[derive(Serialize, JsonSchema)]
pub struct Hierarchy {
    /// The roots with their descendants.
    pub data: Vec<Node>,
    /// The number of roots on all pages.
    pub total_count: i64,
    /// The maximal number of roots on this page.
    pub limit: i64,
    /// The number of skipped roots.
    pub offset: i64,
    /// The start of the next page, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

impl Output for Hierarchy {}

/// An entity with its descendants.
#[derive(Serialize, JsonSchema)]
pub struct Node {
    /// The UUID.
    id: String,
    /// The reference id.
    reference_id: String,
    /// The kind.
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
    /// The reference id of a requirement's criterion.
    #[serde(skip_serializing_if = "Option::is_none")]
    acceptance_criteria: Option<String>,
    /// Its children.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    children: Vec<Node>,
    /// The number of its children, if `depth` or `limit` leaves some of them out.
    #[serde(skip_serializing_if = "Option::is_none")]
    n_children: Option<i64>,
}

/// A larger tree is returned in pages.
const TREE_MAX: i64 = 20_000;
/// Epics, stories, and what is below stories.
const LEVELS: i64 = 3;
/// The name of the list in its cursors, which is also that of epics by number.
const LIST: &str = "number";
/// The same for the children of a root.
const CHILDREN: &str = "children";

impl Operation for GetHierarchy {
    type Output = Hierarchy;
    const NAME: &'static str = "get_hierarchy";
    const COMMANDS: &'static [Command] = &[command("hierarchy")];
    const ROUTES: &'static [Route] = &[get("/hierarchy"), get("/hierarchy/{reference}")];
    const EFFECT: Effect = Effect::Reads;
    const POSITIONAL: &'static [&'static str] = &["reference"];

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<Hierarchy> {
        let depth = self.depth.map_or(LEVELS, |depth| depth.0);
        if let Some(reference) = &self.reference {
            let root = cx.live_entity("reference", reference)?;
            if let Some(name) = &self.project
                && cx.project("project", Some(name.as_str()))?.id != root.project_id
            {
                let message = format!("{} is in the project {}", root.reference_id, root.project);
                return Err(Error::field("project", message));
            }
            let is_paged = self.limit.is_some() || self.offset.is_some() || self.cursor.is_some();
            let (data, next_cursor) = match is_paged && depth > 1 {
                true => self.page_of_children(cx, &root, depth)?,
                false => (trees(cx, &[&root.id], depth)?, None),
            };
            return Ok(Hierarchy { data, total_count: 1, limit: 1, offset: 0, next_cursor });
        }
        let projects = cx.projects("project", self.project.as_ref().map(Text::as_str))?;
        let filter = EntityFilter { kind: Some(Kind::Epic), projects, ..EntityFilter::default() };
        let window = window(self.limit, self.offset);
        let after = self.cursor.as_ref().map(|cursor| cursor.place(LIST)).transpose()?;
        let wanted = entity::Page { after, offset: window.1, limit: window.0 + 1 };
        let roots = entity::list(cx.tx, &filter, Sort::Number, &wanted)?;
        let total = entity::count(cx.tx, &filter)?;
        let roots = page_after(roots, total, window, |last| Cursor::at(LIST, &Sort::Number.place(last)));
        let ids: Vec<&str> = roots.data.iter().map(|root| root.id.as_str()).collect();
        Ok(Hierarchy {
            data: trees(cx, &ids, depth)?,
            total_count: roots.total_count,
            limit: roots.limit,
            offset: roots.offset,
            next_cursor: roots.next_cursor,
        })
    }
}

impl GetHierarchy {
    /// The root with a page of its children, and the start of the next page.
    fn page_of_children(
        &self,
        cx: &mut Cx<'_, '_>,
        root: &Entity,
        depth: i64,
    ) -> Result<(Vec<Node>, Option<String>)> {
        let (limit, offset) = window(self.limit, self.offset);
        let after: Option<(String, i64)> =
            self.cursor.as_ref().map(|cursor| cursor.place(CHILDREN)).transpose()?;
        let after = after.as_ref().map(|(kind, number)| (kind.as_str(), *number));
        let mut children = entity::children(cx.tx, &root.id, after, limit + 1, offset)?;
        let has_more = children.len() as i64 > limit;
        children.truncate(limit as usize);
        let last = children.last().filter(|_| has_more);
        let next_cursor = last.map(|last| Cursor::at(CHILDREN, &(last.kind.name(), last.number)));
        let ids: Vec<&str> = children.iter().map(|child| child.id.as_str()).collect();
        let mut data = trees(cx, &[&root.id], 1)?;
        if let Some(root) = data.first_mut() {
            root.children = trees(cx, &ids, depth - 1)?;
            root.n_children = root.n_children.filter(|count| *count > root.children.len() as i64);
        }
        Ok((data, next_cursor))
    }
}

/// The trees below roots with these ids.
fn trees(cx: &mut Cx<'_, '_>, ids: &[&str], depth: i64) -> Result<Vec<Node>> {
    let leaves = entity::leaves(cx.tx, ids, depth, TREE_MAX + 1)?;
    if leaves.len() as i64 > TREE_MAX {
        let message = format!(
            "more than {TREE_MAX} entities are below these; use depth or a smaller limit, or ask for a part of the tree"
        );
        return Err(Error::new(crate::ErrorKind::TooLarge, message));
    }
    let mut counts = HashMap::new();
    if depth < LEVELS {
        let ids: Vec<&str> = leaves.iter().map(|leaf| leaf.id.as_str()).collect();
        counts.extend(entity::count_children(cx.tx, &ids)?);
    }
    // Children come after their parents, so in reverse order all children of a node are known when it is reached.
    let mut below: HashMap<String, Vec<Node>> = HashMap::new();
    let mut found = Vec::new();
    for leaf in leaves.into_iter().rev() {
        let mut children = below.remove(&leaf.id).unwrap_or_default();
        children.reverse();
        let n_children = counts.remove(&leaf.id).filter(|_| children.is_empty());
        let parent_id = leaf.parent_id.clone().filter(|_| !ids.contains(&leaf.id.as_str()));
        let node = node(leaf, children, n_children);
        match parent_id {
            Some(parent_id) => below.entry(parent_id).or_default().push(node),
            None => found.push(node),
        }
    }
    // The roots are in the requested order, and all of them were found.
    found.sort_by_key(|node| ids.iter().position(|id| *id == node.id));
    Ok(found)
}

fn node(leaf: Leaf, children: Vec<Node>, n_children: Option<i64>) -> Node {
    Node {
        id: leaf.id,
        reference_id: leaf.reference_id,
        kind: leaf.kind,
        title: leaf.label,
        status: leaf.status,
        priority: leaf.priority,
        type_name: leaf.type_name,
        acceptance_criteria: leaf.criterion,
        children,
        n_children,
    }
}

/// Read the path from an epic down to an entity.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetPath {
    /// The entity, such as `REQ-012`.
    reference: Id,
}

/// The path from an epic down to an entity.
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
