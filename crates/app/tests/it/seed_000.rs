//! `initialize` over HTTP, as the design of the server for agents has it, and what no other test of the endpoint names.

use serde_json::{Value, json};

use crate::backend::{Answer, Backend, on_every_store, on_sqlite, send};

fn initialize(server: &Backend, params: Value) -> Answer {
    post(server, json!({"jsonrpc": "2.0", "id": "one", "method": "initialize", "params": params}))
}

fn post(server: &Backend, message: Value) -> Answer {
    send(server.request("POST", "/mcp").header("content-type", "application/json").body(message.to_string()))
}

fn params(version: &str) -> Value {
    json!({"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "test-client", "version": "1.0.0"}})
}

fn instructions(server: &Backend) -> String {
    let answer = initialize(server, params("2025-03-26"));
    answer.json["result"]["instructions"].as_str().expect("instructions").to_owned()
}

//@= spexus://REQ-002
//@= type=test
//@# 000 fields: the answer has protocol version, capabilities, server info and instructions
//@= spexus://REQ-001
//@= type=test
//@# 000 request: an initialize request is checked, and the error for a malformed one names what is wrong
#[test]
fn an_initialize_request_gets_everything() {
    on_every_store(|server| {
        let answer = initialize(server, params("2025-03-26"));
        assert_eq!(answer.status, 200, "{:?}", answer.json);
        let mut result = answer.json["result"].clone();
        assert!(result["instructions"].as_str().is_some_and(|text| text.contains("create_epic")));
        result["instructions"] = json!("…");
        assert_eq!(
            result,
            json!({
                "protocolVersion": "2025-03-26",
                "capabilities": {
                    "prompts": {"listChanged": true},
                    "resources": {"listChanged": true, "subscribe": true},
                    "tools": {"listChanged": true},
                    "completions": {},
                },
                "serverInfo": {
                    "name": "spexus mcp",
                    "title": "MCP server for requirements management system",
                    "version": "1.0.0",
                },
                "instructions": "…",
            })
        );
        let answer = initialize(server, json!({"capabilities": {}}));
        assert_eq!(answer.json["error"]["code"], -32602);
        assert_eq!(answer.json["error"]["data"]["errors"][0]["field"], "protocolVersion");
    });
}

//@= spexus://REQ-004
//@= type=test
//@# 000 error: an error has a code for programs, a message, and the versions that are supported and received
//@= spexus://REQ-110
//@= type=test
//@# 002 R9.10: failures are structured
//@= spexus://REQ-011
//@= type=test
//@# 000 versions: protocol versions are counted, and unsupported ones stand out in the log
#[test]
fn another_version_is_told_which_are_spoken() {
    on_sqlite(&[], &[], |server, _| {
        let answer = initialize(server, params("2024-01-01"));
        assert_eq!(answer.json["id"], "one");
        let error = &answer.json["error"];
        assert_eq!(error["code"], -32602);
        assert_eq!(
            error["message"],
            "Unsupported protocol version. Expected one of: 2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25"
        );
        assert_eq!(error["data"]["code"], "INVALID_PROTOCOL_VERSION");
        assert_eq!(error["data"]["received_version"], "2024-01-01");
        assert_eq!(error["data"]["supported_versions"][1], "2025-03-26");
        // [000 versions]: it stands out in the log, and is counted.
        assert!(
            server
                .log_with("Unsupported protocol version")
                .lines()
                .any(|line| line.contains("[WARN]") && line.contains("Unsupported protocol version"))
        );
        let metrics = server.get("/metrics").text;
        assert!(
            metrics.contains(
                r#"spexus_mcp_messages_total{method="initialize",tool="",status="200",code="-32602"} 1"#
            ),
            "{metrics}"
        );
        assert!(metrics.contains("spexus_mcp_revisions_total{revision="), "{metrics}");
    });
}

//@= spexus://REQ-003
//@= type=test
//@# 000 instructions: instructions are description and content of the active prompt, and empty without one
//@= spexus://REQ-006
//@= type=test
//@# 000 cache: instructions follow the active prompt at once
//@= spexus://REQ-026
//@= type=test
//@# 001 R3.5: instructions change when the tools do
#[test]
fn instructions_are_those_of_the_active_prompt() {
    on_every_store(|server| {
        let made = server.create(
            "/prompts",
            &json!({"name": "house-rules", "title": "House rules", "description": "How we work.", "content": "Be brief."}),
        );
        let id = made["id"].as_str().expect("an id");
        assert!(!instructions(server).contains("Be brief."));
        assert_eq!(server.send("PUT", &format!("/prompts/{id}/activate"), &json!({})).status, 200);
        let text = instructions(server);
        assert!(text.starts_with("How we work.\n\nBe brief.\n\n"), "{text}");
        assert!(text.contains("create_epic"), "the guide stands at the end: {text}");
        let change = json!({"content": "{{capabilities}}\nBe kind."});
        assert_eq!(server.send("PATCH", &format!("/prompts/{id}"), &change).status, 200);
        let text = instructions(server);
        assert!(text.ends_with("\nBe kind.") && text.contains("create_epic"), "{text}");
        assert_eq!(server.send("DELETE", &format!("/prompts/{id}"), &json!({})).status, 200);
        assert_eq!(instructions(server), "", "without an active prompt there is nothing to say");
    });
}

//@= spexus://REQ-008
//@= type=test
//@# 000 secrets: instructions expose no secret
#[test]
fn a_prompt_with_a_token_in_it_is_refused() {
    on_sqlite(&[], &[], |server, _| {
        let prompt = json!({"name": "leak", "title": "Leak", "content": format!("Use {}", server.token)});
        let answer = server.send("POST", "/prompts", &prompt);
        assert_eq!(answer.status, 400);
        assert!(answer.message().contains("looks like a token"), "{}", answer.message());
    });
}

//@= spexus://REQ-005
//@= type=test
//@# 000 environment: the server's name, title and version can be set by the environment
#[test]
fn the_environment_names_the_server() {
    let settings =
        [("MCP_SERVER_NAME", "house"), ("MCP_SERVER_TITLE", "Our house"), ("MCP_SERVER_VERSION", "7.1.0")];
    on_sqlite(&[], &settings, |server, _| {
        let answer = initialize(server, params("2025-06-18"));
        assert_eq!(
            answer.json["result"]["serverInfo"],
            json!({"name": "house", "title": "Our house", "version": "7.1.0"})
        );
    });
}

//@= spexus://REQ-007
//@= type=test
//@# 000 sanitised: what a client calls itself is cleaned before it is logged
//@= spexus://REQ-010
//@= type=test
//@# 000 log: initialize is logged with its client
//@= spexus://REQ-140
//@= type=test
//@# 002 R13.2: log lines have time, request id and context
#[test]
fn a_client_is_logged_by_a_clean_name() {
    on_sqlite(&[], &[], |server, _| {
        let name = "evil\n2026-11-15T00:00:00Z [INFO] forged \u{1b}[31m line";
        let client = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": name, "version": "1"}});
        assert_eq!(initialize(server, client).status, 200);
        let log = server.log_with("a client begins");
        assert!(log.contains("forged"), "{log}");
        assert!(!log.lines().any(|line| line.starts_with("2026-11-15T00:00:00Z")), "{log}");
        assert!(!log.contains('\u{1b}'), "{log}");
    });
}

//@= spexus://REQ-009
//@= type=test
//@# 000 rate limit: initialize is limited
#[test]
fn initialize_is_limited() {
    on_sqlite(&[], &[("SPEXUS_SESSION_LIMIT", "2")], |server, _| {
        let statuses: Vec<u16> = (0..3).map(|_| initialize(server, params("2025-11-25")).status).collect();
        assert_eq!(statuses, [200, 200, 429]);
        let answer = initialize(server, params("2025-11-25"));
        assert_eq!(answer.json["error"]["code"], -32005);
        assert!(answer.header("retry-after").parse::<u64>().is_ok_and(|seconds| seconds > 0));
    });
}

/// The tools are the operations of every other surface: what one makes, the others find, with who made it and how.
//@= spexus://REQ-116
//@= type=test
//@# 002 R10.5: requests are routed to the operations that all surfaces share
//@= spexus://REQ-166
//@= type=test
//@# 002 R16.2: tests cover routing and authentication
#[test]
fn tools_and_rest_are_one_thing() {
    on_every_store(|server| {
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": "create_epic", "arguments": {"title": "Made by an agent", "priority": 2, "include": ["details"]}}});
        let made = post(server, call);
        let reference = made.json["result"]["content"][0]["text"].as_str().expect("a text");
        let made: Value = serde_json::from_str(reference).expect("JSON");
        let reference = made["reference_id"].as_str().expect("a reference id");
        assert_eq!(server.get(&format!("/epics/{reference}")).json, made);
        let history = server.get(&format!("/epics/{reference}/history")).json;
        assert_eq!(
            (&history["data"][0]["via"], &history["data"][0]["operation"]),
            (&json!("mcp"), &json!("create_epic"))
        );
    });
}

/// Errors of every kind have their code.
//@= spexus://REQ-171
//@= type=test
//@# 002 R16.7: tests cover error codes
#[test]
fn errors_have_their_codes() {
    on_sqlite(&[], &[], |server, _| {
        let call = |name: &str, arguments: Value| json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}});
        server.create("/epics", &json!({"title": "One", "priority": 1}));
        server.create("/user-stories", &json!({"epic_id": "EP-001", "title": "One", "priority": 1}));
        for (message, code, name) in [
            (json!({"jsonrpc": "1.0", "id": 1, "method": "ping"}), -32600, json!("MALFORMED_REQUEST")),
            (json!({"jsonrpc": "2.0", "id": 1, "method": "sing"}), -32601, json!("METHOD_NOT_FOUND")),
            (call("create_epic", json!({"title": ""})), -32602, json!("INVALID_ARGUMENTS")),
            (call("fly", json!({})), -32602, Value::Null),
            (call("get_entity", json!({"reference": "EP-404"})), -32002, json!("RESOURCE_NOT_FOUND")),
            (call("delete_entity", json!({"reference": "EP-001"})), -32004, json!("CONFLICT")),
            (
                call("update_epic", json!({"epic_id": "EP-001", "title": "Two", "expected_version": 9})),
                -32004,
                json!("CONFLICT"),
            ),
        ] {
            let answer = post(server, message.clone());
            assert_eq!(answer.json["error"]["code"], code, "{message}: {:?}", answer.json);
            assert_eq!(answer.json["error"]["data"]["code"], name, "{message}: {:?}", answer.json);
        }
        let malformed = send(server.request("POST", "/mcp").body("{"));
        assert_eq!((malformed.status, &malformed.json["error"]["code"]), (400, &json!(-32700)));
    });
}

/// What the release stands on: the one command that runs all tests is what continuous integration runs.
//@= spexus://REQ-173
//@= type=test
//@# 002 R16.9: failing tests stop a release
#[test]
fn failing_tests_stop_a_release() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let integration = std::fs::read_to_string(root.join(".ci/run")).expect("what runs for every change");
    assert!(integration.contains("./test"), "{integration}");
    let all = std::fs::read_to_string(root.join("test")).expect("the command that runs all tests");
    assert!(all.contains("set -e"), "{all}");
    assert!(all.contains("cargo test"), "{all}");
}

/// Run by the test below, as a program of its own: it changes what panics do in the whole process.
#[test]
#[ignore = "it is part of another test"]
fn a_program_with_a_forgotten_case() {
    spexus::logging::start(&mut spexus::settings::Settings::default());
    let panicking = std::thread::spawn(|| panic!("a forgotten case"));
    assert!(panicking.join().is_err());
    std::thread::sleep(std::time::Duration::from_millis(300));
}

//@= spexus://REQ-146
//@= type=test
//@# 002 R13.8: internal errors are logged in full
#[test]
fn an_internal_error_is_logged_in_full() {
    let program = std::env::current_exe().expect("this program");
    let mut command = std::process::Command::new(program);
    command.args(["--ignored", "--exact", "seed_000::a_program_with_a_forgotten_case", "--nocapture"]);
    let output = command.output().expect("a program");
    let log = String::from_utf8_lossy(&output.stderr);
    assert!(log.contains("[ERROR]") && log.contains("a forgotten case"), "{log}");
    assert!(log.contains("seed_000.rs"), "a backtrace names where it was: {log}");
}
