//! The descriptions of the tools. Every listed word costs agents tokens, so the list has the arguments for daily work;
//! the others are accepted as well, and the manual has them.

use std::sync::Arc;

use mcp::Tool;
use serde_json::{Map, Value, json};

use super::schemas;

/// The longest citation that is accepted: a quote is a sentence, or a few.
const CITATION_CHARACTERS_MAX: usize = 20_000;
/// The longest path, URL or identifier that is accepted.
const NAME_CHARACTERS_MAX: usize = 10_000;
const QUERY_CHARACTERS_MAX: usize = 1_000;
const CONTEXT_LINES_MAX: usize = 100;

/// The tools in two views.
pub struct Descriptions {
    /// What is listed.
    pub shown: Vec<Arc<Tool>>,
    /// What calls are validated against.
    pub accepted: Vec<Arc<Tool>>,
}

impl Descriptions {
    /// Describes the tools, with output schemas if requested.
    pub fn new(output_schemas: bool) -> Descriptions {
        let tools = tools();
        let described = |view: fn(&Description) -> Tool| {
            let with_output = |description: &Description| {
                let mut tool = view(description);
                tool.output_schema = schemas::output(description.name).filter(|_| output_schemas);
                Arc::new(tool)
            };
            tools.iter().map(with_output).collect()
        };
        Descriptions { shown: described(Description::shown), accepted: described(Description::accepted) }
    }
}

struct Description {
    name: &'static str,
    about: &'static str,
    arguments: Vec<Argument>,
}

#[derive(Clone)]
struct Argument {
    name: &'static str,
    about: &'static str,
    schema: Value,
    is_required: bool,
    is_shown: bool,
}

impl Argument {
    fn required(self) -> Argument {
        Argument { is_required: true, ..self }
    }

    fn hidden(self) -> Argument {
        Argument { is_shown: false, ..self }
    }
}

fn argument(name: &'static str, schema: Value, about: &'static str) -> Argument {
    Argument { name, about, schema, is_required: false, is_shown: true }
}

fn text(name: &'static str, n_characters_max: usize, about: &'static str) -> Argument {
    argument(name, json!({"type": "string", "minLength": 1, "maxLength": n_characters_max}), about)
}

fn specification() -> Argument {
    argument("spec_id", json!({"type": "string"}), "")
}

fn cursor() -> Argument {
    argument("cursor", json!({"type": "string"}), "")
}

/// The common arguments of lists, in addition to `cursor`.
fn limits() -> [Argument; 2] {
    let tokens = json!({"type": "integer", "minimum": 200, "maximum": 100_000});
    [
        argument("limit", json!({"type": "integer", "minimum": 1}), "").hidden(),
        argument("max_tokens", tokens, "maximal length of the answer; default 2,000").hidden(),
    ]
}

fn tools() -> Vec<Description> {
    let tool = |name, about, arguments| Description { name, about, arguments };
    let list = |name, about, own: Vec<Argument>| {
        let arguments = own.into_iter().chain([cursor()]).chain(limits()).collect();
        Description { name, about, arguments }
    };
    let [_, max_tokens] = limits();
    vec![
        tool(
            "validate_citation",
            "Check a citation before or after writing it: comment lines, or a bare target. Answers what it covers, and lines to paste.",
            vec![
                text("citation", CITATION_CHARACTERS_MAX, "").required(),
                text("file_path", NAME_CHARACTERS_MAX, "the file that it is for, if comment styles differ")
                    .hidden(),
            ],
        ),
        list(
            "search_requirements",
            "Find requirements by words (all must occur), \"phrases\" and -exclusions, best first.",
            vec![text("query", QUERY_CHARACTERS_MAX, "").required(), specification()],
        ),
        tool(
            "get_requirement_status",
            "One requirement: status, text, target, and the code that cites it.",
            vec![
                text(
                    "req_identifier",
                    NAME_CHARACTERS_MAX,
                    "identifier, short_id, target or path:line of a citation",
                )
                .required(),
                cursor().hidden(),
                max_tokens.clone(),
            ],
        ),
        list(
            "list_uncited_requirements",
            "Requirements that no code cites, in document order.",
            vec![
                specification(),
                argument("include_todo", json!({"type": "boolean"}), "also those that only a TODO cites")
                    .hidden(),
            ],
        ),
        list(
            "list_invalid_citations",
            "Citations that are wrong, why, and lines to paste instead.",
            vec![specification().hidden()],
        ),
        tool(
            "get_citation_context",
            "The code around a citation.",
            vec![
                text("citation_id", NAME_CHARACTERS_MAX, "e.g. src/main.rs:42").required(),
                argument(
                    "context_lines",
                    json!({"type": "integer", "minimum": 0, "maximum": CONTEXT_LINES_MAX}),
                    "before and after; default 5",
                ),
                max_tokens.clone(),
            ],
        ),
        tool(
            "resolve_spec_id",
            "A specification with its sections, or a section with its text and requirements. Without url: all specifications.",
            vec![text("url", NAME_CHARACTERS_MAX, "URL, path, id or target"), cursor(), max_tokens.clone()],
        ),
        list(
            "get_prioritized_requirements",
            "What to work on next: MUST first, then what is partially implemented, then what has TODOs.",
            vec![specification()],
        ),
    ]
}

impl Description {
    fn accepted(&self) -> Tool {
        let mut schema = self.schema(|_| true, Value::clone);
        schema["additionalProperties"] = json!(false);
        self.tool(schema)
    }

    /// Removes unlisted arguments, and limits that are never reached.
    fn shown(&self) -> Tool {
        self.tool(self.schema(|argument| argument.is_shown, |schema| json!({"type": schema["type"]})))
    }

    fn schema(&self, is_in: impl Fn(&Argument) -> bool, view: impl Fn(&Value) -> Value) -> Value {
        let mut properties = Map::new();
        for argument in self.arguments.iter().filter(|argument| is_in(argument)) {
            let mut schema = view(&argument.schema);
            if !argument.about.is_empty() {
                schema["description"] = json!(argument.about);
            }
            properties.insert(argument.name.to_owned(), schema);
        }
        let mut schema = json!({"type": "object", "properties": properties});
        let required = self.arguments.iter().filter(|argument| argument.is_required);
        let required: Vec<&str> = required.map(|argument| argument.name).collect();
        if !required.is_empty() {
            schema["required"] = json!(required);
        }
        schema
    }

    fn tool(&self, schema: Value) -> Tool {
        let mut tool = Tool::new(self.name, self.about, schema);
        tool.annotations = Some(json!({"readOnlyHint": true}));
        tool
    }
}
