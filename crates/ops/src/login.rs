//! Logging in and out.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::Mode;
use store::audit::{self, NewEvent};
use store::model::Time;
use store::session::{self, BeginSession};
use store::token::{self, Token};
use store::user::{self, User};

use crate::account::renew_password;
use crate::caller::{Credentials, authenticate};
use crate::context::Cx;
use crate::error::{Error, ErrorKind, Result};
use crate::identity::Issuers;
use crate::input::Text;
use crate::operation::{Command, Effect, Operation, Output, Route, SessionChange, command, post};
use crate::secret;

/// How long a session lasts.
const SESSION_S: i64 = 12 * 3600;
/// How much of a program's user agent is stored.
const USER_AGENT_MAX_CHARS: usize = 200;

/// Log in with a name and a password, or with a personal access token, and start a session of 12 hours.
///
/// The secret of the session is a bearer token. Pages in a browser request it as a cookie. A session started with
/// a token has the rights of the token, and ends with it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Login {
    /// The user name or the e-mail address.
    username: Option<Text<1, 254>>,
    /// The password.
    password: Option<Text<1, 1_000>>,
    /// A personal access token, instead of name and password.
    token: Option<Text<1, 200>>,
    /// Set the secret as a cookie and omit it from the answer, so that no script of the page can read it. For pages of this
    /// server.
    #[serde(default)]
    cookie: bool,
    /// The user with that name, and the hash of the password.
    #[serde(skip)]
    found: Option<(User, Option<String>)>,
    #[serde(skip)]
    verified: Option<Verified>,
}

/// The user whose password was correct.
struct Verified {
    user: User,
    hash: String,
    /// The same password hashed with current parameters, if the stored hash has others.
    renewed_hash: Option<String>,
}

/// A new session.
#[derive(Serialize, JsonSchema)]
pub struct NewSession {
    /// The user.
    user: User,
    /// The session's id.
    id: String,
    /// The session's secret; absent if it is set as a cookie.
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    /// Whether the secret is set as a cookie.
    cookie: bool,
    /// When it expires.
    expires_at: Time,
}

impl Output for NewSession {}

impl Operation for Login {
    type Output = NewSession;
    const NAME: &'static str = "login";
    const COMMANDS: &'static [Command] = &[command("auth login").without(&["cookie"])];
    const ROUTES: &'static [Route] = &[post("/auth/login")];
    const EFFECT: Effect = Effect::Public;
    const SESSION: Option<SessionChange> = Some(SessionChange::Begins);
    const PREPARES: bool = true;
    const ANSWERS_SECRET: bool = true;

    fn prepare(&mut self, cx: &mut Cx<'_, '_>) -> Result<()> {
        match (&self.username, &self.password, &self.token) {
            (Some(name), Some(_), None) => {
                if let Some(user) = user::find(cx.tx, name.as_str())? {
                    let hash = user::password_hash(cx.tx, &user.id)?;
                    self.found = Some((user, hash));
                }
                Ok(())
            }
            // A session that could start another one would never have to end.
            (None, None, Some(token)) if token.as_str().starts_with(secret::SESSION_PREFIX) => {
                let message = "expected a personal access token (mcp_pat_…), found the secret of a session";
                Err(Error::field("token", message))
            }
            (None, None, Some(_)) => Ok(()),
            _ => Err(Error::field("username", "expected username and password, or token")),
        }
    }

    fn computes(&self) -> bool {
        self.password.is_some()
    }

    fn compute(&mut self, _: &Issuers) -> Result<()> {
        let Some(password) = &self.password else { return Ok(()) };
        let (user, hash) = self.found.take().unzip();
        let hash = hash.flatten();
        let is_right = secret::verify_password(password.as_str(), hash.as_deref());
        let (Some(user), Some(hash), true) = (user, hash, is_right) else { return Err(refused()) };
        let renewed_hash =
            secret::is_outdated(&hash).then(|| secret::hash_password(password.as_str())).transpose()?;
        self.verified = Some(Verified { user, hash, renewed_hash });
        Ok(())
    }

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<NewSession> {
        let (user, token) = match (&self.verified, &self.password, &self.token) {
            (Some(verified), Some(password), _) => (verified.hold(cx, password.as_str())?, None),
            (None, None, Some(token)) => {
                let (user, token) = hold_owner(cx, token.as_str())?;
                (user, Some(token))
            }
            _ => return Err(Error::new(ErrorKind::InternalError, "the login was not prepared")),
        };
        begin(cx, user, token.as_ref(), false, self.cookie)
    }
}

/// Starts a session of a user: with a token, with a one-time link, or with a password.
pub(crate) fn begin(
    cx: &mut Cx<'_, '_>,
    user: User,
    token: Option<&Token>,
    with_link: bool,
    cookie: bool,
) -> Result<NewSession> {
    let longest = cx.now().plus_seconds(SESSION_S);
    let token_end = token.and_then(|token| token.expires_at);
    let expires_at = token_end.map_or(longest, |end| end.min(longest));
    let (id, secret) = (cx.new_id(), secret::generate(secret::SESSION_PREFIX)?);
    let user_agent = cx.request.user_agent.as_deref();
    let new = BeginSession {
        id: &id,
        hash: &secret::hash(&secret),
        user_id: &user.id,
        token_id: token.map(|token| token.id.as_str()),
        with_link,
        address: cx.request.address.as_deref(),
        user_agent: user_agent.map(|agent| words::cut(agent, USER_AGENT_MAX_CHARS)),
        expires_at,
    };
    session::begin(cx.tx, &new, cx.now())?;
    note(cx, &user, if with_link { "link_used" } else { "login" })?;
    Ok(NewSession { user, id, session: Some(secret), cookie, expires_at })
}

/// Records an authentication event in the audit trail.
pub(crate) fn note(cx: &mut Cx<'_, '_>, user: &User, event: &'static str) -> Result<()> {
    let event = NewEvent {
        user_id: Some(user.id.clone()),
        username: Some(user.username.clone()),
        event,
        address: cx.request.address.clone(),
        request_id: cx.request.request_id.clone(),
    };
    let id = cx.new_id();
    Ok(audit::note_authentication(cx.tx, &id, &event, cx.now())?)
}

impl Verified {
    /// Checks that the password is still the verified one, and locks it until the session has started:
    /// otherwise a session could outlive the change of the password that should end it.
    fn hold(&self, cx: &mut Cx<'_, '_>, password: &str) -> Result<User> {
        let after = self.renewed_hash.as_ref().unwrap_or(&self.hash);
        if !renew_password(cx, &self.user.id, password, &self.hash, after)? {
            return Err(refused());
        }
        user::find(cx.tx, &self.user.id)?.ok_or_else(refused)
    }
}

/// A token and its owner, who is locked against disabling until the session has started.
fn hold_owner(cx: &mut Cx<'_, '_>, secret: &str) -> Result<(User, Token)> {
    let credentials = Credentials::Bearer(secret.to_owned());
    let caller = authenticate(cx.tx, &credentials, cx.now())?.ok_or_else(refused)?;
    if !user::hold(cx.tx, &caller.user_id)? {
        return Err(refused());
    }
    // Read again, because the token may have been revoked while this waited for another change of its owner.
    let token = match &caller.token_id {
        Some(id) => token::find(cx.tx, id)?,
        None => None,
    };
    let user = user::find(cx.tx, &caller.user_id)?;
    user.zip(token).ok_or_else(refused)
}

fn refused() -> Error {
    Error::new(ErrorKind::Unauthenticated, "the name or the password is wrong")
}

/// Log out: end the calling session.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Logout {}

/// The result of logging out.
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
    const SESSION: Option<SessionChange> = Some(SessionChange::Ends);
    const MODE: Option<Mode> = Some(Mode::Write);

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<LoggedOut> {
        let session_id = cx.caller()?.session_id.as_deref();
        if let Some(id) = session_id {
            session::end(cx.tx, id)?;
        }
        Ok(LoggedOut { logged_out: session_id.is_some() })
    }
}
