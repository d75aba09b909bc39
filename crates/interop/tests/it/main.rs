//! Our servers and patterns against what others wrote: MCP clients, the official schemas, a complete validator, Python.

mod client;
mod clients;
mod duvet;
mod exploits;
mod official_schema;
mod rmcp_client;
mod schema_checker;
mod server;
mod tools;
