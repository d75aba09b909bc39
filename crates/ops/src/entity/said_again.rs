//! Confirms suspect links whose target returns to the text that they were confirmed for.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use store::entity::{Entity, FIELDS};
use store::{relationship, revision};

use crate::context::Cx;
use crate::error::Result;
use crate::relationship::confirm;

/// A text with more changes than this since a link was confirmed is not compared.
const STEPS_MAX: i64 = 1_000;

/// Confirms the suspect links to a changed requirement, if its text and type equal those of the version
/// that a link was confirmed for.
pub(super) fn settle(cx: &mut Cx<'_, '_>, target: &Entity) -> Result<()> {
    let suspects = relationship::suspects_to(cx.tx, &target.id)?;
    let Some(oldest) = suspects.iter().map(|link| link.target_version).min() else { return Ok(()) };
    let now = said(target);
    let mut then = now.clone();
    // Whether each version equals the current state of the target.
    let mut is_same: BTreeMap<i64, bool> = BTreeMap::new();
    revision::each_after(cx.tx, &target.id, oldest, STEPS_MAX, |version, changes| {
        let changes: Map<String, Value> = serde_json::from_str(changes).unwrap_or_default();
        for (name, said) in &mut then {
            if let Some(pair) = changes.get(*name) {
                *said = pair[0].clone();
            }
        }
        is_same.insert(version - 1, then == now);
    })?;
    for link in suspects {
        if is_same.get(&link.target_version) == Some(&true) {
            confirm(cx, &link, target.version, false)?;
        }
    }
    Ok(())
}

/// The text and type of a target in its history.
fn said(target: &Entity) -> BTreeMap<&'static str, Value> {
    let fields = FIELDS.iter().filter(|field| field.nature.makes_suspect);
    let type_id = target.type_id.clone().map_or(Value::Null, Value::String);
    fields.map(|field| (field.name, field.json(target))).chain([("type_id", type_id)]).collect()
}
