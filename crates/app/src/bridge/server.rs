//! The bridge as an MCP server: forwards every request to the Spexus server.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use mcp::{
    Capabilities, Changed, Completion, CompletionReference, Contents, Context, Failure, FailureKind, Instead,
    Interest, Page, Profile, Prompt, Resource, Server, Tool, ToolErrors, ToolOutput, VersionPolicy,
};
use serde_json::{Map, Value, json};

use super::{
    cached::Cached,
    failure,
    listed::{self, ServerTool},
    listen::Listener,
    look,
    question::{Question, Told},
    upstream::Upstream,
};
use crate::budget::bad_cursor;
use crate::large;
use crate::requirements::{self, instead, meant};

/// The handshake is answered within two seconds, even if the server is unreachable.
const INTRODUCTION_TIME: Duration = Duration::from_millis(1_500);

/// How long the handshake may wait for the stream of changes. If it opens later, everything is announced as changed.
const STREAM_TIME: Duration = Duration::from_millis(500);

/// How long a subscription may wait for the server's acknowledgement.
const SUBSCRIPTION_TIME: Duration = Duration::from_secs(5);

/// The maximal number of pages of a list.
const PAGES_MAX: usize = 100;

/// The bridge's own profile.
//@= spexus://REQ-052
//@# 002 R3.5: the server is called requirements-mcp-server and has a semantic version
//@= spexus://REQ-048
//@# 002 R3.1: initialize is answered with capabilities
pub fn profile() -> Profile {
    let mut profile = Profile::new(super::NAME, env!("CARGO_PKG_VERSION"));
    profile.title = Some("Requirements of a Spexus server".into());
    profile.capabilities = Capabilities::all();
    profile.versions = VersionPolicy::Strict { terminate: true };
    profile.tool_errors = ToolErrors::ByRevision;
    profile
}

/// The server for one host.
pub struct Bridge {
    upstream: Arc<Upstream>,
    lists: Arc<Lists>,
    listener: Listener,
}

/// Values cached until the server announces a change.
#[derive(Default)]
pub struct Lists {
    tools: Cached<Vec<ServerTool>>,
    prompts: Cached<Vec<Prompt>>,
    templates: Cached<Vec<Resource>>,
}

impl Lists {
    /// Invalidates the tools and the instructions.
    pub fn forget_tools(&self) {
        self.tools.forget();
    }

    /// Invalidates the prompts.
    pub fn forget_prompts(&self) {
        self.prompts.forget();
    }

    /// Invalidates everything, because changes may have been missed.
    pub fn forget(&self) {
        self.tools.forget();
        self.prompts.forget();
        self.templates.forget();
    }
}

impl Bridge {
    /// A bridge to a server. It sends nothing before the host does.
    pub fn new(upstream: Arc<Upstream>) -> Arc<Self> {
        let lists = Arc::new(Lists::default());
        let listener = Listener::start(upstream.clone(), lists.clone());
        Arc::new(Self { upstream, lists, listener })
    }

    fn ask(
        &self,
        context: &Context<'_>,
        method: &'static str,
        name: Option<&str>,
        params: Value,
    ) -> Result<Map<String, Value>, Failure> {
        let question = question(context, method, name, params)?;
        self.upstream.ask(question, || !context.is_cancelled(), |_| {})
    }

    /// Requests a page and parses its items.
    fn page<T>(
        &self,
        context: &Context<'_>,
        method: &'static str,
        key: &str,
        cursor: Option<&str>,
        item: impl Fn(Map<String, Value>) -> Option<T>,
    ) -> Result<Page<T>, Failure> {
        let params = cursor.map_or_else(|| json!({}), |cursor| json!({ "cursor": cursor }));
        let result = self.ask(context, method, None, params)?;
        listed::page(result, key, item).ok_or_else(|| failure::not_understood(method))
    }

    /// Returns a whole list, from the cache unless it changed.
    fn whole<T>(
        &self,
        context: &Context<'_>,
        cached: &Cached<Vec<T>>,
        fetch: impl Fn(Option<&str>) -> Result<Page<T>, Failure>,
    ) -> Result<Arc<Vec<T>>, Failure> {
        let give_up = || {
            context.is_cancelled().then(|| Failure::new(FailureKind::Timeout, "the caller no longer waits"))
        };
        cached.get(self.listener.is_listening(), give_up, || {
            let mut items = Vec::new();
            let mut cursor = None;
            for _ in 0..PAGES_MAX {
                let page = fetch(cursor.as_deref())?;
                items.extend(page.items);
                cursor = page.next_cursor;
                if cursor.is_none() {
                    break;
                }
            }
            Ok(items)
        })
    }

    /// The callable tools.
    //@= spexus://REQ-158
    //@# 002 R15.3: frequent requests are cached
    fn all_tools(&self, context: &Context<'_>) -> Result<Arc<Vec<ServerTool>>, Failure> {
        self.whole(context, &self.lists.tools, |cursor| {
            self.page(context, "tools/list", "tools", cursor, listed::tool)
        })
    }

    fn introduction(&self, failure: &Failure) -> String {
        format!(
            "Requirements of the Spexus server at {}. It could not be asked for its instructions: {}. Requests are passed \
             on to it all the same, and work as soon as it does; if they keep failing, tell the user what the errors say.",
            self.upstream.backend(),
            failure.message
        )
    }
}

impl Server for Bridge {
    fn instructions(&self, context: &Context<'_>) -> Option<String> {
        let question = Question {
            started: context.started(),
            timeout: Some(INTRODUCTION_TIME),
            ..Question::new("server/discover", Map::new(), context.request_id())
        };
        let is_handshake = !context.revision.is_stateless();
        if is_handshake {
            self.listener.prepare();
        }
        let result = match self.upstream.ask(question, || !context.is_cancelled(), |_| {}) {
            Ok(result) => result,
            Err(failure) => return Some(self.introduction(&failure)),
        };
        if is_handshake {
            let patience = STREAM_TIME.min(INTRODUCTION_TIME.saturating_sub(context.started().elapsed()));
            let prepared = async { tokio::time::timeout(patience, self.listener.is_prepared()).await };
            self.upstream.wait(prepared, || !context.is_cancelled());
        }
        result.get("instructions").and_then(Value::as_str).map(str::to_owned)
    }

    fn tools(&self, context: &Context<'_>, cursor: Option<&str>) -> Result<Page<Arc<Tool>>, Failure> {
        only_page(cursor)?;
        let tools = self.all_tools(context)?;
        let listed = tools.iter().filter(|known| known.is_listed);
        Ok(Page::whole(listed.map(|known| known.tool.clone()).collect()))
    }

    /// The server lists only tools that the token may use. Others of our tools are called anyway: the server then
    /// explains why they cannot be.
    fn tool(&self, context: &Context<'_>, name: &str) -> Result<Option<Arc<Tool>>, Failure> {
        let tools = self.all_tools(context)?;
        let known = tools.iter().map(|known| &known.tool).find(|tool| tool.name == name).cloned();
        let is_ours = || requirements::all().any(|(entry, tool)| requirements::name_of(entry, tool) == name);
        let unoffered = || Arc::new(Tool::new(name, "", json!({ "type": "object" })));
        Ok(known.or_else(|| is_ours().then(unoffered)))
    }

    fn normalise(&self, _: &Context<'_>, tool: &Tool, arguments: &mut Value) -> Vec<String> {
        meant::normalise(&tool.input_schema, arguments)
    }

    //@= spexus://REQ-074
    //@# 002 R6.3: arguments are checked against the schema
    //@= spexus://REQ-081
    //@# 002 R6.10: arguments that do not fit are rejected before the backend is called
    fn check_arguments(&self, _: &Context<'_>, tool: &Tool, arguments: &Value) -> Result<(), Failure> {
        meant::check(tool, arguments)
    }

    fn instead_of(&self, context: &Context<'_>, name: &str, arguments: &Value) -> Option<Instead> {
        let tools = self.all_tools(context).ok()?;
        let tools: Vec<Arc<Tool>> = tools.iter().map(|known| known.tool.clone()).collect();
        instead::instead_of(&tools, name, arguments)
    }

    fn call_tool(&self, context: &Context<'_>, tool: &Tool, arguments: Value) -> Result<ToolOutput, Failure> {
        let look = look::call(tool, &arguments);
        let params = json!({ "name": tool.name, "arguments": arguments });
        let mut question = Question { look, ..question(context, "tools/call", Some(&tool.name), params)? };
        question.wants_progress = context.progress.is_wanted();
        // After a retry the server starts again; the host gets no progress until the call is further than before.
        let told = |told: Told<'_>| context.progress.report(told.progress, told.total, told.message);
        let result = self.upstream.ask(question, || !context.is_cancelled(), told)?;
        listed::output(result).ok_or_else(|| failure::not_understood("tools/call"))
    }

    fn resources(&self, context: &Context<'_>, cursor: Option<&str>) -> Result<Page<Resource>, Failure> {
        self.page(context, "resources/list", "resources", cursor, |object| listed::resource(object, "uri"))
    }

    fn templates(&self, context: &Context<'_>, cursor: Option<&str>) -> Result<Page<Resource>, Failure> {
        only_page(cursor)?;
        let templates = self.whole(context, &self.lists.templates, |cursor| {
            let template = |object| listed::resource(object, "uriTemplate");
            self.page(context, "resources/templates/list", "resourceTemplates", cursor, template)
        })?;
        Ok(Page::whole(templates.to_vec()))
    }

    fn read(&self, context: &Context<'_>, uri: &str) -> Result<Contents, Failure> {
        let mut result = self.ask(context, "resources/read", Some(uri), json!({ "uri": uri }))?;
        match result.remove("contents") {
            Some(Value::Array(contents)) => Ok(Contents::Values(contents)),
            _ => Err(failure::not_understood("resources/read")),
        }
    }

    fn check_subscription(&self, context: &Context<'_>, uri: &str) -> Result<(), Failure> {
        self.read(context, uri)?;
        drop(large::take());
        // Answered only when the server listens, so that no change after the answer is missed.
        let listening = async { tokio::time::timeout(SUBSCRIPTION_TIME, self.listener.hears(uri)).await };
        match self.upstream.wait(listening, || !context.is_cancelled()) {
            Some(Ok(())) => Ok(()),
            _ => Err(Failure::new(
                FailureKind::Unavailable,
                "change notifications are unavailable now: try again",
            )),
        }
    }

    fn watchable(&self, context: &Context<'_>, uris: Vec<String>) -> Result<BTreeSet<String>, Failure> {
        let uris = BTreeSet::from_iter(uris);
        let asked = async { tokio::time::timeout(SUBSCRIPTION_TIME, self.listener.honoured(&uris)).await };
        match self.upstream.wait(asked, || !context.is_cancelled()) {
            Some(Ok(honoured)) => Ok(honoured),
            // Unknown for now. They are requested when the server is back.
            _ => Ok(uris),
        }
    }

    fn prompts(&self, context: &Context<'_>, cursor: Option<&str>) -> Result<Page<Prompt>, Failure> {
        only_page(cursor)?;
        let prompts = self.whole(context, &self.lists.prompts, |cursor| {
            self.page(context, "prompts/list", "prompts", cursor, listed::prompt)
        })?;
        Ok(Page::whole(prompts.to_vec()))
    }

    fn fill_prompt(
        &self,
        context: &Context<'_>,
        prompt: &Prompt,
        arguments: &Map<String, Value>,
    ) -> Result<Vec<Value>, Failure> {
        let params = json!({ "name": prompt.name, "arguments": arguments });
        let mut result = self.ask(context, "prompts/get", Some(&prompt.name), params)?;
        match result.remove("messages") {
            Some(Value::Array(messages)) => Ok(messages),
            _ => Err(failure::not_understood("prompts/get")),
        }
    }

    fn complete(
        &self,
        context: &Context<'_>,
        reference: &CompletionReference,
        completion: &Completion,
    ) -> Result<Vec<String>, Failure> {
        let reference = match reference {
            CompletionReference::Prompt(name) => json!({ "type": "ref/prompt", "name": name }),
            CompletionReference::Resource(uri) => json!({ "type": "ref/resource", "uri": uri }),
        };
        let mut params = json!({
            "ref": reference,
            "argument": { "name": completion.name, "value": completion.value },
        });
        if !completion.arguments.is_empty() {
            params["context"] = json!({ "arguments": completion.arguments });
        }
        let result = self.ask(context, "completion/complete", None, params)?;
        let values = result.get("completion").and_then(|completion| completion["values"].as_array());
        let values = values.ok_or_else(|| failure::not_understood("completion/complete"))?;
        Ok(values.iter().filter_map(Value::as_str).map(str::to_owned).collect())
    }

    fn watch(&self, changed: Changed) {
        self.listener.tell(changed);
    }

    fn interest(&self, interest: Interest) {
        self.listener.listen_to(interest);
    }
}

fn question<'a>(
    context: &Context<'_>,
    method: &'static str,
    name: Option<&'a str>,
    params: Value,
) -> Result<Question<'a>, Failure> {
    let Value::Object(params) = params else { return Err(Failure::internal()) };
    let started = context.started();
    Ok(Question { name, started, ..Question::new(method, params, context.request_id()) })
}

/// Complete lists have a single page, to which no cursor leads.
fn only_page(cursor: Option<&str>) -> Result<(), Failure> {
    match cursor {
        None => Ok(()),
        Some(_) => Err(bad_cursor()),
    }
}
