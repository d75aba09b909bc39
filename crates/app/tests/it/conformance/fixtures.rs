//! What the conformance suite expects to find on a server: tools, resources and prompts of its own.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use mcp::{
    Capabilities, Change, Completion, CompletionReference, Contents, Context, Failure, FailureKind, Page,
    Prompt, PromptArgument, Resource, Server, Tool, ToolOutput,
};
use serde_json::{Map, Value, json};
use spexus::streamable::{Feed, News};

/// A red dot.
const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
/// No sound.
const WAV: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA=";
/// How long the slow tool rests between two reports.
const PAUSE: Duration = Duration::from_millis(50);

/// What is served, which is all that the product serves.
pub fn capabilities() -> Capabilities {
    Capabilities::all()
}

/// The fixtures.
pub struct Fixtures {
    feed: Feed,
}

impl Fixtures {
    pub fn new(feed: Feed) -> Fixtures {
        Fixtures { feed }
    }

    fn tell(&self, change: Change) -> ToolOutput {
        self.feed.tell(News { changes: vec![change], ..News::default() });
        ToolOutput::text("Everybody who listens was told.")
    }
}

impl Server for Fixtures {
    fn tools(&self, _: &Context<'_>, _: Option<&str>) -> Result<Page<Arc<Tool>>, Failure> {
        let names = [
            "test_simple_text",
            "test_image_content",
            "test_audio_content",
            "test_embedded_resource",
            "test_multiple_content_types",
            "test_error_handling",
            "test_tool_with_progress",
            "test_streaming_elicitation",
            "test_logging_tool",
            "test_trigger_tool_change",
            "test_trigger_prompt_change",
        ];
        let mut tools: Vec<Tool> = names.into_iter().map(plain).collect();
        let mut needs_sampling = plain("test_missing_capability");
        needs_sampling.requires = vec!["sampling".into()];
        tools.push(needs_sampling);
        let description = "Tool with JSON Schema 2020-12 features";
        tools.push(Tool::new("json_schema_2020_12_tool", description, rich_schema()));
        Ok(Page::whole(tools.into_iter().map(Arc::new).collect()))
    }

    fn call_tool(&self, context: &Context<'_>, tool: &Tool, _: Value) -> Result<ToolOutput, Failure> {
        let blocks = |content: Vec<Value>| ToolOutput { content, ..ToolOutput::default() };
        let resource = |uri: &str, mime_type: &str, content: &str| json!({"type": "resource", "resource": {"uri": uri, "mimeType": mime_type, "text": content}});
        Ok(match tool.name.as_str() {
            "test_simple_text" => ToolOutput::text("This is a simple text response for testing."),
            "test_image_content" => blocks(vec![image()]),
            "test_audio_content" => {
                blocks(vec![json!({"type": "audio", "data": WAV, "mimeType": "audio/wav"})])
            }
            "test_embedded_resource" => {
                let content = "This is an embedded resource content.";
                blocks(vec![resource("test://embedded-resource", "text/plain", content)])
            }
            "test_multiple_content_types" => blocks(vec![
                text("Multiple content types test:"),
                image(),
                resource(
                    "test://mixed-content-resource",
                    "application/json",
                    r#"{"test":"data","value":123}"#,
                ),
            ]),
            "test_error_handling" => {
                let message = "This tool intentionally returns an error for testing";
                return Err(Failure::new(FailureKind::Conflict, message));
            }
            "test_tool_with_progress" => {
                for done in [0.0, 50.0, 100.0] {
                    context.progress.report(done, Some(100.0), None);
                    thread::sleep(PAUSE);
                }
                ToolOutput::text("Done.")
            }
            "test_trigger_tool_change" => self.tell(Change::Tools),
            "test_trigger_prompt_change" => self.tell(Change::Prompts),
            other => ToolOutput::text(format!("{other} ran")),
        })
    }

    fn resources(&self, _: &Context<'_>, _: Option<&str>) -> Result<Page<Resource>, Failure> {
        Ok(Page::whole(vec![
            resource("test://static-text", "Static text", "text/plain"),
            resource("test://static-binary", "Static image", "image/png"),
            resource("test://watched-resource", "Watched", "text/plain"),
        ]))
    }

    fn templates(&self, _: &Context<'_>, _: Option<&str>) -> Result<Page<Resource>, Failure> {
        Ok(Page::whole(vec![resource("test://template/{id}/data", "Data by id", "application/json")]))
    }

    fn read(&self, _: &Context<'_>, uri: &str) -> Result<Contents, Failure> {
        let id = uri.strip_prefix("test://template/").and_then(|rest| rest.strip_suffix("/data"));
        let content = match (uri, id) {
            ("test://static-text", _) => {
                let text = "This is the content of the static text resource.";
                json!({"uri": uri, "mimeType": "text/plain", "text": text})
            }
            ("test://static-binary", _) => json!({"uri": uri, "mimeType": "image/png", "blob": PNG}),
            ("test://watched-resource", _) => {
                json!({"uri": uri, "mimeType": "text/plain", "text": "Nothing has happened yet."})
            }
            (_, Some(id)) => {
                let data =
                    json!({"id": id, "templateTest": true, "data": format!("Data for ID: {id}")}).to_string();
                json!({"uri": uri, "mimeType": "application/json", "text": data})
            }
            _ => return Err(Failure::new(FailureKind::NotFound, "Resource not found")),
        };
        Ok(content.into())
    }

    fn prompts(&self, _: &Context<'_>, _: Option<&str>) -> Result<Page<Prompt>, Failure> {
        Ok(Page::whole(vec![
            prompt("test_simple_prompt", &[]),
            prompt("test_prompt_with_arguments", &["arg1", "arg2"]),
            prompt("test_prompt_with_embedded_resource", &["resourceUri"]),
            prompt("test_prompt_with_image", &[]),
        ]))
    }

    fn fill_prompt(
        &self,
        _: &Context<'_>,
        prompt: &Prompt,
        arguments: &Map<String, Value>,
    ) -> Result<Vec<Value>, Failure> {
        let argument = |name: &str| arguments[name].as_str().unwrap_or_default();
        let blocks = match prompt.name.as_str() {
            "test_simple_prompt" => vec![text("This is a simple prompt for testing.")],
            "test_prompt_with_arguments" => {
                let (first, second) = (argument("arg1"), argument("arg2"));
                vec![text(&format!("Prompt with arguments: arg1='{first}', arg2='{second}'"))]
            }
            "test_prompt_with_embedded_resource" => {
                let content = "Embedded resource content for testing.";
                let resource =
                    json!({"uri": argument("resourceUri"), "mimeType": "text/plain", "text": content});
                vec![
                    json!({"type": "resource", "resource": resource}),
                    text("Please process the embedded resource above."),
                ]
            }
            _ => vec![image(), text("Please analyze the image above.")],
        };
        Ok(blocks.into_iter().map(|content| json!({"role": "user", "content": content})).collect())
    }

    fn complete(
        &self,
        _: &Context<'_>,
        _: &CompletionReference,
        completion: &Completion,
    ) -> Result<Vec<String>, Failure> {
        Ok(["testing", "tested"]
            .iter()
            .filter(|word| word.starts_with(&completion.value))
            .map(|word| (*word).to_owned())
            .collect())
    }
}

fn plain(name: &str) -> Tool {
    Tool::new(name, format!("The fixture {name}"), json!({"type": "object"}))
}

/// The keywords that must reach the client as they are.
fn rich_schema() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
            },
        },
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": false,
    })
}

fn resource(uri: &str, name: &str, mime_type: &str) -> Resource {
    Resource {
        uri: uri.into(),
        name: name.into(),
        title: None,
        description: Some(format!("The fixture {name}")),
        mime_type: Some(mime_type.into()),
        more: Map::new(),
    }
}

fn prompt(name: &str, arguments: &[&str]) -> Prompt {
    let argument = |name: &&str| PromptArgument {
        name: (*name).into(),
        description: format!("The value of {name}"),
        required: true,
    };
    Prompt {
        name: name.into(),
        title: None,
        description: Some(format!("The fixture {name}")),
        arguments: arguments.iter().map(argument).collect(),
    }
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn image() -> Value {
    json!({"type": "image", "data": PNG, "mimeType": "image/png"})
}
