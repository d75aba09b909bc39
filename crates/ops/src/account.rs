//! Operations of users on their own account.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::audit::{self, NewEvent};
use store::model::Role;
use store::{Mode, session, user};

use crate::context::Cx;
use crate::error::{Error, ErrorKind, Result};
use crate::identity::Issuers;
use crate::input::Text;
use crate::operation::{
    Change, Command, Effect, Operation, Output, Route, SessionChange, command, get, post,
};
use crate::secret;
use crate::user::Password;

/// Return the caller and their rights.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WhoAmI {}

/// The caller.
#[derive(Serialize, JsonSchema)]
pub struct Me {
    /// The user's id.
    id: String,
    /// The name.
    username: String,
    /// The e-mail address.
    email: String,
    /// The role.
    role: Role,
    /// The token's scopes, if the caller uses a token.
    #[serde(skip_serializing_if = "Option::is_none")]
    scopes: Option<Vec<String>>,
}

impl Output for Me {}

impl Operation for WhoAmI {
    type Output = Me;
    const NAME: &'static str = "who_am_i";
    const COMMANDS: &'static [Command] = &[command("auth me"), command("whoami")];
    const ROUTES: &'static [Route] = &[get("/auth/me")];
    const EFFECT: Effect = Effect::Reads;
    const MODE: Option<Mode> = Some(Mode::Point);

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<Me> {
        let caller = cx.caller()?;
        let user =
            user::find(cx.tx, &caller.user_id)?.ok_or_else(|| Error::not_found("user", &caller.username))?;
        let names = |scopes: &Vec<crate::Scope>| scopes.iter().map(|scope| scope.name().to_owned()).collect();
        let scopes = caller.scopes.as_ref().map(names);
        Ok(Me { id: user.id, username: user.username, email: user.email, role: user.role, scopes })
    }
}

/// Change the caller's password. All other sessions of the user end.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangePassword {
    /// The current password.
    current_password: Text<1, 1_000>,
    /// The new password.
    new_password: Password,
    /// Renew the secret of the calling session, set as a cookie, so that a leaked secret becomes invalid. For pages of
    /// this server.
    #[serde(default)]
    cookie: bool,
    /// The hash of the current password.
    #[serde(skip)]
    current_hash: Option<String>,
    #[serde(skip)]
    new_hash: Option<String>,
}

/// The result of a password change.
#[derive(Serialize, JsonSchema)]
pub struct PasswordChanged {
    /// Always true.
    changed: bool,
    /// The new secret of the session; absent if it is set as a cookie.
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    /// Whether a new secret is set as a cookie.
    #[serde(skip_serializing_if = "Option::is_none")]
    cookie: Option<bool>,
}

impl Output for PasswordChanged {}

impl Operation for ChangePassword {
    type Output = PasswordChanged;
    const NAME: &'static str = "change_password";
    const COMMANDS: &'static [Command] = &[command("auth change-password").without(&["cookie"])];
    const ROUTES: &'static [Route] = &[post("/auth/change-password")];
    const EFFECT: Effect = Effect::OwnsAccount;
    const CHANGE: Change = Change::Edits;
    const PREPARES: bool = true;
    const PROOF: Option<&'static str> = Some("current_password");
    const SESSION: Option<SessionChange> = Some(SessionChange::Renews);
    const ANSWERS_SECRET: bool = true;

    fn prepare(&mut self, cx: &mut Cx<'_, '_>) -> Result<()> {
        self.current_hash = user::password_hash(cx.tx, &cx.caller()?.user_id)?;
        Ok(())
    }

    fn computes(&self) -> bool {
        true
    }

    fn compute(&mut self, _: &Issuers) -> Result<()> {
        if !secret::verify_password(self.current_password.as_str(), self.current_hash.as_deref()) {
            return Err(wrong_password());
        }
        self.new_hash = Some(secret::hash_password(self.new_password.as_str())?);
        Ok(())
    }

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<PasswordChanged> {
        let (Some(before), Some(after)) = (&self.current_hash, &self.new_hash) else {
            return Err(Error::new(ErrorKind::InternalError, "the change was not prepared"));
        };
        let caller = cx.caller()?;
        // Of two changes that verified the same password, the second one fails.
        if !replace_password(cx, &caller.user_id, self.current_password.as_str(), before, after)? {
            return Err(wrong_password());
        }
        session::end_others(cx.tx, &caller.user_id, caller.session_id.as_deref())?;
        let renewed = match &caller.session_id {
            Some(id) if self.cookie => Some(renew(cx, id)?),
            _ => None,
        };
        let event = NewEvent {
            user_id: Some(caller.user_id.clone()),
            username: Some(caller.username.clone()),
            event: "password_changed",
            address: cx.request.address.clone(),
            request_id: cx.request.request_id.clone(),
        };
        let id = cx.new_id();
        audit::note_authentication(cx.tx, &id, &event, cx.now())?;
        Ok(PasswordChanged { changed: true, cookie: renewed.is_some().then_some(true), session: renewed })
    }
}

/// Gives a session a new secret, and returns it.
fn renew(cx: &mut Cx<'_, '_>, session_id: &str) -> Result<String> {
    let secret = secret::generate(secret::SESSION_PREFIX)?;
    session::renew(cx.tx, session_id, &secret::hash(&secret))?;
    Ok(secret)
}

/// Replaces the hash if `password`, which was verified against `before`, is still correct, and locks it
/// until the transaction ends; false if it is not, or the user is disabled.
pub(crate) fn replace_password(
    cx: &mut Cx<'_, '_>,
    user_id: &str,
    password: &str,
    before: &str,
    after: &str,
) -> Result<bool> {
    if user::replace_password(cx.tx, user_id, before, after)? {
        return Ok(true);
    }
    match renewed_meanwhile(cx, user_id, password, before)? {
        Some(renewed) => Ok(user::replace_password(cx.tx, user_id, &renewed, after)?),
        None => Ok(false),
    }
}

/// Renews an outdated hash, like [`replace_password`]. A hash that another login has renewed meanwhile is kept: replacing it would
/// reject a third login that has just verified it.
pub(crate) fn renew_password(
    cx: &mut Cx<'_, '_>,
    user_id: &str,
    password: &str,
    before: &str,
    after: &str,
) -> Result<bool> {
    Ok(user::replace_password(cx.tx, user_id, before, after)?
        || renewed_meanwhile(cx, user_id, password, before)?.is_some())
}

/// The hash that a login has put in place of an outdated one, if the password matches it; locked until the transaction ends.
fn renewed_meanwhile(
    cx: &mut Cx<'_, '_>,
    user_id: &str,
    password: &str,
    before: &str,
) -> Result<Option<String>> {
    if !secret::is_outdated(before) || !user::hold(cx.tx, user_id)? {
        return Ok(None);
    }
    // Verifying it here is slow, but rare.
    let renewed = user::password_hash(cx.tx, user_id)?;
    Ok(renewed.filter(|renewed| secret::verify_password(password, Some(renewed))))
}

fn wrong_password() -> Error {
    Error::field("current_password", "is not the present password")
}
