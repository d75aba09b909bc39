//! What headers say, and that messages of 2026-07-28 say the same.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::blocking::RequestBuilder;
use serde_json::{Value, json};

use super::agent::{Agent, STATELESS};
use crate::backend::{Answer, Backend, on_sqlite, send};

const VERSION: &str = "mcp-protocol-version";
const METHOD: &str = "mcp-method";
const NAME: &str = "mcp-name";

#[test]
fn headers_and_message_must_say_the_same() {
    on_sqlite(&[], &[], |backend, _| {
        let call = ("tools/call", json!({"name": "search_global", "arguments": {"query": "x"}}));
        let read = ("resources/read", json!({"uri": "epics://list", "name": "something else"}));
        let prompt = ("prompts/get", json!({"name": "decompose_epic"}));
        let list = ("tools/list", json!({}));
        let cases: [(_, &[(&str, &str)], _); 15] = [
            (&list, &[(VERSION, STATELESS), (METHOD, "tools/list")], None),
            (&list, &[(METHOD, "tools/list")], Some("MCP-Protocol-Version")),
            (&list, &[(VERSION, "2025-11-25"), (METHOD, "tools/list")], Some("MCP-Protocol-Version")),
            (&list, &[(VERSION, STATELESS)], Some("Mcp-Method")),
            (&list, &[(VERSION, STATELESS), (METHOD, "Tools/List")], Some("Mcp-Method")),
            (&list, &[(VERSION, STATELESS), (METHOD, "prompts/list")], Some("Mcp-Method")),
            (&list, &[(VERSION, STATELESS), (METHOD, "tools/list"), (NAME, "ignored")], None),
            (&call, &[(VERSION, STATELESS), (METHOD, "tools/call")], Some("Mcp-Name")),
            (&call, &[(VERSION, STATELESS), (METHOD, "tools/call"), (NAME, "create_epic")], Some("Mcp-Name")),
            (&call, &[(VERSION, STATELESS), (METHOD, "tools/call"), (NAME, "search_global")], None),
            (
                &call,
                &[(VERSION, STATELESS), (METHOD, "tools/call"), (NAME, "=?base64?c2VhcmNoX2dsb2JhbA==?=")],
                None,
            ),
            (
                &call,
                &[(VERSION, STATELESS), (METHOD, "tools/call"), (NAME, "=?base64?!!?=")],
                Some("Mcp-Name"),
            ),
            (&read, &[(VERSION, STATELESS), (METHOD, "resources/read"), (NAME, "epics://list")], None),
            (
                &read,
                &[(VERSION, STATELESS), (METHOD, "resources/read"), (NAME, "something else")],
                Some("Mcp-Name"),
            ),
            (&prompt, &[(VERSION, STATELESS), (METHOD, "prompts/get")], Some("Mcp-Name")),
        ];
        for ((method, params), headers, blamed) in cases {
            let answer = ask(backend, method, params, STATELESS, headers);
            match blamed {
                None => assert_eq!(answer.status, 200, "{method} {headers:?}: {}", answer.text),
                Some(header) => {
                    let error = &answer.json["error"];
                    let found = (answer.status, &error["code"], &error["data"]["header"]);
                    assert_eq!(
                        found,
                        (400, &json!(-32020), &json!(header)),
                        "{method} {headers:?}: {}",
                        answer.text
                    );
                    assert_eq!(answer.json["id"], 1, "{}", answer.text);
                }
            }
        }
        let older = ask(
            backend,
            "tools/list",
            &json!({}),
            "2025-11-25",
            &[(VERSION, STATELESS), (METHOD, "tools/list")],
        );
        assert_eq!((older.status, &older.json["error"]["code"]), (400, &json!(-32020)), "{}", older.text);
    });
}

#[test]
fn a_name_that_no_header_can_carry_comes_in_base64() {
    on_sqlite(&[], &[], |backend, _| {
        let uri = "requirements://search?query=оплата";
        let encoded = format!("=?base64?{}?=", STANDARD.encode(uri));
        let headers = [(VERSION, STATELESS), (METHOD, "resources/read"), (NAME, encoded.as_str())];
        let answer = ask(backend, "resources/read", &json!({ "uri": uri }), STATELESS, &headers);
        assert_eq!(answer.status, 200, "{}", answer.text);
        assert_eq!(answer.json["result"]["contents"][0]["uri"], uri);
    });
}

/// The header, then the session, then 2025-03-26.
//@= spexus://REQ-041
//@= type=test
//@# 002 R2.1: 2025-06-18 is spoken
//@= spexus://REQ-042
//@= type=test
//@# 002 R2.2: the version is read from the parameters
//@= spexus://REQ-044
//@= type=test
//@# 002 R2.4: the agreed version is in the answer
//@= spexus://REQ-046
//@= type=test
//@# 002 R2.6: several versions are spoken at the same time
#[test]
fn the_revision_is_the_headers_or_the_sessions_or_the_oldest_without_headers() {
    on_sqlite(&[], &[], |backend, _| {
        let titled = |answer: &Answer| answer.json["result"]["prompts"][0].get("title").is_some();
        let list = json!({"jsonrpc": "2.0", "id": 1, "method": "prompts/list"}).to_string();
        let post = || backend.request("POST", "/mcp").body(list.clone());
        let bare = send(post());
        assert!(bare.status == 200 && !titled(&bare), "2025-03-26 has no titles: {}", bare.text);
        assert!(titled(&send(post().header(VERSION, "2025-06-18"))), "2025-06-18 has");
        let agent = Agent::handshake(backend, "2025-11-25");
        let session = agent.session.clone().expect("a session");
        assert!(titled(&send(post().header("mcp-session-id", &session))), "as the session was begun");
        let named = post().header("mcp-session-id", &session).header(VERSION, "2024-11-05");
        assert!(!titled(&send(named)), "the header says it last");
        for version in ["v999", "2026-07-29", "2025-11-25, 2025-11-25"] {
            let refused = send(post().header(VERSION, version));
            let error = &refused.json["error"];
            assert_eq!((refused.status, &error["code"]), (400, &json!(-32022)), "{}", refused.text);
            assert_eq!(error["data"]["requested"], version);
            assert_eq!(error["data"]["supported"].as_array().map(Vec::len), Some(5), "{error}");
        }
    });
}

/// Half of what belongs into `_meta` is a bad request; a client need not say its name.
#[test]
fn what_meta_lacks_is_named() {
    on_sqlite(&[], &[], |backend, _| {
        let headers = [(VERSION, STATELESS), (METHOD, "server/discover")];
        let version = "io.modelcontextprotocol/protocolVersion";
        let cases = [
            (json!({}), version),
            (json!({"_meta": {}}), version),
            (json!({"_meta": {version: STATELESS}}), "io.modelcontextprotocol/clientCapabilities"),
        ];
        for (params, field) in cases {
            let message = json!({"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": params});
            let answer = send(with(backend, &headers).body(message.to_string()));
            assert_eq!(
                (answer.status, &answer.json["error"]["code"]),
                (400, &json!(-32602)),
                "{}",
                answer.text
            );
            assert!(
                answer.json["error"]["data"]["errors"][0]["field"].to_string().contains(field),
                "{}",
                answer.text
            );
        }
    });
}

/// What a client calls itself is cut and cleaned before it is logged.
//@= spexus://REQ-007
//@= type=test
//@# 000 sanitised: what a client calls itself is cleaned before it is logged
//@= spexus://REQ-010
//@= type=test
//@# 000 log: initialize is logged with its client
#[test]
fn the_name_of_a_client_cannot_write_lines_into_the_log() {
    on_sqlite(&[], &[], |backend, _| {
        let agent = Agent::new(backend, "2025-03-26", &backend.token);
        let name = format!("evil\n[ERROR] forged\u{1b}[31m{}", "x".repeat(5_000));
        let params = json!({"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": name, "version": "1"}});
        agent.result("initialize", params);
        let log = backend.log_with("a client begins");
        assert!(
            !log.contains("\n[ERROR] forged") && !log.contains('\u{1b}') && !log.contains(&"x".repeat(200)),
            "{log}"
        );
    });
}

fn with(backend: &Backend, headers: &[(&str, &str)]) -> RequestBuilder {
    headers
        .iter()
        .fold(backend.request("POST", "/mcp"), |request, (name, value)| request.header(*name, *value))
}

fn ask(backend: &Backend, method: &str, params: &Value, version: &str, headers: &[(&str, &str)]) -> Answer {
    let mut params = params.clone();
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    send(with(backend, headers).body(message.to_string()))
}
