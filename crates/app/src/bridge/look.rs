//! The call with which an agent finds out whether a write with a lost answer happened.

use mcp::Tool;
use ops::known;
use serde_json::{Map, Value, json};

/// Kinds that can be listed, newest first.
const KINDS: [&str; 5] = ["epic", "user_story", "acceptance_criteria", "requirement", "steering_document"];

/// Arguments that name what a tool changes, or what it adds to; the most specific first.
const REFERENCES: [&str; 8] = [
    "reference",
    "entity_id",
    "requirement_id",
    "source_requirement_id",
    "acceptance_criteria_id",
    "user_story_id",
    "epic_id",
    "steering_document_id",
];

/// The call that shows whether this one happened; none for a tool that only reads.
pub fn call(tool: &Tool, arguments: &Value) -> Option<String> {
    let is_read_only = tool.annotations.as_ref().is_some_and(|hints| hints["readOnlyHint"] == true);
    (!is_read_only).then(|| match seen_by(&tool.name, arguments) {
        (name, arguments) if arguments.is_empty() => name.to_owned(),
        (name, arguments) => format!("{name} {}", Value::Object(arguments)),
    })
}

fn seen_by(name: &str, arguments: &Value) -> (&'static str, Map<String, Value>) {
    let with = |arguments: Value| match arguments {
        Value::Object(arguments) => arguments,
        _ => Map::new(),
    };
    if let Some(kind) = name.strip_prefix("create_").filter(|kind| KINDS.contains(kind)) {
        return (known::LIST_ENTITIES.name, with(json!({"kind": kind, "sort": "created"})));
    }
    let reference = REFERENCES.iter().find_map(|name| arguments[name].as_str());
    let about = |part: &str| name.contains(part);
    match reference {
        Some(reference) if about("comment") => {
            (known::GET_ENTITY.name, with(json!({"reference": reference, "include": ["comments"]})))
        }
        Some(reference) if about("relationship") => {
            (known::GET_ENTITY.name, with(json!({"reference": reference, "include": ["relationships"]})))
        }
        Some(reference) => (known::GET_ENTITY.name, with(json!({"reference": reference}))),
        None if about("comment") => (known::LIST_COMMENTS.name, Map::new()),
        None if about("prompt") => (known::LIST_PROMPTS.name, Map::new()),
        None if about(known::IMPORT.name) => (known::LIST_IMPORTS.name, Map::new()),
        None => (known::LIST_ENTITIES.name, with(json!({"kind": "requirement", "sort": "updated"}))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_write_has_a_call_that_shows_whether_it_happened() {
        for (name, arguments, expected) in [
            ("create_epic", json!({"title": "A"}), r#"list_entities {"kind":"epic","sort":"created"}"#),
            (
                "create_requirement",
                json!({"user_story_id": "US-001"}),
                r#"list_entities {"kind":"requirement","sort":"created"}"#,
            ),
            (
                "update_epic",
                json!({"epic_id": "EP-001", "title": "B"}),
                r#"get_entity {"reference":"EP-001"}"#,
            ),
            (
                "create_relationship",
                json!({"source_requirement_id": "REQ-001", "target_requirement_id": "REQ-002"}),
                r#"get_entity {"include":["relationships"],"reference":"REQ-001"}"#,
            ),
            (
                "add_comment",
                json!({"reference": "REQ-001"}),
                r#"get_entity {"include":["comments"],"reference":"REQ-001"}"#,
            ),
            ("import", json!({}), "list_imports"),
            ("bulk_update", json!({}), r#"list_entities {"kind":"requirement","sort":"updated"}"#),
        ] {
            let tool = Tool::new(name, "", json!({"type": "object"}));
            let call = call(&tool, &arguments).expect("it writes");
            let parsed = |text: &str| {
                let (name, arguments) = text.split_once(' ').unwrap_or((text, "{}"));
                (name.to_owned(), serde_json::from_str::<Value>(arguments).expect("JSON"))
            };
            assert_eq!(parsed(&call), parsed(expected), "{name}");
            assert!(ops::find(&parsed(&call).0).is_some_and(|entry| !entry.writes()), "{call}");
        }
        let mut tool = Tool::new("get_entity", "", json!({"type": "object"}));
        tool.annotations = Some(json!({"readOnlyHint": true}));
        assert_eq!(call(&tool, &json!({})), None);
    }
}
