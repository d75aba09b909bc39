//! Personal access tokens: one's own, or for administrators those of others.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::model::{Reference, Role, Time};
use store::thread::identity::{self, Grant};
use store::thread::repository::Repository;
use store::token::{self, Token};
use store::{Mode, user};

use crate::caller::Scope;
use crate::context::{Cx, Subject, check_version, overtaken, to_value};
use crate::error::{Error, ErrorKind, Result};
use crate::input::{Limit, Moment, Offset, Patch, Set, Span, Text, Version};
use crate::operation::{
    Columns, Command, Effect, Operation, Output, Route, command, create, delete, get, patch, versioned_output,
};
use crate::page::{Cursor, Page, page, window_from};
use crate::secret;
use crate::thread::pushing;

versioned_output!(Token, version, id);

/// The name of a token, or its id.
type Name = Text<1, 100>;

/// A scope of a token.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum ScopeName {
    /// Reading.
    Read,
    /// Reading and commenting.
    Comment,
    /// Reading, commenting and writing.
    Write,
    /// Also what administrators manage.
    Admin,
    /// All rights of the owner, including tokens and password.
    FullAccess,
    /// Reading the projects of `repositories` and pushing to these, and nothing else.
    Evidence,
}

impl ScopeName {
    const fn scope(self) -> Scope {
        match self {
            ScopeName::Read => Scope::Read,
            ScopeName::Comment => Scope::Comment,
            ScopeName::Write => Scope::Write,
            ScopeName::Admin => Scope::Admin,
            ScopeName::FullAccess => Scope::FullAccess,
            ScopeName::Evidence => Scope::Evidence,
        }
    }
}

/// Create a personal access token. Its secret is shown once, in the answer.
///
/// A token has the lesser of its scopes and its owner's role. One with the scope `evidence` and some `repositories` can read
/// their projects and push to them, and nothing else.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateToken {
    /// Its name, unique among the user's tokens.
    name: Name,
    /// Its scopes; default `write`.
    scopes: Option<Vec<ScopeName>>,
    /// Restricts it to these projects: keys or ids; default: all that its owner can see.
    projects: Option<Vec<Text<1, 64>>>,
    /// With the scope `evidence`, the repositories that it can push to and whose projects it can read: names or ids.
    repositories: Option<Vec<Text<1, 200>>>,
    /// When it expires; default: never.
    expires_at: Option<Moment>,
    /// How long it is valid, such as `30d` or `12h`, instead of `expires_at`.
    expires_in: Option<Span>,
    /// For another user, by an administrator: an id or a name.
    user: Option<Text<1, 254>>,
    #[serde(skip)]
    secret: Option<String>,
}

/// A new token with its secret.
#[derive(Serialize, JsonSchema)]
pub struct NewToken {
    /// The secret. It is not shown again.
    pub token: String,
    /// The token's id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its scopes.
    pub scopes: Vec<String>,
    /// The keys of the projects that it is restricted to; absent if it is not restricted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub projects: Option<Vec<String>>,
    /// The names of the repositories that it can push to; absent if its scope is not `evidence`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repositories: Option<Vec<String>>,
    /// When it expires.
    pub expires_at: Option<Time>,
    /// When it was made.
    pub created_at: Time,
}

impl Output for NewToken {
    fn reference(&self) -> Option<&str> {
        Some(&self.id)
    }
}

impl Operation for CreateToken {
    type Output = NewToken;
    const NAME: &'static str = "create_token";
    const COMMANDS: &'static [Command] = &[command("token create")];
    const ROUTES: &'static [Route] = &[create("/tokens")];
    const EFFECT: Effect = Effect::OwnsAccount;
    const POSITIONAL: &'static [&'static str] = &["name"];
    const PREPARES: bool = true;
    const ANSWERS_SECRET: bool = true;

    fn prepare(&mut self, _: &mut Cx<'_, '_>) -> Result<()> {
        self.secret = Some(secret::generate(secret::TOKEN_PREFIX)?);
        Ok(())
    }

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<NewToken> {
        let (user_id, user) = owner(cx, self.user.as_ref())?;
        check_name(self.name.as_str())?;
        if token::find_by_name(cx.tx, &user_id, self.name.as_str())?.is_some() {
            return Err(taken(self.name.as_str()));
        }
        let secret = self.secret.as_deref().unwrap_or_default();
        if self.expires_in.is_some() && self.expires_at.is_some() {
            return Err(Error::field("expires_in", "cannot be given together with expires_at"));
        }
        let after = self.expires_in.map(|span| cx.now().plus_seconds(span.0));
        let expires_at = self.expires_at.map(Moment::last).or(after);
        check_end(cx, "expires_at", expires_at)?;
        let scopes = scopes(self.scopes.as_deref())?;
        let repositories = self.repositories_of(cx, &scopes)?;
        let grants: Vec<Grant> = repositories.iter().map(|repository| granted(&repository.id)).collect();
        let projects = match (&self.projects, repositories.as_slice()) {
            (None, []) => None,
            (Some(names), _) => Some(projects(cx, names)?),
            (None, some) => Some(projects_of(some)),
        };
        let names = repositories.into_iter().map(|repository| repository.name);
        let new = Token {
            id: cx.new_id(),
            user_id,
            user,
            name: (&self.name).into(),
            prefix: secret[..secret::VISIBLE].to_owned(),
            scopes,
            projects,
            repositories: (!grants.is_empty()).then(|| names.collect()),
            expires_at,
            last_used_at: None,
            version: 1,
            created_at: cx.now(),
            updated_at: cx.now(),
        };
        issue(cx, &new, secret, &grants)?;
        Ok(NewToken {
            token: secret.to_owned(),
            id: new.id,
            name: new.name,
            scopes: new.scopes,
            projects: new.projects,
            repositories: new.repositories,
            expires_at: new.expires_at,
            created_at: new.created_at,
        })
    }
}

impl CreateToken {
    /// The repositories that the token can push to, without those of their projects that the caller cannot see.
    fn repositories_of(&self, cx: &mut Cx<'_, '_>, scopes: &[String]) -> Result<Vec<Repository>> {
        let names = match (is_for_evidence(scopes), self.repositories.as_deref()) {
            (false, None) => return Ok(Vec::new()),
            (false, Some(_)) => {
                let message = "is for tokens with the scope evidence alone; others are narrowed by projects";
                return Err(Error::field("repositories", message));
            }
            (true, names) => names.unwrap_or_default(),
        };
        if names.is_empty() || names.len() > REPOSITORIES_MAX {
            let message = format!(
                "the scope evidence needs 1 to {REPOSITORIES_MAX} repositories to push to, found {}",
                names.len()
            );
            return Err(Error::field("repositories", message));
        }
        if self.projects.is_some() {
            let message =
                "cannot be given with the scope evidence, which reads the projects of its repositories";
            return Err(Error::field("projects", message));
        }
        let mut found = Vec::new();
        for name in names {
            let (repository, _) = pushing::repository(cx, name)
                .map_err(|error| Error { fields: Vec::new(), ..error }.about("repositories"))?;
            found.push(pushing::shown(cx, repository)?);
        }
        found.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        found.dedup_by(|one, other| one.id == other.id);
        Ok(found)
    }
}

/// Adds a token for some repositories, or for none in particular.
pub(crate) fn issue(cx: &mut Cx<'_, '_>, new: &Token, secret: &str, grants: &[Grant]) -> Result<()> {
    token::insert(cx.tx, new, &secret::hash(secret))?;
    for grant in grants {
        identity::grant(cx.tx, &new.id, grant)?;
    }
    record(cx, None, Some(new), 1)
}

/// The rights of a user's own token in a repository: any ref and commit.
fn granted(repository_id: &str) -> Grant {
    let trust = "token".to_owned();
    Grant { repository_id: repository_id.to_owned(), trust, ref_name: None, commit_id: None }
}

/// The keys of the projects of repositories.
pub(crate) fn projects_of(repositories: &[Repository]) -> Vec<String> {
    let mut keys: Vec<String> = repositories.iter().flat_map(|one| one.projects.iter().cloned()).collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

fn is_for_evidence(scopes: &[String]) -> bool {
    scopes.iter().any(|name| name == Scope::Evidence.name())
}

/// List a user's tokens, newest first, without their secrets.
///
/// Administrators see everyone's with `all`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListTokens {
    /// Of another user, for administrators: an id or a name.
    user: Option<Text<1, 254>>,
    /// Everyone's, for administrators.
    #[serde(default)]
    all: bool,
    /// How many items to return; default 50.
    limit: Option<Limit>,
    /// How many items to skip.
    offset: Option<Offset>,
    /// Continue after a page: its `next_cursor`.
    cursor: Option<Cursor>,
}

impl Operation for ListTokens {
    type Output = Page<Token>;
    const NAME: &'static str = "list_tokens";
    const COMMANDS: &'static [Command] = &[command("token list")];
    const ROUTES: &'static [Route] = &[get("/tokens")];
    const EFFECT: Effect = Effect::OwnsAccount;
    const COLUMNS: &'static [Columns] =
        &[(None, &["name", "prefix", "user", "scopes", "expires_at", "last_used_at", "created_at"])];
    const MODE: Option<Mode> = Some(Mode::Snapshot);

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<Page<Token>> {
        let user_id = match (&self.user, self.all) {
            (Some(_), true) => return Err(Error::field("all", "cannot be given together with user")),
            (None, true) if cx.caller()?.role != Role::Administrator => return Err(not_theirs()),
            (None, true) => None,
            (user, false) => Some(owner(cx, user.as_ref())?.0),
        };
        let window = window_from(self.limit, self.offset, self.cursor.as_ref())?;
        let (tokens, total) = token::list(cx.tx, user_id.as_deref(), window.0, window.1)?;
        Ok(page(tokens, total, window))
    }
}

/// Read a token, without its secret.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetToken {
    /// The token's id, or its name: one of your tokens, or of the user's.
    token_id: Name,
    /// The owner of the token, for administrators: an id or a name.
    user: Option<Text<1, 254>>,
}

impl Operation for GetToken {
    type Output = Token;
    const NAME: &'static str = "get_token";
    const COMMANDS: &'static [Command] = &[command("token show")];
    const ROUTES: &'static [Route] = &[get("/tokens/{token_id}")];
    const EFFECT: Effect = Effect::OwnsAccount;
    const MODE: Option<Mode> = Some(Mode::Point);
    const POSITIONAL: &'static [&'static str] = &["token_id"];

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<Token> {
        find(cx, &self.token_id, self.user.as_ref())
    }
}

/// Change a token's name, scopes, projects or expiry.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateToken {
    /// The token's id, or its name: one of your tokens, or of the user's.
    token_id: Name,
    /// The owner of the token, for administrators: an id or a name.
    user: Option<Text<1, 254>>,
    /// The new name.
    #[serde(default)]
    name: Set<Name>,
    /// Its scopes.
    #[serde(default)]
    scopes: Set<Vec<ScopeName>>,
    /// Restricts it to these projects: keys or ids; null removes the restriction.
    #[serde(default)]
    projects: Patch<Vec<Text<1, 64>>>,
    /// When it expires; null for never.
    #[serde(default)]
    expires_at: Patch<Moment>,
    /// Reject the change if the current version differs.
    expected_version: Option<Version>,
}

impl Operation for UpdateToken {
    type Output = Token;
    const NAME: &'static str = "update_token";
    const COMMANDS: &'static [Command] = &[command("token update")];
    const ROUTES: &'static [Route] = &[patch("/tokens/{token_id}")];
    const EFFECT: Effect = Effect::OwnsAccount;
    const POSITIONAL: &'static [&'static str] = &["token_id"];

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<Token> {
        let before = find(cx, &self.token_id, self.user.as_ref())?;
        check_version(self.expected_version, &before.name, before.version, &before)?;
        let mut after = before.clone();
        if let Some(name) = &self.name.0 {
            check_name(name.as_str())?;
            let other = token::find_by_name(cx.tx, &before.user_id, name.as_str())?;
            if other.is_some_and(|other| other.id != before.id) {
                return Err(taken(name.as_str()));
            }
            after.name = name.into();
        }
        if let Some(wanted) = &self.scopes.0 {
            after.scopes = scopes(Some(wanted))?;
        }
        let pushes = is_for_evidence(&before.scopes);
        if is_for_evidence(&after.scopes) != pushes {
            let message =
                "the scope evidence can be neither given to a token nor taken from it; create another token";
            return Err(Error::field("scopes", message));
        }
        if pushes && self.projects.is_given() {
            let message = "follow from the repositories of a token with the scope evidence";
            return Err(Error::field("projects", message));
        }
        match &self.projects {
            Patch::Absent => {}
            Patch::Null => after.projects = None,
            Patch::Value(names) => after.projects = Some(projects(cx, names)?),
        }
        after.expires_at = self.expires_at.apply(after.expires_at, |moment| moment.last());
        if self.expires_at.is_given() {
            check_end(cx, "expires_at", after.expires_at)?;
        }
        if after != before {
            after.version += 1;
            after.updated_at = cx.now();
            if !token::update(cx.tx, &after)? {
                return Err(overtaken(&before.name));
            }
            record(cx, Some(&before), Some(&after), after.version)?;
        }
        Ok(after)
    }
}

/// Revoke a token. It becomes invalid immediately, and sessions started with it end.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RevokeToken {
    /// The token's id, or its name: one of your tokens, or of the user's.
    token_id: Name,
    /// The owner of the token, for administrators: an id or a name.
    user: Option<Text<1, 254>>,
    /// Reject if the current version differs.
    expected_version: Option<Version>,
}

impl Operation for RevokeToken {
    type Output = Token;
    const NAME: &'static str = "revoke_token";
    const COMMANDS: &'static [Command] = &[command("token revoke")];
    const ROUTES: &'static [Route] = &[delete("/tokens/{token_id}")];
    const EFFECT: Effect = Effect::OwnsAccount;
    const POSITIONAL: &'static [&'static str] = &["token_id"];

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<Token> {
        let gone = find(cx, &self.token_id, self.user.as_ref())?;
        check_version(self.expected_version, &gone.name, gone.version, &gone)?;
        if !token::delete(cx.tx, &gone)? {
            return Err(overtaken(&gone.name));
        }
        record(cx, Some(&gone), None, gone.version + 1)?;
        Ok(gone)
    }
}

/// The id and the name of the caller, or for administrators of another user.
pub(crate) fn owner(cx: &mut Cx<'_, '_>, named: Option<&Text<1, 254>>) -> Result<(String, String)> {
    let caller = cx.caller()?;
    let Some(name) = named else { return Ok((caller.user_id.clone(), caller.username.clone())) };
    let found = user::find(cx.tx, name.as_str())?;
    match found {
        Some(user) if user.id == caller.user_id => Ok((user.id, user.username)),
        _ if caller.role != Role::Administrator => Err(not_theirs()),
        Some(user) => Ok((user.id, user.username)),
        None => Err(Error::field("user", format!("there is no user {:?}", name.as_str()))),
    }
}

fn not_theirs() -> Error {
    Error::forbidden("only administrators may look after the tokens and sessions of others")
}

/// A token of the caller, or for administrators of anybody: by its id, or by its name among those of its owner.
fn find(cx: &mut Cx<'_, '_>, name: &Name, user: Option<&Text<1, 254>>) -> Result<Token> {
    let caller = cx.caller()?;
    if let Some(Reference::Id(id)) = Reference::parse(name.as_str()) {
        let owner_id = user.map(|_| owner(cx, user)).transpose()?.map(|(id, _)| id);
        let may = |token: &Token| token.user_id == caller.user_id || caller.role == Role::Administrator;
        let is_theirs = |token: &Token| owner_id.as_ref().is_none_or(|id| *id == token.user_id);
        let found = token::find(cx.tx, &id)?.filter(|token| may(token) && is_theirs(token));
        return found.ok_or_else(|| Error::not_found("token", id));
    }
    let (user_id, user) = owner(cx, user)?;
    token::find_by_name(cx.tx, &user_id, name.as_str())?.ok_or_else(|| {
        let message =
            format!("{user} has no token {:?}; expected the id of a token or the name of one", name.as_str());
        Error::new(ErrorKind::NotFound, message)
    })
}

/// Tokens are named in paths, where these two have another meaning.
fn check_name(name: &str) -> Result<()> {
    match name {
        "." | ".." => Err(Error::field("name", "expected a name with a letter or digit")),
        _ => Ok(()),
    }
}

fn taken(name: &str) -> Error {
    Error::conflict(format!("there is already a token named {name:?}")).about("name")
}

fn scopes(wanted: Option<&[ScopeName]>) -> Result<Vec<String>> {
    let Some(wanted) = wanted else { return Ok(vec![Scope::Write.name().to_owned()]) };
    let mut scopes: Vec<Scope> = wanted.iter().map(|name| name.scope()).collect();
    scopes.sort_unstable_by_key(|scope| *scope as u8);
    scopes.dedup();
    if scopes.is_empty() {
        return Err(Error::field("scopes", "expected at least one scope"));
    }
    if scopes.len() > 1 && scopes.contains(&Scope::Evidence) {
        let message = "expected evidence alone: a token with this scope can be used for nothing else";
        return Err(Error::field("scopes", message));
    }
    Ok(scopes.into_iter().map(|scope| scope.name().to_owned()).collect())
}

/// How many projects a token can be restricted to.
const PROJECTS_MAX: usize = 100;
/// How many repositories a token can push to.
const REPOSITORIES_MAX: usize = 100;

/// The keys of the projects that a token is restricted to.
fn projects(cx: &mut Cx<'_, '_>, names: &[Text<1, 64>]) -> Result<Vec<String>> {
    if names.is_empty() || names.len() > PROJECTS_MAX {
        let message = format!("expected 1 to {PROJECTS_MAX} projects, found {}", names.len());
        return Err(Error::field("projects", message));
    }
    let mut keys = Vec::new();
    for name in names {
        keys.push(cx.project("projects", Some(name.as_str()))?.key);
    }
    keys.sort_unstable();
    keys.dedup();
    Ok(keys)
}

fn check_end(cx: &Cx<'_, '_>, field: &str, end: Option<Time>) -> Result<()> {
    match end {
        Some(end) if end <= cx.now() => {
            Err(Error::field(field, format!("expected a time in the future, found {end}")))
        }
        _ => Ok(()),
    }
}

fn record(cx: &mut Cx<'_, '_>, before: Option<&Token>, after: Option<&Token>, version: i64) -> Result<()> {
    let id = after.or(before).map(|token| token.id.clone()).unwrap_or_default();
    let subject = Subject { project_id: None, kind: "token", id: &id, reference_id: None, version };
    let before = before.map(to_value).transpose()?;
    let after = after.map(to_value).transpose()?;
    cx.record(&subject, before.as_ref(), after.as_ref())
}
