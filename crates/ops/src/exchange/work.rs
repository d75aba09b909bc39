//! The writes of an import, in an order that can be split into slices: dependencies come first.

use std::collections::BTreeMap;
use std::ops::Range;

use ::exchange::RecordKind;
use store::entity::FIELDS;
use store::model::reference_id;
use store::{prompt, relationship};

use super::links::{self, Links};
use super::plan::{Brought, Plan};
use super::prompts::{self, Prompts};
use super::remarks::{self, Remarks};
use super::setup::{self, Setup};
use super::shelf::Items;
use super::things::{Planned, Remark};
use super::{entities, entities_written};
use crate::context::Cx;
use crate::error::Result;

/// How many entities are in memory while they are written.
const ENTITIES_AT_ONCE: usize = 100;

/// The planned writes of a file. Writing changes only numbers and references here, so that a slice can be written again
/// when another transaction was faster.
pub(super) struct Work {
    setup: Setup,
    /// The rows of the entities that are written.
    changed: Vec<u32>,
    brought: Brought,
    links: Links,
    remarks: Remarks,
    prompts: Prompts,
    written: Written,
    /// The names of entities that are not on the shelf.
    references: BTreeMap<usize, String>,
}

/// The entities that rows create, change or are about, and the assigned numbers.
pub(super) struct Written {
    pub items: Items,
    /// The numbers by row; zero where there is none yet.
    numbers: Vec<i64>,
}

impl Work {
    /// Plans the rows. Problems are reported in the plan.
    pub fn decide(cx: &mut Cx<'_, '_>, plan: &mut Plan<'_>) -> Result<Work> {
        let setup = setup::plan(cx, plan)?;
        entities::plan(cx, plan)?;
        let links = links::plan(cx, plan)?;
        let remarks = remarks::plan(cx, plan)?;
        let prompts = prompts::plan(cx, plan)?;
        let (items, references) = (std::mem::take(&mut plan.items), std::mem::take(&mut plan.references));
        let (changed, mut brought) = (std::mem::take(&mut plan.changed), std::mem::take(&mut plan.brought));
        brought.values_mut().for_each(|numbers| numbers.sort_unstable());
        let written = Written { items, numbers: vec![0; plan.rows.len()] };
        Ok(Work { setup, changed, brought, links, remarks, prompts, written, references })
    }

    /// How many steps there are.
    pub fn len(&self) -> usize {
        self.changed.len() + self.links.len() + self.remarks.len() + usize::from(!self.prompts.is_empty())
    }

    /// Does some of the steps. Projects, types and statuses are written with the first.
    pub fn write(&mut self, cx: &mut Cx<'_, '_>, steps: Range<usize>) -> Result<()> {
        if steps.start == 0 {
            if self.setup.has_relationship_types() {
                relationship::lock_types(cx.tx)?;
            }
            self.setup.write(cx)?;
            entities_written::reserve(cx, &self.brought)?;
        }
        let mut before = 0;
        let mut within = |len: usize| {
            let start = steps.start.clamp(before, before + len) - before;
            let end = steps.end.clamp(before, before + len) - before;
            before += len;
            start..end
        };
        for rows in self.changed[within(self.changed.len())].chunks(ENTITIES_AT_ONCE) {
            self.written.write_entities(cx, rows, &self.brought)?;
        }
        let range = within(self.links.len());
        self.links.check_unchanged(cx, &range)?;
        self.links.write(cx, &mut self.written, range)?;
        self.remarks.write(cx, &mut self.written, within(self.remarks.len()))?;
        let has_prompts = usize::from(!self.prompts.is_empty());
        if !within(has_prompts).is_empty() {
            prompt::lock_active(cx.tx)?;
            self.prompts.write(cx, &mut self.references)?;
        }
        Ok(())
    }

    /// The fields that a row changes, if it is an entity.
    pub fn changes(&mut self, row: usize, kind: RecordKind) -> Result<Vec<&'static str>> {
        if !entities::is_entity(kind) {
            return Ok(Vec::new());
        }
        let Planned { before, entity, aliases, .. } = self.written.items.get(row)?;
        let Some(before) = before else { return Ok(Vec::new()) };
        let fields =
            FIELDS.iter().filter(|field| field.json(&before) != field.json(&entity)).map(|field| field.name);
        let others = [
            ("status", before.status != entity.status),
            ("type", before.type_id != entity.type_id),
            ("assignee", before.assignee_id != entity.assignee_id),
            ("epic", before.epic_id != entity.epic_id),
            ("user_story", before.user_story_id != entity.user_story_id),
            ("acceptance_criteria", before.acceptance_criteria_id != entity.acceptance_criteria_id),
            ("aliases", !aliases.is_empty()),
        ];
        Ok(fields
            .chain(others.into_iter().filter(|(_, is_changed)| *is_changed).map(|(name, _)| name))
            .collect())
    }

    /// The name of the entity that a row changes, if known.
    pub fn reference(&mut self, row: usize, kind: RecordKind) -> Result<Option<String>> {
        if kind == RecordKind::Comment {
            let Remark { comment, .. } = self.written.items.get(row)?;
            return Ok(Some(comment.id));
        }
        if !entities::is_entity(kind) {
            return Ok(self.references.get(&row).cloned());
        }
        let reference = self.written.reference_of(Some(row), String::new())?;
        Ok(Some(reference).filter(|reference| !reference.is_empty()))
    }
}

impl Written {
    fn write_entities(&mut self, cx: &mut Cx<'_, '_>, rows: &[u32], brought: &Brought) -> Result<()> {
        let mut entities: Vec<Planned> =
            rows.iter().map(|row| self.items.get(*row as usize)).collect::<Result<_>>()?;
        entities_written::write(cx, &mut entities, brought)?;
        for (row, planned) in rows.iter().zip(&entities) {
            self.numbers[*row as usize] = planned.entity.number;
        }
        Ok(())
    }

    /// The name of a row's entity; what is known of it, if it is not in the file or has no number yet.
    pub fn reference_of(&mut self, row: Option<usize>, known: String) -> Result<String> {
        match row {
            Some(row) if known.is_empty() => {
                let Planned { entity, .. } = self.items.get(row)?;
                let number = self.numbers[row];
                let is_numbered = entity.number == 0 && number > 0;
                Ok(if is_numbered {
                    reference_id(&entity.project, entity.kind, number)
                } else {
                    entity.reference_id
                })
            }
            _ => Ok(known),
        }
    }
}
