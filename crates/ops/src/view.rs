//! Saved views of tables. Users have their own; shared views are shown to everyone who can see the project.

use schemars::JsonSchema;
use serde::Deserialize;
use store::model::{Kind, Role};
use store::view::{self, SavedView};

use crate::caller::needed;
use crate::context::{Cx, Subject, check_version, overtaken, to_value};
use crate::entity::read::ListEntities;
use crate::error::{Error, Result};
use crate::input::{KindName, Limit, Offset, Text, Version};
use crate::operation::{
    Columns, Command, Effect, Operation, Route, Tool, command, delete, entry, get, put, tool,
    versioned_output,
};
use crate::page::{Cursor, Page, page, window_from};
use crate::project;

versioned_output!(SavedView, version, id);

/// The maximal number of a user's views in a project, and of shared ones.
const OWN_MAX: i64 = 50;
const SHARED_MAX: i64 = 100;
/// Parameters of a view other than filters of the list: the query, and the columns.
const BESIDE_FILTERS: [&str; 2] = ["query", "columns"];
/// Arguments of the list that are not part of a view: they are fixed by its table, or belong to a page.
const NOT_SAVED: [&str; 5] = ["kind", "project", "limit", "offset", "cursor"];

/// List the saved views of a project: your own, and shared ones.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListViews {
    /// The key or id of the project.
    project: Text<1, 64>,
    /// Only views of tables of this kind.
    kind: Option<KindName>,
    /// How many items to return; default 50.
    limit: Option<Limit>,
    /// How many items to skip.
    offset: Option<Offset>,
    /// Continue after a page: its `next_cursor`.
    cursor: Option<Cursor>,
}

impl Operation for ListViews {
    type Output = Page<SavedView>;
    const NAME: &'static str = "list_views";
    const COMMANDS: &'static [Command] = &[command("view list")];
    const ROUTES: &'static [Route] = &[get("/projects/{project}/views")];
    const TOOLS: &'static [Tool] =
        &[tool("views", r#"{"project": "DEFAULT"}"#).showing(&["project", "kind", "limit", "cursor"])];
    const EFFECT: Effect = Effect::Reads;
    const COLUMNS: &'static [Columns] =
        &[(None, &["id", "kind", "name", "query", "shared", "owner", "version"])];
    const POSITIONAL: &'static [&'static str] = &["project"];

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<Page<SavedView>> {
        let project = project::find(cx, &self.project)?;
        let window = window_from(self.limit, self.offset, self.cursor.as_ref())?;
        let kind = self.kind.map(|kind| kind.0);
        let viewer_id = &cx.caller()?.user_id;
        let (views, total) = view::list(cx.tx, (&project.id, viewer_id), kind, window)?;
        Ok(page(views, total, window))
    }
}

/// Save the filters, order and columns of a table under a name.
///
/// Replaces your view with this name. `view_id` changes another one, including its name: your own, or as an administrator
/// of the project a shared one. Sharing a view needs the role User.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SaveView {
    /// The key or id of the project.
    project: Text<1, 64>,
    /// The kind that the table lists: `epic`, `user_story`, `acceptance_criteria`, `requirement` or `steering_document`.
    kind: KindName,
    /// The name.
    name: Text<1, 60>,
    /// Arguments of the list as in a URL: `status=Draft&status=Active&sort=priority`. Also `query`, the search text,
    /// and `columns`. Default: everything.
    query: Option<Text<0, 2_000>>,
    /// Whether everyone who can see the project can see it. Default: unchanged; false for a new one.
    shared: Option<bool>,
    /// The view to change, if it is not one of yours with this name.
    view_id: Option<Text<1, 100>>,
    /// Reject the change if the current version differs.
    expected_version: Option<Version>,
}

impl Operation for SaveView {
    type Output = SavedView;
    const NAME: &'static str = "save_view";
    const COMMANDS: &'static [Command] = &[command("view save")];
    const ROUTES: &'static [Route] = &[put("/projects/{project}/views")];
    const TOOLS: &'static [Tool] = &[tool(
        "views",
        r#"{"project": "DEFAULT", "kind": "requirement", "name": "Drafts", "query": "status=Draft&sort=priority"}"#,
    )];
    const EFFECT: Effect = Effect::Comments;
    const POSITIONAL: &'static [&'static str] = &["project"];

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<SavedView> {
        let project = project::find(cx, &self.project)?;
        let kind = self.kind.0;
        if matches!(kind, Kind::Prompt | Kind::Comment) {
            let kinds = Kind::ALL.into_iter().filter(|kind| !matches!(kind, Kind::Prompt | Kind::Comment));
            return Err(Error::not_allowed("kind", kind.name(), kinds.map(Kind::name)));
        }
        let (name, query) =
            (self.name.as_str().trim(), checked(self.query.as_ref().map_or("", Text::as_str))?);
        // What is counted and found now must not change until the commit.
        view::lock(cx.tx, &project.id)?;
        let caller = cx.caller()?;
        let before = match &self.view_id {
            Some(id) => {
                let found = find(cx, id.as_str())?;
                if (found.project_id.as_str(), found.kind) != (project.id.as_str(), kind) {
                    let message =
                        format!("{:?} is a view of {} in {}", found.name, found.kind.name(), found.project);
                    return Err(Error::field("view_id", message));
                }
                Some(found)
            }
            None => view::find_named(cx.tx, &project.id, kind, &caller.user_id, name)?,
        };
        let version = before.as_ref().map_or(0, |before| before.version);
        check_version(self.expected_version, &format!("the view {name:?}"), version, &before)?;
        let shared = self.shared.or(before.as_ref().map(|before| before.shared)).unwrap_or_default();
        if shared && before.as_ref().is_none_or(|before| !before.shared) {
            may(cx, &project.id, Effect::Writes)?;
            let (_, n_shared) = view::count(cx.tx, &project.id, &caller.user_id)?;
            if n_shared >= SHARED_MAX {
                let message =
                    format!("{} shares {SHARED_MAX} views already; delete one of them first", project.key);
                return Err(Error::conflict(message).about("shared"));
            }
        }
        let after = match &before {
            Some(before) => {
                check_name(cx, before, name)?;
                let after =
                    SavedView { name: name.to_owned(), query: query.to_owned(), shared, ..before.clone() };
                if after == *before {
                    return Ok(after);
                }
                SavedView { version: before.version + 1, updated_at: cx.now(), ..after }
            }
            None => SavedView {
                id: cx.new_id(),
                project_id: project.id,
                project: project.key,
                kind,
                name: name.to_owned(),
                query: query.to_owned(),
                shared,
                owner_id: caller.user_id.clone(),
                owner: caller.username.clone(),
                version: 1,
                created_at: cx.now(),
                updated_at: cx.now(),
            },
        };
        match &before {
            Some(_) if !view::update(cx.tx, &after)? => return Err(overtaken(name)),
            Some(_) => {}
            None => {
                let (n_own, _) = view::count(cx.tx, &after.project_id, &caller.user_id)?;
                if n_own >= OWN_MAX {
                    let message = format!(
                        "you have {OWN_MAX} views in {} already; delete one of them first",
                        after.project
                    );
                    return Err(Error::conflict(message).about("name"));
                }
                view::insert(cx.tx, &after)?;
            }
        }
        record(cx, before.as_ref(), Some(&after))?;
        Ok(after)
    }
}

/// Delete a saved view: your own, or as an administrator of the project a shared one.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeleteView {
    /// The id of the view.
    view_id: Text<1, 100>,
    /// Reject if the current version differs.
    expected_version: Option<Version>,
}

impl Operation for DeleteView {
    type Output = SavedView;
    const NAME: &'static str = "delete_view";
    const COMMANDS: &'static [Command] = &[command("view delete")];
    const ROUTES: &'static [Route] = &[delete("/views/{view_id}")];
    const TOOLS: &'static [Tool] =
        &[tool("views", r#"{"view_id": "019a8b5e-2f00-7000-8000-0000000000ed"}"#).showing(&["view_id"])];
    const EFFECT: Effect = Effect::Comments;
    const POSITIONAL: &'static [&'static str] = &["view_id"];

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<SavedView> {
        let gone = find(cx, self.view_id.as_str())?;
        check_version(self.expected_version, &format!("the view {:?}", gone.name), gone.version, &gone)?;
        if !view::delete(cx.tx, &gone)? {
            return Err(overtaken(&gone.name));
        }
        record(cx, Some(&gone), None)?;
        Ok(gone)
    }
}

/// A view that the caller may change. A view that they cannot see does not exist.
fn find(cx: &mut Cx<'_, '_>, id: &str) -> Result<SavedView> {
    let id = id.trim().to_ascii_lowercase();
    let missing = || Error::not_found("view", &id);
    let found = view::find(cx.tx, &id)?.ok_or_else(missing)?;
    if !cx.sees(&found.project_id)? {
        return Err(missing());
    }
    match (found.owner_id == cx.caller()?.user_id, found.shared) {
        (true, _) => Ok(found),
        (false, false) => Err(missing()),
        (false, true) => {
            may(cx, &found.project_id, Effect::Manages).map_err(|error| {
                let message = format!("{}; the view {:?} is {}'s", error.message, found.name, found.owner);
                Error { message, ..error }
            })?;
            Ok(found)
        }
    }
}

/// Checks that the caller has the right for another effect in a project.
fn may(cx: &mut Cx<'_, '_>, project_id: &str, effect: Effect) -> Result<()> {
    let caller = cx.caller()?;
    caller.may(effect)?;
    let held = cx.role_in(project_id)?.unwrap_or(Role::Commenter);
    caller.has_role(needed(effect).0, held, " in this project")
}

/// Rejects a new name if another view of the same owner has it.
fn check_name(cx: &mut Cx<'_, '_>, before: &SavedView, name: &str) -> Result<()> {
    match view::find_named(cx.tx, &before.project_id, before.kind, &before.owner_id, name)? {
        Some(other) if other.id != before.id => {
            let message = format!("{} has another view with the name {name:?}", before.owner);
            Err(Error::conflict(message).about("name"))
        }
        _ => Ok(()),
    }
}

/// The query without URL decoration. Each name must be a filter of the list, or a parameter of views.
fn checked(query: &str) -> Result<&str> {
    let query = query.trim().trim_start_matches('?');
    let is_plain = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'#' | b'"' | b'<' | b'>' | b'\\');
    if !query.bytes().all(is_plain) {
        let message = "expected a query as in an address, with other characters encoded: `label=two%20words`";
        return Err(Error::field("query", message));
    }
    let list = entry::<ListEntities>().input_schema();
    let filters = list["properties"].as_object().into_iter().flatten().map(|(name, _)| name.as_str());
    let known: Vec<&str> = filters.filter(|name| !NOT_SAVED.contains(name)).chain(BESIDE_FILTERS).collect();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let name = pair.split_once('=').map_or(pair, |(name, _)| name);
        if !known.contains(&name) {
            return Err(Error::not_allowed("query", name, known));
        }
    }
    Ok(query)
}

/// Records a change. Private views are not among the changes of the project.
fn record(cx: &mut Cx<'_, '_>, before: Option<&SavedView>, after: Option<&SavedView>) -> Result<()> {
    let Some(known) = after.or(before) else { return Ok(()) };
    let is_shared = [before, after].into_iter().flatten().any(|view| view.shared);
    let subject = Subject {
        project_id: is_shared.then_some(known.project_id.as_str()),
        kind: "saved_view",
        id: &known.id,
        reference_id: None,
        version: after.map_or(known.version + 1, |after| after.version),
    };
    let before = before.map(to_value).transpose()?;
    let after = after.map(to_value).transpose()?;
    cx.record(&subject, before.as_ref(), after.as_ref())
}
