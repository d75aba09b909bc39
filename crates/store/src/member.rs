//! Visibility and roles in projects. The rule itself is the view `project_role`, which everything here queries.

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::Serialize;

use crate::db::Tx;
use crate::error::Result;
use crate::model::{Role, Time};
use crate::user::read_role;
use crate::value::Row;
use crate::values;

/// Somebody who may not see every project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Viewer {
    /// The id of the user.
    pub user_id: String,
    /// The id of the token that they show, where it is narrowed to some projects.
    pub token_id: Option<String>,
}

/// The condition that a token, where one is given, reaches a project.
macro_rules! reached {
    ($project:literal, $token:literal) => {
        concat!(
            "(cast(",
            $token,
            " as text) is null or exists (select 1 from token_project reached where reached.project_id = ",
            $project,
            " and reached.token_id = ",
            $token,
            "))"
        )
    };
}
pub(crate) use reached;

/// The ids of the projects that a viewer sees, by the parameters for the user and the narrowed token.
macro_rules! visible {
    ($user:literal, $token:literal) => {
        concat!(
            "select seen.project_id from project_role seen where seen.user_id = ",
            $user,
            " and seen.role is not null and ",
            $crate::member::reached!("seen.project_id", $token)
        )
    };
}
pub(crate) use visible;

/// A member of a project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Member {
    /// The project's UUID.
    #[serde(skip)]
    pub project_id: String,
    /// The key of the project.
    pub project: String,
    /// The user's UUID.
    pub user_id: String,
    /// The user's name.
    pub username: String,
    /// What they may do in the project.
    pub role: Role,
    /// Goes up by one with each change.
    pub version: i64,
    /// Since when they are a member.
    pub created_at: Time,
    /// When their role last changed.
    pub updated_at: Time,
}

/// The role of a viewer in a project; none if it is hidden, or does not exist.
pub fn role(tx: &mut Tx<'_>, viewer: &Viewer, project_id: &str) -> Result<Option<Role>> {
    let sql = concat!(
        "select role from project_role where project_id = ?1 and user_id = ?2 and ",
        reached!("?1", "?3")
    );
    let role: Option<Option<String>> =
        tx.row(sql, values![project_id, &viewer.user_id, &viewer.token_id], |row| row.get(0))?;
    role.flatten().map(|role| read_role(&role)).transpose()
}

/// The highest role of a viewer in any visible project.
pub fn highest_role(tx: &mut Tx<'_>, viewer: &Viewer) -> Result<Option<Role>> {
    let sql = concat!(
        "select distinct seen.role from project_role seen where seen.user_id = ?1 and seen.role is not null and ",
        reached!("seen.project_id", "?2")
    );
    let roles: Vec<String> = tx.rows(sql, values![&viewer.user_id, &viewer.token_id], |row| row.get(0))?;
    let roles: Vec<Role> = roles.iter().map(|role| read_role(role)).collect::<Result<_>>()?;
    Ok(roles.into_iter().max())
}

/// Whether some project is restricted to its members.
pub fn has_closed_projects(tx: &mut Tx<'_>) -> Result<bool> {
    let sql = "select 1 from project where access = 'members' limit 1";
    Ok(tx.row(sql, &[], |_| Ok(()))?.is_some())
}

/// The ids of the projects that a viewer can see, and of the hidden ones.
pub(crate) fn visible_and_hidden(tx: &mut Tx<'_>, viewer: &Viewer) -> Result<(Vec<String>, Vec<String>)> {
    let sql = concat!(
        "select id, case when id in (",
        visible!("?1", "?2"),
        ") then cast(1 as bigint) else 0 end from project"
    );
    let (mut visible, mut hidden) = (Vec::new(), Vec::new());
    tx.each(sql, values![&viewer.user_id, &viewer.token_id], |row| {
        let side = if row.get::<bool>(1)? { &mut visible } else { &mut hidden };
        side.push(row.get(0)?);
        Ok(())
    })?;
    Ok((visible, hidden))
}

/// The ids of the users who can see a project; none if everybody can.
pub fn audience(tx: &mut Tx<'_>, project_id: &str) -> Result<Option<HashSet<String>>> {
    let sql = "select 1 from project where id = ?1 and access = 'members'";
    if tx.row(sql, values![project_id], |_| Ok(()))?.is_none() {
        return Ok(None);
    }
    let sql = "select user_id from project_role where project_id = ?1 and role is not null";
    Ok(Some(tx.rows(sql, values![project_id], |row| row.get(0))?.into_iter().collect()))
}

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "select m.project_id, p.key, m.user_id, u.username, m.role, m.version, m.created_at, m.updated_at
             from project_member m join project p on p.id = m.project_id join user_account u on u.id = m.user_id ",
            $rest
        )
    };
}

/// The members of a project, by name, and their number.
pub fn list(tx: &mut Tx<'_>, project_id: &str, limit: i64, offset: i64) -> Result<(Vec<Member>, i64)> {
    let sql = select!("where m.project_id = ?1 order by u.username_folded limit ?2 offset ?3");
    let members = tx.rows(sql, values![project_id, limit, offset], read)?;
    let sql = "select count(*) from project_member where project_id = ?1";
    let total = tx.row(sql, values![project_id], |row| row.get(0))?;
    Ok((members, total.unwrap_or_default()))
}

/// A member of a project.
pub fn find(tx: &mut Tx<'_>, project_id: &str, user_id: &str) -> Result<Option<Member>> {
    tx.row(select!("where m.project_id = ?1 and m.user_id = ?2"), values![project_id, user_id], read)
}

/// Adds a member.
pub fn insert(tx: &mut Tx<'_>, member: &Member) -> Result<()> {
    let Member { project_id, user_id, role, version, created_at, updated_at, .. } = member;
    let sql = "insert into project_member (project_id, user_id, role, version, created_at, updated_at)
               values (?1, ?2, ?3, ?4, ?5, ?6)";
    tx.execute(sql, values![project_id, user_id, role.name(), *version, *created_at, *updated_at])?;
    Ok(())
}

/// Stores a member's new role; false if another change was faster.
pub fn update(tx: &mut Tx<'_>, member: &Member) -> Result<bool> {
    let Member { project_id, user_id, role, version, updated_at, .. } = member;
    let sql = "update project_member set role = ?3, version = ?4, updated_at = ?5
               where project_id = ?1 and user_id = ?2 and version = ?4 - 1";
    Ok(tx.execute(sql, values![project_id, user_id, role.name(), *version, *updated_at])? == 1)
}

/// Removes a member; false if there is none with this version.
pub fn delete(tx: &mut Tx<'_>, member: &Member) -> Result<bool> {
    let sql = "delete from project_member where project_id = ?1 and user_id = ?2 and version = ?3";
    Ok(tx.execute(sql, values![&member.project_id, &member.user_id, member.version])? == 1)
}

fn read(row: &Row<'_>) -> Result<Member> {
    Ok(Member {
        project_id: row.get(0)?,
        project: row.get(1)?,
        user_id: row.get(2)?,
        username: row.get(3)?,
        role: read_role(&row.get::<String>(4)?)?,
        version: row.get(5)?,
        created_at: row.get(6)?,
        updated_at: row.get(7)?,
    })
}
