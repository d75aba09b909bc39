//! Small servers with examples of every feature.

use std::sync::Arc;

use mcp::{
    Capabilities, Completion, CompletionReference, Contents, Context, Failure, FailureKind, ListCapability,
    Page, Profile, Prompt, PromptArgument, Resource, ResourceCapability, Server, Tool, ToolErrors,
    ToolOutput, VersionPolicy, page_of,
};
use serde_json::{Map, Value, json};

/// Returns one of the servers by name.
pub fn server(name: &str) -> (Profile, Arc<dyn Server>) {
    let mut profile = Profile::new("demo", "1.2.3");
    profile.title = Some("Demonstration".into());
    profile.description = Some("A little of everything".into());
    profile.capabilities = Capabilities {
        tools: Some(ListCapability { list_changed: true }),
        prompts: Some(ListCapability { list_changed: true }),
        resources: Some(ResourceCapability {
            list_changed: true,
            subscribe: true,
            by_path: name == "by-path",
        }),
        completions: true,
    };
    match name {
        "full" | "by-path" => {}
        "tools-only" => {
            profile.capabilities = Capabilities {
                tools: Some(ListCapability { list_changed: false }),
                ..Capabilities::default()
            }
        }
        "strict" => {
            profile.versions = VersionPolicy::Strict { terminate: false };
            profile.tool_errors = ToolErrors::ByRevision;
        }
        "strict-terminating" => profile.versions = VersionPolicy::Strict { terminate: true },
        other => panic!("no server {other}"),
    }
    (profile, Arc::new(Demo))
}

struct Demo;

impl Server for Demo {
    fn instructions(&self, _context: &Context<'_>) -> Option<String> {
        Some("Try echo.".into())
    }

    fn tools(&self, _context: &Context<'_>, cursor: Option<&str>) -> Result<Page<Arc<Tool>>, Failure> {
        page_of(&tools(), cursor, 3)
    }

    fn call_tool(&self, context: &Context<'_>, tool: &Tool, arguments: Value) -> Result<ToolOutput, Failure> {
        match tool.name.as_str() {
            "echo" => Ok(ToolOutput::text(arguments["text"].as_str().unwrap_or_default())),
            "numbers" => Ok(ToolOutput::json(json!([1, 2, 3]))),
            "ask_model" => Ok(ToolOutput::text("nobody was asked")),
            "count" => {
                for step in 1..=3 {
                    context.progress.report(f64::from(step), Some(3.0), Some("counting"));
                }
                context.progress.report(2.0, None, Some("never sent: progress only grows"));
                Ok(ToolOutput::json(json!({"counted": 3})))
            }
            _ => Err(Failure::new(
                FailureKind::Conflict,
                "The epic has 3 stories; use force to delete them too",
            )),
        }
    }

    fn resources(&self, _context: &Context<'_>, cursor: Option<&str>) -> Result<Page<Resource>, Failure> {
        page_of(&[resource("demo://a", "a"), resource("demo://b", "b")], cursor, 1)
    }

    fn resources_under(
        &self,
        _context: &Context<'_>,
        path: &str,
        cursor: Option<&str>,
    ) -> Result<Page<Resource>, Failure> {
        let mut letter = resource("demo://a", "a");
        letter.more.insert("path".into(), json!(path));
        letter.more.insert("name".into(), json!("never: it has a name"));
        page_of(&[letter], cursor, 1)
    }

    fn templates(&self, _context: &Context<'_>, cursor: Option<&str>) -> Result<Page<Resource>, Failure> {
        page_of(&[resource("demo://{letter}", "letter")], cursor, 10)
    }

    fn read(&self, _context: &Context<'_>, uri: &str) -> Result<Contents, Failure> {
        match uri {
            "demo://a" | "demo://b" => {
                Ok(json!({"uri": uri, "mimeType": "text/plain", "text": "a letter"}).into())
            }
            _ => Err(Failure::new(FailureKind::NotFound, "Resource not found")),
        }
    }

    fn prompts(&self, _context: &Context<'_>, cursor: Option<&str>) -> Result<Page<Prompt>, Failure> {
        let argument = |name: &str, required| PromptArgument {
            name: name.into(),
            description: format!("the {name}"),
            required,
        };
        let greet = Prompt {
            name: "greet".into(),
            title: Some("Greet".into()),
            description: Some("Greets somebody".into()),
            arguments: vec![argument("name", true), argument("tone", false)],
        };
        page_of(&[greet], cursor, 10)
    }

    fn fill_prompt(
        &self,
        _context: &Context<'_>,
        _prompt: &Prompt,
        arguments: &Map<String, Value>,
    ) -> Result<Vec<Value>, Failure> {
        let text = format!("Say hello to {}", arguments["name"].as_str().unwrap_or_default());
        Ok(vec![json!({"role": "user", "content": {"type": "text", "text": text}})])
    }

    fn complete(
        &self,
        _context: &Context<'_>,
        _reference: &CompletionReference,
        completion: &Completion,
    ) -> Result<Vec<String>, Failure> {
        let all = (0..150).map(|number| format!("{}{number}", completion.value));
        Ok(all.collect())
    }
}

fn tools() -> Vec<Arc<Tool>> {
    let mut echo = Tool::new(
        "echo",
        "Says it again",
        json!({
            "type": "object",
            "properties": {
                "text": {"type": "string", "minLength": 1, "maxLength": 20},
                "times": {"type": "integer", "minimum": 1, "maximum": 4},
                "voice": {"type": "string", "enum": ["loud", "low"]},
                "tags": {"type": "array", "items": {"type": "string"}},
            },
            "required": ["text"],
            "additionalProperties": false,
        }),
    );
    echo.title = Some("Echo".into());
    echo.annotations = Some(json!({"readOnlyHint": true}));
    let mut numbers = Tool::new("numbers", "Gives numbers", json!({"type": "object"}));
    numbers.output_schema = Some(json!({"type": "object", "properties": {"result": {"type": "array"}}}));
    let count = Tool::new("count", "Counts to three", json!({"type": "object"}));
    let fail = Tool::new("delete_epic", "Always refuses", json!({"type": "object"}));
    let mut ask = Tool::new("ask_model", "Asks the client's model", json!({"type": "object"}));
    ask.requires = vec!["sampling".into()];
    [echo, numbers, count, fail, ask].into_iter().map(Arc::new).collect()
}

fn resource(uri: &str, name: &str) -> Resource {
    Resource {
        uri: uri.into(),
        name: name.into(),
        title: Some(name.to_uppercase()),
        description: None,
        mime_type: Some("text/plain".into()),
        more: Map::new(),
    }
}
