//! CI runs prove their identity with an identity token (OpenID Connect), and get a token of ours that is valid for 15 minutes.
//!
//! Repository, ref and commit of a run are taken from the identity token, never from arguments.

mod claims;
mod signed;

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use store::member::{self, Member, Viewer};
use store::model::{Role, Time};
use store::thread::identity::{self, Grant};
use store::thread::repository::{self, Repository};
use store::token::Token;
use store::user::{self, User};

use self::claims::{Claims, Proved};
use self::signed::Signed;
use crate::caller::{Caller, Reach, Scope};
use crate::context::Cx;
use crate::error::{Error, ErrorKind, Result};
use crate::input::Text;
use crate::operation::{Command, Effect, Operation, Output, Route, command, post};
use crate::{secret, token};

/// How long a token for a CI run is valid.
const TOKEN_S: i64 = 15 * 60;
/// How long an expired token is still listed.
const LISTED_S: i64 = 24 * 3600;

/// The accepted issuers of identity tokens.
#[derive(Clone, Default)]
pub struct Issuers {
    allowed: Vec<String>,
    audience: String,
    keys: Option<Arc<dyn KeySource>>,
}

/// Provides the public keys of issuers.
pub trait KeySource: Send + Sync {
    /// The key, a JSON Web Key, that an issuer uses under an id; none if it has no such key. The error says why its keys
    /// cannot be read.
    fn key(&self, issuer: &str, key_id: &str) -> std::result::Result<Option<Value>, String>;
}

impl Issuers {
    /// Accepts tokens of these issuers for the audience, which is the URL of this server.
    pub fn new(allowed: Vec<String>, audience: String, keys: Arc<dyn KeySource>) -> Issuers {
        Issuers { allowed, audience, keys: Some(keys) }
    }

    /// The claims of an identity token with valid signature, issuer and audience.
    fn verify(&self, identity_token: &str) -> Result<Claims> {
        let signed = Signed::parse(identity_token)?;
        let claims = Claims::parse(signed.payload())?;
        let Some(keys) = self.keys.as_ref().filter(|_| self.allowed.contains(&claims.iss)) else {
            let issuer = crate::shortened(&claims.iss);
            return Err(refused(format!(
                "the issuer {issuer:?} is not accepted: SPEXUS_OIDC_ISSUERS lists those that are"
            )));
        };
        let key = keys.key(&claims.iss, signed.key_id()).map_err(|reason| {
            let message = format!("the keys of {} cannot be read: {reason}", claims.iss);
            Error { retry_after_s: Some(10), ..Error::new(ErrorKind::Unavailable, message) }
        })?;
        let Some(key) = key else {
            let key_id = crate::shortened(signed.key_id());
            return Err(refused(format!("{} has no key {key_id:?}", claims.iss)));
        };
        signed.verify(&key)?;
        claims.check_audience(&self.audience)?;
        Ok(claims)
    }
}

/// Exchange the identity token of a CI run for a token with the scope `evidence`, valid for 15 minutes.
///
/// The identity token (an OpenID Connect JWT with this server's URL as audience) is issued by the CI: GitHub Actions, GitLab or
/// another
/// issuer that the server accepts. It states the repository, commit and ref of the run, and the token pushes for these only. Each
/// identity token can be used once. Runs on refs that are not closing refs, and runs of possibly untrusted code, are
/// `unverified`: what they
/// push is shown but closes nothing.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExchangeIdentity {
    /// The identity token that the CI has issued to the run.
    identity_token: Text<1, 16_000>,
    /// The expected repository: its name or id. Another one is an error.
    repository: Option<Text<1, 200>>,
    #[serde(skip)]
    #[schemars(skip)]
    claims: Option<Claims>,
}

/// A token for a CI run.
#[derive(Serialize, JsonSchema)]
pub struct ExchangedToken {
    /// The secret, which is a bearer token. It is not shown again.
    token: String,
    /// The token's id.
    id: String,
    /// Its scopes.
    scopes: Vec<String>,
    /// The repository that it pushes to.
    repository: String,
    /// The keys of the projects that it can read.
    projects: Vec<String>,
    /// The ref that it pushes for.
    #[serde(rename = "ref")]
    ref_name: String,
    /// The commit that it pushes for.
    commit: String,
    /// The trust of its pushes: `oidc`, or `unverified`, which closes nothing.
    trust: String,
    /// Why it is unverified.
    #[serde(skip_serializing_if = "Option::is_none")]
    why_unverified: Option<String>,
    /// When it expires.
    expires_at: Time,
}

impl Output for ExchangedToken {}

impl Operation for ExchangeIdentity {
    type Output = ExchangedToken;
    const NAME: &'static str = "exchange_identity";
    const COMMANDS: &'static [Command] = &[command("identity exchange")];
    const ROUTES: &'static [Route] = &[post("/identity")];
    const EFFECT: Effect = Effect::Public;
    const ANSWERS_SECRET: bool = true;
    const PROOF: Option<&'static str> = Some("identity_token");

    fn computes(&self) -> bool {
        true
    }

    fn compute(&mut self, issuers: &Issuers) -> Result<()> {
        self.claims = Some(issuers.verify(self.identity_token.as_str().trim())?);
        Ok(())
    }

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<ExchangedToken> {
        let Some(claims) = &self.claims else {
            return Err(Error::new(ErrorKind::InternalError, "the identity was not verified"));
        };
        let proved = claims.proved(cx.now())?;
        let repository = self.repository(cx, &proved)?;
        // Used up in the transaction that creates the token: after a failure the same identity can be tried again.
        if !identity::use_up(cx.tx, &proved.issuer, &proved.token_id, proved.used_until, cx.now())? {
            return Err(refused("this identity token was used before; ask the CI for another one"));
        }
        let user = service_user(cx, &repository)?;
        let caller = Caller::of(&user, Reach::Everywhere);
        let doing = (Self::NAME, Self::EFFECT);
        issue(&mut Cx::new(cx.tx, cx.request, doing, Some(&caller)), &user, repository, proved)
    }
}

impl ExchangeIdentity {
    /// The repository of the run.
    fn repository(&self, cx: &mut Cx<'_, '_>, proved: &Proved) -> Result<Repository> {
        let Proved { issuer, external_id, .. } = proved;
        let Some(found) = repository::find_by_identity(cx.tx, issuer, external_id)? else {
            return Err(refused(format!(
                "no repository has the identity {external_id} of {issuer}; an administrator sets it with `spexus repository update \
                 NAME --issuer {issuer} --external-id {external_id}`"
            )));
        };
        let named = self.repository.as_ref().map(Text::as_str);
        let is_other = match named {
            Some(name) => repository::find(cx.tx, name)?.is_none_or(|other| other.id != found.id),
            None => false,
        };
        if is_other {
            let message = format!("the run is of {}, and not of {:?}", found.name, named.unwrap_or_default());
            return Err(Error::field("repository", message));
        }
        Ok(found)
    }
}

/// Creates the token of a run.
fn issue(cx: &mut Cx<'_, '_>, user: &User, repository: Repository, proved: Proved) -> Result<ExchangedToken> {
    let Proved { ref_name, commit, doubt, .. } = proved;
    let not_closing = || {
        let is_closing = repository.is_closing_ref(&ref_name);
        (!is_closing).then(|| format!("runs on {ref_name} close nothing in {}", repository.name))
    };
    let why_unverified = doubt.or_else(not_closing);
    let trust = if why_unverified.is_some() { "unverified" } else { "oidc" }.to_owned();
    let secret = secret::generate(secret::TOKEN_PREFIX)?;
    let id = cx.new_id();
    let (now, projects) = (cx.now(), token::projects_of(std::slice::from_ref(&repository)));
    identity::forget_ended(cx.tx, now.plus_seconds(-LISTED_S))?;
    let new = Token {
        user_id: user.id.clone(),
        user: user.username.clone(),
        name: format!("CI run {id}"),
        prefix: secret[..secret::VISIBLE].to_owned(),
        scopes: vec![Scope::Evidence.name().to_owned()],
        projects: Some(projects.clone()),
        repositories: Some(vec![repository.name.clone()]),
        expires_at: Some(now.plus_seconds(TOKEN_S)),
        last_used_at: None,
        version: 1,
        created_at: now,
        updated_at: now,
        id,
    };
    let grant = Grant {
        repository_id: repository.id,
        trust: trust.clone(),
        ref_name: Some(ref_name.clone()),
        commit_id: Some(commit.clone()),
    };
    token::issue(cx, &new, &secret, &[grant])?;
    Ok(ExchangedToken {
        token: secret,
        id: new.id,
        scopes: new.scopes,
        repository: repository.name,
        projects,
        ref_name,
        commit,
        trust,
        why_unverified,
        expires_at: now.plus_seconds(TOKEN_S),
    })
}

/// The user of a repository's CI runs: one for each repository, created by its first run. It has no password, has the role
/// User, and is a member of the repository's projects if these have members. Disabling it blocks the runs.
fn service_user(cx: &mut Cx<'_, '_>, repository: &Repository) -> Result<User> {
    let id = service_user_id(&repository.id);
    let user = match user::find(cx.tx, &id)? {
        Some(user) if user.disabled => {
            let message = format!(
                "the user {}, whom CI runs of {} act as, is disabled",
                user.username, repository.name
            );
            return Err(Error::new(ErrorKind::Unauthenticated, message));
        }
        Some(user) => user,
        None => add_service_user(cx, repository, id)?,
    };
    let viewer = Viewer { user_id: user.id.clone(), token_id: None };
    for (key, project_id) in repository.projects.iter().zip(&repository.project_ids) {
        if member::role(cx.tx, &viewer, project_id)?.is_some() {
            continue;
        }
        let new = Member {
            project_id: project_id.clone(),
            project: key.clone(),
            user_id: user.id.clone(),
            username: user.username.clone(),
            role: Role::User,
            version: 1,
            created_at: cx.now(),
            updated_at: cx.now(),
        };
        member::insert(cx.tx, &new)?;
        crate::member::record(cx, None, Some(&new))?;
    }
    Ok(user)
}

fn add_service_user(cx: &mut Cx<'_, '_>, repository: &Repository, id: String) -> Result<User> {
    let named = service_user_name(&repository.name);
    let is_free = user::find(cx.tx, &named)?.is_none();
    let new = User {
        // The id is free, because no other user has it.
        username: if is_free { named } else { format!("ci-{id}") },
        email: format!("{id}@ci.invalid"),
        role: Role::User,
        disabled: false,
        version: 1,
        created_at: cx.now(),
        updated_at: cx.now(),
        id,
    };
    user::insert(cx.tx, &new, None)?;
    crate::user::record(cx, None, Some(&new), 1)?;
    Ok(new)
}

/// The id of a repository's user is derived from the repository's, so that two first runs create the same one.
fn service_user_id(repository_id: &str) -> String {
    let hash = blake3::derive_key("spexus service user of a repository", repository_id.as_bytes());
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hash[..16]);
    uuid::Builder::from_custom_bytes(bytes).into_uuid().to_string()
}

/// The maximal length of a user's name.
const USERNAME_MAX_CHARS: usize = 50;

/// `ci-github.com-acme-shop`: characters that the name of a user may have.
fn service_user_name(repository: &str) -> String {
    let fits = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-');
    let name = repository.chars().map(|c| if fits(c) { c } else { '-' });
    "ci-".chars().chain(name).take(USERNAME_MAX_CHARS).collect()
}

/// The error for an identity token that proves nothing.
fn refused(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Unauthenticated, message)
}
