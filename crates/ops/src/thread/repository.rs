//! Repositories whose code may cite requirements.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::thread::repository::{self, Repository};
use store::thread::{run, snapshot};

use super::{counted, pushing, tidy};
use crate::context::{Cx, Subject, check_version, overtaken, to_value};
use crate::error::{Error, Result};
use crate::input::{Limit, Offset, Patch, Set, Text, Version};
use crate::operation::{
    Columns, Command, Effect, Operation, Output, Route, Tool, command, create, delete, get, patch, tool,
    versioned_output,
};
use crate::page::{Cursor, Page, page, window_from};

versioned_output!(Repository, version, id);

/// How many projects a repository can have.
const PROJECTS_MAX: usize = 100;
/// The default main ref.
const MAIN_REF: &str = "refs/heads/main";

/// The least verdict that closes a unit.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum ClosesAtName {
    /// A test that cites it passed.
    Passed,
    /// The same run executed the code that cites it.
    #[default]
    Witnessed,
    /// That very test executed the code.
    Proven,
}

impl ClosesAtName {
    const fn name(self) -> &'static str {
        match self {
            ClosesAtName::Passed => "passed",
            ClosesAtName::Witnessed => "witnessed",
            ClosesAtName::Proven => "proven",
        }
    }
}

/// The least trust of a run that closes a unit.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum TrustName {
    /// Any run, including one on the machine of the store.
    #[default]
    Local,
    /// A run that was pushed with a token.
    Token,
    /// A CI run with a verified identity.
    Oidc,
}

impl TrustName {
    const fn name(self) -> &'static str {
        match self {
            TrustName::Local => "local",
            TrustName::Token => "token",
            TrustName::Oidc => "oidc",
        }
    }
}

/// Register a repository whose code and tests may cite requirements of some projects.
///
/// Its pushes may cite these projects only. `closes_at`, `trust_min` and `closing_refs` define which evidence closes a unit of
/// text.
/// With `issuer` and `external_id`, its CI can push with an identity token instead of a secret.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateRepository {
    /// Its name, such as `github.com/acme/shop`.
    name: Text<1, 200>,
    /// The projects, keys or ids, whose requirements it may cite.
    projects: Vec<Text<1, 64>>,
    /// The ref for reports and pages; default `refs/heads/main`.
    main_ref: Option<Text<1, 200>>,
    /// The least verdict that closes a unit.
    #[serde(default)]
    closes_at: ClosesAtName,
    /// The least trust of a run that closes a unit.
    #[serde(default)]
    trust_min: TrustName,
    /// The refs whose runs close units; default: the main ref.
    closing_refs: Option<Vec<Text<1, 200>>>,
    /// The issuer of its CI runs' identity tokens, such as `https://token.actions.githubusercontent.com`.
    issuer: Option<Text<1, 500>>,
    /// The number of the repository at this issuer.
    external_id: Option<Text<1, 100>>,
}

impl Operation for CreateRepository {
    type Output = Repository;
    const NAME: &'static str = "create_repository";
    const COMMANDS: &'static [Command] = &[command("repository create")];
    const ROUTES: &'static [Route] = &[create("/repositories")];
    const EFFECT: Effect = Effect::Administers;
    const POSITIONAL: &'static [&'static str] = &["name"];

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<Repository> {
        let (projects, project_ids) = projects(cx, &self.projects)?;
        if repository::find(cx.tx, self.name.as_str())?.is_some() {
            return Err(taken(self.name.as_str()));
        }
        let new = Repository {
            id: cx.new_id(),
            name: (&self.name).into(),
            projects,
            project_ids,
            main_ref: self.main_ref.as_ref().map_or_else(|| MAIN_REF.to_owned(), String::from),
            closes_at: self.closes_at.name().to_owned(),
            trust_min: self.trust_min.name().to_owned(),
            closing_refs: self.closing_refs.iter().flatten().map(String::from).collect(),
            issuer: self.issuer.as_ref().map(String::from),
            external_id: self.external_id.as_ref().map(String::from),
            version: 1,
            created_at: cx.now(),
            updated_at: cx.now(),
        };
        check_identity(cx, &new)?;
        repository::insert(cx.tx, &new)?;
        record(cx, None, Some(&new))?;
        Ok(new)
    }
}

/// List the repositories whose code may cite requirements that you can see.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListRepositories {
    /// Only those of this project: a key or an id.
    project: Option<Text<1, 64>>,
    /// How many items to return; default 50.
    limit: Option<Limit>,
    /// How many items to skip.
    offset: Option<Offset>,
    /// Continue after a page: its `next_cursor`.
    cursor: Option<Cursor>,
}

impl Operation for ListRepositories {
    type Output = Page<Repository>;
    const NAME: &'static str = "list_repositories";
    const COMMANDS: &'static [Command] = &[command("repository list")];
    const ROUTES: &'static [Route] = &[get("/repositories")];
    const TOOLS: &'static [Tool] = &[tool("thread", "{}")];
    const EFFECT: Effect = Effect::Reads;
    const COLUMNS: &'static [Columns] =
        &[(None, &["name", "projects", "main_ref", "closes_at", "trust_min", "updated_at"])];

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<Page<Repository>> {
        let projects = cx.projects("project", self.project.as_ref().map(Text::as_str))?;
        let window = window_from(self.limit, self.offset, self.cursor.as_ref())?;
        let (found, total) = repository::list(cx.tx, &projects, window.0, window.1)?;
        let mut shown = Vec::new();
        for found in found {
            shown.push(pushing::shown(cx, found)?);
        }
        Ok(page(shown, total, window))
    }
}

/// Read a repository: the projects that it may cite, its policy, and its last pushes.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetRepository {
    /// Its name or id.
    repository: Text<1, 200>,
}

/// A repository, and its last pushes.
#[derive(Serialize, JsonSchema)]
pub struct RepositoryState {
    /// The repository.
    #[serde(flatten)]
    repository: Repository,
    /// The heads of its refs.
    heads: Vec<pushing::Head>,
    /// The newest test runs, at most 20.
    runs: Vec<pushing::Run>,
}

impl Output for RepositoryState {
    fn version(&self) -> Option<i64> {
        Some(self.repository.version)
    }
}

/// How many runs are listed.
const RUNS_SHOWN: i64 = 20;

impl Operation for GetRepository {
    type Output = RepositoryState;
    const NAME: &'static str = "get_repository";
    const COMMANDS: &'static [Command] = &[command("repository show")];
    const ROUTES: &'static [Route] = &[get("/repositories/{repository}")];
    const EFFECT: Effect = Effect::Reads;
    const POSITIONAL: &'static [&'static str] = &["repository"];

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<RepositoryState> {
        let (found, _) = pushing::repository(cx, &self.repository)?;
        let heads = snapshot::heads(cx.tx, &found.id)?;
        let (runs, _) = run::list(cx.tx, &found.id, RUNS_SHOWN, 0)?;
        let heads: Result<Vec<pushing::Head>> =
            heads.into_iter().map(|head| pushing::Head::new(cx, &found, head, false)).collect();
        Ok(RepositoryState {
            heads: heads?,
            runs: runs.into_iter().map(pushing::Run::new).collect(),
            repository: pushing::shown(cx, found)?,
        })
    }
}

/// Change a repository: its name, projects, main ref, identity, and policy.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateRepository {
    /// Its name or id.
    repository: Text<1, 200>,
    /// The new name.
    #[serde(default)]
    name: Set<Text<1, 200>>,
    /// The projects, keys or ids, whose requirements it may cite.
    #[serde(default)]
    projects: Set<Vec<Text<1, 64>>>,
    /// The ref for reports and pages.
    #[serde(default)]
    main_ref: Set<Text<1, 200>>,
    /// The least verdict that closes a unit.
    #[serde(default)]
    closes_at: Set<ClosesAtName>,
    /// The least trust of a run that closes a unit.
    #[serde(default)]
    trust_min: Set<TrustName>,
    /// The refs whose runs close units; none for the main ref.
    #[serde(default)]
    closing_refs: Set<Vec<Text<1, 200>>>,
    /// The issuer of its CI runs' identity tokens.
    #[serde(default)]
    issuer: Patch<Text<1, 500>>,
    /// The number of the repository at this issuer.
    #[serde(default)]
    external_id: Patch<Text<1, 100>>,
    /// Reject the change if the current version differs.
    expected_version: Option<Version>,
}

impl Operation for UpdateRepository {
    type Output = Repository;
    const NAME: &'static str = "update_repository";
    const COMMANDS: &'static [Command] = &[command("repository update")];
    const ROUTES: &'static [Route] = &[patch("/repositories/{repository}")];
    const EFFECT: Effect = Effect::Administers;
    const POSITIONAL: &'static [&'static str] = &["repository"];

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<Repository> {
        let (before, _) = pushing::repository(cx, &self.repository)?;
        check_version(self.expected_version, &before.name, before.version, &before)?;
        let mut after = Repository { version: before.version + 1, updated_at: cx.now(), ..before.clone() };
        if let Some(name) = &self.name.0 {
            if repository::find(cx.tx, name.as_str())?.is_some_and(|found| found.id != before.id) {
                return Err(taken(name.as_str()));
            }
            after.name = name.into();
        }
        if let Some(wanted) = &self.projects.0 {
            (after.projects, after.project_ids) = projects(cx, wanted)?;
        }
        if let Some(main_ref) = &self.main_ref.0 {
            after.main_ref = main_ref.into();
        }
        if let Some(closes_at) = self.closes_at.0 {
            after.closes_at = closes_at.name().to_owned();
        }
        if let Some(trust_min) = self.trust_min.0 {
            after.trust_min = trust_min.name().to_owned();
        }
        if let Some(refs) = &self.closing_refs.0 {
            after.closing_refs = refs.iter().map(String::from).collect();
        }
        after.issuer = self.issuer.apply(after.issuer, |issuer| issuer.into());
        after.external_id = self.external_id.apply(after.external_id, |id| id.into());
        check_identity(cx, &after)?;
        if !repository::update(cx.tx, &after)? {
            return Err(overtaken(&after.name));
        }
        counted::count_head(cx, &after)?;
        record(cx, Some(&before), Some(&after))?;
        Ok(after)
    }
}

/// Delete a repository with everything that was pushed from it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeleteRepository {
    /// Its name or id.
    repository: Text<1, 200>,
    /// Reject if the current version differs.
    expected_version: Option<Version>,
}

/// The deleted repository.
#[derive(Serialize, JsonSchema)]
pub struct DeletedRepository {
    /// Its name.
    deleted: String,
}

impl Output for DeletedRepository {}

impl Operation for DeleteRepository {
    type Output = DeletedRepository;
    const NAME: &'static str = "delete_repository";
    const COMMANDS: &'static [Command] = &[command("repository delete")];
    const ROUTES: &'static [Route] = &[delete("/repositories/{repository}")];
    const EFFECT: Effect = Effect::Administers;
    const MODE: Option<store::Mode> = Some(store::Mode::Long);
    const POSITIONAL: &'static [&'static str] = &["repository"];

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<DeletedRepository> {
        let (found, _) = pushing::repository(cx, &self.repository)?;
        check_version(self.expected_version, &found.name, found.version, &found)?;
        tidy::remove_all(cx, &found)?;
        repository::delete(cx.tx, &found.id)?;
        record(cx, Some(&found), None)?;
        Ok(DeletedRepository { deleted: found.name })
    }
}

/// The keys and the ids of projects.
fn projects(cx: &mut Cx<'_, '_>, names: &[Text<1, 64>]) -> Result<(Vec<String>, Vec<String>)> {
    if names.is_empty() || names.len() > PROJECTS_MAX {
        let message = format!("expected 1 to {PROJECTS_MAX} projects, found {}", names.len());
        return Err(Error::field("projects", message));
    }
    let mut found = Vec::new();
    for name in names {
        let project = cx.project("projects", Some(name.as_str()))?;
        found.push((project.key, project.id));
    }
    found.sort_unstable();
    found.dedup();
    Ok(found.into_iter().unzip())
}

/// An identity has both parts, and belongs to one repository.
fn check_identity(cx: &mut Cx<'_, '_>, repository: &Repository) -> Result<()> {
    match (&repository.issuer, &repository.external_id) {
        (None, None) => Ok(()),
        (Some(_), Some(external_id)) if !external_id.bytes().all(|byte| byte.is_ascii_digit()) => {
            // A name can be reassigned to another repository later; a number cannot.
            let message =
                format!("expected the number of the repository, such as 1296269, found {external_id:?}");
            Err(Error::field("external_id", message))
        }
        (Some(issuer), Some(external_id)) => {
            let other = repository::find_by_identity(cx.tx, issuer, external_id)?;
            match other.filter(|other| other.id != repository.id) {
                Some(other) => {
                    let message = format!("is the identity of {}", other.name);
                    Err(Error::conflict(message).about("external_id"))
                }
                None => Ok(()),
            }
        }
        (Some(_), None) => Err(Error::field("external_id", "is needed together with issuer")),
        (None, Some(_)) => Err(Error::field("issuer", "is needed together with external_id")),
    }
}

fn taken(name: &str) -> Error {
    Error::conflict(format!("there is already a repository named {name:?}")).about("name")
}

fn record(cx: &mut Cx<'_, '_>, before: Option<&Repository>, after: Option<&Repository>) -> Result<()> {
    let Some(subject) = after.or(before) else { return Ok(()) };
    let subject = Subject {
        project_id: None,
        kind: "repository",
        id: &subject.id,
        reference_id: None,
        version: subject.version,
    };
    let before = before.map(to_value).transpose()?;
    let after = after.map(to_value).transpose()?;
    cx.record(&subject, before.as_ref(), after.as_ref())
}
