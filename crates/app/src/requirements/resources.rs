//! Entities as resources: listed one by one, read whole, and found by template.

use mcp::{Context, Failure, FieldError, Kind, Page, Resource};
use serde_json::{Map, Value, json};

use super::Requirements;
use super::uri::{self, Problem, SCHEMES};

const JSON: &str = "application/json";
/// Entries of one page.
const PAGE: i64 = 100;
/// Pages that are gathered for one resource.
const PAGES_MAX: i64 = 200;

/// A page of all entities: kind after kind, each by number, so that new ones do not move the others.
pub fn list(
    server: &Requirements,
    context: &Context<'_>,
    cursor: Option<&str>,
) -> Result<Page<Resource>, Failure> {
    let (mut place, mut offset) = match cursor {
        None => (0, 0),
        Some(cursor) => position(cursor).ok_or_else(|| {
            let problem = "not a cursor of this list; leave it out to start from the beginning";
            let errors = vec![FieldError::new("cursor", problem)];
            Failure { errors, ..Failure::new(Kind::InvalidArguments, format!("cursor: {problem}")) }
        })?,
    };
    let mut items = Vec::new();
    while let Some((scheme, kind)) = SCHEMES.get(place) {
        let wanted = PAGE - items.len() as i64;
        if wanted == 0 {
            return Ok(Page { items, next_cursor: Some(format!("{place}.{offset}")) });
        }
        let page = match kind {
            store::model::Kind::Prompt => {
                server.call("list_prompts", json!({ "limit": wanted, "offset": offset }), context)?
            }
            kind => {
                let arguments = json!({ "kind": kind.name(), "limit": wanted, "offset": offset });
                server.call("list_entities", arguments, context)?
            }
        };
        let found: Vec<Resource> =
            page["data"].as_array().into_iter().flatten().map(|item| resource(scheme, item)).collect();
        offset += found.len() as i64;
        items.extend(found);
        if offset >= page["total_count"].as_i64().unwrap_or_default() {
            (place, offset) = (place + 1, 0);
        }
    }
    Ok(Page { items, next_cursor: None })
}

fn position(cursor: &str) -> Option<(usize, i64)> {
    let (place, offset) = cursor.split_once('.')?;
    let (place, offset) = (place.parse().ok()?, offset.parse().ok()?);
    (place < SCHEMES.len() && offset >= 0).then_some((place, offset))
}

fn resource(scheme: &str, item: &Value) -> Resource {
    let text = |name: &str| item[name].as_str().unwrap_or_default();
    let reference = text("reference_id");
    let title = if text("title").is_empty() { text("description") } else { text("title") };
    let title: String = words::cut(title, 120).to_owned();
    let about = match item["status"].as_str() {
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

/// The three families of resources.
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
            "Epics by status and priority; an empty parameter is no filter",
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

/// Reads a resource whole.
pub fn read(server: &Requirements, context: &Context<'_>, uri: &str) -> Result<Value, Failure> {
    let target = uri::parse(uri).map_err(|problem| match problem {
        Problem::Unknown => not_found(uri),
        Problem::Parameter(name, known) => {
            let message = format!("is no parameter of this template; known are {}", known.join(", "));
            let error = FieldError {
                allowed: known.iter().map(|name| json!(name)).collect(),
                ..FieldError::new(&name, &message)
            };
            Failure {
                errors: vec![error],
                ..Failure::new(Kind::InvalidArguments, format!("{name}: {message}"))
            }
        }
    })?;
    if !target.is_list {
        let value = server.call(target.operation, Value::Object(target.arguments), context)?;
        // The tree of one epic is that epic with what is below it.
        return Ok(if target.operation == "get_hierarchy" { value["data"][0].clone() } else { value });
    }
    gather(server, context, target)
}

fn gather(server: &Requirements, context: &Context<'_>, target: uri::Target) -> Result<Value, Failure> {
    let mut data = Vec::new();
    let mut total = 0;
    for page in 0..PAGES_MAX {
        let mut arguments = target.arguments.clone();
        arguments.insert("limit".into(), json!(PAGE));
        arguments.insert("offset".into(), json!(page * PAGE));
        let mut found = server.call(target.operation, Value::Object(arguments), context)?;
        total = found["total_count"].as_i64().unwrap_or_default();
        let Value::Array(items) = found["data"].take() else { break };
        let last = items.len() < PAGE as usize;
        data.extend(items);
        if last || context.is_cancelled() {
            break;
        }
    }
    let mut whole = json!({ "data": data, "total_count": total });
    if data_is_empty(&whole) {
        whole["message"] = json!("nothing fits; an empty parameter is no filter");
    }
    Ok(whole)
}

fn data_is_empty(whole: &Value) -> bool {
    whole["data"].as_array().is_some_and(Vec::is_empty)
}

fn not_found(uri: &str) -> Failure {
    let details = vec![("uri".to_owned(), json!(uri))];
    Failure {
        details,
        ..Failure::new(Kind::NotFound, format!("Resource not found: {}", ops::shortened(uri)))
    }
}
