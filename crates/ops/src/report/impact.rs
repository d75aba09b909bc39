//! The impact of a change.

use std::collections::{BTreeMap, HashMap};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::entity::{self, Entity};
use store::model::{Kind, Reference};
use store::report::{self, Affected, BATCH};
use store::thread::verification;

use super::Thread;
use crate::context::Cx;
use crate::error::Result;
use crate::input::{Id, Number};
use crate::operation::{Command, Effect, Operation, Output, Route, Shape, Tool, command, get, tool};

/// Find what a change affects: everything below the entity, and the requirements that depend on it.
///
/// It follows `depends_on` and `derives_from` from target to source, `blocks` from source to target,
/// the tree downwards, requirements of a criterion, and epics of a steering document. Relationships such as
/// `relates_to` and `conflicts_with` are listed, but not followed further. `above` has the criterion,
/// the story and the epic of the entity, which may no longer be met.
/// `thread` says how much of something code and tests cite, which a change may make stale; get_thread lists the places.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AnalyzeImpact {
    /// The entity to change, such as `REQ-012`.
    reference: Id,
    /// How many steps to follow; default 3.
    depth: Option<Number<1, 10>>,
}

/// The impact of a change.
#[derive(Serialize, JsonSchema)]
pub struct Impact {
    /// The reference id of the changed entity.
    reference_id: String,
    /// Its kind.
    kind: Kind,
    /// Its title.
    title: String,
    /// How many steps were followed.
    depth: i64,
    /// How much of it code and tests cite; absent if nothing does.
    #[serde(skip_serializing_if = "Option::is_none")]
    thread: Option<Thread>,
    /// The number of affected entities, by kind.
    counts: BTreeMap<&'static str, i64>,
    /// The criterion, the story and the epic that it belongs to, the nearest first. They do not count as affected.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    above: Vec<Hit>,
    /// How many of the changed and the affected entities code or tests cite.
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(default)]
    n_cited: i64,
    /// How many of the changed and the affected entities are closed by evidence, which the change may invalidate.
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(default)]
    n_verified: i64,
    /// The affected entities, the nearest first.
    affected: Vec<Hit>,
    /// Whether there is more than the first 1,000.
    truncated: bool,
    /// The ids of suspect relationships on the way.
    suspect_links: Vec<String>,
}

impl Output for Impact {}

/// An affected entity.
#[derive(Serialize, JsonSchema)]
struct Hit {
    /// The reference id.
    reference_id: String,
    /// The kind.
    kind: Kind,
    /// The title, or the beginning of a criterion's text.
    title: String,
    /// The status.
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<String>,
    /// Its distance in steps.
    depth: i64,
    /// The last step, such as `REQ-002 depends_on REQ-001`.
    because: String,
    /// The reference ids on the path from the changed entity to this one.
    way: Vec<String>,
    /// Whether the relationship of the last step is suspect.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    suspect: bool,
    /// How much of it code and tests cite; absent if nothing does.
    #[serde(skip_serializing_if = "Option::is_none")]
    thread: Option<Thread>,
    #[serde(skip)]
    #[schemars(skip)]
    id: String,
}

#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_zero(count: &i64) -> bool {
    *count == 0
}

const DEPTH: i64 = 3;
/// The maximal number of listed entities.
const HITS_MAX: usize = 1_000;

impl Operation for AnalyzeImpact {
    type Output = Impact;
    const NAME: &'static str = "impact_analysis";
    const COMMANDS: &'static [Command] = &[command("impact")];
    const ROUTES: &'static [Route] = &[get("/impact/{reference}")];
    const TOOLS: &'static [Tool] = &[tool("requirements", r#"{"reference": "REQ-002", "depth": 2}"#)
        .also(&["impact", "analyze_impact", "get_impact", "get_dependencies"])];
    const EFFECT: Effect = Effect::Reads;
    const SHAPE: Option<Shape> = Some(Shape::Page("affected", ""));
    const POSITIONAL: &'static [&'static str] = &["reference"];

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<Impact> {
        let root = cx.live_entity("reference", &self.reference)?;
        let depth = self.depth.map_or(DEPTH, |depth| depth.0);
        let mut found = Found::start(&root);
        let mut edge = vec![root.id.clone()];
        for step in 1..=depth {
            if edge.is_empty() || found.truncated {
                break;
            }
            edge = found.follow(cx, &edge, step)?;
        }
        let ids: Vec<&str> = found.hits.iter().map(|hit| hit.id.as_str()).chain([root.id.as_str()]).collect();
        let mut cited = verification::of_entities(cx.tx, &ids)?;
        let n_verified = cited.values().filter(|known| known.is_verified).count() as i64;
        cited.retain(|_, known| known.is_cited);
        for hit in &mut found.hits {
            hit.thread = cited.get(&hit.id).map(Thread::from);
        }
        let mut counts = BTreeMap::new();
        for hit in &found.hits {
            *counts.entry(hit.kind.name()).or_default() += 1;
        }
        found.suspects.sort_unstable();
        found.suspects.dedup();
        let above = above(cx, &root)?;
        Ok(Impact {
            title: words::cut(root.label(), 500).to_owned(),
            reference_id: root.reference_id,
            kind: root.kind,
            thread: cited.get(&root.id).map(Thread::from),
            depth,
            counts,
            above,
            n_cited: cited.len() as i64,
            n_verified,
            affected: found.hits,
            truncated: found.truncated,
            suspect_links: found.suspects,
        })
    }
}

/// The parents of an entity, up to the epic.
fn above(cx: &mut Cx<'_, '_>, root: &Entity) -> Result<Vec<Hit>> {
    let mut hits = Vec::new();
    let mut way = vec![root.reference_id.clone()];
    if let Some(criterion) = entity_above(cx, root.acceptance_criteria_id.as_deref())? {
        hits.push(hit_above(&criterion, "serves", &way));
    }
    let mut parent_id = root.user_story_id.clone().or_else(|| root.epic_id.clone());
    // The tree ends with the epic.
    while let Some(parent) = entity_above(cx, parent_id.as_deref())? {
        let hit = hit_above(&parent, "belongs_to", &way);
        way.clone_from(&hit.way);
        hits.push(hit);
        parent_id = parent.epic_id;
    }
    Ok(hits)
}

fn entity_above(cx: &mut Cx<'_, '_>, id: Option<&str>) -> Result<Option<Entity>> {
    let Some(id) = id else { return Ok(None) };
    Ok(entity::find(cx.tx, &Reference::Id(id.to_owned()))?.filter(|above| above.deleted_at.is_none()))
}

fn hit_above(above: &Entity, relation: &str, way: &[String]) -> Hit {
    let from = way.last().map(String::as_str).unwrap_or_default();
    Hit {
        id: above.id.clone(),
        thread: None,
        because: format!("{from} {relation} {}", above.reference_id),
        title: words::cut(above.label(), 500).to_owned(),
        status: above.status.clone(),
        kind: above.kind,
        depth: way.len() as i64,
        way: way.iter().cloned().chain([above.reference_id.clone()]).collect(),
        reference_id: above.reference_id.clone(),
        suspect: false,
    }
}

/// The entities found so far, each on a shortest path.
struct Found {
    hits: Vec<Hit>,
    /// The path to each found entity, by id.
    ways: HashMap<String, Vec<String>>,
    suspects: Vec<String>,
    truncated: bool,
}

impl Found {
    fn start(root: &Entity) -> Found {
        let ways = HashMap::from([(root.id.clone(), vec![root.reference_id.clone()])]);
        Found { hits: Vec::new(), ways, suspects: Vec::new(), truncated: false }
    }

    /// Takes one step from all entities at the edge, and returns the new edge.
    fn follow(&mut self, cx: &mut Cx<'_, '_>, edge: &[String], depth: i64) -> Result<Vec<String>> {
        let mut next = Vec::new();
        for batch in edge.chunks(BATCH) {
            let ids: Vec<&str> = batch.iter().map(String::as_str).collect();
            // A query that returns more than can be listed has cut something off.
            let limit = HITS_MAX as i64 * 4;
            let around = report::affected_by(cx.tx, &ids, depth == 1, limit)?;
            self.truncated |= around.len() as i64 == limit;
            for affected in around {
                self.suspects.extend(affected.step.suspect_id.clone());
                if self.ways.contains_key(&affected.id) {
                    continue;
                }
                if self.hits.len() == HITS_MAX {
                    self.truncated = true;
                    return Ok(Vec::new());
                }
                if !affected.step.ends_here {
                    next.push(affected.id.clone());
                }
                self.note(affected, depth);
            }
        }
        Ok(next)
    }

    fn note(&mut self, affected: Affected, depth: i64) {
        let Affected { id, entity, step } = affected;
        let mut way = self.ways.get(&step.from).cloned().unwrap_or_default();
        let from = way.last().cloned().unwrap_or_default();
        let because = if step.backwards {
            format!("{} {} {from}", entity.reference_id, step.relation)
        } else {
            format!("{from} {} {}", step.relation, entity.reference_id)
        };
        way.push(entity.reference_id.clone());
        self.ways.insert(id.clone(), way.clone());
        self.hits.push(Hit {
            reference_id: entity.reference_id,
            kind: entity.kind,
            title: entity.title,
            status: entity.status,
            depth,
            because,
            way,
            suspect: step.suspect_id.is_some(),
            thread: None,
            id,
        });
    }
}
