//! Checks the headers of a request, and that they agree with the message.

use axum::http::HeaderMap;
use axum::http::header::{self, HeaderName};
use axum::http::request::Parts;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mcp::{Error, Glance, Revision};
use serde_json::json;

use super::Host;
use super::reply::Refusal;

/// The headers of the protocol.
pub const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
pub const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");

const HEADER_MISMATCH: i64 = -32020;

/// The text of a header, if present. A value that is not text counts as an unexpected one.
pub fn text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name).map(|value| value.to_str().map_or("\u{fffd}", str::trim))
}

/// Rejects requests from pages of other sites, and from host names that are not ours (DNS rebinding).
pub fn check_origin(host: &dyn Host, head: &Parts) -> Result<(), Refusal> {
    let called = text(&head.headers, header::HOST).or_else(|| head.uri.authority().map(|name| name.as_str()));
    if let Some(origin) = text(&head.headers, header::ORIGIN)
        && !host.is_origin_allowed(origin, called)
    {
        return Err(Refusal::forbidden(format!("pages of {} may not ask here", mcp::shown(origin))));
    }
    match called {
        Some(name) if !host.is_host_allowed(name) => {
            Err(Refusal::forbidden(format!("{} is not a name of this server", mcp::shown(name))))
        }
        _ => Ok(()),
    }
}

/// Whether the client accepts a stream. Without `Accept` it accepts everything.
pub fn takes_stream(headers: &HeaderMap) -> bool {
    takes(headers, &["text/event-stream", "text/*"])
}

/// Whether the client accepts any of our media types.
pub fn takes_answer(headers: &HeaderMap) -> bool {
    takes_stream(headers) || takes(headers, &["application/json", "application/*"])
}

fn takes(headers: &HeaderMap, kinds: &[&str]) -> bool {
    let mut accepted =
        headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok()).peekable();
    accepted.peek().is_none()
        || accepted.flat_map(|value| value.split(',')).any(|range| {
            let kind = range.split(';').next().unwrap_or_default().trim();
            kind == "*/*" || kinds.iter().any(|taken| kind.eq_ignore_ascii_case(taken))
        })
}

/// The revision that a header names.
pub fn revision(headers: &HeaderMap) -> Result<Option<Revision>, Error> {
    let Some(value) = headers.get(VERSION) else { return Ok(None) };
    let value = value.to_str().unwrap_or_default().trim();
    Revision::parse(value).map(Some).ok_or_else(|| Error::unsupported_version(value))
}

/// Checks that headers and message of 2026-07-28 agree.
pub fn check(headers: &HeaderMap, revision: Option<Revision>, seen: &Glance) -> Result<(), Error> {
    let Some(version) = seen.version.as_deref() else { return Ok(()) };
    let is_stateless = revision.is_some_and(Revision::is_stateless);
    // In handshake revisions the message repeats nothing of the headers.
    if Revision::parse(version).is_some_and(|version| !version.is_stateless()) && !is_stateless {
        return Ok(());
    }
    match revision {
        None => return Err(missing("MCP-Protocol-Version", version)),
        Some(revision) if revision.as_str() != version => {
            return Err(mismatch("MCP-Protocol-Version", revision.as_str(), version));
        }
        Some(_) => {}
    }
    let Some(method) = seen.method.as_deref() else { return Ok(()) };
    match text(headers, METHOD) {
        None => return Err(missing("Mcp-Method", method)),
        Some(found) if found != method => return Err(mismatch("Mcp-Method", found, method)),
        Some(_) => {}
    }
    let is_named = matches!(method, "tools/call" | "resources/read" | "prompts/get");
    let Some(name) = seen.name.as_deref().filter(|_| is_named) else { return Ok(()) };
    let Some(found) = headers.get(NAME) else { return Err(missing("Mcp-Name", name)) };
    let found = String::from_utf8_lossy(found.as_bytes());
    let decoded = decode(found.trim()).ok_or_else(|| mismatch("Mcp-Name", &found, name))?;
    if decoded == name { Ok(()) } else { Err(mismatch("Mcp-Name", &decoded, name)) }
}

/// Decodes a header value.
fn decode(value: &str) -> Option<String> {
    let Some(encoded) = value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) else {
        return Some(value.to_owned());
    };
    String::from_utf8(STANDARD.decode(encoded).ok()?).ok()
}

fn missing(header: &str, value: &str) -> Error {
    header_error(header, format!("the header {header} is missing; the message says {}", mcp::shown(value)))
}

fn mismatch(header: &str, found: &str, value: &str) -> Error {
    let (found, value) = (mcp::shown(found), mcp::shown(value));
    header_error(header, format!("the header {header} says {found}, and the message {value}"))
}

fn header_error(header: &str, problem: String) -> Error {
    Error::new(HEADER_MISMATCH, format!("Header mismatch: {problem}"))
        .with_data(json!({ "code": "HEADER_MISMATCH", "header": header }))
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn names_that_no_header_can_carry_are_encoded() {
        assert_eq!(decode("create_epic").as_deref(), Some("create_epic"));
        assert_eq!(decode("=?base64?0YbQtdC70Yw=?=").as_deref(), Some("цель"));
        assert_eq!(decode("=?base64?///?="), None);
        assert_eq!(decode("=?base64?").as_deref(), Some("=?base64?"));
    }
}
