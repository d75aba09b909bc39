//! Clients that others wrote, talking to `tmkb serve` over a real pipe, in both eras of the protocol.
//!
//! Each client prints what it saw. All must see the same but for how they tell of an unknown tool and of `ping`. The
//! answer to a query is compared with the one that a bare conversation gets, since it changes with the patterns.

use serde_json::{Value, json};

use crate::client::{Client, Era};
use crate::server;

#[test]
fn python_by_handshake() {
    check(Client::Python, Era::Handshake, unknown_tool(), json!("ok"));
}

#[test]
fn python_stateless() {
    check(Client::Python, Era::Stateless, unknown_tool(), no_ping());
}

#[test]
fn fastmcp_by_handshake() {
    check(Client::FastMcp, Era::Handshake, unknown_tool(), json!("ok"));
}

#[test]
fn fastmcp_stateless() {
    check(Client::FastMcp, Era::Stateless, unknown_tool(), no_ping());
}

#[test]
fn typescript_1_by_handshake() {
    let unknown = json!({"code": -32602, "message": "MCP error -32602: Unknown tool: no_such_tool"});
    check(Client::TypeScript1, Era::Handshake, unknown, json!("ok"));
}

#[test]
fn typescript_2_by_handshake() {
    check(Client::TypeScript2, Era::Handshake, unknown_tool(), json!("ok"));
}

#[test]
fn typescript_2_stateless() {
    // It knows that the revision has no ping, and does not ask.
    let ping = json!({
        "code": "METHOD_NOT_SUPPORTED_BY_PROTOCOL_VERSION",
        "message": "Method 'ping' is not supported by the negotiated protocol version (wire era 2026-07-28)",
    });
    check(Client::TypeScript2, Era::Stateless, unknown_tool(), ping);
}

#[test]
fn inspector_by_handshake() {
    check(Client::Inspector, Era::Handshake, not_on_server(), json!("(not offered)"));
}

#[test]
fn inspector_stateless() {
    check(Client::Inspector, Era::Stateless, not_on_server(), json!("(not offered)"));
}

#[track_caller]
fn check(client: Client, era: Era, unknown: Value, ping: Value) {
    if let Some(seen) = client.run(era) {
        compare(&seen, era.revision(), &unknown, &ping);
    }
}

/// Compares what a client saw with what every client must see in that revision.
#[track_caller]
pub fn compare(seen: &Value, revision: &str, unknown: &Value, ping: &Value) {
    let mut server_info = json!({"name": "tmkb", "version": env!("CARGO_PKG_VERSION")});
    if revision >= "2025-11-25" {
        server_info["description"] =
            json!("Threat Model Knowledge Base - Query authorization security threats");
    }
    let expected = json!({
        "protocolVersion": revision,
        "serverInfo": server_info,
        "tools": ["tmkb_query"],
        "call": server::answer(),
        "error": "Invalid language 'java'. Supported languages: python",
        "unknown": unknown,
        "ping": ping,
    });
    for (key, value) in expected.as_object().expect("an object") {
        assert_eq!(&seen[key], value, "{key}");
    }
}

/// What the server answers to a call of a tool that it does not have.
pub fn unknown_tool() -> Value {
    json!({"code": -32602, "message": "Unknown tool: no_such_tool"})
}

/// What the server answers to `ping` in 2026-07-28.
pub fn no_ping() -> Value {
    json!({"code": -32601, "message": "Method not found: ping"})
}

/// What the Inspector says without asking the server.
fn not_on_server() -> Value {
    json!({"code": "tool_not_found", "message": "Tool 'no_such_tool' not found on server."})
}
