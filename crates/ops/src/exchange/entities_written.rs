//! Writes the entities that an import creates or changes.

use std::collections::BTreeMap;

use store::model::Kind;

use super::aliases;
use super::plan::Brought;
use super::things::Planned;
use crate::context::{Cx, overtaken};
use crate::entity::{add, add_numbered, change, give_number};
use crate::error::Result;

/// Moves the counters past the numbers in the file, which are sorted.
pub(super) fn reserve(cx: &mut Cx<'_, '_>, brought: &Brought) -> Result<()> {
    for ((project_id, kind), numbers) in brought {
        cx.tx.reserve_numbers(project_id, kind.name(), numbers.last().copied().unwrap_or_default())?;
    }
    Ok(())
}

/// Writes entities, parents before children. Of new ones only the numbers change.
pub(super) fn write(cx: &mut Cx<'_, '_>, entities: &mut [Planned], brought: &Brought) -> Result<()> {
    number(cx, entities, brought)?;
    for planned in &mut *entities {
        match &planned.before {
            // Only external ids are new.
            Some(before) if *before == planned.entity => {}
            Some(before) => {
                let after = planned.entity.clone();
                change(cx, before.clone(), None, |_, entity| {
                    *entity = after;
                    Ok(())
                })?;
            }
            None if planned.brings_number => {
                if !add_numbered(cx, &planned.entity)? {
                    return Err(overtaken(&planned.entity.reference_id));
                }
            }
            None => planned.entity = add(cx, planned.entity.clone())?,
        }
        cx.steps.advance();
    }
    aliases::write(cx, entities)
}

/// Assigns numbers to new entities without one.
fn number(cx: &mut Cx<'_, '_>, entities: &mut [Planned], brought: &Brought) -> Result<()> {
    let mut missing: BTreeMap<(String, Kind), Vec<usize>> = BTreeMap::new();
    for (index, planned) in entities.iter().enumerate() {
        if planned.before.is_none() && !planned.brings_number {
            let key = (planned.entity.project_id.clone(), planned.entity.kind);
            missing.entry(key).or_default().push(index);
        }
    }
    for ((project_id, kind), mut indexes) in missing {
        indexes.reverse();
        let brought = brought.get(&(project_id.clone(), kind));
        // A block that was leased before may contain numbers of the file.
        while !indexes.is_empty() {
            for number in cx.next_numbers(&project_id, kind, indexes.len())? {
                if brought.is_none_or(|brought| brought.binary_search(&number).is_err())
                    && let Some(index) = indexes.pop()
                {
                    give_number(&mut entities[index].entity, number);
                }
            }
        }
    }
    Ok(())
}
