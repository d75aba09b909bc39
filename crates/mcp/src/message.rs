//! Parses messages: any bytes give messages or an error to send, never a panic.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::{Map, Value, value::RawValue};

use crate::{
    error::{Error, INVALID_PARAMS, INVALID_REQUEST, PARSE_ERROR},
    id::{ID_BYTES_MAX, Id},
    values::{VALUES_MAX, ValueCounter},
};

/// The largest accepted message.
pub const MESSAGE_BYTES_MAX: usize = 10 * 1024 * 1024;

/// The largest number of messages in a batch.
const BATCH_MESSAGES_MAX: usize = 1_000;

/// The answer to a message over [`MESSAGE_BYTES_MAX`], whose bytes a transport need not keep.
pub fn too_large() -> Vec<u8> {
    let message = format!("Message too large (limit {MESSAGE_BYTES_MAX} bytes)");
    crate::error::error_bytes(None, &Error::new(INVALID_REQUEST, message))
}

/// The error for a message with more than [`VALUES_MAX`] values.
pub fn too_many_values() -> Error {
    Error::new(INVALID_REQUEST, format!("Message too large (limit {VALUES_MAX} JSON values)"))
}

/// One request or notification.
#[derive(Debug)]
pub(crate) struct Message<'a> {
    /// Absent in a notification.
    pub id: Option<Id>,
    pub method: String,
    /// A notification with invalid parameters is still a notification, and never answered.
    pub params: Result<Map<String, Value>, Error>,
    /// The parameters as received, for ids in them that are returned byte for byte.
    pub raw_params: Option<&'a RawValue>,
}

/// An invalid message, with the id if it could be read.
#[derive(Debug)]
pub(crate) struct Rejection {
    pub id: Option<Id>,
    pub error: Error,
}

#[derive(Debug)]
pub(crate) enum Incoming<'a> {
    One(Message<'a>),
    Batch(Vec<Result<Message<'a>, Rejection>>),
}

/// Parses the contents of one line or one HTTP body.
pub(crate) fn parse(bytes: &[u8]) -> Result<Incoming<'_>, Rejection> {
    let text = str::from_utf8(bytes)
        .map_err(|error| parse_error(format!("invalid UTF-8 at byte {}", error.valid_up_to())))?;
    match text.trim_ascii_start().as_bytes().first() {
        Some(b'{') => Ok(Incoming::One(parse_object(text)?)),
        Some(b'[') => parse_batch(text),
        _ => match serde_json::from_str::<&RawValue>(text) {
            Ok(_) => Err(invalid_request(None, "expected a JSON object")),
            Err(error) => Err(parse_error(error)),
        },
    }
}

fn parse_batch(text: &str) -> Result<Incoming<'_>, Rejection> {
    if !ValueCounter::default().add(text.as_bytes()) {
        return Err(Rejection { id: None, error: too_many_values() });
    }
    let items: Vec<&RawValue> = serde_json::from_str(text).map_err(parse_error)?;
    if items.is_empty() {
        return Err(invalid_request(None, "the batch is empty"));
    }
    if items.len() > BATCH_MESSAGES_MAX {
        let problem = format!("a batch holds at most {BATCH_MESSAGES_MAX} messages, found {}", items.len());
        return Err(invalid_request(None, problem));
    }
    Ok(Incoming::Batch(items.into_iter().map(parse_item).collect()))
}

fn parse_item(item: &RawValue) -> Result<Message<'_>, Rejection> {
    match item.get().as_bytes().first() {
        Some(b'{') => parse_object(item.get()),
        _ => Err(invalid_request(None, "expected a JSON object")),
    }
}

fn parse_object(text: &str) -> Result<Message<'_>, Rejection> {
    let envelope: Envelope = serde_json::from_str(text).map_err(parse_error)?;
    let id = envelope.id.and_then(Id::parse);
    let reject = |problem: String| invalid_request(id.clone(), problem);

    if let Some(member) = envelope.repeated {
        // With two ids, neither can be trusted.
        let id = id.filter(|_| !envelope.has_two_ids);
        return Err(invalid_request(id, format!("\"{member}\" appears twice")));
    }
    if envelope.id.is_some() && id.is_none() {
        return Err(reject(format!("\"id\" must be a string or a number of at most {ID_BYTES_MAX} bytes")));
    }
    match envelope.jsonrpc.map(string) {
        Some(Some(version)) if version == "2.0" => {}
        Some(_) => return Err(reject("\"jsonrpc\" must be \"2.0\"".into())),
        None => return Err(reject("\"jsonrpc\": \"2.0\" is missing".into())),
    }
    let Some(method) = envelope.method else {
        let problem = if envelope.is_response {
            "this server sends no requests, so it expects no responses"
        } else {
            "\"method\" is missing"
        };
        return Err(reject(problem.into()));
    };
    let Some(method) = string(method) else {
        return Err(reject("\"method\" must be a string".into()));
    };
    Ok(Message { id, method, params: parse_params(envelope.params), raw_params: envelope.params })
}

fn parse_params(raw: Option<&RawValue>) -> Result<Map<String, Value>, Error> {
    let Some(text) = raw.map(RawValue::get).filter(|text| *text != "null") else {
        return Ok(Map::new());
    };
    if !text.starts_with('{') {
        return Err(Error::new(INVALID_PARAMS, "Invalid params: expected an object"));
    }
    // So far only slices of the text were kept.
    if !ValueCounter::default().add(text.as_bytes()) {
        return Err(too_many_values());
    }
    serde_json::from_str(text).map_err(|error| {
        let problem = error.to_string();
        if problem.starts_with("recursion limit exceeded") {
            Error::new(INVALID_REQUEST, "Invalid Request: nested deeper than 128 levels")
        } else {
            // Valid JSON that cannot be represented: a number beyond the range of floats, half a surrogate pair.
            Error::new(INVALID_PARAMS, format!("Invalid params: {problem}"))
        }
    })
}

fn string(raw: &RawValue) -> Option<String> {
    serde_json::from_str(raw.get()).ok()
}

fn parse_error(problem: impl fmt::Display) -> Rejection {
    Rejection { id: None, error: Error::new(PARSE_ERROR, format!("Parse error: {problem}")) }
}

fn invalid_request(id: Option<Id>, problem: impl fmt::Display) -> Rejection {
    Rejection { id, error: Error::new(INVALID_REQUEST, format!("Invalid Request: {problem}")) }
}

/// The unparsed members of a message. Written by hand because a derived implementation would
/// reject a duplicate member as invalid JSON, and could not return the id of the message.
#[derive(Default)]
struct Envelope<'a> {
    jsonrpc: Option<&'a RawValue>,
    id: Option<&'a RawValue>,
    method: Option<&'a RawValue>,
    params: Option<&'a RawValue>,
    is_response: bool,
    repeated: Option<&'static str>,
    has_two_ids: bool,
}

impl<'de: 'a, 'a> Deserialize<'de> for Envelope<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(EnvelopeVisitor)
    }
}

struct EnvelopeVisitor;

impl<'de> Visitor<'de> for EnvelopeVisitor {
    type Value = Envelope<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut envelope = Envelope::default();
        while let Some(member) = map.next_key::<Member>()? {
            let value: &RawValue = map.next_value()?;
            let (slot, name) = match member {
                Member::Jsonrpc => (&mut envelope.jsonrpc, "jsonrpc"),
                Member::Id => (&mut envelope.id, "id"),
                Member::Method => (&mut envelope.method, "method"),
                Member::Params => (&mut envelope.params, "params"),
                Member::Result | Member::Error => {
                    envelope.is_response = true;
                    continue;
                }
                Member::Other => continue,
            };
            if slot.replace(value).is_some() {
                envelope.repeated = Some(name);
                envelope.has_two_ids |= name == "id";
            }
        }
        Ok(envelope)
    }
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "lowercase")]
enum Member {
    Jsonrpc,
    Id,
    Method,
    Params,
    Result,
    Error,
    #[serde(other)]
    Other,
}
