//! Requirements for agents: the operations as tools, the entities as resources, and prompts with their context. The
//! same server answers over HTTP and over stdio, with different authentication.

pub mod budget;
pub mod changes;
mod complete;
mod guide;
pub mod include;
pub mod instead;
pub mod meant;
mod progress;
mod prompts;
mod resources;
mod schema;
mod sets;
mod slim;
mod tools;
mod uri;
mod whole;

use std::sync::Arc;

use mcp::{
    Capabilities, Changed, Completion, CompletionReference, Contents, Context, Failure, FailureKind,
    FieldError, Instead, Page, Profile, Prompt, Request, Resource, Server, Tool, ToolErrors, ToolOutput,
    VersionPolicy,
};
use ops::{Call, Credentials, Effect, Engine, Entry, Error, Shape, known};
use serde_json::{Map, Value, json};
use store::model::Via;

use self::budget::PageWindow;
use self::include::Include;
use crate::budget::{TOKENS_DEFAULT, TOKENS_NOTE, bad_cursor};
use crate::spexus::http::exports::Exports;
use crate::spexus::now;

pub use self::guide::instructions;
pub use self::resources::templates;
pub use self::sets::{SETS, ToolOptions, headers};
pub use self::tools::{LISTED_META, Offer, Tools, all, name_of, set_of};

/// The profile of the HTTP endpoint.
//@= spexus://REQ-014
//@# 001 R1.3: serverInfo is "spexus mcp" with its title and version 1.0.0
//@= spexus://REQ-016
//@# 001 R1.5: listChanged is true for all three
pub fn profile() -> Profile {
    let mut profile = Profile::new("spexus mcp", "1.0.0");
    profile.title = Some("MCP server for requirements management system".into());
    // The specification requires the title in a revision that does not have it yet.
    profile.title_since = mcp::Revision::V2024_11_05;
    profile.capabilities = Capabilities::all();
    profile.versions = VersionPolicy::Strict { terminate: false };
    profile.tool_errors = ToolErrors::ByRevision;
    profile.canonical = changes::canonical;
    profile.refuses_by_status = true;
    profile
}

/// The server for one caller.
pub struct Requirements {
    engine: Engine,
    credentials: Credentials,
    tools: Arc<Tools>,
    /// The idempotency key.
    idempotency_key: Option<String>,
    address: Option<String>,
    /// Limits concurrent exports.
    exports: Option<Arc<Exports>>,
    /// Whether unlisted tools are listed, too, for a program that forwards them.
    with_unlisted: bool,
}

impl Requirements {
    /// A server for a caller with these credentials.
    pub fn new(engine: Engine, credentials: Credentials, tools: Arc<Tools>) -> Requirements {
        Requirements {
            engine,
            credentials,
            tools,
            idempotency_key: None,
            address: None,
            exports: None,
            with_unlisted: false,
        }
    }

    /// The same server for a request with this key, from this address.
    #[must_use]
    pub fn for_request(mut self, idempotency_key: Option<String>, address: Option<String>) -> Requirements {
        (self.idempotency_key, self.address) = (idempotency_key, address);
        self
    }

    /// The same server, which shares a limit of exports with others.
    #[must_use]
    pub fn with_exports(mut self, exports: Arc<Exports>) -> Requirements {
        self.exports = Some(exports);
        self
    }

    /// The same server, which also lists the unlisted tools.
    #[must_use]
    pub fn with_unlisted(mut self, with_unlisted: bool) -> Requirements {
        self.with_unlisted = with_unlisted;
        self
    }

    /// The caller, if already known.
    pub fn caller(&self) -> Option<ops::Caller> {
        match &self.credentials {
            Credentials::Known(caller) => Some((**caller).clone()),
            credentials => self.engine.who(credentials.clone(), now()).ok().flatten(),
        }
    }

    /// The effects that the caller may have in some project.
    fn is_usable(&self) -> impl Fn(Effect) -> bool + use<> {
        let caller = self.caller();
        move |effect| caller.as_ref().is_none_or(|caller| caller.may(effect).is_ok())
    }

    /// The guide to the tools and resources of the caller.
    fn guide(&self) -> String {
        self.tools.guide(self.is_usable())
    }

    /// Runs a tool, from a position of its list on. The answer is reduced for agents, but not truncated.
    pub fn run(
        &self,
        offer: &Offer,
        arguments: Map<String, Value>,
        start: (Option<&str>, i64),
        context: &Context<'_>,
    ) -> Result<Value, Failure> {
        self.run_within(TOKENS_DEFAULT, offer, arguments, start, context)
    }

    /// The same, with a budget for the surroundings of an entity.
    fn run_within(
        &self,
        max_tokens: usize,
        offer: &Offer,
        mut arguments: Map<String, Value>,
        start: (Option<&str>, i64),
        context: &Context<'_>,
    ) -> Result<Value, Failure> {
        let include = Include::take(&mut arguments);
        if offer.has_budget() {
            // What the operation can leave out is better left out there.
            arguments.insert(
                "max_tokens".into(),
                json!(max_tokens.saturating_sub(TOKENS_NOTE).max(tools::TOKENS_MIN)),
            );
        }
        let answer = plain(self.call(offer.entry, offer.arguments(arguments, start), context)?);
        let around = include::around(self, context, &answer, &include, max_tokens)?;
        let mut answer = slim::slim(offer.entry, answer, &include);
        if let Some(fields) = answer.as_object_mut() {
            fields.extend(around);
        }
        Ok(answer)
    }

    /// The operation of a tool.
    pub fn offer(&self, tool: &str) -> Result<&Offer, Failure> {
        self.tools.offer(tool).ok_or_else(Failure::internal)
    }

    /// Runs an operation, and waits for it.
    pub fn call(
        &self,
        entry: &'static Entry,
        arguments: Value,
        context: &Context<'_>,
    ) -> Result<Value, Failure> {
        let answer = self.ask(entry, arguments, context)?;
        serde_json::from_str(&answer).map_err(|error| no_json(entry, &context.request_id(), &error))
    }

    /// The same, as the JSON of the operation.
    pub fn ask(
        &self,
        entry: &'static Entry,
        arguments: Value,
        context: &Context<'_>,
    ) -> Result<String, Failure> {
        let mut _making = None;
        if let Some(exports) = self.exports.as_ref().filter(|_| entry.answers_file) {
            _making = Some(exports.make_now().map_err(|error| failure(&error))?);
        }
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
                user_agent: None,
                checkout: None,
                threats: None,
            },
            idempotency_key: self.idempotency_key.clone(),
            cancel: Some(cancel),
            progress: None,
            sink: None,
            upload: None,
        };
        let reply = progress::wait(&self.engine, call, &context.progress);
        let answer = reply.result.map_err(|error| {
            let user = reply.caller.as_ref().map_or("-", |caller| caller.username.as_str());
            let (req_id, operation) = (context.request_id(), entry.name);
            match error.kind {
                ops::ErrorKind::InternalError => {
                    tracing::error!(req_id, user, operation, "{}", error.in_full())
                }
                ops::ErrorKind::Unavailable | ops::ErrorKind::Timeout => {
                    tracing::warn!(req_id, user, operation, "{}", error.in_full());
                }
                _ => {}
            }
            failure(&error)
        })?;
        Ok(answer.json)
    }
}

fn no_json(entry: &Entry, req_id: &str, error: &serde_json::Error) -> Failure {
    tracing::error!(req_id, operation = entry.name, "an answer is not JSON: {error}");
    Failure::internal()
}

/// An answer with snippets as text: HTML would cost tokens, and the agent would repeat it.
fn plain(mut answer: Value) -> Value {
    let hits = answer.get_mut("data").and_then(Value::as_array_mut).into_iter().flatten();
    for snippet in hits.filter_map(|hit| hit.get_mut("snippet")) {
        if let Value::String(html) = snippet {
            *html = ops::plain_snippet(html, "**");
        }
    }
    answer
}

/// An operation's error as a protocol failure.
//@= spexus://REQ-079
//@# 002 R6.8: a failing tool is a JSON-RPC error with details
pub fn failure(error: &Error) -> Failure {
    let kind = match error.kind {
        ops::ErrorKind::ValidationError | ops::ErrorKind::TooLarge => FailureKind::InvalidArguments,
        ops::ErrorKind::Unauthenticated => FailureKind::Unauthenticated,
        ops::ErrorKind::Forbidden => FailureKind::Forbidden,
        ops::ErrorKind::NotFound => FailureKind::NotFound,
        ops::ErrorKind::Conflict
        | ops::ErrorKind::StaleVersion
        | ops::ErrorKind::IdempotencyKeyReused
        | ops::ErrorKind::StillRunning => FailureKind::Conflict,
        ops::ErrorKind::RateLimited => FailureKind::RateLimited,
        ops::ErrorKind::Timeout => FailureKind::Timeout,
        ops::ErrorKind::Unavailable => FailureKind::Unavailable,
        ops::ErrorKind::InternalError => return Failure::internal(),
    };
    let errors: Vec<FieldError> = error
        .fields
        .iter()
        .map(|field| {
            let allowed = field.allowed.iter().map(|value| json!(value)).collect();
            FieldError { allowed, ..FieldError::new(&field.field, &field.message) }
        })
        .collect();
    // Some hosts show an agent only the message, so it has all errors.
    let message = match errors.as_slice() {
        [_, _, ..] => errors
            .iter()
            .map(|error| format!("{}: {}", error.field, error.message))
            .collect::<Vec<_>>()
            .join("\n"),
        _ => error.message.clone(),
    };
    let mut details: Vec<(String, Value)> = match error.more.as_deref() {
        Some(Value::Object(more)) => more.clone().into_iter().collect(),
        _ => Vec::new(),
    };
    details.push(("error".into(), json!(error.kind.code())));
    details.extend(error.retry_after_s.map(|seconds| ("retry_after_s".to_owned(), json!(seconds))));
    Failure { errors, details, ..Failure::new(kind, message) }
}

impl Server for Requirements {
    fn instructions(&self, context: &Context<'_>) -> Option<String> {
        // Without an active prompt, or if it cannot be read, there are no instructions.
        let prompt = self.call(known::GET_ACTIVE_PROMPT, json!({}), context).ok();
        Some(prompt.map(|prompt| instructions(&prompt, &self.guide())).unwrap_or_default())
    }

    /// Only tools that the caller may use in some project. Unlisted tools are still rejected with a reason when called.
    fn tools(&self, _: &Context<'_>, cursor: Option<&str>) -> Result<Page<Arc<Tool>>, Failure> {
        let tools = match self.with_unlisted {
            true => self.tools.usable_and_unlisted(self.is_usable()),
            false => self.tools.usable(self.is_usable()).0,
        };
        whole(tools, cursor)
    }

    fn tool(&self, _: &Context<'_>, name: &str) -> Result<Option<Arc<Tool>>, Failure> {
        self.tools.find(name)
    }

    fn normalise(&self, _: &Context<'_>, tool: &Tool, arguments: &mut Value) -> Vec<String> {
        let notes = meant::normalise(&tool.input_schema, arguments);
        for name in ["assignee", "assignee_id", "creator"] {
            if arguments.get(name).and_then(Value::as_str) == Some("me")
                && let Some(caller) = self.caller()
            {
                arguments[name] = json!(caller.username);
            }
        }
        notes
    }

    fn check_arguments(&self, _: &Context<'_>, tool: &Tool, arguments: &Value) -> Result<(), Failure> {
        meant::check(tool, arguments)
    }

    fn instead_of(&self, _: &Context<'_>, name: &str, arguments: &Value) -> Option<Instead> {
        instead::instead_of(&self.tools.callable(), name, arguments)
    }

    fn call_tool(&self, context: &Context<'_>, tool: &Tool, arguments: Value) -> Result<ToolOutput, Failure> {
        let offer = self.offer(&tool.name)?;
        let Value::Object(mut arguments) = arguments else { return Err(Failure::internal()) };
        let window = PageWindow::take(&mut arguments)?;
        let asked = Value::Object(arguments.clone());
        let answer = self.run_within(window.max_tokens, offer, arguments, window.start(), context)?;
        Ok(ToolOutput::json(match offer.shape {
            Shape::Whole => answer,
            Shape::File => whole::file(&window, offer.entry, &asked, answer),
            Shape::Steps => whole::steps(&window, answer),
            Shape::Page(key, total) => window.page(key, total, answer),
            Shape::Names | Shape::Thing => window.short(answer),
        }))
    }

    fn resources(&self, context: &Context<'_>, cursor: Option<&str>) -> Result<Page<Resource>, Failure> {
        resources::list(self, context, cursor)
    }

    fn templates(&self, _: &Context<'_>, cursor: Option<&str>) -> Result<Page<Resource>, Failure> {
        whole(templates(), cursor)
    }

    fn read(&self, context: &Context<'_>, uri: &str) -> Result<Contents, Failure> {
        resources::read(self, context, uri).map(|text| Contents::json(uri, text))
    }

    fn check_subscription(&self, context: &Context<'_>, uri: &str) -> Result<(), Failure> {
        resources::check(self, context, uri)
    }

    fn prompts(&self, context: &Context<'_>, cursor: Option<&str>) -> Result<Page<Prompt>, Failure> {
        whole(prompts::list(self, context)?, cursor)
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

    /// Reads by key in SQLite take less time than starting them on another thread.
    fn is_quick(&self, request: &Request) -> bool {
        let is_point = |entry: &Entry| entry.mode == store::Mode::Point;
        let is_near = !self.engine.store().is_remote();
        match request {
            Request::Ping | Request::Unsubscribe(_) | Request::ListTools(_) | Request::ListTemplates(_) => {
                true
            }
            Request::CallTool { name, arguments } => {
                is_near && ops::find(name).is_some_and(is_point) && !arguments.contains_key("include")
            }
            Request::ReadResource(uri) => {
                is_near && uri::parse(uri).is_ok_and(|target| is_point(target.operation))
            }
            _ => false,
        }
    }
}

/// A list on a single page, without cursors.
fn whole<T>(items: Vec<T>, cursor: Option<&str>) -> Result<Page<T>, Failure> {
    match cursor {
        None => Ok(Page::whole(items)),
        Some(_) => Err(bad_cursor()),
    }
}
