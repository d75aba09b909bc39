//! 2026-07-28: a request that carries its revision in `_meta` and depends on no earlier request.

use serde_json::{Map, Value, json};

use crate::{
    error::Error,
    failure::FieldError,
    method::Method,
    profile::Profile,
    revision::{Era, Revision},
    tool::Outcome,
    wording::mismatch,
};

pub(crate) const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
pub(crate) const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

/// Parses `_meta`. An unsupported revision, or a missing member, is an error.
pub(crate) fn era_of(params: &Map<String, Value>) -> Result<Era, Error> {
    let Some(meta) = params.get("_meta") else { return Ok(Era::Handshake) };
    let Value::Object(meta) = meta else { return Err(mismatch("_meta", "an object", meta).into()) };
    let version = match meta.get(PROTOCOL_VERSION) {
        None => return Ok(Era::Handshake),
        Some(Value::String(version)) => version,
        Some(other) => return Err(mismatch(&field(PROTOCOL_VERSION), "a string", other).into()),
    };
    match Revision::parse(version) {
        None => Err(Error::unsupported_version(version)),
        Some(revision) if revision.is_stateless() => {
            check(meta)?;
            Ok(Era::Stateless)
        }
        // A handshake revision in `_meta` adds nothing to the handshake.
        Some(_) => Ok(Era::Handshake),
    }
}

/// Takes the client's capabilities out of a parsed request.
pub(crate) fn client_capabilities(params: &mut Map<String, Value>) -> Option<Map<String, Value>> {
    match params.get_mut("_meta")?.get_mut(CLIENT_CAPABILITIES)?.take() {
        Value::Object(capabilities) => Some(capabilities),
        _ => None,
    }
}

/// The error for a method that exists only in 2026-07-28 if `_meta` does not name that revision.
pub(crate) fn missing_version(params: &Map<String, Value>) -> Error {
    let error = match params.get("_meta").and_then(|meta| meta.get(PROTOCOL_VERSION)) {
        Some(other) => mismatch(&field(PROTOCOL_VERSION), "\"2026-07-28\"", other),
        None => FieldError::new(field(PROTOCOL_VERSION), "is required (\"2026-07-28\")"),
    };
    error.into()
}

fn check(meta: &Map<String, Value>) -> Result<(), FieldError> {
    match meta.get(CLIENT_CAPABILITIES) {
        Some(Value::Object(_)) => {}
        Some(other) => return Err(mismatch(&field(CLIENT_CAPABILITIES), "an object", other)),
        None => return Err(FieldError::new(field(CLIENT_CAPABILITIES), "is required (an object)")),
    }
    match meta.get(CLIENT_INFO) {
        None | Some(Value::Object(_)) => Ok(()),
        Some(other) => Err(mismatch(&field(CLIENT_INFO), "an object", other)),
    }
}

fn field(key: &str) -> String {
    format!("_meta[\"{key}\"]")
}

/// Adds the members that every result of this revision has.
pub(crate) fn complete(profile: &Profile, method: Method, outcome: &mut Outcome) {
    outcome.more.json("resultType", &["\"complete\""]);
    if method.is_cacheable() {
        profile.cache.write_to(&mut outcome.more);
    }
    let info = profile.server_info(Revision::V2026_07_28);
    match outcome.members.get_mut("_meta") {
        Some(meta) => meta[SERVER_INFO] = json!(info),
        None => {
            let info = serde_json::to_string(&info).expect("texts always serialize");
            outcome.more.json("_meta", &["{\"", SERVER_INFO, "\":", &info, "}"]);
        }
    }
}
