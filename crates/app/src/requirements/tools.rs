//! Tools, made from the list of operations. An agent pays for every word that it is shown, so schemas are as short as they
//! can be: what the operation checks by itself, and what a name says by itself, is left out.

use std::fmt::Write as _;
use std::sync::Arc;

use mcp::Tool;
use ops::{Effect, Entry};
use serde_json::{Map, Value, json};

/// The sets of tools there are, the default one first.
pub const SETS: [&str; 5] = ["requirements", "comments", "steering", "prompts", "bulk"];

/// Which tools are shown.
#[derive(Clone, Debug)]
pub struct ToolOptions {
    /// The chosen sets.
    pub sets: Vec<String>,
    /// Only what changes nothing.
    pub read_only: bool,
    /// With the schemas of answers, which cost three times as much as the rest.
    pub output_schemas: bool,
}

impl ToolOptions {
    /// Reads the names of sets, with commas in between.
    pub fn parse_sets(names: &str) -> Result<Vec<String>, String> {
        let mut sets = Vec::new();
        for name in names.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            let known = SETS.iter().find(|known| known.eq_ignore_ascii_case(name)).ok_or_else(|| {
                format!("{} is no tool set; expected some of {}", mcp::shown(name), SETS.join(", "))
            })?;
            sets.push((*known).to_owned());
        }
        sets.sort();
        sets.dedup();
        if sets.is_empty() { Err(format!("expected some of {}", SETS.join(", "))) } else { Ok(sets) }
    }
}

impl Default for ToolOptions {
    fn default() -> Self {
        ToolOptions { sets: vec![SETS[0].to_owned()], read_only: false, output_schemas: false }
    }
}

/// The tools that are shown.
pub struct Tools {
    list: Vec<Arc<Tool>>,
}

impl Tools {
    /// The tools of the chosen sets.
    pub fn new(options: &ToolOptions) -> Tools {
        let chosen = |entry: &&Entry| {
            entry.toolset.is_some_and(|set| options.sets.iter().any(|chosen| chosen == set))
                && (!options.read_only || !entry.writes())
        };
        let list =
            ops::OPERATIONS.iter().filter(chosen).map(|entry| Arc::new(tool(entry, options.output_schemas)));
        Tools { list: list.collect() }
    }

    /// The tools, in an order that does not change.
    pub fn list(&self) -> &[Arc<Tool>] {
        &self.list
    }

    /// What agents are told first: the active prompt, with the guide in its place.
    pub fn instructions(&self, prompt: &Value) -> String {
        const PLACE: &str = "{{capabilities}}";
        let text = |name: &str| prompt[name].as_str().unwrap_or_default();
        let guide = self.guide();
        let content = text("content");
        let content = if content.contains(PLACE) {
            content.replace(PLACE, &guide)
        } else {
            format!("{content}\n\n{guide}")
        };
        match text("description") {
            "" => content,
            description => format!("{description}\n\n{content}"),
        }
    }

    fn guide(&self) -> String {
        let mut guide = String::from("Tools:\n");
        for tool in &self.list {
            let _ = writeln!(guide, "- {}: {}", tool.name, tool.description);
        }
        guide.push_str(
            "\nLists and searches are cut at `max_tokens` (2000); go on with `cursor`.\n\nResources (JSON): epic://{id}, \
             user-story://{id}, requirement://{id}, acceptance-criteria://{id}, steering-document://{id}, prompt://{id}; \
             epic://{id}/hierarchy, user-story://{id}/requirements, user-story://{id}/acceptance-criteria, \
             requirement://{id}/relationships. {id} is a UUID or a reference id. Lists by template: \
             epics://list?status={status}&priority={priority}, user-stories://list?epic_id={epic_id}&status={status}, \
             requirements://search?query={query}&type={type}.",
        );
        guide
    }
}

fn tool(entry: &Entry, with_output: bool) -> Tool {
    let mut tool = Tool::new(entry.name, entry.summary(), compact(entry));
    tool.title = Some(title(entry.name));
    tool.annotations = Some(json!({
        "readOnlyHint": !entry.writes(),
        "destructiveHint": entry.effect == Effect::Destroys,
        "idempotentHint": !entry.writes() || entry.name.starts_with("update_"),
        "openWorldHint": false,
    }));
    tool.output_schema = with_output.then(|| entry.output_schema());
    tool
}

fn title(name: &str) -> String {
    let words = name.replace('_', " ");
    words[..1].to_uppercase() + &words[1..]
}

/// Arguments whose names say what they are.
const PLAIN: &[&str] = &[
    "title",
    "description",
    "content",
    "status",
    "limit",
    "offset",
    "query",
    "reference",
    "kind",
    "epic_id",
    "user_story_id",
    "requirement_id",
    "acceptance_criteria_id",
    "steering_document_id",
    "prompt_id",
    "comment_id",
    "id",
    "name",
    "type",
    "depth",
    "source_requirement_id",
    "target_requirement_id",
    "created_from",
    "created_to",
    "updated_from",
    "updated_to",
    "assignee",
    "creator",
    "include_deleted",
    "sort",
    "project",
    "group_by",
    "dry_run",
    "epic",
    "user_story",
    "role",
    "resolved",
    "author",
    "expected_version",
    "entity_types",
    "format",
];

/// The schema of a tool: names, types and choices; a sentence only where a name does not say enough.
fn compact(entry: &Entry) -> Value {
    let schema = entry.input_schema();
    let mut properties = Map::new();
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        // Pages are turned by cursor.
        if name == "offset" && !entry.name.starts_with("search") {
            continue;
        }
        properties.insert(name.clone(), short(name, property));
    }
    if is_list(entry) {
        properties
            .insert("max_tokens".into(), json!({ "type": "integer", "minimum": 200, "maximum": 100_000 }));
        properties.insert("cursor".into(), json!({ "type": "string" }));
    }
    let mut short = json!({ "type": "object", "properties": properties });
    if let Some(required) =
        schema.get("required").filter(|required| required.as_array().is_some_and(|r| !r.is_empty()))
    {
        short["required"] = required.clone();
    }
    short["additionalProperties"] = json!(false);
    short
}

/// Whether an operation answers with a page.
pub fn is_list(entry: &Entry) -> bool {
    entry.input_schema()["properties"].get("offset").is_some()
}

fn short(name: &str, property: &Value) -> Value {
    let mut short = Map::new();
    let about = property["description"].as_str().unwrap_or_default();
    let may_clear = about.contains("null");
    let alternatives = ["anyOf", "oneOf"].iter().find_map(|keyword| property[*keyword].as_array());
    if let Some(alternatives) = alternatives {
        let mut kept: Vec<&Value> = alternatives.iter().filter(|one| one["type"] != "null").collect();
        if kept.len() == 1
            && let Some(only) = kept.pop()
        {
            return self::short(name, only);
        }
        // Choices with a sentence each become a plain list of their names.
        let names: Vec<&Value> = kept.iter().filter_map(|one| one.get("const")).collect();
        if names.len() == kept.len() {
            return json!({ "type": "string", "enum": names });
        }
    }
    match &property["type"] {
        Value::Array(types) if !may_clear => {
            let only = types.iter().find(|name| *name != "null").cloned().unwrap_or_default();
            short.insert("type".into(), only);
        }
        Value::Null => {}
        kind => {
            short.insert("type".into(), kind.clone());
        }
    }
    for keyword in ["enum", "minimum", "maximum"] {
        let fits =
            property.get(keyword).filter(|value| value.as_i64().is_none_or(|number| number.abs() <= 1_000));
        if let Some(value) = fits {
            let value = match value {
                Value::Array(values) => values.iter().filter(|value| !value.is_null()).cloned().collect(),
                other => other.clone(),
            };
            short.insert(keyword.into(), value);
        }
    }
    if let Some(items) = property.get("items") {
        short.insert("items".into(), self::short("", items));
    }
    if !PLAIN.contains(&name) && !about.is_empty() {
        let sentence = about.split(". ").next().unwrap_or(about).trim_end_matches('.').replace('\n', " ");
        short.insert("description".into(), json!(sentence));
    }
    Value::Object(short)
}
