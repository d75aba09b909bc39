//! The `echo` server on rmcp, in each configuration that could be its fastest.
//!
//! The tool is dispatched by hand: rmcp's router and macros cost time that a fair comparison should not charge.

use std::borrow::Cow;
use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation, JsonObject,
    ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::transport::io::{stdio, stdio_pipes};
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};
use serde_json::json;

/// `peer-rmcp pipes|plain one|many`: the transport, and on one thread or as many as there are cores.
fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [transport, threads] = arguments.as_slice() else {
        anyhow::bail!("expected: peer-rmcp pipes|plain one|many");
    };
    let mut runtime = match threads.as_str() {
        "one" => tokio::runtime::Builder::new_current_thread(),
        "many" => tokio::runtime::Builder::new_multi_thread(),
        other => anyhow::bail!("expected one or many, found {other:?}"),
    };
    runtime.enable_all().build()?.block_on(async {
        match transport.as_str() {
            "pipes" => Echo.serve(stdio_pipes()).await?.waiting().await?,
            "plain" => Echo.serve(stdio()).await?.waiting().await?,
            other => anyhow::bail!("expected pipes or plain, found {other:?}"),
        };
        Ok(())
    })
}

struct Echo;

impl ServerHandler for Echo {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::from_build_env())
    }

    async fn list_tools(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(vec![Tool::new(
            "echo",
            "Returns the text it was given.",
            Arc::new(schema()),
        )]))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if request.name != "echo" {
            return Err(invalid(format!("Unknown tool: {}", request.name)));
        }
        let text = request.arguments.and_then(|mut arguments| arguments.remove("text"));
        let Some(serde_json::Value::String(text)) = text else {
            return Err(invalid("text: expected a string"));
        };
        Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into())
    }
}

fn schema() -> JsonObject {
    let schema = json!({
        "type": "object",
        "properties": { "text": { "type": "string" } },
        "required": ["text"],
        "additionalProperties": false,
    });
    schema.as_object().expect("it is written as an object").clone()
}

fn invalid(message: impl Into<Cow<'static, str>>) -> ErrorData {
    ErrorData::invalid_params(message, None)
}
