//! The history of an entity, and restoring an earlier version.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::value::to_raw_value;
use serde_json::{Map, Value};
use store::entity::{Entity, FIELDS};
use store::model::{Kind, Reference};
use store::revision::{self, Revision};
use store::{prompt, status, user};

use super::change;
use super::place::{name_places, put_back};
use super::read::check_is;
use crate::comment::find_visible;
use crate::context::{Cx, internal};
use crate::error::{Error, ErrorKind, Result};
use crate::input::{Id, KindName, Limit, Offset};
use crate::operation::{Columns, Command, Effect, Operation, Route, Tool, command, get, tool};
use crate::page::{Cursor, Page, page, window_from};
use crate::versioned::Versioned as _;

/// Read the history of an entity, a comment or a prompt: who changed what, when and through which surface, newest
/// first.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetHistory {
    /// Its UUID or reference id, such as `REQ-012`.
    reference: Id,
    /// The expected kind.
    kind: Option<KindName>,
    /// How many items to return; default 50.
    limit: Option<Limit>,
    /// How many items to skip.
    offset: Option<Offset>,
    /// Continue after a page: its `next_cursor`.
    cursor: Option<Cursor>,
}

impl Operation for GetHistory {
    type Output = Page<Revision>;
    const NAME: &'static str = "get_history";
    const COMMANDS: &'static [Command] = &[
        command("history"),
        command("epic history").with(&[("kind", "epic")]),
        command("user-story history").with(&[("kind", "user_story")]),
        command("acceptance-criteria history").with(&[("kind", "acceptance_criteria")]),
        command("requirement history").with(&[("kind", "requirement")]),
        command("steering-document history").with(&[("kind", "steering_document")]),
        command("prompt history").with(&[("kind", "prompt")]),
        command("comment history").with(&[("kind", "comment")]),
    ];
    const ROUTES: &'static [Route] = &[
        get("/epics/{reference}/history").with(&[("kind", "epic")]),
        get("/user-stories/{reference}/history").with(&[("kind", "user_story")]),
        get("/acceptance-criteria/{reference}/history").with(&[("kind", "acceptance_criteria")]),
        get("/requirements/{reference}/history").with(&[("kind", "requirement")]),
        get("/steering-documents/{reference}/history").with(&[("kind", "steering_document")]),
        get("/prompts/{reference}/history").with(&[("kind", "prompt")]),
        get("/comments/{reference}/history").with(&[("kind", "comment")]),
    ];
    const TOOLS: &'static [Tool] = &[tool("requirements", r#"{"reference": "REQ-001", "limit": 5}"#)
        .also(&["history", "changelog", "get_changelog", "revisions", "list_revisions", "list_changes"])
        .showing(&["reference", "limit"])];
    const EFFECT: Effect = Effect::Reads;
    const COLUMNS: &'static [Columns] =
        &[(None, &["version", "operation", "changes", "actor", "via", "created_at"])];
    const POSITIONAL: &'static [&'static str] = &["reference"];

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<Page<Revision>> {
        let id = subject(cx, &self.reference, self.kind)?;
        let window = window_from(self.limit, self.offset, self.cursor.as_ref())?;
        let (mut revisions, total) = revision::history(cx.tx, &id, window.0, window.1)?;
        name_changes(cx, &mut revisions)?;
        Ok(page(revisions, total, window))
    }
}

/// Adds the reference ids of parents to changes of the parent.
fn name_changes(cx: &mut Cx<'_, '_>, revisions: &mut [Revision]) -> Result<()> {
    let mut changes: Vec<Map<String, Value>> = revisions.iter().map(changes_of).collect();
    name_places(cx, &mut changes.iter_mut().collect::<Vec<_>>())?;
    for (revision, changes) in revisions.iter_mut().zip(&changes) {
        revision.changes = to_raw_value(changes).map_err(internal)?;
    }
    Ok(())
}

fn changes_of(revision: &Revision) -> Map<String, Value> {
    serde_json::from_str(revision.changes.get()).unwrap_or_default()
}

/// The id of the entity that a reference names, deleted or not.
fn subject(cx: &mut Cx<'_, '_>, reference: &Id, wanted: Option<KindName>) -> Result<String> {
    let found = match &reference.0 {
        Reference::Id(id) => match find_visible(cx, id)? {
            Some(found) => Some((found.id, Kind::Comment)),
            None => prompt::find(cx.tx, &reference.0)?.map(|found| (found.id, Kind::Prompt)),
        },
        Reference::Numbered { kind: Kind::Prompt, .. } => {
            let found = prompt::find(cx.tx, &reference.0)?;
            let found = found.ok_or_else(|| Error::not_found("prompt", &reference.0))?;
            Some((found.id, Kind::Prompt))
        }
        Reference::Numbered { .. } => None,
    };
    let (id, kind) = match found {
        Some(found) => found,
        None => {
            let entity = cx.any_entity("reference", reference)?;
            (entity.id, entity.kind)
        }
    };
    check_is(&reference.0.to_string(), kind, wanted)?;
    Ok(id)
}

/// How far back a version can be reconstructed at once.
const STEPS_MAX: i64 = 10_000;

/// Restores the text, fields and parent that an entity had in a version.
pub(crate) fn take_back(cx: &mut Cx<'_, '_>, entity: Entity, version: i64) -> Result<Entity> {
    let entity = entity.live()?;
    if version >= entity.version {
        let message = format!(
            "expected a version before {}, which is the present one, found {version}",
            entity.version
        );
        return Err(Error::field("version", message));
    }
    let then = fields_at(cx, &entity, version)?;
    let text = |name: &str| then.get(name).and_then(Value::as_str).map(str::to_owned);
    change(cx, entity, None, |cx, entity| {
        for field in FIELDS {
            // A required field was never empty; a field of an older version may no longer exist.
            let old = then
                .get(field.name)
                .filter(|old| !old.is_null() || field.is_needed(entity.kind) == Some(false));
            if let Some(old) = old {
                field.set(entity, old);
            }
        }
        put_back(cx, entity, &then)?;
        // A status or a type that was removed or renamed since is not restored.
        if let Some(name) = text("status")
            && status::of(cx.tx, entity.kind)?.status(&name).is_some()
        {
            super::set_status(cx, entity, &name)?;
        }
        if let Some(type_id) = text("type_id") {
            match super::requirement_type(cx, "version", &type_id) {
                Ok((id, name)) => (entity.type_id, entity.type_name) = (Some(id), Some(name)),
                Err(error) if error.kind == ErrorKind::ValidationError => {}
                Err(error) => return Err(error),
            }
        }
        match text("assignee_id") {
            // A user who was disabled since is not assigned.
            Some(id) => {
                if let Some(user) = user::find(cx.tx, &id)?.filter(|user| !user.disabled) {
                    (entity.assignee_id, entity.assignee) = (Some(user.id), Some(user.username));
                }
            }
            None if then.contains_key("assignee_id") => (entity.assignee_id, entity.assignee) = (None, None),
            None => {}
        }
        Ok(())
    })
}

/// The fields that differ between a version and the current state, with their values in the version.
pub(crate) fn fields_at(cx: &mut Cx<'_, '_>, entity: &Entity, version: i64) -> Result<Map<String, Value>> {
    let (revisions, _) = revision::history(cx.tx, &entity.id, STEPS_MAX, 0)?;
    let mut then = Map::new();
    for revision in revisions.iter().take_while(|revision| revision.version > version) {
        for (name, pair) in changes_of(revision) {
            then.insert(name, pair.get(0).cloned().unwrap_or_default());
        }
    }
    Ok(then)
}
