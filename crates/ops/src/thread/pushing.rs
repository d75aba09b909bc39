//! The common parts of both pushes: the repository, the caller, the trust, and the resolution of references.

use std::collections::{BTreeMap, HashMap};

use schemars::JsonSchema;
use serde::Serialize;
use store::model::{DEFAULT_PROJECT_KEY, Kind, Reference, Time};
use store::thread::identity::{self, Grant};
use store::thread::repository::{self, Repository};
use store::thread::run::TestRun;
use store::thread::snapshot::{self, Snapshot};
use store::thread::text;

use crate::caller::Scope;
use crate::context::Cx;
use crate::error::{Error, Result};
use crate::input::Text;

/// How many numbers are looked up at once.
const NUMBERS_AT_ONCE: usize = 1_000;

/// How many repositories are searched for a suggestion.
const KNOWN_MAX: i64 = 1_000;

/// The head of a ref.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Head {
    /// The repository's name.
    pub repository: String,
    /// The ref.
    #[serde(rename = "ref")]
    pub ref_name: String,
    /// The commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Whether files differed from that commit.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub dirty: bool,
    /// How far its origin is trusted: `unverified`, `local`, `token` or `oidc`.
    pub trust: String,
    /// The number of its citations that you can see.
    pub n_citations: i64,
    /// When it was pushed.
    pub pushed_at: Time,
    /// Whether it was not pushed: it is your checkout in its current state.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub live: bool,
}

impl Head {
    pub(super) fn new(
        cx: &mut Cx<'_, '_>,
        repository: &Repository,
        snapshot: Snapshot,
        live: bool,
    ) -> Result<Head> {
        let n_citations = n_seen(cx, repository, &snapshot)?;
        Ok(Head {
            repository: repository.name.clone(),
            ref_name: snapshot.ref_name,
            commit: snapshot.commit_id,
            dirty: snapshot.is_dirty,
            trust: snapshot.trust,
            n_citations,
            pushed_at: snapshot.created_at,
            live,
        })
    }
}

/// The number of a snapshot's citations that the caller can see.
fn n_seen(cx: &mut Cx<'_, '_>, repository: &Repository, snapshot: &Snapshot) -> Result<i64> {
    let mut seen = Vec::new();
    for project_id in &repository.project_ids {
        if cx.role_in(project_id)?.is_some() {
            seen.push(project_id.as_str());
        }
    }
    if seen.len() == repository.project_ids.len() {
        return Ok(snapshot.n_citations);
    }
    Ok(snapshot::count_in_projects(cx.tx, &snapshot.id, &seen)?)
}

/// A test run.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Run {
    /// The UUID.
    pub id: String,
    /// The ref that it ran on.
    #[serde(rename = "ref")]
    pub ref_name: String,
    /// The commit that it ran on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The tools that reported it.
    pub tool: String,
    /// The trust of its origin: `unverified`, `local`, `token` or `oidc`.
    pub trust: String,
    /// How it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_status: Option<i64>,
    /// Whether the reports are complete; otherwise it closes nothing.
    pub whole: bool,
    /// How many tests it has.
    pub n_tests: i64,
    /// When it was pushed.
    pub pushed_at: Time,
}

impl Run {
    pub(super) fn new(run: TestRun) -> Run {
        Run {
            id: run.id,
            ref_name: run.ref_name,
            commit: run.commit_id,
            tool: run.tool,
            trust: run.trust,
            exit_status: run.exit_status,
            whole: run.is_whole,
            n_tests: run.n_cases,
            pushed_at: run.created_at,
        }
    }
}

/// The repository that an argument names, and its visible projects. A repository without visible projects is
/// unknown.
pub(crate) fn repository(cx: &mut Cx<'_, '_>, name: &Text<1, 200>) -> Result<(Repository, Vec<String>)> {
    let found = repository::find(cx.tx, name.as_str())?;
    if let Some(found) = found {
        let mut seen = Vec::new();
        for project_id in &found.project_ids {
            if cx.sees(project_id)? {
                seen.push(project_id.clone());
            }
        }
        if !seen.is_empty() {
            return Ok((found, seen));
        }
    }
    let projects = cx.projects("repository", None)?;
    let (known, _) = repository::list(cx.tx, &projects, KNOWN_MAX, 0)?;
    let near = match known.as_slice() {
        [only] => Some(only.name.as_str()),
        known => nearest::nearest(name.as_str(), known.iter().map(|known| known.name.as_str())),
    };
    let advice = match near {
        Some(near) => format!("did you mean {near:?}? if it was renamed, use `spexus repository update`"),
        None => {
            "an administrator makes one known with `spexus repository create NAME --projects KEY`".to_owned()
        }
    };
    let message = format!("there is no repository {:?}; {advice}", name.as_str());
    Err(Error { message, ..Error::not_found("repository", name.as_str()).about("repository") })
}

/// A repository without the projects that the caller cannot see.
pub(crate) fn shown(cx: &mut Cx<'_, '_>, mut repository: Repository) -> Result<Repository> {
    let pairs = repository.projects.into_iter().zip(repository.project_ids);
    let mut seen = Vec::new();
    for (key, id) in pairs {
        if cx.role_in(&id)?.is_some() {
            seen.push((key, id));
        }
    }
    (repository.projects, repository.project_ids) = seen.into_iter().unzip();
    Ok(repository)
}

/// The origin and the target of a push.
pub(super) struct Pusher {
    /// The trust of the origin.
    pub trust: String,
    /// The ref that it is for.
    pub ref_name: String,
    /// The commit that it is for.
    pub commit_id: Option<String>,
}

/// Decides the trust of a push. For a CI run the ref and commit in its token count, not those in the push.
pub(super) fn pusher(
    cx: &mut Cx<'_, '_>,
    repository: &Repository,
    ref_name: Option<&str>,
    commit_id: Option<&str>,
) -> Result<Pusher> {
    if let Some(name) = ref_name.filter(|name| !is_ref(name)) {
        return Err(Error::field("ref", format!("expected a ref such as refs/heads/main, found {name:?}")));
    }
    if let Some(id) = commit_id.filter(|id| !id.bytes().all(|byte| byte.is_ascii_hexdigit())) {
        return Err(Error::field("commit", format!("expected hexadecimal digits, found {id:?}")));
    }
    let caller = cx.caller()?;
    let grants = match &caller.token_id {
        Some(token_id) => identity::grants(cx.tx, token_id)?,
        None => Vec::new(),
    };
    let named = Pusher {
        trust: if caller.token_id.is_some() || caller.session_id.is_some() { "token" } else { "local" }
            .to_owned(),
        ref_name: ref_name.unwrap_or(&repository.main_ref).to_owned(),
        commit_id: commit_id.map(str::to_owned),
    };
    // The repositories of a token with the scope `evidence` may be deleted, and then it can push to none.
    let is_bound = caller.scopes.as_ref().is_some_and(|scopes| scopes.contains(&Scope::Evidence));
    if grants.is_empty() && !is_bound {
        return Ok(named);
    }
    let Some(grant) = grants.into_iter().find(|grant| grant.repository_id == repository.id) else {
        let message = format!("the token may not push to {}", repository.name);
        return Err(Error::forbidden(message));
    };
    let Grant { trust, ref_name: proved_ref, commit_id: proved_commit, .. } = grant;
    for (field, said, proved) in [("ref", ref_name, &proved_ref), ("commit", commit_id, &proved_commit)] {
        if let (Some(said), Some(proved)) = (said, proved)
            && said != proved
        {
            let message = format!("expected {proved:?}, which the CI run has proved, found {said:?}");
            return Err(Error::field(field, message));
        }
    }
    Ok(Pusher {
        trust,
        ref_name: proved_ref.unwrap_or(named.ref_name),
        commit_id: proved_commit.or(named.commit_id),
    })
}

/// Whether something can be the name of a ref.
fn is_ref(name: &str) -> bool {
    let is_wrong = |c: char| c.is_control() || c.is_whitespace() || "~^:?*[\\".contains(c);
    !name.contains(is_wrong) && !name.split('/').any(|part| part.is_empty() || part.starts_with('.'))
}

/// Checks that an unverified run does not replace the citations of the main ref or a closing ref: with
/// forged citations, results of trusted runs would close something else than they have shown.
pub(super) fn check_head(repository: &Repository, pusher: &Pusher) -> Result<()> {
    let Pusher { trust, ref_name, .. } = pusher;
    let decides = *ref_name == repository.main_ref || repository.is_closing_ref(ref_name);
    if trust != "unverified" || !decides {
        return Ok(());
    }
    let message = format!(
        "the trace of {ref_name} is not replaced by an unverified CI run; push from a run on that ref, which is listed as closing"
    );
    Err(Error::forbidden(message))
}

/// The resolved references of a push.
#[derive(Debug, Default)]
pub(super) struct Meant {
    ids: HashMap<String, String>,
    /// References that name nothing visible in the repository's projects.
    pub unknown: Vec<String>,
}

impl Meant {
    /// Whether no reference could be resolved.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// The id of the entity that a reference means.
    pub fn id(&self, reference: &str) -> Option<&str> {
        self.ids.get(reference).map(String::as_str)
    }
}

/// Resolves many references. What the caller cannot see is unknown, like what does not exist.
pub(super) fn meant<'a>(
    cx: &mut Cx<'_, '_>,
    repository: &Repository,
    seen: &[String],
    references: impl Iterator<Item = &'a str>,
) -> Result<Meant> {
    let mut meant = Meant::default();
    let mut wanted: BTreeMap<(&str, Kind), BTreeMap<i64, Vec<&str>>> = BTreeMap::new();
    let keys: HashMap<&str, &str> = repository
        .projects
        .iter()
        .zip(&repository.project_ids)
        .filter(|(_, id)| seen.contains(id))
        .map(|(key, id)| (key.as_str(), id.as_str()))
        .collect();
    let mut unique: Vec<&str> = references.collect();
    unique.sort_unstable();
    unique.dedup();
    for reference in unique {
        let parsed = Reference::parse(reference);
        let found = match parsed {
            Some(Reference::Numbered {
                project,
                kind: kind @ (Kind::Requirement | Kind::AcceptanceCriteria),
                number,
            }) => {
                let key = project.unwrap_or_else(|| DEFAULT_PROJECT_KEY.to_owned());
                keys.get(key.as_str()).map(|project_id| ((*project_id, kind), number))
            }
            _ => None,
        };
        match found {
            Some((place, number)) => {
                wanted.entry(place).or_default().entry(number).or_default().push(reference);
            }
            None => meant.unknown.push(reference.to_owned()),
        }
    }
    for ((project_id, kind), mut numbers) in wanted {
        let all: Vec<i64> = numbers.keys().copied().collect();
        for some in all.chunks(NUMBERS_AT_ONCE) {
            for (number, id) in text::of_numbers(cx.tx, project_id, kind, some)? {
                for reference in numbers.remove(&number).into_iter().flatten() {
                    meant.ids.insert(reference.to_owned(), id.clone());
                }
            }
        }
        meant.unknown.extend(numbers.into_values().flatten().map(str::to_owned));
    }
    meant.unknown.sort_unstable();
    Ok(meant)
}
