//! Runs a call on a server and puts the answer into the words of its revision.

use std::{cell::Cell, sync::Arc};

use serde_json::{Map, Value, json};

use crate::{
    arguments::{nearest, unknown_argument},
    call::{Answer, Call},
    error::{Error, INVALID_PARAMS},
    failure::{Failure, FieldError, Kind},
    listed::Prompt,
    page::Page,
    request::{Completion, CompletionReference, Request},
    revision::Revision,
    server::{Context, Progress, Server},
    stateless,
    tool::{Tool, failed_result},
};

/// The protocol allows no more completions in one answer.
const COMPLETIONS_MAX: usize = 100;

/// Runs a call. Progress goes out through `send` while it runs; the answer is for
/// [`Session::finish`](crate::Session::finish).
pub fn run(server: &dyn Server, call: Call, send: &dyn Fn(Vec<u8>)) -> Answer {
    let ticket = call.ticket;
    let revision = ticket.revision;
    let context = Context {
        id: &ticket.id,
        revision,
        request_id: ticket.request_id(),
        progress: Progress {
            token: call.progress_token.as_ref(),
            send,
            has_message: revision >= Revision::V2025_03_26,
            last: Cell::new(f64::NEG_INFINITY),
            cancelled: &ticket.cancelled,
        },
        cancelled: &ticket.cancelled,
    };
    let result = match call.request {
        Request::Initialize(revision) => Ok(initialize(server, &context, &call.profile, revision)),
        Request::Discover => Ok(discover(server, &context, &call.profile)),
        Request::Ping | Request::Unsubscribe(_) => Ok(Map::new()),
        Request::ListTools(cursor) => server
            .tools(&context, cursor.as_deref())
            .map(|page| listed("tools", page, |tool| tool.to_json(revision)))
            .map_err(|failure| context.error(&failure)),
        Request::CallTool { name, arguments } => {
            let outcome = call_tool(server, &context, &name, Value::Object(arguments));
            outcome.and_then(|outcome| match outcome {
                Ok(output) => Ok(output.into_json(revision)),
                Err(failure) => failed_result(&call.profile, revision, &failure, &context.request_id)
                    .ok_or_else(|| context.error(&failure)),
            })
        }
        Request::ListResources(cursor) => server
            .resources(&context, cursor.as_deref())
            .map(|page| listed("resources", page, |resource| resource.to_json("uri", revision)))
            .map_err(|failure| context.error(&failure)),
        Request::ListTemplates(cursor) => server
            .templates(&context, cursor.as_deref())
            .map(|page| {
                listed("resourceTemplates", page, |template| template.to_json("uriTemplate", revision))
            })
            .map_err(|failure| context.error(&failure)),
        Request::ReadResource(uri) => server
            .read(&context, &uri)
            .map(|contents| object([("contents", Value::Array(contents))]))
            .map_err(|failure| about_uri(context.error(&failure), &failure, &uri)),
        Request::Subscribe(uri) => server
            .check_subscription(&context, &uri)
            .map(|()| Map::new())
            .map_err(|failure| about_uri(context.error(&failure), &failure, &uri)),
        Request::ListPrompts(cursor) => server
            .prompts(&context, cursor.as_deref())
            .map(|page| listed("prompts", page, |prompt| prompt.to_json(revision)))
            .map_err(|failure| context.error(&failure)),
        Request::GetPrompt { name, arguments } => {
            get_prompt(server, &context, &name, &arguments).map_err(|failure| context.error(&failure))
        }
        Request::Complete(reference, completion) => {
            complete(server, &context, &reference, &completion).map_err(|failure| context.error(&failure))
        }
    };
    let result = result.map(|mut result| {
        if revision.is_stateless() {
            stateless::complete(&call.profile, ticket.method, &mut result);
        }
        Value::Object(result)
    });
    Answer::new(ticket.clone(), result)
}

impl Context<'_> {
    fn error(&self, failure: &Failure) -> Error {
        failure.to_error(self.revision, &self.request_id)
    }
}

fn initialize(
    server: &dyn Server,
    context: &Context<'_>,
    profile: &crate::Profile,
    revision: Revision,
) -> Map<String, Value> {
    let mut result = object([
        ("protocolVersion", json!(revision.as_str())),
        ("capabilities", profile.capabilities.to_json(revision)),
        ("serverInfo", profile.server_info(revision)),
    ]);
    insert_instructions(&mut result, server, context);
    result
}

fn discover(server: &dyn Server, context: &Context<'_>, profile: &crate::Profile) -> Map<String, Value> {
    let mut result = object([
        ("supportedVersions", json!(Revision::dates(&Revision::ALL))),
        ("capabilities", profile.capabilities.to_json(Revision::V2026_07_28)),
    ]);
    insert_instructions(&mut result, server, context);
    result
}

fn insert_instructions(result: &mut Map<String, Value>, server: &dyn Server, context: &Context<'_>) {
    if let Some(instructions) = server.instructions(context) {
        result.insert("instructions".into(), json!(instructions));
    }
}

/// The outer error is the protocol's (no such tool), the inner one the tool's own.
fn call_tool(
    server: &dyn Server,
    context: &Context<'_>,
    name: &str,
    arguments: Value,
) -> Result<Result<crate::ToolOutput, Failure>, Error> {
    let tool = match server.tool(context, name) {
        Ok(Some(tool)) => tool,
        Ok(None) => return Err(unknown_tool(server, context, name)),
        Err(failure) => return Err(context.error(&failure)),
    };
    Ok(server
        .check_arguments(context, &tool, &arguments)
        .and_then(|()| server.call_tool(context, &tool, arguments)))
}

fn unknown_tool(server: &dyn Server, context: &Context<'_>, name: &str) -> Error {
    let shown: String = name.chars().take(100).collect();
    let error = Error::new(INVALID_PARAMS, format!("Unknown tool: {shown}"));
    let known: Vec<Arc<Tool>> = server.tools(context, None).map(|page| page.items).unwrap_or_default();
    match nearest(name, known.iter().map(|tool| tool.name.as_str())) {
        Some(nearest) => error.with_data(json!({"code": "UNKNOWN_TOOL", "nearest": nearest})),
        None => error,
    }
}

fn get_prompt(
    server: &dyn Server,
    context: &Context<'_>,
    name: &str,
    arguments: &Map<String, Value>,
) -> Result<Map<String, Value>, Failure> {
    let prompt = find_prompt(server, context, name)?;
    let known: Vec<&str> = prompt.arguments.iter().map(|argument| argument.name.as_str()).collect();
    let mut errors = Vec::new();
    for argument in prompt.arguments.iter().filter(|argument| argument.required) {
        if !arguments.contains_key(&argument.name) {
            errors.push(problem(&argument.name, format!("is required ({})", argument.description)));
        }
    }
    for (name, value) in arguments {
        if !known.contains(&name.as_str()) {
            errors.push(unknown_argument(name, &known));
        } else if !value.is_string() {
            let found = crate::arguments::kind_of(value);
            errors.push(problem(name, format!("expected a string, found {found}")));
        }
    }
    if !errors.is_empty() {
        return Err(Failure::invalid_arguments(&prompt.name, errors));
    }
    let messages = server.fill_prompt(context, &prompt, arguments)?;
    let mut result = Map::new();
    if let Some(description) = &prompt.description {
        result.insert("description".into(), json!(description));
    }
    result.insert("messages".into(), Value::Array(messages));
    Ok(result)
}

fn problem(field: &str, message: String) -> FieldError {
    FieldError { field: field.to_owned(), message, allowed: Vec::new(), nearest: None }
}

fn find_prompt(server: &dyn Server, context: &Context<'_>, name: &str) -> Result<Prompt, Failure> {
    let mut cursor = None;
    let mut nearby = None;
    loop {
        let page = server.prompts(context, cursor.as_deref())?;
        nearby = nearby.or_else(|| {
            nearest(name, page.items.iter().map(|prompt| prompt.name.as_str())).map(str::to_owned)
        });
        if let Some(prompt) = page.items.into_iter().find(|prompt| prompt.name == name) {
            return Ok(prompt);
        }
        cursor = page.next_cursor;
        if cursor.is_none() {
            let shown: String = name.chars().take(100).collect();
            let mut failure = Failure::new(Kind::InvalidArguments, format!("Unknown prompt: {shown}"));
            let message = nearby.as_ref().map(|name| format!("unknown; did you mean \"{name}\"?"));
            let mut error = problem("name", message.unwrap_or_else(|| "unknown".into()));
            error.nearest = nearby;
            failure.errors.push(error);
            return Err(failure);
        }
    }
}

fn complete(
    server: &dyn Server,
    context: &Context<'_>,
    reference: &CompletionReference,
    completion: &Completion,
) -> Result<Map<String, Value>, Failure> {
    let mut values = server.complete(context, reference, completion)?;
    let total = values.len();
    values.truncate(COMPLETIONS_MAX);
    let has_more = total > values.len();
    Ok(object([("completion", json!({"values": values, "total": total, "hasMore": has_more}))]))
}

fn listed<T>(key: &str, page: Page<T>, to_json: impl Fn(&T) -> Value) -> Map<String, Value> {
    let mut result = object([(key, page.items.iter().map(to_json).collect())]);
    if let Some(cursor) = page.next_cursor {
        result.insert("nextCursor".into(), json!(cursor));
    }
    result
}

/// A resource that is not there is named in the error's data, as the protocol shows it.
fn about_uri(mut error: Error, failure: &Failure, uri: &str) -> Error {
    if let (Kind::NotFound, Some(Value::Object(data))) = (failure.kind, &mut error.data) {
        data.insert("uri".into(), json!(uri));
    }
    error
}

fn object<const N: usize>(members: [(&str, Value); N]) -> Map<String, Value> {
    members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}
