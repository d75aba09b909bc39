//! Schemas of tools. Every listed word costs the agent tokens, so they are as short as possible: what the operation
//! validates itself, and what a name explains itself, is left out.

use ops::Shape;
use serde_json::{Map, Value, json};

/// The schema of some arguments: the name of each, its schema, and whether it is required.
pub fn input(arguments: Vec<(String, Value, bool)>) -> Value {
    let required: Vec<&String> =
        arguments.iter().filter(|(.., required)| *required).map(|(name, ..)| name).collect();
    let required = json!(required);
    let properties: Map<String, Value> =
        arguments.into_iter().map(|(name, schema, _)| (name, schema)).collect();
    let mut schema = json!({ "type": "object", "properties": properties });
    if required != json!([]) {
        schema["required"] = required;
    }
    schema["additionalProperties"] = json!(false);
    schema
}

/// The listed part of the schema of a tool's arguments: those that are named, or all. The common form of each is enough,
/// because more is accepted and the error for an invalid value explains what is valid.
pub fn listed(schema: &Value, names: Option<&[&str]>) -> Value {
    let required = schema["required"].as_array().map(Vec::as_slice).unwrap_or_default();
    let properties = schema["properties"].as_object().into_iter().flatten();
    let listed: Map<String, Value> = properties
        .filter(|(name, _)| names.is_none_or(|names| names.contains(&name.as_str())))
        .map(|(name, property)| {
            let is_explained = names.is_none() || required.iter().any(|required| required == name);
            (name.clone(), brief(property, is_explained))
        })
        .collect();
    let mut listed = json!({ "type": "object", "properties": listed });
    if !required.is_empty() {
        listed["required"] = json!(required);
    }
    listed
}

/// The type and the choices of an argument, with a description if needed.
fn brief(property: &Value, is_explained: bool) -> Value {
    let mut brief = Map::new();
    let kind = property["type"].as_array().map_or(&property["type"], |kinds| &kinds[0]);
    if kind.is_string() {
        brief.insert("type".into(), kind.clone());
    }
    match property.get("items") {
        Some(items) if kind == "array" => drop(brief.insert("items".into(), items.clone())),
        Some(items) => brief.extend(items.get("enum").map(|choices| ("enum".to_owned(), choices.clone()))),
        None => brief.extend(property.get("enum").map(|choices| ("enum".to_owned(), choices.clone()))),
    }
    let about = property.get("description").filter(|_| is_explained);
    brief.extend(about.map(|about| ("description".to_owned(), about.clone())));
    Value::Object(brief)
}

/// Arguments whose names are self-explanatory.
const PLAIN: &[&str] = &[
    "title",
    "description",
    "rationale",
    "labels",
    "label",
    "content",
    "status",
    "limit",
    "offset",
    "query",
    "reference",
    "kind",
    "epic_id",
    "user_story_id",
    "requirement_id",
    "acceptance_criteria_id",
    "steering_document_id",
    "prompt_id",
    "comment_id",
    "id",
    "name",
    "type",
    "depth",
    "relationship_type_id",
    "source_requirement_id",
    "target_requirement_id",
    "created_from",
    "created_to",
    "updated_from",
    "updated_to",
    "assignee",
    "creator",
    "include_deleted",
    "sort",
    "project",
    "group_by",
    "dry_run",
    "epic",
    "user_story",
    "role",
    "resolved",
    "author",
    "expected_version",
    "entity_types",
    "format",
];

/// The schema of an argument: its type and choices, and a sentence only if the name does not say enough.
pub fn argument(name: &str, property: &Value) -> Value {
    let mut short = Map::new();
    let about = property["description"].as_str().unwrap_or_default();
    let may_clear = about.contains("null") || about.contains("Null");
    let alternatives = ["anyOf", "oneOf"].iter().find_map(|keyword| property[*keyword].as_array());
    if let Some(alternatives) = alternatives {
        let mut kept: Vec<&Value> = alternatives.iter().filter(|one| one["type"] != "null").collect();
        if kept.len() == 1
            && let Some(only) = kept.pop()
        {
            return argument(name, only);
        }
        // Choices with descriptions become a plain list of their names.
        let names: Vec<&Value> = kept.iter().filter_map(|one| one.get("const")).collect();
        if names.len() == kept.len() {
            return json!({ "type": "string", "enum": names });
        }
    }
    match &property["type"] {
        Value::Array(types) if !may_clear => {
            let only = types.iter().find(|name| *name != "null").cloned().unwrap_or_default();
            short.insert("type".into(), only);
        }
        Value::Null => {}
        kind => {
            short.insert("type".into(), kind.clone());
        }
    }
    for keyword in ["enum", "minimum", "maximum"] {
        let fits =
            property.get(keyword).filter(|value| value.as_i64().is_none_or(|number| number.abs() <= 1_000));
        if let Some(value) = fits {
            let value = match value {
                Value::Array(values) => values.iter().filter(|value| !value.is_null()).cloned().collect(),
                other => other.clone(),
            };
            short.insert(keyword.into(), value);
        }
    }
    if let Some(items) = property.get("items") {
        let items = argument("", items);
        // Most calls have a single value.
        if let Some(kind) = items["type"].as_str().filter(|kind| *kind != "object") {
            let mut types = vec![kind, "array"];
            types.extend(may_clear.then_some("null"));
            short.insert("type".into(), json!(types));
        }
        short.insert("items".into(), items);
    }
    if !PLAIN.contains(&name) && !about.is_empty() {
        let sentence = about.split(". ").next().unwrap_or(about).trim_end_matches('.').replace('\n', " ");
        short.insert("description".into(), json!(sentence));
    }
    Value::Object(short)
}

/// The schema of an answer. Fields that may be cut or left out are not required.
pub fn output(mut schema: Value, shape: Shape) -> Value {
    if let Some(root) = schema.as_object_mut() {
        root.shift_remove("$schema");
        root.shift_remove("title");
    }
    relax(&mut schema);
    let mut more = vec![("truncated", json!({ "type": "boolean" }))];
    if let Shape::Page(..) = shape {
        more.push(("nextCursor", json!({ "type": "string" })));
        more.push(("remaining", json!({ "type": "integer" })));
    }
    for (name, property) in more {
        schema["properties"][name] = property;
    }
    schema
}

fn relax(schema: &mut Value) {
    match schema {
        Value::Object(keywords) => {
            // A property may have the keyword's name; then it is an object.
            if keywords.get("required").is_some_and(Value::is_array) {
                keywords.shift_remove("required");
            }
            keywords.values_mut().for_each(relax);
        }
        Value::Array(items) => items.iter_mut().for_each(relax),
        _ => {}
    }
}
