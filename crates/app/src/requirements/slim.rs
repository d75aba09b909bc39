//! Reduces answers to what an agent needs. Operations answer programs, with UUIDs, times and people. Each of them costs an
//! agent tokens, and
//! it needs few, so it gets the rest only on request with `include`.

use ops::{Entry, Shape};
use serde_json::{Map, Value, json};

use super::include::Include;

/// The fields of an epic, story, criterion, requirement or steering document that is read individually.
const ENTITY: &[&str] = &[
    "reference_id",
    "kind",
    "title",
    "description",
    "rationale",
    "labels",
    "priority",
    "status",
    "epic",
    "user_story",
    "acceptance_criteria",
    "type",
    "assignee",
    "version",
    "deleted_at",
];
/// The fields in a list, without texts.
const LISTED_ENTITY: &[&str] = &[
    "reference_id",
    "title",
    "labels",
    "priority",
    "status",
    "epic",
    "user_story",
    "type",
    "assignee",
    "deleted_at",
];
/// What `text` adds to an entity in a list.
const TEXTS: &[&str] = &["description", "rationale", "acceptance_criteria"];
/// The fields of a written entity: its name, and what the next call needs.
const RECEIPT: &[&str] = &["reference_id", "version", "status", "deleted"];
const COMMENT: &[&str] = &[
    "id",
    "entity",
    "parent_id",
    "author",
    "content",
    "quote",
    "detached",
    "resolved",
    "version",
    "created_at",
    "deleted_at",
];
const RELATIONSHIP: &[&str] =
    &["id", "source", "type", "target", "suspect", "deleted_at", "source_says", "target_says", "changes"];
const REVISION: &[&str] = &["version", "operation", "actor", "via", "changes", "created_at"];
const PROMPT: &[&str] =
    &["reference_id", "name", "title", "description", "content", "role", "active", "version", "deleted_at"];
const LISTED_PROMPT: &[&str] = &["reference_id", "name", "title", "description", "active", "deleted_at"];

/// Fields that no agent needs in other objects.
const UNNEEDED: &[&str] = &[
    "project",
    "creator",
    "creator_id",
    "score",
    "request_id",
    "token_id",
    "file_hash",
    "entity_kind",
    "colour",
];
/// Flags that are left out if they are false.
const FLAGS: &[&str] =
    &["detached", "resolved", "suspect", "active", "truncated", "acyclic", "initial", "final"];

/// An answer reduced for agents, with the requested details.
pub fn slim(entry: &Entry, mut answer: Value, include: &Include) -> Value {
    if include.details {
        return answer;
    }
    match entry.shape() {
        Shape::File => return answer,
        Shape::Names => names(&mut answer),
        Shape::Steps => steps(&mut answer),
        _ if entry.writes() && answer.get("version").is_some() => return receipt(answer),
        _ => {}
    }
    things(answer, false, include)
}

/// The objects in a value, each reduced.
pub fn things(value: Value, is_in_list: bool, include: &Include) -> Value {
    match value {
        Value::Object(fields) => thing(fields, is_in_list, include),
        Value::Array(items) => items.into_iter().map(|item| things(item, true, include)).collect(),
        other => other,
    }
}

/// Fields that distinguish a search hit or a comparison from an entity.
const FOUND: [&str; 2] = ["snippet", "covered_by"];

fn thing(mut fields: Map<String, Value>, is_in_list: bool, include: &Include) -> Value {
    if FOUND.iter().any(|name| fields.contains_key(*name)) {
        fields.shift_remove("version");
    }
    let has = |name: &str| fields.contains_key(name);
    let needed = if has("operation") && has("changes") {
        Some(REVISION)
    } else if has("content") && has("entity") {
        Some(COMMENT)
    } else if has("source") && has("target") && has("version") {
        Some(RELATIONSHIP)
    } else if has("content") && has("name") && has("version") {
        Some(if is_in_list && !include.text { LISTED_PROMPT } else { PROMPT })
    } else if has("reference_id") && has("version") && !has("place") {
        Some(if is_in_list { LISTED_ENTITY } else { ENTITY })
    } else {
        None
    };
    let is_nameless = is_in_list && !has("title");
    let is_deletion = fields.get("deleted") == Some(&json!(true));
    match needed {
        Some(needed) => fields.retain(|name, _| {
            let is_text = TEXTS.contains(&name.as_str()) && needed == LISTED_ENTITY;
            // An entity without a title is identified by its text.
            needed.contains(&name.as_str()) || (is_text && (include.text || is_nameless))
        }),
        None => leave_out(&mut fields),
    }
    fields.retain(|name, value| {
        let is_unset = FLAGS.contains(&name.as_str()) && *value == false;
        // The preview of a deletion lists what would be deleted; its result does not.
        let is_known = is_deletion && name == "references";
        !(is_unset || is_known)
    });
    for (name, value) in &mut fields {
        if let Value::String(time) = value
            && name.ends_with("_at")
        {
            to_the_second(time);
        }
    }
    if let Some(Value::Object(changes)) = fields.get_mut("changes") {
        readable(changes);
    }
    let inner = fields.into_iter().map(|(name, value)| match name.as_str() {
        "changes" => (name, value),
        _ => (name, things(value, false, include)),
    });
    Value::Object(inner.collect())
}

/// Removes repeated names and unneeded fields from other objects.
fn leave_out(fields: &mut Map<String, Value>) {
    let has_name =
        fields.contains_key("reference_id") && fields.get("kind").is_none_or(|kind| kind != "comment");
    let has_update = fields.contains_key("updated_at");
    let named: Vec<String> =
        fields.keys().filter(|name| fields.contains_key(&format!("{name}_id"))).cloned().collect();
    fields.retain(|name, value| match name.as_str() {
        "id" => !has_name,
        "created_at" => !has_update,
        "entity" => !value.is_object(),
        name if UNNEEDED.contains(&name) => false,
        name => name.strip_suffix("_id").is_none_or(|name| !named.iter().any(|known| known == name)),
    });
}

/// Makes the changes of a revision readable: ids of other entities are useful only as a sign of change.
fn readable(changes: &mut Map<String, Value>) {
    let moved = |name: &str, change: &Value| {
        name.ends_with("_id") && change.as_array().is_some_and(|pair| pair.iter().all(Value::is_string))
    };
    let named = |name: &str| name.strip_suffix("_id").unwrap_or(name).to_owned();
    let more: Vec<String> = changes
        .iter()
        .filter(|(name, change)| moved(name, change) && !changes.contains_key(&named(name)))
        .map(|(name, _)| named(name))
        .collect();
    changes.retain(|name, _| {
        name == "reference_id"
            || (name != "id" && !name.ends_with("_id") && !UNNEEDED.contains(&name.as_str()))
    });
    changes.extend(more.into_iter().map(|name| (name, json!(["changed"]))));
    for (_, change) in changes.iter_mut().filter(|(name, _)| name.ends_with("_at")) {
        for time in change.as_array_mut().into_iter().flatten() {
            if let Value::String(time) = time {
                to_the_second(time);
            }
        }
    }
}

/// The rest of a written entity: its writer knows the other fields.
fn receipt(answer: Value) -> Value {
    let Value::Object(mut fields) = answer else { return answer };
    let has_name = fields.contains_key("reference_id");
    if fields.contains_key("deleted_at") {
        fields.insert("deleted".into(), json!(true));
    }
    fields.retain(|name, value| match name.as_str() {
        "id" => !has_name,
        "active" | "resolved" => *value == true,
        name => RECEIPT.contains(&name),
    });
    Value::Object(fields)
}

/// Reduces types and statuses to what distinguishes them.
fn names(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, _| {
                !matches!(name.as_str(), "id" | "version" | "created_at" | "updated_at" | "colour")
            });
            fields.values_mut().for_each(names);
        }
        Value::Array(items) => items.iter_mut().for_each(names),
        _ => {}
    }
}

/// Reduces each answer in a bulk operation to its name.
fn steps(value: &mut Value) {
    for step in value["results"].as_array_mut().into_iter().flatten() {
        if let Some(answer) = step.get_mut("answer") {
            *answer = receipt(answer.take());
        }
    }
}

fn to_the_second(time: &mut String) {
    if let Some((seconds, fraction)) = time.split_once('.') {
        let zone = fraction.trim_start_matches(|digit: char| digit.is_ascii_digit());
        *time = format!("{seconds}{zone}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(answer: Value, include: &Include, expected: Value) {
        assert_eq!(things(answer, false, include), expected);
    }

    fn requirement() -> Value {
        json!({"id": "01a1", "reference_id": "REQ-001", "kind": "requirement", "project": "DEFAULT", "title": "Mask",
            "description": "Four digits.", "status": "Draft", "user_story_id": "01a2", "user_story": "US-001",
            "creator_id": "01a3", "creator": "ann", "version": 1, "created_at": "2026-11-17T18:32:29.132522Z"})
    }

    #[test]
    fn an_entity_has_no_uuids_times_or_creator() {
        check(
            requirement(),
            &Include::default(),
            json!({"reference_id": "REQ-001", "kind": "requirement", "title": "Mask", "description": "Four digits.",
                "status": "Draft", "user_story": "US-001", "version": 1}),
        );
    }

    #[test]
    fn a_list_tells_what_entities_say_when_it_is_asked_to() {
        let listed =
            json!({"reference_id": "REQ-001", "title": "Mask", "status": "Draft", "user_story": "US-001"});
        check(json!({"data": [requirement()]}), &Include::default(), json!({"data": [listed]}));
        let include = Include { text: true, ..Include::default() };
        let listed = json!({"reference_id": "REQ-001", "title": "Mask", "description": "Four digits.", "status": "Draft",
            "user_story": "US-001"});
        check(json!({"data": [requirement()]}), &include, json!({"data": [listed]}));
    }

    #[test]
    fn what_was_moved_is_told_without_ids() {
        check(
            json!({"operation": "update_requirement", "version": 2, "created_at": "2026-11-17T18:32:29.5Z", "changes": {
                "user_story_id": ["01a2", "01a9"], "assignee_id": [null, "01a3"], "assignee": [null, "ann"],
                "deleted_at": [null, "2026-11-17T18:32:29.132522Z"]}}),
            &Include::default(),
            json!({"operation": "update_requirement", "version": 2, "created_at": "2026-11-17T18:32:29Z", "changes": {
                "assignee": [null, "ann"], "deleted_at": [null, "2026-11-17T18:32:29Z"], "user_story": ["changed"]}}),
        );
    }
}
