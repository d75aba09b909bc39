//! Completes what is being typed: ids, statuses, priorities and types.

use mcp::{Completion, CompletionReference, Context, Failure};
use serde_json::{Value, json};

use super::Requirements;

/// How many suggestions are given.
const SUGGESTIONS: i64 = 100;

/// Values that begin with what was typed.
pub fn complete(
    server: &Requirements,
    context: &Context<'_>,
    reference: &CompletionReference,
    completion: &Completion,
) -> Result<Vec<String>, Failure> {
    let kind = match (completion.name.as_str(), reference) {
        ("epic_id", _) => "epic",
        ("user_story_id", _) => "user_story",
        ("requirement_id", _) => "requirement",
        ("priority", _) => return Ok(starting(["1", "2", "3", "4"].map(str::to_owned), &completion.value)),
        ("type", _) => {
            let types = server.call("list_types", json!({}), context)?;
            return Ok(starting(names(&types["requirement_types"]), &completion.value));
        }
        ("status", CompletionReference::Resource(uri)) => {
            let kind = if uri.starts_with("epics:") { "epic" } else { "user_story" };
            let model = server.call("get_status_model", json!({ "kind": kind }), context)?;
            return Ok(starting(names(&model["statuses"]), &completion.value));
        }
        _ => return Ok(Vec::new()),
    };
    let arguments = json!({ "kind": kind, "limit": SUGGESTIONS, "sort": "number_descending" });
    let page = server.call("list_entities", arguments, context)?;
    let ids = page["data"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|item| item["reference_id"].as_str())
        .map(str::to_owned);
    Ok(starting(ids.collect::<Vec<_>>(), &completion.value))
}

fn names(list: &Value) -> Vec<String> {
    list.as_array()
        .into_iter()
        .flatten()
        .filter_map(|item| item["name"].as_str())
        .map(str::to_owned)
        .collect()
}

fn starting(values: impl IntoIterator<Item = String>, typed: &str) -> Vec<String> {
    let typed = typed.to_lowercase();
    values.into_iter().filter(|value| value.to_lowercase().starts_with(&typed)).collect()
}
