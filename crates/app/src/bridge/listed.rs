//! Converts the server's lists to the types of the core.

use std::sync::Arc;

use mcp::{Page, Prompt, PromptArgument, Resource, Tool, ToolOutput};
use serde_json::{Map, Value};

use crate::requirements::LISTED_META;

/// Converts the items of a page and skips invalid ones.
pub fn page<T>(
    mut result: Map<String, Value>,
    key: &str,
    item: impl Fn(Map<String, Value>) -> Option<T>,
) -> Option<Page<T>> {
    let next_cursor = text(&mut result, "nextCursor");
    let Some(Value::Array(items)) = result.remove(key) else { return None };
    let objects = items.into_iter().filter_map(|value| match value {
        Value::Object(object) => Some(object),
        _ => None,
    });
    Some(Page { items: objects.filter_map(item).collect(), next_cursor })
}

/// A tool of the server. Unlisted ones can be called, too.
#[derive(Clone)]
pub struct ServerTool {
    pub tool: Arc<Tool>,
    pub is_listed: bool,
}

/// A tool.
pub fn tool(mut object: Map<String, Value>) -> Option<ServerTool> {
    let name = text(&mut object, "name")?;
    let description = text(&mut object, "description").unwrap_or_default();
    let mut tool = Tool::new(name, description, object.remove("inputSchema")?);
    tool.title = text(&mut object, "title");
    tool.output_schema = object.remove("outputSchema");
    tool.annotations = object.remove("annotations");
    let listed = object.get("_meta").and_then(|meta| meta.get(LISTED_META));
    let is_listed = listed != Some(&Value::Bool(false));
    tool.listed_schema = listed.filter(|listed| listed.is_object()).cloned();
    Some(ServerTool { tool: Arc::new(tool), is_listed })
}

/// A resource, or with the key `uriTemplate` a template.
pub fn resource(mut object: Map<String, Value>, uri_key: &str) -> Option<Resource> {
    Some(Resource {
        uri: text(&mut object, uri_key)?,
        name: text(&mut object, "name")?,
        title: text(&mut object, "title"),
        description: text(&mut object, "description"),
        mime_type: text(&mut object, "mimeType"),
        more: object,
    })
}

/// A prompt.
pub fn prompt(mut object: Map<String, Value>) -> Option<Prompt> {
    let arguments = match object.remove("arguments") {
        Some(Value::Array(arguments)) => arguments,
        _ => Vec::new(),
    };
    let argument = |value: &Value| {
        Some(PromptArgument {
            name: value["name"].as_str()?.to_owned(),
            description: value["description"].as_str().unwrap_or_default().to_owned(),
            required: value["required"].as_bool().unwrap_or(false),
        })
    };
    Some(Prompt {
        name: text(&mut object, "name")?,
        title: text(&mut object, "title"),
        description: text(&mut object, "description"),
        arguments: arguments.iter().filter_map(argument).collect(),
    })
}

/// The result of a tool.
//@= spexus://REQ-078
//@# 002 R6.7: a result has a content array
pub fn output(mut result: Map<String, Value>) -> Option<ToolOutput> {
    let Some(Value::Array(content)) = result.remove("content") else { return None };
    let mut meta = match result.remove("_meta") {
        Some(Value::Object(meta)) => meta,
        _ => Map::new(),
    };
    // To the host, we are the server.
    meta.retain(|name, _| !name.starts_with("io.modelcontextprotocol/"));
    Some(ToolOutput { content, structured: result.remove("structuredContent").map(Into::into), meta })
}

fn text(object: &mut Map<String, Value>, key: &str) -> Option<String> {
    match object.remove(key) {
        Some(Value::String(text)) => Some(text),
        _ => None,
    }
}
