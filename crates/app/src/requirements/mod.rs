//! Requirements for agents: the operations as tools, the entities as resources, and prompts that bring their context. The
//! same server answers over HTTP and over stdio; what differs is who asks.

mod budget;
pub mod changes;
mod complete;
mod prompts;
mod resources;
mod tools;
mod uri;

use std::sync::Arc;

use mcp::{
    Capabilities, Changed, Completion, CompletionReference, Context, Failure, FieldError, Kind,
    ListCapability, Page, Profile, Prompt, Request, Resource, ResourceCapability, Server, Tool, ToolErrors,
    ToolOutput, VersionPolicy,
};
use ops::{Call, Credentials, Engine, Error};
use serde_json::{Map, Value, json};
use store::model::Via;

pub use self::tools::{ToolOptions, Tools};

use crate::spexus::now;

/// How the HTTP endpoint introduces itself.
pub fn profile() -> Profile {
    let mut profile = Profile::new("spexus mcp", "1.0.0");
    profile.title = Some("MCP server for requirements management system".into());
    // The seed that describes the server demands the title in its revision, which does not know it yet.
    profile.title_since = mcp::Revision::V2024_11_05;
    profile.capabilities = Capabilities {
        tools: Some(ListCapability { list_changed: true }),
        prompts: Some(ListCapability { list_changed: true }),
        resources: Some(ResourceCapability { list_changed: true, subscribe: true, by_path: false }),
        completions: true,
    };
    profile.versions = VersionPolicy::Strict { terminate: false };
    profile.tool_errors = ToolErrors::ByRevision;
    profile.canonical = changes::canonical;
    profile.refuses_by_status = true;
    profile
}

/// Answers for one caller.
pub struct Requirements {
    engine: Engine,
    credentials: Credentials,
    tools: Arc<Tools>,
    /// What makes the same call twice happen once.
    idempotency_key: Option<String>,
    address: Option<String>,
}

impl Requirements {
    /// A server for whoever shows these credentials.
    pub fn new(engine: Engine, credentials: Credentials, tools: Arc<Tools>) -> Requirements {
        Requirements { engine, credentials, tools, idempotency_key: None, address: None }
    }

    /// The same server for a request with this key, from this address.
    #[must_use]
    pub fn for_request(mut self, idempotency_key: Option<String>, address: Option<String>) -> Requirements {
        (self.idempotency_key, self.address) = (idempotency_key, address);
        self
    }

    /// Runs an operation, and waits for it.
    fn call(&self, name: &str, arguments: Value, context: &Context<'_>) -> Result<Value, Failure> {
        let Some(entry) = ops::find(name) else { return Err(Failure::internal()) };
        let cancel = store::Cancel::default();
        let given_up = cancel.clone();
        context.on_cancel(move || given_up.cancel());
        let call = Call {
            entry,
            arguments,
            credentials: self.credentials.clone(),
            request: ops::Request {
                via: Via::Mcp,
                now: now(),
                request_id: Some(context.request_id()),
                address: self.address.clone(),
            },
            idempotency_key: self.idempotency_key.clone(),
            cancel: Some(cancel),
        };
        let answer = self.engine.wait(call).result.map_err(|error| failure(&error))?;
        serde_json::from_str(&answer.json).map_err(|error| {
            tracing::error!(operation = name, "an answer is no JSON: {error}");
            Failure::internal()
        })
    }
}

/// An operation's error in the words of the protocol.
pub fn failure(error: &Error) -> Failure {
    let kind = match error.kind {
        ops::Kind::ValidationError | ops::Kind::TooLarge => Kind::InvalidArguments,
        ops::Kind::Unauthenticated => Kind::Unauthenticated,
        ops::Kind::Forbidden => Kind::Forbidden,
        ops::Kind::NotFound => Kind::NotFound,
        ops::Kind::Conflict
        | ops::Kind::StaleVersion
        | ops::Kind::IdempotencyKeyReused
        | ops::Kind::StillRunning => Kind::Conflict,
        ops::Kind::RateLimited => Kind::RateLimited,
        ops::Kind::Timeout => Kind::Timeout,
        ops::Kind::Unavailable => Kind::Unavailable,
        ops::Kind::InternalError => {
            tracing::error!("{}", error.message);
            return Failure::internal();
        }
    };
    let errors = error.fields.iter().map(|field| {
        let allowed = field.allowed.iter().map(|value| json!(value)).collect();
        FieldError { allowed, ..FieldError::new(&field.field, &field.message) }
    });
    let mut details: Vec<(String, Value)> = match error.more.as_deref() {
        Some(Value::Object(more)) => more.clone().into_iter().collect(),
        _ => Vec::new(),
    };
    details.push(("error".into(), json!(error.kind.code())));
    details.extend(error.retry_after_s.map(|seconds| ("retry_after_s".to_owned(), json!(seconds))));
    Failure { errors: errors.collect(), details, ..Failure::new(kind, error.message.clone()) }
}

impl Server for Requirements {
    fn instructions(&self, context: &Context<'_>) -> Option<String> {
        // Without an active prompt, or where it cannot be read, there is nothing to say.
        let prompt = self.call("get_active_prompt", json!({}), context).ok();
        Some(prompt.map(|prompt| self.tools.instructions(&prompt)).unwrap_or_default())
    }

    fn tools(&self, _: &Context<'_>, _: Option<&str>) -> Result<Page<Arc<Tool>>, Failure> {
        Ok(Page::whole(self.tools.list().to_vec()))
    }

    fn tool(&self, _: &Context<'_>, name: &str) -> Result<Option<Arc<Tool>>, Failure> {
        Ok(self.tools.list().iter().find(|tool| tool.name == name).cloned())
    }

    fn call_tool(&self, context: &Context<'_>, tool: &Tool, arguments: Value) -> Result<ToolOutput, Failure> {
        let window = budget::Window::take(arguments)?;
        let answer = self.call(&tool.name, window.arguments.clone(), context)?;
        Ok(ToolOutput::json(window.fit(answer)))
    }

    fn resources(&self, context: &Context<'_>, cursor: Option<&str>) -> Result<Page<Resource>, Failure> {
        resources::list(self, context, cursor)
    }

    fn templates(&self, _: &Context<'_>, _: Option<&str>) -> Result<Page<Resource>, Failure> {
        Ok(Page::whole(resources::templates()))
    }

    fn read(&self, context: &Context<'_>, uri: &str) -> Result<Vec<Value>, Failure> {
        let value = resources::read(self, context, uri)?;
        Ok(vec![json!({ "uri": uri, "mimeType": "application/json", "text": value.to_string() })])
    }

    fn prompts(&self, context: &Context<'_>, _: Option<&str>) -> Result<Page<Prompt>, Failure> {
        prompts::list(self, context).map(Page::whole)
    }

    fn fill_prompt(
        &self,
        context: &Context<'_>,
        prompt: &Prompt,
        arguments: &Map<String, Value>,
    ) -> Result<Vec<Value>, Failure> {
        prompts::fill(self, context, prompt, arguments)
    }

    fn complete(
        &self,
        context: &Context<'_>,
        reference: &CompletionReference,
        completion: &Completion,
    ) -> Result<Vec<String>, Failure> {
        complete::complete(self, context, reference, completion)
    }

    fn watch(&self, _: Changed) {}

    /// What SQLite answers by key takes less time than another thread would need to begin.
    fn is_quick(&self, request: &Request) -> bool {
        let is_point = |name: &str| ops::find(name).is_some_and(|entry| entry.mode == store::Mode::Point);
        let is_near = !self.engine.store().is_remote();
        match request {
            Request::Ping | Request::Unsubscribe(_) | Request::ListTools(_) | Request::ListTemplates(_) => {
                true
            }
            Request::CallTool { name, .. } => is_near && is_point(name),
            Request::ReadResource(uri) => {
                is_near && uri::parse(uri).is_ok_and(|target| !target.is_list && is_point(target.operation))
            }
            _ => false,
        }
    }
}
