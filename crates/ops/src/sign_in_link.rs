//! One-time links to sign in, for users without a password.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use store::model::{Role, Time};
use store::sign_in_link::{self, SignInLink};
use store::{Mode, session, user};

use crate::context::{Cx, Subject};
use crate::error::{Error, ErrorKind, Result};
use crate::identity::Issuers;
use crate::input::Text;
use crate::login::{NewSession, begin, note};
use crate::operation::{Command, Effect, Operation, Output, Route, SessionChange, command, create, post};
use crate::secret;
use crate::token::owner;
use crate::user::Password;

/// How long a link is valid.
const LINK_S: i64 = 600;
/// The same, for people.
const LINK_TIME: &str = "10 minutes";

/// Create a link that signs a user in once, without a password. It is valid for 10 minutes.
///
/// A new link replaces the user's previous one. Only links made by administrators can set a new password; users change
/// their own with the current one.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateSignInLink {
    /// For another user, by an administrator: an id or a name.
    user: Option<Text<1, 254>>,
    /// Create a link that cannot set a new password.
    #[serde(default)]
    sign_in_only: bool,
    #[serde(skip)]
    code: Option<String>,
}

/// A new link.
#[derive(Serialize, JsonSchema)]
pub struct NewSignInLink {
    /// The URL to open in a browser. It is not shown again.
    url: String,
    /// The name of the user.
    user: String,
    /// Whether the link can set a new password.
    sets_password: bool,
    /// How long it is valid.
    expires_in: &'static str,
    /// When it expires.
    expires_at: Time,
}

impl Output for NewSignInLink {}

impl Operation for CreateSignInLink {
    type Output = NewSignInLink;
    const NAME: &'static str = "create_sign_in_link";
    const COMMANDS: &'static [Command] = &[command("sign-in-link")];
    const ROUTES: &'static [Route] = &[create("/auth/sign-in-links")];
    const EFFECT: Effect = Effect::OwnsAccount;
    const PREPARES: bool = true;
    const ANSWERS_PATH: Option<&'static str> = Some("url");
    const ANSWERS_SECRET: bool = true;

    fn prepare(&mut self, _: &mut Cx<'_, '_>) -> Result<()> {
        self.code = Some(secret::generate("")?);
        Ok(())
    }

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<NewSignInLink> {
        let (user_id, user) = owner(cx, self.user.as_ref())?;
        // A concurrent disabling or change of the password must revoke the link.
        if !user::hold(cx.tx, &user_id)? {
            return Err(Error::conflict(format!("the user {user} is disabled")).about("user"));
        }
        let sets_password = cx.caller()?.role == Role::Administrator && !self.sign_in_only;
        let link = SignInLink { user_id, user, sets_password, expires_at: cx.now().plus_seconds(LINK_S) };
        let code = self.code.as_deref().unwrap_or_default();
        sign_in_link::put(cx.tx, &link, &secret::hash(code), cx.now())?;
        let SignInLink { user_id, user, expires_at, .. } = link;
        let subject =
            Subject { project_id: None, kind: "sign_in_link", id: &user_id, reference_id: None, version: 1 };
        let made = json!({ "user": user, "sets_password": sets_password, "expires_at": expires_at });
        cx.record(&subject, None, Some(&made))?;
        let url = format!("/welcome?code={code}");
        Ok(NewSignInLink { url, user, sets_password, expires_in: LINK_TIME, expires_at })
    }
}

/// Return the user of a sign-in link, without using it up.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetSignInLink {
    /// The code of the link.
    code: Text<1, 200>,
}

/// A valid link.
#[derive(Serialize, JsonSchema)]
pub struct KnownSignInLink {
    /// The name of the user.
    user: String,
    /// Whether the link can set a new password.
    sets_password: bool,
    /// When it expires.
    expires_at: Time,
}

impl Output for KnownSignInLink {}

impl Operation for GetSignInLink {
    type Output = KnownSignInLink;
    const NAME: &'static str = "get_sign_in_link";
    const COMMANDS: &'static [Command] = &[command("auth show-link")];
    // Not a GET, because URLs are logged.
    const ROUTES: &'static [Route] = &[post("/auth/sign-in-links/show")];
    const EFFECT: Effect = Effect::Public;
    const MODE: Option<Mode> = Some(Mode::Point);
    const POSITIONAL: &'static [&'static str] = &["code"];
    const PROOF: Option<&'static str> = Some("code");

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<KnownSignInLink> {
        let SignInLink { user, sets_password, expires_at, .. } = find(cx, &self.code)?;
        Ok(KnownSignInLink { user, sets_password, expires_at })
    }
}

/// Sign in with a link, which is used up, and start a session of 12 hours.
///
/// With a new password all other sessions of the user end.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UseSignInLink {
    /// The code of the link.
    code: Text<1, 200>,
    /// A new password; default: the password stays.
    new_password: Option<Password>,
    /// Set the secret as a cookie and omit it from the answer, so that no script of the page can read it. For pages of this
    /// server.
    #[serde(default)]
    cookie: bool,
    #[serde(skip)]
    new_hash: Option<String>,
}

impl Operation for UseSignInLink {
    type Output = NewSession;
    const NAME: &'static str = "use_sign_in_link";
    const COMMANDS: &'static [Command] = &[command("auth use-link").without(&["cookie"])];
    const ROUTES: &'static [Route] = &[post("/auth/sign-in-links/use")];
    const EFFECT: Effect = Effect::Public;
    const SESSION: Option<SessionChange> = Some(SessionChange::Begins);
    const POSITIONAL: &'static [&'static str] = &["code"];
    const PREPARES: bool = true;
    const ANSWERS_SECRET: bool = true;
    const PROOF: Option<&'static str> = Some("code");

    /// Checks the code first: anonymous callers must not make the server hash passwords.
    fn prepare(&mut self, cx: &mut Cx<'_, '_>) -> Result<()> {
        let link = find(cx, &self.code)?;
        if self.new_password.is_some() && !link.sets_password {
            let message = "this link signs in only; the account page changes the password";
            return Err(Error::field("new_password", message));
        }
        Ok(())
    }

    fn computes(&self) -> bool {
        self.new_password.is_some()
    }

    fn compute(&mut self, _: &Issuers) -> Result<()> {
        let password = self.new_password.as_ref();
        self.new_hash = password.map(|password| secret::hash_password(password.as_str())).transpose()?;
        Ok(())
    }

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<NewSession> {
        let link = find(cx, &self.code)?;
        // Locked before the link is used up, in the same order as by those who end sessions.
        if !user::hold(cx.tx, &link.user_id)? || !sign_in_link::use_up(cx.tx, &hash_of(&self.code))? {
            return Err(refused());
        }
        let user = user::find(cx.tx, &link.user_id)?.ok_or_else(refused)?;
        if let Some(hash) = &self.new_hash {
            user::set_password(cx.tx, &user.id, hash)?;
            session::end_others(cx.tx, &user.id, None)?;
            note(cx, &user, "password_changed")?;
        }
        begin(cx, user, None, true, self.cookie)
    }
}

fn find(cx: &mut Cx<'_, '_>, code: &Text<1, 200>) -> Result<SignInLink> {
    sign_in_link::find(cx.tx, &hash_of(code), cx.now())?.ok_or_else(refused)
}

fn hash_of(code: &Text<1, 200>) -> String {
    secret::hash(code.as_str().trim())
}

fn refused() -> Error {
    let message = "this link is wrong, was used or has expired; an administrator or `spexus sign-in-link` makes a new one";
    Error::new(ErrorKind::Unauthenticated, message)
}
