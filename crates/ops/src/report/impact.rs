//! What a change touches.

use std::collections::{BTreeMap, HashMap};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::entity::Entity;
use store::model::Kind;
use store::report::{self, Affected, BATCH};

use crate::context::Cx;
use crate::error::Result;
use crate::input::{Id, Number};
use crate::operation::{Command, Effect, Operation, Output, Route, Shape, Tool, command, get, tool};

/// Find what is affected when something changes: what is below it, and the requirements that rest on it.
///
/// Followed are `depends_on` and `derives_from` from their target to their source, `blocks` from its source to its target,
/// the tree downwards, requirements that serve a criterion, and epics that a steering document is linked with. What is only
/// related to it or in conflict with it is named too, and not followed further.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AnalyzeImpact {
    /// What changes, such as `REQ-012`.
    reference: Id,
    /// How many steps to follow; 3 when absent.
    depth: Option<Number<1, 10>>,
}

/// What is affected by a change.
#[derive(Serialize, JsonSchema)]
pub struct Impact {
    /// The reference id of what changes.
    reference_id: String,
    /// What it is.
    kind: Kind,
    /// What it is called.
    title: String,
    /// How many steps were followed.
    depth: i64,
    /// How many are affected, by kind.
    counts: BTreeMap<&'static str, i64>,
    /// What is affected, the nearest first.
    affected: Vec<Hit>,
    /// Whether there is more than the first 1,000.
    truncated: bool,
    /// The ids of relationships on the way whose target's text has changed since they were made or confirmed.
    suspect_links: Vec<String>,
}

impl Output for Impact {}

/// Something that is affected.
#[derive(Serialize, JsonSchema)]
struct Hit {
    /// The reference id.
    reference_id: String,
    /// What it is.
    kind: Kind,
    /// The title, or the beginning of a criterion's text.
    title: String,
    /// The status.
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<String>,
    /// How many steps away it is.
    depth: i64,
    /// The last step, as a sentence: `REQ-002 depends_on REQ-001`.
    because: String,
    /// The reference ids on the way, from what changes to this.
    way: Vec<String>,
    /// Whether the relationship of the last step is suspect.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    suspect: bool,
}

const DEPTH: i64 = 3;
/// How much is named at most.
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
        let mut counts = BTreeMap::new();
        for hit in &found.hits {
            *counts.entry(hit.kind.name()).or_default() += 1;
        }
        found.suspects.sort_unstable();
        found.suspects.dedup();
        Ok(Impact {
            title: words::cut(root.label(), 500).to_owned(),
            reference_id: root.reference_id,
            kind: root.kind,
            depth,
            counts,
            affected: found.hits,
            truncated: found.truncated,
            suspect_links: found.suspects,
        })
    }
}

/// What was found so far. Everything is found once, on a shortest way.
struct Found {
    hits: Vec<Hit>,
    /// The way to everything that was found, by id.
    ways: HashMap<String, Vec<String>>,
    suspects: Vec<String>,
    truncated: bool,
}

impl Found {
    fn start(root: &Entity) -> Found {
        let ways = HashMap::from([(root.id.clone(), vec![root.reference_id.clone()])]);
        Found { hits: Vec::new(), ways, suspects: Vec::new(), truncated: false }
    }

    /// Takes one step from everything at the edge, and returns the new edge.
    fn follow(&mut self, cx: &mut Cx<'_, '_>, edge: &[String], depth: i64) -> Result<Vec<String>> {
        let mut next = Vec::new();
        for batch in edge.chunks(BATCH) {
            let ids: Vec<&str> = batch.iter().map(String::as_str).collect();
            // A statement that brings more than can be named has cut something off.
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
        self.ways.insert(id, way.clone());
        self.hits.push(Hit {
            reference_id: entity.reference_id,
            kind: entity.kind,
            title: entity.title,
            status: entity.status,
            depth,
            because,
            way,
            suspect: step.suspect_id.is_some(),
        });
    }
}
