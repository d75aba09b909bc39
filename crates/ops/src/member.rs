//! Members of restricted projects.

use schemars::JsonSchema;
use serde::Deserialize;
use store::member::{self, Member};
use store::model::Role;

use crate::context::{Cx, Subject, check_version, overtaken, to_value};
use crate::error::{Error, ErrorKind, Result};
use crate::input::{Limit, Offset, Text, Version};
use crate::operation::{Command, Effect, Operation, Route, command, delete, get, put, versioned_output};
use crate::page::{Cursor, Page, page, window_from};
use crate::project;
use crate::user::RoleName;

versioned_output!(Member, version, user_id);

/// List the members of a project, by name, with their roles in it.
///
/// Members matter only if the access of the project is `members`. Administrators see every project without being members.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListProjectMembers {
    /// The key or id of the project.
    project: Text<1, 64>,
    /// How many items to return; default 50.
    limit: Option<Limit>,
    /// How many items to skip.
    offset: Option<Offset>,
    /// Continue after a page: its `next_cursor`.
    cursor: Option<Cursor>,
}

impl Operation for ListProjectMembers {
    type Output = Page<Member>;
    const NAME: &'static str = "list_project_members";
    const COMMANDS: &'static [Command] = &[command("project member list")];
    const ROUTES: &'static [Route] = &[get("/projects/{project}/members")];
    const EFFECT: Effect = Effect::Reads;
    const POSITIONAL: &'static [&'static str] = &["project"];

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<Page<Member>> {
        let project = project::find(cx, &self.project)?;
        let window = window_from(self.limit, self.offset, self.cursor.as_ref())?;
        let (members, total) = member::list(cx.tx, &project.id, window.0, window.1)?;
        Ok(page(members, total, window))
    }
}

/// Add a member to a project, or change a member's role. For administrators of the project.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SetProjectMember {
    /// The key or id of the project.
    project: Text<1, 64>,
    /// The user: an id or a name.
    user: Text<1, 254>,
    /// The role in the project.
    role: RoleName,
    /// Reject the change if the current version of the membership differs.
    expected_version: Option<Version>,
}

impl Operation for SetProjectMember {
    type Output = Member;
    const NAME: &'static str = "set_project_member";
    const COMMANDS: &'static [Command] = &[command("project member set")];
    const ROUTES: &'static [Route] = &[put("/projects/{project}/members/{user}")];
    const EFFECT: Effect = Effect::Manages;
    const POSITIONAL: &'static [&'static str] = &["project", "user"];

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<Member> {
        let project = project::find(cx, &self.project)?;
        let (user_id, username) = cx.assignee("user", self.user.as_str())?;
        let role: Role = self.role.into();
        let before = member::find(cx.tx, &project.id, &user_id)?;
        check_version(self.expected_version, &username, before.as_ref().map_or(0, |m| m.version), &before)?;
        let after = match &before {
            Some(before) if before.role == role => return Ok(before.clone()),
            Some(before) => {
                Member { role, version: before.version + 1, updated_at: cx.now(), ..before.clone() }
            }
            None => Member {
                project_id: project.id,
                project: project.key,
                user_id,
                username,
                role,
                version: 1,
                created_at: cx.now(),
                updated_at: cx.now(),
            },
        };
        match &before {
            None => member::insert(cx.tx, &after)?,
            Some(_) if member::update(cx.tx, &after)? => {}
            Some(_) => return Err(overtaken(&after.username)),
        }
        record(cx, before.as_ref(), Some(&after))?;
        Ok(after)
    }
}

/// Remove a member from a project. For administrators of the project.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RemoveProjectMember {
    /// The key or id of the project.
    project: Text<1, 64>,
    /// The user: an id or a name.
    user: Text<1, 254>,
    /// Reject if the current version of the membership differs.
    expected_version: Option<Version>,
}

impl Operation for RemoveProjectMember {
    type Output = Member;
    const NAME: &'static str = "remove_project_member";
    const COMMANDS: &'static [Command] = &[command("project member remove")];
    const ROUTES: &'static [Route] = &[delete("/projects/{project}/members/{user}")];
    const EFFECT: Effect = Effect::Manages;
    const POSITIONAL: &'static [&'static str] = &["project", "user"];

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<Member> {
        let project = project::find(cx, &self.project)?;
        let named = self.user.as_str();
        let missing = || {
            Error::new(ErrorKind::NotFound, format!("{named} is not a member of {}", project.key))
                .about("user")
        };
        let user = store::user::find(cx.tx, named)?.ok_or_else(missing)?;
        let gone = member::find(cx.tx, &project.id, &user.id)?.ok_or_else(missing)?;
        check_version(self.expected_version, &gone.username, gone.version, &gone)?;
        if !member::delete(cx.tx, &gone)? {
            return Err(overtaken(&gone.username));
        }
        record(cx, Some(&gone), None)?;
        Ok(gone)
    }
}

pub(crate) fn record(cx: &mut Cx<'_, '_>, before: Option<&Member>, after: Option<&Member>) -> Result<()> {
    let Some(known) = after.or(before) else { return Ok(()) };
    let version = after.map_or(known.version + 1, |after| after.version);
    let subject = Subject {
        project_id: Some(&known.project_id),
        kind: "project_member",
        id: &known.user_id,
        reference_id: None,
        version,
    };
    let before = before.map(to_value).transpose()?;
    let after = after.map(to_value).transpose()?;
    cx.record(&subject, before.as_ref(), after.as_ref())
}
