//! Normalizes arguments that agents wrote from memory: other names of arguments, priorities by name, reference ids as they are
//! written elsewhere. The fixed list is in `docs/guide/agents.md`.

use mcp::{Failure, Schema, Tool};
use serde_json::{Map, Value, json};

use super::tools;

/// Other names of arguments, best first. One is used only if the tool has the argument, and the call does not give it.
const SYNONYMS: &[(&str, &[&str])] = &[
    ("reference", &["requirement_id", "user_story_id", "epic_id", "requirement", "user_story", "epic"]),
    ("epic_id", &["epic", "epic_link", "epic_reference", "parent_id", "parent", "root"]),
    ("user_story_id", &["user_story", "story_id", "story", "parent_id", "parent"]),
    ("requirement_id", &["requirement", "req_id", "req"]),
    (
        "acceptance_criteria_id",
        &["acceptance_criterion_id", "acceptance_criteria", "criterion_id", "criterion", "ac"],
    ),
    ("source_requirement_id", &["source_id", "source", "from", "from_id"]),
    ("target_requirement_id", &["target_id", "target", "to", "to_id"]),
    ("type_id", &["type", "requirement_type", "requirement_type_id"]),
    (
        "relationship_type_id",
        &["type", "type_id", "relationship_type", "relation", "relation_type", "link_type"],
    ),
    ("kind", &["entity_type", "entity_kind", "work_item_type", "issue_type", "issuetype", "type"]),
    ("entity_types", &["entity_type", "kinds", "kind", "types", "type"]),
    ("title", &["name", "summary", "new_title"]),
    ("content", &["text", "body", "comment", "message"]),
    ("description", &["details", "body", "text", "new_description", "title", "name"]),
    ("query", &["q", "search", "text", "term", "search_text"]),
    ("expected_version", &["version"]),
    ("status", &["state", "new_status", "new_state"]),
    ("labels", &["label", "tags", "tag"]),
    ("assignee_id", &["assignee", "assigned_to", "assignees", "owner", "user"]),
    ("assignee", &["assignee_id", "assigned_to", "assignees", "owner"]),
    ("limit", &["per_page", "page_size", "max_results", "first", "top", "count", "size"]),
    ("depth", &["max_depth", "levels"]),
    (
        "under",
        &[
            "parent",
            "epic_id",
            "epic",
            "user_story_id",
            "story",
            "spec_id",
            "specification",
            "spec",
            "section",
            "in",
        ],
    ),
    (
        "parent",
        &[
            "under",
            "epic_id",
            "user_story_id",
            "acceptance_criteria_id",
            "epic",
            "story",
            "user_story",
            "parent_id",
        ],
    ),
    ("to", &["target", "target_requirement_id", "target_id", "target_reference", "with"]),
    (
        "reference",
        &[
            "source_requirement_id",
            "source",
            "source_id",
            "from",
            "citation_id",
            "req_identifier",
            "short_id",
            "story_id",
            "story",
            "acceptance_criteria_id",
            "criterion_id",
            "criterion",
            "ac",
            "req_id",
            "req",
            "on",
        ],
    ),
    (
        "type",
        &[
            "type_id",
            "relationship_type_id",
            "relationship_type",
            "relation",
            "requirement_type",
            "link_type",
        ],
    ),
    ("text", &["content", "body", "comment", "message"]),
    ("citation", &["annotation", "comment", "lines", "text"]),
    ("file", &["file_path", "path", "file_name"]),
    ("context", &["query", "task", "description", "feature"]),
];
/// Other names of the only id of a tool.
const IDS: &[&str] = &[
    "id",
    "reference",
    "ref",
    "reference_id",
    "entity_id",
    "entity",
    "uri",
    "key",
    "identifier",
    "issue_id_or_key",
    "issue_key",
    "issue_id",
    "issue_number",
    "issue",
    "work_item_id",
    "item_id",
];
/// Other names of priorities, starting with 1.
const PRIORITIES: [&[&str]; 4] =
    [&["critical", "p1", "urgent"], &["high", "p2"], &["medium", "p3", "normal"], &["low", "p4"]];

/// The names of kinds in the names of tools.
pub const KINDS: &[(&str, &[&str])] = &[
    ("epic", &["epic", "epics"]),
    ("user_story", &["user_story", "user_stories", "story", "stories"]),
    (
        "acceptance_criteria",
        &["acceptance_criteria", "acceptance_criterion", "criteria", "criterion", "ac", "acs"],
    ),
    ("requirement", &["requirement", "requirements", "req", "reqs"]),
];

/// Normalizes arguments. Returns notes for the caller.
pub fn normalise(schema: &Schema, arguments: &mut Value) -> Vec<String> {
    // Names in the schema's spelling come first, so that `epicId` is recognised.
    let mut notes = schema.normalise(arguments);
    let (Some(properties), Some(given)) = (schema.properties(), arguments.as_object_mut()) else {
        return notes;
    };
    if let Some(name) = only_id(schema) {
        take_synonym(properties, given, name, IDS);
    }
    if properties.contains_key("reference") {
        take_synonym(properties, given, "reference", IDS);
    }
    for (name, others) in SYNONYMS {
        take_synonym(properties, given, name, others);
    }
    tidy(schema, given);
    take_kind(properties, given);
    if let Some(value) = given.get_mut("priority") {
        let several = match value {
            Value::Array(items) => items.as_mut_slice(),
            one => std::slice::from_mut(one),
        };
        for value in several {
            if let Some(number) = value.as_str().and_then(priority) {
                *value = json!(number);
            }
        }
    }
    for (_, value) in given.iter_mut().filter(|(name, _)| {
        matches!(name.as_str(), "reference" | "under" | "parent" | "to") || name.ends_with("_id")
    }) {
        if let Value::String(text) = value
            && let Some(reference) = reference(text)
        {
            *text = reference;
        }
    }
    // A renamed argument may still have a value of another type.
    notes.extend(schema.normalise(arguments));
    notes
}

/// Recognises kinds by their other names, also if they are called a type.
fn take_kind(properties: &Map<String, Value>, given: &mut Map<String, Value>) {
    let kind = |value: &Value| {
        let name = nearest::plain(value.as_str()?);
        KINDS.iter().find(|(_, names)| names.contains(&name.as_str())).map(|(kind, _)| json!(kind))
    };
    if properties.contains_key("kind")
        && !given.contains_key("kind")
        && let Some(found) = given.get("type").and_then(kind)
    {
        given.shift_remove("type");
        given.insert("kind".to_owned(), found);
    }
    if let Some(found) = given.get("kind").and_then(kind) {
        given.insert("kind".to_owned(), found);
    }
}

/// Removes empty optional ids, and prefixes of user names.
fn tidy(schema: &Schema, given: &mut Map<String, Value>) {
    let required = schema.as_json().get("required").and_then(Value::as_array);
    let is_required =
        |name: &str| required.is_some_and(|required| required.iter().any(|known| known == name));
    // In an update an empty id may be meant to clear the field.
    let changes = schema.properties().is_some_and(|known| known.contains_key("expected_version"));
    given.retain(|name, value| changes || !(name.ends_with("_id") && value == "" && !is_required(name)));
    for name in ["assignee_id", "assignee", "creator"] {
        if let Some(Value::String(user)) = given.get_mut(name)
            && let Some(bare) = user.strip_prefix('@')
        {
            *user = bare.to_owned();
        }
    }
}

/// Sets an argument from a value under another name.
fn take_synonym(
    properties: &Map<String, Value>,
    given: &mut Map<String, Value>,
    name: &str,
    others: &[&str],
) {
    if !properties.contains_key(name) || given.contains_key(name) {
        return;
    }
    let spelling = |other: &str| {
        let is_it = |known: &&String| nearest::plain(known.trim_start_matches('$')) == other;
        given.keys().filter(|known| !properties.contains_key(*known)).find(is_it).cloned()
    };
    let other = others.iter().find_map(|other| spelling(other));
    if let Some(value) = other.and_then(|other| given.shift_remove(&other)) {
        given.insert(name.to_owned(), value);
    }
}

/// The subject of a tool: the first required argument, if the tool creates nothing.
fn only_id(schema: &Schema) -> Option<&str> {
    let required = schema.as_json().get("required")?.as_array()?;
    let first = required.first()?.as_str()?;
    let changes = schema.properties()?.contains_key("expected_version");
    (changes || required.len() == 1)
        .then_some(first)
        .filter(|name| *name == "reference" || name.ends_with("_id"))
}

/// Validates arguments, and describes each missing one, because the listed schemas are too short to.
pub fn check(tool: &Tool, arguments: &Value) -> Result<(), Failure> {
    let mut errors = tool.input_schema.check(arguments);
    if errors.is_empty() {
        return Ok(());
    }
    let offer = tools::find(&tool.name);
    for error in &mut errors {
        let about = offer.as_ref().map(|offer| offer.about(&error.field)).unwrap_or_default();
        if error.message.starts_with("is required (a string") && !about.is_empty() {
            error.message = format!("is required. {about}");
        }
    }
    Err(Failure::invalid_arguments(&tool.name, errors))
}

fn priority(text: &str) -> Option<usize> {
    let text = text.trim().to_ascii_lowercase();
    PRIORITIES.iter().position(|names| names.contains(&text.as_str())).map(|index| index + 1)
}

/// `EP-001` for `EP001`, `EP_001`, `epic://EP-001` and `#EP-001`; none if the text is valid, or means something else.
fn reference(text: &str) -> Option<String> {
    let bare = text.trim().trim_start_matches('#');
    let bare = bare.split_once("://").map_or(bare, |(_, path)| path).trim_end_matches('/');
    if store::model::Reference::parse(bare).is_some() {
        return (bare != text).then(|| bare.to_owned());
    }
    let n_digits = bare.bytes().rev().take_while(u8::is_ascii_digit).count();
    let (head, digits) = bare.split_at(bare.len() - n_digits);
    let written = format!("{}-{digits}", head.trim_end_matches(['_', ' ', '-']).replace('_', "-"));
    store::model::Reference::parse(&written).map(|reference| reference.to_string())
}

#[cfg(test)]
mod tests {
    use super::super::{ToolOptions, Tools};
    use super::*;

    #[test]
    fn arguments_are_taken_by_other_names() {
        for (tool, given, meant) in [
            ("get_entity", json!({"id": "EP001"}), json!({"reference": "EP-001"})),
            ("get_entity", json!({"requirement_id": "#req-7"}), json!({"reference": "req-7"})),
            ("get_entity", json!({"uri": "epic://EP-001"}), json!({"reference": "EP-001"})),
            (
                "update_epic",
                json!({"id": "EP_2", "version": "3"}),
                json!({"epic_id": "EP-002", "expected_version": 3}),
            ),
            (
                "update_epic",
                json!({"epicId": "EP-2", "priority": "P1"}),
                json!({"epic_id": "EP-2", "priority": 1}),
            ),
            (
                "update_epic",
                json!({"epic_id": "EP-2", "description": null}),
                json!({"epic_id": "EP-2", "description": null}),
            ),
            (
                "create_requirement",
                json!({"story": "US-1", "name": "Pay", "type": "Functional", "priority": "High"}),
                json!({"user_story_id": "US-1", "title": "Pay", "type_id": "Functional", "priority": 2}),
            ),
            (
                "add_comment",
                json!({"id": "REQ-1", "text": "So?"}),
                json!({"reference": "REQ-1", "content": "So?"}),
            ),
            (
                "create_relationship",
                json!({"from": "REQ1", "to": "REQ2", "type": "depends_on"}),
                json!({"source_requirement_id": "REQ-001", "target_requirement_id": "REQ-002", "relationship_type_id": "depends_on"}),
            ),
            ("list_entities", json!({"entity_type": "User Story"}), json!({"kind": "user_story"})),
            ("search_global", json!({"q": "pay"}), json!({"query": "pay"})),
            (
                "search_requirements",
                json!({"q": "pay", "priority": ["High", "p4"]}),
                json!({"query": "pay", "priority": [2, 4]}),
            ),
        ] {
            let tools = Tools::new(&ToolOptions::default());
            let tool = tools.find(tool).ok().flatten().expect("a tool");
            let mut arguments = given.clone();
            normalise(&tool.input_schema, &mut arguments);
            assert_eq!(sorted(&arguments), sorted(&meant), "{given}");
        }
    }

    #[test]
    fn texts_stay_as_they_are() {
        for text in ["EP-1", "hello", "", "://", "EP", "12", "ÄÖ1"] {
            assert_eq!(reference(text), None, "{text}");
        }
    }

    fn sorted(value: &Value) -> std::collections::BTreeMap<String, Value> {
        value.as_object().expect("an object").clone().into_iter().collect()
    }
}
