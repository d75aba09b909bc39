//! The tools that `spexus mcp` lists by default: a dozen for daily work with requirements in the store and
//! in the project's specifications. They take a `reference` to anything, and answer in lines of text.

mod compact;
mod instead;
mod lines;
mod read;
mod tools;
mod traced;
mod work;
mod write;

use std::sync::Arc;

use mcp::{Context, Failure, FailureKind, Tool, ToolOutput};
use serde_json::{Map, Value, json};

use super::Combined;
use crate::duvet::server::TraceServer;
use crate::requirements::{Requirements, meant};
use crate::tmkb;

use self::tools::TOOLS;

pub use self::compact::{rows, with_room};
pub use self::instead::instead_of;
pub use self::traced::{n_open, problems};

/// The name of the set.
pub const SET: &str = "daily";

type Arguments = Map<String, Value>;

/// The tools that a session has.
pub struct DailyTools {
    tools: Vec<Arc<Tool>>,
    is_read_only: bool,
}

impl DailyTools {
    /// The tools for the available parts.
    pub fn new(combined: &Combined, is_read_only: bool) -> DailyTools {
        let there = TOOLS.iter().filter(|tool| tool.is_there(combined));
        DailyTools { tools: there.map(|tool| Arc::new(tool.tool())).collect(), is_read_only }
    }

    /// The listed tools.
    pub fn shown(&self) -> Vec<Arc<Tool>> {
        let writes = |tool: &Tool| TOOLS.iter().any(|known| known.name == tool.name && known.is_writing);
        self.tools.iter().filter(|tool| !(self.is_read_only && writes(tool))).cloned().collect()
    }

    /// A tool, listed or not.
    pub fn find(&self, name: &str) -> Option<&Arc<Tool>> {
        self.tools.iter().find(|tool| tool.name == name)
    }
}

/// All tools with an example for the manual.
pub fn described() -> impl Iterator<Item = (Tool, &'static str)> {
    TOOLS.iter().map(|tool| (tool.tool(), tool.example))
}

/// One call.
pub struct Daily<'a> {
    combined: &'a Combined,
    context: &'a Context<'a>,
}

impl<'a> Daily<'a> {
    /// A call by a caller.
    pub fn new(combined: &'a Combined, context: &'a Context<'a>) -> Daily<'a> {
        Daily { combined, context }
    }

    /// Calls a tool with validated arguments.
    pub fn call(&self, tools: &DailyTools, name: &str, arguments: Value) -> Result<ToolOutput, Failure> {
        let tool = TOOLS.iter().find(|tool| tool.name == name).ok_or_else(Failure::internal)?;
        let Value::Object(arguments) = arguments else { return Err(Failure::internal()) };
        let takes = arguments.get("take") == Some(&json!(true));
        if (tool.is_writing || takes) && tools.is_read_only {
            let name = if takes { "next with take" } else { name };
            let message = format!("{name} writes, and this server was started with --read-only");
            return Err(Failure::new(FailureKind::Forbidden, message));
        }
        (tool.run)(self, arguments)
    }

    /// Normalizes arguments. A reference to a specification stays unchanged, whatever it looks like.
    pub fn normalise(&self, tool: &Tool, arguments: &mut Value) -> Vec<String> {
        let given = arguments.clone();
        let notes = match self.combined.requirements() {
            Ok(requirements) => mcp::Server::normalise(&*requirements, self.context, tool, arguments),
            Err(_) => meant::normalise(&tool.input_schema, arguments),
        };
        for name in ["reference", "under"] {
            let Some(text) = given[name].as_str().filter(|text| arguments[name] != **text) else { continue };
            if self.model().is_ok_and(|model| self.named(&model, text).is_some()) {
                arguments[name] = json!(text);
            }
        }
        notes
    }

    /// Validates arguments, and describes the form of a reference if one is missing.
    pub fn check(tool: &Tool, arguments: &Value) -> Result<(), Failure> {
        let mut errors = tool.input_schema.check(arguments);
        if errors.is_empty() {
            return Ok(());
        }
        for error in errors.iter_mut().filter(|error| error.message.starts_with("is required")) {
            match error.field.as_str() {
                "reference" => error.message = "is required, such as `REQ-001`".to_owned(),
                "to" => error.message = "is required, such as `REQ-002`".to_owned(),
                "type" => error.message = "is required, such as `depends_on`".to_owned(),
                _ => {}
            }
        }
        Err(Failure::invalid_arguments(&tool.name, errors))
    }

    fn store(&self) -> Result<Arc<Requirements>, Failure> {
        self.combined.requirements()
    }

    fn trace(&self) -> Option<&Arc<TraceServer>> {
        self.combined.trace()
    }

    /// What is known of the project.
    fn model(&self) -> Result<Arc<trace::model::Model>, Failure> {
        match self.trace() {
            Some(trace) => trace.model(),
            None => Err(Failure::new(
                FailureKind::NotFound,
                format!("no traceability: {}", super::instructions::NO_PROJECT),
            )),
        }
    }

    fn threats(&self, arguments: Arguments) -> Result<ToolOutput, Failure> {
        let Some(threats) = &self.combined.threats else { return Err(Failure::internal()) };
        mcp::Server::call_tool(&**threats, self.context, &tmkb::described(), Value::Object(arguments))
    }
}
