//! Renewing, releasing and breaking leases.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::thread::lease;

use super::lease::{LeaseName, LeaseShown, Taken, changed, ended, holder, name_of, record, reread};
use super::marks::marked;
use super::order::LEASES_MAX;
use super::paths::{self, PathText};
use crate::context::Cx;
use crate::error::{Error, Result};
use crate::input::Text;
use crate::operation::{Change, Command, Effect, Operation, Output, Route, Tool, command, post, tool};
use crate::work::next::check_free;

/// Renew a lease for 30 minutes, up to 8 hours in total, and claim more files that you are going to change.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RenewWork {
    /// The lease, such as `REQ-012.3`.
    lease: LeaseName,
    /// More files and folders that you are going to change; an error if somebody else has claimed them.
    paths: Option<Vec<PathText>>,
}

/// A renewed lease.
#[derive(Serialize, JsonSchema)]
pub struct WorkRenewed {
    /// The lease.
    #[serde(flatten)]
    lease: LeaseShown,
    /// The changes of the text since you last got it: `stop at [-100-]{+95+} degrees`.
    #[serde(skip_serializing_if = "Option::is_none")]
    changed: Option<String>,
}

impl Output for WorkRenewed {}

impl Operation for RenewWork {
    type Output = WorkRenewed;
    const NAME: &'static str = "renew_work";
    const COMMANDS: &'static [Command] = &[command("work renew")];
    const ROUTES: &'static [Route] = &[post("/work/renew")];
    const TOOLS: &'static [Tool] = &[tool("work", r#"{"lease": "REQ-002.1", "paths": ["src/cards.rs"]}"#)
        .also(&["keep_work", "extend_lease"])];
    const EFFECT: Effect = Effect::Writes;
    const CHANGE: Change = Change::Edits;
    const POSITIONAL: &'static [&'static str] = &["lease"];
    const LOOKS_BESIDE: bool = true;

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<WorkRenewed> {
        let found = self.lease.find_own(cx)?;
        let project_id = &found.entity.project_id;
        lease::lock(cx.tx, &holder(cx.caller()?), project_id)?;
        // Read the paths after taking the lock.
        let taken = self.lease.find_own(cx)?;
        let checkout =
            cx.request.checkout.as_ref().filter(|checkout| checkout.project == taken.entity.project);
        let repository = checkout.map(|checkout| checkout.repository.as_str());
        let more = paths::read("paths", self.paths.as_deref().unwrap_or_default(), repository)?;
        let mut others = lease::in_project(cx.tx, project_id, LEASES_MAX, 0)?;
        others.retain(|lease| lease.entity_id != taken.entity.id);
        check_free(&more, &others)?;
        let paths = paths::joined(paths::from_row(&taken.lease.paths), more);
        if paths.len() > paths::PATHS_MAX * 2 {
            let message = format!("a lease has at most {} paths; name folders", paths::PATHS_MAX * 2);
            return Err(Error::field("paths", message));
        }
        if !lease::renew(cx.tx, &taken.lease, &paths::to_row(&paths))? {
            return Err(ended(cx, &self.lease, &taken.entity.id)?);
        }
        let changed = changed(cx, &taken)?.map(|difference| marked(&difference));
        let lease = reread(cx, &taken.entity.id)?;
        Ok(WorkRenewed { lease: LeaseShown::new(&lease), changed })
    }
}

/// Release a lease, so that somebody else can take the work.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReleaseWork {
    /// The lease, such as `REQ-012.3`.
    lease: LeaseName,
    /// A note for the next holder.
    note: Option<Text<1, 1_000>>,
}

/// Released work.
#[derive(Serialize, JsonSchema)]
pub struct WorkEnded {
    /// The requirement.
    reference_id: String,
    /// The lease that has ended.
    lease: String,
    /// Who held it.
    holder: String,
    /// The changes of the text since the holder last got it.
    #[serde(skip_serializing_if = "Option::is_none")]
    changed: Option<String>,
}

impl Output for WorkEnded {}

impl Operation for ReleaseWork {
    type Output = WorkEnded;
    const NAME: &'static str = "release_work";
    const COMMANDS: &'static [Command] = &[command("work release")];
    const ROUTES: &'static [Route] = &[post("/work/release")];
    const TOOLS: &'static [Tool] =
        &[tool("work", r#"{"lease": "REQ-002.1"}"#).also(&["give_back", "drop_work", "unclaim"])];
    const EFFECT: Effect = Effect::Writes;
    const CHANGE: Change = Change::Removes;
    const POSITIONAL: &'static [&'static str] = &["lease"];

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<WorkEnded> {
        let taken = self.lease.find_own(cx)?;
        let what = match &self.note {
            Some(note) => format!("released: {}", note.as_str()),
            None => "released".to_owned(),
        };
        end(cx, &self.lease, taken, None, &what)
    }
}

/// End somebody else's lease. Their later calls fail, and name you.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BreakWork {
    /// The lease, such as `REQ-012.3`.
    lease: LeaseName,
    /// The reason.
    reason: Option<Text<1, 1_000>>,
}

impl Operation for BreakWork {
    type Output = WorkEnded;
    const NAME: &'static str = "break_work";
    const COMMANDS: &'static [Command] = &[command("work break")];
    const ROUTES: &'static [Route] = &[post("/work/break")];
    const EFFECT: Effect = Effect::Manages;
    const CHANGE: Change = Change::Removes;
    const POSITIONAL: &'static [&'static str] = &["lease"];

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<WorkEnded> {
        let taken = self.lease.find_holding(cx)?;
        let what = match &self.reason {
            Some(reason) => format!("broken: {}", reason.as_str()),
            None => "broken".to_owned(),
        };
        let user_id = cx.caller()?.user_id.clone();
        end(cx, &self.lease, taken, Some(&user_id), &what)
    }
}

fn end(
    cx: &mut Cx<'_, '_>,
    name: &LeaseName,
    taken: Taken,
    broken_by: Option<&str>,
    what: &str,
) -> Result<WorkEnded> {
    if !lease::end(cx.tx, &taken.lease, broken_by)? {
        return Err(ended(cx, name, &taken.entity.id)?);
    }
    let changed = changed(cx, &taken)?.map(|difference| marked(&difference));
    let Taken { entity, lease } = taken;
    record(cx, &entity, &lease, what)?;
    Ok(WorkEnded {
        reference_id: entity.reference_id,
        lease: name_of(&lease),
        holder: lease.username,
        changed,
    })
}
