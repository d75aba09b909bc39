//! The caller and their rights: the lesser of a user's role and a token's scopes.

use std::sync::Arc;

use serde_json::json;
use store::member::{self, Viewer};
use store::model::{Role, Time, Via};
use store::{Tx, token, user};
use subtle::ConstantTimeEq;

use crate::error::{Error, ErrorKind, Result};
use crate::operation::Effect;
use crate::secret;
use crate::thread::CheckoutBeside;
use crate::threat::ThreatLibrary;

/// What a caller presents to authenticate.
#[derive(Clone, PartialEq, Eq)]
pub enum Credentials {
    /// Nothing.
    None,
    /// A personal access token or the secret of a session.
    Bearer(String),
    /// A local user on the machine of the store: the named user, or the first administrator.
    Local(Option<String>),
    /// An agent at the machine of the store: the named user; without a name the only user, and where there are several, the first
    /// administrator, who may only read.
    LocalAgent(Option<String>),
    /// A caller whom [`Engine::identify`](crate::Engine::identify) has identified for this request.
    Known(Box<Caller>),
}

/// An authenticated caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The user's id.
    pub user_id: String,
    /// The user's name.
    pub username: String,
    /// The user's role.
    pub role: Role,
    /// The token of this request, or the one that started the session.
    pub token_id: Option<String>,
    /// The token's scopes; none for a session started with a password or a local user, who have all rights of the role.
    pub scopes: Option<Vec<Scope>>,
    /// The id of the session, if there is one.
    pub session_id: Option<String>,
    /// When the token or the session was last used.
    pub last_used_at: Option<Time>,
    /// When the token or the session expires.
    pub expires_at: Option<Time>,
    /// The visible projects.
    pub reach: Reach,
}

/// The projects that a caller can see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reach {
    /// All of them, each with the user's own role.
    Everywhere,
    /// Some of them: others are restricted to their members, or the token is narrowed.
    Limited {
        /// The user for queries to the store.
        viewer: Viewer,
        /// Their highest role in any visible project.
        highest: Option<Role>,
    },
}

impl Reach {
    fn of(tx: &mut Tx<'_>, role: Role, has_closed_projects: bool, viewer: Viewer) -> Result<Reach> {
        let is_narrowed = viewer.token_id.is_some();
        if !is_narrowed && (role == Role::Administrator || !has_closed_projects) {
            return Ok(Reach::Everywhere);
        }
        let highest = member::highest_role(tx, &viewer)?;
        Ok(Reach::Limited { viewer, highest })
    }
}

/// The scopes of tokens. Each includes those before it, except for the last, which is separate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// Reading.
    Read,
    /// Commenting.
    Comment,
    /// Writing.
    Write,
    /// Administering.
    Admin,
    /// Everything, including the owner's account.
    FullAccess,
    /// Reading the projects of some repositories, and pushing to them.
    Evidence,
}

impl Scope {
    /// All scopes, the weakest first, and the separate one last.
    pub const ALL: [Scope; 6] =
        [Scope::Read, Scope::Comment, Scope::Write, Scope::Admin, Scope::FullAccess, Scope::Evidence];

    /// Whether a token with this scope has the rights of another one.
    pub const fn covers(self, needed: Scope) -> bool {
        match (self, needed) {
            (Scope::Evidence, _) => matches!(needed, Scope::Read | Scope::Evidence),
            (_, Scope::Evidence) => self.covers(Scope::Write),
            _ => self as u8 >= needed as u8,
        }
    }

    /// The name in the store and in arguments.
    pub const fn name(self) -> &'static str {
        match self {
            Scope::Read => "read",
            Scope::Comment => "comment",
            Scope::Write => "write",
            Scope::Admin => "admin",
            Scope::FullAccess => "full_access",
            Scope::Evidence => "evidence",
        }
    }

    /// The scope with this name.
    pub fn from_name(name: &str) -> Option<Scope> {
        Scope::ALL.into_iter().find(|scope| scope.name() == name)
    }
}

/// The circumstances of a call that are not its arguments.
#[derive(Clone, Debug)]
pub struct Request {
    /// The surface.
    pub via: Via,
    /// The time.
    pub now: Time,
    /// An id for logs, answers and revisions.
    pub request_id: Option<String>,
    /// The network address of the client.
    pub address: Option<String>,
    /// The client's program, as it introduced itself.
    pub user_agent: Option<String>,
    /// The checkout in which the caller works, for operations that use it.
    pub checkout: Option<Arc<CheckoutBeside>>,
    /// The threat library of the engine.
    pub threats: Option<Arc<dyn ThreatLibrary>>,
}

impl Request {
    /// A request without a network address.
    pub fn new(via: Via, now: Time) -> Request {
        Request { via, now, request_id: None, address: None, user_agent: None, checkout: None, threats: None }
    }
}

/// Identifies the caller. None without credentials.
pub fn authenticate(tx: &mut Tx<'_>, credentials: &Credentials, now: Time) -> Result<Option<Caller>> {
    let secret = match credentials {
        Credentials::None => return Ok(None),
        Credentials::Local(name) => return local(tx, name.as_deref()).map(Some),
        Credentials::LocalAgent(name) => return local_agent(tx, name.as_deref()).map(Some),
        Credentials::Known(caller) => return Ok(Some((**caller).clone())),
        Credentials::Bearer(secret) => secret,
    };
    let refused = |message: &str| Error::new(ErrorKind::Unauthenticated, message);
    let hash = secret::hash(secret);
    let owner = if secret.starts_with(secret::TOKEN_PREFIX) {
        token::owner(tx, &hash)?
    } else if secret.starts_with(secret::SESSION_PREFIX) {
        token::session_owner(tx, &hash)?
    } else {
        return Err(refused("the token is malformed: expected mcp_pat_ and 43 characters"));
    };
    let Some(owner) = owner else { return Err(refused("the token is unknown or was revoked")) };
    if !bool::from(owner.hash.as_bytes().ct_eq(hash.as_bytes())) {
        return Err(refused("the token is unknown or was revoked"));
    }
    if owner.disabled {
        return Err(refused("the user is disabled"));
    }
    let scopes = owner
        .token_id
        .is_some()
        .then(|| owner.scopes.iter().filter_map(|name| Scope::from_name(name)).collect());
    let viewer = Viewer {
        user_id: owner.user_id.clone(),
        token_id: owner.token_id.clone().filter(|_| owner.is_narrowed),
    };
    let caller = Caller {
        reach: Reach::of(tx, owner.role, owner.has_closed_projects, viewer)?,
        user_id: owner.user_id,
        username: owner.username,
        role: owner.role,
        token_id: owner.token_id,
        scopes,
        session_id: owner.session_id,
        last_used_at: owner.last_used_at,
        expires_at: owner.expires_at,
    };
    caller.check_time(now)?;
    Ok(Some(caller))
}

fn local(tx: &mut Tx<'_>, name: Option<&str>) -> Result<Caller> {
    let user = match name {
        Some(name) => user::find(tx, name)?.ok_or_else(|| Error::not_found("user", name))?,
        None => user::first_administrator(tx)?.ok_or_else(|| {
            Error::new(ErrorKind::Unauthenticated, "the store has no administrator to act for")
        })?,
    };
    if user.disabled {
        return Err(Error::new(
            ErrorKind::Unauthenticated,
            format!("the user {} is disabled", user.username),
        ));
    }
    let has_closed_projects = member::has_closed_projects(tx)?;
    let viewer = Viewer { user_id: user.id.clone(), token_id: None };
    let reach = Reach::of(tx, user.role, has_closed_projects, viewer)?;
    Ok(Caller::of(&user, reach))
}

fn local_agent(tx: &mut Tx<'_>, name: Option<&str>) -> Result<Caller> {
    let caller = local(tx, name)?;
    if name.is_some() || user::count_enabled(tx)? <= 1 {
        return Ok(caller);
    }
    Ok(Caller { scopes: Some(vec![Scope::Read]), ..caller })
}

impl Caller {
    /// A local user, who needs no credentials.
    pub(crate) fn of(user: &user::User, reach: Reach) -> Caller {
        Caller {
            reach,
            user_id: user.id.clone(),
            username: user.username.clone(),
            role: user.role,
            token_id: None,
            scopes: None,
            session_id: None,
            last_used_at: None,
            expires_at: None,
        }
    }

    /// Checks that the credentials have not expired.
    pub(crate) fn check_time(&self, now: Time) -> Result<()> {
        if self.expires_at.is_some_and(|end| end <= now) {
            return Err(Error::new(ErrorKind::Unauthenticated, "the token has expired"));
        }
        Ok(())
    }

    /// The user for queries to the store, if they cannot see every project.
    pub fn viewer(&self) -> Option<&Viewer> {
        match &self.reach {
            Reach::Everywhere => None,
            Reach::Limited { viewer, .. } => Some(viewer),
        }
    }

    /// Checks that the caller has the right for this effect, in at least one project if it happens in projects. The right
    /// in the project itself is checked when that is known.
    pub fn may(&self, effect: Effect) -> Result<()> {
        let (role, scope) = needed(effect);
        let held = match &self.reach {
            Reach::Limited { highest, .. } if effect.is_within_project() => {
                highest.unwrap_or(Role::Commenter)
            }
            Reach::Limited { viewer: Viewer { token_id: Some(_), .. }, .. } if effect != Effect::Public => {
                let message = "a token restricted to projects cannot be used for operations on all of them";
                return Err(Error::forbidden(message));
            }
            _ => self.role,
        };
        self.has_role(role, held, "")?;
        let Some(scopes) = &self.scopes else { return Ok(()) };
        if scopes.iter().any(|held| held.covers(scope)) {
            return Ok(());
        }
        if self.token_id.is_none() {
            let message = "this session only reads, because the store has several users and none was chosen: start it with --as USER, \
                           as in spexus mcp --as ann (spexus user list shows the names)";
            return Err(Error::forbidden(message).with_more(json!({ "required_scope": scope.name() })));
        }
        let held: Vec<&str> = scopes.iter().map(|scope| scope.name()).collect();
        let message = format!("this needs the scope {}, and the token has {}", scope.name(), held.join(", "));
        Err(Error::forbidden(message).with_more(json!({ "required_scope": scope.name() })))
    }

    /// Checks that the highest role of the caller is sufficient.
    pub(crate) fn has_role(&self, needed: Role, held: Role, place: &str) -> Result<()> {
        if held >= needed {
            return Ok(());
        }
        let (needed, held) = (needed.name(), held.name());
        let message = format!("this needs the role {needed}{place}, and {} is {held}", self.username);
        Err(Error::forbidden(message).with_more(json!({ "required_role": needed })))
    }
}

/// The role and the scope that an effect requires.
pub const fn needed(effect: Effect) -> (Role, Scope) {
    match effect {
        Effect::Public | Effect::Reads => (Role::Commenter, Scope::Read),
        Effect::Comments => (Role::Commenter, Scope::Comment),
        Effect::Writes | Effect::Destroys => (Role::User, Scope::Write),
        Effect::Pushes => (Role::User, Scope::Evidence),
        Effect::Manages | Effect::Administers => (Role::Administrator, Scope::Admin),
        // Whoever can make tokens or set the password can do everything that the user can.
        Effect::OwnsAccount => (Role::Commenter, Scope::FullAccess),
    }
}
