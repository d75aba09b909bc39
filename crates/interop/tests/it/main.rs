//! Our servers and patterns against what others wrote: MCP clients, the official schemas, a complete validator, Python, a browser.

mod agents;
mod backend;
mod browser;
mod client;
mod clients;
mod duvet;
mod exploits;
mod official_schema;
mod packaging;
mod page;
mod rmcp_client;
mod schema_checker;
mod server;
mod tools;
mod web;
mod web_change;
mod web_document;
mod web_item;
mod web_offline;
mod web_plain;
mod web_quick;
mod web_run;
mod web_start;
mod web_table;
mod web_thread;
