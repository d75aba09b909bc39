//! The calls of the tools.

use std::borrow::Cow;
use std::ops::Range;
use std::path::Path;

use mcp::{Failure, FailureKind, ToolOutput};
use serde_json::{Value, json};
use trace::model::{Model, Named, SpecificationEntry};

use super::TraceServer;
use super::list::{ListWindow, tokens_max};
use super::paths::{Code, LINE_CHARACTERS_MAX, within};
use super::{advice, citations, rows, specifications};

const CONTEXT_LINES_DEFAULT: u64 = 5;

/// Returns whether a tool reads files when it is called.
pub fn reads_files(name: &str) -> bool {
    name == "get_citation_context"
}

/// Calls a tool with validated arguments.
pub fn call(
    server: &TraceServer,
    model: &Model,
    name: &str,
    arguments: &Value,
) -> Result<ToolOutput, Failure> {
    let root = &server.options.root;
    let arguments = &relative(root, arguments);
    let text = |key: &str| arguments.get(key).and_then(Value::as_str).unwrap_or_default();
    match name {
        "validate_citation" => Ok(citations::validate(server, model, arguments)),
        "search_requirements" => {
            requirements(model, arguments, Cow::Owned(model.search(text("query"))), rows::requirement)
        }
        "get_requirement_status" => rows::status(model, text("req_identifier"), arguments),
        "list_uncited_requirements" => {
            let with_todos = arguments.get("include_todo").and_then(Value::as_bool).unwrap_or(false);
            requirements(model, arguments, Cow::Borrowed(model.uncited(with_todos)), rows::requirement)
        }
        "list_invalid_citations" => citations::invalid(server, model, arguments),
        "get_citation_context" => context(root, model, text("citation_id"), arguments),
        "resolve_spec_id" => specifications::resolve(model, arguments),
        "get_prioritized_requirements" => {
            requirements(model, arguments, Cow::Borrowed(model.priorities()), rows::priority)
        }
        other => Err(Failure::new(FailureKind::NotFound, format!("Unknown tool: {other}"))),
    }
}

/// Arguments whose values may start with the project's folder.
const NAMES: [&str; 5] = ["url", "spec_id", "req_identifier", "citation_id", "file_path"];

/// Removes the project's folder from paths.
fn relative(root: &Path, arguments: &Value) -> Value {
    let mut arguments = arguments.clone();
    for name in NAMES {
        if let Some(Value::String(path)) = arguments.get_mut(name) {
            let bare = path.strip_prefix("file://").unwrap_or(path);
            if bare.len() < path.len() || bare.starts_with('/') {
                *path = within(root, bare);
            }
        }
    }
    arguments
}

/// Requirements in searches and lists.
//@= spexus://REQ-193
//@# 003 §4.4: list_uncited_requirements lists what nothing cites
//@= spexus://REQ-197
//@# 003 §4.8: get_prioritized_requirements orders by level, then by status, then by TODOs
fn requirements(
    model: &Model,
    arguments: &Value,
    mut numbers: Cow<'_, [u32]>,
    row: fn(&Model, u32) -> Value,
) -> Result<ToolOutput, Failure> {
    if let Some(scope) = Scope::read(model, arguments)? {
        numbers.to_mut().retain(|number| scope.has(model, *number));
    }
    Ok(ListWindow::read(arguments)?.answer(numbers.len(), |index| row(model, numbers[index])))
}

/// Finds requirements that specifications state, by words: some of them, from a place on, and how many there are. Those of a store are
/// found there.
//@= spexus://REQ-191
//@# 003 §4.2: search_requirements finds requirements by keywords, best first
pub fn search_stated(
    model: &Model,
    query: &str,
    specification: Option<&str>,
    start: usize,
    limit: usize,
) -> Result<(Vec<Value>, usize), Failure> {
    let mut numbers = model.search(query);
    numbers.retain(|number| !is_managed(model, *number));
    if let Some(scope) = specification.map(|name| Scope::find(model, name)).transpose()? {
        numbers.retain(|number| scope.has(model, *number));
    }
    let found = numbers.iter().skip(start).take(limit).map(|number| rows::requirement(model, *number));
    Ok((found.collect(), numbers.len()))
}

/// Whether a requirement is of a store.
pub fn is_managed(model: &Model, number: u32) -> bool {
    let (specification, _) = model.catalogue.document(model.requirement(number).section);
    specification.document.managed.is_some()
}

//@= spexus://REQ-195
//@# 003 §4.6: get_citation_context returns the lines around a citation
fn context(root: &Path, model: &Model, id: &str, arguments: &Value) -> Result<ToolOutput, Failure> {
    let n_lines = arguments.get("context_lines").and_then(Value::as_u64).unwrap_or(CONTEXT_LINES_DEFAULT);
    let Some((code, note)) = Code::find(root, model, id)? else {
        let hint = advice::citation(model, id).map(|id| format!("\ncitation_id: did you mean \"{id}\"?"));
        let message = format!("Citation not found: {}{}", mcp::shown(id), hint.unwrap_or_default());
        return Err(Failure::new(FailureKind::NotFound, message));
    };
    let budget = tokens_max(arguments).saturating_sub(60);
    let mut n_around = n_lines as usize;
    let mut n_characters_max = LINE_CHARACTERS_MAX;
    loop {
        let lines = code.lines(n_around, n_characters_max);
        let mut answer = json!({"file_path": code.path, "line_number": code.line, "context": lines});
        if let Some(note) = &note {
            answer["note"] = json!(note);
        }
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

/// What a list is narrowed to: the sections of a specification, or one of them.
pub struct Scope<'a> {
    /// The specification.
    pub specification: &'a SpecificationEntry,
    sections: Range<u32>,
}

impl<'a> Scope<'a> {
    /// Reads `spec_id`, which may also be another name of a specification, or a target.
    pub fn read(model: &'a Model, arguments: &Value) -> Result<Option<Scope<'a>>, Failure> {
        arguments.get("spec_id").and_then(Value::as_str).map(|name| Scope::find(model, name)).transpose()
    }

    fn find(model: &'a Model, name: &str) -> Result<Scope<'a>, Failure> {
        match model.named(name) {
            Some(Named::Specification(specification)) => {
                Ok(Scope { specification, sections: specification.sections() })
            }
            Some(Named::Section(section)) => Ok(Scope {
                specification: model.catalogue.document(section).0,
                sections: section..section + 1,
            }),
            _ => {
                let nearest = advice::section(model, name).or_else(|| advice::specification(model, name));
                let hint = nearest.map(|name| format!("; did you mean \"{name}\"?")).unwrap_or_default();
                Err(Failure::invalid_argument(
                    "spec_id",
                    &format!("there is no specification {}{hint}", mcp::shown(name)),
                ))
            }
        }
    }

    fn has(&self, model: &Model, number: u32) -> bool {
        self.sections.contains(&model.requirement(number).section)
    }
}
