//! Completes arguments: ids, statuses, priorities and types.

use mcp::{Completion, CompletionReference, Context, Failure, FailureKind};
use ops::known;
use serde_json::{Value, json};

use super::{Requirements, resources};

/// The maximal number of suggestions.
const SUGGESTIONS: i64 = 100;
/// How many ids are requested at once.
const AT_ONCE: usize = 50;

/// Values with a prefix.
pub fn complete(
    server: &Requirements,
    context: &Context<'_>,
    reference: &CompletionReference,
    completion: &Completion,
) -> Result<Vec<String>, Failure> {
    check(reference)?;
    let typed = completion.value.trim();
    match (completion.name.as_str(), reference) {
        ("epic_id", _) => ids(server, context, "epic", "EP-", typed),
        ("user_story_id", _) => ids(server, context, "user_story", "US-", typed),
        ("requirement_id", _) => ids(server, context, "requirement", "REQ-", typed),
        ("priority", _) => Ok(starting(["1", "2", "3", "4"].map(str::to_owned), typed)),
        ("type", _) => {
            let types = server.call(known::LIST_TYPES, json!({}), context)?;
            Ok(starting(names(&types["requirement_types"]), typed))
        }
        ("status", CompletionReference::Resource(uri)) => {
            let kind = if uri.starts_with("epics:") { "epic" } else { "user_story" };
            let model = server.call(known::GET_STATUS_MODEL, json!({ "kind": kind }), context)?;
            Ok(starting(names(&model["statuses"]), typed))
        }
        _ => Ok(Vec::new()),
    }
}

/// An argument must belong to a template; prompts are checked before.
fn check(reference: &CompletionReference) -> Result<(), Failure> {
    let CompletionReference::Resource(uri) = reference else { return Ok(()) };
    let start = |uri: &str| uri.split('?').next().unwrap_or_default().to_owned();
    if resources::templates().iter().any(|known| start(&known.uri) == start(uri)) {
        return Ok(());
    }
    Err(Failure::new(
        FailureKind::InvalidArguments,
        format!("Unknown resource template: {}", mcp::shown(uri)),
    ))
}

/// Reference ids of a kind: the newest without a prefix, otherwise those that match it.
fn ids(
    server: &Requirements,
    context: &Context<'_>,
    kind: &str,
    prefix: &str,
    typed: &str,
) -> Result<Vec<String>, Failure> {
    let typed = typed.to_uppercase();
    let mut found = Vec::new();
    if prefix.starts_with(&typed) {
        let arguments = json!({ "kind": kind, "limit": SUGGESTIONS, "sort": "number_descending" });
        let page = server.call(known::LIST_ENTITIES, arguments, context)?;
        found = references(&page);
        // One more than shown tells whether there are more.
        if page["total_count"].as_i64().unwrap_or_default() > SUGGESTIONS {
            let arguments =
                json!({ "kind": kind, "limit": 1, "offset": SUGGESTIONS, "sort": "number_descending" });
            found.extend(references(&server.call(known::LIST_ENTITIES, arguments, context)?));
        }
        return Ok(found);
    }
    let has_prefix = |text: &str| text.starts_with(prefix) || text.contains(&format!("-{prefix}"));
    if has_prefix(&typed) {
        numbers(server, context, &typed, &mut found)?;
        return Ok(found);
    }
    // The key of a project, or its beginning.
    let projects = server.call(known::LIST_PROJECTS, json!({ "limit": SUGGESTIONS }), context)?;
    for key in projects["data"].as_array().into_iter().flatten().filter_map(|project| project["key"].as_str())
    {
        let whole = format!("{key}-{prefix}");
        if whole.starts_with(&typed) {
            numbers(server, context, &whole, &mut found)?;
        }
    }
    Ok(found)
}

/// Ids that begin with a prefix and perhaps some digits.
fn numbers(
    server: &Requirements,
    context: &Context<'_>,
    typed: &str,
    found: &mut Vec<String>,
) -> Result<(), Failure> {
    let suggested = suggested(server, context, typed)?;
    let is_all = suggested.len() < AT_ONCE;
    add(found, suggested);
    for digit in '0'..='9' {
        if is_all || found.len() as i64 > SUGGESTIONS {
            break;
        }
        let mut more = self::suggested(server, context, &format!("{typed}{digit}"))?;
        more.retain(|id| id.starts_with(typed));
        add(found, more);
    }
    Ok(())
}

fn suggested(server: &Requirements, context: &Context<'_>, typed: &str) -> Result<Vec<String>, Failure> {
    let answer =
        server.call(known::SEARCH_SUGGESTIONS, json!({ "query": typed, "limit": AT_ONCE }), context)?;
    let suggestions = answer["data"].as_array().into_iter().flatten();
    let ids = suggestions.filter(|one| one["of"] == "reference").filter_map(|one| one["text"].as_str());
    Ok(ids.map(str::to_owned).collect())
}

fn add(found: &mut Vec<String>, more: Vec<String>) {
    for id in more {
        if !found.contains(&id) {
            found.push(id);
        }
    }
}

fn references(page: &Value) -> Vec<String> {
    let items = page["data"].as_array().into_iter().flatten();
    items.filter_map(|item| item["reference_id"].as_str()).map(str::to_owned).collect()
}

fn names(list: &Value) -> Vec<String> {
    let items = list.as_array().into_iter().flatten();
    items.filter_map(|item| item["name"].as_str()).map(str::to_owned).collect()
}

fn starting(values: impl IntoIterator<Item = String>, typed: &str) -> Vec<String> {
    let typed = typed.to_lowercase();
    values.into_iter().filter(|value| value.to_lowercase().starts_with(&typed)).collect()
}
