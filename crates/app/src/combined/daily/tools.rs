//! The tools for daily work: names, arguments and descriptions. Agents see a part of the accepted arguments.

use mcp::{Failure, Tool, ToolOutput};
use serde_json::{Value, json};

use super::read::PARTS;
use super::work::INSTEAD;
use super::{Arguments, Daily};
use crate::combined::{Combined, Trace};

/// A tool of the set.
pub struct DailyTool {
    /// The name.
    pub name: &'static str,
    about: &'static str,
    part: Part,
    /// Whether it writes.
    pub is_writing: bool,
    /// Other names that agents use for it.
    pub also: &'static [&'static str],
    /// Example arguments, as JSON.
    pub example: &'static str,
    /// The required arguments.
    pub required: &'static [&'static str],
    properties: fn() -> Value,
    /// The description.
    pub run: fn(&Daily<'_>, Arguments) -> Result<ToolOutput, Failure>,
}

/// The part that a tool needs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Any,
    Store,
    Trace,
    Threats,
}

/// All of them, in the order of the list.
pub const TOOLS: &[DailyTool] = &[
    DailyTool {
        name: "next",
        about: "What to work on next, the most urgent first. With take: lease the first, with all it needs.",
        part: Part::Any,
        is_writing: false,
        also: &["next_task", "what_next", "todo", "get_next", "prioritize", "take", "claim", "lease", "pick"],
        example: r#"{"limit": 3}"#,
        required: &[],
        properties: || json!({ "under": under(), "take": {"type": "boolean"}, "limit": limit(), "cursor": {"type": "string"} }),
        run: |daily, arguments| daily.next(arguments).map(ToolOutput::text),
    },
    DailyTool {
        name: "finish",
        about: "Finish leased work, if its tests have passed.",
        part: Part::Store,
        is_writing: true,
        also: &["complete", "done", "close", "renew", "release", "keep", "unclaim"],
        example: r#"{"lease": "REQ-002.1", "instead": "release"}"#,
        required: &["lease"],
        properties: || json!({ "lease": {"type": "string"} }),
        run: |daily, arguments| daily.finish(arguments).map(ToolOutput::text),
    },
    DailyTool {
        name: "get",
        about: "Read one thing: a requirement, epic, section or specification, or the code at a citation.",
        part: Part::Any,
        is_writing: false,
        also: &["read", "show", "fetch", "view", "describe", "open", "context", "history"],
        example: r#"{"reference": "REQ-001", "include": ["parents"]}"#,
        required: &["reference"],
        properties: || {
            json!({
                "reference": {"type": "string", "description": "REQ-027, short id, spec#section, path:line or URI"},
                "include": {"type": "array", "items": {"enum": PARTS}},
            })
        },
        run: |daily, arguments| daily.get(arguments).map(ToolOutput::text),
    },
    DailyTool {
        name: "find",
        about: "Find by words, or list by kind, status or what it is under, in the store and in specifications.",
        part: Part::Any,
        is_writing: false,
        also: &["search", "list", "query", "lookup", "get_all", "all", "uncited", "list_uncited"],
        example: r#"{"query": "saved card", "kind": "requirement"}"#,
        required: &[],
        properties: || {
            json!({
                "query": {"type": "string"},
                "kind": {"enum": ["epic", "user_story", "acceptance_criteria", "requirement", "steering_document", "spec"],
                    "description": "spec: only what specifications state"},
                "status": {"type": "string", "description": "e.g. Active; not started, needs tests"},
                "under": under(),
                "limit": limit(),
                "cursor": {"type": "string"},
            })
        },
        run: |daily, arguments| daily.find(arguments).map(ToolOutput::text),
    },
    DailyTool {
        name: "create",
        about: "Create an epic, or a story, criterion or requirement under its parent.",
        part: Part::Store,
        is_writing: true,
        also: &["add", "new", "make"],
        example: r#"{"kind": "requirement", "parent": "US-001", "title": "Round to cents", "type": "Functional", "priority": 2}"#,
        required: &["kind"],
        properties: || {
            json!({
                "kind": kinds(),
                "parent": {"type": "string", "description": "EP-001 or US-001"},
                "title": {"type": "string"},
                "description": {"type": "string"},
                "priority": priority(),
                "type": {"type": "string", "description": "of a requirement, e.g. Functional"},
            })
        },
        run: |daily, arguments| daily.create(arguments).map(ToolOutput::text),
    },
    DailyTool {
        name: "update",
        about: "Change fields of an entity in the store.",
        part: Part::Store,
        is_writing: true,
        also: &["edit", "change", "modify", "patch", "set", "assign", "move", "transition", "rename"],
        example: r#"{"reference": "REQ-001", "status": "Active"}"#,
        required: &["reference"],
        properties: || {
            json!({
                "reference": {"type": "string"},
                "title": {"type": "string"},
                "description": {"type": ["string", "null"]},
                "status": {"type": "string"},
                "priority": priority(),
                "assignee": {"type": ["string", "null"]},
                "expected_version": {"type": "integer"},
            })
        },
        run: |daily, arguments| daily.update(arguments).map(ToolOutput::text),
    },
    DailyTool {
        name: "relate",
        about: "Relate two requirements.",
        part: Part::Store,
        is_writing: true,
        also: &["link", "connect", "add_relationship", "create_link", "add_link", "unlink"],
        example: r#"{"reference": "REQ-002", "to": "REQ-001", "type": "relates_to"}"#,
        required: &["reference", "to", "type"],
        properties: || {
            json!({
                "reference": {"type": "string"},
                "to": {"type": "string"},
                "type": {"type": "string", "description": "e.g. depends_on, relates_to"},
                "remove": {"type": "boolean"},
            })
        },
        run: |daily, arguments| daily.relate(arguments).map(ToolOutput::text),
    },
    DailyTool {
        name: "comment",
        about: "Comment on something in the store.",
        part: Part::Store,
        is_writing: true,
        also: &["create_comment", "post_comment", "comment_on", "reply", "note"],
        example: r#"{"reference": "REQ-001", "text": "Also on the receipt?"}"#,
        required: &["reference", "text"],
        properties: || json!({ "reference": {"type": "string"}, "text": {"type": "string"} }),
        run: |daily, arguments| daily.comment(arguments).map(ToolOutput::text),
    },
    DailyTool {
        name: "delete",
        about: "Delete something in the store; it can be restored.",
        part: Part::Store,
        is_writing: true,
        also: &["remove", "destroy", "archive"],
        example: r#"{"reference": "REQ-001", "dry_run": true}"#,
        required: &["reference"],
        properties: || {
            json!({
                "reference": {"type": "string"},
                "dry_run": {"type": "boolean"},
                "force": {"type": "boolean", "description": "also what is below"},
            })
        },
        run: |daily, arguments| daily.delete(arguments).map(ToolOutput::text),
    },
    DailyTool {
        name: "report",
        about: "How far the work is, in the store and by specification, and which citations are wrong.",
        part: Part::Any,
        is_writing: false,
        also: &["status", "coverage", "progress", "summary", "statistics", "stats", "list_specifications"],
        example: r#"{"under": "EP-001"}"#,
        required: &[],
        properties: || json!({ "under": under(), "cursor": {"type": "string"} }),
        run: |daily, arguments| daily.report(arguments).map(ToolOutput::text),
    },
    DailyTool {
        name: "check_citation",
        about: "Check comment lines that cite a specification before you write them.",
        part: Part::Trace,
        is_writing: false,
        also: &["validate", "check", "verify", "validate_annotation", "verify_citation"],
        example: r#"{"citation": "//= docs/kettle.md#lid\n//# The lid MUST close."}"#,
        required: &["citation"],
        properties: || {
            json!({
                "citation": {"type": "string", "maxLength": 20_000},
                "file": {"type": "string", "description": "where it will stand"},
            })
        },
        run: |daily, arguments| daily.check_citation(&arguments).map(ToolOutput::text),
    },
    DailyTool {
        name: "threats",
        about: "Threats against what you are about to build, and what to do about them.",
        part: Part::Threats,
        is_writing: false,
        also: &["threat", "get_threats", "query_threats", "security", "threat_model"],
        example: r#"{"context": "background job that exports invoices of a tenant"}"#,
        required: &["context"],
        properties: || {
            json!({
                "context": {"type": "string", "minLength": 1},
                "language": {"type": "string"},
                "framework": {"type": "string"},
            })
        },
        run: |daily, arguments| daily.threats(arguments),
    },
];

fn under() -> Value {
    json!({"type": "string", "description": "epic, story or specification"})
}

fn limit() -> Value {
    json!({"type": "integer", "minimum": 1, "maximum": 100})
}

fn priority() -> Value {
    json!({"type": "integer", "minimum": 1, "maximum": 4, "description": "1 is highest"})
}

fn kinds() -> Value {
    json!({"enum": ["epic", "user_story", "acceptance_criteria", "requirement", "steering_document"]})
}

/// Arguments that are accepted but not listed, because few calls have them.
const UNSHOWN: &[(&str, &[&str])] = &[
    ("next", &["max_tokens", "project", "paths"]),
    ("finish", &["instead", "paths", "base", "note"]),
    ("find", &["max_tokens", "priority", "type", "assignee", "label", "sort", "project"]),
    ("create", &["rationale", "labels", "assignee", "project"]),
    ("update", &["parent", "type", "rationale", "labels"]),
    ("comment", &["quote"]),
    ("delete", &["expected_version"]),
    ("report", &["max_tokens"]),
];

impl DailyTool {
    /// The tool with all accepted arguments, of which a part is listed.
    pub fn tool(&self) -> Tool {
        let mut listed = json!({ "type": "object", "properties": (self.properties)() });
        if !self.required.is_empty() {
            listed["required"] = json!(self.required);
        }
        let mut schema = listed.clone();
        let unshown = UNSHOWN.iter().filter(|(name, _)| *name == self.name).flat_map(|(_, names)| *names);
        for name in unshown {
            schema["properties"][*name] = match *name {
                "max_tokens" => json!({"type": "integer", "minimum": 200, "maximum": 100_000}),
                "expected_version" => json!({"type": "integer", "minimum": 1}),
                "labels" | "label" => {
                    json!({"type": ["string", "array", "null"], "items": {"type": "string"}})
                }
                "priority" => priority(),
                "instead" => json!({"enum": INSTEAD}),
                "paths" => json!({"type": "array", "items": {"type": "string"}}),
                _ => json!({"type": ["string", "null"]}),
            };
        }
        schema["additionalProperties"] = json!(false);
        let mut tool = Tool::new(self.name, self.about, schema);
        tool.listed_schema = Some(listed);
        tool.annotations = match self.name {
            "delete" => None,
            // With `take` it leases what it lists.
            _ if self.is_writing || self.name == "next" => Some(json!({ "destructiveHint": false })),
            _ => Some(json!({ "readOnlyHint": true })),
        };
        tool
    }

    /// Whether the parts that it needs are available.
    pub fn is_there(&self, combined: &Combined) -> bool {
        match self.part {
            Part::Any => true,
            Part::Store => combined.local.is_some(),
            Part::Trace => matches!(combined.trace, Trace::Chosen(_) | Trace::Served(_)),
            Part::Threats => combined.threats.is_some(),
        }
    }
}
