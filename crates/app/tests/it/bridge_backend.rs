//! The whole way: a host, the bridge, a real `spexus serve` and its store.

use std::time::Duration;

use serde_json::{Value, json};

use crate::{
    backend::{Backend, on_every_store, on_sqlite},
    bridge::command,
    fault_proxy::{Fault, FaultProxy},
    process::Serving,
};

/// Starts the bridge before a server and goes through the handshake.
fn ready(server: &Backend, url: &str, revision: &str) -> Serving {
    let mut bridge = Serving::spawn(command(url, &[("MCP_PAT_TOKEN", &server.token)]));
    bridge.handshake(revision);
    bridge
}

#[track_caller]
fn call(bridge: &mut Serving, name: &str, arguments: Value) -> Value {
    let answer = ask(bridge, "tools/call", json!({"name": name, "arguments": arguments}));
    assert_eq!(answer["result"]["isError"], false, "{name}: {answer}");
    answer["result"]["structuredContent"].clone()
}

/// Sends a request and returns its answer. What is told of changes meanwhile is passed over.
#[track_caller]
pub fn ask(bridge: &mut Serving, method: &str, params: Value) -> Value {
    bridge.send(&json!({"jsonrpc": "2.0", "id": "asked", "method": method, "params": params}).to_string());
    loop {
        let message = bridge.receive();
        if message["id"] == "asked" {
            return message;
        }
    }
}

#[test]
fn an_agent_works_through_the_bridge() {
    on_every_store(|server| {
        let mut bridge = Serving::spawn(command(&server.url, &[("MCP_PAT_TOKEN", &server.token)]));
        let answer = bridge.handshake("2025-06-18");
        assert!(
            answer["result"]["instructions"].as_str().is_some_and(|text| text.contains("create_epic")),
            "{answer}"
        );
        let listed = ask(&mut bridge, "tools/list", json!({}))["result"]["tools"].take();
        let names: Vec<&str> =
            listed.as_array().expect("tools").iter().filter_map(|tool| tool["name"].as_str()).collect();
        for name in [
            "create_epic",
            "update_epic",
            "create_user_story",
            "update_user_story",
            "create_requirement",
            "update_requirement",
            "create_relationship",
            "search_global",
            "search_requirements",
            "status_report",
            "hierarchy_analysis",
        ] {
            assert!(names.contains(&name), "[002 R6.5] [002 R6.6] [002 R7.1] [002 R7.2] [002 R7.6]: {name}");
        }
        let epic = call(&mut bridge, "create_epic", json!({"title": "Checkout", "priority": 1}));
        assert_eq!(epic["reference_id"], "EP-001", "[002 R16.3]");
        let story = json!({"epic_id": "EP-001", "title": "Pay by card", "priority": 2});
        call(&mut bridge, "create_user_story", story);
        let requirement = json!({"user_story_id": "US-001", "title": "Card numbers are masked", "type_id": "Functional", "priority": 1});
        call(&mut bridge, "create_requirement", requirement);
        let found = call(&mut bridge, "search_global", json!({"query": "masked card"}));
        assert_eq!(found["data"][0]["reference_id"], "REQ-001", "[002 R7.5]: {found}");
        let stored = server.get("/epics/EP-001");
        assert_eq!(stored.json["title"], "Checkout", "{}", stored.text);

        let read = ask(&mut bridge, "resources/read", json!({"uri": "epic://EP-001/hierarchy"}));
        let text = read["result"]["contents"][0]["text"].as_str().expect("[002 R4.7]");
        assert!(text.contains("US-001") && text.contains("REQ-001"), "[002 R4.7]: {text}");
        let params = json!({"name": "decompose_epic", "arguments": {"epic_id": "EP-001"}});
        let prompt = ask(&mut bridge, "prompts/get", params);
        assert!(
            prompt["result"]["messages"].to_string().contains("Pay by card"),
            "[002 R8.4] [002 R8.8]: {prompt}"
        );
        let params = json!({"ref": {"type": "ref/prompt", "name": "decompose_epic"}, "argument": {"name": "epic_id", "value": "EP"}});
        let completed = ask(&mut bridge, "completion/complete", params);
        assert_eq!(completed["result"]["completion"]["values"], json!(["EP-001"]));
        let templates = ask(&mut bridge, "resources/templates/list", json!({}));
        assert_eq!(
            templates["result"]["resourceTemplates"].as_array().map(Vec::len),
            Some(3),
            "[002 R5.3] [002 R5.4] [002 R5.5]"
        );
    });
}

#[test]
fn refusals_of_the_server_reach_the_host_in_its_own_words() {
    on_sqlite(&[], &[], |server, _| {
        let mut older = ready(server, &server.url, "2025-06-18");
        let mut newer = ready(server, &server.url, "2025-11-25");
        for (name, arguments, code, kind) in [
            ("get_entity", json!({"reference": "EP-999"}), -32002, "RESOURCE_NOT_FOUND"),
            ("create_epic", json!({"title": " ", "priority": 1}), -32602, "INVALID_ARGUMENTS"),
            ("search_global", json!({"query": " "}), -32602, "INVALID_ARGUMENTS"),
        ] {
            let params = json!({"name": name, "arguments": arguments});
            let answer = older.request(1, "tools/call", params.clone());
            assert_eq!(answer["error"]["code"], code, "[002 R6.8] [002 R7.8] {name}: {answer}");
            assert_eq!(answer["error"]["data"]["code"], kind, "{answer}");
            let answer = newer.request(1, "tools/call", params);
            assert_eq!(answer["result"]["isError"], true, "{answer}");
            assert_eq!(answer["result"]["structuredContent"]["code"], kind);
        }
        let answer = newer.request(2, "resources/read", json!({"uri": "epic://EP-999"}));
        assert_eq!(answer["error"]["code"], -32002, "[002 R4.8]: {answer}");
        let answer = newer.request(3, "resources/read", json!({"uri": "epics://list?state=x"}));
        assert_eq!(answer["error"]["code"], -32602, "[002 R5.7]: {answer}");

        let body = json!({"name": "to read", "scopes": ["read"]});
        let reader = server.create("/tokens", &body)["token"].as_str().expect("a token").to_owned();
        let mut bridge = Serving::spawn(command(&server.url, &[("MCP_PAT_TOKEN", &reader)]));
        bridge.handshake("2025-06-18");
        let params = json!({"name": "create_epic", "arguments": {"title": "No", "priority": 1}});
        let answer = bridge.request(4, "tools/call", params);
        assert_eq!(answer["error"]["code"], -32003, "[002 R12.3] [002 R12.4]: {answer}");
        let mut stranger = Serving::spawn(command(&server.url, &[]));
        stranger.handshake("2025-06-18");
        let answer = stranger.request(5, "tools/list", json!({}));
        assert_eq!(answer["error"]["code"], -32001, "[002 R12.6]: {answer}");
    });
}

#[test]
fn changes_in_the_store_reach_the_host() {
    on_every_store(|server| {
        server.create("/epics", &json!({"title": "Checkout", "priority": 1}));
        let mut bridge = ready(server, &server.url, "2025-06-18");
        // In another spelling than the server's own: the host hears of it in its own.
        let uri = "epic://ep-1";
        assert_eq!(bridge.request(1, "resources/subscribe", json!({ "uri": uri }))["result"], json!({}));
        let changed = server.send("PATCH", "/epics/EP-001", &json!({"title": "Check-out"}));
        assert_eq!(changed.status, 200, "{}", changed.text);
        let heard = bridge.receive();
        assert_eq!(heard["method"], "notifications/resources/updated", "{heard}");
        assert_eq!(heard["params"]["uri"], uri);
        server.create("/epics", &json!({"title": "Returns", "priority": 2}));
        assert_eq!(bridge.receive()["method"], "notifications/resources/list_changed");
    });
}

#[test]
fn what_is_tried_again_is_stored_once() {
    on_every_store(|server| {
        let proxy = FaultProxy::start(&server.url);
        let mut bridge = ready(server, &proxy.url, "2025-06-18");
        bridge.request("tools", "tools/list", json!({}));
        let plans: [&[Fault]; 5] = [
            &[Fault::LoseAnswer],
            &[Fault::CutAnswer(100)],
            &[Fault::LoseAnswer, Fault::LoseAnswer],
            &[Fault::Status(502, None), Fault::CutAnswer(400)],
            &[Fault::Dawdle(Duration::from_millis(1))],
        ];
        for (index, plan) in plans.iter().enumerate() {
            proxy.plan(plan.iter().copied());
            let epic =
                call(&mut bridge, "create_epic", json!({"title": format!("Epic {index}"), "priority": 1}));
            assert_eq!(epic["reference_id"], format!("EP-{:03}", index + 1), "[002 R13.4] {plan:?}");
        }
        assert_eq!(server.get("/epics").json["total_count"], plans.len(), "something was stored twice");
    });
}
