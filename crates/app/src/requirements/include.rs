//! Optional parts of an answer: the parents, children and relationships of an entity, the texts of entities in a list, and
//! details that
//! are left out otherwise.

use mcp::{Context, Failure};
use ops::known;
use serde_json::{Map, Value, json};

use super::budget::PageWindow;
use super::{Requirements, budget, slim};

/// What `get_entity` can include.
pub const PARTS: [&str; 5] = ["parents", "children", "relationships", "comments", "history"];
/// The texts of entities in a list.
const TEXT: &str = "text";
/// All fields: UUIDs, times, project, creator.
const DETAILS: &str = "details";

/// The requested parts.
#[derive(Debug, Default)]
pub struct Include {
    /// The surroundings of an entity.
    pub parts: Vec<String>,
    /// The texts of entities in a list.
    pub text: bool,
    /// The details.
    pub details: bool,
}

/// The schema of the argument.
pub fn schema(with_surroundings: bool) -> Value {
    let parts = PARTS.iter().filter(|_| with_surroundings);
    let choices: Vec<&str> =
        parts.copied().chain((!with_surroundings).then_some(TEXT)).chain([DETAILS]).collect();
    json!({ "type": "array", "items": { "type": "string", "enum": choices } })
}

impl Include {
    /// Takes the requested parts out of the arguments.
    pub fn take(arguments: &mut Map<String, Value>) -> Include {
        let wanted = arguments.shift_remove("include").unwrap_or_default();
        let mut include = Include::default();
        for name in wanted.as_array().into_iter().flatten().filter_map(Value::as_str) {
            match name {
                TEXT => include.text = true,
                DETAILS => include.details = true,
                part if include.parts.iter().all(|known| known != part) => {
                    include.parts.push(part.to_owned())
                }
                _ => {}
            }
        }
        include
    }
}

/// The surroundings of an entity, by part. They share the budget.
pub fn around(
    server: &Requirements,
    context: &Context<'_>,
    entity: &Value,
    include: &Include,
    max_tokens: usize,
) -> Result<Vec<(String, Value)>, Failure> {
    let window = PageWindow::of(max_tokens / include.parts.len().max(1));
    let mut around = Vec::new();
    let reference = entity["id"].clone();
    let kind = entity["kind"].as_str().unwrap_or_default().to_owned();
    for part in &include.parts {
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
        let value = if include.details { value } else { slim::things(value, false, include) };
        let mut value = window.page("data", "/total_count", value);
        // These lists are not paged; there are separate tools for them.
        if let Some(value) = value.as_object_mut()
            && value.shift_remove("nextCursor").is_some()
        {
            let more = match part.as_str() {
                "children" => format!("use {}", known::LIST_ENTITIES.name),
                "history" => format!("use {}", known::GET_HISTORY.name),
                _ => budget::HIGHER.to_owned(),
            };
            value.insert(budget::MORE.into(), json!(more));
        }
        around.push((part.clone(), value));
    }
    Ok(around)
}

/// The children of an entity.
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
