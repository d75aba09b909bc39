//! Normalizes arguments and tool names that agents wrote from memory. The fixed list is in
//! `docs/guide/agents.md`.

use mcp::{Instead, Schema};
use serde_json::{Map, Value, json};

/// Other names of arguments, best first. One is used only if the tool has the argument, and the call does not give it.
const ARGUMENTS: &[(&str, &[&str])] = &[
    (
        "req_identifier",
        &[
            "reference",
            "id",
            "identifier",
            "short_id",
            "full_path",
            "requirement_id",
            "requirement",
            "req_id",
            "req",
            "ref",
            "uri",
            "path",
            "target",
        ],
    ),
    ("citation_id", &["id", "reference", "citation", "place", "location", "ref", "uri", "path"]),
    (
        "url",
        &[
            "spec_id",
            "specification",
            "specification_id",
            "spec",
            "target",
            "section",
            "reference",
            "id",
            "name",
            "uri",
            "path",
            "ref",
        ],
    ),
    ("citation", &["comment", "text", "lines", "comment_text", "target", "reference"]),
    ("query", &["q", "search", "text", "term", "keywords", "words", "search_text"]),
    ("spec_id", &["specification", "specification_id", "spec", "url", "section", "target"]),
    ("context_lines", &["lines", "n_lines", "context", "around"]),
    ("include_todo", &["include_todos", "with_todos", "todos", "todo"]),
    ("file_path", &["file", "path"]),
    ("limit", &["per_page", "page_size", "max_results", "first", "top", "count", "size", "n"]),
    ("max_tokens", &["token_budget", "tokens"]),
    ("cursor", &["next_cursor", "after", "page_token"]),
];

/// Other names of the tools.
const TOOLS: &[(&str, &[&str])] = &[
    ("validate_citation", &["check_citation", "verify_citation", "validate", "check", "verify"]),
    (
        "search_requirements",
        &["search", "find", "find_requirements", "find_requirement", "query_requirements"],
    ),
    (
        "get_requirement_status",
        &[
            "get_requirement",
            "requirement_status",
            "read_requirement",
            "show_requirement",
            "get_status",
            "status",
            "requirement",
            "get_requirement_details",
        ],
    ),
    (
        "list_uncited_requirements",
        &["list_uncited", "uncited", "list_uncovered", "uncovered_requirements", "list_missing_requirements"],
    ),
    (
        "list_invalid_citations",
        &["list_errors", "list_problems", "list_broken_citations", "check_all", "check_citations"],
    ),
    ("get_citation_context", &["get_citation", "read_citation", "show_citation", "get_context", "get_code"]),
    (
        "resolve_spec_id",
        &[
            "list_specifications",
            "list_specs",
            "get_specification",
            "get_spec",
            "resolve_spec",
            "read_specification",
            "specifications",
            "list_sections",
            "get_section",
            "read_section",
        ],
    ),
    (
        "get_prioritized_requirements",
        &[
            "next",
            "what_next",
            "next_requirement",
            "get_next_requirement",
            "list_requirements",
            "get_requirements",
            "prioritize",
            "prioritized_requirements",
        ],
    ),
];

/// Normalizes arguments. Returns notes for the caller.
pub fn normalise(schema: &Schema, arguments: &mut Value) -> Vec<String> {
    let mut notes = schema.normalise(arguments);
    if let (Some(properties), Some(given)) = (schema.properties(), arguments.as_object_mut()) {
        join_place(properties, given);
        join_citation(properties, given);
        for (name, others) in ARGUMENTS {
            if properties.contains_key(*name) && !given.contains_key(*name) {
                take_synonym(properties, given, name, others);
            }
        }
    }
    // A renamed argument may still have a value of another type.
    notes.extend(schema.normalise(arguments));
    notes
}

fn take_synonym(
    properties: &Map<String, Value>,
    given: &mut Map<String, Value>,
    name: &str,
    others: &[&str],
) {
    let is_other =
        |known: &str, other: &str| !properties.contains_key(known) && nearest::plain(known) == other;
    let found = others.iter().find_map(|other| given.keys().find(|known| is_other(known, other)).cloned());
    if let Some(value) = found.and_then(|found| given.shift_remove(&found)) {
        given.insert(name.to_owned(), value);
    }
}

/// Takes the first of some arguments with a value of a type.
fn take(given: &mut Map<String, Value>, names: &[&str], fits: fn(&Value) -> bool) -> Option<Value> {
    let name = names.iter().find(|name| given.get(**name).is_some_and(fits))?;
    given.shift_remove(*name)
}

/// Converts `{"file_path": "src/main.rs", "line_number": 42}` to `src/main.rs:42`.
fn join_place(properties: &Map<String, Value>, given: &mut Map<String, Value>) {
    const FILES: [&str; 3] = ["file_path", "file", "path"];
    const LINES: [&str; 2] = ["line_number", "line"];
    let Some(name) =
        ["citation_id", "req_identifier"].into_iter().find(|name| properties.contains_key(*name))
    else {
        return;
    };
    let has = |names: &[&str]| names.iter().any(|name| given.contains_key(*name));
    if given.contains_key(name) || !has(&FILES) || !has(&LINES) {
        return;
    }
    let is_line = |value: &Value| value.is_u64() || value.is_string();
    if let (Some(Value::String(file)), Some(line)) =
        (take(given, &FILES, Value::is_string), take(given, &LINES, is_line))
    {
        let line = line.as_str().map_or_else(|| line.to_string(), str::to_owned);
        given.insert(name.to_owned(), json!(format!("{file}:{line}")));
    }
}

/// Converts the target and the text of a requirement to a citation.
fn join_citation(properties: &Map<String, Value>, given: &mut Map<String, Value>) {
    const QUOTES: [&str; 2] = ["quote", "text"];
    let is_asked = properties.contains_key("citation") && !given.contains_key("citation");
    if !is_asked || !given.contains_key("target") {
        return;
    }
    let target = given.get("target").and_then(Value::as_str).map(str::to_owned);
    if let (Some(target), Some(Value::String(quote))) = (target, take(given, &QUOTES, Value::is_string)) {
        given.shift_remove("target");
        given.insert("citation".to_owned(), json!(format!("//= {target}\n//# {quote}")));
    }
}

/// Returns the tool to use instead of an unknown one.
pub fn instead_of(name: &str) -> Option<Instead> {
    let plain = nearest::plain(name.rsplit("__").next().unwrap_or(name));
    let also = |(_, others): &&(&str, &[&str])| others.contains(&plain.as_str());
    if let Some((tool, _)) = TOOLS.iter().find(also) {
        return Some(Instead { tool: Some((*tool).to_owned()), advice: format!("use {tool}") });
    }
    let near = nearest::nearest(&plain, TOOLS.iter().map(|(tool, _)| *tool))?;
    Some(Instead { tool: Some(near.to_owned()), advice: format!("did you mean {near}?") })
}
