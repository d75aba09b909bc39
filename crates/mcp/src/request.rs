//! The parameters of each method, validated: errors name the field.

use serde::Deserialize;
use serde_json::{Map, Value, json, value::RawValue};

use crate::{
    error::Error,
    failure::FieldError,
    id::Id,
    method::Method,
    revision::Revision,
    session::Client,
    wording::{mismatch, quoted},
};

/// A request with valid parameters.
#[derive(Clone, Debug)]
pub enum Request {
    /// `initialize`, with the negotiated revision.
    Initialize(Revision),
    /// `server/discover`
    Discover,
    /// `ping`
    Ping,
    /// `tools/list`
    ListTools(Option<String>),
    /// `tools/call`
    CallTool {
        /// The tool.
        name: String,
        /// Its arguments, not yet validated.
        arguments: Map<String, Value>,
    },
    /// `resources/list`
    ListResources {
        /// Only resources under this path, if resources are served by path.
        path: Option<String>,
        /// The start of the page.
        cursor: Option<String>,
    },
    /// `resources/templates/list`
    ListTemplates(Option<String>),
    /// `resources/read`
    ReadResource(String),
    /// `resources/subscribe`
    Subscribe(String),
    /// `resources/unsubscribe`
    Unsubscribe(String),
    /// `subscriptions/listen`, with the resources that it names
    Listen(Vec<String>),
    /// `prompts/list`
    ListPrompts(Option<String>),
    /// `prompts/get`
    GetPrompt {
        /// The prompt.
        name: String,
        /// Its arguments: strings by name.
        arguments: Map<String, Value>,
    },
    /// `completion/complete`
    Complete(CompletionReference, Completion),
}

/// What a completed argument belongs to.
#[derive(Clone, Debug, PartialEq)]
pub enum CompletionReference {
    /// A prompt, by name.
    Prompt(String),
    /// A resource template, by its URI template.
    Resource(String),
}

/// An argument to complete.
#[derive(Clone, Debug)]
pub struct Completion {
    /// Its name.
    pub name: String,
    /// The text so far.
    pub value: String,
    /// The other arguments that are already known.
    pub arguments: Map<String, Value>,
}

impl Request {
    /// Parses the parameters of a method that does not depend on the session.
    pub(crate) fn parse(method: Method, params: &mut Map<String, Value>) -> Result<Self, FieldError> {
        Ok(match method {
            Method::Ping => Self::Ping,
            Method::Discover => Self::Discover,
            Method::ListTools => Self::ListTools(cursor(params)?),
            Method::CallTool => {
                Self::CallTool { name: required_string(params, "name")?, arguments: arguments(params)? }
            }
            Method::ListResources => {
                Self::ListResources { path: optional_string(params, "path")?, cursor: cursor(params)? }
            }
            Method::ListTemplates => Self::ListTemplates(cursor(params)?),
            Method::ReadResource | Method::GetResource => Self::ReadResource(required_string(params, "uri")?),
            Method::Subscribe => Self::Subscribe(required_string(params, "uri")?),
            Method::Unsubscribe => Self::Unsubscribe(required_string(params, "uri")?),
            Method::ListPrompts => Self::ListPrompts(cursor(params)?),
            Method::GetPrompt => {
                Self::GetPrompt { name: required_string(params, "name")?, arguments: arguments(params)? }
            }
            Method::Complete => complete(params)?,
            Method::Initialize | Method::Shutdown | Method::Listen => {
                unreachable!("the session answers these itself")
            }
        })
    }
}

/// The contents of an `initialize`, before the version policy is applied.
pub(crate) fn initialize(
    params: &mut Map<String, Value>,
    has_params: bool,
) -> Result<(String, Client), Error> {
    if !params.contains_key("protocolVersion") {
        let missing = if has_params {
            FieldError::new("protocolVersion", "is required (a string)")
        } else {
            FieldError::new("params", "is required (an object with protocolVersion)")
        };
        let mut error = Error::from(missing);
        if let Some(data) = &mut error.data {
            data["code"] = json!("MALFORMED_REQUEST");
        }
        return Err(error);
    }
    let version = required_string(params, "protocolVersion")?;
    optional_object(params, "capabilities")?;
    let info = optional_object(params, "clientInfo")?;
    let text = |key: &str| info.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    Ok((version, Client { name: text("name"), version: text("version") }))
}

/// The token for progress notifications.
pub(crate) fn progress_token(
    params: &Map<String, Value>,
    raw_params: Option<&RawValue>,
) -> Result<Option<Id>, FieldError> {
    let Some(token) = params.get("_meta").and_then(|meta| meta.get("progressToken")) else {
        return Ok(None);
    };
    match token {
        Value::String(_) | Value::Number(_) => Ok(raw_params.and_then(raw_progress_token)),
        other => Err(mismatch("_meta.progressToken", "a string or an integer", other)),
    }
}

/// A token is returned byte for byte, like an id.
fn raw_progress_token(params: &RawValue) -> Option<Id> {
    #[derive(Deserialize)]
    struct Params<'a> {
        #[serde(borrow, rename = "_meta")]
        meta: Meta<'a>,
    }
    #[derive(Deserialize)]
    struct Meta<'a> {
        #[serde(borrow, rename = "progressToken")]
        progress_token: &'a RawValue,
    }
    let params: Params<'_> = serde_json::from_str(params.get()).ok()?;
    Id::parse(params.meta.progress_token)
}

/// The request that a `notifications/cancelled` names.
pub(crate) fn cancelled_id(params: &RawValue) -> Option<Id> {
    #[derive(Deserialize)]
    struct Params<'a> {
        #[serde(borrow, rename = "requestId")]
        request_id: &'a RawValue,
    }
    let params: Params<'_> = serde_json::from_str(params.get()).ok()?;
    Id::parse(params.request_id)
}

pub(crate) fn required_string(params: &mut Map<String, Value>, key: &str) -> Result<String, FieldError> {
    match params.remove(key) {
        Some(Value::String(text)) => Ok(text),
        Some(other) => Err(mismatch(key, "a string", &other)),
        None => Err(FieldError::new(key, "is required (a string)")),
    }
}

pub(crate) fn optional_object(
    params: &mut Map<String, Value>,
    key: &str,
) -> Result<Map<String, Value>, FieldError> {
    match params.remove(key) {
        Some(Value::Object(object)) => Ok(object),
        None => Ok(Map::new()),
        Some(other) => Err(mismatch(key, "an object", &other)),
    }
}

fn arguments(params: &mut Map<String, Value>) -> Result<Map<String, Value>, FieldError> {
    optional_object(params, "arguments")
}

fn cursor(params: &mut Map<String, Value>) -> Result<Option<String>, FieldError> {
    optional_string(params, "cursor")
}

fn optional_string(params: &mut Map<String, Value>, key: &str) -> Result<Option<String>, FieldError> {
    match params.remove(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(other) => Err(mismatch(key, "a string", &other)),
    }
}

/// Renames older names of members to those of the protocol, and removes a `path` that has no meaning.
pub(crate) fn rename(method: Method, params: &mut Map<String, Value>, has_paths: bool, revision: Revision) {
    let (older, name) = match method {
        Method::ListResources if !has_paths || revision.is_stateless() => {
            params.remove("path");
            return;
        }
        Method::CallTool => ("tool", "name"),
        Method::GetResource => ("path", "uri"),
        _ => return,
    };
    if has_paths
        && !params.contains_key(name)
        && let Some(value) = params.remove(older)
    {
        params.insert(name.into(), value);
    }
}

fn complete(params: &mut Map<String, Value>) -> Result<Request, FieldError> {
    let mut reference = optional_object(params, "ref")?;
    let kind = required_string(&mut reference, "type").map_err(|error| error.inside("ref"))?;
    let mut member = |key| required_string(&mut reference, key).map_err(|error| error.inside("ref"));
    let reference = match kind.as_str() {
        "ref/prompt" => CompletionReference::Prompt(member("name")?),
        "ref/resource" => CompletionReference::Resource(member("uri")?),
        other => {
            let found = quoted(other);
            let problem = format!("expected \"ref/prompt\" or \"ref/resource\", found {found}");
            return Err(FieldError::new("ref.type", problem));
        }
    };
    let mut argument = optional_object(params, "argument")?;
    let mut member = |key| required_string(&mut argument, key).map_err(|error| error.inside("argument"));
    let (name, value) = (member("name")?, member("value")?);
    let mut context = optional_object(params, "context")?;
    let arguments = optional_object(&mut context, "arguments").map_err(|error| error.inside("context"))?;
    Ok(Request::Complete(reference, Completion { name, value, arguments }))
}
