//! What an import writes, in an order in which it can be written in slices: whatever a thing needs comes before it.

use std::ops::Range;

use store::{prompt, relationship};

use super::entities::{self, Brought};
use super::links::{self, Links};
use super::plan::{Plan, Planned};
use super::prompts::{self, Prompts};
use super::remarks::{self, Remarks};
use super::setup::{self, Setup};
use crate::context::Cx;
use crate::error::Result;

/// What the rows of a file do. Writing changes nothing here but numbers and references, so that a slice can be written again
/// when another transaction was faster.
pub(super) struct Work {
    setup: Setup,
    /// Everything that rows are or name.
    entities: Vec<Planned>,
    /// Those that are written.
    changed: Vec<usize>,
    brought: Brought,
    links: Links,
    remarks: Remarks,
    prompts: Prompts,
    /// What each row's thing is called here, where that is known.
    pub references: Vec<Option<String>>,
}

impl Work {
    /// Decides what the rows do. What is wrong with them is noted in the plan.
    pub fn decide(cx: &mut Cx<'_, '_>, plan: &mut Plan<'_>) -> Result<Work> {
        let setup = setup::plan(cx, plan)?;
        entities::plan(cx, plan)?;
        let links = links::plan(cx, plan)?;
        let remarks = remarks::plan(cx, plan)?;
        let prompts = prompts::plan(cx, plan)?;
        let entities = std::mem::take(&mut plan.entities);
        let references = std::mem::take(&mut plan.references);
        let (changed, brought) = (entities::changed(&entities), entities::brought(&entities));
        Ok(Work { setup, entities, changed, brought, links, remarks, prompts, references })
    }

    /// How many steps there are.
    pub fn len(&self) -> usize {
        self.changed.len() + self.links.len() + self.remarks.len() + usize::from(!self.prompts.is_empty())
    }

    /// Does some of the steps. With the first goes what administrators look after.
    pub fn write(&mut self, cx: &mut Cx<'_, '_>, steps: Range<usize>) -> Result<()> {
        if steps.start == 0 {
            if self.setup.has_relationship_types() {
                relationship::lock_types(cx.tx)?;
            }
            self.setup.write(cx)?;
            entities::reserve(cx, &self.brought)?;
        }
        let mut before = 0;
        let mut within = |len: usize| {
            let start = steps.start.clamp(before, before + len) - before;
            let end = steps.end.clamp(before, before + len) - before;
            before += len;
            start..end
        };
        let indexes = &self.changed[within(self.changed.len())];
        entities::write(cx, &mut self.entities, indexes, &self.brought)?;
        for index in indexes {
            let Planned { row, entity, .. } = &self.entities[*index];
            if let Some(row) = row {
                self.references[*row] = Some(entity.reference_id.clone());
            }
        }
        let range = within(self.links.len());
        self.links.check_unchanged(cx, &range)?;
        self.links.write(cx, &self.entities, range)?;
        self.remarks.write(cx, &self.entities, within(self.remarks.len()))?;
        let has_prompts = usize::from(!self.prompts.is_empty());
        if !within(has_prompts).is_empty() {
            prompt::lock_active(cx.tx)?;
            self.prompts.write(cx, &mut self.references)?;
        }
        Ok(())
    }
}
