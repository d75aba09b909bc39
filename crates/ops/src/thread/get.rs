//! Follows the thread from an epic to the test that proves it, and from a line of code to its reason.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Deserialize;
use store::entity;
use store::model::{Kind, Reference};
use store::thread::repository::{self, Repository};
use store::thread::snapshot::{self, Citation};
use store::thread::text::{self, CitableText};
use store::thread::threat::{self, Decision};
use store::thread::verification;

use super::answer::{Link, Thread, ThreadItem, links, place, unit_thread};
use super::budget;
use super::judge::{self, Head, Judged};
use super::pushing;
use super::start::Start;
use crate::context::Cx;
use crate::error::{Error, Result};
use crate::input::{Id, Limit, Number, Offset, Text};
use crate::operation::{Command, Effect, Operation, Route, Shape, Tool, command, get, tool};
use crate::page::{Cursor, page, window_from};
use crate::threat::state::{self as threats, ItemThreat};

/// The default number of items on a page.
const ITEMS: i64 = 20;
/// How many texts are judged at once to count what the caller's checkout shows.
const LIVE_TEXTS_MAX: i64 = 2_000;
/// In how many repositories a place is searched.
const REPOSITORIES_MAX: i64 = 1_000;
/// How many refs an error names.
const REFS_NAMED_MAX: usize = 20;
/// How many decisions about a threat pattern are followed.
const DECISIONS_MAX: i64 = 500;
/// How many entities a line or a file may lead to.
const ENTITIES_MAX: usize = 500;

/// Follow the thread in both directions: from an epic, a story, a criterion or a requirement to the code and the tests that
/// cite it and the results of their runs; from a place in the code, or from a test, back to the requirement and its epic.
///
/// Every unit of text, a sentence with MUST or SHOULD, or a whole short text, has a verdict: `proven` (a passing test that
/// cites it executed the code that cites it), `witnessed` (executed in the same run), `passed`, `flaky`, `skipped`, `failed`,
/// `not_run`, or `old` (the text, the test or the code has changed since). `why_open` says what is missing. `threats` are those
/// to a
/// requirement, or that a criterion is against: `open`, `applies`, `closed` by evidence, `dismissed` or `accepted`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetThread {
    /// The starting point: `EP-001`, `US-002`, `AC-003`, `REQ-012`, `src/kettle.rs:42`, `tests/kettle.rs::boils`,
    /// `src/kettle.rs`, or a
    /// threat pattern that applies, such as `TMKB-AUTHZ-001`.
    from: Text<1, 1_000>,
    /// `down` to code, tests and runs, `up` to the reasons, or `both`.
    #[serde(default)]
    direction: Direction,
    /// The repository of a place in the code; default: all that you can see.
    repository: Option<Text<1, 200>>,
    /// The ref, such as `main` or `refs/heads/main`; default: each repository's main ref.
    #[serde(rename = "ref")]
    ref_name: Option<Text<1, 200>>,
    /// Only what is not closed by evidence.
    #[serde(default)]
    only_open: bool,
    /// How many requirements and criteria to return; default 20.
    limit: Option<Limit>,
    /// How many items to skip.
    offset: Option<Offset>,
    /// Continue after a page: its `next_cursor`.
    cursor: Option<Cursor>,
    /// The maximal number of tokens in the answer; default 100,000. `left_out` counts the places that do not fit.
    max_tokens: Option<Number<200, 100_000>>,
}

/// The direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum Direction {
    /// To code, tests and runs.
    Down,
    /// To stories and epics.
    Up,
    /// Both ways.
    #[default]
    Both,
}

impl Operation for GetThread {
    type Output = Thread;
    const NAME: &'static str = "get_thread";
    const COMMANDS: &'static [Command] = &[command("thread")];
    const ROUTES: &'static [Route] = &[get("/thread")];
    const TOOLS: &'static [Tool] = &[tool("thread", r#"{"from": "REQ-001"}"#)
        .also(&["thread", "trace_requirement", "get_trace", "follow_thread", "get_evidence", "coverage"])
        .showing(&["from", "direction", "only_open", "repository", "cursor"])];
    const EFFECT: Effect = Effect::Reads;
    const SHAPE: Option<Shape> = Some(Shape::Page("data", "/total_count"));
    const POSITIONAL: &'static [&'static str] = &["from"];
    const LOOKS_BESIDE: bool = true;

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<Thread> {
        let limit = self.limit.unwrap_or(Number(ITEMS));
        let window = window_from(Some(limit), self.offset, self.cursor.as_ref())?;
        cx.tx.plan_once()?;
        match Reference::parse(self.from.as_str()) {
            Some(reference) => self.beginning_at_entity(cx, Id(reference), window),
            None if self.is_pattern(cx)? => self.beginning_at_pattern(cx, window),
            None => self.beginning_in_code(cx, window),
        }
    }
}

impl GetThread {
    fn ref_name(&self) -> Option<&str> {
        self.ref_name.as_ref().map(Text::as_str)
    }

    fn beginning_at_entity(
        &self,
        cx: &mut Cx<'_, '_>,
        id: Id,
        (limit, offset): (i64, i64),
    ) -> Result<Thread> {
        let found = cx.any_entity("from", &id)?;
        let heads = self.heads(cx, &found.project_id)?;
        let mut above = entity::ancestors(cx.tx, &found.id)?;
        above.retain(|ancestor| ancestor.id != found.id);
        let is_live = heads.iter().any(|head| head.beside.is_some());
        let mut window = (limit, offset);
        let (texts, mut total, counts) = match found.kind {
            // Entities below are not reasons.
            Kind::Epic | Kind::UserStory if self.direction == Direction::Up => (Vec::new(), 0, None),
            // The stored counts are of what was pushed.
            Kind::Epic | Kind::UserStory
                if is_live && text::count_below(cx.tx, &found.id, found.kind, false)? <= LIVE_TEXTS_MAX =>
            {
                window = (LIVE_TEXTS_MAX, 0);
                (text::below(cx.tx, &found.id, found.kind, false, window)?, 0, None)
            }
            Kind::Epic | Kind::UserStory => (
                text::below(cx.tx, &found.id, found.kind, self.only_open, window)?,
                text::count_below(cx.tx, &found.id, found.kind, self.only_open)?,
                Some(verification::count_below(cx.tx, &found.id, found.kind)?),
            ),
            Kind::Requirement | Kind::AcceptanceCriteria => {
                let texts = text::of_ids(cx.tx, &[&found.id])?;
                (if offset == 0 { texts } else { Vec::new() }, 1, None)
            }
            _ => {
                let message = format!(
                    "expected an epic, a user story, a criterion, a requirement or a place in code, and {} is {}",
                    found.reference_id,
                    found.kind.with_article()
                );
                return Err(Error::field("from", message));
            }
        };
        let chains = if found.kind == Kind::Epic { stories(cx, &texts)? } else { BTreeMap::new() };
        let mut judged = judge::judge(cx, &heads, texts)?;
        let (cited, verified) = counts.as_ref().map_or_else(
            || {
                let count = |is_wanted: fn(&Judged) -> bool| {
                    judged.iter().filter(|item| is_wanted(item)).count() as i64
                };
                (count(Judged::is_cited), count(Judged::is_verified))
            },
            |counts| (counts.n_cited, counts.n_verified),
        );
        if window != (limit, offset) {
            judged.retain(|item| !self.only_open || !item.is_verified());
            total = judged.len() as i64;
            judged = judged.into_iter().skip(offset as usize).take(limit as usize).collect();
        }
        let chain = if self.direction == Direction::Down { Vec::new() } else { links(above) };
        let n_found = judged.len();
        let of_items = self.threats_to(cx, &heads, judged.iter().map(|item| item.text.clone()).collect())?;
        let items = self.items(&heads, judged, of_items, &chains, &BTreeSet::new());
        let of_story = match found.kind {
            Kind::UserStory => text::of_ids(cx.tx, &[&found.id])?,
            _ => Vec::new(),
        };
        let of_story = self.threats_to(cx, &heads, of_story)?.concat();
        let is_above = matches!(found.kind, Kind::Epic | Kind::UserStory);
        let about = is_above.then(|| Link {
            reference_id: found.reference_id.clone(),
            kind: found.kind,
            title: found.title.clone(),
        });
        let thread = Thread {
            from: found.reference_id,
            about,
            chain,
            threats: of_story,
            data: items,
            total_count: total,
            cited,
            verified,
            note: self.note(cx, &heads, Some(&found.project_id), counts.is_some())?,
            heads: shown_heads(cx, heads)?,
            limit,
            offset,
            next_cursor: None,
        };
        Ok(self.within_budget(thread, n_found))
    }

    /// Leaves out what does not fit into the budget, and sets the cursor: after the last item, or at the first that
    /// was left out.
    fn within_budget(&self, mut thread: Thread, n_found: usize) -> Thread {
        let positions: Vec<usize> = thread.data.iter().map(|item| item.position).collect();
        let max = self.max_tokens.map_or(budget::TOKENS, |max| max.0);
        budget::fit(&mut thread, max as usize);
        let n_told = positions.get(thread.data.len()).copied().unwrap_or(n_found);
        let told = page(vec![(); n_told], thread.total_count, (thread.limit, thread.offset));
        Thread { next_cursor: told.next_cursor, ..thread }
    }

    fn beginning_in_code(&self, cx: &mut Cx<'_, '_>, (limit, offset): (i64, i64)) -> Result<Thread> {
        let start = Start::parse(self.from.as_str());
        let mut entities: BTreeSet<String> = BTreeSet::new();
        let mut asked: BTreeSet<(String, String)> = BTreeSet::new();
        let mut cited_in_file = Vec::new();
        let mut n_heads = 0;
        for head in self.all_heads(cx)? {
            n_heads += 1;
            for citation in head.citations_in(cx, start.path)? {
                if start.is_at(&citation) && entities.len() < ENTITIES_MAX {
                    entities.insert(citation.entity_id.clone());
                    if !start.is_file() {
                        asked.insert((citation.entity_id.clone(), citation.unit_hash.clone()));
                    }
                }
                cited_in_file.push((citation, head.repository.name.clone()));
            }
        }
        let why_nothing = |cx: &mut Cx<'_, '_>| {
            let mut places = seen_places(cx, &cited_in_file)?;
            Ok(start.why_nothing(n_heads, &mut places))
        };
        self.through(cx, &entities, &asked, (limit, offset), why_nothing)
    }

    /// Whether it starts at a threat pattern.
    fn is_pattern(&self, cx: &mut Cx<'_, '_>) -> Result<bool> {
        if self.from.as_str().contains(['/', '.', ':']) {
            return Ok(false);
        }
        let known =
            cx.request.threats.as_ref().is_some_and(|library| library.pattern(self.from.as_str()).is_ok());
        Ok(known || !threat::of_pattern(cx.tx, self.from.as_str(), 1)?.is_empty())
    }

    /// Follows a threat pattern to the requirements that it applies to, and to the criteria against it.
    fn beginning_at_pattern(&self, cx: &mut Cx<'_, '_>, window: (i64, i64)) -> Result<Thread> {
        let library = cx.request.threats.clone();
        let known = library.and_then(|library| library.pattern(self.from.as_str()).ok());
        let pattern = known.map_or_else(|| self.from.as_str().to_owned(), |known| known.id);
        let mut applying = threat::of_pattern(cx.tx, &pattern, DECISIONS_MAX)?;
        applying.retain(|link| link.decision == Decision::Applies);
        let link_ids: Vec<&str> = applying.iter().map(|link| link.id.as_str()).collect();
        let criteria = threat::criteria_of(cx.tx, &link_ids)?;
        let mut entities: BTreeSet<String> = criteria.into_iter().map(|(_, criterion)| criterion).collect();
        let ids: Vec<&str> = applying.iter().map(|link| link.entity_id.as_str()).collect();
        let mut texts = text::of_ids(cx.tx, &ids)?;
        texts.retain(|text| text.kind == Kind::Requirement && !text.is_deleted);
        entities.extend(texts.into_iter().map(|text| text.id));
        let why_nothing =
            |_: &mut Cx<'_, '_>| Ok(format!("no decision that you can see says that {pattern} applies"));
        self.through(cx, &entities, &BTreeSet::new(), window, why_nothing)
    }

    /// The thread through requirements and criteria of any projects.
    fn through(
        &self,
        cx: &mut Cx<'_, '_>,
        entities: &BTreeSet<String>,
        asked: &BTreeSet<(String, String)>,
        (limit, offset): (i64, i64),
        why_nothing: impl FnOnce(&mut Cx<'_, '_>) -> Result<String>,
    ) -> Result<Thread> {
        let ids: Vec<&str> = entities.iter().map(String::as_str).collect();
        let mut texts = text::of_ids(cx.tx, &ids)?;
        let mut seen = Vec::new();
        for text in texts.drain(..) {
            if cx.sees(&text.project_id)? {
                seen.push(text);
            }
        }
        seen.sort_by(|first, second| first.reference_id.cmp(&second.reference_id));
        let total = seen.len() as i64;
        let shown: Vec<CitableText> = seen.into_iter().skip(offset as usize).take(limit as usize).collect();
        let mut chains = BTreeMap::new();
        let mut by_project: BTreeMap<String, Vec<CitableText>> = BTreeMap::new();
        for text in shown {
            let mut above = entity::ancestors(cx.tx, &text.id)?;
            above.retain(|ancestor| ancestor.id != text.id);
            chains.insert(text.id.clone(), links(above));
            by_project.entry(text.project_id.clone()).or_default().push(text);
        }
        let (mut data, mut heads, mut cited, mut verified) = (Vec::new(), Vec::new(), 0, 0);
        let mut n_found = 0;
        for (project_id, texts) in by_project {
            let of_project = self.heads(cx, &project_id)?;
            let judged = judge::judge(cx, &of_project, texts)?;
            cited += judged.iter().filter(|item| item.is_cited()).count() as i64;
            verified += judged.iter().filter(|item| item.is_verified()).count() as i64;
            let n_judged = judged.len();
            let texts = judged.iter().map(|item| item.text.clone()).collect();
            let threats = self.threats_to(cx, &of_project, texts)?;
            let items = self.items(&of_project, judged, threats, &chains, asked).into_iter();
            data.extend(items.map(|item| ThreadItem { position: n_found + item.position, ..item }));
            n_found += n_judged;
            heads.extend(of_project);
        }
        heads.sort_by(|first, second| first.repository.name.cmp(&second.repository.name));
        heads.dedup_by(|first, second| first.snapshot.id == second.snapshot.id);
        let note = match total {
            0 => Some(why_nothing(cx)?),
            _ => self.note(cx, &heads, None, false)?,
        };
        let thread = Thread {
            from: self.from.as_str().to_owned(),
            about: None,
            chain: Vec::new(),
            threats: Vec::new(),
            data,
            total_count: total,
            cited,
            verified,
            heads: shown_heads(cx, heads)?,
            note,
            limit,
            offset,
            next_cursor: None,
        };
        Ok(self.within_budget(thread, n_found))
    }

    /// The heads that may contain a place.
    fn all_heads(&self, cx: &mut Cx<'_, '_>) -> Result<Vec<Head>> {
        let checkout = cx.request.checkout.clone().filter(|_| self.ref_name.is_none());
        let is_beside = |name: &str| checkout.as_ref().is_some_and(|checkout| checkout.repository == name);
        let mut heads = Vec::new();
        if let Some(checkout) = &checkout
            && self.repository.as_ref().is_none_or(|name| is_beside(name.as_str()))
            && let Some(project) = store::project::find(cx.tx, &checkout.project)?
            && cx.sees(&project.id)?
        {
            let of_project = judge::heads(cx, &project.id, None)?;
            heads.extend(of_project.into_iter().filter(|head| head.beside.is_some()));
        }
        let repositories = match &self.repository {
            Some(name) if is_beside(name.as_str()) => Vec::new(),
            Some(name) => vec![pushing::repository(cx, name)?.0],
            None => {
                let projects = cx.projects("project", None)?;
                repository::list(cx.tx, &projects, REPOSITORIES_MAX, 0)?.0
            }
        };
        let mut others = Vec::new();
        for repository in repositories.into_iter().filter(|repository| !is_beside(&repository.name)) {
            let wanted = self.ref_name().unwrap_or(&repository.main_ref).to_owned();
            if let Some(snapshot) = judge::snapshot_of(cx, &repository.id, &wanted)? {
                heads.push(Head { repository, snapshot, beside: None });
            } else {
                others.push(repository);
            }
        }
        self.check_ref(cx, &heads, &others)?;
        Ok(heads)
    }

    /// Rejects a ref that was never pushed, if others were.
    fn check_ref(&self, cx: &mut Cx<'_, '_>, heads: &[Head], repositories: &[Repository]) -> Result<()> {
        let Some(name) = self.ref_name().filter(|_| heads.is_empty()) else { return Ok(()) };
        let known = pushed_refs(cx, repositories)?;
        if known.is_empty() {
            return Ok(());
        }
        let known = known.iter().map(String::as_str).take(REFS_NAMED_MAX);
        Err(Error::not_allowed("ref", name, known))
    }

    fn heads(&self, cx: &mut Cx<'_, '_>, project_id: &str) -> Result<Vec<Head>> {
        let mut heads = judge::heads(cx, project_id, self.ref_name())?;
        if self.ref_name.is_some() && heads.is_empty() {
            let repositories = repository::of_project(cx.tx, project_id)?;
            self.check_ref(cx, &heads, &repositories)?;
        }
        if let Some(name) = &self.repository {
            let is_beside =
                cx.request.checkout.as_ref().is_some_and(|checkout| checkout.repository == name.as_str());
            let wanted = if is_beside { None } else { Some(pushing::repository(cx, name)?.0.id) };
            heads
                .retain(|head| wanted.as_ref().map_or(head.beside.is_some(), |id| head.repository.id == *id));
        }
        Ok(heads)
    }

    fn note(
        &self,
        cx: &mut Cx<'_, '_>,
        heads: &[Head],
        project_id: Option<&str>,
        is_counted_by_store: bool,
    ) -> Result<Option<String>> {
        if heads.is_empty() {
            let repositories = match project_id {
                Some(project_id) => repository::of_project(cx.tx, project_id)?,
                None => Vec::new(),
            };
            let refs = pushed_refs(cx, &repositories)?;
            let refs: Vec<&str> = refs.iter().map(String::as_str).take(REFS_NAMED_MAX).collect();
            let note = match refs.is_empty() {
                true => {
                    "no repository has pushed citations for this project; `spexus push` does from a checkout"
                        .to_owned()
                }
                false => {
                    format!("nothing was pushed for the main ref; ask with `ref` for {}", refs.join(", "))
                }
            };
            return Ok(Some(note));
        }
        if is_counted_by_store && heads.iter().any(|head| head.beside.is_some()) {
            let note = "the totals count pushed data; the units show your checkout";
            return Ok(Some(note.to_owned()));
        }
        for head in heads.iter().filter(|head| head.beside.is_none()) {
            let ref_name = &head.snapshot.ref_name;
            if !snapshot::is_counted(cx.tx, &head.repository.id, ref_name)? {
                let name = &head.repository.name;
                return Ok(Some(format!("numbers of {name} are being counted; units are exact")));
            }
        }
        Ok(None)
    }

    /// The threats to texts of a project, without long fields: `propose_threats` has these.
    fn threats_to(
        &self,
        cx: &mut Cx<'_, '_>,
        heads: &[Head],
        texts: Vec<CitableText>,
    ) -> Result<Vec<Vec<ItemThreat>>> {
        if self.direction == Direction::Up {
            return Ok(vec![Vec::new(); texts.len()]);
        }
        let mut found = match self.only_open {
            true => threats::open_of(cx, heads, &texts)?,
            false => threats::of_texts(cx, heads, &texts)?,
        };
        for threats in &mut found {
            // Unsure proposals, which need no decision, are left to `propose_threats`.
            threats.retain(|threat| !threat.unsure);
            for threat in threats {
                threat.reasons.clear();
                threat.criteria.iter_mut().for_each(|criterion| criterion.text.clear());
            }
        }
        Ok(found)
    }

    fn items(
        &self,
        heads: &[Head],
        judged: Vec<Judged>,
        threats: Vec<Vec<ItemThreat>>,
        chains: &BTreeMap<String, Vec<Link>>,
        asked: &BTreeSet<(String, String)>,
    ) -> Vec<ThreadItem> {
        let names_repository = heads.len() > 1;
        let judged = judged.into_iter().zip(threats).enumerate();
        judged
            .filter(|(_, (item, _))| !self.only_open || !item.is_verified())
            .map(|(position, (item, threats))| {
                let verified = item.is_verified();
                let text = item.text;
                // A citation without a quote cites all units.
                let is_asked = |hash: &str| {
                    [hash, ""].iter().any(|hash| asked.contains(&(text.id.clone(), (*hash).to_owned())))
                };
                let units = match self.direction {
                    Direction::Up => Vec::new(),
                    _ => item
                        .units
                        .into_iter()
                        .filter(|unit| !self.only_open || !unit.closes)
                        .map(|unit| {
                            let asked = is_asked(&unit.unit.hash);
                            unit_thread(unit, asked, names_repository)
                        })
                        .collect(),
                };
                let chain = match self.direction {
                    Direction::Down => Vec::new(),
                    _ => chains.get(&text.id).cloned().unwrap_or_default(),
                };
                ThreadItem {
                    reference_id: text.reference_id,
                    kind: text.kind,
                    title: if text.title.is_empty() { text.description } else { text.title },
                    status: text.status,
                    chain,
                    verified,
                    units,
                    outdated: item.outdated.iter().map(|cited| place(cited, names_repository)).collect(),
                    threats,
                    left_out: 0,
                    position,
                }
            })
            .collect()
    }
}

/// The refs that were pushed for some repositories.
fn pushed_refs(cx: &mut Cx<'_, '_>, repositories: &[Repository]) -> Result<BTreeSet<String>> {
    let mut known = BTreeSet::new();
    for repository in repositories {
        known.extend(snapshot::heads(cx.tx, &repository.id)?.into_iter().map(|head| head.ref_name));
    }
    Ok(known)
}

fn shown_heads(cx: &mut Cx<'_, '_>, heads: Vec<Head>) -> Result<Vec<pushing::Head>> {
    let shown = heads
        .into_iter()
        .map(|head| pushing::Head::new(cx, &head.repository, head.snapshot, head.beside.is_some()));
    shown.collect()
}

/// Leaves out citations of entities that the caller cannot see.
fn seen_places(cx: &mut Cx<'_, '_>, cited: &[(Citation, String)]) -> Result<Vec<(i64, String)>> {
    let ids: BTreeSet<&str> = cited.iter().map(|(citation, _)| citation.entity_id.as_str()).collect();
    let ids: Vec<&str> = ids.into_iter().collect();
    let mut visible = BTreeSet::new();
    for text in text::of_ids(cx.tx, &ids)? {
        if cx.sees(&text.project_id)? {
            visible.insert(text.id);
        }
    }
    let cited = cited.iter().filter(|(citation, _)| visible.contains(&citation.entity_id));
    Ok(cited.map(|(citation, repository)| (citation.line, repository.clone())).collect())
}

/// The user story of each text.
fn stories(cx: &mut Cx<'_, '_>, texts: &[CitableText]) -> Result<BTreeMap<String, Vec<Link>>> {
    let parents: BTreeSet<&str> = texts.iter().filter_map(|text| text.parent_id.as_deref()).collect();
    let parents: Vec<&str> = parents.into_iter().collect();
    let found = text::of_ids(cx.tx, &parents)?;
    let link = |text: &CitableText| {
        let story = found.iter().find(|story| Some(&story.id) == text.parent_id.as_ref())?;
        let title = Some(story.title.clone());
        let link = Link { reference_id: story.reference_id.clone(), kind: story.kind, title };
        Some((text.id.clone(), vec![link]))
    };
    Ok(texts.iter().filter_map(link).collect())
}
