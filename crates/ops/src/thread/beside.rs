//! The caller's checkout, if it is on the machine of the store: its current content replaces a push, so that
//! no push is needed.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use schemars::JsonSchema;
use serde::Serialize;
use store::model::Time;
use store::thread::repository::Repository;
use store::thread::run::{Execution, TestResult, TestRun};
use store::thread::snapshot::{Citation, Snapshot};
use trace::comment::StyleUse;

use super::judge::{self, Head};
use super::lines::{PushedFile, PushedTest, case_id};
use super::pushing::{self, Meant};
use super::{push_evidence, push_trace};
use crate::context::Cx;
use crate::error::Result;

/// The id of a repository that is not in the store.
const NOT_STORED: &str = "checkout";

/// Reads the caller's checkout.
pub type LookBeside = Arc<dyn Fn() -> Option<Arc<CheckoutBeside>> + Send + Sync>;

/// Checks the changes of a checkout since a base, by default the merge base; an error says why it cannot. Findings keep
/// `finish_work` from finishing.
pub type CheckChange = Box<dyn Fn(Option<&str>) -> Result<Vec<Finding>, String> + Send + Sync>;

/// A finding of the check of a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Finding {
    /// The rule, such as `stale-citation`.
    pub rule: String,
    /// The place: `src/kettle.rs:42`.
    pub place: String,
    /// The file that it is in.
    #[serde(skip)]
    pub path: String,
    /// The problem, and what to do.
    pub message: String,
}

/// The current content of a checkout.
pub struct CheckoutBeside {
    /// The name of its repository.
    pub repository: String,
    /// The key of its project.
    pub project: String,
    /// The least verdict that closes a unit, if the store does not know the repository.
    pub closes_at: String,
    /// The least trust in a run that closes anything, in the same case.
    pub trust_min: String,
    /// The refs whose runs close, in the same case; by default the ref that is checked out.
    pub closing_refs: Vec<String>,
    /// The ref that is checked out.
    pub ref_name: Option<String>,
    /// The commit that is checked out.
    pub commit: Option<String>,
    /// Whether files differ from that commit.
    pub is_dirty: bool,
    /// Its files, with their citations of requirements.
    pub files: Vec<PushedFile>,
    /// The comment styles of its files.
    pub styles: Vec<StyleUse>,
    /// Whether citations need the section of their target, for Duvet.
    pub cites_sections: bool,
    /// Checks its change since a base, if possible.
    pub check: Option<CheckChange>,
    /// The last test run, from its reports.
    pub run: Option<RunBeside>,
    /// Its citations resolved in the store, once requested.
    meaning: Mutex<Option<Arc<Rows>>>,
}

/// A test run whose reports are in a checkout.
pub struct RunBeside {
    /// The tools that wrote them.
    pub tool: String,
    /// Whether they report everything that ran.
    pub is_whole: bool,
    /// The tests that cite something and have run.
    pub tests: Vec<PushedTest>,
    /// When the newest report was written.
    pub at: Time,
}

impl fmt::Debug for CheckoutBeside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CheckoutBeside").field("repository", &self.repository).finish_non_exhaustive()
    }
}

/// The rows that a push would write, sorted by cited entity.
#[derive(Default)]
pub struct Rows {
    citations: Vec<Citation>,
    results: HashMap<String, TestResult>,
    executions: HashMap<String, Vec<Execution>>,
}

impl Rows {
    /// The citations of some entities.
    pub fn citations_of(&self, entity_ids: &[&str]) -> Vec<Citation> {
        let is_wanted = |citation: &&Citation| entity_ids.contains(&citation.entity_id.as_str());
        self.citations.iter().filter(is_wanted).cloned().collect()
    }

    /// The citations in a file.
    pub fn citations_in(&self, path: &str) -> Vec<Citation> {
        self.citations.iter().filter(|citation| citation.path == path).cloned().collect()
    }

    /// The cited entities after a given one, sorted by id.
    pub fn cited_after(&self, entity_id: &str, limit: i64) -> Vec<String> {
        let ids: BTreeSet<&str> = self.citations.iter().map(|citation| citation.entity_id.as_str()).collect();
        let after = ids.into_iter().filter(|id| *id > entity_id);
        after.take(limit.max(0) as usize).map(str::to_owned).collect()
    }

    /// The result of a test case, and what it executed.
    pub fn result_of(&self, case_id: &str) -> Option<(&TestResult, &[Execution])> {
        let executions = self.executions.get(case_id).map(Vec::as_slice).unwrap_or_default();
        self.results.get(case_id).map(|result| (result, executions))
    }
}

impl CheckoutBeside {
    /// A checkout without a test run.
    pub fn new(
        repository: String,
        project: String,
        closes_at: String,
        files: Vec<PushedFile>,
    ) -> CheckoutBeside {
        CheckoutBeside {
            repository,
            project,
            closes_at,
            trust_min: "local".to_owned(),
            closing_refs: Vec::new(),
            ref_name: None,
            commit: None,
            is_dirty: false,
            files,
            styles: Vec::new(),
            cites_sections: false,
            check: None,
            run: None,
            meaning: Mutex::default(),
        }
    }

    /// The head that it represents, with the stored data of its repository.
    pub(super) fn head(&self, cx: &mut Cx<'_, '_>, repository: Repository) -> Result<Head> {
        let rows = self.rows(cx, &repository)?;
        let snapshot = Snapshot {
            id: NOT_STORED.to_owned(),
            repository_id: repository.id.clone(),
            ref_name: self.ref_name(&repository),
            commit_id: self.commit.clone(),
            is_dirty: self.is_dirty,
            digest: String::new(),
            trust: "local".to_owned(),
            n_files: self.files.len() as i64,
            n_citations: rows.citations.len() as i64,
            actor_id: None,
            token_id: None,
            created_at: cx.now(),
        };
        Ok(Head { repository, snapshot, beside: Some(rows) })
    }

    fn ref_name(&self, repository: &Repository) -> String {
        self.ref_name.clone().unwrap_or_else(|| repository.main_ref.clone())
    }

    /// Its repository, if the store does not know it. Only runs in the checkout close anything of it.
    pub(super) fn unknown_repository(&self, project_id: &str) -> Repository {
        let never = Time::from_microseconds(0);
        Repository {
            id: NOT_STORED.to_owned(),
            name: self.repository.clone(),
            projects: vec![self.project.clone()],
            project_ids: vec![project_id.to_owned()],
            main_ref: self.ref_name.clone().unwrap_or_else(|| "refs/heads/main".to_owned()),
            closes_at: self.closes_at.clone(),
            trust_min: self.trust_min.clone(),
            closing_refs: self.closing_refs.clone(),
            issuer: None,
            external_id: None,
            version: 1,
            created_at: never,
            updated_at: never,
        }
    }

    fn rows(&self, cx: &mut Cx<'_, '_>, repository: &Repository) -> Result<Arc<Rows>> {
        let meaning = || self.meaning.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(rows) = meaning().as_ref() {
            return Ok(rows.clone());
        }
        let cited = self.files.iter().flat_map(|file| &file.citations).map(|cited| cited.reference.as_str());
        let meant = pushing::meant(cx, repository, &repository.project_ids, cited)?;
        let rows = Arc::new(self.read(repository, &meant));
        // Entities may be created while the checkout stays the same.
        if meant.unknown.is_empty() {
            *meaning() = Some(rows.clone());
        }
        Ok(rows)
    }

    fn read(&self, repository: &Repository, meant: &Meant) -> Rows {
        let citations =
            self.files.iter().flat_map(|file| push_trace::citations(repository, NOT_STORED, file, meant));
        let mut rows = Rows { citations: citations.collect(), ..Rows::default() };
        let Some(run) = &self.run else { return rows };
        let test_run = TestRun {
            id: NOT_STORED.to_owned(),
            repository_id: repository.id.clone(),
            ref_name: self.ref_name(repository),
            commit_id: self.commit.clone(),
            digest: String::new(),
            tool: run.tool.clone(),
            trust: "local".to_owned(),
            exit_status: None,
            is_whole: run.is_whole,
            n_cases: run.tests.len() as i64,
            actor_id: None,
            token_id: None,
            created_at: run.at,
        };
        for test in &run.tests {
            let case_id = case_id(&repository.id, &test.path, &test.symbol);
            let result = TestResult {
                case_id: case_id.clone(),
                blob: test.blob.clone(),
                outcome: judge::name_of(test.outcome),
                n_attempts: i64::from(test.attempts),
                run: test_run.clone(),
            };
            let executions = push_evidence::executions(repository, &test_run, test, meant);
            rows.executions.insert(case_id.clone(), executions);
            rows.results.insert(case_id, result);
        }
        rows
    }
}
