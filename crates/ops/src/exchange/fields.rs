//! The fields of entities in files: those of the store's table, as text or numbers.

use ::exchange::Record;
use serde_json::Value;
use store::entity::{Entity, FIELDS};

use super::plan::Plan;
use super::rows::Row;
use crate::entity::arguments::parsed;

/// Sets the fields of an entity from a row. Absent fields stay unchanged.
pub(super) fn read(plan: &mut Plan<'_>, row: &Row, entity: &mut Entity) {
    let kind = entity.kind;
    for field in FIELDS.iter().filter(|field| field.is_needed(kind).is_some()) {
        let number = row.number(field.name).map(|number| number.to_string());
        let Some(text) = row.text(field.name).map(str::to_owned).or(number) else { continue };
        if let Some(value) = plan.checked(row, field.name, parsed(kind, field.name, text)) {
            field.set(entity, &value);
        }
    }
}

/// Writes the fields of an entity. Commas separate the items of a list.
pub(super) fn write(record: &mut Record, entity: &Entity) {
    for field in FIELDS {
        match field.json(entity) {
            Value::String(text) => record.set(field.name, Some(text)),
            Value::Number(number) => record.set(field.name, number.as_i64()),
            Value::Array(texts) => {
                let texts: Vec<&str> = texts.iter().filter_map(Value::as_str).collect();
                record.set(field.name, Some(texts.join(", ")));
            }
            _ => {}
        }
    }
}
