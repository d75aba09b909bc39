//! Progress of long calls on its way from a real server through the bridge to its host.

use serde_json::{Value, json};

use crate::{
    agent::{json_of, stateless},
    backend::{Backend, on_every_store, on_sqlite},
    bad_input::peak_memory_kib,
    bridge::{command, ready},
    fault_proxy::{Fault, FaultProxy},
    process::Serving,
    stand_in::StandIn,
};

#[test]
fn the_host_hears_how_far_long_calls_are() {
    on_every_store(|server| {
        for revision in ["2024-11-05", "2025-11-25", "2026-07-28"] {
            let mut bridge = start(server, revision);
            let (told, result) =
                follow(&mut bridge, revision, "bulk_update", json!({"operations": epics(300)}));
            assert_eq!(told[0], (1.0, Some(300.0)), "{revision}: {told:?}");
            assert_eq!(told.last(), Some(&(300.0, Some(300.0))), "{revision}: {told:?}");
            assert_eq!(result["isError"], false, "{result}");

            let (told, result) =
                follow(&mut bridge, revision, "export", json!({"format": "csv", "max_tokens": 1_000_000}));
            let (n_done, n_total) = *told.last().expect("progress");
            assert_eq!(n_total, Some(n_done), "{told:?}");
            let text = result["content"][0]["text"].as_str().expect("a text");
            let file: Value = serde_json::from_str(text).expect("JSON");
            let arguments = json!({"format": "csv", "content": file["content"]});
            let (told, _) = follow(&mut bridge, revision, "import", arguments);
            let (n_done, n_total) = *told.last().expect("progress");
            assert_eq!(n_total, Some(n_done), "{told:?}");
        }
        assert_eq!(server.get("/epics").json["total_count"], 900);
    });
}

#[test]
fn the_server_is_asked_for_progress_only_when_the_host_asks() {
    let server = StandIn::start();
    let mut bridge = ready(&server.url, "2025-11-25");
    let call = |meta: Value| json!({"name": "wait", "arguments": {"ms": 0}, "_meta": meta});
    bridge.request(1, "tools/call", call(json!({})));
    bridge.request(2, "tools/call", call(json!({"progressToken": "mine"})));
    let requests = server.requests("tools/call");
    let token = |index: usize| requests[index].json()["params"]["_meta"]["progressToken"].clone();
    assert_eq!(token(0), Value::Null);
    assert!(token(1).is_string() && token(1) != "mine", "a token of its own: {}", token(1));
    assert_eq!(requests[1].header("accept"), "application/json, text/event-stream");
    for request in server.requests("tools/list") {
        assert_eq!(
            request.json()["params"]["_meta"]["progressToken"],
            Value::Null,
            "that is another request"
        );
    }
}

/// As large as a stream's message may not be where it has to be gathered.
#[test]
fn an_answer_of_any_size_may_follow_progress() {
    on_sqlite(&[], &[], |server, _| {
        // Nothing that would be found by a search: only its length matters.
        let text = "- ".repeat(24_000);
        for _ in 0..2 {
            let step = json!({"operation": "create_epic", "arguments": {"title": "Typed", "priority": 1, "description": text}});
            let made = server.send("POST", "/bulk", &json!({"operations": vec![step; 150]}));
            assert_eq!(made.status, 200, "{}", made.text);
        }
        let exported = server.get("/export?format=json").text;
        assert!(exported.len() > mcp::MESSAGE_BYTES_MAX, "{} bytes", exported.len());
        let mut bridge = start(server, "2025-11-25");
        bridge.request("warm", "tools/list", json!({}));
        let before = peak_memory_kib(bridge.child.id());
        let (told, result) =
            follow(&mut bridge, "2025-11-25", "export", json!({"format": "json", "max_tokens": 100_000_000}));
        let peak = peak_memory_kib(bridge.child.id());
        assert!(told.len() > 1, "{told:?}");
        // It holds the file twice, and would be held several times if it were gathered.
        assert!(peak - before < 24 * 1024, "{before} KiB became {peak} KiB");
        assert!(json_of(&result)["content"] == exported, "the file is not what the server exports");
    });
}

#[test]
fn a_stream_that_breaks_is_answered_once_and_nothing_is_written_twice() {
    on_every_store(|server| {
        let proxy = FaultProxy::start(&server.url);
        // No more than the worst plan needs: while the server is busy with the call that was cut off, asking is no retry.
        let settings =
            [("MCP_PAT_TOKEN", server.token.as_str()), ("MCP_TOOLSETS", "bulk"), ("MCP_MAX_RETRIES", "2")];
        let mut bridge = Serving::spawn(command(&proxy.url, &settings));
        bridge.handshake("2025-11-25");
        bridge.request("tools", "tools/list", json!({}));
        let plans: [&[Fault]; 6] = [
            &[Fault::CutStream(1)],
            &[Fault::CutStream(2)],
            &[Fault::CutStream(1), Fault::LoseAnswer],
            &[Fault::LoseAnswer],
            &[Fault::CutAnswer(400)],
            &[Fault::Status(503, None), Fault::CutStream(1)],
        ];
        for (index, plan) in plans.iter().enumerate() {
            proxy.plan(plan.iter().copied());
            let n_before = proxy.n_requests();
            let operations = json!({"operations": epics(100)});
            let (_, result) = follow(&mut bridge, "2025-11-25", "bulk_update", operations);
            assert_eq!(result["isError"], false, "{plan:?}: {result}");
            assert!(proxy.n_requests() - n_before > plan.len(), "{plan:?}: it was not asked again");
            assert_eq!(server.get("/epics").json["total_count"], 100 * (index + 1), "{plan:?}");
        }
        let (status, rest, _) = bridge.end();
        let answers = rest.iter().filter(|line| line.contains("\"id\":"));
        assert!(status.success());
        assert_eq!(answers.count(), 0, "an answer came twice: {rest:?}");
    });
}

/// Starts the bridge before a server, with the tools for much at once.
fn start(server: &Backend, revision: &str) -> Serving {
    let settings = [("MCP_PAT_TOKEN", server.token.as_str()), ("MCP_TOOLSETS", "bulk")];
    let mut bridge = Serving::spawn(command(&server.url, &settings));
    if revision != "2026-07-28" {
        bridge.handshake(revision);
    }
    bridge
}

/// Calls a tool. Returns how far it was of how much each time that was told, which only grows, and the result.
#[track_caller]
fn follow(
    bridge: &mut Serving,
    revision: &str,
    tool: &str,
    arguments: Value,
) -> (Vec<(f64, Option<f64>)>, Value) {
    let mut meta = if revision == "2026-07-28" { stateless() } else { json!({}) };
    meta["progressToken"] = json!("how far?");
    let params = json!({"name": tool, "arguments": arguments, "_meta": meta});
    bridge
        .send(&json!({"jsonrpc": "2.0", "id": "long", "method": "tools/call", "params": params}).to_string());
    let mut told: Vec<(f64, Option<f64>)> = Vec::new();
    loop {
        let message = bridge.receive();
        if message["id"] == "long" {
            assert!(message["result"].is_object(), "{tool}: {message}");
            return (told, message["result"].clone());
        }
        if message["method"] == "notifications/progress" {
            let params = &message["params"];
            assert_eq!(params["progressToken"], "how far?", "{message}");
            let n_done = params["progress"].as_f64().expect("a number");
            assert!(told.last().is_none_or(|(last, _)| *last < n_done), "{told:?}, then {n_done}");
            told.push((n_done, params["total"].as_f64()));
        }
    }
}

fn epics(n: usize) -> Vec<Value> {
    let step = json!({"operation": "create_epic", "arguments": {"title": "Checkout", "priority": 1}});
    vec![step; n]
}
