//! What `get_entity` brings along when it is asked to: what is above, below and beside an entity.

use mcp::{Context, Failure};
use ops::known;
use serde_json::{Map, Value, json};

use super::Requirements;
use super::budget::{TOKENS, Window};

/// What can be brought along.
const PARTS: [&str; 5] = ["parents", "children", "relationships", "comments", "history"];

/// The schema of the argument.
pub fn schema() -> Value {
    json!({ "type": "array", "items": { "type": "string", "enum": PARTS } })
}

/// Takes what shall be brought along out of the arguments.
pub fn take(arguments: &mut Map<String, Value>) -> Vec<String> {
    let wanted = arguments.shift_remove("include").unwrap_or_default();
    let names = wanted.as_array().into_iter().flatten().filter_map(Value::as_str);
    let mut parts: Vec<String> = Vec::new();
    for name in names {
        if !parts.iter().any(|known| known == name) {
            parts.push(name.to_owned());
        }
    }
    parts
}

/// Adds what is wanted to an entity. The parts share the budget of a list; the entity itself is whole.
pub fn add(
    server: &Requirements,
    context: &Context<'_>,
    entity: &mut Value,
    parts: &[String],
) -> Result<(), Failure> {
    let window = Window::of(TOKENS / parts.len().max(1));
    let reference = entity["id"].clone();
    let kind = entity["kind"].as_str().unwrap_or_default().to_owned();
    for part in parts {
        let value = match part.as_str() {
            "parents" => {
                let mut way = server.call(known::GET_PATH, json!({ "reference": reference }), context)?;
                match way["path"].take() {
                    Value::Array(mut path) => {
                        path.pop();
                        json!({ "data": path, "total_count": path.len() })
                    }
                    _ => continue,
                }
            }
            "children" => children(server, context, &kind, &reference)?,
            "relationships" if kind == "requirement" => {
                let arguments = json!({ "requirement_id": reference, "limit": 100 });
                server.call(known::LIST_RELATIONSHIPS, arguments, context)?
            }
            "comments" if kind != "steering_document" => {
                server.call(known::LIST_COMMENTS, json!({ "reference": reference, "limit": 100 }), context)?
            }
            "history" => server.call(known::GET_HISTORY, json!({ "reference": reference }), context)?,
            _ => json!({ "data": [], "total_count": 0 }),
        };
        let mut value = window.page("data", "/total_count", value);
        // There is nothing to turn pages with here; the lists have tools of their own.
        if let Some(value) = value.as_object_mut() {
            value.shift_remove("nextCursor");
        }
        entity[part.as_str()] = value;
    }
    Ok(())
}

/// What is directly below an entity.
fn children(
    server: &Requirements,
    context: &Context<'_>,
    kind: &str,
    reference: &Value,
) -> Result<Value, Failure> {
    let below: &[(&str, &str)] = match kind {
        "epic" => &[("user_story", "epic_id"), ("steering_document", "epic_id")],
        "user_story" => &[("acceptance_criteria", "user_story_id"), ("requirement", "user_story_id")],
        "acceptance_criteria" => &[("requirement", "acceptance_criteria_id")],
        "steering_document" => &[("epic", "steering_document_id")],
        _ => &[],
    };
    let mut data = Vec::new();
    let mut total = 0;
    for (kind, filter) in below {
        let mut arguments = json!({ "kind": kind, "limit": 100 });
        arguments[*filter] = reference.clone();
        let mut page = server.call(known::LIST_ENTITIES, arguments, context)?;
        total += page["total_count"].as_i64().unwrap_or_default();
        if let Value::Array(items) = page["data"].take() {
            data.extend(items);
        }
    }
    Ok(json!({ "data": data, "total_count": total }))
}
