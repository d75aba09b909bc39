//! Tools, made from the list of operations: which there are, and what calling one means.

use std::fmt::Write as _;
use std::sync::Arc;

use mcp::Tool;
use ops::{Arguments, Effect, Entry};
use serde_json::{Map, Value, json};

use super::schema;

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
    offers: Vec<Offer>,
}

/// A tool and the operation that it runs.
pub struct Offer {
    /// The operation.
    pub entry: &'static Entry,
    /// What becomes of its answer.
    pub shape: Shape,
    name: &'static str,
    set: &'static str,
    about: String,
    known: Arguments,
    alias: Option<&'static Alias>,
}

/// What becomes of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// It is given as it is: who reads something in order to change it needs all of it.
    Whole,
    /// A list in it is cut into pages. It is under the first name, and how many there are in all is at the second; where
    /// that is empty, the answer has all of them.
    Page(&'static str, &'static str),
    /// Only names, and what they mean.
    Names,
    /// What came of each of many operations, in short.
    Steps,
    /// What is too long is shortened.
    Short,
}

/// An operation under another name, with some arguments decided.
struct Alias {
    name: &'static str,
    operation: &'static str,
    set: &'static str,
    about: &'static str,
    bound: &'static [(&'static str, &'static str)],
    /// An argument's name here, and its name there.
    renamed: Option<(&'static str, &'static str)>,
    shown: &'static [&'static str],
}

/// Sets are chosen one by one, so each must be complete in itself.
const ALIASES: [Alias; 3] = [
    Alias {
        name: "list_steering_documents",
        operation: "list_entities",
        set: "steering",
        about: "List steering documents, or those of an epic.",
        bound: &[("kind", "steering_document")],
        renamed: None,
        shown: &["epic_id", "project", "limit"],
    },
    Alias {
        name: "get_steering_document",
        operation: "get_entity",
        set: "steering",
        about: "Read a steering document.",
        bound: &[("kind", "steering_document")],
        renamed: Some(("steering_document_id", "reference")),
        shown: &["reference"],
    },
    Alias {
        name: "resolve_comment",
        operation: "update_comment",
        set: "comments",
        about: "Settle a comment.",
        bound: &[("resolved", "true")],
        renamed: None,
        shown: &["comment_id"],
    },
];

/// Operations that show agents less than they take: what an agent does not need is not paid for.
const NARROWED: [(&str, &[&str]); 13] = [
    ("get_entity", &["reference"]),
    ("delete_entity", &["reference", "dry_run", "force"]),
    ("delete_relationship", &["id"]),
    ("delete_comment", &["comment_id", "dry_run", "expected_version"]),
    ("delete_prompt", &["prompt_id", "dry_run", "expected_version"]),
    ("activate_prompt", &["prompt_id"]),
    ("search_global", &["query", "entity_types", "project", "limit", "offset"]),
    (
        "search_requirements",
        &["query", "type", "status", "priority", "epic_id", "user_story_id", "limit", "offset"],
    ),
    ("add_comment", &["reference", "content", "parent", "quote"]),
    ("list_comments", &["reference", "author", "resolved", "project", "include_deleted", "limit"]),
    ("get_history", &["reference", "limit"]),
    ("status_report", &["epic_id", "group_by"]),
    ("hierarchy_analysis", &["epic_id", "limit"]),
];

impl Tools {
    /// The tools of the chosen sets.
    pub fn new(options: &ToolOptions) -> Tools {
        let own = ops::OPERATIONS.iter().filter_map(|entry| Some(Offer::of(entry, entry.toolset?)));
        let aliases =
            ALIASES.iter().filter_map(|alias| Some(Offer::alias(ops::find(alias.operation)?, alias)));
        let is_chosen = |offer: &Offer| {
            options.sets.iter().any(|set| set == offer.set) && (!options.read_only || !offer.entry.writes())
        };
        let offers: Vec<Offer> = own.chain(aliases).filter(is_chosen).collect();
        let list = offers.iter().map(|offer| Arc::new(offer.tool(options.output_schemas))).collect();
        Tools { list, offers }
    }

    /// The tools, in an order that does not change.
    pub fn list(&self) -> &[Arc<Tool>] {
        &self.list
    }

    /// The tools whose effect somebody may have.
    pub fn usable(&self, is_usable: impl Fn(Effect) -> bool) -> Vec<Arc<Tool>> {
        let offers = self.list.iter().zip(&self.offers);
        offers.filter(|(_, offer)| is_usable(offer.entry.effect)).map(|(tool, _)| tool.clone()).collect()
    }

    /// What is behind a tool.
    pub fn offer(&self, name: &str) -> Option<&Offer> {
        self.offers.iter().find(|offer| offer.name == name)
    }

    /// What agents are told first: the active prompt, with the guide in its place.
    pub fn instructions(&self, prompt: &Value) -> String {
        instructions(prompt, &self.guide())
    }

    /// The tools and the resources, in a line each.
    pub fn guide(&self) -> String {
        let mut guide = String::from("Tools:\n");
        for tool in &self.list {
            let _ = writeln!(guide, "- {}: {}", tool.name, tool.description);
        }
        format!(
            "{guide}\nLists and searches are cut at `max_tokens` (2000); go on with `cursor`.\n\n{RESOURCES}"
        )
    }
}

/// What there is to read.
pub const RESOURCES: &str = "Resources (JSON): epic://{id}, user-story://{id}, requirement://{id}, acceptance-criteria://{id}, \
    steering-document://{id}, prompt://{id}; epic://{id}/hierarchy, user-story://{id}/requirements, \
    user-story://{id}/acceptance-criteria, requirement://{id}/relationships. {id} is a UUID or a reference id. Lists by template: \
    epics://list?status={status}&priority={priority}, user-stories://list?epic_id={epic_id}&status={status}, \
    requirements://search?query={query}&type={type}.";

/// A prompt as instructions, with a guide in its place.
pub fn instructions(prompt: &Value, guide: &str) -> String {
    let text = |name: &str| prompt[name].as_str().unwrap_or_default();
    let content = with_guide(text("content"), guide);
    match text("description") {
        "" => content,
        description => format!("{description}\n\n{content}"),
    }
}

/// The place of the guide in a prompt.
const PLACE: &str = "{{capabilities}}";

/// A prompt's text with the guide where the prompt wants it, or else at the end.
pub fn with_guide(content: &str, guide: &str) -> String {
    if content.contains(PLACE) { content.replace(PLACE, guide) } else { format!("{content}\n\n{guide}") }
}

/// A prompt's text with the guide only where the prompt wants it.
pub fn with_guide_if_wanted(content: &str, guide: impl FnOnce() -> String) -> String {
    if content.contains(PLACE) { content.replace(PLACE, &guide()) } else { content.to_owned() }
}

impl Offer {
    fn of(entry: &'static Entry, set: &'static str) -> Offer {
        Offer {
            entry,
            shape: shape(entry.name, &entry.input_schema()),
            name: entry.name,
            set,
            about: entry.summary(),
            known: Arguments::new(entry.input_schema()),
            alias: None,
        }
    }

    fn alias(entry: &'static Entry, alias: &'static Alias) -> Offer {
        let own = Offer::of(entry, alias.set);
        Offer { name: alias.name, about: alias.about.to_owned(), alias: Some(alias), ..own }
    }

    fn tool(&self, with_output: bool) -> Tool {
        let mut tool = Tool::new(self.name, self.about.clone(), self.input_schema());
        tool.title = Some(title(self.name));
        tool.annotations = Some(json!({
            "readOnlyHint": !self.entry.writes(),
            "destructiveHint": self.entry.effect == Effect::Destroys || self.name.starts_with("delete_"),
            "idempotentHint": !self.entry.writes() || is_idempotent(self.name),
        }));
        tool.output_schema = with_output.then(|| schema::output(self.entry.output_schema(), self.shape));
        tool
    }

    fn input_schema(&self) -> Value {
        let narrowed = NARROWED.iter().find(|(name, _)| *name == self.name).map(|(_, shown)| *shown);
        let shown = self.alias.map(|alias| alias.shown).or(narrowed);
        let properties = self.known.properties().filter(|(name, _)| match shown {
            Some(shown) => shown.contains(name),
            // Pages are turned by a cursor that knows the budget; searches take an offset too.
            None => *name != "cursor" && (*name != "offset" || self.name.starts_with("search")),
        });
        let mut arguments: Vec<(String, Value, bool)> = properties
            .map(|(name, property)| {
                let shown = self.shown_name(name);
                let mut schema = schema::argument(shown, property);
                refuse(&mut schema, self.name, name);
                // A change that changes nothing is of no use to agents.
                let is_needed = (self.name, name) == ("update_acceptance_criteria", "description");
                (shown.to_owned(), schema, is_needed || self.known.is_required(name))
            })
            .collect();
        if self.name == "get_entity" {
            arguments.push(("include".into(), super::include::schema(), false));
        }
        if matches!(self.shape, Shape::Page(..)) {
            let tokens = json!({ "type": "integer", "minimum": 200, "maximum": 100_000 });
            arguments.push(("max_tokens".into(), tokens, false));
            arguments.push(("cursor".into(), json!({ "type": "string" }), false));
        }
        schema::input(arguments)
    }

    /// What the manual says of an argument.
    pub fn about(&self, argument: &str) -> String {
        let known = self.known.properties().find(|(name, _)| self.shown_name(name) == argument);
        match (argument, known) {
            (_, Some((_, schema))) => schema["description"].as_str().unwrap_or_default().replace('\n', " "),
            ("max_tokens", None) => "How long the answer may be; 2,000 when absent.".to_owned(),
            ("cursor", None) => "Where to go on: `nextCursor` of the answer before.".to_owned(),
            ("include", None) => "What to bring along.".to_owned(),
            (_, None) => String::new(),
        }
    }

    fn shown_name<'a>(&self, name: &'a str) -> &'a str {
        match self.alias.and_then(|alias| alias.renamed) {
            Some((here, there)) if there == name => here,
            _ => name,
        }
    }

    /// The arguments of the operation that the arguments of the tool mean.
    pub fn arguments(&self, given: Map<String, Value>, (cursor, offset): (Option<&str>, i64)) -> Value {
        let mut arguments = Map::new();
        for (name, value) in given {
            let name = match self.alias.and_then(|alias| alias.renamed) {
                Some((here, there)) if here == name => there.to_owned(),
                _ => name,
            };
            let is_alone = self.known.takes_several(&name) && !value.is_array();
            arguments.insert(name, if is_alone { json!([value]) } else { value });
        }
        for (name, text) in self.alias.into_iter().flat_map(|alias| alias.bound) {
            self.known.add(&mut arguments, name, text);
        }
        if self.known.property("offset").is_some() && offset > 0 {
            arguments.insert("offset".into(), json!(offset));
        }
        if let Some(cursor) = cursor {
            arguments.insert("cursor".into(), json!(cursor));
        }
        Value::Object(arguments)
    }
}

/// Kinds that an argument names and its operation refuses.
const REFUSED: [(&str, &str, &[&str]); 2] =
    [("list_entities", "kind", &["prompt", "comment"]), ("search_global", "entity_types", &["prompt"])];

/// Takes away the choices that an operation refuses.
fn refuse(schema: &mut Value, tool: &str, argument: &str) {
    let refused = REFUSED.iter().find(|(of, name, _)| *of == tool && *name == argument);
    let Some((.., refused)) = refused else { return };
    for place in ["/enum", "/items/enum"] {
        if let Some(Value::Array(values)) = schema.pointer_mut(place) {
            values.retain(|value| value.as_str().is_none_or(|value| !refused.contains(&value)));
        }
    }
}

fn shape(name: &str, schema: &Value) -> Shape {
    match name {
        "get_entity" | "get_active_prompt" | "export" => Shape::Whole,
        "hierarchy_analysis" => Shape::Page("epics", "/totals/epics"),
        "impact_analysis" => Shape::Page("affected", ""),
        "list_types" => Shape::Names,
        "bulk_update" => Shape::Steps,
        _ if schema["properties"].get("offset").is_some() => Shape::Page("data", "/total_count"),
        _ => Shape::Short,
    }
}

/// Whether doing it twice is the same as doing it once.
fn is_idempotent(name: &str) -> bool {
    ["update_", "link_", "unlink_", "activate_", "resolve_", "delete_"]
        .iter()
        .any(|verb| name.starts_with(verb))
}

fn title(name: &str) -> String {
    let words = name.replace('_', " ");
    words[..1].to_uppercase() + &words[1..]
}
