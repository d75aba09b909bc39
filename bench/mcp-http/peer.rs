//! A server on rmcp over HTTP with one trivial tool and one trivial resource: no users, no database, nothing written down.

use std::borrow::Cow;
use std::sync::Arc;

use axum::serve::ListenerExt;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation, JsonObject,
    ListToolsResult, PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse,
    ReadResourceResult, ResourceContents, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::json;

fn main() -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut config = StreamableHttpServerConfig::default();
        // The fastest of its modes: no sessions, and an answer that is not a stream.
        config.legacy_session_mode = false;
        config.json_response = true;
        let sessions = Arc::new(LocalSessionManager::default());
        let service = StreamableHttpService::new(|| Ok(Echo), sessions, config);
        // What the HTTP library costs by itself.
        let constant = axum::routing::get(async || "{\"text\":\"some text\"}");
        let router = axum::Router::new().nest_service("/mcp", service).route("/constant", constant);
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        #[expect(clippy::print_stdout, reason = "the driver reads the address from there")]
        {
            println!("http://{}", listener.local_addr()?);
        }
        let listener = listener.tap_io(|stream| _ = stream.set_nodelay(true));
        axum::serve(listener, router).await?;
        Ok(())
    })
}

struct Echo;

impl ServerHandler for Echo {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().enable_resources().build())
            .with_server_info(Implementation::from_build_env())
    }

    async fn list_tools(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let schema =
            json!({"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]});
        let schema: JsonObject = schema.as_object().cloned().unwrap_or_default();
        let tool = Tool::new("echo", "Returns the text it was given.", Arc::new(schema));
        Ok(ListToolsResult::with_all_items(vec![tool]))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let text = request.arguments.and_then(|mut arguments| arguments.remove("text"));
        let Some(serde_json::Value::String(text)) = text else {
            return Err(invalid("text: expected a string"));
        };
        Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into())
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        Ok(ReadResourceResult::new(vec![ResourceContents::text("some text", request.uri)]).into())
    }
}

fn invalid(message: impl Into<Cow<'static, str>>) -> ErrorData {
    ErrorData::invalid_params(message, None)
}
