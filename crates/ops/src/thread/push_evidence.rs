//! Pushes the results of a test run: which tests ran, how they ended, and what they executed.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use store::Mode;
use store::sizes::{self, Grown};
use store::thread::repository::Repository;
use store::thread::run::{self, Execution, NewResult, TestRun};
use store::thread::snapshot;

use super::counted;
use super::lines::{self, PushFormat, PushedTest, case_id};
use super::pushing::{self, Meant};
use super::tidy::{self, Leftover};
use crate::context::{Cx, Subject};
use crate::error::{Error, ErrorKind, Result};
use crate::input::{Number, Text};
use crate::operation::{Command, Effect, FileArguments, Operation, Output, Route, command, post};

/// How many tests are written in one transaction.
const ROWS_AT_ONCE: usize = 1_000;

/// Push the results of a test run of a repository.
///
/// The content has a line of JSON for each test: `{"path", "blob", "symbol", "outcome", "attempts", "duration_ms", "executes":
/// [{"reference", "unit", "path", "blob", "how"}]}`; `spexus push` writes it from the reports of test tools. The server stores
/// results and what was executed, never line coverage. The run becomes visible when all of it has arrived. Pushing the same content
/// again changes nothing.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PushEvidence {
    /// The repository: its name or id.
    repository: Text<1, 200>,
    /// The ref that the tests ran on; default: the repository's main ref.
    #[serde(rename = "ref")]
    ref_name: Option<Text<1, 200>>,
    /// The commit that the tests ran on.
    commit: Option<Text<7, 64>>,
    /// The tools that reported it, such as `pytest`.
    tool: Text<1, 200>,
    /// How the run ended.
    exit_status: Option<Number<-255, 65_535>>,
    /// Whether the reports are incomplete: then the run closes nothing.
    #[serde(default)]
    incomplete: bool,
    /// The format of the content.
    #[serde(default)]
    #[allow(dead_code)]
    format: PushFormat,
    /// A line of JSON for each test.
    content: String,
    #[serde(skip)]
    #[schemars(skip)]
    work: Option<Mutex<Work>>,
    #[serde(skip)]
    #[schemars(skip)]
    is_taken: bool,
}

/// The result of a push.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct EvidencePushed {
    /// The run's id.
    run: String,
    /// The repository's name.
    repository: String,
    /// The ref that it ran on.
    #[serde(rename = "ref")]
    ref_name: String,
    /// How far its origin is trusted: `unverified`, `local`, `token` or `oidc`.
    trust: String,
    /// Whether the same run was pushed before.
    unchanged: bool,
    /// How many tests it has.
    n_tests: i64,
    /// How many tests have each result.
    outcomes: std::collections::BTreeMap<String, i64>,
    /// Whether it may close units.
    closes: bool,
    /// Why it does not, if so.
    #[serde(skip_serializing_if = "Option::is_none")]
    why_not: Option<String>,
}

impl Output for EvidencePushed {}

struct Work {
    repository: Repository,
    run: TestRun,
    results: Vec<NewResult>,
    executions: Vec<Vec<Execution>>,
    leftovers: Vec<Leftover>,
    entities: Vec<String>,
    answer: EvidencePushed,
    is_known: bool,
    /// The remaining parts, planned once: leftovers only become fewer.
    parts: Vec<Part>,
}

#[derive(Clone, Copy)]
enum Part {
    Tidy,
    Results(usize),
    Look,
    Complete,
    Count(usize),
}

impl Work {
    fn planned(&self) -> Vec<Part> {
        if self.is_known {
            return Vec::new();
        }
        let mut parts: Vec<Part> = (0..tidy::n_slices(&self.leftovers)).map(|_| Part::Tidy).collect();
        parts.extend((0..self.results.len().div_ceil(ROWS_AT_ONCE)).map(Part::Results));
        if self.results.len() >= sizes::MANY_ROWS {
            parts.push(Part::Look);
        }
        parts.push(Part::Complete);
        parts.extend((0..self.entities.len().div_ceil(counted::AT_ONCE)).map(Part::Count));
        parts
    }
}

impl Operation for PushEvidence {
    type Output = EvidencePushed;
    const NAME: &'static str = "push_evidence";
    const COMMANDS: &'static [Command] = &[command("evidence push")];
    const ROUTES: &'static [Route] = &[post("/repositories/{repository}/evidence")];
    const EFFECT: Effect = Effect::Pushes;
    const TAKES_FILE: Option<FileArguments> = Some(FileArguments { content: "content", format: "format" });
    const MODE: Option<Mode> = Some(Mode::Long);
    const POSITIONAL: &'static [&'static str] = &["repository", "content"];
    const PREPARES: bool = true;
    const IS_UNBOUNDED: bool = true;

    fn prepare(&mut self, cx: &mut Cx<'_, '_>) -> Result<()> {
        if self.work.is_some() {
            return Ok(());
        }
        if std::mem::replace(&mut self.is_taken, true) {
            let message = "the connection to the database was lost while the push was read; try again";
            return Err(Error::new(ErrorKind::Unavailable, message));
        }
        let (repository, seen) = pushing::repository(cx, &self.repository)?;
        let (tests, hash): (Vec<PushedTest>, String) = match cx.upload.take() {
            Some(upload) => {
                let hash = upload.hash();
                (lines::read(upload.into_reader())?, hash)
            }
            None => {
                let content = std::mem::take(&mut self.content);
                (lines::read(content.as_bytes())?, blake3::hash(content.as_bytes()).to_hex().to_string())
            }
        };
        if tests.is_empty() {
            return Err(Error::field("content", "expected at least one test, found none"));
        }
        let references =
            tests.iter().flat_map(|test| &test.executes).map(|executed| executed.reference.as_str());
        let meant = pushing::meant(cx, &repository, &seen, references)?;
        self.work = Some(Mutex::new(self.plan(cx, repository, tests, hash, &meant)?));
        Ok(())
    }

    fn n_parts(&self) -> usize {
        self.work().map_or(0, |work| work.parts.len())
    }

    fn part(&self, cx: &mut Cx<'_, '_>, index: usize) -> Result<()> {
        let Some(mut work) = self.work() else { return Ok(()) };
        let some = |index: usize, at_once: usize, n: usize| index * at_once..((index + 1) * at_once).min(n);
        match work.parts.get(index).copied() {
            Some(Part::Tidy) => tidy::remove_slice(cx, &mut work.leftovers),
            Some(Part::Results(index)) => {
                run::begin(cx.tx, &work.run)?;
                let some = some(index, ROWS_AT_ONCE, work.results.len());
                run::add_results(cx.tx, &work.run, &work.results[some.clone()])?;
                Ok(run::add_executions(cx.tx, &work.executions[some].concat())?)
            }
            Some(Part::Look) => Ok(sizes::look(cx.tx, Grown::Thread)?),
            Some(Part::Complete) => complete(cx, &work),
            Some(Part::Count(index)) => {
                let some = some(index, counted::AT_ONCE, work.entities.len());
                counted::count(cx, &work.entities[some])
            }
            None => Ok(()),
        }
    }

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<EvidencePushed> {
        let Some(work) = self.work() else {
            return Err(Error::new(ErrorKind::InternalError, "the push was not read"));
        };
        snapshot::note_counted(cx.tx, &work.repository.id, &work.repository.main_ref, true)?;
        Ok(work.answer.clone())
    }
}

/// Makes the run visible, which is the only change in the history.
fn complete(cx: &mut Cx<'_, '_>, work: &Work) -> Result<()> {
    run::complete(cx.tx, &work.run.id)?;
    snapshot::note_counted(cx.tx, &work.repository.id, &work.repository.main_ref, false)?;
    let subject = Subject {
        project_id: work.repository.project_ids.first().map(String::as_str),
        kind: "repository",
        id: &work.repository.id,
        reference_id: None,
        version: work.repository.version,
    };
    let after = json!({
        "ref": work.run.ref_name,
        "commit": work.run.commit_id,
        "tool": work.run.tool,
        "n_tests": work.run.n_cases,
        "trust": work.run.trust,
    });
    cx.record(&subject, None, Some(&after))
}

impl PushEvidence {
    fn work(&self) -> Option<MutexGuard<'_, Work>> {
        let work = self.work.as_ref()?;
        Some(work.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn plan(
        &self,
        cx: &mut Cx<'_, '_>,
        repository: Repository,
        mut tests: Vec<PushedTest>,
        hash: String,
        meant: &Meant,
    ) -> Result<Work> {
        // Sorted as in the store, so that each part is written into one place.
        tests.sort_by_cached_key(|test| case_id(&repository.id, &test.path, &test.symbol));
        let is_same = |[one, other]: &&[PushedTest; 2]| one.path == other.path && one.symbol == other.symbol;
        if let Some([twice, _]) = tests.array_windows().find(is_same) {
            let message =
                format!("expected a line for each test, found two for {}::{}", twice.path, twice.symbol);
            return Err(Error::field("content", message));
        }
        let pusher = pushing::pusher(
            cx,
            &repository,
            self.ref_name.as_ref().map(Text::as_str),
            self.commit.as_ref().map(Text::as_str),
        )?;
        let exit_status = self.exit_status.map(|status| status.0);
        let described = json!([
            hash,
            pusher.ref_name,
            pusher.commit_id,
            pusher.trust,
            exit_status,
            self.incomplete,
            self.tool.as_str()
        ]);
        let digest = blake3::hash(described.to_string().as_bytes()).to_hex().to_string();
        // A run that was pushed before another one becomes the newest again.
        let newest = run::newest(cx.tx, &repository.id, &pusher.ref_name)?;
        let known = newest.filter(|newest| newest.digest == digest);
        let caller = cx.caller()?;
        let run = TestRun {
            id: known.as_ref().map_or_else(|| cx.new_id(), |known| known.id.clone()),
            repository_id: repository.id.clone(),
            ref_name: pusher.ref_name,
            commit_id: pusher.commit_id,
            digest,
            tool: (&self.tool).into(),
            trust: pusher.trust,
            exit_status,
            is_whole: !self.incomplete,
            n_cases: tests.len() as i64,
            actor_id: Some(caller.user_id.clone()),
            token_id: caller.token_id.clone(),
            created_at: cx.now(),
        };
        let mut outcomes = std::collections::BTreeMap::new();
        for test in &tests {
            *outcomes.entry(super::judge::name_of(test.outcome)).or_default() += 1;
        }
        let why_not = super::judge::why_run_is_open(&repository, &run);
        let answer = EvidencePushed {
            run: run.id.clone(),
            repository: repository.name.clone(),
            ref_name: run.ref_name.clone(),
            trust: run.trust.clone(),
            unchanged: known.is_some(),
            n_tests: run.n_cases,
            outcomes,
            closes: why_not.is_none(),
            why_not,
        };
        let executions: Vec<Vec<Execution>> =
            tests.iter().map(|test| executions(&repository, &run, test, meant)).collect();
        let results: Vec<NewResult> = tests
            .into_iter()
            .map(|test| NewResult {
                case_id: case_id(&repository.id, &test.path, &test.symbol),
                path: test.path,
                symbol: test.symbol,
                blob: test.blob,
                outcome: super::judge::name_of(test.outcome),
                n_attempts: i64::from(test.attempts),
                duration_ms: test.duration_ms.map(|duration| duration.min(i64::MAX as u64) as i64),
            })
            .collect();
        let entities = self.entities(cx, &repository, &results)?;
        let mut work = Work {
            parts: Vec::new(),
            leftovers: tidy::leftovers(cx, &repository)?,
            repository,
            run,
            results,
            executions,
            entities,
            answer,
            is_known: known.is_some(),
        };
        work.parts = work.planned();
        Ok(work)
    }

    /// The entities that the files of the run's tests cite at the head of the main ref.
    fn entities(
        &self,
        cx: &mut Cx<'_, '_>,
        repository: &Repository,
        results: &[NewResult],
    ) -> Result<Vec<String>> {
        let Some(head) = snapshot::head(cx.tx, &repository.id, &repository.main_ref)? else {
            return Ok(Vec::new());
        };
        let paths: BTreeSet<&str> = results.iter().map(|result| result.path.as_str()).collect();
        let paths: Vec<&str> = paths.into_iter().collect();
        let mut entities = BTreeSet::new();
        for some in paths.chunks(ROWS_AT_ONCE) {
            entities.extend(snapshot::cited_in(cx.tx, &head.id, some)?);
        }
        Ok(entities.into_iter().collect())
    }
}

pub(super) fn executions(
    repository: &Repository,
    run: &TestRun,
    test: &PushedTest,
    meant: &Meant,
) -> Vec<Execution> {
    let case_id = case_id(&repository.id, &test.path, &test.symbol);
    let known = test.executes.iter().filter_map(|executed| Some((executed, meant.id(&executed.reference)?)));
    known
        .map(|(executed, entity_id)| Execution {
            case_id: case_id.clone(),
            run_id: run.id.clone(),
            entity_id: entity_id.to_owned(),
            unit_hash: executed.unit.clone(),
            path: executed.path.clone(),
            blob: executed.blob.clone(),
            how: executed.how.clone(),
        })
        .collect()
}
