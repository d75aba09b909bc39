//! The `echo` server on our own core and stdio transport.

use std::process::ExitCode;
use std::sync::Arc;

use mcp::{
    Capabilities, Context, Failure, FailureKind, ListCapability, Page, Profile, Request, Server, Tool,
    ToolOutput,
};
use serde_json::{Value, json};
use spexus::stdio;

/// `peer-ours inline|workers`: where calls of the tool run, on the thread that reads or on others.
fn main() -> ExitCode {
    let is_inline = match std::env::args().nth(1).as_deref() {
        Some("inline") => true,
        Some("workers") => false,
        _ => {
            eprintln!("expected: peer-ours inline|workers");
            return ExitCode::FAILURE;
        }
    };
    let mut profile = Profile::new("spexus", env!("CARGO_PKG_VERSION"));
    profile.capabilities =
        Capabilities { tools: Some(ListCapability { list_changed: false }), ..Capabilities::default() };
    let schema = json!({
        "type": "object",
        "properties": {"text": {"type": "string"}},
        "required": ["text"],
        "additionalProperties": false,
    });
    let tools = vec![Arc::new(Tool::new("echo", "Returns the text it was given.", schema))];
    let server = Arc::new(Echo { tools, is_inline });
    stdio::serve(profile, server, stdio::Options::default()).into()
}

struct Echo {
    tools: Vec<Arc<Tool>>,
    is_inline: bool,
}

impl Server for Echo {
    fn tools(&self, _context: &Context<'_>, _cursor: Option<&str>) -> Result<Page<Arc<Tool>>, Failure> {
        Ok(Page::whole(self.tools.clone()))
    }

    fn call_tool(
        &self,
        _context: &Context<'_>,
        _tool: &Tool,
        mut arguments: Value,
    ) -> Result<ToolOutput, Failure> {
        match arguments["text"].take() {
            Value::String(text) => Ok(ToolOutput::text(text)),
            _ => Err(Failure::new(FailureKind::InvalidArguments, "text: expected a string")),
        }
    }

    fn is_quick(&self, request: &Request) -> bool {
        self.is_inline || !matches!(request, Request::CallTool { .. })
    }
}
