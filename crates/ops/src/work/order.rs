//! Ranks open requirements, with reasons.
//!
//! Final, closed, leased and waiting requirements are left out; a lease also skips those whose files somebody else has
//! claimed. The order is: stale or failing first, then priority, open critical threats, begun before not begun, how many others wait
//! for it, the story of the holder's last work, the number.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap, HashSet};

use evidence::Verdict;
use store::model::Kind;
use store::project::Project;
use store::thread::lease::{self, KIND};
use store::thread::text;
use store::thread::work::{self, OpenRequirement, Wait, WorkScope};

use super::paths::WorkPath;
use crate::context::Cx;
use crate::error::{Error, Result};
use crate::input::{Id, Text};
use crate::thread::judge::{self, Head, Judged, State};
use crate::threat::state as threat_state;

/// How many cited requirements are examined.
const BEGUN_MAX: i64 = 2_000;
/// How many uncited ones are examined, at once and in total.
const NEW_AT_ONCE: i64 = 1_000;
const NEW_ROUNDS_MAX: i64 = 20;
/// How many are judged with the same statements.
const JUDGED_AT_ONCE: usize = 100;
/// For how many of the most urgent threats are looked up, at once and in total: ranking patterns is the slowest step here.
const THREATENED_AT_ONCE: usize = 100;
const THREATENED_MAX: usize = 200;
/// The severity that changes the order.
const CRITICAL: &str = "critical";
/// How many leases of a project are considered.
pub const LEASES_MAX: i64 = 10_000;

/// A requirement that somebody could work on.
pub struct Candidate {
    /// Its id.
    pub id: String,
    /// The id of its story.
    pub story_id: Option<String>,
    /// The files that cite it.
    pub files: Vec<WorkPath>,
    urgency: Option<Urgency>,
    priority: i64,
    /// The patterns of its open critical threats.
    critical_threats: Vec<String>,
    is_begun: bool,
    n_waiting: i64,
    is_same_story: bool,
    number: i64,
}

/// Why something is urgent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Urgency {
    /// Code quotes an earlier text.
    Stale,
    /// A test of it fails, or passes only sometimes.
    Failing,
}

impl Candidate {
    fn key(&self) -> impl Ord + use<> {
        let Candidate {
            urgency, priority, critical_threats, is_begun, n_waiting, is_same_story, number, ..
        } = self;
        let is_safe = critical_threats.is_empty();
        (urgency.is_none(), *priority, is_safe, !is_begun, Reverse(*n_waiting), !is_same_story, *number)
    }

    /// Its priority, where it has one.
    pub fn priority(&self) -> Option<i64> {
        (self.priority <= 4).then_some(self.priority)
    }

    /// The reason for its position.
    pub fn why(&self) -> Vec<String> {
        let urgency = self.urgency.map(|urgency| match urgency {
            Urgency::Stale => "stale: code cites an earlier text".to_owned(),
            Urgency::Failing => "failing: a test of it does not pass".to_owned(),
        });
        let priority = self.priority().map(|priority| format!("priority {priority}"));
        let threats = match self.critical_threats.as_slice() {
            [] => None,
            [threat] => Some(format!("open critical threat {threat}")),
            threats => Some(format!("open critical threats {}", threats.join(", "))),
        };
        let begun = self.is_begun.then(|| "begun".to_owned());
        let waiting = match self.n_waiting {
            0 => None,
            1 => Some("1 other waits for it".to_owned()),
            n_waiting => Some(format!("{n_waiting} others wait for it")),
        };
        let story = self.is_same_story.then(|| "same story as last time".to_owned());
        [urgency, priority, threats, begun, waiting, story].into_iter().flatten().collect()
    }
}

/// The open work.
#[derive(Default)]
pub struct Order {
    /// The most urgent first.
    pub candidates: Vec<Candidate>,
    /// How many are leased.
    pub n_leased: usize,
    /// Waiting requirements, and what they wait for.
    pub blocked: Vec<Wait>,
    /// How many are closed by evidence.
    pub n_closed: usize,
}

/// Where work is searched: the project, and a part of it.
pub fn scope(
    cx: &mut Cx<'_, '_>,
    project: Option<&Text<1, 64>>,
    under: Option<&Id>,
) -> Result<(Project, WorkScope)> {
    let Some(under) = under else {
        let own = cx.request.checkout.as_ref().map(|checkout| checkout.project.clone());
        let named = project.map(Text::as_str).or(own.as_deref());
        return Ok((cx.project("project", named)?, WorkScope::Project));
    };
    let entity = cx.live_entity("under", under)?;
    let own = cx.project("project", Some(&entity.project_id))?;
    if let Some(named) = project
        && cx.project("project", Some(named.as_str()))?.id != own.id
    {
        let message =
            format!("{} is in the project {}, not in {}", entity.reference_id, own.key, named.as_str());
        return Err(Error::field("under", message));
    }
    let scope = match entity.kind {
        Kind::Epic => WorkScope::Epic(entity.id),
        Kind::UserStory => WorkScope::Story(entity.id),
        KIND => WorkScope::One(entity.id),
        kind => {
            let expected = "expected an epic, a user story or a requirement";
            let message = format!("{expected}, and {} is {}", entity.reference_id, kind.with_article());
            return Err(Error::field("under", message));
        }
    };
    Ok((own, scope))
}

/// Ranks the open work of a project for a holder.
pub fn order(cx: &mut Cx<'_, '_>, project_id: &str, scope: &WorkScope, holder: &str) -> Result<Order> {
    cx.tx.plan_once()?;
    let heads = judge::heads(cx, project_id, None)?;
    let leased = lease::in_project(cx.tx, project_id, LEASES_MAX, 0)?;
    let leased: HashSet<String> = leased.into_iter().map(|lease| lease.entity_id).collect();
    let last_story = lease::last_story(cx.tx, holder)?;
    let mut order = Order::default();
    let mut known: HashMap<String, bool> = HashMap::new();
    let begun = begun(cx, &heads, project_id, scope)?;
    let begun_of: HashMap<&str, &OpenRequirement> =
        begun.iter().map(|open| (open.id.as_str(), open)).collect();
    let ids: Vec<&str> = begun.iter().map(|open| open.id.as_str()).collect();
    for ids in ids.chunks(JUDGED_AT_ONCE) {
        let texts = text::of_ids(cx.tx, ids)?;
        for judged in judge::judge(cx, &heads, texts)? {
            known.insert(judged.text.id.clone(), judged.is_verified());
            let Some(open) = begun_of.get(judged.text.id.as_str()) else { continue };
            match judged.is_verified() {
                true => order.n_closed += 1,
                false => order.candidates.push(candidate(open, Some(&judged), last_story.as_deref())),
            }
        }
    }
    for round in 0..NEW_ROUNDS_MAX {
        let window = (NEW_AT_ONCE, round * NEW_AT_ONCE);
        let new = work::not_begun(cx.tx, project_id, scope, window)?;
        let is_last = (new.len() as i64) < NEW_AT_ONCE;
        let new = new.iter().filter(|open| !known.contains_key(&open.id));
        order.candidates.extend(new.map(|open| candidate(open, None, last_story.as_deref())));
        order.leave_out(cx, &leased, &known)?;
        if is_last || !order.candidates.is_empty() {
            break;
        }
    }
    order.candidates.sort_by_cached_key(Candidate::key);
    order.look_for_threats(cx, &heads)?;
    order.candidates.sort_by_cached_key(Candidate::key);
    Ok(order)
}

impl Order {
    /// Removes leased and waiting requirements, and counts how many wait for the rest.
    fn leave_out(
        &mut self,
        cx: &mut Cx<'_, '_>,
        leased: &HashSet<String>,
        known: &HashMap<String, bool>,
    ) -> Result<()> {
        let n_before = self.candidates.len();
        self.candidates.retain(|candidate| !leased.contains(&candidate.id));
        self.n_leased += n_before - self.candidates.len();
        let ids: Vec<&str> = self.candidates.iter().map(|candidate| candidate.id.as_str()).collect();
        let mut waits = work::waits_of(cx.tx, &ids)?;
        // The checkout may have evidence that was not pushed yet.
        waits.retain(|wait| known.get(&wait.blocker_id) != Some(&true));
        let n_waiting = work::count_waiting(cx.tx, &ids)?;
        let waiting: HashSet<&str> = waits.iter().map(|wait| wait.waiting_id.as_str()).collect();
        self.candidates.retain(|candidate| !waiting.contains(candidate.id.as_str()));
        for candidate in &mut self.candidates {
            candidate.n_waiting = n_waiting.get(&candidate.id).copied().unwrap_or_default();
        }
        self.blocked.extend(waits);
        Ok(())
    }

    /// Finds the critical threats that are open.
    fn look_for_threats(&mut self, cx: &mut Cx<'_, '_>, heads: &[Head]) -> Result<()> {
        let n_first = self.candidates.len().min(THREATENED_MAX);
        for candidates in self.candidates[..n_first].chunks_mut(THREATENED_AT_ONCE) {
            let ids: Vec<&str> = candidates.iter().map(|candidate| candidate.id.as_str()).collect();
            let texts = text::of_ids(cx.tx, &ids)?;
            let threats = threat_state::open_of(cx, heads, &texts)?;
            let mut of_id: HashMap<String, Vec<String>> = HashMap::new();
            for (text, threats) in texts.into_iter().zip(threats) {
                let critical = threats.into_iter().filter(|threat| threat.severity == CRITICAL);
                of_id.insert(text.id, critical.map(|threat| threat.pattern).collect());
            }
            for candidate in candidates {
                candidate.critical_threats = of_id.remove(&candidate.id).unwrap_or_default();
            }
        }
        Ok(())
    }
}

/// The cited requirements: as stored, and as in the local checkout.
fn begun(
    cx: &mut Cx<'_, '_>,
    heads: &[Head],
    project_id: &str,
    scope: &WorkScope,
) -> Result<Vec<OpenRequirement>> {
    let mut begun = work::begun(cx.tx, project_id, scope, BEGUN_MAX)?;
    for head in heads.iter().filter(|head| head.beside.is_some()) {
        let cited = head.cited_after(cx, "", BEGUN_MAX)?;
        let cited: Vec<&str> = cited.iter().map(String::as_str).collect();
        begun.extend(work::among(cx.tx, project_id, scope, &cited)?);
    }
    let mut seen = HashSet::new();
    begun.retain(|open| seen.insert(open.id.clone()));
    Ok(begun)
}

fn candidate(open: &OpenRequirement, judged: Option<&Judged>, last_story: Option<&str>) -> Candidate {
    Candidate {
        id: open.id.clone(),
        story_id: open.story_id.clone(),
        files: judged.map(files).unwrap_or_default(),
        urgency: judged.and_then(urgency),
        priority: open.priority,
        critical_threats: Vec::new(),
        is_begun: judged.is_some_and(Judged::is_cited),
        n_waiting: 0,
        is_same_story: last_story.is_some() && open.story_id.as_deref() == last_story,
        number: open.number,
    }
}

fn urgency(judged: &Judged) -> Option<Urgency> {
    let is_failing = |verdict| matches!(verdict, Verdict::Failed | Verdict::Flaky);
    let mut cited = judged.units.iter().flat_map(|unit| &unit.cited);
    if judged.units.iter().any(|unit| is_failing(unit.verdict)) {
        return Some(Urgency::Failing);
    }
    let is_stale = !judged.outdated.is_empty() || cited.any(|cited| cited.state == State::Suspect);
    is_stale.then_some(Urgency::Stale)
}

/// The files that cite a text.
pub fn files(judged: &Judged) -> Vec<WorkPath> {
    let cited = judged.units.iter().flat_map(|unit| &unit.cited).chain(&judged.outdated);
    let files: BTreeSet<WorkPath> =
        cited.map(|cited| WorkPath::file(&cited.repository, &cited.citation.path)).collect();
    files.into_iter().collect()
}
