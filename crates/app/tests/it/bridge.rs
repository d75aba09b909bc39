//! `requirements-mcp-server` as its host meets it: lifecycle, tools, resources, prompts and changes.

use std::{
    process::Command,
    thread,
    time::{Duration, Instant},
};

use mcp::Change;
use serde_json::{Value, json};

use crate::{
    agent::json_of,
    bad_input::peak_memory_kib,
    process::{Serving, clean},
    stand_in::{StandIn, TOKEN},
};

/// Starts the bridge before a server.
pub fn start(url: &str, environment: &[(&str, &str)]) -> Serving {
    Serving::spawn(command(url, environment))
}

pub fn command(url: &str, environment: &[(&str, &str)]) -> Command {
    let program = Command::new(env!("CARGO_BIN_EXE_requirements-mcp-server"));
    let mut command = clean(program, &[("BACKEND_API_URL", url), ("MCP_PAT_TOKEN", TOKEN)]);
    command.envs(environment.iter().copied());
    command
}

/// Starts the bridge and goes through the handshake.
pub fn ready(url: &str, revision: &str) -> Serving {
    let mut bridge = start(url, &[]);
    bridge.handshake(revision);
    bridge
}

pub fn create_epic(bridge: &mut Serving, id: impl Into<Value>) -> Value {
    let arguments = json!({"title": "Checkout", "priority": 2});
    bridge.request(id, "tools/call", json!({"name": "create_epic", "arguments": arguments}))
}

//@= spexus://REQ-035
//@= type=test
//@# 002 R1.4: initialize checks the protocol version
//@= spexus://REQ-041
//@= type=test
//@# 002 R2.1: 2025-06-18 is spoken
//@= spexus://REQ-042
//@= type=test
//@# 002 R2.2: the version is read from the parameters
//@= spexus://REQ-043
//@= type=test
//@# 002 R2.3: the requested version is compared with those supported
//@= spexus://REQ-044
//@= type=test
//@# 002 R2.4: the agreed version is in the answer
//@= spexus://REQ-046
//@= type=test
//@# 002 R2.6: several versions are spoken at the same time
//@= spexus://REQ-052
//@= type=test
//@# 002 R3.5: the server is called requirements-mcp-server and has a semantic version
//@= spexus://REQ-048
//@= type=test
//@# 002 R3.1: initialize is answered with capabilities
//@= spexus://REQ-049
//@= type=test
//@# 002 R3.2: resources have subscribe and listChanged
//@= spexus://REQ-036
//@= type=test
//@# 002 R1.5: a compatible version gets capabilities and server info
//@= spexus://REQ-050
//@= type=test
//@# 002 R3.3: tools are declared
//@= spexus://REQ-051
//@= type=test
//@# 002 R3.4: prompts are declared
//@= spexus://REQ-034
//@= type=test
//@# 002 R1.3: it speaks over stdin and stdout, and logs to stderr
//@= spexus://REQ-038
//@= type=test
//@# 002 R1.7: after initialized, requests are served
//@= spexus://REQ-054
//@= type=test
//@# 002 R3.7: the present capabilities can be requested
#[test]
fn the_host_learns_name_version_and_capabilities() {
    let server = StandIn::start();
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let mut bridge = start(&server.url, &[]);
        let answer = bridge.handshake(revision);
        let result = &answer["result"];
        assert_eq!(
            result["protocolVersion"], revision,
            "[002 R1.4] [002 R2.1] [002 R2.2] [002 R2.3] [002 R2.4] [002 R2.6]"
        );
        assert_eq!(result["serverInfo"]["name"], "requirements-mcp-server", "[002 R3.5]");
        let version = result["serverInfo"]["version"].as_str().expect("a version");
        assert_eq!(version.split('.').count(), 3, "[002 R3.5]: {version} is no semantic version");
        let capabilities = &result["capabilities"];
        assert_eq!(
            capabilities["resources"],
            json!({"listChanged": true, "subscribe": true}),
            "[002 R3.1] [002 R3.2]"
        );
        assert_eq!(capabilities["tools"], json!({"listChanged": true}), "[002 R1.5] [002 R3.3]");
        assert_eq!(capabilities["prompts"], json!({"listChanged": true}), "[002 R3.4]");
        assert_eq!(result["instructions"], "Ask the stand-in.");
        // [002 R1.3] [002 R1.7]: after the notification the bridge serves, over stdin and stdout.
        assert_eq!(bridge.request(1, "ping", json!({}))["result"], json!({}));
        assert!(bridge.request(2, "tools/list", json!({}))["result"]["tools"].is_array());
        let (status, rest, _) = bridge.end();
        assert!(status.success());
        assert_eq!(rest, Vec::<String>::new());
    }
    let discovered = start(&server.url, &[]).request(1, "server/discover", stateless(json!({})));
    assert_eq!(discovered["result"]["capabilities"]["completions"], json!({}), "[002 R3.7]");
    assert_eq!(discovered["result"]["instructions"], "Ask the stand-in.");
}

//@= spexus://REQ-045
//@= type=test
//@# 002 R2.5: a version that is not supported is error -32602
//@= spexus://REQ-047
//@= type=test
//@# 002 R2.7: the error says clearly what is wrong with the version
//@= spexus://REQ-037
//@= type=test
//@# 002 R1.6: an incompatible version gets an error, and the program ends
#[test]
fn a_version_that_is_not_spoken_ends_the_bridge() {
    let server = StandIn::start();
    let mut bridge = start(&server.url, &[]);
    let params = json!({"protocolVersion": "2020-01-01", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let answer = bridge.request(1, "initialize", params);
    assert_eq!(answer["error"]["code"], -32602, "[002 R2.5]");
    let message = answer["error"]["message"].as_str().expect("a message");
    assert!(
        message.starts_with("Unsupported protocol version. Expected one of: 2024-11-05"),
        "[002 R2.7]: {message}"
    );
    assert_eq!(answer["error"]["data"]["received_version"], "2020-01-01");
    let (status, rest, _) = bridge.wait();
    assert_eq!((status.code(), rest), (Some(0), vec![]), "[002 R1.6]");

    let mut lenient = start(&server.url, &[("MCP_VERSION_POLICY", "negotiate")]);
    assert_eq!(lenient.handshake("2020-01-01")["result"]["protocolVersion"], "2025-11-25");
}

//@= spexus://REQ-039
//@= type=test
//@# 002 R1.8: shutdown cleans up and exits
#[test]
fn shutdown_is_answered_and_ends_the_bridge() {
    let server = StandIn::start();
    let mut bridge = ready(&server.url, "2025-06-18");
    bridge.send(
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wait","arguments":{"ms":300}}}"#,
    );
    bridge.send(r#"{"jsonrpc":"2.0","id":2,"method":"shutdown"}"#);
    assert_eq!(bridge.receive(), json!({"jsonrpc": "2.0", "id": 2, "result": {}}), "[002 R1.8]");
    assert_eq!(
        bridge.receive()["result"]["content"][0]["text"],
        "waited",
        "what was read before is answered"
    );
    let (status, ..) = bridge.wait();
    assert_eq!(status.code(), Some(0), "[002 R1.8]");
}

//@= spexus://REQ-075
//@= type=test
//@# 002 R6.4: valid arguments go to the backend
//@= spexus://REQ-078
//@= type=test
//@# 002 R6.7: a result has a content array
//@= spexus://REQ-059
//@= type=test
//@# 002 R4.5: the backend is asked by POST to /api/v1/mcp with the token
//@= spexus://REQ-131
//@= type=test
//@# 002 R12.1: the bridge sends the token
#[test]
fn a_call_reaches_the_server_with_all_it_needs() {
    let server = StandIn::start();
    let mut bridge = ready(&server.url, "2025-06-18");
    let answer = create_epic(&mut bridge, "my id");
    assert_eq!(json_of(&answer["result"])["reference_id"], "EP-001", "[002 R6.4]");
    let text = answer["result"]["content"][0]["text"].as_str().expect("text");
    assert_eq!(serde_json::from_str::<Value>(text).expect("JSON")["title"], "Checkout", "[002 R6.7]");
    let asked = &server.requests("tools/call")[0];
    assert_eq!(asked.line, "POST /api/v1/mcp HTTP/1.1\r\n", "[002 R4.5]");
    assert_eq!(asked.header("authorization"), format!("Bearer {TOKEN}"), "[002 R12.1]");
    assert_eq!(asked.header("mcp-protocol-version"), "2026-07-28");
    assert_eq!(asked.header("mcp-name"), "create_epic");
    assert!(!asked.header("idempotency-key").is_empty());
    let body = asked.json();
    assert_eq!(body["method"], "tools/call");
    assert_eq!(body["params"]["arguments"], json!({"title": "Checkout", "priority": 2}));
    assert_eq!(body["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
}

//@= spexus://REQ-074
//@= type=test
//@# 002 R6.3: arguments are checked against the schema
//@= spexus://REQ-081
//@= type=test
//@# 002 R6.10: arguments that do not fit are rejected before the backend is called
//@= spexus://REQ-144
//@= type=test
//@# 002 R13.6: errors name the field
#[test]
fn arguments_are_checked_before_anything_is_sent() {
    let server = StandIn::start();
    let mut bridge = ready(&server.url, "2025-06-18");
    for (arguments, field) in [
        (json!({"priority": 2}), "title"),
        (json!({"title": "x", "priority": 9}), "priority"),
        (json!({"title": "x", "priority": 1, "titel": "x"}), "titel"),
    ] {
        let answer = bridge.request(1, "tools/call", json!({"name": "create_epic", "arguments": arguments}));
        assert_eq!(answer["error"]["code"], -32602, "[002 R6.3] [002 R6.10]: {answer}");
        assert_eq!(answer["error"]["data"]["errors"][0]["field"], field, "[002 R13.6]");
    }
    let answer = bridge.request(1, "tools/call", json!({"name": "create_epik", "arguments": {}}));
    assert_eq!(answer["error"]["data"]["nearest"], "create_epic");
    assert_eq!(server.requests("tools/call").len(), 0, "[002 R6.10]");
    assert_eq!(server.n_written(), 0);
}

//@= spexus://REQ-079
//@= type=test
//@# 002 R6.8: a failing tool is a JSON-RPC error with details
//@= spexus://REQ-080
//@= type=test
//@# 002 R6.9: validation errors of the backend are mapped
//@= spexus://REQ-129
//@= type=test
//@# 002 R11.8: own errors have codes from -32000
//@= spexus://REQ-144
//@= type=test
//@# 002 R13.6: errors name the field
#[test]
fn a_failing_tool_is_told_as_the_revision_has_it() {
    let server = StandIn::start();
    let mut older = ready(&server.url, "2025-06-18");
    let mut newer = ready(&server.url, "2025-11-25");
    for (kind, code, name) in [
        ("conflict", -32004, "CONFLICT"),
        ("not found", -32002, "RESOURCE_NOT_FOUND"),
        ("arguments", -32602, "INVALID_ARGUMENTS"),
    ] {
        let params = json!({"name": "fail", "arguments": {"kind": kind}});
        let answer = older.request(1, "tools/call", params.clone());
        assert_eq!(answer["error"]["code"], code, "[002 R6.8] [002 R6.9] [002 R11.8]: {answer}");
        assert_eq!(answer["error"]["data"]["code"], name);
        assert_eq!(answer["error"]["data"]["errors"][0]["field"], "title", "[002 R6.9] [002 R13.6]");
        let answer = newer.request(1, "tools/call", params.clone());
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        assert_eq!(answer["result"]["_meta"]["spexus/error"]["code"], name);
        let answer = older.request(1, "tools/call", stateless(params));
        assert_eq!(answer["result"]["isError"], true, "the same process, another revision: {answer}");
    }
}

//@= spexus://REQ-055
//@= type=test
//@# 002 R4.1: resources/list returns direct resources
//@= spexus://REQ-056
//@= type=test
//@# 002 R4.2: each resource has uri, name, description and mimeType
//@= spexus://REQ-161
//@= type=test
//@# 002 R15.6: resources/list has pages
//@= spexus://REQ-058
//@= type=test
//@# 002 R4.4: resources/read takes a URI and asks the backend
//@= spexus://REQ-060
//@= type=test
//@# 002 R4.6: the answer has the contents of the resource
//@= spexus://REQ-062
//@= type=test
//@# 002 R4.8: a resource that is not found is error -32002
//@= spexus://REQ-064
//@= type=test
//@# 002 R5.1: resources/templates/list returns templates
//@= spexus://REQ-065
//@= type=test
//@# 002 R5.2: each template has uriTemplate, name, description and mimeType
#[test]
fn resources_are_listed_read_and_paged() {
    let server = StandIn::start();
    let mut bridge = ready(&server.url, "2025-06-18");
    let mut cursor = None;
    let mut uris = Vec::new();
    loop {
        let params = cursor.map_or(json!({}), |cursor: Value| json!({ "cursor": cursor }));
        let page = bridge.request(1, "resources/list", params)["result"].take();
        for resource in page["resources"].as_array().expect("[002 R4.1]") {
            for field in ["uri", "name", "description", "mimeType"] {
                assert!(resource[field].is_string(), "[002 R4.2]: {resource}");
            }
            uris.push(resource["uri"].as_str().expect("text").to_owned());
        }
        cursor = page.get("nextCursor").cloned();
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(uris, ["epic://EP-001", "epic://EP-002", "epic://EP-003"], "[002 R15.6]");
    let answer = bridge.request(2, "resources/read", json!({"uri": "epic://EP-001"}));
    assert_eq!(
        answer["result"]["contents"][0]["text"], r#"{"reference_id":"EP-001"}"#,
        "[002 R4.4] [002 R4.6]"
    );
    assert_eq!(server.requests("resources/read")[0].header("mcp-name"), "epic://EP-001");
    let answer = bridge.request(3, "resources/read", json!({"uri": "epic://EP-999"}));
    assert_eq!(answer["error"]["code"], -32002, "[002 R4.8]");
    assert_eq!(answer["error"]["data"]["uri"], "epic://EP-999");
    let answer = bridge.request(4, "resources/read", stateless(json!({"uri": "epic://EP-999"})));
    assert_eq!(answer["error"]["code"], -32602, "the code of that revision");
    let templates = bridge.request(5, "resources/templates/list", json!({}));
    let template = &templates["result"]["resourceTemplates"][0];
    assert_eq!(
        template["uriTemplate"], "epics://list?status={status}&priority={priority}",
        "[002 R5.1] [002 R5.2]"
    );
}

//@= spexus://REQ-091
//@= type=test
//@# 002 R8.1: prompts/list returns prompts
//@= spexus://REQ-092
//@= type=test
//@# 002 R8.2: each prompt has name, description and arguments
//@= spexus://REQ-093
//@= type=test
//@# 002 R8.3: prompts/get takes a name and arguments
//@= spexus://REQ-097
//@= type=test
//@# 002 R8.7: a prompt has a description and messages
//@= spexus://REQ-099
//@= type=test
//@# 002 R8.9: missing arguments are named
#[test]
fn prompts_are_listed_and_filled() {
    let server = StandIn::start();
    let mut bridge = ready(&server.url, "2025-06-18");
    let listed = bridge.request(1, "prompts/list", json!({}));
    let prompt = &listed["result"]["prompts"][0];
    assert_eq!(prompt["name"], "decompose_epic", "[002 R8.1]");
    assert_eq!(prompt["arguments"][0]["required"], true, "[002 R8.2]");
    let params = json!({"name": "decompose_epic", "arguments": {"epic_id": "EP-001"}});
    let answer = bridge.request(2, "prompts/get", params);
    assert_eq!(
        answer["result"]["messages"][0]["content"]["text"], "Break EP-001 down",
        "[002 R8.3] [002 R8.7]"
    );
    assert_eq!(answer["result"]["description"], "Break an epic down", "[002 R8.7]");
    let answer = bridge.request(3, "prompts/get", json!({"name": "decompose_epic"}));
    assert_eq!(answer["error"]["code"], -32602, "[002 R8.9]");
    assert_eq!(answer["error"]["data"]["errors"][0]["field"], "epic_id", "[002 R8.9]");
    let params = json!({"ref": {"type": "ref/prompt", "name": "decompose_epic"}, "argument": {"name": "epic_id", "value": "EP-00"}});
    let answer = bridge.request(4, "completion/complete", params);
    assert_eq!(answer["result"]["completion"]["values"], json!(["EP-001"]));
}

//@= spexus://REQ-072
//@= type=test
//@# 002 R6.1: tools/list returns all tools with schemas
//@= spexus://REQ-073
//@= type=test
//@# 002 R6.2: each tool has name, description and inputSchema
//@= spexus://REQ-158
//@= type=test
//@# 002 R15.3: frequent requests are cached
//@= spexus://REQ-053
//@= type=test
//@# 002 R3.6: changes are notified
#[test]
fn tools_are_fetched_once_and_again_when_they_changed() {
    let server = StandIn::start();
    let mut bridge = ready(&server.url, "2025-11-25");
    server.wait_for("subscriptions/listen", 1);
    thread::sleep(Duration::from_millis(200));
    for id in 0..20 {
        let listed = bridge.request(id, "tools/list", json!({}));
        let tools = listed["result"]["tools"].as_array().expect("tools").clone();
        let names: Vec<&str> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
        assert_eq!(names, ["create_epic", "fail", "wait"], "[002 R6.1]");
        for tool in &tools {
            assert!(tool["description"].is_string() && tool["inputSchema"].is_object(), "[002 R6.2]: {tool}");
        }
        create_epic(&mut bridge, 100 + id);
    }
    assert_eq!(server.requests("tools/list").len(), 2, "[002 R15.3] two pages, each once");
    server.add_tool();
    assert_eq!(bridge.receive()["method"], "notifications/tools/list_changed", "[002 R3.6]");
    let listed = bridge.request(1, "tools/list", json!({}));
    assert_eq!(listed["result"]["tools"].as_array().expect("tools").len(), 4, "[002 R15.3]");
}

//@= spexus://REQ-049
//@= type=test
//@# 002 R3.2: resources have subscribe and listChanged
#[test]
fn the_host_hears_of_what_it_subscribed_to() {
    let server = StandIn::start();
    let mut bridge = ready(&server.url, "2025-06-18");
    let uri = "epic://EP-001";
    let changed = || server.change(&Change::Resource(uri.into()));
    assert_eq!(
        bridge.request(1, "resources/subscribe", json!({ "uri": uri }))["result"],
        json!({}),
        "[002 R3.2]"
    );
    changed();
    let heard = bridge.receive();
    assert_eq!(
        (&heard["method"], &heard["params"]["uri"]),
        (&json!("notifications/resources/updated"), &json!(uri))
    );
    server.change(&Change::Resources);
    assert_eq!(bridge.receive()["method"], "notifications/resources/list_changed", "[002 R3.2]");
    server.change(&Change::Prompts);
    assert_eq!(bridge.receive()["method"], "notifications/prompts/list_changed");

    // A stream that ended is opened again, and what may have been missed is told.
    server.drop_streams();
    let mut told: Vec<String> =
        (0..4).map(|_| bridge.receive()["method"].as_str().expect("a method").into()).collect();
    told.sort();
    let expected =
        ["prompts/list_changed", "resources/list_changed", "resources/updated", "tools/list_changed"];
    assert_eq!(told, expected.map(|name| format!("notifications/{name}")));
    changed();
    assert_eq!(bridge.receive()["method"], "notifications/resources/updated");

    assert_eq!(bridge.request(2, "resources/unsubscribe", json!({ "uri": uri }))["result"], json!({}));
    changed();
    assert_eq!(bridge.request(3, "ping", json!({}))["result"], json!({}), "nothing is told any more");
    let answer = bridge.request(4, "resources/subscribe", json!({"uri": "epic://EP-999"}));
    assert_eq!(answer["error"]["code"], -32002);
}

#[test]
fn a_stateless_host_hears_of_what_it_listens_to() {
    let server = StandIn::start();
    let mut bridge = start(&server.url, &[]);
    let wanted =
        json!({"notifications": {"toolsListChanged": true, "resourceSubscriptions": ["epic://EP-001"]}});
    bridge.send(
        &json!({"jsonrpc": "2.0", "id": "l", "method": "subscriptions/listen", "params": stateless(wanted)})
            .to_string(),
    );
    assert_eq!(bridge.receive()["method"], "notifications/subscriptions/acknowledged");
    server.wait_for("subscriptions/listen", 1);
    let asked = server.requests("subscriptions/listen")[0].json();
    assert_eq!(asked["params"]["notifications"]["resourceSubscriptions"], json!(["epic://EP-001"]));
    thread::sleep(Duration::from_millis(100));
    server.change(&Change::Resource("epic://EP-001".into()));
    let heard = bridge.receive();
    assert_eq!(heard["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], "l", "{heard}");
}

#[test]
fn a_probe_opens_nothing() {
    let server = StandIn::start();
    let mut bridge = start(&server.url, &[]);
    bridge.request(1, "server/discover", stateless(json!({})));
    let (status, ..) = bridge.end();
    assert!(status.success());
    assert_eq!(server.requests("subscriptions/listen").len(), 0);
}

#[test]
fn a_server_that_speaks_plain_json_rpc_is_understood() {
    let server = StandIn::start();
    server.be_plain();
    let mut bridge = ready(&server.url, "2025-11-25");
    assert_eq!(create_epic(&mut bridge, 1)["result"]["isError"], false);
    let answer = bridge.request(2, "tools/call", json!({"name": "fail", "arguments": {"kind": "conflict"}}));
    assert_eq!(answer["result"]["_meta"]["spexus/error"]["code"], "CONFLICT", "{answer}");
    let answer = bridge.request(3, "resources/read", json!({"uri": "epic://EP-001"}));
    assert_eq!(answer["result"]["contents"][0]["uri"], "epic://EP-001");
}

//@= spexus://REQ-125
//@= type=test
//@# 002 R11.4: answers carry jsonrpc and the same id
//@= spexus://REQ-159
//@= type=test
//@# 002 R15.4: requests run at the same time
//@= spexus://REQ-157
//@= type=test
//@# 002 R15.2: connections are reused
#[test]
fn requests_run_side_by_side_on_few_connections() {
    let server = StandIn::start();
    let mut bridge = ready(&server.url, "2025-11-25");
    bridge.request("first", "tools/list", json!({}));
    let started = Instant::now();
    for id in 0..20 {
        let params = json!({"name": "wait", "arguments": {"ms": 300}});
        bridge
            .send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}).to_string());
    }
    let mut ids: Vec<u64> = (0..20).map(|_| bridge.receive()["id"].as_u64().expect("our id")).collect();
    ids.sort_unstable();
    assert_eq!(ids, (0..20).collect::<Vec<_>>(), "[002 R11.4] [002 R15.4]");
    assert!(started.elapsed() < Duration::from_secs(5), "[002 R15.4] took {:?}", started.elapsed());
    let n_before = server.n_connections();
    for id in 0..100 {
        create_epic(&mut bridge, id);
    }
    assert_eq!(server.n_connections(), n_before, "[002 R15.2]");
    assert_eq!(server.n_written(), 100);
}

//@= spexus://REQ-160
//@= type=test
//@# 002 R15.5: memory is bounded
#[test]
fn ten_thousand_requests_in_one_go_are_each_answered_once() {
    const N_REQUESTS: u64 = 10_000;
    let server = StandIn::start();
    let mut bridge = ready(&server.url, "2025-11-25");
    let mut all = String::new();
    for id in 0..N_REQUESTS {
        let arguments = json!({"title": "Checkout", "priority": 2});
        let request = match id % 2 {
            0 => {
                json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "create_epic", "arguments": arguments}})
            }
            _ => {
                json!({"jsonrpc": "2.0", "id": id, "method": "resources/read", "params": {"uri": "epic://EP-001"}})
            }
        };
        all += &format!("{request}\n");
    }
    bridge.announce(all.as_bytes());
    let mut input = bridge.input.take().expect("stdin is open");
    let writing =
        thread::spawn(move || std::io::Write::write_all(&mut input, all.as_bytes()).map(|()| input));
    let mut is_answered = vec![false; N_REQUESTS as usize];
    for _ in 0..N_REQUESTS {
        let answer = bridge.receive();
        let id = answer["id"].as_u64().expect("our id") as usize;
        assert!(answer["result"].is_object(), "{answer}");
        assert!(!std::mem::replace(&mut is_answered[id], true), "{id} was answered twice");
    }
    let peak = peak_memory_kib(bridge.child.id());
    assert!(peak < 200 * 1024, "[002 R15.5] {peak} KiB");
    drop(writing.join().expect("no panic").expect("all was written"));
    let (status, rest, _) = bridge.end();
    assert_eq!((status.code(), rest), (Some(0), vec![]));
    assert_eq!(server.n_written(), N_REQUESTS / 2);
}

//@= spexus://REQ-141
//@= type=test
//@# 002 R13.3: the log has no tokens
//@= spexus://REQ-140
//@= type=test
//@# 002 R13.2: log lines have time, request id and context
//@= spexus://REQ-139
//@= type=test
//@# 002 R13.1: errors are logged by severity
#[test]
fn tokens_are_never_logged_or_sent() {
    let server = StandIn::start();
    let mut bridge = start(&server.url, &[("LOG_LEVEL", "trace")]);
    bridge.handshake("2025-06-18");
    let answer = bridge.request(1, "tools/call", json!({"name": "fail", "arguments": {"kind": "token"}}));
    assert!(!answer.to_string().contains(TOKEN), "[002 R13.3]: {answer}");
    let title = format!("see {TOKEN}");
    let answer = bridge.request(2, "tools/call", json!({"name": "create_epic", "arguments": {title: 1}}));
    assert_eq!(answer["error"]["code"], -32602);
    let (_, _, log) = bridge.end();
    assert!(!log.contains(&TOKEN[10..]), "[002 R13.3]: {log}");
    assert!(log.contains("[redacted]"), "something was to be hidden: {log}");
    let line = log
        .lines()
        .find(|line| line.contains("[req_id=2]"))
        .expect("[002 R13.2]: the request's id is in the log");
    assert!(line.contains("[ERROR]") && line.starts_with("20"), "[002 R13.1] [002 R13.2]: {line}");
}

/// Parameters as 2026-07-28 wants them.
pub fn stateless(mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    params
}

//@= spexus://REQ-162
//@= type=test
//@# 002 R15.7: large answers are not held in memory
#[test]
fn a_large_answer_passes_through_in_bounded_memory() {
    const N_MIB: usize = 24;
    let server = StandIn::start();
    let mut bridge = ready(&server.url, "2025-03-26");
    bridge.request("warm", "tools/list", json!({}));
    let uri = format!("large://{N_MIB}");
    let before = peak_memory_kib(bridge.child.id());
    let answer = bridge.request(1, "resources/read", json!({ "uri": uri }));
    let text = answer["result"]["contents"][0]["text"].as_str().expect("text");
    assert!(
        text.starts_with("a line\n\"ä\"\t") && text.len() > (N_MIB - 1) << 20,
        "[002 R15.7] {}",
        text.len()
    );
    assert_eq!(text.len() % "a line\n\"ä\"\t".len(), 0, "[002 R15.7] something is missing");
    let peak = peak_memory_kib(bridge.child.id());
    assert!(peak - before < 12 * 1024, "[002 R15.7] {before} KiB became {peak} KiB");

    // Several at once, and in one batch, each find their place.
    let batch = r#"[{"jsonrpc":"2.0","id":"a","method":"resources/read","params":{"uri":"large://2"}},{"jsonrpc":"2.0","id":"b","method":"resources/read","params":{"uri":"large://3"}},{"jsonrpc":"2.0","id":"c","method":"ping"}]"#;
    bridge.send(batch);
    let answers = bridge.receive();
    let length = |id: &str| {
        let answer =
            answers.as_array().expect("a batch").iter().find(|answer| answer["id"] == id).expect("an answer");
        answer["result"]["contents"][0]["text"].as_str().map_or(0, str::len) >> 20
    };
    assert_eq!((length("a"), length("b"), length("c")), (1, 3, 0));
    let answer = bridge.request(2, "resources/subscribe", json!({"uri": "large://2"}));
    assert_eq!(answer["result"], json!({}));
    assert!(create_epic(&mut bridge, 3)["result"].is_object());
}

//@= spexus://REQ-122
//@= type=test
//@# 002 R11.1: jsonrpc must be 2.0
//@= spexus://REQ-123
//@= type=test
//@# 002 R11.2: id, method and params are checked
//@= spexus://REQ-127
//@= type=test
//@# 002 R11.6: failure has code and message
//@= spexus://REQ-128
//@= type=test
//@# 002 R11.7: standard errors have the standard codes
//@= spexus://REQ-130
//@= type=test
//@# 002 R11.9: what is not a message is an error
//@= spexus://REQ-124
//@= type=test
//@# 002 R11.3: a message without an id is a notification
//@= spexus://REQ-125
//@= type=test
//@# 002 R11.4: answers carry jsonrpc and the same id
//@= spexus://REQ-126
//@= type=test
//@# 002 R11.5: success has a result
#[test]
fn messages_are_json_rpc_in_both_directions() {
    let server = StandIn::start();
    let mut bridge = ready(&server.url, "2025-06-18");
    for (line, code) in [
        ("no JSON", -32700),
        (r#"{"jsonrpc":"2.0","id":1,"#, -32700),
        (r#"{"id":1,"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":"nonsense"}"#, -32601),
        (r#"{"jsonrpc":"2.0","id":1,"method":"resources/read"}"#, -32602),
        (r#"{"jsonrpc":"2.0","id":1,"method":"resources/read","params":[]}"#, -32602),
    ] {
        bridge.send(line);
        let answer = bridge.receive();
        assert_eq!(
            answer["error"]["code"], code,
            "[002 R11.1] [002 R11.2] [002 R11.6] [002 R11.7] [002 R11.9] {line}: {answer}"
        );
        assert!(answer["error"]["message"].is_string(), "[002 R11.6]");
    }
    bridge.send(r#"{"jsonrpc":"2.0","method":"nonsense"}"#);
    let answer = bridge.request("after", "ping", json!({}));
    assert_eq!(
        answer,
        json!({"jsonrpc": "2.0", "id": "after", "result": {}}),
        "[002 R11.3] [002 R11.4] [002 R11.5]"
    );
    assert_eq!(server.requests("resources/read").len(), 0, "what is malformed is not passed on");
}

//@= spexus://REQ-147
//@= type=test
//@# 002 R13.9: a failing stdio ends the program in order
#[test]
fn a_host_that_does_not_read_ends_the_bridge() {
    use std::io::{Read, Write};

    let server = StandIn::start();
    let mut child = command(&server.url, &[]).spawn().expect("it starts");
    drop(child.stdout.take());
    let mut input = child.stdin.take().expect("piped");
    writeln!(input, r#"{{"jsonrpc":"2.0","id":1,"method":"ping"}}"#).expect("it reads");
    let status = child.wait().expect("it ends although its input is open");
    let mut log = String::new();
    child.stderr.take().expect("piped").read_to_string(&mut log).expect("a log");
    assert_eq!(status.code(), Some(1), "[002 R13.9]: {log}");
    assert!(log.contains("writing stdout failed"), "[002 R13.9]: {log}");
}
