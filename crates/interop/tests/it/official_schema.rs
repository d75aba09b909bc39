//! Messages of the real server fit the official schema in every revision, and what does not fit is found.

use std::{
    io::{BufRead, BufReader, Write},
    process::{Command, Stdio},
};

use interop::Conversation;
use serde_json::{Value, json};

use crate::server;

#[test]
fn messages_of_the_real_server_fit_in_every_revision() {
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"] {
        converse(revision);
    }
}

#[test]
fn a_client_never_sees_what_does_not_fit() {
    let output = Command::new(server::CHECKED)
        .args(["echo", r#"{"jsonrpc":"2.0","id":null,"result":{}}"#])
        .stdin(Stdio::null())
        .output()
        .expect("it can be started");
    assert_eq!((output.status.code(), output.stdout), (Some(1), Vec::new()));
    assert!(String::from_utf8_lossy(&output.stderr).contains("nothing was asked with this id"));
}

#[test]
fn what_does_not_fit_is_found() {
    check("", r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"x"}}"#, "");
    check(
        "",
        r#"{"jsonrpc":"2.0","error":{"code":"x","message":"x"}}"#,
        "JSONRPCErrorResponse: \"x\" is not",
    );
    check("", r#"{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}}"#, "at /id");
    check("", "{\"jsonrpc\":\"2.0\",\n\"id\":1}", "a message is one line");
    check("", "not JSON", "expected ident");
    check("", r#"{"jsonrpc":"2.0","method":"notifications/progress"}"#, "2025-11-25 ProgressNotification");
    check("", r#"{"jsonrpc":"2.0","method":"nonsense"}"#, "no definition is known for nonsense");
    check("", r#"[{"jsonrpc":"2.0","id":1,"result":{}}]"#, "2025-11-25 has no batches");

    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    check(ping, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, "");
    check(ping, r#"{"jsonrpc":"2.0","id":2,"result":{}}"#, "nothing was asked with this id");
    check(ping, r#"{"jsonrpc":"1.0","id":1,"result":{}}"#, "at /jsonrpc");
    check(ping, r#"{"jsonrpc":"2.0","id":1}"#, "expected one of result, error and method");
    check(ping, r#"{"jsonrpc":"2.0","id":1,"result":{},"method":"x"}"#, "expected one of");

    // Only the id is exempt, not the result.
    let list = r#"{"jsonrpc":"2.0","id":1.5,"method":"tools/list"}"#;
    check(list, r#"{"jsonrpc":"2.0","id":1.5,"result":{"tools":[]}}"#, "");
    check(list, r#"{"jsonrpc":"2.0","id":1.5,"result":{}}"#, "2025-11-25 ListToolsResult: \"tools\" is");

    let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","progressToken":"p"}"#;
    let stateless = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{{{meta}}}}}"#);
    check(&stateless, r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}"#, "2026-07-28 ");
    let progress = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p"}}"#;
    check(&stateless, progress, "2026-07-28 ProgressNotification");

    let initialize = r#"{"jsonrpc":"2.0","id":1,"method":"initialize"}"#;
    check(
        initialize,
        r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2024-11-05"}}"#,
        "2024-11-05 Init",
    );
    check(
        initialize,
        r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"1999-01-01"}}"#,
        "no definition",
    );
}

/// Checks one answer to one message; without an expected problem it fits.
#[track_caller]
fn check(sent: &str, received: &str, problem: &str) {
    let mut conversation = Conversation::default();
    conversation.sent(sent.as_bytes());
    match conversation.received(received.as_bytes()) {
        Ok(()) => assert_eq!(problem, "", "{received} was not found"),
        Err(found) => assert!(!problem.is_empty() && found.contains(problem), "{found}"),
    }
}

/// Asks the real server for a bit of everything.
fn converse(revision: &str) {
    let is_stateless = revision == "2026-07-28";
    let mut requests = vec![
        ("server/discover", json!({})),
        ("tools/list", json!({})),
        ("tools/list", json!({"cursor": "x"})),
        ("tools/call", json!({"name": "tmkb_query", "arguments": {"context": "background job"}})),
        (
            "tools/call",
            json!({"name": "tmkb_query", "arguments": {"context": "tenant", "verbosity": "human"}}),
        ),
        ("tools/call", json!({"name": "tmkb_query", "arguments": {"context": "x", "language": "java"}})),
        ("tools/call", json!({"name": "nothing"})),
        ("resources/list", json!({})),
        ("ping", json!({})),
    ];
    if !is_stateless {
        let client = json!({"name": "interop", "version": "1"});
        let params = json!({"protocolVersion": revision, "capabilities": {}, "clientInfo": client});
        requests.insert(0, ("initialize", params));
    }
    let mut input = String::new();
    for (id, (method, params)) in requests.iter_mut().enumerate() {
        if is_stateless {
            params["_meta"] = json!({"io.modelcontextprotocol/protocolVersion": revision, "io.modelcontextprotocol/clientCapabilities": {}});
        }
        input += &format!("{}\n", json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        if *method == "initialize" {
            input += "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n";
        }
    }
    let mut child = server::spawn();
    child.stdin.take().expect("stdin is piped").write_all(input.as_bytes()).expect("the server reads");
    let lines: Vec<String> =
        BufReader::new(child.stdout.take().expect("stdout is piped")).lines().map_while(Result::ok).collect();
    assert!(child.wait().expect("the server ends").success(), "{revision}: see above what does not fit");
    let mut ids: Vec<Value> =
        lines.iter().map(|line| serde_json::from_str::<Value>(line).expect("JSON")["id"].clone()).collect();
    ids.sort_by_key(Value::as_u64);
    assert_eq!(ids, (0..requests.len()).map(Value::from).collect::<Vec<_>>(), "each request is answered");
}
