//! Lists of leases and of open work.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::model::Time;
use store::thread::lease;
use store::thread::text;

use super::lease::{holder, name_of, shown_paths};
use super::order;
use crate::context::Cx;
use crate::error::Result;
use crate::input::{Id, Limit, Offset, Text};
use crate::operation::{Columns, Command, Effect, Operation, Route, Tool, command, get, tool};
use crate::page::{Cursor, Page, page, window_from};

/// List who works on what: the valid leases of a project, the first to expire first.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListWork {
    /// The project: a key or an id; default: the project of your checkout, or the default project.
    project: Option<Text<1, 64>>,
    /// How many items to return; default 50.
    limit: Option<Limit>,
    /// How many items to skip.
    offset: Option<Offset>,
    /// Continue after a page: its `next_cursor`.
    cursor: Option<Cursor>,
}

/// Leased work.
#[derive(Serialize, JsonSchema)]
pub struct WorkHeld {
    /// The lease.
    lease: String,
    /// The requirement.
    reference_id: String,
    /// Its title.
    title: String,
    /// Who holds it.
    holder: String,
    /// The name of the token that leased it.
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<String>,
    /// The claimed files and folders.
    paths: Vec<String>,
    /// When it was leased.
    taken_at: Time,
    /// When it expires.
    expires_at: Time,
    /// The latest time to which it can be renewed.
    ends_at: Time,
    /// Whether it is yours.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    yours: bool,
}

impl Operation for ListWork {
    type Output = Page<WorkHeld>;
    const NAME: &'static str = "list_work";
    const COMMANDS: &'static [Command] = &[command("work list")];
    const ROUTES: &'static [Route] = &[get("/work")];
    const TOOLS: &'static [Tool] = &[tool("work", "{}").also(&["who_works", "list_leases", "in_progress"])];
    const EFFECT: Effect = Effect::Reads;
    const COLUMNS: &'static [Columns] =
        &[(None, &["lease", "title", "holder", "token", "expires_at", "paths"])];
    const LOOKS_BESIDE: bool = true;

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<Page<WorkHeld>> {
        let (project, _) = order::scope(cx, self.project.as_ref(), None)?;
        let window = window_from(self.limit, self.offset, self.cursor.as_ref())?;
        let user_id = &cx.caller()?.user_id;
        let held = lease::in_project(cx.tx, &project.id, window.0, window.1)?;
        let total = lease::count_in_project(cx.tx, &project.id)?;
        let held = held.into_iter().map(|lease| WorkHeld {
            lease: name_of(&lease),
            paths: shown_paths(&lease),
            ends_at: lease.ends_at(),
            yours: lease.user_id == *user_id,
            reference_id: lease.reference_id,
            title: lease.title,
            holder: lease.username,
            token: lease.token,
            taken_at: lease.taken_at,
            expires_at: lease.expires_at,
        });
        Ok(page(held.collect(), total, window))
    }
}

/// List open requirements in the order in which `next_work` leases them, and why.
///
/// Final, closed, leased and waiting requirements are left out. Nothing is leased.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListOpenWork {
    /// The project: a key or an id; default: the project of your checkout, or the default project.
    project: Option<Text<1, 64>>,
    /// Only requirements below this epic or user story, such as `US-002`.
    under: Option<Id>,
    /// How many items to return; default 50.
    limit: Option<Limit>,
    /// How many items to skip.
    offset: Option<Offset>,
    /// Continue after a page: its `next_cursor`.
    cursor: Option<Cursor>,
}

/// Open work.
#[derive(Serialize, JsonSchema)]
pub struct WorkOpen {
    /// The requirement.
    reference_id: String,
    /// Its title.
    title: String,
    /// Its status.
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<String>,
    /// Its priority.
    #[serde(skip_serializing_if = "Option::is_none")]
    priority: Option<i64>,
    /// The reason for its position.
    why: Vec<String>,
}

impl Operation for ListOpenWork {
    type Output = Page<WorkOpen>;
    const NAME: &'static str = "list_open_work";
    const COMMANDS: &'static [Command] = &[command("work open")];
    const ROUTES: &'static [Route] = &[get("/work/open")];
    const TOOLS: &'static [Tool] =
        &[tool("work", "{}").also(&["what_next", "todo", "backlog", "preview_work"])];
    const EFFECT: Effect = Effect::Reads;
    const COLUMNS: &'static [Columns] = &[(None, &["reference_id", "title", "status", "why"])];
    const LOOKS_BESIDE: bool = true;

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<Page<WorkOpen>> {
        let (project, scope) = order::scope(cx, self.project.as_ref(), self.under.as_ref())?;
        let window = window_from(self.limit, self.offset, self.cursor.as_ref())?;
        let holder = holder(cx.caller()?);
        let order = order::order(cx, &project.id, &scope, &holder)?;
        let total = order.candidates.len() as i64;
        let candidates = order.candidates.iter().skip(window.1 as usize).take(window.0 as usize);
        let candidates: Vec<_> = candidates.collect();
        let ids: Vec<&str> = candidates.iter().map(|candidate| candidate.id.as_str()).collect();
        let texts = text::of_ids(cx.tx, &ids)?;
        let open = candidates.iter().filter_map(|candidate| {
            let text = texts.iter().find(|text| text.id == candidate.id)?;
            Some(WorkOpen {
                reference_id: text.reference_id.clone(),
                title: text.title.clone(),
                status: text.status.clone(),
                priority: candidate.priority(),
                why: candidate.why(),
            })
        });
        Ok(page(open.collect(), total, window))
    }
}
