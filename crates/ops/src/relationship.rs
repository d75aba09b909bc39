//! Relationships between requirements.

pub mod suspects;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use store::entity;
use store::model::{Kind, Reference};
use store::relationship::{self, Relationship};
use store::types::RelationshipType;

use crate::config::types::named;
use crate::context::{Cx, check_version_of, overtaken};
use crate::error::{Error, Result};
use crate::input::{Id, Limit, Offset, Text, Version};
use crate::operation::{
    Change, Columns, Command, Effect, Operation, Route, Tool, command, create, delete, get, post, tool,
    versioned_output,
};
use crate::page::{Cursor, Page, page, window_from};
use crate::versioned::{Versioned as _, new_deletion, record, record_deleted};

versioned_output!(Relationship, version, id);

/// Relate two requirements.
///
/// `depends_on`, `blocks` and `derives_from` must not form a cycle. The relationship records the target's version; if
/// the target's text or type changes later, the relationship is suspect until it is confirmed.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateRelationship {
    /// The source requirement, such as `REQ-001`.
    source_requirement_id: Id,
    /// The target requirement, such as `REQ-002`.
    target_requirement_id: Id,
    /// The type: its name, such as `depends_on`, or its id.
    relationship_type_id: Text<1, 100>,
}

impl Operation for CreateRelationship {
    type Output = Relationship;
    const NAME: &'static str = "create_relationship";
    const COMMANDS: &'static [Command] = &[command("relationship create")];
    const ROUTES: &'static [Route] = &[create("/relationships")];
    const TOOLS: &'static [Tool] = &[tool(
        "requirements",
        r#"{"source_requirement_id": "REQ-001", "target_requirement_id": "REQ-002", "relationship_type_id": "depends_on"}"#,
    )
    .also(&["link", "relate", "add_relationship", "create_link", "add_link", "create_relation", "add_relation", "create_issue_link", "link_issues"])
    .daily(&["source_requirement_id", "target_requirement_id", "relationship_type_id"])
    .about("Relate two requirements: depends_on, blocks, relates_to, conflicts_with or derives_from.")];
    const EFFECT: Effect = Effect::Writes;
    const POSITIONAL: &'static [&'static str] =
        &["source_requirement_id", "relationship_type_id", "target_requirement_id"];

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<Relationship> {
        let source = cx.entity("source_requirement_id", &self.source_requirement_id, Kind::Requirement)?;
        let target = cx.entity("target_requirement_id", &self.target_requirement_id, Kind::Requirement)?;
        relationship::lock_circles(cx.tx, &source.project_id)?;
        let kind: RelationshipType = named(cx, "relationship_type_id", self.relationship_type_id.as_str())?;
        if source.id == target.id {
            return Err(Error::field("target_requirement_id", "a requirement cannot be related to itself"));
        }
        if source.project_id != target.project_id {
            let message =
                format!("{} is in another project than {}", target.reference_id, source.reference_id);
            return Err(Error::field("target_requirement_id", message));
        }
        if let Some(known) = relationship::between(cx.tx, &source.id, &target.id, &kind.id)? {
            let message = format!("{} {} {} already", source.reference_id, kind.name, target.reference_id);
            let error = Error::conflict(message).about("target_requirement_id");
            return Err(error.with(json!({ "current": known })));
        }
        if kind.acyclic
            && let Some(way) = relationship::way(cx.tx, &source.project, &target.id, &source.id)?
        {
            let message = circle(&source.reference_id, &kind.name, &target.reference_id, way);
            return Err(Error::conflict(message).about("target_requirement_id"));
        }
        let new = Relationship {
            id: cx.new_id(),
            project_id: source.project_id,
            source_id: source.id,
            source: source.reference_id,
            target_id: target.id,
            target: target.reference_id,
            type_id: kind.id,
            type_name: kind.name,
            inverse_type: kind.inverse_name,
            creator_id: cx.caller()?.user_id.clone(),
            target_version: target.version,
            suspect: false,
            version: 1,
            created_at: cx.now(),
            updated_at: cx.now(),
            deleted_at: None,
            deletion_id: None,
        };
        add(cx, new)
    }
}

/// How many steps of a cycle are shown.
const STEPS_MAX: usize = 20;
/// Marks omitted steps.
pub(crate) const LEFT_OUT: &str = "…";

/// The error for a relationship that would close a cycle; the path leads from its target back to its source.
pub(crate) fn circle(source: &str, type_name: &str, target: &str, way: Vec<String>) -> String {
    let way = shortened(way).join(" → ");
    format!("{source} {type_name} {target} would close a cycle: {target} → {way}")
}

/// A path, with the middle omitted if it is long.
pub(crate) fn shortened(mut way: Vec<String>) -> Vec<String> {
    if way.len() > STEPS_MAX {
        let half = STEPS_MAX / 2;
        way.splice(half - 1..way.len() - half, [LEFT_OUT.to_owned()]);
    }
    way
}

/// Inserts a new relationship.
pub(crate) fn add(cx: &mut Cx<'_, '_>, new: Relationship) -> Result<Relationship> {
    relationship::insert(cx.tx, &new)?;
    record(cx, None, &new)?;
    Ok(new)
}

/// Sets the version of the target that a relationship is confirmed for.
pub(crate) fn confirm(
    cx: &mut Cx<'_, '_>,
    before: &Relationship,
    target_version: i64,
    suspect: bool,
) -> Result<Relationship> {
    let mut after = before.clone();
    after.target_version = target_version;
    after.suspect = suspect;
    after.go_on(cx.now());
    if !relationship::confirm(cx.tx, &after)? {
        return Err(overtaken("the relationship"));
    }
    record(cx, Some(before), &after)?;
    Ok(after)
}

/// Delete a relationship.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeleteRelationship {
    /// The relationship's id.
    id: Id,
    /// Reject if the current version differs.
    expected_version: Option<Version>,
}

impl Operation for DeleteRelationship {
    type Output = Relationship;
    const NAME: &'static str = "delete_relationship";
    const COMMANDS: &'static [Command] = &[command("relationship delete")];
    const ROUTES: &'static [Route] = &[delete("/relationships/{id}")];
    const TOOLS: &'static [Tool] =
        &[tool("requirements", r#"{"id": "019a8b5e-2f00-7000-8000-000000000bad"}"#).showing(&["id"])];
    const EFFECT: Effect = Effect::Destroys;
    const POSITIONAL: &'static [&'static str] = &["id"];

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<Relationship> {
        let gone = find_live(cx, &self.id)?;
        gone.check_version(cx, self.expected_version)?;
        let deletion = new_deletion(cx)?;
        if !relationship::delete(cx.tx, &gone, &deletion)? {
            return Err(overtaken("the relationship"));
        }
        let gone = relationship::find(cx.tx, &gone.id)?.unwrap_or(gone);
        record_deleted(cx, &gone)?;
        Ok(gone)
    }
}

/// List the relationships of a requirement, in both directions.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListRelationships {
    /// The requirement, such as `REQ-012`.
    requirement_id: Id,
    /// How many items to return; default 50.
    limit: Option<Limit>,
    /// How many items to skip.
    offset: Option<Offset>,
    /// Continue after a page: its `next_cursor`.
    cursor: Option<Cursor>,
}

impl Operation for ListRelationships {
    type Output = Page<Relationship>;
    const NAME: &'static str = "list_relationships";
    const COMMANDS: &'static [Command] = &[command("relationship list")];
    const ROUTES: &'static [Route] = &[get("/requirements/{requirement_id}/relationships")];
    const EFFECT: Effect = Effect::Reads;
    const COLUMNS: &'static [Columns] =
        &[(None, &["id", "source", "type", "target", "suspect", "created_at"])];
    const POSITIONAL: &'static [&'static str] = &["requirement_id"];

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<Page<Relationship>> {
        let requirement = cx.entity("requirement_id", &self.requirement_id, Kind::Requirement)?;
        let window = window_from(self.limit, self.offset, self.cursor.as_ref())?;
        let found = relationship::of(cx.tx, &requirement.id, window.0, window.1)?;
        Ok(page(found, relationship::count_of(cx.tx, &requirement.id)?, window))
    }
}

/// Confirm that a suspect relationship still holds for the target's current text.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClearSuspectLink {
    /// The relationship's id.
    id: Id,
    /// The version of the target that was reviewed: rejected if it has changed again.
    target_version: Option<Version>,
    /// Reject if the current version of the relationship differs.
    expected_version: Option<Version>,
}

impl Operation for ClearSuspectLink {
    type Output = Relationship;
    const NAME: &'static str = "clear_suspect_link";
    const COMMANDS: &'static [Command] = &[command("suspect-link clear").taking_several("id")];
    const ROUTES: &'static [Route] = &[post("/suspect-links/{id}/clear")];
    const EFFECT: Effect = Effect::Writes;
    const CHANGE: Change = Change::Edits;
    const POSITIONAL: &'static [&'static str] = &["id"];

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<Relationship> {
        let before = find_live(cx, &self.id)?;
        before.check_version(cx, self.expected_version)?;
        let target = entity::find(cx.tx, &Reference::Id(before.target_id.clone()))?
            .ok_or_else(|| Error::not_found("requirement", &before.target))?;
        check_version_of("target_version", self.target_version, &before.target, target.version, &target)?;
        if !before.suspect {
            return Ok(before);
        }
        confirm(cx, &before, target.version, false)
    }
}

fn find_live(cx: &mut Cx<'_, '_>, id: &Id) -> Result<Relationship> {
    let Reference::Id(uuid) = &id.0 else {
        return Err(Error::field("id", "expected the id of a relationship"));
    };
    match relationship::find(cx.tx, uuid)? {
        Some(found) if cx.sees(&found.project_id)? => found.live(),
        _ => Err(Error::not_found("relationship", uuid)),
    }
}
