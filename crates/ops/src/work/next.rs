//! Leasing the next requirement.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::entity;
use store::model::Reference;
use store::thread::lease::{self, Lease, NewLease};
use store::thread::text::{self, CitableText};
use store::thread::verification;
use store::thread::work::WorkScope;

use super::lease::{LeaseShown, held_by, holder, is_open, name_of, record, reread};
use super::order::{self, Candidate, LEASES_MAX, Order};
use super::packet::Packet;
use super::paths::{self, PathText, WorkPath};
use crate::context::Cx;
use crate::error::{Error, Result};
use crate::input::{Id, Number, Text};
use crate::operation::{Command, Effect, Operation, Output, Route, Shape, Tool, command, post, tool};
use crate::thread::judge::{self, Head};

/// The default budget.
const TOKENS: i64 = 2_000;
/// How many requirements of a story are examined for the files of another one.
const NEIGHBOURS_MAX: i64 = 100;

/// Lease the next requirement, with everything needed to implement it.
///
/// It is yours for 30 minutes, which `renew_work` extends up to 8 hours; nobody else can lease it, nor anything
/// cited in its files. You can hold three leases. `packet` has its text, its parents, its criteria, the code that cites it, similar
/// code, the comments that cite it, and when it is done. Pass `lease` to `renew_work`, `finish_work` and `release_work`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NextWork {
    /// The project: a key or an id; default: the project of your checkout, or the default project.
    project: Option<Text<1, 64>>,
    /// Only this requirement, or those below this epic or user story, such as `US-002`.
    under: Option<Id>,
    /// The files and folders that you are going to change, such as `src/kettle.rs`: work cited elsewhere is skipped, and nobody
    /// else gets work in them. Files that cite the requirement are added; name no more than you need.
    paths: Option<Vec<PathText>>,
    /// The maximal number of tokens in the packet; default 2,000. The requirement itself is never cut.
    max_tokens: Option<Number<200, 100_000>>,
    #[serde(skip)]
    order: Option<Order>,
}

/// Leased work, or why there is none.
#[derive(Serialize, JsonSchema)]
pub struct WorkTaken {
    /// The lease; absent if there is nothing to lease.
    #[serde(flatten)]
    lease: Option<LeaseShown>,
    /// Why this requirement.
    why: Vec<String>,
    /// The work packet, or why there is nothing to do. Users' texts are between `<data>` marks.
    packet: String,
}

impl Output for WorkTaken {}

impl Operation for NextWork {
    type Output = WorkTaken;
    const NAME: &'static str = "next_work";
    const COMMANDS: &'static [Command] = &[command("next")];
    const ROUTES: &'static [Route] = &[post("/work/next")];
    const TOOLS: &'static [Tool] = &[tool("work", r#"{"under": "REQ-002"}"#)
        .also(&["take_work", "next_task", "get_work", "claim", "pick_task"])
        .showing(&["project", "under", "paths", "max_tokens"])];
    const EFFECT: Effect = Effect::Writes;
    const SHAPE: Option<Shape> = Some(Shape::Whole);
    const LOOKS_BESIDE: bool = true;
    const PREPARES: bool = true;

    fn prepare(&mut self, cx: &mut Cx<'_, '_>) -> Result<()> {
        let (project, scope) = self.scope(cx)?;
        let holder = holder(cx.caller()?);
        self.order = Some(order::order(cx, &project.id, &scope, &holder)?);
        Ok(())
    }

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<WorkTaken> {
        let (project, scope) = self.scope(cx)?;
        let caller = cx.caller()?;
        let holder = holder(caller);
        let Some(order) = &self.order else { return Ok(nothing(&Order::default(), 0)) };
        lease::lock(cx.tx, &holder, &project.id)?;
        check_number(&lease::held_by(cx.tx, &holder)?)?;
        let active = lease::in_project(cx.tx, &project.id, LEASES_MAX, 0)?;
        let given = self.given_paths(cx, &project.key)?;
        check_free(&given, &active)?;
        if let WorkScope::One(id) = &scope {
            check_one(cx, id, order, &active)?;
        }
        let heads = judge::heads(cx, &project.id, None)?;
        let held: Vec<WorkPath> = active.iter().flat_map(|lease| paths::from_row(&lease.paths)).collect();
        let mut n_in_the_way = 0;
        for candidate in &order.candidates {
            if active.iter().any(|lease| lease.entity_id == candidate.id) {
                continue;
            }
            let Some(claimed) = claimed(cx, &heads, candidate, &given)? else { continue };
            if paths::meeting(&claimed, &held).is_some() {
                n_in_the_way += 1;
                continue;
            }
            // It may have changed since it was ranked.
            let Some(text) = text::of_ids(cx.tx, &[&candidate.id])?.pop() else { continue };
            if !is_open(&text) || text.project_id != project.id {
                continue;
            }
            let new = NewLease {
                entity_id: &text.id,
                project_id: &project.id,
                story_id: text.parent_id.as_deref(),
                holder: &holder,
                user_id: &caller.user_id,
                token_id: caller.token_id.as_deref(),
                paths: &paths::to_row(&claimed),
                content_version: text.content_version,
            };
            if lease::take(cx.tx, &new)? {
                return self.taken(cx, &heads, candidate, text);
            }
        }
        Ok(nothing(order, n_in_the_way))
    }
}

impl NextWork {
    fn scope(&self, cx: &mut Cx<'_, '_>) -> Result<(store::project::Project, WorkScope)> {
        order::scope(cx, self.project.as_ref(), self.under.as_ref())
    }

    /// The given paths, in the repository of the local checkout if there is one.
    fn given_paths(&self, cx: &Cx<'_, '_>, project_key: &str) -> Result<Vec<WorkPath>> {
        let checkout = cx.request.checkout.as_ref().filter(|checkout| checkout.project == project_key);
        let repository = checkout.map(|checkout| checkout.repository.as_str());
        paths::read("paths", self.paths.as_deref().unwrap_or_default(), repository)
    }

    fn taken(
        &self,
        cx: &mut Cx<'_, '_>,
        heads: &[Head],
        candidate: &Candidate,
        text: CitableText,
    ) -> Result<WorkTaken> {
        let found = entity::find(cx.tx, &Reference::Id(text.id.clone()))?;
        let entity = found.ok_or_else(|| Error::not_found("requirement", &text.reference_id))?;
        let lease = reread(cx, &text.id)?;
        record(cx, &entity, &lease, "taken")?;
        let why = candidate.why();
        let max = self.max_tokens.map_or(TOKENS, |max| max.0) as usize;
        let packet = Packet { lease: &lease, entity: &entity, why: &why }.text(cx, heads, text, max)?;
        Ok(WorkTaken { lease: Some(LeaseShown::new(&lease)), why, packet })
    }
}

/// Rejects a lease beyond the holder's limit.
fn check_number(held: &[Lease]) -> Result<()> {
    if (held.len() as i64) < lease::LEASES_MAX {
        return Ok(());
    }
    let held: Vec<String> =
        held.iter().map(|lease| format!("{} until {}", name_of(lease), lease.expires_at)).collect();
    let message = format!(
        "you have {} leases, which is the most: {}; finish or release one",
        held.len(),
        held.join(", ")
    );
    Err(Error::conflict(message))
}

/// Rejects paths that somebody else has claimed.
pub fn check_free(given: &[WorkPath], others: &[Lease]) -> Result<()> {
    for lease in others {
        if let Some(path) = paths::meeting(given, &paths::from_row(&lease.paths)) {
            let message = format!("{} is taken: {}", path.shown(), held_by(lease));
            return Err(Error::conflict(message).about("paths"));
        }
    }
    Ok(())
}

/// Explains why an explicitly requested requirement cannot be leased.
fn check_one(cx: &mut Cx<'_, '_>, id: &str, order: &Order, active: &[Lease]) -> Result<()> {
    if let Some(lease) = active.iter().find(|lease| lease.entity_id == id) {
        return Err(Error::conflict(format!("{} as {}", held_by(lease), name_of(lease))).about("under"));
    }
    if order.candidates.iter().any(|candidate| candidate.id == id) {
        return Ok(());
    }
    let text = text::of_ids(cx.tx, &[id])?.pop();
    let reference = text.as_ref().map(|text| text.reference_id.as_str()).unwrap_or_default();
    let blockers: Vec<&str> = order.blocked.iter().map(|wait| wait.blocker.as_str()).collect();
    let why = match &text {
        _ if !blockers.is_empty() => format!("waits for {}", blockers.join(", ")),
        Some(text) if !is_open(text) => format!("is {}", text.status.as_deref().unwrap_or("deleted")),
        _ if order.n_closed > 0 || is_verified(cx, id)? => "is closed by evidence".to_owned(),
        _ => "was leased a moment ago".to_owned(),
    };
    Err(Error::conflict(format!("{reference} {why}")).about("under"))
}

/// Whether evidence closes a requirement, according to pushes.
fn is_verified(cx: &mut Cx<'_, '_>, id: &str) -> Result<bool> {
    let known = verification::of_entities(cx.tx, &[id])?;
    Ok(known.get(id).is_some_and(|known| known.is_verified))
}

/// The files and folders of the work; none if it is outside of the given paths.
fn claimed(
    cx: &mut Cx<'_, '_>,
    heads: &[Head],
    candidate: &Candidate,
    given: &[WorkPath],
) -> Result<Option<Vec<WorkPath>>> {
    if !candidate.files.is_empty() {
        let is_inside =
            |file: &WorkPath| given.is_empty() || given.iter().any(|folder| folder.contains(file));
        let inside = candidate.files.iter().all(is_inside);
        return Ok(inside.then(|| paths::joined(candidate.files.clone(), given.to_vec())));
    }
    if !given.is_empty() {
        return Ok(Some(given.to_vec()));
    }
    // An uncited requirement probably belongs where the rest of its story is.
    let mut files = Vec::new();
    if let Some(story_id) = &candidate.story_id {
        let beside = text::below(cx.tx, story_id, store::model::Kind::UserStory, false, (NEIGHBOURS_MAX, 0))?;
        let ids: Vec<&str> = beside.iter().map(|text| text.id.as_str()).collect();
        for head in heads {
            let cited = head.citations_of(cx, &ids)?;
            files.extend(cited.iter().map(|citation| WorkPath::file(&head.repository.name, &citation.path)));
        }
    }
    files = paths::joined(files, Vec::new());
    files.truncate(paths::PATHS_MAX);
    Ok(Some(files))
}

/// Explains why there is nothing to lease.
fn nothing(order: &Order, n_in_the_way: usize) -> WorkTaken {
    let count = |n: usize, what: &str| (n > 0).then(|| format!("{n} {what}"));
    let mut blocked: Vec<&str> = order.blocked.iter().map(|wait| wait.waiting_id.as_str()).collect();
    blocked.sort_unstable();
    blocked.dedup();
    let reasons: Vec<String> = [
        count(order.n_leased, "leased"),
        count(blocked.len(), "waiting for others"),
        count(n_in_the_way, "in files that others work in"),
        count(order.n_closed, "closed by evidence"),
    ]
    .into_iter()
    .flatten()
    .collect();
    let packet = match reasons.is_empty() {
        true => "nothing to do: no requirement is open there".to_owned(),
        false => format!("nothing to do: {}", reasons.join(", ")),
    };
    WorkTaken { lease: None, why: Vec::new(), packet }
}
