//! Imports relationships between requirements, and links of steering documents with epics.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::Range;

use ::exchange::Kind as RecordKind;
use store::circles;
use store::entity::{self, Entity};
use store::model::{Kind, Reference};
use store::relationship::{self, Relationship};
use store::types::same_name;

use super::notes::{Kept, TAKEN, is_of_another};
use super::plan::{Outcome, Plan, Planned};
use crate::context::{Cx, overtaken};
use crate::error::Result;
use crate::relationship::{LEFT_OUT, circle, shortened};
use crate::steering::change_link;

/// What will be written.
#[derive(Default)]
pub(super) struct Links {
    /// New ones, with their ends as indexes of the plan.
    relationships: Vec<(Relationship, usize, usize)>,
    /// Stored ones that hold for another version of their target from now on.
    confirmed: Vec<(Relationship, i64)>,
    /// Epics and documents, as indexes of the plan.
    documents: Vec<(usize, usize)>,
    /// How many relationships each project had where circles were looked for: all, and those that are not deleted.
    counts: BTreeMap<String, (i64, i64)>,
}

/// Decides what the rows do.
pub(super) fn plan(cx: &mut Cx<'_, '_>, plan: &mut Plan<'_>) -> Result<Links> {
    let mut links = Links::default();
    links.relate(cx, plan)?;
    links.link(cx, plan)?;
    Ok(links)
}

impl Links {
    fn relate(&mut self, cx: &mut Cx<'_, '_>, plan: &mut Plan<'_>) -> Result<()> {
        let mut seen = HashSet::new();
        let mut ids = HashSet::new();
        let mut directed = Vec::new();
        for row in plan.rows(RecordKind::Relationship) {
            cx.steps.advance();
            let source = plan.named(cx, row, "source", Some(Kind::Requirement))?;
            let target = plan.named(cx, row, "target", Some(Kind::Requirement))?;
            let wanted = plan.text(row, "type").unwrap_or_default();
            let kind = plan.relationship_types.iter().find(|known| same_name(&known.name, wanted)).cloned();
            if kind.is_none() {
                let known: Vec<&str> =
                    plan.relationship_types.iter().map(|known| known.name.as_str()).collect();
                plan.wrong(row, "type", format!("expected one of {}, found {wanted:?}", known.join(", ")));
            }
            let given_id = plan.id(row);
            let told = plan.records[row].number("target_version");
            if let Some(told) = told.filter(|told| *told < 1) {
                plan.wrong(row, "target_version", format!("expected at least 1, found {told}"));
            }
            let stored = match (source, target, &kind) {
                (Some(source), Some(target), Some(kind)) => {
                    match (&plan.entities[source].before, &plan.entities[target].before) {
                        (Some(from), Some(to)) => relationship::between(cx.tx, &from.id, &to.id, &kind.id)?,
                        _ => None,
                    }
                }
                _ => None,
            };
            if let Some(stored) = &stored
                && plan.is_done(&stored.id)
            {
                continue;
            }
            let (creator_id, created_at) = match &stored {
                Some(stored) => {
                    keep(cx, plan, row, stored, given_id.as_deref())?;
                    (stored.creator_id.clone(), stored.created_at)
                }
                None => {
                    let made = plan.made(cx, row, "creator")?;
                    (made.by_id, made.created_at)
                }
            };
            let (Some(source), Some(target), Some(kind)) = (source, target, kind) else { continue };
            let (from, to) = (&plan.entities[source], &plan.entities[target]);
            let (from, to) = (from.entity.clone(), to.entity.clone());
            if from.id == to.id {
                plan.wrong(row, "target", "a requirement cannot be related to itself");
                continue;
            }
            if from.project_id != to.project_id {
                let message = format!("{} is in another project than {}", to.reference_id, from.reference_id);
                plan.wrong(row, "target", message);
                continue;
            }
            if !seen.insert((from.id.clone(), to.id.clone(), kind.id.clone())) {
                plan.wrong(row, "target", "this relationship is in the file twice");
                continue;
            }
            if plan.is_wrong(row) {
                continue;
            }
            // The target may have had more versions where the file comes from.
            let latest = plan.entities[target].version_after();
            let target_version = told.unwrap_or(latest).min(latest);
            if let Some(told) = told.filter(|told| *told > latest) {
                let name = plan.name(cx, &to.id)?;
                let example = format!("{name} has {latest}, and the file says {told}");
                plan.note(row, "target_version", "is taken for the version that the target has", example);
            }
            if let Some(stored) = stored {
                let holds_for = if stored.suspect {
                    stored.target_version
                } else {
                    stored.target_version.max(to.version)
                };
                if told.is_some() && target_version != holds_for {
                    plan.decide(row, Outcome::Updated);
                    self.confirmed.push((stored, target_version));
                }
                continue;
            }
            let id = match given_id {
                Some(id) => match relationship::find(cx.tx, &id)? {
                    Some(other) => {
                        // What is hidden from the caller can have it, too, but they are not told.
                        if cx.role_in(&other.project_id)?.is_some() {
                            plan.note(row, "id", TAKEN, format!("{} has it", name(&other)));
                        }
                        plan.new_id(row)
                    }
                    None if ids.insert(id.clone()) => id,
                    None => {
                        plan.note(row, "id", TAKEN, "another row has it");
                        plan.new_id(row)
                    }
                },
                None => plan.new_id(row),
            };
            if kind.acyclic {
                directed.push(Directed {
                    row,
                    source: from.id.clone(),
                    target: to.id.clone(),
                    project_id: from.project_id.clone(),
                    type_name: kind.name.clone(),
                });
            }
            plan.decide(row, Outcome::Created);
            let new = Relationship {
                id,
                project_id: from.project_id,
                source_id: from.id,
                source: from.reference_id,
                target_id: to.id,
                target: to.reference_id,
                type_id: kind.id,
                type_name: kind.name,
                inverse_type: kind.inverse_name,
                creator_id,
                target_version,
                suspect: target_version < latest,
                version: 1,
                created_at,
                updated_at: created_at,
                deleted_at: None,
                deletion_id: None,
            };
            self.relationships.push((new, source, target));
        }
        let projects: BTreeSet<&String> = directed.iter().map(|new| &new.project_id).collect();
        for project in projects {
            self.counts.insert(project.clone(), relationship::count_in(cx.tx, project)?);
        }
        refuse_circles(cx, plan, directed)
    }

    fn link(&mut self, cx: &mut Cx<'_, '_>, plan: &mut Plan<'_>) -> Result<()> {
        let rows = plan.rows(RecordKind::SteeringLink);
        let mut linked: HashSet<(String, String)> = HashSet::new();
        if !rows.is_empty() {
            for project in plan.projects.values() {
                linked.extend(entity::links_of_project(cx.tx, &project.id)?);
            }
        }
        for row in rows {
            cx.steps.advance();
            let epic = plan.named(cx, row, "epic", Some(Kind::Epic))?;
            let document = plan.named(cx, row, "steering_document", Some(Kind::SteeringDocument))?;
            let (Some(epic_index), Some(document_index)) = (epic, document) else { continue };
            let (epic, document) = (&plan.entities[epic_index].entity, &plan.entities[document_index].entity);
            if epic.project_id != document.project_id {
                let message =
                    format!("{} is in another project than {}", document.reference_id, epic.reference_id);
                plan.wrong(row, "steering_document", message);
                continue;
            }
            if linked.insert((epic.id.clone(), document.id.clone())) {
                plan.decide(row, Outcome::Created);
                self.documents.push((epic_index, document_index));
            }
        }
        Ok(())
    }

    /// How many things are written.
    pub fn len(&self) -> usize {
        self.confirmed.len() + self.relationships.len() + self.documents.len()
    }

    /// Writes some of what was decided: confirmations first, then relationships, then links of documents.
    pub fn write(&self, cx: &mut Cx<'_, '_>, entities: &[Planned], range: Range<usize>) -> Result<()> {
        let mut range = range;
        for (before, target_version) in taken(&self.confirmed, &mut range) {
            let target = entity::find(cx.tx, &Reference::Id(before.target_id.clone()))?;
            let suspect = target.is_some_and(|target| target.content_version > *target_version);
            crate::relationship::confirm(cx, before, *target_version, suspect)?;
            cx.steps.advance();
        }
        for (new, source, target) in taken(&self.relationships, &mut range) {
            // What is new has its number only now.
            let mut new = new.clone();
            new.source = entities[*source].entity.reference_id.clone();
            new.target = entities[*target].entity.reference_id.clone();
            crate::relationship::add(cx, new)?;
            cx.steps.advance();
        }
        for (epic, document) in taken(&self.documents, &mut range) {
            let epic = Entity { version: entities[*epic].version_after(), ..entities[*epic].entity.clone() };
            change_link(cx, &epic, &entities[*document].entity, true)?;
            cx.steps.advance();
        }
        Ok(())
    }

    /// Refuses to go on if others have added or restored relationships since circles were looked for: together with those
    /// that are still to be written, they could close one.
    pub fn check_unchanged(&self, cx: &mut Cx<'_, '_>, range: &Range<usize>) -> Result<()> {
        let n_before = range.start.saturating_sub(self.confirmed.len()).min(self.relationships.len());
        let n_after = range.end.saturating_sub(self.confirmed.len()).min(self.relationships.len());
        if n_before == n_after {
            return Ok(());
        }
        for (project_id, (n_all, n_live)) in &self.counts {
            relationship::lock_circles(cx.tx, project_id)?;
            let written = self.relationships[..n_before].iter();
            let n_written = written.filter(|(new, ..)| new.project_id == *project_id).count() as i64;
            let (all_now, live_now) = relationship::count_in(cx.tx, project_id)?;
            if all_now != n_all + n_written || live_now > n_live + n_written {
                return Err(overtaken("a relationship"));
            }
        }
        Ok(())
    }
}

/// The items that a range begins with. What is left of the range is about what comes after all items.
fn taken<'a, T>(items: &'a [T], range: &mut Range<usize>) -> &'a [T] {
    let (start, end) = (range.start.min(items.len()), range.end.min(items.len()));
    *range = range.start.saturating_sub(items.len())..range.end.saturating_sub(items.len());
    &items[start..end]
}

/// Notes what a row says otherwise about a relationship that is there.
fn keep(
    cx: &mut Cx<'_, '_>,
    plan: &mut Plan<'_>,
    row: usize,
    stored: &Relationship,
    given_id: Option<&str>,
) -> Result<()> {
    let name = name(stored);
    if let Some(id) = given_id.filter(|id| *id != stored.id) {
        // A deleted one may be this very relationship before it was made anew.
        match relationship::find(cx.tx, id)?.filter(|other| other.deleted_at.is_none()) {
            Some(other) if cx.role_in(&other.project_id)?.is_some() => {
                plan.wrong(row, "id", is_of_another(&self::name(&other), &name))
            }
            _ => plan.note_unchanged(row, "id", &name, &stored.id, id),
        }
    }
    let (maker_id, created_at) = (Some(stored.creator_id.as_str()), stored.created_at);
    plan.note_kept(cx, row, &Kept { name: &name, maker: "creator", maker_id, created_at })
}

fn name(known: &Relationship) -> String {
    format!("{} {} {}", known.source, known.type_name, known.target)
}

/// A new relationship that must not close a circle; its ends are ids.
struct Directed {
    row: usize,
    source: String,
    target: String,
    project_id: String,
    type_name: String,
}

/// Notes the rows that would close a circle, together with each other or with what is stored.
fn refuse_circles(cx: &mut Cx<'_, '_>, plan: &mut Plan<'_>, directed: Vec<Directed>) -> Result<()> {
    // In order, so that two imports do not wait for each other.
    let projects: BTreeSet<&String> = directed.iter().map(|new| &new.project_id).collect();
    let mut targets: HashMap<String, Vec<String>> = HashMap::new();
    for project in projects {
        if plan.import.writes {
            relationship::lock_circles(cx.tx, project)?;
        }
        for (source, target) in relationship::acyclic_of_project(cx.tx, project)? {
            targets.entry(source).or_default().push(target);
        }
    }
    let mut all = targets.clone();
    for new in &directed {
        all.entry(new.source.clone()).or_default().push(new.target.clone());
    }
    let of = |targets: &HashMap<String, Vec<String>>, id: &String| -> Result<Vec<String>> {
        Ok(targets.get(id).cloned().unwrap_or_default())
    };
    if circles::find(all.keys().cloned(), |id| of(&all, id))?.is_none() {
        return Ok(());
    }
    for Directed { row, source, target, type_name, .. } in directed {
        let way = circles::way(target.clone(), source.clone(), |id| of(&targets, id))?;
        let Some(way) = way else {
            targets.entry(source).or_default().push(target);
            continue;
        };
        // A file may close a circle in every row; what is not listed needs no names.
        if !plan.lists_more() {
            plan.wrong(row, "target", "");
            continue;
        }
        let mut named = Vec::new();
        for step in shortened(way) {
            named.push(if step == LEFT_OUT { step } else { plan.name(cx, &step)? });
        }
        let (source, target) = (plan.name(cx, &source)?, plan.name(cx, &target)?);
        plan.wrong(row, "target", circle(&source, &type_name, &target, named));
    }
    Ok(())
}
