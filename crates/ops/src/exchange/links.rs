//! Imports relationships between requirements, and links of steering documents with epics.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use ::exchange::RecordKind;
use store::entity::{self, Entity};
use store::model::{Kind, Reference};
use store::relationship::{self, Relationship};
use store::types::{RelationshipType, same_name};

use super::acyclic::Directed;
use super::names::Names;
use super::notes::{Kept, TAKEN, is_of_another};
use super::plan::{Outcome, Plan};
use super::rows::Row;
use super::things::{Linked, Planned, Related};
use super::work::Written;
use crate::context::{Cx, overtaken};
use crate::error::Result;
use crate::steering::change_link;

/// The planned writes, as rows whose entities are on the shelf.
#[derive(Default)]
pub(super) struct Links {
    /// Stored relationships that are confirmed for another version of their target.
    confirmed: Vec<u32>,
    /// New ones.
    relationships: Vec<u32>,
    /// Links of documents.
    documents: Vec<u32>,
    /// The ranges of each project in the list of new relationships.
    places: BTreeMap<String, Vec<u32>>,
    /// How many relationships each project had when cycles were searched: in total, and existing ones.
    counts: BTreeMap<String, (i64, i64)>,
}

/// Plans the rows.
pub(super) fn plan(cx: &mut Cx<'_, '_>, plan: &mut Plan<'_>) -> Result<Links> {
    let mut links = Links::default();
    links.relate(cx, plan)?;
    links.link(cx, plan)?;
    Ok(links)
}

/// The relationships of a file while they are planned.
struct Relating {
    seen: Names,
    ids: Names,
    directed: Directed,
    /// The projects of acyclic relationships, sorted, so that two imports do not deadlock.
    projects: BTreeSet<String>,
}

impl Links {
    fn relate(&mut self, cx: &mut Cx<'_, '_>, plan: &mut Plan<'_>) -> Result<()> {
        let rows = plan.rows.of_kind(RecordKind::Relationship);
        let mut relating = Relating {
            seen: Names::with_room(rows.len()),
            ids: Names::with_room(rows.len()),
            directed: Directed::default(),
            projects: BTreeSet::new(),
        };
        plan.each_of(cx, &rows, |cx, plan, row| {
            cx.steps.advance();
            self.relate_row(cx, plan, row, &mut relating)
        })?;
        for project in &relating.projects {
            if plan.import.writes {
                relationship::lock_circles(cx.tx, project)?;
            }
            self.counts.insert(project.clone(), relationship::count_in(cx.tx, project)?);
        }
        relating.directed.refuse_circles(cx, plan, &relating.projects)
    }

    fn relate_row(
        &mut self,
        cx: &mut Cx<'_, '_>,
        plan: &mut Plan<'_>,
        row: &Row,
        relating: &mut Relating,
    ) -> Result<()> {
        let source = plan.named(cx, row, "source", Some(Kind::Requirement))?;
        let target = plan.named(cx, row, "target", Some(Kind::Requirement))?;
        let kind = relationship_type(plan, row);
        let given_id = plan.id(row);
        let told = row.number("target_version");
        if let Some(told) = told.filter(|told| *told < 1) {
            plan.wrong(row, "target_version", format!("expected at least 1, found {told}"));
        }
        let stored = match (&source, &target, &kind) {
            (Some(source), Some(target), Some(kind)) => match (&source.before, &target.before) {
                (Some(from), Some(to)) => relationship::between(cx.tx, &from.id, &to.id, &kind.id)?,
                _ => None,
            },
            _ => None,
        };
        if stored.as_ref().is_some_and(|stored| plan.is_done(&stored.id)) {
            return Ok(());
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
        let (Some(source), Some(target), Some(kind)) = (source, target, kind) else { return Ok(()) };
        let (from, to) = (&source.entity, &target.entity);
        if from.id == to.id {
            plan.wrong(row, "target", "a requirement cannot be related to itself");
        } else if from.project_id != to.project_id {
            let message = format!("{} is in another project than {}", to.reference_id, from.reference_id);
            plan.wrong(row, "target", message);
        } else if relating.seen.insert(&format!("{} {} {}", from.id, to.id, kind.id), row.index).is_some() {
            plan.wrong(row, "target", "this relationship is in the file twice");
        }
        if plan.is_wrong(row) {
            return Ok(());
        }
        let target_version = target_version(cx, plan, row, &target)?;
        if let Some(stored) = stored {
            let latest = stored.target_version.max(to.version);
            let holds_for = if stored.suspect { stored.target_version } else { latest };
            if told.is_some() && target_version != holds_for {
                plan.decide(row, Outcome::Updated);
                self.confirmed.push(row.index as u32);
                plan.items.put(row.index, &Related::confirmed(stored, target_version))?;
            }
            return Ok(());
        }
        let id = free_id(cx, plan, row, given_id, &mut relating.ids)?;
        if kind.acyclic {
            relating.directed.add(row.index, &from.id, &to.id);
            relating.projects.insert(from.project_id.clone());
        }
        plan.decide(row, Outcome::Created);
        let new = Relationship {
            id,
            project_id: from.project_id.clone(),
            source_id: from.id.clone(),
            source: from.reference_id.clone(),
            target_id: to.id.clone(),
            target: to.reference_id.clone(),
            type_id: kind.id,
            type_name: kind.name,
            inverse_type: kind.inverse_name,
            creator_id,
            target_version,
            suspect: target_version < target.version_after(),
            version: 1,
            created_at,
            updated_at: created_at,
            deleted_at: None,
            deletion_id: None,
        };
        let places = self.places.entry(new.project_id.clone()).or_default();
        places.push(self.relationships.len() as u32);
        self.relationships.push(row.index as u32);
        let related =
            Related { relationship: new, confirmed: None, source_row: source.row, target_row: target.row };
        plan.items.put(row.index, &related)
    }

    fn link(&mut self, cx: &mut Cx<'_, '_>, plan: &mut Plan<'_>) -> Result<()> {
        let rows = plan.rows.of_kind(RecordKind::SteeringLink);
        let mut linked = Names::with_room(rows.len());
        plan.each_of(cx, &rows, |cx, plan, row| {
            cx.steps.advance();
            let epic = plan.named(cx, row, "epic", Some(Kind::Epic))?;
            let document = plan.named(cx, row, "steering_document", Some(Kind::SteeringDocument))?;
            let (Some(epic), Some(document)) = (epic, document) else { return Ok(()) };
            let (from, to) = (&epic.entity, &document.entity);
            if from.project_id != to.project_id {
                let message = format!("{} is in another project than {}", to.reference_id, from.reference_id);
                plan.wrong(row, "steering_document", message);
                return Ok(());
            }
            let are_stored = epic.before.is_some() && document.before.is_some();
            if linked.insert(&format!("{} {}", from.id, to.id), row.index).is_some()
                || are_stored && entity::is_linked(cx.tx, from, &to.id)?
            {
                return Ok(());
            }
            plan.decide(row, Outcome::Created);
            self.documents.push(row.index as u32);
            let linked = Linked {
                epic: Entity { version: epic.version_after(), ..from.clone() },
                document: to.clone(),
                epic_row: epic.row,
                document_row: document.row,
            };
            plan.items.put(row.index, &linked)
        })
    }

    /// The number of writes.
    pub fn len(&self) -> usize {
        self.confirmed.len() + self.relationships.len() + self.documents.len()
    }

    /// Writes some of the plan: confirmations first, then relationships, then links of documents.
    pub fn write(&self, cx: &mut Cx<'_, '_>, written: &mut Written, range: Range<usize>) -> Result<()> {
        let mut range = range;
        for row in taken(&self.confirmed, &mut range) {
            let Related { relationship: before, confirmed, .. } = written.items.get(*row as usize)?;
            // Writing its target may have confirmed it, if the text returned to the confirmed one.
            let now = relationship::find(cx.tx, &before.id)?;
            if before.suspect && now.is_some_and(|now| !now.suspect && now.version == before.version + 1) {
                cx.steps.advance();
                continue;
            }
            let target = entity::find(cx.tx, &Reference::Id(before.target_id.clone()))?;
            let target_version = confirmed.unwrap_or(before.target_version);
            let suspect = target.is_some_and(|target| target.content_version > target_version);
            crate::relationship::confirm(cx, &before, target_version, suspect)?;
            cx.steps.advance();
        }
        for row in taken(&self.relationships, &mut range) {
            let Related { relationship: mut new, source_row, target_row, .. } =
                written.items.get(*row as usize)?;
            // New entities have their numbers only now.
            new.source = written.reference_of(source_row, new.source)?;
            new.target = written.reference_of(target_row, new.target)?;
            crate::relationship::add(cx, new)?;
            cx.steps.advance();
        }
        for row in taken(&self.documents, &mut range) {
            let Linked { mut epic, mut document, epic_row, document_row } =
                written.items.get(*row as usize)?;
            epic.reference_id = written.reference_of(epic_row, epic.reference_id)?;
            document.reference_id = written.reference_of(document_row, document.reference_id)?;
            change_link(cx, &epic, &document, true)?;
            cx.steps.advance();
        }
        Ok(())
    }

    /// Stops if others have added or restored relationships since cycles were searched: together with those
    /// still to be written, they could close one.
    pub fn check_unchanged(&self, cx: &mut Cx<'_, '_>, range: &Range<usize>) -> Result<()> {
        let n_before = range.start.saturating_sub(self.confirmed.len()).min(self.relationships.len());
        let n_after = range.end.saturating_sub(self.confirmed.len()).min(self.relationships.len());
        if n_before == n_after {
            return Ok(());
        }
        for (project_id, (n_all, n_live)) in &self.counts {
            relationship::lock_circles(cx.tx, project_id)?;
            let places = self.places.get(project_id).map_or(&[][..], Vec::as_slice);
            let n_written = places.partition_point(|place| (*place as usize) < n_before) as i64;
            let (all_now, live_now) = relationship::count_in(cx.tx, project_id)?;
            if all_now != n_all + n_written || live_now > n_live + n_written {
                return Err(overtaken("a relationship"));
            }
        }
        Ok(())
    }
}

impl Related {
    fn confirmed(relationship: Relationship, target_version: i64) -> Related {
        Related { relationship, confirmed: Some(target_version), source_row: None, target_row: None }
    }
}

/// The items at the start of a range. The rest of the range is beyond all items.
fn taken<'a, T>(items: &'a [T], range: &mut Range<usize>) -> &'a [T] {
    let (start, end) = (range.start.min(items.len()), range.end.min(items.len()));
    *range = range.start.saturating_sub(items.len())..range.end.saturating_sub(items.len());
    &items[start..end]
}

/// The type in a row. An unknown one is a problem.
fn relationship_type(plan: &mut Plan<'_>, row: &Row) -> Option<RelationshipType> {
    let wanted = row.text("type").unwrap_or_default();
    let found = plan.relationship_types.iter().find(|known| same_name(&known.name, wanted)).cloned();
    if found.is_none() {
        let known: Vec<&str> = plan.relationship_types.iter().map(|known| known.name.as_str()).collect();
        plan.wrong(row, "type", format!("expected one of {}, found {wanted:?}", known.join(", ")));
    }
    found
}

/// The version of the target that a relationship is confirmed for. The source of the file may have had more versions.
fn target_version(cx: &mut Cx<'_, '_>, plan: &mut Plan<'_>, row: &Row, target: &Planned) -> Result<i64> {
    let (told, latest) = (row.number("target_version"), target.version_after());
    if let Some(told) = told.filter(|told| *told > latest) {
        let name = plan.name(cx, &target.entity.id)?;
        let example = format!("{name} has {latest}, and the file says {told}");
        plan.note(row, "target_version", "is taken for the version that the target has", example);
    }
    Ok(told.unwrap_or(latest).min(latest))
}

/// The id of a new relationship: the one in its row, if that is free.
fn free_id(
    cx: &mut Cx<'_, '_>,
    plan: &mut Plan<'_>,
    row: &Row,
    given_id: Option<String>,
    ids: &mut Names,
) -> Result<String> {
    let new_id = plan.new_id(row.index);
    let Some(id) = given_id else { return Ok(new_id) };
    if let Some(other) = relationship::find(cx.tx, &id)? {
        // A hidden relationship may have it, which the caller must not learn.
        if cx.role_in(&other.project_id)?.is_some() {
            plan.note(row, "id", TAKEN, format!("{} has it", name(&other)));
        }
        return Ok(new_id);
    }
    if ids.insert(&id, row.index).is_some() {
        plan.note(row, "id", TAKEN, "another row has it");
        return Ok(new_id);
    }
    Ok(id)
}

/// Notes where a row differs from the stored relationship.
fn keep(
    cx: &mut Cx<'_, '_>,
    plan: &mut Plan<'_>,
    row: &Row,
    stored: &Relationship,
    given_id: Option<&str>,
) -> Result<()> {
    let name = name(stored);
    if let Some(id) = given_id.filter(|id| *id != stored.id) {
        // A deleted one may be this very relationship before it was created again.
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
