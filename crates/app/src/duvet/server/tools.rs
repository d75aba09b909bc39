//! The tools: what they take and what they answer.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use mcp::{Failure, Kind, Tool, ToolOutput};
use nearest::nearest;
use serde_json::{Map, Value, json};
use trace::Level;
use trace::model::{Model, SpecificationEntry};

use super::TraceServer;
use super::citations;
use super::list::{Window, invalid, tokens_max};
use super::paths::{Code, LINE_CHARACTERS_MAX};

type MakeSchema = fn() -> Value;

/// What lists take beside their own arguments.
const LIST_ARGUMENTS: [(&str, MakeSchema); 4] = [
    ("spec_id", || json!({"type": "string"})),
    ("limit", || json!({"type": "integer", "minimum": 1})),
    ("cursor", || json!({"type": "string"})),
    ("max_tokens", || json!({"type": "integer", "minimum": 200, "maximum": 100_000})),
];
/// No citation is longer: a quote is a sentence, or a few.
const CITATION_CHARACTERS_MAX: usize = 20_000;
/// No path, URL or identifier is.
const NAME_CHARACTERS_MAX: usize = 10_000;
/// How many requirements of one text are listed.
const MATCHES_MAX: usize = 1_000;
const CONTEXT_LINES_MAX: u64 = 100;
const CONTEXT_LINES_DEFAULT: u64 = 5;

/// Describes the tools.
pub fn list() -> Vec<Arc<Tool>> {
    let text = |description: &str| json!({"type": "string", "minLength": 1, "maxLength": NAME_CHARACTERS_MAX, "description": description});
    let citation = json!({
        "type": "string",
        "minLength": 1,
        "maxLength": CITATION_CHARACTERS_MAX,
        "description": "e.g. //= https://www.rfc-editor.org/rfc/rfc2324#section-2.1.1",
    });
    let tools = [
        tool(
            "validate_citation",
            "Check a citation before or after writing it, as `duvet check` does: comment lines, or a bare target. Answers what it covers, and better lines to paste.",
            false,
            vec![
                ("citation", citation, true),
                ("file_path", text("the file that it is for; default any"), false),
            ],
        ),
        tool(
            "search_requirements",
            "Find requirements by words (all must occur), \"phrases\" and -exclusions, best first.",
            true,
            vec![(
                "query",
                json!({"type": "string", "minLength": 1, "maxLength": 1000, "description": "e.g. error handling"}),
                true,
            )],
        ),
        tool(
            "get_requirement_status",
            "Status of a requirement: done, needs tests, in progress, not started.",
            false,
            vec![("req_identifier", text("identifier, at least 8 characters of it, or its full_path"), true)],
        ),
        tool(
            "list_uncited_requirements",
            "Requirements that no code cites.",
            true,
            vec![(
                "include_todo",
                json!({"type": "boolean", "description": "also those that only a TODO cites"}),
                false,
            )],
        ),
        tool("list_invalid_citations", "Citations that are wrong, and why.", true, vec![]),
        tool(
            "get_citation_context",
            "The code around a citation.",
            false,
            vec![
                ("citation_id", text("e.g. src/main.rs:42"), true),
                (
                    "context_lines",
                    json!({"type": "integer", "minimum": 0, "maximum": CONTEXT_LINES_MAX, "description": "before and after; default 5"}),
                    false,
                ),
                ("max_tokens", LIST_ARGUMENTS[3].1(), false),
            ],
        ),
        tool(
            "resolve_spec_id",
            "The id of a specification, by any of its URLs or paths.",
            false,
            vec![("url", text("e.g. https://www.rfc-editor.org/rfc/rfc2324"), true)],
        ),
        tool(
            "get_prioritized_requirements",
            "What to work on next: all requirements by level (MUST first), then partially implemented first, then TODOs.",
            true,
            vec![],
        ),
    ];
    tools.into_iter().map(Arc::new).collect()
}

fn tool(name: &str, description: &str, is_list: bool, own: Vec<(&str, Value, bool)>) -> Tool {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for (name, schema, is_required) in own {
        properties.insert(name.to_owned(), schema);
        if is_required {
            required.push(name);
        }
    }
    if is_list {
        properties.extend(LIST_ARGUMENTS.map(|(name, schema)| (name.to_owned(), schema())));
    }
    let mut schema = json!({"type": "object", "properties": properties, "additionalProperties": false});
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    let mut tool = Tool::new(name, description, schema);
    tool.annotations = Some(json!({"readOnlyHint": true, "openWorldHint": false}));
    tool
}

/// Tells whether a tool reads files when it is called.
pub fn reads_files(name: &str) -> bool {
    name == "get_citation_context"
}

/// Calls a tool whose arguments have been checked.
pub fn call(
    server: &TraceServer,
    model: &Model,
    name: &str,
    arguments: &Value,
) -> Result<ToolOutput, Failure> {
    let root = &server.options.root;
    let text = |key: &str| arguments.get(key).and_then(Value::as_str).unwrap_or_default();
    match name {
        "validate_citation" => Ok(citations::validate(server, model, arguments)),
        "search_requirements" => requirements(model, arguments, Cow::Owned(model.search(text("query")))),
        "get_requirement_status" => status(model, text("req_identifier")),
        "list_uncited_requirements" => {
            let with_todos = arguments.get("include_todo").and_then(Value::as_bool).unwrap_or(false);
            requirements(model, arguments, Cow::Borrowed(model.uncited(with_todos)))
        }
        "list_invalid_citations" => citations::invalid(server, model, arguments),
        "get_citation_context" => context(root, model, text("citation_id"), arguments),
        "resolve_spec_id" => Ok(ToolOutput::json(resolve(model, text("url")))),
        "get_prioritized_requirements" => prioritized(model, arguments),
        other => Err(Failure::new(Kind::NotFound, format!("Unknown tool: {other}"))),
    }
}

/// Requirements as searches and lists show them.
fn requirements(
    model: &Model,
    arguments: &Value,
    mut numbers: Cow<'_, [u32]>,
) -> Result<ToolOutput, Failure> {
    if let Some(specification) = wanted(model, arguments)? {
        numbers.to_mut().retain(|number| is_of(model, *number, specification));
    }
    Ok(Window::read(arguments)?.cut(numbers.len(), |index| requirement(model, numbers[index])))
}

pub fn requirement(model: &Model, number: u32) -> Value {
    json!({
        "identifier": model.catalogue.identifier(number),
        "full_path": model.catalogue.requirement_path(number),
        "text": model.catalogue.text(number),
    })
}

/// Finds requirements by words: some of them, from a place on, and how many there are.
pub fn search(
    model: &Model,
    query: &str,
    specification: Option<&str>,
    start: usize,
    limit: usize,
) -> Result<(Vec<Value>, usize), Failure> {
    let mut numbers = model.search(query);
    if let Some(specification) = specification.map(|id| find(model, id)).transpose()? {
        numbers.retain(|number| is_of(model, *number, specification));
    }
    let found = numbers.iter().skip(start).take(limit).map(|number| requirement(model, *number));
    Ok((found.collect(), numbers.len()))
}

fn prioritized(model: &Model, arguments: &Value) -> Result<ToolOutput, Failure> {
    let all = model.priorities();
    let chosen: Vec<u32>;
    let numbers = match wanted(model, arguments)? {
        Some(specification) => {
            chosen = all.iter().copied().filter(|number| is_of(model, *number, specification)).collect();
            &chosen
        }
        None => all,
    };
    let item = |index: usize| {
        let state = model.state(numbers[index]);
        json!({
            "full_path": model.catalogue.requirement_path(numbers[index]),
            "level": level(model.requirement(numbers[index]).level),
            "status": state.progress.name(),
            "todo_count": state.n_todos,
        })
    };
    Ok(Window::read(arguments)?.cut(numbers.len(), item))
}

/// What a level is called here.
pub fn level(level: Level) -> &'static str {
    if level == Level::Auto { "unspecified" } else { level.name() }
}

fn status(model: &Model, name: &str) -> Result<ToolOutput, Failure> {
    let numbers = model.find(name);
    let least = numbers.iter().copied().min_by_key(|number| model.state(*number).status);
    let Some(least) = least else {
        return Err(Failure::new(Kind::NotFound, "Requirement not found"));
    };
    let state = model.state(least);
    let mut answer = json!({"status": state.status.name(), "detail": state.label.name()});
    if numbers.len() > 1 {
        let one = |number: &u32| {
            let state = model.state(*number);
            json!({"full_path": model.catalogue.requirement_path(*number), "status": state.status.name(), "detail": state.label.name()})
        };
        answer["match_count"] = json!(numbers.len());
        answer["matches"] = numbers.iter().take(MATCHES_MAX).map(one).collect();
    }
    Ok(ToolOutput::json(answer))
}

fn context(root: &Path, model: &Model, id: &str, arguments: &Value) -> Result<ToolOutput, Failure> {
    let n_lines = arguments.get("context_lines").and_then(Value::as_u64).unwrap_or(CONTEXT_LINES_DEFAULT);
    let Some(code) = Code::find(root, model, id)? else {
        let ids = model.all_citations().map(|citation| citation.id()).collect::<Vec<_>>();
        let nearest = nearest(id, ids.iter().map(String::as_str));
        let hint = nearest.map(|nearest| format!("; did you mean {nearest}?")).unwrap_or_default();
        return Err(Failure::new(Kind::NotFound, format!("Citation not found: {}{hint}", mcp::shown(id))));
    };
    let budget = tokens_max(arguments).saturating_sub(60);
    let mut n_around = n_lines as usize;
    let mut n_characters_max = LINE_CHARACTERS_MAX;
    loop {
        let lines = code.lines(n_around, n_characters_max);
        let mut answer = json!({"file_path": code.path, "line_number": code.line, "context": lines});
        if n_around < n_lines as usize || n_characters_max < LINE_CHARACTERS_MAX {
            answer["truncated"] = json!(true);
        }
        let fits = tokens::count(&answer.to_string()) <= budget;
        match (n_around, n_characters_max) {
            _ if fits => return Ok(ToolOutput::json(answer)),
            (0, 0) => return Ok(ToolOutput::json(answer)),
            (0, _) => n_characters_max /= 2,
            _ => n_around /= 2,
        }
    }
}

fn resolve(model: &Model, url: &str) -> Value {
    match model.resolve(url) {
        Some(specification) => json!({"spec_id": specification.id}),
        None => {
            let ids = model.catalogue.specifications.iter().map(|specification| specification.id.as_str());
            let names =
                model.catalogue.specifications.iter().flat_map(|specification| &specification.spellings);
            let mut answer = json!({"error": "Specification not found"});
            if let Some(nearest) = nearest(url, ids.chain(names.map(String::as_str))) {
                let id = model.resolve(nearest).map_or(nearest, |specification| &specification.id);
                answer["nearest"] = json!([id]);
            }
            answer
        }
    }
}

/// The specification that a list is asked for.
pub fn wanted<'a>(model: &'a Model, arguments: &Value) -> Result<Option<&'a SpecificationEntry>, Failure> {
    arguments.get("spec_id").and_then(Value::as_str).map(|id| find(model, id)).transpose()
}

/// The specification of that id.
fn find<'a>(model: &'a Model, id: &str) -> Result<&'a SpecificationEntry, Failure> {
    match model.resolve(id) {
        Some(specification) => Ok(specification),
        None => {
            let ids = model.catalogue.specifications.iter().map(|specification| specification.id.as_str());
            let hint = nearest(id, ids).map(|id| format!("; did you mean \"{id}\"?")).unwrap_or_default();
            Err(invalid("spec_id", &format!("there is no specification {}{hint}", mcp::shown(id))))
        }
    }
}

fn is_of(model: &Model, number: u32, specification: &SpecificationEntry) -> bool {
    let section = model.requirement(number).section;
    model.catalogue.document(section).0.id == specification.id
}
