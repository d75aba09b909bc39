//! The reference of all tools, made from the tools themselves. A test keeps `docs/reference/tools.md` current, and runs the
//! examples.

use std::fmt::Write as _;
use std::sync::Arc;

use mcp::Tool;
use serde_json::Value;

use super::search;
use crate::duvet::server::TraceServer;
use crate::requirements::{SETS, ToolOptions, Tools};
use crate::spexus::manual::type_of;
use crate::tmkb;

/// Stands for the id of a comment.
pub const COMMENT: &str = "019a8b5e-2f00-7000-8000-00000000c0de";
/// Stands for the id of a relationship.
pub const RELATIONSHIP: &str = "019a8b5e-2f00-7000-8000-000000000bad";
/// And of an import.
pub const IMPORT: &str = "019a8b5e-2f00-7000-8000-00000000f11e";

/// A call of every tool, in an order in which they work.
pub const EXAMPLES: &[(&str, &str)] = &[
    (
        "create_epic",
        r#"{"title": "Checkout", "priority": 1, "description": "Customers pay for what is in their basket."}"#,
    ),
    ("update_epic", r#"{"epic_id": "EP-001", "status": "In Progress", "expected_version": 1}"#),
    (
        "create_user_story",
        r#"{"epic_id": "EP-001", "title": "Pay with a saved card", "priority": 2, "description": "As a customer I want to pay with a saved card, so that I need not type it again."}"#,
    ),
    ("update_user_story", r#"{"user_story_id": "US-001", "priority": 1}"#),
    (
        "create_acceptance_criteria",
        r#"{"user_story_id": "US-001", "description": "Given a saved card, when the customer pays, then only its last four digits are shown."}"#,
    ),
    (
        "update_acceptance_criteria",
        r#"{"acceptance_criteria_id": "AC-001", "description": "Given a saved card, when the customer pays, then no more than its last four digits are shown."}"#,
    ),
    (
        "create_requirement",
        r#"{"user_story_id": "US-001", "title": "Mask card numbers", "type_id": "Functional", "priority": 1, "acceptance_criteria_id": "AC-001", "description": "The page shows no more than the last four digits of a card."}"#,
    ),
    ("update_requirement", r#"{"requirement_id": "REQ-001", "status": "Active", "assignee_id": "admin"}"#),
    (
        "create_relationship",
        r#"{"source_requirement_id": "REQ-001", "target_requirement_id": "REQ-002", "relationship_type_id": "depends_on"}"#,
    ),
    ("get_entity", r#"{"reference": "REQ-001", "include": ["parents", "relationships"]}"#),
    (
        "list_entities",
        r#"{"kind": "requirement", "epic_id": "EP-001", "status": ["Draft", "Active"], "limit": 20}"#,
    ),
    ("search_global", r#"{"query": "saved card", "entity_types": ["user_story", "requirement"]}"#),
    ("search_requirements", r#"{"query": "card", "status": "Active", "max_tokens": 500}"#),
    ("status_report", r#"{"epic_id": "EP-001", "group_by": "priority"}"#),
    ("hierarchy_analysis", r#"{"epic_id": "EP-001"}"#),
    ("impact_analysis", r#"{"reference": "REQ-002", "depth": 2}"#),
    ("get_history", r#"{"reference": "REQ-001", "limit": 5}"#),
    (
        "add_comment",
        r#"{"reference": "REQ-001", "content": "Also on the receipt?", "quote": "last four digits"}"#,
    ),
    ("list_types", r#"{}"#),
    ("list_comments", r#"{"reference": "REQ-001", "resolved": false}"#),
    (
        "update_comment",
        r#"{"comment_id": "019a8b5e-2f00-7000-8000-00000000c0de", "content": "Also on the printed receipt?"}"#,
    ),
    ("resolve_comment", r#"{"comment_id": "019a8b5e-2f00-7000-8000-00000000c0de"}"#),
    ("delete_comment", r#"{"comment_id": "019a8b5e-2f00-7000-8000-00000000c0de"}"#),
    (
        "create_steering_document",
        r#"{"title": "Security rules", "description": "Card data never reaches a log."}"#,
    ),
    ("update_steering_document", r#"{"steering_document_id": "STD-001", "title": "Rules for card data"}"#),
    ("link_steering_document", r#"{"epic_id": "EP-001", "steering_document_id": "STD-001"}"#),
    ("list_steering_documents", r#"{"epic_id": "EP-001"}"#),
    ("get_steering_document", r#"{"steering_document_id": "STD-001"}"#),
    ("unlink_steering_document", r#"{"epic_id": "EP-001", "steering_document_id": "STD-001"}"#),
    (
        "create_prompt",
        r#"{"name": "review", "title": "Review", "content": "Review the open requirements, the critical ones first."}"#,
    ),
    ("update_prompt", r#"{"prompt_id": "PROMPT-002", "description": "What to look at on Mondays"}"#),
    ("list_prompts", r#"{"limit": 10}"#),
    ("activate_prompt", r#"{"prompt_id": "PROMPT-002"}"#),
    ("get_active_prompt", r#"{}"#),
    ("delete_prompt", r#"{"prompt_id": "PROMPT-002"}"#),
    (
        "bulk_update",
        r#"{"operations": [{"operation": "update_requirement", "arguments": {"requirement_id": "REQ-001", "priority": 2}}, {"operation": "update_requirement", "arguments": {"requirement_id": "REQ-002", "priority": 2}}], "dry_run": true}"#,
    ),
    ("export", r#"{"format": "markdown", "epic": "EP-001"}"#),
    ("import", r#"{"format": "csv", "content": "kind,title,priority\nepic,Returns,3\n", "dry_run": true}"#),
    ("list_imports", r#"{}"#),
    ("undo_import", r#"{"import_id": "019a8b5e-2f00-7000-8000-00000000f11e"}"#),
    ("delete_relationship", r#"{"id": "019a8b5e-2f00-7000-8000-000000000bad"}"#),
    ("delete_entity", r#"{"reference": "US-001", "dry_run": true}"#),
    ("validate_citation", r#"{"citation": "//= docs/kettle.md#lid\n//# The lid MUST close."}"#),
    ("get_requirement_status", r#"{"req_identifier": "39cb0701b02de728"}"#),
    ("list_uncited_requirements", r#"{"limit": 10}"#),
    ("list_invalid_citations", r#"{}"#),
    ("get_citation_context", r#"{"citation_id": "src/pot.rs:1", "context_lines": 3}"#),
    ("resolve_spec_id", r#"{"url": "https://www.rfc-editor.org/rfc/rfc9999"}"#),
    ("get_prioritized_requirements", r#"{"max_tokens": 500}"#),
    (
        "tmkb_query",
        r#"{"context": "background job that exports invoices of a tenant", "language": "python"}"#,
    ),
];

/// The reference, in Markdown.
pub fn tools() -> String {
    let mut text = String::from(
        "# Tools\n\nEvery tool that agents are offered, by the set that it is in. This page is generated; what it says stands in the tools \
         themselves.\nIds may be UUIDs or reference ids in any case. Sets are chosen with `spexus mcp --toolsets`; see [the guide](../guide/agents.md).\n",
    );
    for set in SETS {
        let options = ToolOptions { sets: vec![set.to_owned()], read_only: false, output_schemas: false };
        let tools = Tools::new(&options);
        section(&mut text, set, tools.list(), |tool, name| {
            tools.offer(&tool.name).map(|offer| offer.about(name)).unwrap_or_default()
        });
    }
    let own = |tool: &Tool, name: &str| {
        let schema = &tool.input_schema.as_json()["properties"][name];
        schema["description"].as_str().unwrap_or_default().to_owned()
    };
    section(&mut text, super::TRACE, &TraceServer::described(), own);
    section(&mut text, super::THREATS, &[tmkb::described()], own);
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

/// The tools of a set; `about` says what the manual has to say of an argument.
fn section(text: &mut String, set: &str, tools: &[Arc<Tool>], about: impl Fn(&Tool, &str) -> String) {
    let _ = writeln!(text, "\n# `{set}`");
    for tool in tools {
        describe(text, set, tool, &about);
    }
}

fn describe(text: &mut String, set: &str, tool: &Tool, about: &impl Fn(&Tool, &str) -> String) {
    let _ = writeln!(text, "\n## {}\n\n{}\n", tool.name, tool.description);
    if set == super::TRACE && tool.name == search::NAME {
        text.push_str(
            "With requirements in the same session this tool and the one above are one, which also takes `spec_id`.\n\n",
        );
    }
    let hint = |name: &str| tool.annotations.as_ref().is_some_and(|hints| hints[name] == true);
    let effect = match (hint("readOnlyHint") || tool.annotations.is_none(), hint("destructiveHint")) {
        (true, _) => "Changes nothing.",
        (false, true) => "Deletes, or may delete.",
        (false, false) => "Writes.",
    };
    let _ = writeln!(text, "{effect}\n");
    let schema = tool.input_schema.as_json();
    let required = schema["required"].as_array().map(Vec::as_slice).unwrap_or_default();
    let arguments = schema["properties"].as_object().filter(|arguments| !arguments.is_empty());
    if let Some(arguments) = arguments {
        text.push_str("| argument | type | |\n|---|---|---|\n");
        for (name, argument) in arguments {
            let needed = if required.iter().any(|known| known == name) { ", required" } else { "" };
            let (kind, about) =
                (shown_type(argument).replace('|', "\\|"), about(tool, name).replace('|', "\\|"));
            let _ = writeln!(text, "| `{name}` | {kind}{needed} | {about} |");
        }
        text.push('\n');
    }
    if let Some((_, example)) = EXAMPLES.iter().find(|(name, _)| *name == tool.name) {
        let _ = writeln!(text, "```json\n{{\"name\": \"{}\", \"arguments\": {example}}}\n```\n", tool.name);
    }
    let _ = writeln!(text, "<details><summary>JSON Schema</summary>\n\n```json\n{schema}\n```\n</details>");
}

fn shown_type(argument: &Value) -> String {
    match (&argument["type"], argument.get("items")) {
        (Value::Array(types), Some(items)) if types.len() == 2 => {
            format!("{}, or a list of such", type_of(items))
        }
        _ => type_of(argument),
    }
}
