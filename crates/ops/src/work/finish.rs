//! Finishing work: close what the evidence closes, or report what is missing.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::entity::Entity;
use store::status::{self, StatusModel, StatusOutcome};
use store::thread::{lease, text};

use super::lease::{LeaseName, LeaseShown, Taken, changed, ended, name_of, record, reread};
use super::marks::marked;
use super::order::LEASES_MAX;
use super::packet::Demands;
use super::paths::{self, WorkPath};
use crate::context::Cx;
use crate::entity::{change, set_status};
use crate::error::{Error, Result};
use crate::identity::Issuers;
use crate::input::Text;
use crate::operation::{Change, Command, Effect, Operation, Output, Route, Tool, command, post, tool};
use crate::thread::judge;
use crate::thread::{CheckoutBeside, Finding};

/// What is said to whoever names a base on a machine that does not have the checkout.
const UNSEEN: &str = "the change was not compared with the base: the server cannot read your checkout";

/// Finish work: if evidence closes the requirement, and the criterion that it belongs to, it gets its done status, and the
/// lease ends. Otherwise nothing changes, `missing` lists what is left to do, and the lease continues.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FinishWork {
    /// The lease, such as `REQ-012.3`.
    lease: LeaseName,
    /// The base to compare your change with, such as `main`; default: the merge base of your branch.
    base: Option<Text<1, 200>>,
    /// The checkout that the work is in, where its change can be checked from here.
    #[serde(skip)]
    checkout: Option<Arc<CheckoutBeside>>,
    #[serde(skip)]
    check: Option<Check>,
}

/// The findings of the check of the change.
struct Check {
    findings: Vec<Finding>,
    /// Why there was no check.
    why_not: Option<String>,
}

/// Finished work, or what is missing.
#[derive(Serialize, JsonSchema)]
pub struct WorkFinished {
    /// The requirement.
    reference_id: String,
    /// Whether it is finished.
    finished: bool,
    /// Its status.
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<String>,
    /// The units that evidence does not close yet.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    missing: Vec<Missing>,
    /// What the change made worse.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    findings: Vec<Finding>,
    /// The changes of the text since you last got it.
    #[serde(skip_serializing_if = "Option::is_none")]
    changed: Option<String>,
    /// Notes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
    /// The lease, if it continues.
    #[serde(skip_serializing_if = "Option::is_none")]
    lease: Option<LeaseShown>,
}

impl Output for WorkFinished {}

/// A unit that evidence does not close yet.
#[derive(Serialize, JsonSchema)]
struct Missing {
    /// Its requirement or criterion.
    reference_id: String,
    /// Its text, between marks.
    text: String,
    /// Its verdict.
    verdict: String,
    /// Why that does not close it.
    why: String,
}

impl Operation for FinishWork {
    type Output = WorkFinished;
    const NAME: &'static str = "finish_work";
    const COMMANDS: &'static [Command] = &[command("work finish")];
    const ROUTES: &'static [Route] = &[post("/work/finish")];
    const TOOLS: &'static [Tool] = &[tool("work", r#"{"lease": "REQ-002.1"}"#).also(&[
        "complete_work",
        "done",
        "close_work",
        "submit_work",
    ])];
    const EFFECT: Effect = Effect::Writes;
    const CHANGE: Change = Change::Edits;
    const POSITIONAL: &'static [&'static str] = &["lease"];
    const LOOKS_BESIDE: bool = true;
    const PREPARES: bool = true;

    fn prepare(&mut self, cx: &mut Cx<'_, '_>) -> Result<()> {
        let taken = self.lease.find_own(cx)?;
        let is_of_work =
            |beside: &&Arc<CheckoutBeside>| beside.project == taken.entity.project && beside.check.is_some();
        self.checkout = cx.request.checkout.as_ref().filter(is_of_work).cloned();
        Ok(())
    }

    fn computes(&self) -> bool {
        self.checkout.is_some()
    }

    // Outside of any transaction: the check asks the store itself.
    fn compute(&mut self, _: &Issuers) -> Result<()> {
        let base = self.base.as_ref().map(Text::as_str);
        let check = self.checkout.as_ref().and_then(|checkout| checkout.check.as_ref());
        self.check = match check.map(|check| check(base)) {
            None => None,
            Some(Ok(findings)) => Some(Check { findings, why_not: None }),
            // With an explicit base an error is reported; otherwise only the evidence is judged.
            Some(Err(problem)) if base.is_some() => return Err(Error::field("base", problem)),
            Some(Err(problem)) => {
                let why_not = Some(format!("the change was not checked: {problem}"));
                Some(Check { findings: Vec::new(), why_not })
            }
        };
        Ok(())
    }

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<WorkFinished> {
        let taken = self.lease.find_own(cx)?;
        let heads = judge::heads(cx, &taken.entity.project_id, None)?;
        let text = text::of_ids(cx.tx, &[&taken.entity.id])?.pop();
        let text = text.filter(|text| !text.is_deleted).ok_or_else(|| {
            Error::conflict(format!("{} was deleted; release the lease", taken.entity.reference_id))
                .about("lease")
        })?;
        let demands = Demands::of(cx, &heads, &taken.entity, text)?;
        let missing = missing(&demands);
        let changed = changed(cx, &taken)?.map(|difference| marked(&difference));
        let (mut findings, mut notes) = match &self.check {
            Some(Check { findings, why_not }) => (findings.clone(), why_not.iter().cloned().collect()),
            None if self.base.is_some() => (Vec::new(), vec![UNSEEN.to_owned()]),
            None => (Vec::new(), Vec::new()),
        };
        notes.extend(self.leave_out(cx, &taken, &mut findings)?);
        let mut finished = WorkFinished {
            reference_id: taken.entity.reference_id.clone(),
            finished: missing.is_empty() && findings.is_empty() && demands.needed().next().is_some(),
            status: taken.entity.status.clone(),
            missing,
            findings,
            changed,
            notes: Vec::new(),
            lease: None,
        };
        if finished.finished {
            finished.status = finish(cx, &self.lease, taken, &mut notes)?;
        } else {
            finished.lease = Some(LeaseShown::new(&reread(cx, &taken.entity.id)?));
        }
        finished.notes = notes;
        Ok(finished)
    }
}

impl FinishWork {
    /// Leaves out what is in files of other leases: several may work in one checkout, and each answers for its own work.
    fn leave_out(
        &self,
        cx: &mut Cx<'_, '_>,
        taken: &Taken,
        findings: &mut Vec<Finding>,
    ) -> Result<Option<String>> {
        let Some(checkout) = self.checkout.as_ref().filter(|_| !findings.is_empty()) else { return Ok(None) };
        let mut others = lease::in_project(cx.tx, &taken.entity.project_id, LEASES_MAX, 0)?;
        others.retain(|other| other.entity_id != taken.entity.id);
        let mut names = BTreeSet::new();
        findings.retain(|finding| {
            let file = [WorkPath::file(&checkout.repository, &finding.path)];
            let other =
                others.iter().find(|other| paths::meeting(&file, &paths::from_row(&other.paths)).is_some());
            names.extend(other.map(name_of));
            other.is_none()
        });
        let names: Vec<String> = names.into_iter().collect();
        Ok((!names.is_empty())
            .then(|| format!("what is worse in the files of {} was left out", names.join(", "))))
    }
}

fn missing(demands: &Demands) -> Vec<Missing> {
    let open = demands.needed().filter(|(_, unit)| !unit.closes);
    open.map(|(text, unit)| Missing {
        reference_id: text.reference_id.clone(),
        text: marked(&unit.unit.text),
        verdict: judge::name_of(unit.verdict),
        why: unit.why_open.clone().unwrap_or_default(),
    })
    .collect()
}

/// Ends the lease, and sets the done status of the requirement, if its model has one.
fn finish(
    cx: &mut Cx<'_, '_>,
    name: &LeaseName,
    taken: Taken,
    notes: &mut Vec<String>,
) -> Result<Option<String>> {
    // First, so that a late call changes nothing.
    if !lease::end(cx.tx, &taken.lease, None)? {
        return Err(ended(cx, name, &taken.entity.id)?);
    }
    let Taken { entity, lease } = taken;
    let lease_name = name_of(&lease);
    let model = status::of(cx.tx, entity.kind)?;
    let way = way_to_done(&model, entity.status.as_deref().unwrap_or_default());
    let done: Entity = match way {
        Some(way) => change(cx, entity, None, |cx, entity| {
            way.iter().try_for_each(|status| set_status(cx, entity, status))
        })?,
        None => {
            let status = entity.status.as_deref().unwrap_or_default();
            notes.push(format!("its status stays {status}, from which no done status can be reached"));
            entity
        }
    };
    record(cx, &done, &lease, &format!("finished by {lease_name}"))?;
    Ok(done.status)
}

/// The shortest path to a done status, over statuses that are not final; empty if it has one.
fn way_to_done(model: &StatusModel, from: &str) -> Option<Vec<String>> {
    let is_done = |name: &str| {
        model.statuses.iter().any(|status| status.name == name && status.outcome == Some(StatusOutcome::Done))
    };
    let mut before: HashMap<&str, &str> = HashMap::new();
    let mut queue = VecDeque::from([from]);
    while let Some(name) = queue.pop_front() {
        if is_done(name) {
            let steps = std::iter::successors(Some(name), |step| before.get(step).copied());
            let mut way: Vec<String> = steps.filter(|step| *step != from).map(str::to_owned).collect();
            way.reverse();
            return Some(way);
        }
        for status in &model.statuses {
            let is_new = status.name != from && !before.contains_key(status.name.as_str());
            if is_new && model.allows(name, &status.name) && (!status.is_final || is_done(&status.name)) {
                before.insert(&status.name, name);
                queue.push_back(&status.name);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use store::model::{Kind, Time};
    use store::status::{Status, Transition};

    use super::*;

    fn model(transitions: &[(&str, &str)]) -> StatusModel {
        let status = |name: &str, outcome: Option<StatusOutcome>| Status {
            name: name.to_owned(),
            colour: String::new(),
            initial: false,
            is_final: outcome.is_some(),
            outcome,
        };
        StatusModel {
            entity_kind: Kind::Requirement,
            statuses: vec![
                status("Draft", None),
                status("Active", None),
                status("Obsolete", Some(StatusOutcome::Obsolete)),
                status("Review", None),
                status("Done", Some(StatusOutcome::Done)),
            ],
            transitions: transitions
                .iter()
                .map(|(from, to)| Transition { from: (*from).to_owned(), to: (*to).to_owned() })
                .collect(),
            version: 1,
            updated_at: Time::from_microseconds(0),
        }
    }

    #[test]
    fn the_way_to_done_is_the_shortest_one_and_never_through_what_ends_work() {
        let way = |transitions: &[(&str, &str)], from: &str| way_to_done(&model(transitions), from);
        assert_eq!(way(&[], "Draft"), Some(vec!["Done".to_owned()]));
        assert_eq!(way(&[], "Done"), Some(Vec::new()));
        let steps = [("Draft", "Active"), ("Active", "Review"), ("Review", "Done"), ("Draft", "Review")];
        assert_eq!(way(&steps, "Draft"), Some(vec!["Review".to_owned(), "Done".to_owned()]));
        assert_eq!(way(&[("Draft", "Obsolete"), ("Obsolete", "Done")], "Draft"), None);
    }
}
