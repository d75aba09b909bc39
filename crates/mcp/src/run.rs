//! Runs a call on a server and renders the answer for its revision.

use std::{cell::Cell, sync::Arc};

use serde_json::{Map, Value, json};

use crate::{
    call::{Answer, Call},
    error::{Error, INVALID_PARAMS},
    failure::{Failure, FailureKind, FieldError},
    listed::Prompt,
    page::Page,
    profile::Profile,
    request::{Completion, CompletionReference, Request},
    revision::Revision,
    server::{Context, Instead, Progress, Server},
    stateless,
    tool::{Outcome, Tool, failed_result, text_block},
    wording::{mismatch, shown, unknown_name},
};

/// The protocol allows no more completions in an answer.
const COMPLETIONS_MAX: usize = 100;

/// Runs a call. Progress is sent through `send` while it runs; the answer goes to
/// [`Session::finish`](crate::Session::finish).
pub fn run(server: &dyn Server, call: Call, send: &dyn Fn(Vec<u8>)) -> Answer {
    let Call { ticket, request, progress_token, client_capabilities, profile } = call;
    let context = Context {
        id: &ticket.id,
        revision: ticket.revision,
        progress: Progress {
            token: progress_token.as_ref(),
            send,
            has_message: ticket.revision >= Revision::V2025_03_26,
            last: Cell::new(f64::NEG_INFINITY),
            ticket: &ticket,
        },
        ticket: &ticket,
    };
    let result = match request {
        Request::CallTool { name, arguments } => {
            let arguments = Value::Object(arguments);
            call_tool(server, &context, &profile, client_capabilities.as_ref(), &name, arguments)
        }
        Request::Listen(uris) => match server.watchable(&context, uris) {
            Ok(watched) => return Answer::listening(ticket.clone(), watched),
            Err(failure) => Err(context.error(&failure)),
        },
        Request::ReadResource(uri) => match server.read(&context, &uri) {
            Ok(contents) => Ok(contents.into_outcome()),
            Err(failure) => Err(context.error(&about_uri(failure, &uri))),
        },
        request => match answer(server, &context, &profile, request) {
            Ok(members) => Ok(members.into()),
            Err(failure) => Err(context.error(&failure)),
        },
    };
    let result = result.map(|mut result: Outcome| {
        if ticket.revision.is_stateless() {
            stateless::complete(&profile, ticket.method, &mut result);
        }
        result
    });
    Answer::new(ticket.clone(), result)
}

/// Answers requests whose result has a few members.
fn answer(
    server: &dyn Server,
    context: &Context<'_>,
    profile: &Profile,
    request: Request,
) -> Result<Map<String, Value>, Failure> {
    let revision = context.revision;
    Ok(match request {
        Request::Initialize(revision) => initialize(server, context, profile, revision),
        Request::Discover => discover(server, context, profile),
        Request::Ping | Request::Unsubscribe(_) => Map::new(),
        Request::ListTools(cursor) => {
            listed("tools", server.tools(context, cursor.as_deref())?, |tool| tool.to_json(revision))
        }
        Request::ListResources { path, cursor } => {
            let page = match path {
                Some(path) => server.resources_under(context, &path, cursor.as_deref())?,
                None => server.resources(context, cursor.as_deref())?,
            };
            listed("resources", page, |resource| resource.to_json("uri", revision))
        }
        Request::ListTemplates(cursor) => {
            let page = server.templates(context, cursor.as_deref())?;
            listed("resourceTemplates", page, |template| template.to_json("uriTemplate", revision))
        }
        Request::Subscribe(uri) => {
            server.check_subscription(context, &uri).map_err(|failure| about_uri(failure, &uri))?;
            Map::new()
        }
        Request::ListPrompts(cursor) => {
            listed("prompts", server.prompts(context, cursor.as_deref())?, |prompt| prompt.to_json(revision))
        }
        Request::GetPrompt { name, arguments } => get_prompt(server, context, &name, &arguments)?,
        Request::Complete(reference, completion) => complete(server, context, &reference, &completion)?,
        Request::CallTool { .. } | Request::ReadResource(_) | Request::Listen(_) => {
            unreachable!("run() answers these by itself")
        }
    })
}

impl Context<'_> {
    fn error(&self, failure: &Failure) -> Error {
        failure.to_error(self.revision, &self.request_id())
    }
}

fn initialize(
    server: &dyn Server,
    context: &Context<'_>,
    profile: &Profile,
    revision: Revision,
) -> Map<String, Value> {
    let mut result = object([
        ("protocolVersion", json!(revision.as_str())),
        ("capabilities", profile.capabilities.to_json(revision)),
        ("serverInfo", json!(profile.server_info(revision))),
    ]);
    insert_instructions(&mut result, server, context);
    result
}

fn discover(server: &dyn Server, context: &Context<'_>, profile: &Profile) -> Map<String, Value> {
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

/// An unknown tool is a protocol error. A failure of a tool is reported as the profile says.
fn call_tool(
    server: &dyn Server,
    context: &Context<'_>,
    profile: &Profile,
    client_capabilities: Option<&Map<String, Value>>,
    name: &str,
    mut arguments: Value,
) -> Result<Outcome, Error> {
    let tool = match find_tool(server, context, name) {
        Ok(Some(tool)) => tool,
        Ok(None) => return Err(unknown_tool(server, context, name, &arguments)),
        Err(failure) => return failed(context, profile, &failure),
    };
    if let Some(declared) = client_capabilities {
        let missing: Vec<&String> =
            tool.requires.iter().filter(|name| !declared.contains_key(*name)).collect();
        if !missing.is_empty() {
            return Err(Error::missing_capability(&missing));
        }
    }
    let notes =
        if server.is_literal() { Vec::new() } else { server.normalise(context, &tool, &mut arguments) };
    let outcome = server
        .check_arguments(context, &tool, &arguments)
        .and_then(|()| server.call_tool(context, &tool, arguments));
    match outcome {
        Ok(mut output) => {
            output.content.extend(notes.iter().map(|note| text_block(note)));
            Ok(output.into_outcome(context.revision, tool.output_schema.is_some()))
        }
        Err(failure) => failed(context, profile, &failure),
    }
}

/// A failure of a tool as the revision represents it, whether the tool failed or was not found.
fn failed(context: &Context<'_>, profile: &Profile, failure: &Failure) -> Result<Outcome, Error> {
    let result = failed_result(profile, context.revision, failure, &context.request_id());
    result.map(Outcome::from).ok_or_else(|| context.error(failure))
}

/// Finds a tool by its name, also if a host has prefixed the name, or a model has spelled it differently:
/// `mcp__spexus__get_entity`, `getEntity`, `get-entity`.
fn find_tool(server: &dyn Server, context: &Context<'_>, name: &str) -> Result<Option<Arc<Tool>>, Failure> {
    let found = server.tool(context, name)?;
    if found.is_some() || server.is_literal() {
        return Ok(found);
    }
    let own = name.strip_prefix("mcp__").and_then(|rest| rest.split_once("__")).map_or(name, |(_, own)| own);
    let plain = nearest::plain(own);
    if plain == name { Ok(None) } else { server.tool(context, &plain) }
}

fn unknown_tool(server: &dyn Server, context: &Context<'_>, name: &str, arguments: &Value) -> Error {
    let message = format!("Unknown tool: {}", shown(name));
    let Some(Instead { tool, advice }) = server.instead_of(context, name, arguments) else {
        return Error::new(INVALID_PARAMS, message);
    };
    let data = match tool {
        Some(tool) => json!({"code": "UNKNOWN_TOOL", "nearest": tool}),
        None => json!({"code": "UNKNOWN_TOOL"}),
    };
    let message = if server.is_literal() { message } else { format!("{message}; {advice}") };
    Error::new(INVALID_PARAMS, message).with_data(data)
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
            let message = format!("is required ({})", argument.description);
            errors.push(FieldError::new(&argument.name, message));
        }
    }
    for (name, value) in arguments {
        if !known.contains(&name.as_str()) {
            errors.push(unknown_name(name, &known));
        } else if !value.is_string() {
            errors.push(mismatch(name, "a string", value));
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

fn find_prompt(server: &dyn Server, context: &Context<'_>, name: &str) -> Result<Prompt, Failure> {
    let mut cursor = None;
    let mut nearby = None;
    loop {
        let page = server.prompts(context, cursor.as_deref())?;
        nearby = nearby.or_else(|| {
            nearest::nearest(name, page.items.iter().map(|prompt| prompt.name.as_str())).map(str::to_owned)
        });
        if let Some(prompt) = page.items.into_iter().find(|prompt| prompt.name == name) {
            return Ok(prompt);
        }
        cursor = page.next_cursor;
        if cursor.is_none() {
            let message = match &nearby {
                Some(name) => format!("unknown; did you mean \"{name}\"?"),
                None => "unknown".into(),
            };
            let advice = message.trim_start_matches("unknown");
            let mut failure = Failure::new(
                FailureKind::InvalidArguments,
                format!("Unknown prompt: {}{advice}", shown(name)),
            );
            failure.errors.push(FieldError { nearest: nearby, ..FieldError::new("name", message) });
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
    if let CompletionReference::Prompt(name) = reference {
        find_prompt(server, context, name)?;
    }
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

/// The data of the error names the missing resource, as the protocol shows it.
fn about_uri(mut failure: Failure, uri: &str) -> Failure {
    if failure.kind == FailureKind::NotFound {
        failure.details.push(("uri".into(), json!(uri)));
    }
    failure
}

fn object<const N: usize>(members: [(&str, Value); N]) -> Map<String, Value> {
    members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}
