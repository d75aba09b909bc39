//! Derives the verdict of each unit of a text from citations, test results and the policy of a repository. Every answer about
//! the thread, and
//! every number in a report, comes from here.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use evidence::{ClosesAt, Policy, Provenance, Trust, Verdict};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use store::model::{Kind, Time};
use store::revision;
use store::status::StatusOutcome;
use store::thread::manual::{self, ManualEvidence};
use store::thread::repository::{self, Repository};
use store::thread::run::{self, Execution, TestResult, TestRun};
use store::thread::snapshot::{self, Citation, CitationKind, Snapshot};
use store::thread::text::CitableText;
use trace::managed::{Granularity, Unit, text_of, units};

use super::beside::Rows;
use super::stale;
use crate::context::Cx;
use crate::error::Result;

/// How many earlier versions are searched for a quote.
const VERSIONS_MAX: i64 = 200;

/// A repository and the snapshot of its code.
pub struct Head {
    /// The repository.
    pub repository: Repository,
    /// The snapshot.
    pub snapshot: Snapshot,
    /// Its content, if it is the caller's checkout.
    pub beside: Option<Arc<Rows>>,
}

impl Head {
    /// The citations of some entities.
    pub fn citations_of(&self, cx: &mut Cx<'_, '_>, entity_ids: &[&str]) -> Result<Vec<Citation>> {
        match &self.beside {
            Some(rows) => Ok(rows.citations_of(entity_ids)),
            None => Ok(snapshot::citations_of(cx.tx, &self.snapshot.id, entity_ids)?),
        }
    }

    /// The citations in a file.
    pub fn citations_in(&self, cx: &mut Cx<'_, '_>, path: &str) -> Result<Vec<Citation>> {
        match &self.beside {
            Some(rows) => Ok(rows.citations_in(path)),
            None => Ok(snapshot::citations_in(cx.tx, &self.snapshot.id, path)?),
        }
    }

    /// The ids of the entities that are cited, in their order, after one of them.
    pub fn cited_after(&self, cx: &mut Cx<'_, '_>, entity_id: &str, limit: i64) -> Result<Vec<String>> {
        match &self.beside {
            Some(rows) => Ok(rows.cited_after(entity_id, limit)),
            None => Ok(snapshot::cited_after(cx.tx, &self.snapshot.id, entity_id, limit)?),
        }
    }
}

/// The heads that may cite requirements of a project: those of the main refs, or of the requested ref. The caller's
/// checkout replaces the head of its repository, unless a ref is requested.
pub fn heads(cx: &mut Cx<'_, '_>, project_id: &str, ref_name: Option<&str>) -> Result<Vec<Head>> {
    let mut heads = Vec::new();
    let mut beside = cx.request.checkout.clone().filter(|_| ref_name.is_none());
    if let Some(checkout) = &beside {
        let project = store::project::find(cx.tx, &checkout.project)?;
        beside = beside.filter(|_| project.is_some_and(|project| project.id == project_id));
    }
    for repository in repository::of_project(cx.tx, project_id)? {
        if let Some(checkout) = beside.take_if(|checkout| checkout.repository == repository.name) {
            heads.push(checkout.head(cx, repository)?);
            continue;
        }
        let wanted = ref_name.unwrap_or(&repository.main_ref);
        if let Some(snapshot) = snapshot_of(cx, &repository.id, wanted)? {
            heads.push(Head { repository, snapshot, beside: None });
        }
    }
    if let Some(checkout) = beside {
        let repository = checkout.unknown_repository(project_id);
        heads.push(checkout.head(cx, repository)?);
    }
    Ok(heads)
}

/// The snapshot of a ref, whose name may lack `refs/heads/` or `refs/tags/`.
pub fn snapshot_of(cx: &mut Cx<'_, '_>, repository_id: &str, ref_name: &str) -> Result<Option<Snapshot>> {
    for prefix in ["", "refs/heads/", "refs/tags/"] {
        let found = snapshot::head(cx.tx, repository_id, &format!("{prefix}{ref_name}"))?;
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

/// A text, and its judged units.
pub struct Judged {
    /// The text.
    pub text: CitableText,
    /// Its units, in order.
    pub units: Vec<JudgedUnit>,
    /// Citations that quote none of them.
    pub outdated: Vec<Cited>,
}

impl Judged {
    /// How many units meet a condition.
    pub fn count(&self, is_wanted: impl Fn(&JudgedUnit) -> bool) -> i64 {
        self.units.iter().filter(|unit| is_wanted(unit)).count() as i64
    }

    /// Whether evidence closes all of it.
    pub fn is_verified(&self) -> bool {
        !self.units.is_empty() && self.units.iter().all(|unit| unit.closes)
    }

    /// Whether anything cites it.
    pub fn is_cited(&self) -> bool {
        !self.outdated.is_empty() || self.units.iter().any(|unit| !unit.cited.is_empty())
    }
}

/// A unit, and what is known about it.
pub struct JudgedUnit {
    /// The unit.
    pub unit: Unit,
    /// What cites it.
    pub cited: Vec<Cited>,
    /// Evidence that people recorded.
    pub manual: Vec<ManualEvidence>,
    /// Its verdict.
    pub verdict: Verdict,
    /// Whether that closes it.
    pub closes: bool,
    /// Why it is open.
    pub why_open: Option<String>,
}

impl JudgedUnit {
    /// Whether something of a kind cites it.
    pub fn has(&self, kind: CitationKind) -> bool {
        self.cited.iter().any(|cited| cited.citation.kind == kind && covers(&cited.citation))
    }
}

/// A citation, and the test that contains it.
#[derive(Clone)]
pub struct Cited {
    /// The repository's name.
    pub repository: String,
    /// The citation.
    pub citation: Citation,
    /// Whether it quotes the current text.
    pub state: State,
    /// The verdict of its test.
    pub verdict: Option<Verdict>,
    /// The result of that test, and its run.
    pub result: Option<TestResult>,
}

/// Whether a citation quotes the current text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It does.
    Current,
    /// It pins a version whose text has changed since.
    Suspect,
    /// It quotes an earlier text, of this version.
    Stale(i64),
    /// It quotes no version of the text.
    Broken,
    /// The cited entity was deleted or is obsolete.
    Gone,
}

impl State {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            State::Current => "current",
            State::Suspect => "suspect",
            State::Stale(_) => "stale",
            State::Broken => "broken",
            State::Gone => "gone",
        }
    }
}

/// Judges texts of one project.
pub fn judge(cx: &mut Cx<'_, '_>, heads: &[Head], texts: Vec<CitableText>) -> Result<Vec<Judged>> {
    let ids: Vec<&str> = texts.iter().map(|text| text.id.as_str()).collect();
    let mut cited: Vec<(usize, Citation)> = Vec::new();
    for (index, head) in heads.iter().enumerate() {
        let found = head.citations_of(cx, &ids)?;
        cited.extend(found.into_iter().map(|citation| (index, citation)));
    }
    let cases: HashSet<&str> = cited.iter().filter_map(|(_, citation)| citation.case_id.as_deref()).collect();
    let cases: Vec<&str> = cases.into_iter().collect();
    let (results, executions) = if cases.is_empty() {
        (Vec::new(), Vec::new())
    } else {
        (run::results_of(cx.tx, &cases)?, run::executions_of(cx.tx, &cases, &ids)?)
    };
    let mut manual_of: HashMap<String, Vec<ManualEvidence>> = HashMap::new();
    for tried in manual::of_entities(cx.tx, &ids)? {
        manual_of.entry(tried.entity_id.clone()).or_default().push(tried);
    }
    let mut ran = Ran::default();
    // A run in the checkout is newer than pushed ones.
    for rows in heads.iter().filter_map(|head| head.beside.as_ref()) {
        for (result, executions) in cases.iter().filter_map(|case_id| rows.result_of(case_id)) {
            let key = (result.case_id.clone(), result.run.id.clone());
            ran.executions.insert(key, executions.to_vec());
            ran.results.insert(result.case_id.clone(), vec![result.clone()]);
        }
    }
    for result in results {
        ran.results.entry(result.case_id.clone()).or_default().push(result);
    }
    for execution in executions {
        let key = (execution.case_id.clone(), execution.run_id.clone());
        ran.executions.entry(key).or_default().push(execution);
    }
    let mut cited_of: HashMap<String, Vec<(usize, Citation)>> = HashMap::new();
    for (index, citation) in cited {
        cited_of.entry(citation.entity_id.clone()).or_default().push((index, citation));
    }
    let mut judged = Vec::with_capacity(texts.len());
    for text in texts {
        let cited = cited_of.remove(&text.id).unwrap_or_default();
        let manual = manual_of.remove(&text.id).unwrap_or_default();
        judged.push(judge_one(cx, heads, text, cited, manual, &ran)?);
    }
    Ok(judged)
}

/// The results of tests by case, newest first.
#[derive(Default)]
struct Ran {
    results: HashMap<String, Vec<TestResult>>,
    executions: HashMap<(String, String), Vec<Execution>>,
}

/// The units of a text.
pub fn units_of(text: &CitableText) -> Vec<Unit> {
    units(text_of(&text.title, &text.description), granularity(text.kind))
}

/// How a text of a kind is split into units.
pub fn granularity(kind: Kind) -> Granularity {
    if kind == Kind::AcceptanceCriteria { Granularity::Whole } else { Granularity::Sentences }
}

fn judge_one(
    cx: &mut Cx<'_, '_>,
    heads: &[Head],
    text: CitableText,
    cited: Vec<(usize, Citation)>,
    manual: Vec<ManualEvidence>,
    ran: &Ran,
) -> Result<Judged> {
    let units = units_of(&text);
    let hashes: HashSet<&str> = units.iter().map(|unit| unit.hash.as_str()).collect();
    let is_over = matches!(text.outcome, Some(StatusOutcome::Cancelled | StatusOutcome::Obsolete));
    let is_gone = text.is_deleted || is_over;
    let mut outdated = Vec::new();
    let mut current: Vec<(usize, Citation)> = Vec::new();
    for (index, citation) in cited {
        // There may be no such version.
        let has_version = citation.pin.is_none_or(|pin| (1..=text.version).contains(&pin));
        let is_known =
            has_version && (citation.unit_hash.is_empty() || hashes.contains(citation.unit_hash.as_str()));
        if is_known && !is_gone {
            current.push((index, citation));
            continue;
        }
        let state = match (is_gone, has_version) {
            (true, _) => State::Gone,
            (false, true) => earlier(cx, &text, &citation.unit_hash)?,
            (false, false) => State::Broken,
        };
        let repository = heads[index].repository.name.clone();
        outdated.push(Cited { repository, citation, state, verdict: None, result: None });
    }
    let said = match current.iter().any(|(_, citation)| is_link(citation)) {
        true => said_until(cx, &text)?,
        false => Vec::new(),
    };
    let mut units: Vec<JudgedUnit> = units
        .into_iter()
        .map(|unit| {
            let is_of_unit = |hash: &str| hash.is_empty() || hash == unit.hash;
            let of_unit: Vec<&(usize, Citation)> =
                current.iter().filter(|(_, citation)| is_of_unit(&citation.unit_hash)).collect();
            let tried = manual.iter().filter(|tried| tried.unit_hash == unit.hash).cloned().collect();
            judge_unit(heads, &text, unit, &of_unit, tried, (ran, &said))
        })
        .collect();
    for cited in &outdated {
        let has_run = cited.citation.case_id.as_ref().is_some_and(|id| ran.results.contains_key(id));
        if !has_run {
            continue;
        }
        let Some(now) = stale::successor(cx, &text, cited)? else { continue };
        for unit in units.iter_mut().filter(|unit| unit.verdict == Verdict::NotRun && unit.unit.text == now) {
            unit.verdict = Verdict::Old;
            unit.why_open = Some("its text has changed since its test ran".to_owned());
        }
    }
    Ok(Judged { text, units, outdated })
}

fn judge_unit(
    heads: &[Head],
    text: &CitableText,
    unit: Unit,
    of_unit: &[&(usize, Citation)],
    manual: Vec<ManualEvidence>,
    (ran, said): (&Ran, &[Said]),
) -> JudgedUnit {
    let mut cited = Vec::with_capacity(of_unit.len());
    let mut best: Option<(Verdict, Result<(), String>)> = None;
    for (index, citation) in of_unit {
        let Head { repository, snapshot, .. } = &heads[*index];
        let is_before = citation.pin.is_some_and(|pin| pin < text.content_version);
        let state = if is_before { State::Suspect } else { State::Current };
        // A quote says that its sentence has not changed.
        let is_suspect = is_before && citation.unit_hash.is_empty();
        let mut found = Cited {
            repository: repository.name.clone(),
            citation: citation.clone(),
            state,
            verdict: None,
            result: None,
        };
        if citation.kind.is_test() && covers(citation) {
            let code: Vec<&Citation> = of_unit
                .iter()
                .filter(|(other, cited)| other == index && cited.kind == CitationKind::Code && covers(cited))
                .map(|(_, cited)| cited)
                .collect();
            let (mut verdict, result) = tested(repository, citation, &unit, &code, ran);
            let is_other = |result: &TestResult| !had(said, result.run.created_at, &unit.hash);
            if is_link(citation) && result.as_ref().is_some_and(is_other) {
                verdict = Verdict::Old;
            }
            let closing = match (&result, is_suspect) {
                (_, true) => {
                    Err(format!("pins version {}, whose text has changed", citation.pin.unwrap_or_default()))
                }
                (Some(result), _) => {
                    closes(repository, verdict, &result.run).and_then(|()| trusted(repository, snapshot))
                }
                (None, _) => Err("its test has not run".to_owned()),
            };
            let is_better =
                |(before, why): &(Verdict, Result<(), String>)| rank(verdict, &closing) > rank(*before, why);
            if best.as_ref().is_none_or(is_better) {
                best = Some((verdict, closing));
            }
            (found.verdict, found.result) = (Some(verdict), result);
        }
        cited.push(found);
    }
    let tried = manual.first();
    // Recorded evidence has at most the trust of a token.
    let by_hand = match heads.iter().any(|head| policy(&head.repository).trust > Trust::Token) {
        true => {
            Err("it was tried by hand, and the policy of the repository asks for runs of its CI".to_owned())
        }
        false => Ok(()),
    };
    let (verdict, closing) = match (best, tried) {
        (_, Some(tried)) if tried.outcome == "failed" => {
            (Verdict::Failed, Err(format!("failed when {} tried it", tried.actor)))
        }
        (Some((verdict @ (Verdict::Failed | Verdict::Flaky), why)), _) => (verdict, why),
        (Some((verdict, Ok(()))), Some(_)) => (verdict, Ok(())),
        (Some((verdict, _)), Some(_)) => (verdict.max(Verdict::Passed), by_hand),
        (None, Some(_)) => (Verdict::Passed, by_hand),
        (Some((verdict, closing)), None) => (verdict, closing),
        (None, None) => (Verdict::NotRun, Err(missing(&cited))),
    };
    let why_open = closing.err();
    JudgedUnit { unit, cited, manual, verdict, closes: why_open.is_none(), why_open }
}

/// Of several tests of a unit, the one that decides: failed before flaky, then passed and closing, then passed.
fn rank(verdict: Verdict, closing: &Result<(), String>) -> (u8, bool, Verdict) {
    let first = match verdict {
        Verdict::Failed => 5,
        Verdict::Flaky => 4,
        Verdict::Passed | Verdict::Witnessed | Verdict::Proven => 3,
        Verdict::Old => 2,
        Verdict::Skipped => 1,
        Verdict::NotRun => 0,
    };
    (first, closing.is_ok(), verdict)
}

/// Whether a citation covers anything: without a quote and a version it only names the requirement.
fn covers(citation: &Citation) -> bool {
    !citation.unit_hash.is_empty() || citation.pin.is_some() || citation.kind == CitationKind::Verifies
}

/// Whether only a report links a test, to the text that was current when the test ran.
fn is_link(citation: &Citation) -> bool {
    citation.kind == CitationKind::Verifies && citation.pin.is_none()
}

/// The hashes of the units of an earlier text, and until when it was current.
struct Said {
    until: Time,
    hashes: HashSet<String>,
}

/// The earlier texts, newest first.
fn said_until(cx: &mut Cx<'_, '_>, text: &CitableText) -> Result<Vec<Said>> {
    let mut said = Vec::new();
    for (last, title, description) in earlier_texts(cx, text)? {
        let Some(until) = revision::time_of(cx.tx, &text.id, last + 1)? else { continue };
        let units = units(text_of(&title, &description), granularity(text.kind));
        said.push(Said { until, hashes: units.into_iter().map(|unit| unit.hash).collect() });
    }
    Ok(said)
}

/// Whether the text had one of its current units at a time.
fn had(said: &[Said], at: Time, hash: &str) -> bool {
    said.iter().take_while(|said| said.until > at).last().is_none_or(|then| then.hashes.contains(hash))
}

/// The reason for a unit without a test.
fn missing(cited: &[Cited]) -> String {
    let has = |kind| cited.iter().any(|cited: &Cited| cited.citation.kind == kind && covers(&cited.citation));
    let bare = |cited: &&Cited| !covers(&cited.citation);
    let bare_test = cited.iter().filter(|cited| cited.citation.kind.is_test()).find(bare);
    let only_bare = cited.iter().find(bare).filter(|_| cited.iter().all(|cited| bare(&cited)));
    if let Some(Cited { citation, .. }) = bare_test.or(only_bare) {
        let Citation { path, line, .. } = citation;
        return format!("{path}:{line} quotes nothing and pins no version, and so covers nothing");
    }
    let what = if has(CitationKind::Code) {
        "no test cites it"
    } else if has(CitationKind::Implication) {
        "the code says that it follows from how it is built, which nothing has shown"
    } else if has(CitationKind::Exception) {
        "the code says that it is left out on purpose"
    } else if has(CitationKind::Todo) {
        "the code says that it is still to be done"
    } else {
        "nothing cites it"
    };
    what.to_owned()
}

/// The verdict of a test for a unit. Results for other contents of its file, or of the code, are old.
fn tested(
    repository: &Repository,
    test: &Citation,
    unit: &Unit,
    code: &[&Citation],
    ran: &Ran,
) -> (Verdict, Option<TestResult>) {
    let Some(results) = test.case_id.as_ref().and_then(|case_id| ran.results.get(case_id)) else {
        return (Verdict::NotRun, None);
    };
    let judged = results.iter().filter(|result| result.blob == test.blob).map(|result| {
        let key = (result.case_id.clone(), result.run.id.clone());
        let executed = ran.executions.get(&key).map(Vec::as_slice).unwrap_or_default();
        let outcome: evidence::Outcome = named(&result.outcome).unwrap_or_default();
        let verdict = match Verdict::from(outcome) {
            Verdict::Passed => passed(test, unit, code, executed),
            _ if is_of_other_code(code, executed) => Verdict::Old,
            verdict => verdict,
        };
        (verdict, result)
    });
    let judged: Vec<(Verdict, &TestResult)> = judged.collect();
    // Of the runs with this content the newest one that may close counts, then the newest one. A failure counts even
    // if its run is incomplete.
    let of_content = || judged.iter().filter(|(verdict, _)| *verdict != Verdict::Old);
    let counts = |(verdict, result): &&(Verdict, &TestResult)| {
        let is_whole = result.run.is_whole || matches!(verdict, Verdict::Failed | Verdict::Flaky);
        closes_if(repository, Verdict::Proven, &result.run, is_whole).is_ok()
    };
    let found = of_content().find(counts).or_else(|| of_content().next());
    match found.or(judged.first()) {
        Some((verdict, result)) => (*verdict, Some((*result).clone())),
        None => (Verdict::Old, results.first().cloned()),
    }
}

/// Whether a run had other contents of the code, so that what it executed is outdated.
fn is_of_other_code(code: &[&Citation], executed: &[Execution]) -> bool {
    code.iter().any(|cited| {
        let mut of_file = executed.iter().filter(|executed| executed.path == cited.path).peekable();
        of_file.peek().is_some() && of_file.all(|executed| executed.blob != cited.blob)
    })
}

/// The verdict of a passed test, by what it executed of the code that cites the same unit.
fn passed(test: &Citation, unit: &Unit, code: &[&Citation], executed: &[Execution]) -> Verdict {
    let of_unit = || {
        executed.iter().filter(|executed| {
            executed.entity_id == test.entity_id
                && (executed.unit_hash.is_empty() || executed.unit_hash == unit.hash)
        })
    };
    let mut verdict = Verdict::Passed;
    for cited in code {
        let mut rows = of_unit().filter(|executed| executed.path == cited.path);
        let Some(row) = rows.find(|executed| executed.blob == cited.blob) else { return Verdict::Old };
        verdict = verdict.max(match row.how.as_str() {
            "proven" => Verdict::Proven,
            "witnessed" => Verdict::Witnessed,
            _ => Verdict::Passed,
        });
    }
    verdict
}

fn closes(repository: &Repository, verdict: Verdict, run: &TestRun) -> Result<(), String> {
    closes_if(repository, verdict, run, run.is_whole)
}

fn closes_if(repository: &Repository, verdict: Verdict, run: &TestRun, is_whole: bool) -> Result<(), String> {
    let trust: Trust = named(&run.trust).unwrap_or(Trust::Unverified);
    let incomplete = (!is_whole).then_some("not everything that ran was reported");
    let provenance = Provenance { trust, reference: Some(&run.ref_name), incomplete };
    policy(repository).closes(verdict, &provenance).map_err(|open| open.to_string())
}

/// Checks that a push of citations has the trust required of a run: with other citations, its results would close
/// something else.
fn trusted(repository: &Repository, snapshot: &Snapshot) -> Result<(), String> {
    let (needed, found) = (policy(repository).trust, named(&snapshot.trust).unwrap_or(Trust::Unverified));
    if found >= needed {
        return Ok(());
    }
    Err(format!("its citations were pushed with trust {}, expected {}", name_of(found), name_of(needed)))
}

/// Why a run closes nothing, if so.
pub fn why_run_is_open(repository: &Repository, run: &TestRun) -> Option<String> {
    closes(repository, Verdict::Proven, run).err()
}

/// What closes a unit in a repository.
pub fn policy(repository: &Repository) -> Policy {
    let refs = match repository.closing_refs.is_empty() {
        true => vec![repository.main_ref.clone()],
        false => repository.closing_refs.clone(),
    };
    let closes_at: ClosesAt = named(&repository.closes_at).unwrap_or(ClosesAt::Proven);
    Policy { closes_at, trust: named(&repository.trust_min).unwrap_or(Trust::Oidc), refs }
}

/// Finds the version whose text had a unit.
fn earlier(cx: &mut Cx<'_, '_>, text: &CitableText, unit_hash: &str) -> Result<State> {
    let found = earlier_texts(cx, text)?.into_iter().find(|(_, title, description)| {
        let units = units(text_of(title, description), granularity(text.kind));
        units.iter().any(|unit| unit.hash == unit_hash)
    });
    Ok(found.map_or(State::Broken, |(version, _, _)| State::Stale(version)))
}

/// The earlier titles and descriptions, each with its last version, newest first.
pub fn earlier_texts(cx: &mut Cx<'_, '_>, text: &CitableText) -> Result<Vec<(i64, String, String)>> {
    let mut found = Vec::new();
    let (mut title, mut description) = (text.title.clone(), text.description.clone());
    revision::each_after(cx.tx, &text.id, 1, VERSIONS_MAX, |version, changes| {
        let changes: serde_json::Map<String, Value> = serde_json::from_str(changes).unwrap_or_default();
        let mut has_changed = false;
        for (name, text) in [("title", &mut title), ("description", &mut description)] {
            if let Some(before) = changes.get(name).and_then(|pair| pair.get(0)) {
                before.as_str().unwrap_or_default().clone_into(text);
                has_changed = true;
            }
        }
        if has_changed {
            found.push((version - 1, title.clone(), description.clone()));
        }
    })?;
    Ok(found)
}

/// A value by its name in the store.
pub fn named<T: DeserializeOwned>(name: &str) -> Option<T> {
    serde_json::from_value(Value::String(name.to_owned())).ok()
}

/// The name of a value in the store.
pub fn name_of(value: impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(name)) => name,
        _ => String::new(),
    }
}
