//! The verdicts of requirements before and after a change of a checkout, for the gate.

use std::collections::{HashMap, HashSet};

use evidence::Verdict;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::model::Time;
use store::thread::repository::{self, Repository};
use store::thread::snapshot::CitationKind;
use store::thread::text::{self, CitableText};

use super::beside::{CheckoutBeside, RunBeside};
use super::judge::{self, Judged, JudgedUnit};
use super::lines::{PushedFile, PushedTest};
use crate::context::Cx;
use crate::error::{Error, Result};
use crate::input::{Id, Text};
use crate::operation::{Command, Effect, Operation, Output, Route, command, post};
use crate::threat::state::{self as threat_state, ItemThreat, ThreatState};
use crate::work::lease::LeaseName;
use crate::work::packet::Demands;

/// Requirements in one call.
const REFERENCES_MAX: usize = 500;
/// Files and tests of one side.
const LINES_MAX: usize = 100_000;
/// The default policy.
const CLOSES_AT: &str = "witnessed";

/// Judge the evidence for requirements, and the threats to them, before and after a change of a checkout.
///
/// `spexus check` calls this. The content is JSON: `{"before": SIDE, "after": SIDE}`, where a side has `files` and `tests` as
/// `spexus push` writes them, and for tests `tool`, `is_whole` and `at`. Nothing of it is stored. Pushed results count on the
/// side with the same contents of their files. Each unit is judged by the verdict that the repository's policy requires; refs
/// and trust
/// matter only for closing a requirement, which a change does not do.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JudgeChange {
    /// The project: a key or an id; default: the default project.
    project: Option<Text<1, 64>>,
    /// The repository's name, so that its pushes count.
    repository: Option<Text<1, 200>>,
    /// Reference ids, such as `REQ-012`; 500 at most.
    references: Vec<Id>,
    /// The verdict that closes a unit, if the store does not know the repository: `passed`, `witnessed` or `proven`.
    closes_at: Option<Text<1, 20>>,
    /// The lease that the change is for, such as `REQ-012.3`, which must be yours: what it has to show is judged as well.
    lease: Option<LeaseName>,
    /// Both sides, as JSON.
    content: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Sides {
    before: SideOfChange,
    after: SideOfChange,
}

/// A side of a change, as sent by the caller.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SideOfChange {
    /// The files with citations.
    pub files: Vec<PushedFile>,
    /// The tests that cite something and have run; absent if no tests have run.
    pub tests: Option<Vec<PushedTest>>,
    /// The tools that reported them.
    pub tool: String,
    /// Whether they report everything that ran.
    pub is_whole: bool,
    /// When they were reported, in microseconds since 1970.
    pub at: i64,
}

/// The verdicts of both sides.
#[derive(Serialize, JsonSchema)]
pub struct ChangeJudged {
    /// Whether the store knows the repository.
    knows_repository: bool,
    /// The verdict that closes a unit.
    closes_at: String,
    /// The units, in the order of the references.
    units: Vec<UnitOfChange>,
    /// The threats that are open after the change.
    threats: Vec<ThreatOfChange>,
}

/// An open threat to something that was asked about, or that this is against.
#[derive(Serialize, JsonSchema)]
struct ThreatOfChange {
    /// What was asked about.
    reference_id: String,
    /// What is threatened.
    threatens: String,
    /// The id of the pattern.
    pattern: String,
    /// Its name.
    name: String,
    /// `critical`, `high`, `medium` or `low`.
    severity: String,
    /// Whether somebody has decided about it.
    decided: bool,
    /// Whether it applies, so that evidence would close it.
    applies: bool,
    /// Why it is open, where there is more to say than that nobody has decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    why_open: Option<String>,
    /// Whether it was as open before the change, for something that was cited.
    was_open: bool,
}

/// A unit, and its verdicts.
#[derive(Serialize, JsonSchema)]
struct UnitOfChange {
    /// The requirement.
    reference_id: String,
    /// The hash of its text.
    unit: String,
    /// Its text.
    text: String,
    /// Whether the work of the lease is done only once it is closed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    demanded: bool,
    /// Before the change.
    before: Judgement,
    /// After it.
    after: Judgement,
}

/// The verdict of a unit on one side.
#[derive(Serialize, JsonSchema)]
struct Judgement {
    /// Whether code or tests cite it.
    cited: bool,
    /// Whether there is a run of its tests.
    ran: bool,
    /// The verdict: `not_run`, `old`, `skipped`, `failed`, `flaky`, `passed`, `witnessed` or `proven`.
    verdict: String,
    /// Whether the verdict meets the policy.
    closes: bool,
    /// Why it does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    why_open: Option<String>,
    /// The tests that cite it, with their results: `tests/a.rs:12 switches_off failed`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tests: Vec<String>,
}

impl Output for ChangeJudged {}

impl Operation for JudgeChange {
    type Output = ChangeJudged;
    const NAME: &'static str = "judge_change";
    const COMMANDS: &'static [Command] = &[command("change judge")];
    const ROUTES: &'static [Route] = &[post("/changes/judge")];
    const EFFECT: Effect = Effect::Reads;

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<ChangeJudged> {
        if self.references.len() > REFERENCES_MAX {
            let found = self.references.len();
            let message = format!("expected at most {REFERENCES_MAX} references, found {found}");
            return Err(Error::field("references", message));
        }
        let sides: Sides = serde_json::from_str(&self.content)
            .map_err(|error| Error::field("content", error.to_string()))?;
        for (name, side) in [("before", &sides.before), ("after", &sides.after)] {
            let found = side.files.len().max(side.tests.as_ref().map_or(0, Vec::len));
            if found > LINES_MAX {
                let message = format!("{name}: expected at most {LINES_MAX} files and tests, found {found}");
                return Err(Error::field("content", message));
            }
        }
        let project = cx.project("project", self.project.as_ref().map(Text::as_str))?;
        let name = self.repository.as_ref().map_or("this checkout", Text::as_str);
        let known = repository::of_project(cx.tx, &project.id)?.into_iter().find(|known| known.name == name);
        let knows_repository = known.is_some();
        let closes_at = match &known {
            Some(known) => known.closes_at.clone(),
            None => closes_at(self.closes_at.as_ref().map_or(CLOSES_AT, Text::as_str))?,
        };
        let mut ids = Vec::with_capacity(self.references.len());
        for reference in &self.references {
            let found = cx.find_entity(&reference.0)?.filter(|found| found.project_id == project.id);
            ids.extend(found.map(|found| found.id));
        }
        let demanded = self.demanded(cx, &project.id)?;
        ids.extend(demanded.iter().filter(|id| !ids.contains(id)).cloned().collect::<Vec<_>>());
        let some: Vec<&str> = ids.iter().map(String::as_str).collect();
        let texts = text::of_ids(cx.tx, &some)?;
        let mut judged = [Vec::new(), Vec::new()];
        let mut threats = [Vec::new(), Vec::new()];
        let sides = [sides.before, sides.after].into_iter();
        for ((side, judged), threats) in sides.zip(&mut judged).zip(&mut threats) {
            let beside = side.beside(name, &project.key, &closes_at);
            let repository = known.clone().unwrap_or_else(|| beside.unknown_repository(&project.id));
            // Refs and trust decide what closes a requirement, not what a change made worse.
            let repository = Repository {
                trust_min: "local".to_owned(),
                closing_refs: vec!["*".to_owned()],
                ..repository
            };
            let head = beside.head(cx, repository)?;
            let heads = [head];
            *judged = judge::judge(cx, &heads, texts.clone())?;
            *threats = threat_state::of_texts(cx, &heads, &texts)?;
        }
        let [before, after] = judged;
        let threats = open_threats(&texts, &before, threats);
        let units = units(&texts, &before, &after, &demanded);
        Ok(ChangeJudged { knows_repository, closes_at, units, threats })
    }
}

impl JudgeChange {
    /// The ids of what the work of the lease has to show.
    fn demanded(&self, cx: &mut Cx<'_, '_>, project_id: &str) -> Result<HashSet<String>> {
        let Some(lease) = &self.lease else { return Ok(HashSet::new()) };
        let taken = lease.find_own(cx)?;
        if taken.entity.project_id != project_id {
            let message = format!("{} is in the project {}", taken.entity.reference_id, taken.entity.project);
            return Err(Error::field("lease", message));
        }
        Ok(Demands::ids(&taken.entity).into_iter().map(str::to_owned).collect())
    }
}

/// The threats that are open after a change. Before it, those mattered of what something cited, or that criteria were against.
fn open_threats(
    texts: &[CitableText],
    before: &[Judged],
    [threats_before, threats_after]: [Vec<Vec<ItemThreat>>; 2],
) -> Vec<ThreatOfChange> {
    let cited: HashSet<&str> =
        before.iter().filter(|judged| judged.is_cited()).map(|judged| judged.text.id.as_str()).collect();
    let mut found = Vec::new();
    for ((text, before), after) in texts.iter().zip(threats_before).zip(threats_after) {
        for threat in after.into_iter().filter(ItemThreat::is_open) {
            let is_it = |before: &&ItemThreat| {
                before.pattern == threat.pattern && before.threatens == threat.threatens
            };
            let was_open = before.iter().find(is_it).is_some_and(ItemThreat::is_open);
            let mattered = threat.threatens.is_some() || cited.contains(text.id.as_str());
            found.push(ThreatOfChange {
                reference_id: text.reference_id.clone(),
                decided: threat.decision.is_some() || threat.threatens.is_some(),
                applies: threat.state == ThreatState::Applies,
                threatens: threat.threatens.unwrap_or_else(|| text.reference_id.clone()),
                pattern: threat.pattern,
                name: threat.name,
                severity: threat.severity,
                why_open: threat.why_open,
                was_open: was_open && mattered,
            });
        }
    }
    found
}

/// A verdict that closes.
fn closes_at(name: &str) -> Result<String> {
    match judge::named::<evidence::ClosesAt>(name) {
        Some(_) => Ok(name.to_owned()),
        None => Err(Error::not_allowed("closes_at", name, ["passed", "witnessed", "proven"])),
    }
}

impl SideOfChange {
    fn beside(self, repository: &str, project: &str, closes_at: &str) -> CheckoutBeside {
        let run = self.tests.map(|tests| RunBeside {
            tool: self.tool,
            is_whole: self.is_whole,
            tests,
            at: Time::from_microseconds(self.at),
        });
        let mut beside =
            CheckoutBeside::new(repository.to_owned(), project.to_owned(), closes_at.to_owned(), self.files);
        beside.run = run;
        beside
    }
}

fn units(
    texts: &[CitableText],
    before: &[Judged],
    after: &[Judged],
    demanded: &HashSet<String>,
) -> Vec<UnitOfChange> {
    let by_hash = |judged: &[Judged]| -> HashMap<(String, String), Judgement> {
        let units = judged.iter().flat_map(|judged| {
            judged
                .units
                .iter()
                .map(|unit| ((judged.text.id.clone(), unit.unit.hash.clone()), judgement(unit)))
        });
        units.collect()
    };
    let (mut before, mut after) = (by_hash(before), by_hash(after));
    let of_text = |text: &CitableText| {
        let units = judge::units_of(text).into_iter();
        let found = units.filter_map(|unit| {
            let key = (text.id.clone(), unit.hash.clone());
            Some(UnitOfChange {
                reference_id: text.reference_id.clone(),
                before: before.remove(&key)?,
                after: after.remove(&key)?,
                demanded: demanded.contains(&text.id),
                unit: unit.hash,
                text: unit.text,
            })
        });
        found.collect::<Vec<_>>()
    };
    texts.iter().flat_map(of_text).collect()
}

fn judgement(judged: &JudgedUnit) -> Judgement {
    let kinds = [CitationKind::Code, CitationKind::Test, CitationKind::Verifies, CitationKind::Implication];
    let tests = judged.cited.iter().filter_map(|cited| {
        let (citation, verdict) = (&cited.citation, cited.verdict?);
        let symbol = citation.symbol.as_deref().unwrap_or_default();
        Some(format!("{}:{} {symbol} {verdict}", citation.path, citation.line))
    });
    Judgement {
        cited: kinds.into_iter().any(|kind| judged.has(kind)),
        ran: judged.verdict != Verdict::NotRun || judged.cited.iter().any(|cited| cited.result.is_some()),
        verdict: judge::name_of(judged.verdict),
        closes: judged.closes,
        why_open: judged.why_open.clone(),
        tests: tests.collect(),
    }
}
