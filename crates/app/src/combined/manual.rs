//! The reference of all tools, generated from the tools themselves. A test keeps `docs/reference/tools.md` current, and runs the
//! examples.

use std::fmt::Write as _;
use std::sync::Arc;

use mcp::Tool;
use serde_json::Value;

use super::{daily, search};
use crate::duvet::server::TraceServer;
use crate::gate;
use crate::requirements::{self, SETS, ToolOptions, Tools};
use crate::spexus::manual::type_of;
use crate::tmkb;

/// An example of every tool that is not an operation.
const EXAMPLES: &[(&str, &str)] = &[
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

/// An example of every tool: its name, and arguments.
pub fn examples() -> impl Iterator<Item = (&'static str, &'static str)> {
    let of_operations =
        requirements::all().map(|(entry, tool)| (requirements::name_of(entry, tool), tool.example));
    of_operations.chain(EXAMPLES.iter().copied())
}

/// An example of every tool for daily work: its name, and arguments.
pub fn daily_examples() -> Vec<(String, &'static str)> {
    daily::described().map(|(tool, example)| (tool.name, example)).collect()
}

/// The reference, in Markdown.
pub fn tools() -> String {
    let mut text = String::from(
        "# Tools\n\nEvery tool for agents, by tool set. This page is generated from the tools \
         themselves.\nIds may be UUIDs or reference ids in any case. Sets are chosen with `spexus mcp --toolsets`; see [the guide](../guide/agents.md).\n",
    );
    let own = |tool: &Tool, name: &str| {
        let schema = &tool.input_schema.as_json()["properties"][name];
        schema["description"].as_str().unwrap_or_default().to_owned()
    };
    let daily: Vec<Arc<Tool>> = daily::described().map(|(tool, _)| Arc::new(tool)).collect();
    section(&mut text, daily::SET, &daily, own);
    for set in SETS {
        let options = ToolOptions { sets: vec![set.to_owned()], read_only: false, output_schemas: false };
        let tools = Tools::new(&options);
        section(&mut text, set, tools.list(), |tool, name| {
            tools.offer(&tool.name).map(|offer| offer.about(name)).unwrap_or_default()
        });
        if set == super::GATE_SET {
            describe(&mut text, set, &gate::described(), &own);
        }
    }
    section(&mut text, super::TRACE, &TraceServer::described(), own);
    section(&mut text, super::THREATS, &[tmkb::described()], own);
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

/// The tools of a set; `about` adds to the description of an argument.
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
    let hint = |name: &str| tool.annotations.as_ref().and_then(|hints| hints[name].as_bool());
    let effect = match (hint("readOnlyHint"), hint("destructiveHint")) {
        (Some(true), _) => "Changes nothing.",
        _ if tool.annotations.is_none() => "Changes nothing.",
        (_, Some(false)) => "Writes.",
        _ => "Deletes, or may delete.",
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
    let daily =
        daily_examples().into_iter().filter(|_| set == daily::SET).find(|(name, _)| *name == tool.name);
    let other = examples().find(|(name, _)| *name == tool.name).map(|(_, example)| example);
    if let Some(example) = daily.map(|(_, example)| example).or(other) {
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
