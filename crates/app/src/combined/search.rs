//! `search_requirements` for both kinds: managed requirements in the store, and requirements of the project's
//! specifications.

use mcp::{Context, Failure, Tool, ToolOutput};
use serde_json::{Map, Value, json};

use crate::duvet::server::TraceServer;
use crate::requirements::Requirements;
use crate::requirements::budget::PageWindow;

use super::turns::Turns;

/// The tool of both parts.
pub const NAME: &str = ops::known::SEARCH_REQUIREMENTS.name;

/// Arguments that apply only to requirements in the store.
const MANAGED_ONLY: [&str; 5] = ["type", "status", "priority", "epic_id", "user_story_id"];
/// The default number of results.
const LIMIT: i64 = 50;

/// The tool for both, derived from the one for the store.
pub fn tool(managed: &Tool) -> Tool {
    let mut tool = managed.clone();
    tool.description = "Search requirements in the store (origin managed) and in the project's specifications (origin spec)."
        .to_owned();
    let mut schema = managed.input_schema.as_json().clone();
    for schema in tool.listed_schema.iter_mut().chain([&mut schema]) {
        schema["properties"]["spec_id"] =
            json!({ "type": "string", "description": "Only this specification" });
    }
    tool.input_schema = mcp::Schema::new(schema);
    if let Some(items) =
        tool.output_schema.as_mut().and_then(|schema| schema.pointer_mut("/properties/data/items/properties"))
    {
        items["origin"] = json!({ "type": "string", "enum": ["managed", "spec"] });
        for name in ["short_id", "target", "section", "text"] {
            items[name] = json!({ "type": "string" });
        }
    }
    tool
}

/// Searches both. Their ranks cannot be compared, so results alternate.
pub fn search(
    requirements: &Requirements,
    trace: &TraceServer,
    context: &Context<'_>,
    arguments: Value,
) -> Result<ToolOutput, Failure> {
    let Value::Object(mut arguments) = arguments else { return Err(Failure::internal()) };
    let window = PageWindow::take(&mut arguments)?;
    arguments.shift_remove("offset");
    let limit = arguments.get("limit").and_then(Value::as_i64).unwrap_or(LIMIT);
    let query = arguments.get("query").and_then(Value::as_str).unwrap_or_default().to_owned();
    words::Query::parse(&query)
        .map_err(|problem| Failure::invalid_argument("query", &problem.to_string()))?;
    let specification = arguments.shift_remove("spec_id");
    let specification = specification.as_ref().and_then(Value::as_str);
    let managed_only = MANAGED_ONLY.into_iter().find(|name| arguments.contains_key(*name));
    if let (Some(_), Some(name)) = (specification, managed_only) {
        let problem =
            format!("is for requirements of specifications, which have no {name}; give one of the two");
        return Err(Failure::invalid_argument("spec_id", &problem));
    }
    let managed = Managed { requirements, context, arguments, is_wanted: specification.is_none() };
    let (_, n_spec) = match managed_only {
        None => trace.search_stated(&query, specification, 0, 0)?,
        Some(_) => (Vec::new(), 0),
    };
    let mut first = managed.ask(1, 0)?;
    let turns = Turns { n_managed: first["total_count"].as_i64().unwrap_or_default(), n_spec: n_spec as i64 };
    let start = turns.managed_before(window.offset);
    let mut found = managed.ask(limit, start)?;
    let (spec, _) = match n_spec {
        0 => (Vec::new(), 0),
        _ => trace.search_stated(
            &query,
            specification,
            (window.offset - start).max(0) as usize,
            limit as usize,
        )?,
    };
    let mut managed = match found["data"].take() {
        Value::Array(items) => items.into_iter(),
        _ => Vec::new().into_iter(),
    };
    let mut spec = spec.into_iter();
    let places = window.offset..(window.offset + limit).min(turns.n_managed + turns.n_spec);
    let data: Vec<Value> = places
        .filter_map(|place| match turns.is_managed(place) {
            true => managed.next().map(|hit| marked("managed", hit)),
            false => spec.next().map(|hit| marked("spec", short(hit))),
        })
        .collect();
    let mut page = json!({ "data": data, "total_count": turns.n_managed + turns.n_spec });
    if found["more_than_counted"] == true {
        page["more_than_counted"] = json!(true);
    }
    if data.is_empty() {
        let advice = first["message"].take();
        let default = json!("nothing was found; try other words or fewer of them");
        page["message"] = if advice.is_null() { default } else { advice };
    }
    let problems = trace.problems();
    if !problems.is_empty() {
        page["problems"] = json!(problems);
    }
    Ok(ToolOutput::json(window.page("data", "/total_count", page)))
}

/// Asks the store.
struct Managed<'a> {
    requirements: &'a Requirements,
    context: &'a Context<'a>,
    arguments: Map<String, Value>,
    is_wanted: bool,
}

impl Managed<'_> {
    fn ask(&self, limit: i64, offset: i64) -> Result<Value, Failure> {
        if !self.is_wanted {
            return Ok(json!({ "data": [], "total_count": 0 }));
        }
        let mut arguments = self.arguments.clone();
        arguments.insert("limit".into(), json!(limit));
        self.requirements.run(self.requirements.offer(NAME)?, arguments, (None, offset), self.context)
    }
}

/// A hit with its short id instead of 64 digits.
fn short(mut hit: Value) -> Value {
    if let Some(hit) = hit.as_object_mut().filter(|hit| hit.contains_key("short_id")) {
        hit.shift_remove("identifier");
        hit.shift_remove("full_path");
    }
    hit
}

fn marked(origin: &str, hit: Value) -> Value {
    let mut marked = json!({ "origin": origin });
    if let (Some(marked), Value::Object(hit)) = (marked.as_object_mut(), hit) {
        marked.extend(hit);
    }
    marked
}
