//! Entities as resources: listed, read completely, and found by template.

use mcp::{Context, Failure, FailureKind, FieldError, Page, Resource};
use ops::known;
use serde_json::{Map, Value, json};

use super::uri::{self, SCHEMES, UriProblem};
use super::{Requirements, plain};
use crate::budget::bad_cursor;

const JSON: &str = "application/json";
/// Entries of one page.
const PAGE: i64 = 100;
/// The maximal number of pages in one resource.
const PAGES_MAX: i64 = 200;

/// A page of all entities: kind by kind, project by project, sorted by number. The cursor names the last returned
/// entry, so that creates and deletes do not move the others.
//@= spexus://REQ-055
//@# 002 R4.1: resources/list returns direct resources
pub fn list(
    server: &Requirements,
    context: &Context<'_>,
    cursor: Option<&str>,
) -> Result<Page<Resource>, Failure> {
    let mut arguments = json!({ "kinds": SCHEMES.map(|(_, kind)| kind.name()), "limit": PAGE });
    if let Some(cursor) = cursor {
        arguments["after"] = json!(cursor);
    }
    let found = server.call(known::BROWSE, arguments, context).map_err(|failure| match failure.kind {
        // Nothing else in the arguments can be wrong.
        FailureKind::InvalidArguments => bad_cursor(),
        _ => failure,
    })?;
    let entries = found["data"].as_array().map(Vec::as_slice).unwrap_or_default();
    let last = entries.last().filter(|_| found["has_more"] == true);
    Ok(Page {
        items: entries.iter().map(resource).collect(),
        next_cursor: last.and_then(|entry| entry["id"].as_str()).map(str::to_owned),
    })
}

fn resource(entry: &Value) -> Resource {
    let text = |name: &str| entry[name].as_str().unwrap_or_default();
    let scheme =
        SCHEMES.iter().find(|(_, kind)| kind.name() == text("kind")).map_or("", |(scheme, _)| *scheme);
    let reference = text("reference_id");
    let title = words::cut(text("label"), 120).to_owned();
    let about = match entry["status"].as_str() {
        Some(status) => format!("{} {reference}, {status}", scheme.replace('-', " ")),
        None => format!("{} {reference}", scheme.replace('-', " ")),
    };
    Resource {
        uri: format!("{scheme}://{reference}"),
        name: format!("{reference}: {title}"),
        title: Some(title),
        description: Some(about),
        mime_type: Some(JSON.into()),
        more: Map::new(),
    }
}

/// The three templates.
//@= spexus://REQ-064
//@# 002 R5.1: resources/templates/list returns templates
pub fn templates() -> Vec<Resource> {
    let template = |uri: &str, name: &str, about: &str| Resource {
        uri: uri.into(),
        name: name.into(),
        title: None,
        description: Some(about.into()),
        mime_type: Some(JSON.into()),
        more: Map::new(),
    };
    vec![
        template(
            "epics://list?status={status}&priority={priority}",
            "epics",
            "Epics by status and priority; an empty parameter does not filter",
        ),
        template(
            "user-stories://list?epic_id={epic_id}&status={status}",
            "user-stories",
            "User stories by epic and status",
        ),
        template(
            "requirements://search?query={query}&type={type}",
            "requirements",
            "Requirements by text and type",
        ),
    ]
}

/// Reads a resource completely, as JSON.
pub fn read(server: &Requirements, context: &Context<'_>, uri: &str) -> Result<String, Failure> {
    let target = target(uri)?;
    let uri::Target { operation, is_template, .. } = target;
    let found = match target.is_list {
        true => gather(server, context, target).map(|found| found.to_string()),
        false if operation == known::GET_HIERARCHY => tree(server, context, target, uri),
        false => server.ask(operation, Value::Object(target.arguments), context),
    };
    found.map_err(|failure| about(failure, is_template, uri))
}

/// Returns whether a resource exists, reading no more of it than necessary.
pub fn check(server: &Requirements, context: &Context<'_>, uri: &str) -> Result<(), Failure> {
    let uri::Target { mut operation, mut arguments, is_list, is_template, kind } = target(uri)?;
    if is_list {
        arguments.insert("limit".into(), json!(1));
    } else if operation == known::GET_HIERARCHY {
        operation = known::GET_ENTITY;
        arguments.insert("kind".into(), json!(kind));
    }
    let found = server.ask(operation, Value::Object(arguments), context);
    found.map(drop).map_err(|failure| about(failure, is_template, uri))
}

fn target(uri: &str) -> Result<uri::Target, Failure> {
    uri::parse(uri).map_err(|problem| match problem {
        UriProblem::Unknown => not_found(uri),
        UriProblem::Parameter(name, known) => {
            let message = format!("is not a parameter of this template; known are {}", known.join(", "));
            let error = FieldError {
                allowed: known.iter().map(|name| json!(name)).collect(),
                ..FieldError::new(&name, &message)
            };
            Failure {
                errors: vec![error],
                ..Failure::new(FailureKind::InvalidArguments, format!("{name}: {message}"))
            }
        }
    })
}

/// The value in a template is an argument; any other URI names the resource.
fn about(failure: Failure, is_template: bool, uri: &str) -> Failure {
    match failure.kind {
        FailureKind::NotFound if is_template => Failure { kind: FailureKind::InvalidArguments, ..failure },
        FailureKind::InvalidArguments if !is_template => not_found(uri),
        _ => failure,
    }
}

/// The tree of one epic.
fn tree(
    server: &Requirements,
    context: &Context<'_>,
    target: uri::Target,
    uri: &str,
) -> Result<String, Failure> {
    let found = server.call(target.operation, Value::Object(target.arguments), context)?;
    let tree = &found["data"][0];
    if tree["kind"] == target.kind { Ok(tree.to_string()) } else { Err(not_found(uri)) }
}

fn gather(server: &Requirements, context: &Context<'_>, target: uri::Target) -> Result<Value, Failure> {
    let mut data = Vec::new();
    let mut total = 0;
    let mut arguments = target.arguments;
    arguments.insert("limit".into(), json!(PAGE));
    for _ in 0..PAGES_MAX {
        let mut found = plain(server.call(target.operation, Value::Object(arguments.clone()), context)?);
        total = found["total_count"].as_i64().unwrap_or_default();
        let Value::Array(items) = found["data"].take() else { break };
        data.extend(items);
        match found["next_cursor"].take() {
            Value::String(cursor) if !context.is_cancelled() => {
                arguments.insert("cursor".into(), json!(cursor))
            }
            _ => break,
        };
    }
    let mut whole = json!({ "data": data, "total_count": total });
    if data_is_empty(&whole) {
        whole["message"] = json!("nothing fits; an empty parameter does not filter");
    }
    Ok(whole)
}

fn data_is_empty(whole: &Value) -> bool {
    whole["data"].as_array().is_some_and(Vec::is_empty)
}

//@= spexus://REQ-062
//@# 002 R4.8: a resource that is not found is error -32002
fn not_found(uri: &str) -> Failure {
    Failure::new(FailureKind::NotFound, format!("Resource not found: {}", ops::shortened(uri)))
}
