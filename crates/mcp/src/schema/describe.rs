//! Describes what a schema expects and what was found.

use serde_json::{Map, Value};

use super::has_type;
use crate::wording::{quoted, shown_value};

/// Describes what a schema expects: "an integer from 1 to 4".
pub fn describe(schema: &Map<String, Value>) -> String {
    if let Some(allowed) = schema.get("enum").and_then(Value::as_array) {
        return one_of(allowed);
    }
    if let Some(expected) = schema.get("const") {
        return expected.to_string();
    }
    let names: Vec<&str> = match schema.get("type") {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    names.into_iter().map(|name| describe_type(name, schema)).collect::<Vec<_>>().join(" or ")
}

/// The same, with the description of the schema: "an integer from 1 to 4: 1 critical, 2 high, 3 medium, 4 low".
pub fn describe_fully(schema: &Map<String, Value>) -> String {
    let expected = describe(schema);
    match schema.get("description").and_then(Value::as_str) {
        Some(about) if !expected.is_empty() => format!("{expected}: {about}"),
        _ => expected,
    }
}

fn describe_type(name: &str, schema: &Map<String, Value>) -> String {
    let limit = |keyword: &str| schema.get(keyword).map(Value::to_string);
    let range = |min: &str, max: &str, unit: &str| match (limit(min), limit(max)) {
        (Some(min), Some(max)) => format!(" of {min} to {max} {unit}"),
        (Some(min), None) => format!(" of at least {min} {unit}"),
        (None, Some(max)) => format!(" of at most {max} {unit}"),
        (None, None) => String::new(),
    };
    match name {
        "string" => format!("a string{}", range("minLength", "maxLength", "characters")),
        "array" => format!("an array{}", range("minItems", "maxItems", "items")),
        "object" => format!("an object{}", range("minProperties", "maxProperties", "members")),
        "boolean" => "true or false".into(),
        "null" => "null".into(),
        "integer" => format!("an integer{}", describe_bounds(schema)),
        _ => format!("a number{}", describe_bounds(schema)),
    }
}

fn describe_bounds(schema: &Map<String, Value>) -> String {
    if let (Some(min), Some(max)) = (schema.get("minimum"), schema.get("maximum")) {
        return format!(" from {min} to {max}");
    }
    let words = [
        ("minimum", "at least"),
        ("exclusiveMinimum", "above"),
        ("maximum", "at most"),
        ("exclusiveMaximum", "below"),
        ("multipleOf", "divisible by"),
    ];
    let bounds: Vec<String> = words
        .into_iter()
        .filter_map(|(keyword, word)| schema.get(keyword).map(|limit| format!(" {word} {limit}")))
        .collect();
    bounds.join(",")
}

/// Describes what was found, or its length if that was wrong.
pub fn measured(schema: &Map<String, Value>, value: &Value) -> String {
    match value {
        Value::String(text) if has_type(schema.get("type").unwrap_or(&Value::Null), value) => {
            match text.chars().count() {
                0 => "an empty string".into(),
                n => format!("{n} characters"),
            }
        }
        Value::Array(items) => format!("an array of {} items", items.len()),
        other => shown_value(other),
    }
}

pub fn one_of(allowed: &[Value]) -> String {
    let shown = |value: &Value| value.as_str().map(quoted).unwrap_or_else(|| value.to_string());
    match allowed {
        [only] => shown(only),
        several => format!("one of {}", several.iter().map(shown).collect::<Vec<_>>().join(", ")),
    }
}
