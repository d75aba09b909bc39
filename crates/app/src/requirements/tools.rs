//! The tools, derived from the list of operations, and the calls behind them.

use std::sync::Arc;

use mcp::{Failure, FailureKind, Tool};
use ops::{Arguments, Change, Effect, Entry, Shape};
use serde_json::{Map, Value, json};

use super::schema;
use super::sets::ToolOptions;

/// The valid range of `max_tokens`.
pub const TOKENS_MIN: usize = 200;
const TOKENS_MAX: usize = 100_000;
/// A file may be requested completely.
const FILE_TOKENS_MAX: usize = 100_000_000;

/// The key under which a tool tells forwarding programs which arguments it lists, or that it is unlisted.
pub const LISTED_META: &str = "spexus/listed";

/// The tools of a server, some of which are listed.
pub struct Tools {
    options: ToolOptions,
    listed: Vec<Arc<Tool>>,
    served: Vec<Served>,
}

/// A tool that can be called.
struct Served {
    offer: Offer,
    tool: Arc<Tool>,
    is_listed: bool,
}

/// A tool and its operation.
pub struct Offer {
    /// The operation.
    pub entry: &'static Entry,
    /// The structure of its answer.
    pub shape: Shape,
    tool: &'static ops::Tool,
    known: Arguments,
}

/// All tools with their operations: those named like their operation, then the others.
pub fn all() -> impl Iterator<Item = (&'static Entry, &'static ops::Tool)> {
    let all = ops::OPERATIONS.iter().flat_map(|entry| entry.tools.iter().map(move |tool| (entry, tool)));
    let own = all.clone().filter(|(_, tool)| tool.name.is_none());
    // In these sets operations that read one entity come before those that list many; in the order of operations it is the
    // other way round.
    own.chain(all.filter(|(_, tool)| tool.name.is_some()).rev())
}

/// The name of a tool: its own, or its operation's.
pub fn name_of(entry: &Entry, tool: &ops::Tool) -> &'static str {
    tool.name.unwrap_or(entry.name)
}

/// The set of a tool.
pub fn set_of(name: &str) -> Option<&'static str> {
    all().find(|(entry, tool)| name_of(entry, tool) == name).map(|(_, tool)| tool.set)
}

/// The tool with a name, in any set.
pub fn find(name: &str) -> Option<Offer> {
    all().find(|(entry, tool)| name_of(entry, tool) == name).map(|(entry, tool)| Offer::new(entry, tool))
}

impl Tools {
    /// The tools of the chosen sets.
    pub fn new(options: &ToolOptions) -> Tools {
        let is_served = |(entry, tool): &(&Entry, &ops::Tool)| {
            options.serves(tool) && (!options.read_only || !entry.writes())
        };
        let served: Vec<Served> = all()
            .filter(is_served)
            .map(|(entry, tool)| {
                let offer = Offer::new(entry, tool);
                let described = Arc::new(offer.tool(options.output_schemas));
                Served { offer, tool: described, is_listed: options.lists(tool) }
            })
            .collect();
        let listed = served.iter().filter(|served| served.is_listed).map(|served| served.tool.clone());
        Tools { options: options.clone(), listed: listed.collect(), served }
    }

    /// The listed tools, always in the same order.
    pub fn list(&self) -> &[Arc<Tool>] {
        &self.listed
    }

    /// The callable tools: the listed ones, and the others of their set.
    pub fn callable(&self) -> Vec<Arc<Tool>> {
        self.served.iter().map(|served| served.tool.clone()).collect()
    }

    /// The listed tools whose effect the caller may have, and the unlisted tools that they can call.
    pub fn usable(&self, is_usable: impl Fn(Effect) -> bool) -> (Vec<Arc<Tool>>, Vec<Arc<Tool>>) {
        let usable = self.served.iter().filter(|served| is_usable(served.offer.entry.effect));
        let (listed, unlisted): (Vec<_>, Vec<_>) = usable.partition(|served| served.is_listed);
        let tools = |served: Vec<&Served>| served.into_iter().map(|served| served.tool.clone()).collect();
        (tools(listed), tools(unlisted))
    }

    /// The same for a program that forwards tools: with all arguments, and with the unlisted tools.
    pub fn usable_and_unlisted(&self, is_usable: impl Fn(Effect) -> bool) -> Vec<Arc<Tool>> {
        let usable = self.served.iter().filter(|served| is_usable(served.offer.entry.effect));
        usable
            .map(|served| {
                let mut tool = (*served.tool).clone();
                let listed = tool.listed_schema.take().filter(|_| served.is_listed);
                tool.meta.insert(LISTED_META.to_owned(), listed.unwrap_or(json!(false)));
                Arc::new(tool)
            })
            .collect()
    }

    /// The tool that a call names, listed or not. The error says why an existing tool cannot be called here.
    pub fn find(&self, name: &str) -> Result<Option<Arc<Tool>>, Failure> {
        if let Some(served) = self.served.iter().find(|served| served.offer.name() == name) {
            return Ok(Some(served.tool.clone()));
        }
        let Some((_, tool)) = all().find(|(entry, tool)| name_of(entry, tool) == name) else {
            return Ok(None);
        };
        let reason = if self.options.serves(tool) {
            format!("{name} changes things, and this server is read-only")
        } else {
            let sets = self.options.sets_with(tool.set);
            format!(
                "{name} is in the tool set {}, which was not chosen. To choose it: --toolsets {sets} where the server is started, \
                 MCP_TOOLSETS={sets} for requirements-mcp-server, or the HTTP header X-MCP-Toolsets: {sets}",
                tool.set
            )
        };
        Err(Failure::new(FailureKind::InvalidArguments, reason))
    }

    /// The call behind a tool.
    pub fn offer(&self, name: &str) -> Option<&Offer> {
        self.served.iter().map(|served| &served.offer).find(|offer| offer.name() == name)
    }
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
        tool.listed_schema = Some(schema::listed(tool.input_schema.as_json(), self.tool.daily));
        tool.annotations = Some(self.annotations());
        tool.output_schema = with_output.then(|| schema::output(self.entry.output_schema(), self.shape));
        tool
    }

    /// Annotations, if they differ from the protocol's defaults: that a tool writes, and may destroy.
    fn annotations(&self) -> Value {
        if !self.entry.writes() {
            return json!({ "readOnlyHint": true });
        }
        let mut hints = json!({});
        if self.entry.change != Change::Removes && self.entry.effect != Effect::Destroys {
            hints["destructiveHint"] = json!(false);
        }
        if self.entry.change != Change::Adds {
            hints["idempotentHint"] = json!(true);
        }
        hints
    }

    //@= spexus://REQ-073
    //@# 002 R6.2: each tool has name, description and inputSchema
    fn input_schema(&self) -> Value {
        let properties = self.known.properties().filter(|(name, _)| match self.tool.shown {
            Some(shown) => shown.contains(name),
            None if self.tool.hidden.contains(name) => false,
            // A budgeted list has its own cursor.
            None => !matches!(*name, "cursor" | "offset" | "max_tokens"),
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
        arguments.push(("include".into(), super::include::schema(self.tool.with_surroundings), false));
        let tokens_max = match self.shape {
            Shape::Page(..) | Shape::Steps => Some(TOKENS_MAX),
            // The surroundings of an entity are truncated, unlike the entity.
            Shape::Whole if self.tool.with_surroundings => Some(TOKENS_MAX),
            Shape::File => Some(FILE_TOKENS_MAX),
            Shape::Whole | Shape::Names | Shape::Thing => None,
        };
        if let Some(maximum) = tokens_max {
            let tokens = json!({ "type": "integer", "minimum": TOKENS_MIN, "maximum": maximum });
            arguments.push(("max_tokens".into(), tokens, false));
        }
        if matches!(self.shape, Shape::Page(..)) {
            arguments.push(("cursor".into(), json!({ "type": "string" }), false));
        }
        schema::input(arguments)
    }

    /// Removes the choices that the operation rejects.
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

    /// The description of an argument for the manual.
    pub fn about(&self, argument: &str) -> String {
        let known = self.known.properties().find(|(name, _)| self.shown_name(name) == argument);
        match (argument, known.filter(|_| argument != "max_tokens")) {
            (_, Some((_, schema))) => schema["description"].as_str().unwrap_or_default().replace('\n', " "),
            ("max_tokens", None) => "The maximal length of the answer; default 2,000.".to_owned(),
            ("cursor", None) => "Continue after an answer: its `nextCursor`.".to_owned(),
            ("include", None) => {
                "What to add: the surroundings of an entity, the texts of a list, or details.".to_owned()
            }
            (_, None) => String::new(),
        }
    }

    fn shown_name<'a>(&self, name: &'a str) -> &'a str {
        match self.tool.renamed {
            Some((here, there)) if there == name => here,
            _ => name,
        }
    }

    /// Whether the operation itself leaves out what does not fit into a budget.
    pub fn has_budget(&self) -> bool {
        self.known.property("max_tokens").is_some()
    }

    /// Converts the arguments of the tool to those of the operation.
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
