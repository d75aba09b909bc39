//! What agents mean who have not read the schemas: other names of tools and arguments, priorities by name, reference ids as
//! they are written elsewhere. The fixed list is in `docs/guide/agents.md`.

use mcp::{Failure, Instead, Schema, Tool};
use serde_json::{Map, Value, json};

use super::tools;

/// Other names of arguments, best first. One is taken only where the tool has the argument, and the call does not give it.
const SYNONYMS: &[(&str, &[&str])] = &[
    (
        "reference",
        &[
            "id",
            "ref",
            "reference_id",
            "entity_id",
            "uri",
            "key",
            "identifier",
            "requirement_id",
            "user_story_id",
            "epic_id",
        ],
    ),
    ("epic_id", &["epic", "parent_id", "parent"]),
    ("user_story_id", &["user_story", "story_id", "story", "parent_id", "parent"]),
    ("requirement_id", &["requirement"]),
    (
        "acceptance_criteria_id",
        &["acceptance_criterion_id", "acceptance_criteria", "criterion_id", "criterion"],
    ),
    ("source_requirement_id", &["source_id", "source", "from"]),
    ("target_requirement_id", &["target_id", "target", "to"]),
    ("type_id", &["type", "requirement_type", "requirement_type_id"]),
    ("relationship_type_id", &["type", "type_id", "relationship_type", "relation"]),
    ("kind", &["entity_type", "entity_kind", "type"]),
    ("entity_types", &["entity_type", "kinds", "kind", "types", "type"]),
    ("title", &["name", "summary"]),
    ("content", &["text", "body", "comment", "message"]),
    ("description", &["details", "body", "text"]),
    ("query", &["q", "search", "text"]),
    ("expected_version", &["version"]),
    ("assignee_id", &["assignee", "assigned_to", "owner"]),
    ("assignee", &["assignee_id", "assigned_to", "owner"]),
];
/// Other names of the one id that says what a tool works on.
const IDS: [&str; 5] = ["id", "reference", "ref", "reference_id", "entity_id"];

/// Other names of priorities, the first of which is 1.
const PRIORITIES: [&[&str]; 4] =
    [&["critical", "p1", "urgent"], &["high", "p2"], &["medium", "p3", "normal"], &["low", "p4"]];

/// The verbs of tools that have one for each kind, and what else they are called.
const VERBS: &[(&str, &[&str])] = &[
    ("create", &["create", "add", "new", "make"]),
    ("update", &["update", "edit", "change", "modify", "set"]),
];

/// What the names of tools call kinds.
const KINDS: &[(&str, &[&str])] = &[
    ("epic", &["epic", "epics"]),
    ("user_story", &["user_story", "user_stories", "story", "stories"]),
    ("acceptance_criteria", &["acceptance_criteria", "acceptance_criterion", "criteria", "criterion"]),
    ("requirement", &["requirement", "requirements", "req", "reqs"]),
];

/// Changes arguments into what they mean. Returns what the caller should know about it.
pub fn normalise(schema: &Schema, arguments: &mut Value) -> Vec<String> {
    // Names in the schema's spelling come first, so that `epicId` is not taken for a stranger.
    let mut notes = schema.normalise(arguments);
    let (Some(properties), Some(given)) = (schema.properties(), arguments.as_object_mut()) else {
        return notes;
    };
    for (name, others) in SYNONYMS {
        take_synonym(properties, given, name, others);
    }
    if let Some(name) = only_id(schema) {
        take_synonym(properties, given, name, &IDS);
    }
    if let Some(Value::String(text)) = given.get("priority")
        && let Some(number) = priority(text)
        && properties.contains_key("priority")
    {
        given.insert("priority".to_owned(), json!(number));
    }
    for (_, value) in given.iter_mut().filter(|(name, _)| *name == "reference" || name.ends_with("_id")) {
        if let Value::String(text) = value
            && let Some(reference) = reference(text)
        {
            *text = reference;
        }
    }
    // What has found its name may still be of another kind.
    notes.extend(schema.normalise(arguments));
    notes
}

/// Gives an argument the value that the call has under another name.
fn take_synonym(
    properties: &Map<String, Value>,
    given: &mut Map<String, Value>,
    name: &str,
    others: &[&str],
) {
    if !properties.contains_key(name) || given.contains_key(name) {
        return;
    }
    let other = others.iter().find(|other| given.contains_key(**other) && !properties.contains_key(**other));
    if let Some(value) = other.and_then(|other| given.shift_remove(*other)) {
        given.insert(name.to_owned(), value);
    }
}

/// The one argument that says what a tool works on: the first that is required, of a tool that makes nothing.
fn only_id(schema: &Schema) -> Option<&str> {
    let required = schema.as_json().get("required")?.as_array()?;
    let first = required.first()?.as_str()?;
    let changes = schema.properties()?.contains_key("expected_version");
    (changes || required.len() == 1)
        .then_some(first)
        .filter(|name| *name == "reference" || name.ends_with("_id"))
}

/// Checks arguments, and says of each that is missing what it is: schemas are too short to.
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

/// `EP-001` for `EP001`, `EP_001`, `epic://EP-001` and `#EP-001`; nothing where the text is fine, or means something else.
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

/// What somebody is to use instead who called a tool that is not among those shown.
pub fn instead_of(shown: &[impl AsRef<Tool>], name: &str) -> Option<Instead> {
    let is_shown = |name: &str| shown.iter().any(|tool| tool.as_ref().name == name);
    if let Some((_, tool)) = tools::all().find(|(entry, tool)| tool.name.unwrap_or(entry.name) == name) {
        let advice = match is_shown(name) {
            true => return None,
            false => format!("it is in the tool set `{}`, and not offered here", tool.set),
        };
        return Some(Instead { tool: None, advice });
    }
    let plain = nearest::plain(name);
    for (verb, others) in VERBS {
        if let Some(Some(kind)) = kind_in(&plain, others)
            && let tool = format!("{verb}_{kind}")
            && is_shown(&tool)
        {
            return Some(Instead { advice: format!("use {tool}"), tool: Some(tool) });
        }
    }
    let alias = tools::all().find_map(|(entry, tool)| Some((entry, tool, kind_in(&plain, tool.also)?)));
    if let Some((entry, tool, kind)) = alias {
        let name = tool.name.unwrap_or(entry.name);
        let takes_kind = tool.shown.is_none_or(|shown| shown.contains(&"kind"))
            && entry.input_schema()["properties"]["kind"].is_object();
        let example = match kind {
            Some(kind) if takes_kind => json!({ "kind": kind }).to_string(),
            _ => tool.example.to_owned(),
        };
        return Some(Instead {
            tool: Some(name.to_owned()),
            advice: format!("use {name}, such as {example}"),
        });
    }
    let near = nearest::nearest(name, shown.iter().map(|tool| tool.as_ref().name.as_str()))?;
    Some(Instead { tool: Some(near.to_owned()), advice: format!("did you mean {near}?") })
}

/// The kind that a name speaks of if it is one of these verbs, with a kind behind it or without. None if it is another name.
fn kind_in(name: &str, verbs: &[&str]) -> Option<Option<&'static str>> {
    verbs.iter().find_map(|verb| {
        let rest = name.strip_prefix(verb)?;
        if rest.is_empty() {
            return Some(None);
        }
        let rest = rest.strip_prefix('_')?;
        KINDS.iter().find(|(_, names)| names.contains(&rest)).map(|(kind, _)| Some(*kind))
    })
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
        ] {
            let tools = Tools::new(&ToolOptions::default());
            let tool = tools.list().iter().find(|known| known.name == tool).expect("a tool");
            let mut arguments = given.clone();
            normalise(&tool.input_schema, &mut arguments);
            assert_eq!(sorted(&arguments), sorted(&meant), "{given}");
        }
    }

    #[test]
    fn a_tool_that_there_is_not_leads_to_the_right_one() {
        let tools = Tools::new(&ToolOptions::default());
        let advice = |name: &str| instead_of(tools.list(), name).map(|instead| instead.advice);
        for (name, meant) in [
            (
                "get_requirement",
                r#"use get_entity, such as {"reference": "REQ-001", "include": ["parents", "relationships"]}"#,
            ),
            ("list_epics", r#"use list_entities, such as {"kind":"epic"}"#),
            ("listStories", r#"use list_entities, such as {"kind":"user_story"}"#),
            ("create_story", "use create_user_story"),
            ("edit_epic", "use update_epic"),
            (
                "search",
                r#"use search_global, such as {"query": "saved card", "entity_types": ["user_story", "requirement"]}"#,
            ),
            (
                "create_comment",
                r#"use add_comment, such as {"reference": "REQ-001", "content": "Also on the receipt?", "quote": "last four digits"}"#,
            ),
            ("creat_epic", "did you mean create_epic?"),
            ("list_comments", "it is in the tool set `comments`, and not offered here"),
        ] {
            assert_eq!(advice(name).as_deref(), Some(meant), "{name}");
        }
        for name in ["deploy", "x", "get_weather"] {
            assert_eq!(advice(name), None, "{name}");
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
