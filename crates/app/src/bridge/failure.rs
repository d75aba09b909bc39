//! Maps errors of the server to kinds, which the core renders for the host's revision.

use mcp::{ERROR_META, Failure, FailureKind, FieldError};
use serde_json::{Map, Value, json};

use crate::logging::without_secrets;

/// A JSON-RPC error, and its status.
//@= spexus://REQ-080
//@# 002 R6.9: validation errors of the backend are mapped
pub fn from_error(status: u16, error: &Value) -> Failure {
    let message = error["message"].as_str().unwrap_or("the server gave no reason");
    let by_code = || error["code"].as_i64().and_then(of_code);
    let kind =
        named(&error["data"]).or_else(|| of_status(status)).or_else(by_code).unwrap_or(FailureKind::Other);
    with_data(kind, message, &error["data"])
}

/// The result of a failed tool.
pub fn from_result(result: &Map<String, Value>) -> Failure {
    let texts = result.get("content").and_then(Value::as_array).into_iter().flatten();
    let texts: Vec<&str> = texts.filter_map(|block| block["text"].as_str()).collect();
    let message =
        if texts.is_empty() { "the tool failed and gave no reason".into() } else { texts.join("\n") };
    let data = result.get("_meta").and_then(|meta| meta.get(ERROR_META));
    let data = data.or_else(|| result.get("structuredContent")).unwrap_or(&Value::Null);
    with_data(named(data).unwrap_or(FailureKind::Other), &message, data)
}

/// A status without a JSON-RPC answer: from a proxy or another program. `content_type` is the type of its
/// body.
pub fn from_status(status: u16, url: &str, content_type: &str) -> Failure {
    let (kind, message) = match status {
        200..=299 => {
            let found = match content_type.split(';').next().unwrap_or_default().trim() {
                "" => "something without a type".to_owned(),
                "text/html" => "a web page (text/html)".to_owned(),
                "application/json" => "JSON that is not an answer".to_owned(),
                other => mcp::shown(other),
            };
            let message = format!("{url} is no Spexus server: found {found}: check BACKEND_API_URL");
            (FailureKind::Unavailable, message)
        }
        401 => (FailureKind::Unauthenticated, "the token was not accepted".into()),
        403 => (FailureKind::Forbidden, format!("{url} does not let this token in (status 403)")),
        404 | 405 => (
            FailureKind::Unavailable,
            format!("there is no Spexus at {url} (status {status}): check BACKEND_API_URL"),
        ),
        413 => (FailureKind::InvalidArguments, "the request is too large for the server".into()),
        429 => (FailureKind::RateLimited, "too many requests: try again later".into()),
        300..=399 => (
            FailureKind::Unavailable,
            format!("{url} is somewhere else (status {status}): check BACKEND_API_URL"),
        ),
        _ => (FailureKind::Unavailable, format!("{url} answered with status {status}")),
    };
    advised(Failure::new(kind, message))
}

/// The server does not answer.
//@= spexus://REQ-063
//@# 002 R4.9: a backend that is away is an error
//@= spexus://REQ-143
//@# 002 R13.5: a backend that stays away is an error
pub fn away(url: &str, reason: &str) -> Failure {
    Failure::new(FailureKind::Unavailable, format!("{url} does not answer: {reason}"))
}

/// The request was sent, but its outcome is unknown.
pub fn may_have_happened(mut failure: Failure, tool: &str, look: &str) -> Failure {
    failure.message +=
        &format!("; the change may have been made all the same: call {look} before you repeat {tool}");
    failure.details.push(("may_have_happened".into(), json!(true)));
    failure
}

/// Returns whether an error is the outcome of the request, or only of asking for it now.
pub fn is_outcome(failure: &Failure) -> bool {
    use FailureKind::{Forbidden, RateLimited, Timeout, Unauthenticated, Unavailable};
    !matches!(failure.kind, Forbidden | RateLimited | Timeout | Unauthenticated | Unavailable)
}

/// Returns whether the conflict is with an earlier attempt of the same request.
pub fn is_still_running(failure: &Failure) -> bool {
    failure.details.iter().any(|(name, value)| name == "error" && value == "STILL_RUNNING")
}

/// The seconds that the server asks to wait, if the error says so.
pub fn asked_seconds(failure: &Failure) -> Option<u64> {
    failure.details.iter().find(|(name, _)| name == "retry_after_s").and_then(|(_, value)| value.as_u64())
}

fn with_data(kind: FailureKind, message: &str, data: &Value) -> Failure {
    // The server's message is untrusted: it must not contain the token.
    let mut failure = Failure::new(kind, without_secrets(message));
    failure.errors = data["errors"].as_array().into_iter().flatten().filter_map(field_error).collect();
    let more = data.as_object().into_iter().flatten();
    let more = more.filter(|(name, _)| !matches!(name.as_str(), "code" | "errors"));
    failure.details = more.map(|(name, value)| (name.clone(), value.clone())).collect();
    advised(failure)
}

/// Adds advice to errors that have to be fixed at the host.
fn advised(mut failure: Failure) -> Failure {
    if failure.kind == FailureKind::Unauthenticated {
        failure.message += "; make a new token with `requirements-mcp-server init`, or set MCP_PAT_TOKEN";
    }
    failure
}

fn field_error(error: &Value) -> Option<FieldError> {
    let mut field = FieldError::new(error["field"].as_str()?, error["message"].as_str().unwrap_or_default());
    field.allowed = error["allowed"].as_array().cloned().unwrap_or_default();
    field.nearest = error["nearest"].as_str().map(str::to_owned);
    Some(field)
}

/// The kind with this `data.code`.
fn named(data: &Value) -> Option<FailureKind> {
    let name = data["code"].as_str()?;
    match name {
        "INVALID_PARAMS" | "UNKNOWN_TOOL" | "TOO_LARGE" => Some(FailureKind::InvalidArguments),
        name => FailureKind::from_name(name),
    }
}

fn of_status(status: u16) -> Option<FailureKind> {
    Some(match status {
        401 => FailureKind::Unauthenticated,
        403 => FailureKind::Forbidden,
        413 => FailureKind::InvalidArguments,
        429 => FailureKind::RateLimited,
        502..=504 => FailureKind::Unavailable,
        _ => return None,
    })
}

/// The kind of a plain JSON-RPC error without details.
fn of_code(code: i64) -> Option<FailureKind> {
    Some(match code {
        -32602 => FailureKind::InvalidArguments,
        -32001 => FailureKind::Unauthenticated,
        -32002 => FailureKind::NotFound,
        -32003 => FailureKind::Forbidden,
        -32004 => FailureKind::Conflict,
        -32005 => FailureKind::RateLimited,
        -32006 => FailureKind::Timeout,
        -32007 => FailureKind::Unavailable,
        -32603 => FailureKind::Internal,
        _ => return None,
    })
}

/// An answer that does not follow the protocol.
pub fn not_understood(method: &str) -> Failure {
    let message = format!("the server's answer to {method} is not what the protocol says");
    Failure {
        details: vec![("method".into(), json!(method))],
        ..Failure::new(FailureKind::Unavailable, message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    //@= spexus://REQ-080
    //@= type=test
    //@# 002 R6.9: validation errors of the backend are mapped
    #[test]
    fn a_refusal_keeps_its_kind_its_fields_and_its_details() {
        let error = json!({"code": -32602, "message": "priority: expected 1 to 4", "data": {
            "code": "INVALID_ARGUMENTS",
            "errors": [{"field": "priority", "message": "expected 1 to 4", "allowed": [1, 2, 3, 4]}],
            "request_id": "r-1",
        }});
        let failure = from_error(200, &error);
        assert_eq!(failure.kind, FailureKind::InvalidArguments);
        assert_eq!(failure.errors[0].field, "priority", "[002 R6.9]");
        assert_eq!(failure.errors[0].allowed.len(), 4);
        assert_eq!(failure.details, [("request_id".to_owned(), json!("r-1"))]);
    }

    #[test]
    fn each_way_of_refusing_has_its_kind() {
        let error = |code: i64, name: &str| json!({"code": code, "message": "no", "data": {"code": name}});
        for (status, error, kind) in [
            (200, error(-32602, "RESOURCE_NOT_FOUND"), FailureKind::NotFound),
            (403, error(-32603, "FORBIDDEN"), FailureKind::Forbidden),
            (401, json!({"code": -32001, "message": "no"}), FailureKind::Unauthenticated),
            (429, json!({"code": -32000, "message": "no"}), FailureKind::RateLimited),
            (200, json!({"code": -32002, "message": "no"}), FailureKind::NotFound),
            (200, json!({"code": -32004, "message": "no"}), FailureKind::Conflict),
            (500, json!({"code": -32603, "message": "no"}), FailureKind::Internal),
            (200, json!({"code": 7}), FailureKind::Other),
        ] {
            assert_eq!(from_error(status, &error).kind, kind, "{status} {error}");
        }
    }

    #[test]
    fn a_failed_tool_says_what_is_wrong_beside_its_text() {
        let result = json!({
            "content": [{"type": "text", "text": "EP-9 is not there"}],
            "isError": true,
            "_meta": {"spexus/error": {"code": "RESOURCE_NOT_FOUND", "error": "NOT_FOUND"}},
        });
        let failure = from_result(result.as_object().expect("an object"));
        assert_eq!((failure.kind, failure.message.as_str()), (FailureKind::NotFound, "EP-9 is not there"));
        let plain = json!({"content": [], "isError": true});
        assert_eq!(from_result(plain.as_object().expect("an object")).kind, FailureKind::Other);
    }
}
