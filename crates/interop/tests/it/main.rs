//! Our servers and patterns against what others wrote: MCP clients, the official schemas, a complete validator, Python, a browser.

mod browser;
mod client;
mod clients;
#[path = "../../../mcp/tests/it/conversation.rs"]
mod conversation;
#[path = "../../../mcp/tests/it/demo.rs"]
mod demo;
mod exploits;
mod official_schema;
mod page;
mod rmcp_client;
mod schema_checker;
mod server;
mod tools;
