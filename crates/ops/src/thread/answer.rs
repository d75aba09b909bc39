//! The structure of a thread: requirements and criteria, their units, and what cites and tests each.

use evidence::Verdict;
use schemars::JsonSchema;
use serde::Serialize;
use store::entity;
use store::model::{Kind, Time};
use store::thread::manual::ManualEvidence;
use store::thread::snapshot::CitationKind;

use super::judge::{self, Cited, JudgedUnit, State};
use super::pushing;
use crate::operation::Output;
use crate::threat::state::ItemThreat;

/// The thread from a starting point.
#[derive(Serialize, JsonSchema)]
pub struct Thread {
    /// The starting point.
    pub(super) from: String,
    /// The epic or user story itself, if the thread starts there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) about: Option<Link>,
    /// Its parents, the epic first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) chain: Vec<Link>,
    /// The threats to the user story, if the thread starts there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) threats: Vec<ItemThreat>,
    /// The requirements and criteria on it.
    pub(super) data: Vec<ThreadItem>,
    /// Their number.
    pub(super) total_count: i64,
    /// How many of them are cited.
    pub(super) cited: i64,
    /// How many of them are closed by evidence.
    pub(super) verified: i64,
    /// The repositories, and their last pushes.
    pub(super) heads: Vec<pushing::Head>,
    /// Notes for the reader.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) note: Option<String>,
    /// The maximal number of items on this page.
    pub(super) limit: i64,
    /// The number of skipped items.
    pub(super) offset: i64,
    /// The start of the next page, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) next_cursor: Option<String>,
}

impl Output for Thread {}

/// A parent.
#[derive(Clone, Serialize, JsonSchema)]
pub(super) struct Link {
    /// The reference id.
    pub(super) reference_id: String,
    /// The kind.
    pub(super) kind: Kind,
    /// Its title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) title: Option<String>,
}

/// A requirement or a criterion on the thread.
#[derive(Serialize, JsonSchema)]
pub(super) struct ThreadItem {
    /// The reference id.
    pub(super) reference_id: String,
    /// The kind.
    pub(super) kind: Kind,
    /// Its title, or its text.
    pub(super) title: String,
    /// Its status.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) status: Option<String>,
    /// Its user story, if the thread starts at an epic; all parents, the epic first, if it starts in code.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) chain: Vec<Link>,
    /// Whether evidence closes all of its units.
    pub(super) verified: bool,
    /// Its units.
    pub(super) units: Vec<UnitThread>,
    /// Citations that do not quote the current text.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) outdated: Vec<CodePlace>,
    /// The threats to it, or that it is against, with their states.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) threats: Vec<ItemThreat>,
    /// How many more of both were left out because of the budget.
    #[serde(skip_serializing_if = "is_none")]
    pub(super) left_out: i64,
    /// Its position among all items.
    #[serde(skip)]
    pub(super) position: usize,
}

fn is_none(count: &i64) -> bool {
    *count == 0
}

/// A unit on the thread.
#[derive(Serialize, JsonSchema)]
pub(super) struct UnitThread {
    /// Its text.
    pub(super) text: String,
    /// Whether the starting point cites it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) asked: bool,
    /// The hash by which it is cited.
    pub(super) hash: String,
    /// Its verdict.
    pub(super) verdict: String,
    /// Whether that closes it.
    pub(super) closed: bool,
    /// Why it is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) why_open: Option<String>,
    /// The code that cites it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) code: Vec<CodePlace>,
    /// The tests that cite it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) tests: Vec<TestThread>,
    /// Evidence that people recorded.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) manual: Vec<ManualEvidence>,
    /// How many more places and records were left out because of the budget.
    #[serde(skip_serializing_if = "is_none")]
    pub(super) left_out: i64,
}

/// A place in the code that cites something.
#[derive(Serialize, JsonSchema)]
pub(super) struct CodePlace {
    /// The repository, if there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) repository: Option<String>,
    /// The file and the line: `src/kettle.rs:42`.
    pub(super) place: String,
    /// The function that contains it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) symbol: Option<String>,
    /// Its type, if it is not an implementation: `test`, `exception`, `todo` or `implication`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) kind: Option<CitationKind>,
    /// `suspect`, `stale`, `broken` or `gone`, if it does not quote the current text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) state: Option<&'static str>,
    /// The last version with the quoted text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) quoted_version: Option<i64>,
}

/// A test that cites something, and its run.
#[derive(Serialize, JsonSchema)]
pub(super) struct TestThread {
    /// The place of the test.
    #[serde(flatten)]
    pub(super) place: CodePlace,
    /// Its verdict.
    pub(super) verdict: String,
    /// Its result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) outcome: Option<String>,
    /// The number of attempts, if there were several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) attempts: Option<i64>,
    /// The run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) run: Option<RunThread>,
}

/// The run of a test.
#[derive(Serialize, JsonSchema)]
pub(super) struct RunThread {
    /// The tools that reported it.
    pub(super) tool: String,
    /// The commit that it ran on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) commit: Option<String>,
    /// The ref that it ran on.
    #[serde(rename = "ref")]
    pub(super) ref_name: String,
    /// The trust of the run.
    pub(super) trust: String,
    /// When it was pushed.
    pub(super) at: Time,
}

pub(super) fn links(above: Vec<entity::Ancestor>) -> Vec<Link> {
    let link = |above: entity::Ancestor| Link {
        reference_id: above.reference_id,
        kind: above.kind,
        title: above.title,
    };
    above.into_iter().map(link).collect()
}

pub(super) fn unit_thread(unit: JudgedUnit, asked: bool, names_repository: bool) -> UnitThread {
    let (tests, code): (Vec<&Cited>, Vec<&Cited>) =
        unit.cited.iter().partition(|cited| cited.citation.kind.is_test());
    UnitThread {
        verdict: judge::name_of(unit.verdict),
        closed: unit.closes,
        why_open: unit.why_open.clone(),
        code: code.into_iter().map(|cited| place(cited, names_repository)).collect(),
        tests: tests.into_iter().map(|cited| test(cited, names_repository)).collect(),
        text: unit.unit.text,
        asked,
        hash: unit.unit.hash,
        manual: unit.manual,
        left_out: 0,
    }
}

pub(super) fn place(cited: &Cited, names_repository: bool) -> CodePlace {
    let citation = &cited.citation;
    CodePlace {
        repository: names_repository.then(|| cited.repository.clone()),
        place: format!("{}:{}", citation.path, citation.line),
        symbol: citation.symbol.clone(),
        kind: Some(citation.kind).filter(|kind| *kind != CitationKind::Code),
        state: Some(cited.state.name()).filter(|_| cited.state != State::Current),
        quoted_version: match cited.state {
            State::Stale(version) => Some(version),
            State::Suspect => citation.pin,
            _ => None,
        },
    }
}

fn test(cited: &Cited, names_repository: bool) -> TestThread {
    let result = cited.result.as_ref();
    let mut place = place(cited, names_repository);
    place.kind = place.kind.filter(|kind| *kind != CitationKind::Test);
    TestThread {
        place,
        verdict: judge::name_of(cited.verdict.unwrap_or(Verdict::NotRun)),
        outcome: result.map(|result| result.outcome.clone()),
        attempts: result.map(|result| result.n_attempts).filter(|attempts| *attempts > 1),
        run: result.map(|result| RunThread {
            tool: result.run.tool.clone(),
            commit: result.run.commit_id.clone(),
            ref_name: result.run.ref_name.clone(),
            trust: result.run.trust.clone(),
            at: result.run.created_at,
        }),
    }
}
