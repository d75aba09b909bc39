//! Logging in and out, and what users do with their own account.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::model::{Role, Time};
use store::revision::{self, NewEvent};
use store::user::{self, User};
use store::{Mode, token};

use crate::caller::{Credentials, authenticate};
use crate::context::Cx;
use crate::error::{Error, Kind, Result};
use crate::input::Text;
use crate::operation::{Command, Effect, Operation, Output, Route, command, get, post};
use crate::secret;
use crate::user::Password;

/// How long a session lasts.
const SESSION_S: i64 = 12 * 3600;

/// Log in with a name and a password, or with a token, and begin a session.
///
/// The session's secret is set as a cookie for browsers; as a bearer token it works like one. A session that is begun with a
/// token may as much as the token, and ends with it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Login {
    /// The name or the address.
    username: Option<Text<1, 254>>,
    /// The password.
    password: Option<Text<1, 1_000>>,
    /// A personal access token, instead of name and password.
    token: Option<Text<1, 200>>,
    #[serde(skip)]
    proven: Option<Proven>,
}

/// Who logs in, the secret of the session, and the token that was shown: its id and its end.
type Proven = (User, String, Option<(String, Option<Time>)>);

/// A session that has begun.
#[derive(Serialize, JsonSchema)]
pub struct Session {
    /// Who has logged in.
    pub user: User,
    /// The session's secret.
    pub session: String,
    /// When it ends.
    pub expires_at: Time,
}

impl Output for Session {}

impl Operation for Login {
    type Output = Session;
    const NAME: &'static str = "login";
    const COMMANDS: &'static [Command] = &[command("auth login")];
    const ROUTES: &'static [Route] = &[post("/auth/login")];
    const EFFECT: Effect = Effect::Public;
    const PREPARES: bool = true;
    const ANSWERS_SECRET: bool = true;

    fn prepare(&mut self, cx: &mut Cx<'_, '_>) -> Result<()> {
        let refused = || Error::new(Kind::Unauthenticated, "the name or the password is wrong");
        let (user, token) = match (&self.username, &self.password, &self.token) {
            (Some(name), Some(password), None) => {
                let found = user::find(cx.tx, name.as_str())?;
                let hash = match &found {
                    Some(user) => user::password_hash(cx.tx, &user.id)?,
                    None => None,
                };
                let right = secret::verify_password(password.as_str(), hash.as_deref());
                (found.filter(|user| right && !user.disabled).ok_or_else(refused)?, None)
            }
            (None, None, Some(token)) => {
                let credentials = Credentials::Bearer(token.as_str().to_owned());
                let caller = authenticate(cx.tx, &credentials, cx.now())?.ok_or_else(refused)?;
                let user = user::find(cx.tx, &caller.user_id)?.ok_or_else(refused)?;
                (user, caller.token_id.map(|id| (id, caller.expires_at)))
            }
            _ => return Err(Error::field("username", "expected username and password, or token")),
        };
        self.proven = Some((user, secret::generate(secret::SESSION_PREFIX)?, token));
        Ok(())
    }

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<Session> {
        let Some((user, session, token)) = &self.proven else {
            return Err(Error::new(Kind::InternalError, "the login was not prepared"));
        };
        let (token_id, token_end) =
            token.as_ref().map_or((None, None), |(id, end)| (Some(id.as_str()), *end));
        let longest = cx.now().plus_seconds(SESSION_S);
        let expires_at = token_end.map_or(longest, |end| end.min(longest));
        token::begin_session(cx.tx, &secret::hash(session), &user.id, token_id, cx.now(), expires_at)?;
        let event = NewEvent {
            user_id: Some(user.id.clone()),
            username: Some(user.username.clone()),
            event: "login",
            address: cx.request.address.clone(),
            request_id: cx.request.request_id.clone(),
        };
        let id = cx.new_id();
        revision::note_authentication(cx.tx, &id, &event, cx.now())?;
        Ok(Session { user: user.clone(), session: session.clone(), expires_at })
    }
}

/// Log out: the session that asks ends.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Logout {}

/// That the session has ended.
#[derive(Serialize, JsonSchema)]
pub struct LoggedOut {
    /// Whether there was a session.
    logged_out: bool,
}

impl Output for LoggedOut {}

impl Operation for Logout {
    type Output = LoggedOut;
    const NAME: &'static str = "logout";
    const COMMANDS: &'static [Command] = &[command("auth logout")];
    const ROUTES: &'static [Route] = &[post("/auth/logout")];
    const EFFECT: Effect = Effect::Reads;
    const MODE: Option<Mode> = Some(Mode::Write);

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<LoggedOut> {
        let session = cx.caller()?.session.clone();
        if let Some(hash) = &session {
            token::end_session(cx.tx, hash)?;
        }
        Ok(LoggedOut { logged_out: session.is_some() })
    }
}

/// Say who is asking, and what they may do.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WhoAmI {}

/// Who is asking.
#[derive(Serialize, JsonSchema)]
pub struct Me {
    /// The user's id.
    id: String,
    /// The name.
    username: String,
    /// The address.
    email: String,
    /// The role.
    role: Role,
    /// The token's scopes, when it is a token that asks.
    #[serde(skip_serializing_if = "Option::is_none")]
    scopes: Option<Vec<String>>,
}

impl Output for Me {}

impl Operation for WhoAmI {
    type Output = Me;
    const NAME: &'static str = "who_am_i";
    const COMMANDS: &'static [Command] = &[command("auth me")];
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
    /// The present password.
    current_password: Text<1, 1_000>,
    /// The new password.
    new_password: Password,
    #[serde(skip)]
    new_hash: Option<String>,
}

/// That the password was changed.
#[derive(Serialize, JsonSchema)]
pub struct PasswordChanged {
    /// Always true.
    changed: bool,
}

impl Output for PasswordChanged {}

impl Operation for ChangePassword {
    type Output = PasswordChanged;
    const NAME: &'static str = "change_password";
    const COMMANDS: &'static [Command] = &[command("auth change-password")];
    const ROUTES: &'static [Route] = &[post("/auth/change-password")];
    const EFFECT: Effect = Effect::OwnsAccount;
    const PREPARES: bool = true;
    const PROOF: Option<&'static str> = Some("current_password");

    fn prepare(&mut self, cx: &mut Cx<'_, '_>) -> Result<()> {
        let hash = user::password_hash(cx.tx, &cx.caller()?.user_id)?;
        if !secret::verify_password(self.current_password.as_str(), hash.as_deref()) {
            return Err(Error::field("current_password", "is not the present password"));
        }
        self.new_hash = Some(secret::hash_password(self.new_password.as_str())?);
        Ok(())
    }

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<PasswordChanged> {
        let Some(hash) = &self.new_hash else {
            return Err(Error::new(Kind::InternalError, "the change was not prepared"));
        };
        let caller = cx.caller()?;
        user::set_password(cx.tx, &caller.user_id, hash)?;
        token::end_other_sessions(cx.tx, &caller.user_id, caller.session.as_deref())?;
        let event = NewEvent {
            user_id: Some(caller.user_id.clone()),
            username: Some(caller.username.clone()),
            event: "password_changed",
            address: cx.request.address.clone(),
            request_id: cx.request.request_id.clone(),
        };
        let id = cx.new_id();
        revision::note_authentication(cx.tx, &id, &event, cx.now())?;
        Ok(PasswordChanged { changed: true })
    }
}
