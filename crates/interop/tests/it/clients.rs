//! Clients that others wrote, talking to `tmkb serve` over a real pipe, in both eras of the protocol.
//!
//! Each client prints what it saw. The answer to a query is compared with the one that a bare conversation gets, since
//! it changes with the patterns; everything else stands in the expectations.

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use crate::client::Client;
use crate::server;

#[test]
fn python_by_handshake() {
    check(
        Client::Python,
        "handshake",
        expect![[r#"
            protocolVersion: "2025-11-25"
            serverInfo: {"name":"tmkb","version":"(ours)","description":"Threat Model Knowledge Base - Query authorization security threats"}
            tools: ["tmkb_query"]
            error: "Invalid language 'java'. Supported languages: python"
            unknown: {"code":-32602,"message":"Unknown tool: no_such_tool"}
            ping: "ok"
        "#]],
    );
}

#[test]
fn python_stateless() {
    check(
        Client::Python,
        "stateless",
        expect![[r#"
            protocolVersion: "2026-07-28"
            serverInfo: {"name":"tmkb","version":"(ours)","description":"Threat Model Knowledge Base - Query authorization security threats"}
            tools: ["tmkb_query"]
            error: "Invalid language 'java'. Supported languages: python"
            unknown: {"code":-32602,"message":"Unknown tool: no_such_tool"}
            ping: {"code":-32601,"message":"Method not found: ping"}
        "#]],
    );
}

#[test]
fn fastmcp_by_handshake() {
    check(
        Client::FastMcp,
        "handshake",
        expect![[r#"
            protocolVersion: "2025-11-25"
            serverInfo: {"name":"tmkb","version":"(ours)","description":"Threat Model Knowledge Base - Query authorization security threats"}
            tools: ["tmkb_query"]
            error: "Invalid language 'java'. Supported languages: python"
            unknown: {"code":-32602,"message":"Unknown tool: no_such_tool"}
            ping: "ok"
        "#]],
    );
}

#[test]
fn fastmcp_stateless() {
    check(
        Client::FastMcp,
        "stateless",
        expect![[r#"
            protocolVersion: "2026-07-28"
            serverInfo: {"name":"tmkb","version":"(ours)","description":"Threat Model Knowledge Base - Query authorization security threats"}
            tools: ["tmkb_query"]
            error: "Invalid language 'java'. Supported languages: python"
            unknown: {"code":-32602,"message":"Unknown tool: no_such_tool"}
            ping: {"code":-32601,"message":"Method not found: ping"}
        "#]],
    );
}

#[test]
fn typescript_1_by_handshake() {
    check(
        Client::TypeScript1,
        "handshake",
        expect![[r#"
            protocolVersion: "2025-11-25"
            serverInfo: {"name":"tmkb","version":"(ours)","description":"Threat Model Knowledge Base - Query authorization security threats"}
            tools: ["tmkb_query"]
            error: "Invalid language 'java'. Supported languages: python"
            unknown: {"code":-32602,"message":"MCP error -32602: Unknown tool: no_such_tool"}
            ping: "ok"
        "#]],
    );
}

#[test]
fn typescript_2_by_handshake() {
    check(
        Client::TypeScript2,
        "handshake",
        expect![[r#"
            protocolVersion: "2025-11-25"
            serverInfo: {"name":"tmkb","version":"(ours)","description":"Threat Model Knowledge Base - Query authorization security threats"}
            tools: ["tmkb_query"]
            error: "Invalid language 'java'. Supported languages: python"
            unknown: {"code":-32602,"message":"Unknown tool: no_such_tool"}
            ping: "ok"
        "#]],
    );
}

#[test]
fn typescript_2_stateless() {
    check(
        Client::TypeScript2,
        "stateless",
        expect![[r#"
            protocolVersion: "2026-07-28"
            serverInfo: {"name":"tmkb","version":"(ours)","description":"Threat Model Knowledge Base - Query authorization security threats"}
            tools: ["tmkb_query"]
            error: "Invalid language 'java'. Supported languages: python"
            unknown: {"code":-32602,"message":"Unknown tool: no_such_tool"}
            ping: {"code":"METHOD_NOT_SUPPORTED_BY_PROTOCOL_VERSION","message":"Method 'ping' is not supported by the negotiated protocol version (wire era 2026-07-28)"}
        "#]],
    );
}

#[test]
fn inspector_by_handshake() {
    check(
        Client::Inspector,
        "handshake",
        expect![[r#"
            protocolVersion: "2025-11-25"
            serverInfo: {"name":"tmkb","version":"(ours)","description":"Threat Model Knowledge Base - Query authorization security threats"}
            tools: ["tmkb_query"]
            error: "Invalid language 'java'. Supported languages: python"
            unknown: {"code":"tool_not_found","message":"Tool 'no_such_tool' not found on server."}
            ping: "(not offered)"
        "#]],
    );
}

#[test]
fn inspector_stateless() {
    check(
        Client::Inspector,
        "stateless",
        expect![[r#"
            protocolVersion: "2026-07-28"
            serverInfo: {"name":"tmkb","version":"(ours)","description":"Threat Model Knowledge Base - Query authorization security threats"}
            tools: ["tmkb_query"]
            error: "Invalid language 'java'. Supported languages: python"
            unknown: {"code":"tool_not_found","message":"Tool 'no_such_tool' not found on server."}
            ping: "(not offered)"
        "#]],
    );
}

#[track_caller]
fn check(client: Client, era: &str, expected: Expect) {
    if let Some(seen) = client.run(era, server::tmkb()) {
        compare(seen, &expected);
    }
}

/// Compares what a client saw with the expectation, and its answer with the one that we get without any client.
#[track_caller]
pub fn compare(mut seen: Value, expected: &Expect) {
    assert_eq!(seen["call"], json!(server::answer()), "the answer changed on its way through the client");
    if seen["serverInfo"]["version"] == env!("CARGO_PKG_VERSION") {
        seen["serverInfo"]["version"] = json!("(ours)");
    }
    let keys = ["protocolVersion", "serverInfo", "tools", "error", "unknown", "ping"];
    let lines = keys.map(|key| format!("{key}: {}\n", seen[key]));
    expected.assert_eq(&lines.concat());
}
