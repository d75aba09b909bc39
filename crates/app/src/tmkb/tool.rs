//! The description of `tmkb_query`: the original's for `tmkb serve`, and ours for `spexus mcp`.

use std::sync::Arc;

use mcp::Tool;
use serde_json::{Value, json};

/// The tool.
pub const TOOL: &str = "tmkb_query";

/// The arguments that every server accepts.
pub const PARAMETERS: [&str; 4] = ["context", "language", "framework", "verbosity"];
/// `spexus mcp` also accepts this unlisted argument: the maximal length of the human form.
pub const MAX_TOKENS: &str = "max_tokens";
/// Its default.
pub const HUMAN_TOKENS_DEFAULT: u64 = 2_000;
/// Its minimum.
pub const HUMAN_TOKENS_MIN: u64 = 200;
/// Its maximum.
pub const HUMAN_TOKENS_MAX: u64 = 100_000;
/// The forms of an answer, the default first.
pub const VERBOSITIES: [&str; 2] = ["agent", "human"];

/// The accepted languages and frameworks.
#[derive(Clone, Copy)]
pub enum Choice<'a> {
    /// Those with patterns, as in the original.
    Known { languages: &'a [String], frameworks: &'a [String] },
    /// Any: for one without patterns, those that generalize are answered.
    Any,
}

/// The tool of `spexus mcp`, with all accepted arguments.
//@= spexus://REQ-202
//@# 004 Tool Discovery: tools/list has the one tool, word for word
pub fn described() -> Arc<Tool> {
    accepted(false)
}

/// The same, with the output schema if requested.
pub fn accepted(output_schema: bool) -> Arc<Tool> {
    let mut tool = shown(Choice::Any, output_schema);
    let mut schema = tool.input_schema.as_json().clone();
    schema["properties"][MAX_TOKENS] = json!({
        "type": "integer",
        "minimum": HUMAN_TOKENS_MIN,
        "maximum": HUMAN_TOKENS_MAX,
        "description": "Maximal length of the human form; default 2,000",
    });
    tool.input_schema = mcp::Schema::new(schema);
    Arc::new(tool)
}

/// The tool as it is listed.
pub fn shown(choice: Choice<'_>, output_schema: bool) -> Tool {
    let (language, framework) = match choice {
        Choice::Known { languages, frameworks } => {
            let is_default = languages == ["python"] && frameworks == ["flask", "any"];
            let (language, framework) = match is_default {
                true => ("Programming language (MVP: Python only)", "Framework context (MVP: Flask or any)"),
                false => ("Programming language", "Framework context"),
            };
            (
                json!({"type": "string", "enum": languages, "description": language}),
                json!({"type": "string", "enum": frameworks, "description": framework}),
            )
        }
        Choice::Any => (
            json!({"type": "string", "description": "Programming language, such as python or rust"}),
            json!({"type": "string", "description": "Framework, such as flask, or any"}),
        ),
    };
    let mut tool = Tool::new(
        TOOL,
        "Query the Threat Model Knowledge Base for authorization security threats relevant to your implementation. Returns concise, actionable security context optimized for code generation.",
        json!({
            "type": "object",
            "properties": {
                "context": {
                    "type": "string",
                    "description": "What you're implementing (e.g., 'multi-tenant API endpoint', 'background job processing')",
                    "minLength": 1,
                },
                "language": language,
                "framework": framework,
                "verbosity": {
                    "type": "string",
                    "enum": VERBOSITIES,
                    "default": "agent",
                    "description": "Output format: 'agent' for concise, 'human' for detailed",
                },
            },
            "required": ["context"],
            "additionalProperties": false,
        }),
    );
    tool.output_schema = output_schema.then(output);
    tool
}

/// The schema of an answer: `patterns` in short, or `verbose_patterns` in full.
fn output() -> Value {
    let text = || json!({"type": "string"});
    let number = || json!({"type": "integer"});
    let pattern = json!({
        "type": "object",
        "properties": {"id": text(), "severity": text(), "threat": text(), "check": text(), "fix": text(), "written_for": text()},
        "required": ["id", "severity", "threat", "check", "fix"],
    });
    json!({
        "type": "object",
        "properties": {
            "pattern_count": number(),
            "patterns_included": number(),
            "token_count": number(),
            "token_limit_reached": {"type": "boolean"},
            "patterns": {"type": "array", "items": pattern},
            "verbose_patterns": {"type": "array", "items": pattern},
            "code_pattern": {
                "type": "object",
                "properties": {"language": text(), "framework": text(), "secure_template": text()},
            },
            "note": text(),
        },
        "required": ["pattern_count", "patterns_included"],
    })
}
