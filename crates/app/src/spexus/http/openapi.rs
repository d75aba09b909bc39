//! The OpenAPI 3.1 description, made from the list of operations.

use std::sync::LazyLock;

use axum::body::Body;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::Response;
use ops::{Arguments, Effect, Entry, Method, Route};
use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::answer;
use super::request::request_id;

static DOCUMENT: LazyLock<String> = LazyLock::new(|| document().to_string());

/// `GET /api/v1/openapi.json`.
pub async fn serve(request: Request) -> Response<Body> {
    answer::json(StatusCode::OK, DOCUMENT.clone(), &request_id(request.headers()))
}

/// The whole description.
pub fn document() -> Value {
    let settings = SchemaSettings::draft2020_12()
        .with(|settings| settings.definitions_path = "/components/schemas".into());
    let mut generator = settings.for_serialize().into_generator();
    let mut paths = Map::new();
    for entry in ops::OPERATIONS {
        for (index, route) in entry.routes.iter().enumerate() {
            let described = describe(entry, route, index, &mut generator);
            let path = paths.entry(format!("/api/v1{}", route.path)).or_insert_with(|| json!({}));
            path[route.method.name().to_lowercase()] = described;
        }
    }
    // Routes of one path may call their parameters differently; a description has one name for each place.
    let mut paths = unify(paths);
    let mut schemas: Map<String, Value> = generator.take_definitions(true);
    schemas.insert("Error".to_owned(), error_schema());
    paths.insert("/api/v1/events".to_owned(), events());
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Spexus",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Requirements management: epics, user stories, acceptance criteria and requirements, their \
                            history and relations. Every id may be a UUID or a reference id such as `REQ-012`. \
                            Within v1, answers may gain fields; arguments never lose one.",
            "license": { "name": "MIT OR Apache-2.0" }
        },
        "servers": [{ "url": "/" }],
        "security": [{ "token": [] }, { "session": [] }],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "token": { "type": "http", "scheme": "bearer", "description": "A personal access token, `mcp_pat_…`" },
                "session": {
                    "type": "apiKey", "in": "cookie", "name": super::session::COOKIE,
                    "description": format!("The cookie of a login; over HTTPS it is named `{}`", super::session::SECURE_COOKIE)
                }
            },
            "responses": errors().into_iter().map(|(status, text)| (format!("Error{status}"), error_response(text))).collect::<Map<_, _>>(),
            "schemas": schemas
        }
    })
}

fn describe(entry: &Entry, route: &Route, index: usize, generator: &mut SchemaGenerator) -> Value {
    let arguments = Arguments::new(entry.input_schema());
    let in_path: Vec<&str> = route.parameters().collect();
    let is_free = |name: &str| !in_path.contains(&name) && route.takes(name);
    let has_body = matches!(route.method, Method::Post | Method::Put | Method::Patch);
    let mut parameters: Vec<Value> = in_path.iter().map(|name| parameter(&arguments, name, "path")).collect();
    let free: Vec<&str> = arguments.properties().map(|(name, _)| name).filter(|name| is_free(name)).collect();
    if !has_body {
        parameters.extend(free.iter().map(|name| parameter(&arguments, name, "query")));
    }
    if arguments.property("expected_version").is_some() {
        parameters
            .push(header("If-Match", "The ETag of the answer that the change is based on, such as `\"3\"`."));
    }
    if entry.takes_key() {
        parameters.push(header("Idempotency-Key", "Makes the same request sent twice happen once."));
    }
    let id = if index == 0 { entry.name.to_owned() } else { format!("{}_{}", entry.name, slug(route.path)) };
    let mut described = json!({
        "operationId": id,
        "tags": [route.path.split('/').nth(1).unwrap_or_default()],
        "summary": entry.summary(),
        "description": entry.documentation(),
        "parameters": parameters,
        "responses": responses(entry, route, generator),
    });
    if entry.effect == Effect::Public {
        described["security"] = json!([]);
    }
    if has_body && !free.is_empty() {
        let required = free.iter().any(|name| arguments.is_required(name));
        described["requestBody"] = json!({
            "required": required,
            "content": { "application/json": { "schema": body_schema(&arguments, &free) } }
        });
    }
    described
}

fn slug(path: &str) -> String {
    let words = path.split('/').filter(|part| !part.is_empty() && !part.starts_with('{'));
    words.collect::<Vec<_>>().join("_").replace('-', "_")
}

fn parameter(arguments: &Arguments, name: &str, place: &str) -> Value {
    let schema = arguments.property(name).cloned().unwrap_or_default();
    let description = schema.get("description").cloned().unwrap_or_default();
    json!({
        "name": name,
        "in": place,
        "required": place == "path" || arguments.is_required(name),
        "description": description,
        "schema": as_text(schema),
    })
}

/// The schema of an argument that comes as text, where null has no form.
fn as_text(mut schema: Value) -> Value {
    if let Some(object) = schema.as_object_mut() {
        object.shift_remove("description");
        object.shift_remove("default");
        if let Some(Value::Array(types)) = object.get_mut("type") {
            types.retain(|name| name != "null");
            if let [only] = types.as_slice() {
                let only = only.clone();
                object.insert("type".to_owned(), only);
            }
        }
        if let Some(Value::Array(alternatives)) = object.shift_remove("anyOf") {
            let mut kept: Vec<Value> = alternatives.into_iter().filter(|one| one["type"] != "null").collect();
            if kept.len() == 1 {
                return as_text(kept.remove(0));
            }
            object.insert("anyOf".to_owned(), Value::Array(kept));
        }
        if let Some(Value::Array(values)) = object.get_mut("enum") {
            values.retain(|value| !value.is_null());
        }
    }
    schema
}

fn header(name: &str, description: &str) -> Value {
    let pattern = if name == "If-Match" { "^\"[1-9][0-9]{0,9}\"$" } else { "^[!-~]{1,255}$" };
    json!({
        "name": name, "in": "header", "required": false, "description": description,
        "schema": { "type": "string", "pattern": pattern }
    })
}

fn body_schema(arguments: &Arguments, free: &[&str]) -> Value {
    let mut schema = arguments.schema().clone();
    if let Some(object) = schema.as_object_mut() {
        for name in ["$schema", "title", "description"] {
            object.shift_remove(name);
        }
        if let Some(properties) = object.get_mut("properties").and_then(Value::as_object_mut) {
            properties.retain(|name, _| free.contains(&name.as_str()));
        }
        if let Some(required) = object.get_mut("required").and_then(Value::as_array_mut) {
            required.retain(|name| name.as_str().is_some_and(|name| free.contains(&name)));
        }
    }
    schema
}

fn responses(entry: &Entry, route: &Route, generator: &mut SchemaGenerator) -> Value {
    let schema = entry.output_schema_with(generator).to_value();
    let mut content = json!({ "application/json": { "schema": schema } });
    if entry.answers_file {
        content = json!({});
        for format in ["json", "csv", "markdown", "reqif", "html"] {
            let kind = super::file::content_type(format).split(';').next().unwrap_or_default();
            content[kind] = json!({ "schema": {} });
        }
    }
    let mut responses = Map::new();
    responses.insert(route.status.to_string(), json!({ "description": "Done", "content": content }));
    for status in likely_errors(entry, route) {
        responses
            .insert(status.to_owned(), json!({ "$ref": format!("#/components/responses/Error{status}") }));
    }
    Value::Object(responses)
}

/// The statuses of errors that say something about an operation; ranges stand for what any request may meet.
fn likely_errors(entry: &Entry, route: &Route) -> Vec<&'static str> {
    let mut statuses = vec!["400"];
    if entry.effect != Effect::Public {
        statuses.extend(["401", "403"]);
    }
    if route.parameters().next().is_some() {
        statuses.push("404");
    }
    if entry.writes() {
        statuses.push("409");
    }
    statuses.extend(["4XX", "5XX"]);
    statuses
}

/// What the statuses of errors mean.
fn errors() -> [(&'static str, &'static str); 7] {
    [
        ("400", "The arguments or the request are wrong; `details` names every field"),
        ("401", "No token, or one that is malformed, unknown, expired or revoked"),
        ("403", "The role or the token's scopes do not allow it"),
        ("404", "There is no such thing, or it was deleted (`deleted_at`)"),
        ("409", "The state does not allow it, or the version is another one (`current`)"),
        (
            "4XX",
            "413: too large, 415: not JSON, 422: the Idempotency-Key was used with another request, 429: too often",
        ),
        (
            "5XX",
            "500: a mistake of the server's, in the log under the request id, 503: the store is away, 504: it took too long",
        ),
    ]
}

fn error_response(text: &str) -> Value {
    json!({
        "description": text,
        "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Error" } } }
    })
}

fn error_schema() -> Value {
    json!({
        "type": "object",
        "required": ["error"],
        "properties": { "error": {
            "type": "object",
            "required": ["code", "message", "details", "request_id"],
            "properties": {
                "code": { "type": "string" },
                "message": { "type": "string" },
                "details": { "type": "array", "items": {
                    "type": "object",
                    "required": ["field", "message"],
                    "properties": {
                        "field": { "type": "string" },
                        "message": { "type": "string" },
                        "allowed": { "type": "array", "items": { "type": "string" } }
                    }
                } },
                "request_id": { "type": "string" }
            }
        } }
    })
}

/// Gives the parameters of one path the same names for all its methods.
fn unify(paths: Map<String, Value>) -> Map<String, Value> {
    let shape = |path: &str| -> String {
        path.split('/')
            .map(|part| if part.starts_with('{') { "{}" } else { part })
            .collect::<Vec<_>>()
            .join("/")
    };
    let mut unified: Map<String, Value> = Map::new();
    for (path, methods) in paths {
        let known = unified.keys().find(|known| shape(known) == shape(&path)).cloned();
        let Some(known) = known.filter(|known| *known != path) else {
            unified.insert(path, methods);
            continue;
        };
        let names = path.split('/').zip(known.split('/'));
        let renamed: Vec<(String, String)> = names
            .filter(|(old, new)| old != new)
            .map(|(old, new)| {
                (old.trim_matches(['{', '}']).to_owned(), new.trim_matches(['{', '}']).to_owned())
            })
            .collect();
        for (method, mut described) in methods.as_object().cloned().unwrap_or_default() {
            for parameter in described["parameters"].as_array_mut().into_iter().flatten() {
                let new = renamed
                    .iter()
                    .find(|(old, _)| parameter["in"] == "path" && parameter["name"] == old.as_str());
                if let Some((_, new)) = new {
                    parameter["name"] = json!(new);
                }
            }
            unified[&known][method] = described;
        }
    }
    unified
}

fn events() -> Value {
    json!({ "get": {
        "operationId": "events",
        "tags": ["events"],
        "summary": "Changes as they happen, as server-sent events.",
        "description": "Each event `change` carries the kind, id, reference id, version and operation. After `Last-Event-ID` or \
                        `after` it goes on where a stream was cut; `reset` says that changes were missed and everything \
                        must be read anew.",
        "parameters": [
            { "name": "after", "in": "query", "required": false, "schema": { "type": "integer", "minimum": 0 },
              "description": "The id of the last event that was seen." }
        ],
        "responses": {
            "200": { "description": "The stream", "content": { "text/event-stream": { "schema": { "type": "string" } } } },
            "400": { "$ref": "#/components/responses/Error400" },
            "401": { "$ref": "#/components/responses/Error401" },
            "403": { "$ref": "#/components/responses/Error403" },
            "5XX": { "$ref": "#/components/responses/Error5XX" }
        }
    } })
}
