//! Projects.

use schemars::JsonSchema;
use serde::Deserialize;
use store::Mode;
use store::model::{DEFAULT_PROJECT_ID, is_project_key};
use store::project::{self, Access, Project};

use crate::context::{Cx, Subject, check_version, overtaken, to_value};
use crate::error::{Error, Result};
use crate::input::{Description, Limit, Offset, Patch, Set, Text, Version};
use crate::operation::{
    Columns, Command, Effect, Operation, Route, command, create, delete, get, patch, versioned_output,
};
use crate::page::{Cursor, Page, page, window_from};

versioned_output!(Project, version, key);

/// Create a project.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateProject {
    /// The prefix of its reference ids: 2 to 10 capitals and digits, a letter first.
    key: Text<2, 10>,
    /// The name for people.
    name: Text<1, 200>,
    /// A description, in Markdown.
    description: Option<Description>,
    /// Who can see it: everybody, or its members and administrators. Default: open.
    #[serde(default)]
    access: Access,
}

impl Operation for CreateProject {
    type Output = Project;
    const NAME: &'static str = "create_project";
    const COMMANDS: &'static [Command] = &[command("project create")];
    const ROUTES: &'static [Route] = &[create("/projects")];
    const EFFECT: Effect = Effect::Administers;

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<Project> {
        let key = self.key.as_str().to_ascii_uppercase();
        if !is_project_key(&key) {
            let message = format!(
                "expected 2 to 10 letters and digits, a letter first, and not a prefix of a reference id, found {key:?}"
            );
            return Err(Error::field("key", message));
        }
        if project::find(cx.tx, &key)?.is_some() {
            return Err(Error::conflict(format!("the key {key} is taken")).about("key"));
        }
        let new = Project {
            id: cx.new_id(),
            key,
            name: (&self.name).into(),
            description: self.description.as_ref().map(Into::into),
            access: self.access,
            version: 1,
            created_at: cx.now(),
            updated_at: cx.now(),
        };
        add(cx, new)
    }
}

/// Inserts a new project.
pub(crate) fn add(cx: &mut Cx<'_, '_>, new: Project) -> Result<Project> {
    project::insert(cx.tx, &new)?;
    record(cx, None, &new, new.version)?;
    Ok(new)
}

/// List projects.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListProjects {
    /// How many items to return; default 50.
    limit: Option<Limit>,
    /// How many items to skip.
    offset: Option<Offset>,
    /// Continue after a page: its `next_cursor`.
    cursor: Option<Cursor>,
}

impl Operation for ListProjects {
    type Output = Page<Project>;
    const NAME: &'static str = "list_projects";
    const COMMANDS: &'static [Command] = &[command("project list")];
    const ROUTES: &'static [Route] = &[get("/projects")];
    const EFFECT: Effect = Effect::Reads;
    const COLUMNS: &'static [Columns] = &[(None, &["key", "name", "description", "version", "created_at"])];

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<Page<Project>> {
        let window = window_from(self.limit, self.offset, self.cursor.as_ref())?;
        let viewer = cx.caller()?.viewer();
        let projects = project::list(cx.tx, viewer, window.0, window.1)?;
        Ok(page(projects, project::count(cx.tx, viewer)?, window))
    }
}

/// Read a project.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetProject {
    /// Its key or id.
    project: Text<1, 64>,
}

impl Operation for GetProject {
    type Output = Project;
    const NAME: &'static str = "get_project";
    const COMMANDS: &'static [Command] = &[command("project show")];
    const ROUTES: &'static [Route] = &[get("/projects/{project}")];
    const EFFECT: Effect = Effect::Reads;
    const MODE: Option<Mode> = Some(Mode::Point);
    const POSITIONAL: &'static [&'static str] = &["project"];

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<Project> {
        find(cx, &self.project)
    }
}

/// Change a project. Its key cannot change, because it is part of reference ids.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateProject {
    /// Its key or id.
    project: Text<1, 64>,
    /// The name for people.
    #[serde(default)]
    name: Set<Text<1, 200>>,
    /// A description, in Markdown; null clears it.
    #[serde(default)]
    description: Patch<Description>,
    /// Who can see it: everybody, or its members and administrators.
    #[serde(default)]
    access: Set<Access>,
    /// Reject the change if the current version differs.
    expected_version: Option<Version>,
}

impl Operation for UpdateProject {
    type Output = Project;
    const NAME: &'static str = "update_project";
    const COMMANDS: &'static [Command] = &[command("project update")];
    const ROUTES: &'static [Route] = &[patch("/projects/{project}")];
    const EFFECT: Effect = Effect::Administers;
    const POSITIONAL: &'static [&'static str] = &["project"];

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<Project> {
        let before = find(cx, &self.project)?;
        check_version(self.expected_version, &before.key, before.version, &before)?;
        let mut after = before.clone();
        if let Some(name) = &self.name.0 {
            after.name = name.into();
        }
        after.description = self.description.apply(after.description.take(), |text| text.into());
        after.access = self.access.0.unwrap_or(after.access);
        change(cx, before, after)
    }
}

/// Stores a changed project, if it differs.
pub(crate) fn change(cx: &mut Cx<'_, '_>, before: Project, mut after: Project) -> Result<Project> {
    if after == before {
        return Ok(before);
    }
    after.version += 1;
    after.updated_at = cx.now();
    if !project::update(cx.tx, &after)? {
        return Err(overtaken(&before.key));
    }
    record(cx, Some(&before), &after, after.version)?;
    Ok(after)
}

/// Delete a project in which nothing was ever created.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeleteProject {
    /// Its key or id.
    project: Text<1, 64>,
    /// Only report whether it can be deleted.
    #[serde(default)]
    dry_run: bool,
    /// Reject if the current version differs.
    expected_version: Option<Version>,
}

impl Operation for DeleteProject {
    type Output = Project;
    const NAME: &'static str = "delete_project";
    const COMMANDS: &'static [Command] = &[command("project delete")];
    const ROUTES: &'static [Route] = &[delete("/projects/{project}")];
    const EFFECT: Effect = Effect::Administers;
    const POSITIONAL: &'static [&'static str] = &["project"];

    fn mode(&self) -> Option<Mode> {
        self.dry_run.then_some(Mode::Snapshot)
    }

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<Project> {
        let gone = find(cx, &self.project)?;
        check_version(self.expected_version, &gone.key, gone.version, &gone)?;
        if gone.id == DEFAULT_PROJECT_ID {
            return Err(Error::conflict("the default project cannot be deleted"));
        }
        if !project::is_empty(cx.tx, &gone.id)? {
            let message = format!(
                "{} is not empty: what was made in it, even if deleted, keeps its reference ids",
                gone.key
            );
            return Err(Error::conflict(message));
        }
        if self.dry_run {
            return Ok(gone);
        }
        if !project::delete(cx.tx, &gone)? {
            return Err(overtaken(&gone.key));
        }
        record(cx, Some(&gone), &gone, gone.version + 1)?;
        Ok(gone)
    }
}

pub(crate) fn find(cx: &mut Cx<'_, '_>, name: &Text<1, 64>) -> Result<Project> {
    match cx.find_project(name.as_str())? {
        Some(project) => Ok(project),
        None => Err(cx.no_project(name.as_str())?),
    }
}

fn record(cx: &mut Cx<'_, '_>, before: Option<&Project>, after: &Project, version: i64) -> Result<()> {
    let subject = Subject {
        project_id: Some(&after.id),
        kind: "project",
        id: &after.id,
        reference_id: Some(&after.key),
        version,
    };
    let before = before.map(to_value).transpose()?;
    cx.record(&subject, before.as_ref(), Some(&to_value(after)?))
}
