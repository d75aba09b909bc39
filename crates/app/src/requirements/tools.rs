//! Tools, made from the list of operations: which there are, and what calling one means.

use std::fmt::Write as _;
use std::sync::Arc;

use mcp::Tool;
use ops::{Arguments, Change, Effect, Entry, Shape};
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
    tool: &'static ops::Tool,
    known: Arguments,
}

/// All tools with their operations: those that are called like their operation, then the others.
pub fn all() -> impl Iterator<Item = (&'static Entry, &'static ops::Tool)> {
    let all = ops::OPERATIONS.iter().flat_map(|entry| entry.tools.iter().map(move |tool| (entry, tool)));
    let own = all.clone().filter(|(_, tool)| tool.name.is_none());
    // Operations that read one thing stand before those that list many; in these sets it is the other way round.
    own.chain(all.filter(|(_, tool)| tool.name.is_some()).rev())
}

/// The name of a tool: its own, or its operation's.
pub fn name_of(entry: &Entry, tool: &ops::Tool) -> &'static str {
    tool.name.unwrap_or(entry.name)
}

/// The tool with a name, in whichever set it is.
pub fn find(name: &str) -> Option<Offer> {
    all().find(|(entry, tool)| name_of(entry, tool) == name).map(|(entry, tool)| Offer::new(entry, tool))
}

impl Tools {
    /// The tools of the chosen sets.
    pub fn new(options: &ToolOptions) -> Tools {
        let is_chosen = |(entry, tool): &(&Entry, &ops::Tool)| {
            options.sets.iter().any(|set| set == tool.set) && (!options.read_only || !entry.writes())
        };
        let chosen = all().filter(is_chosen);
        let offers: Vec<Offer> = chosen.map(|(entry, tool)| Offer::new(entry, tool)).collect();
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
        self.offers.iter().find(|offer| offer.name() == name)
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
    fn new(entry: &'static Entry, tool: &'static ops::Tool) -> Offer {
        Offer { entry, shape: entry.shape(), tool, known: Arguments::new(entry.input_schema()) }
    }

    fn name(&self) -> &'static str {
        name_of(self.entry, self.tool)
    }

    fn tool(&self, with_output: bool) -> Tool {
        let about = self.tool.summary.map_or_else(|| self.entry.summary(), str::to_owned);
        let mut tool = Tool::new(self.name(), about, self.input_schema());
        tool.title = Some(title(self.name()));
        tool.annotations = Some(json!({
            "readOnlyHint": !self.entry.writes(),
            "destructiveHint": self.entry.change == Change::Removes || self.entry.effect == Effect::Destroys,
            "idempotentHint": !self.entry.writes() || self.entry.change != Change::Adds,
        }));
        tool.output_schema = with_output.then(|| schema::output(self.entry.output_schema(), self.shape));
        tool
    }

    fn input_schema(&self) -> Value {
        let properties = self.known.properties().filter(|(name, _)| match self.tool.shown {
            Some(shown) => shown.contains(name),
            None if self.tool.hidden.contains(name) => false,
            // Pages are turned by a cursor that knows the budget.
            None => !matches!(*name, "cursor" | "offset"),
        });
        let mut arguments: Vec<(String, Value, bool)> = properties
            .map(|(name, property)| {
                let shown = self.shown_name(name);
                let mut schema = schema::argument(shown, property);
                self.refuse(&mut schema, name);
                let is_required = self.tool.required.contains(&name) || self.known.is_required(name);
                (shown.to_owned(), schema, is_required)
            })
            .collect();
        if self.tool.with_surroundings {
            arguments.push(("include".into(), super::include::schema(), false));
        }
        if matches!(self.shape, Shape::Page(..)) {
            let tokens = json!({ "type": "integer", "minimum": 200, "maximum": 100_000 });
            arguments.push(("max_tokens".into(), tokens, false));
            arguments.push(("cursor".into(), json!({ "type": "string" }), false));
        }
        schema::input(arguments)
    }

    /// Takes away the choices that the operation refuses.
    fn refuse(&self, schema: &mut Value, argument: &str) {
        let is_refused = |value: &Value| {
            value.as_str().is_some_and(|value| self.tool.refused.contains(&(argument, value)))
        };
        for place in ["/enum", "/items/enum"] {
            if let Some(Value::Array(values)) = schema.pointer_mut(place) {
                values.retain(|value| !is_refused(value));
            }
        }
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
        match self.tool.renamed {
            Some((here, there)) if there == name => here,
            _ => name,
        }
    }

    /// The arguments of the operation that the arguments of the tool mean.
    pub fn arguments(&self, given: Map<String, Value>, (cursor, offset): (Option<&str>, i64)) -> Value {
        let mut arguments = Map::new();
        for (name, value) in given {
            let name = match self.tool.renamed {
                Some((here, there)) if here == name => there.to_owned(),
                _ => name,
            };
            let is_alone = self.known.takes_several(&name) && !value.is_array();
            arguments.insert(name, if is_alone { json!([value]) } else { value });
        }
        for (name, text) in self.tool.bind {
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

fn title(name: &str) -> String {
    let words = name.replace('_', " ");
    words[..1].to_uppercase() + &words[1..]
}
