//! Lists and shows imports.

use schemars::JsonSchema;
use serde::Deserialize;
use store::import::{self, Import};
use store::model::Reference;

use crate::context::Cx;
use crate::error::{Error, Result};
use crate::input::{Id, Limit, Offset, Text};
use crate::operation::{Columns, Command, Effect, Operation, Output, Route, Tool, command, get, tool};
use crate::page::{Cursor, Page, page, window_from};
use crate::project;

impl Output for Import {}

/// List imports, newest first: your own, or everyone's for administrators.
///
/// An `unfinished` import is running or has stopped. It can be resumed with the same file, or undone.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListImports {
    /// The key or id of the project; default: all.
    project: Option<Text<1, 64>>,
    /// How many items to return; default 50.
    limit: Option<Limit>,
    /// How many items to skip.
    offset: Option<Offset>,
    /// Continue after a page: its `next_cursor`.
    cursor: Option<Cursor>,
}

impl Operation for ListImports {
    type Output = Page<Import>;
    const NAME: &'static str = "list_imports";
    const COMMANDS: &'static [Command] = &[command("imports list")];
    const ROUTES: &'static [Route] = &[get("/imports")];
    const TOOLS: &'static [Tool] = &[tool("bulk", "{}")];
    const COLUMNS: &'static [Columns] =
        &[(None, &["id", "project", "actor", "format", "rows_done", "rows_total", "state", "created_at"])];
    const EFFECT: Effect = Effect::Reads;

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<Page<Import>> {
        let caller = cx.caller()?;
        let actor_id = caller.may(Effect::Administers).is_err().then_some(caller.user_id.as_str());
        let window = window_from(self.limit, self.offset, self.cursor.as_ref())?;
        let project = self.project.as_ref().map(|name| project::find(cx, name)).transpose()?;
        let project_id = project.as_ref().map(|project| project.id.as_str());
        let (found, total) = import::list(cx.tx, actor_id, project_id, window.0, window.1)?;
        let found = found.into_iter().map(|found| shown(cx, found)).collect::<Result<_>>()?;
        Ok(page(found, total, window))
    }
}

/// Show an import: how many of its rows are done, and whether it is finished.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetImport {
    /// The import's id.
    import_id: Id,
}

impl Operation for GetImport {
    type Output = Import;
    const NAME: &'static str = "get_import";
    const COMMANDS: &'static [Command] = &[command("imports show")];
    const ROUTES: &'static [Route] = &[get("/imports/{import_id}")];
    const EFFECT: Effect = Effect::Reads;
    const POSITIONAL: &'static [&'static str] = &["import_id"];

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<Import> {
        let found = find(cx, &self.import_id)?;
        shown(cx, found)
    }
}

/// The import that an argument names, if it is the caller's or they are an administrator.
pub(super) fn find(cx: &mut Cx<'_, '_>, id: &Id) -> Result<Import> {
    let found = match &id.0 {
        Reference::Id(id) => import::find(cx.tx, id)?,
        Reference::Numbered { .. } => None,
    };
    let caller = cx.caller()?;
    found
        .filter(|found| found.actor_id == caller.user_id || caller.may(Effect::Administers).is_ok())
        .ok_or_else(|| Error::not_found("import", &id.0).about("import_id"))
}

/// An import without what the caller cannot see.
pub(super) fn shown(cx: &mut Cx<'_, '_>, mut import: Import) -> Result<Import> {
    if cx.role_in(&import.project_id)?.is_none() {
        import.project = None;
    }
    Ok(import)
}
