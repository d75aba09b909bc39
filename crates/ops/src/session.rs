//! Sessions: one's own, or for administrators those of others.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::Mode;
use store::model::Role;
use store::session::{self, UserSession};

use crate::context::{Cx, Subject, to_value};
use crate::error::{Error, Result};
use crate::input::{Limit, Offset, Text};
use crate::operation::{Columns, Command, Effect, Operation, Output, Route, command, delete, get};
use crate::page::{Cursor, Page, page, window_from};
use crate::token::owner;

impl Output for UserSession {
    fn reference(&self) -> Option<&str> {
        Some(&self.id)
    }
}

/// List a user's sessions, newest first, without their secrets.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListSessions {
    /// Of another user, for administrators: an id or a name.
    user: Option<Text<1, 254>>,
    /// How many items to return; default 50.
    limit: Option<Limit>,
    /// How many items to skip.
    offset: Option<Offset>,
    /// Continue after a page: its `next_cursor`.
    cursor: Option<Cursor>,
}

impl Operation for ListSessions {
    type Output = Page<UserSession>;
    const NAME: &'static str = "list_sessions";
    const COMMANDS: &'static [Command] = &[command("auth session list")];
    const ROUTES: &'static [Route] = &[get("/auth/sessions")];
    const EFFECT: Effect = Effect::OwnsAccount;
    const COLUMNS: &'static [Columns] = &[(
        None,
        &["id", "begun_with", "token", "address", "user_agent", "current", "last_used_at", "expires_at"],
    )];
    const MODE: Option<Mode> = Some(Mode::Snapshot);

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<Page<UserSession>> {
        let sessions = of_user(cx, self.user.as_ref())?;
        let total = i64::try_from(sessions.len()).unwrap_or(i64::MAX);
        let (limit, offset) = window_from(self.limit, self.offset, self.cursor.as_ref())?;
        let [n_shown, n_before] = [limit, offset].map(|number| usize::try_from(number).unwrap_or(usize::MAX));
        let shown = sessions.into_iter().skip(n_before).take(n_shown).collect();
        Ok(page(shown, total, (limit, offset)))
    }
}

/// Revoke a session. It ends immediately.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RevokeSession {
    /// The session's id.
    session_id: Text<1, 100>,
}

impl Operation for RevokeSession {
    type Output = UserSession;
    const NAME: &'static str = "revoke_session";
    const COMMANDS: &'static [Command] = &[command("auth session revoke")];
    const ROUTES: &'static [Route] = &[delete("/auth/sessions/{session_id}")];
    const EFFECT: Effect = Effect::OwnsAccount;
    const POSITIONAL: &'static [&'static str] = &["session_id"];

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<UserSession> {
        let caller = cx.caller()?;
        let id = self.session_id.as_str().trim().to_ascii_lowercase();
        let is_theirs =
            |found: &UserSession| found.user_id == caller.user_id || caller.role == Role::Administrator;
        let found = session::find(cx.tx, &id)?.filter(is_theirs);
        let found = found.map(|found| marked(cx, found)).transpose()?;
        match found {
            Some(found) if revoke(cx, &found)? => Ok(found),
            _ => Err(Error::not_found("session", id)),
        }
    }
}

/// Revoke all of the caller's sessions except the current one, or all sessions of another user.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RevokeOtherSessions {
    /// Of another user, for administrators: an id or a name.
    user: Option<Text<1, 254>>,
}

/// The number of revoked sessions.
#[derive(Serialize, JsonSchema)]
pub struct RevokedSessions {
    /// The number of revoked sessions.
    revoked: usize,
}

impl Output for RevokedSessions {}

impl Operation for RevokeOtherSessions {
    type Output = RevokedSessions;
    const NAME: &'static str = "revoke_other_sessions";
    const COMMANDS: &'static [Command] = &[command("auth session revoke-others")];
    const ROUTES: &'static [Route] = &[delete("/auth/sessions")];
    const EFFECT: Effect = Effect::OwnsAccount;

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<RevokedSessions> {
        let mut revoked = 0;
        for other in of_user(cx, self.user.as_ref())?.iter().filter(|session| !session.current) {
            revoked += usize::from(revoke(cx, other)?);
        }
        Ok(RevokedSessions { revoked })
    }
}

/// The sessions of the caller, or for administrators of another user.
fn of_user(cx: &mut Cx<'_, '_>, user: Option<&Text<1, 254>>) -> Result<Vec<UserSession>> {
    let (user_id, _) = owner(cx, user)?;
    let sessions = session::list(cx.tx, &user_id, cx.now())?;
    sessions.into_iter().map(|session| marked(cx, session)).collect()
}

/// Marks the current session.
fn marked(cx: &Cx<'_, '_>, session: UserSession) -> Result<UserSession> {
    let current = cx.caller()?.session_id.as_ref() == Some(&session.id);
    Ok(UserSession { current, ..session })
}

/// Ends a session and records it; false if it had already ended.
fn revoke(cx: &mut Cx<'_, '_>, session: &UserSession) -> Result<bool> {
    if !session::end(cx.tx, &session.id)? {
        return Ok(false);
    }
    let subject =
        Subject { project_id: None, kind: "session", id: &session.id, reference_id: None, version: 1 };
    cx.record(&subject, Some(&to_value(session)?), None)?;
    Ok(true)
}
