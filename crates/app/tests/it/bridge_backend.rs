//! The whole way: a host, the bridge, a real `spexus serve` and its store.

use std::time::Duration;

use serde_json::{Value, json};

use crate::{
    agent::{column, json_of},
    backend::{Backend, on_every_store, on_sqlite},
    bridge::{command, stateless},
    fault_proxy::{Fault, FaultProxy},
    mcp_http::tools::DAILY,
    process::Serving,
    server::wait_until,
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
    json_of(&answer["result"])
}

/// Sends a request and returns its answer. What is told of changes meanwhile is passed over.
#[track_caller]
pub fn ask(bridge: &mut Serving, method: &str, params: Value) -> Value {
    ask_as(bridge, json!("asked"), method, params)
}

/// The same, under an id.
#[track_caller]
fn ask_as(bridge: &mut Serving, id: Value, method: &str, params: Value) -> Value {
    bridge.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string());
    loop {
        let message = bridge.receive();
        if message["id"] == id {
            return message;
        }
    }
}

//@= spexus://REQ-076
//@= type=test
//@# 002 R6.5: there are tools for epics and user stories
//@= spexus://REQ-077
//@= type=test
//@# 002 R6.6: there are tools for requirements and relationships
//@= spexus://REQ-082
//@= type=test
//@# 002 R7.1: search_global searches everything
//@= spexus://REQ-083
//@= type=test
//@# 002 R7.2: search_requirements searches requirements
//@= spexus://REQ-087
//@= type=test
//@# 002 R7.6: there are a status report and a hierarchy analysis
//@= spexus://REQ-167
//@= type=test
//@# 002 R16.3: tests cover the whole way from stdio to the backend
//@= spexus://REQ-086
//@= type=test
//@# 002 R7.5: results of a search are content
//@= spexus://REQ-061
//@= type=test
//@# 002 R4.7: hierarchies have URIs
//@= spexus://REQ-094
//@= type=test
//@# 002 R8.4: the context of a prompt comes from the backend
//@= spexus://REQ-098
//@= type=test
//@# 002 R8.8: entities stand in the text of a prompt
//@= spexus://REQ-066
//@= type=test
//@# 002 R5.3: a template filters epics by status and priority
//@= spexus://REQ-067
//@= type=test
//@# 002 R5.4: a template filters user stories by epic and status
//@= spexus://REQ-068
//@= type=test
//@# 002 R5.5: a template filters requirements by query and type
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

//@= spexus://REQ-079
//@= type=test
//@# 002 R6.8: a failing tool is a JSON-RPC error with details
//@= spexus://REQ-089
//@= type=test
//@# 002 R7.8: a malformed query is a validation error
//@= spexus://REQ-062
//@= type=test
//@# 002 R4.8: a resource that is not found is error -32002
//@= spexus://REQ-070
//@= type=test
//@# 002 R5.7: invalid parameters are a validation error
//@= spexus://REQ-133
//@= type=test
//@# 002 R12.3: operations have the owner's rights
//@= spexus://REQ-134
//@= type=test
//@# 002 R12.4: missing rights are answered with 403
//@= spexus://REQ-136
//@= type=test
//@# 002 R12.6: an expired token is rejected
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
            assert_eq!(answer["result"]["_meta"]["spexus/error"]["code"], kind);
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

/// What the server leaves out of its acknowledgement, the bridge does as well.
#[test]
fn a_stateless_host_is_told_what_it_will_hear_of() {
    on_sqlite(&[], &[], |server, _| {
        server.create("/epics", &json!({"title": "Checkout", "priority": 1}));
        let mut bridge = Serving::spawn(command(&server.url, &[("MCP_PAT_TOKEN", &server.token)]));
        let params = stateless(json!({"notifications": {
            "resourcesListChanged": true,
            "resourceSubscriptions": ["epic://EP-404", "epic://EP-001", "tale://1"],
        }}));
        let listen = json!({"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": params});
        bridge.send(&listen.to_string());
        let first = bridge.receive();
        assert_eq!(first["method"], "notifications/subscriptions/acknowledged", "{first}");
        let expected = json!({"resourcesListChanged": true, "resourceSubscriptions": ["epic://EP-001"]});
        assert_eq!(first["params"]["notifications"], expected);
        let changed = server.send("PATCH", "/epics/EP-001", &json!({"title": "Till"}));
        assert_eq!(changed.status, 200, "{}", changed.text);
        let heard = bridge.receive();
        assert_eq!(heard["params"]["uri"], "epic://EP-001", "{heard}");
    });
}

/// The bridge holds nothing that its end would lose. One is killed in the middle of a call, and another goes on.
#[test]
fn a_new_bridge_goes_on_where_another_was_lost() {
    on_every_store(|server| {
        let proxy = FaultProxy::start(&server.url);
        let mut lost = ready(server, &proxy.url, "2025-06-18");
        let create = json!({"name": "create_epic", "arguments": {"title": "Checkout", "priority": 1}});
        let made = ask_as(&mut lost, json!(1), "tools/call", create.clone());
        assert_eq!(json_of(&made["result"])["reference_id"], "EP-001", "{made}");
        let uri = json!({"uri": "epic://EP-001"});
        assert_eq!(ask(&mut lost, "resources/subscribe", uri.clone())["result"], json!({}));
        // Whoever listens keeps the tools, so that the next request is the call.
        ask(&mut lost, "tools/list", json!({}));
        let arguments = json!({"epic_id": "EP-001", "title": "Check-out", "expected_version": 1});
        let update = json!({"name": "update_epic", "arguments": arguments});
        // It is written, the answer never comes, and neither does that of the retry.
        proxy.plan([Fault::LoseAnswer, Fault::Hang]);
        lost.send(&json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": update}).to_string());
        wait_until("the change", || server.get("/epics/EP-001").json["version"] == 2);
        lost.child.kill().expect("it runs");

        let mut bridge = ready(server, &server.url, "2025-06-18");
        let read = ask(&mut bridge, "resources/read", uri.clone());
        let text = read["result"]["contents"][0]["text"].as_str().expect("a text");
        assert!(text.contains("Check-out"), "{text}");
        // The host repeats what was not answered, under the same id, and learns that it happened.
        let again = ask_as(&mut bridge, json!(2), "tools/call", update);
        assert_eq!(again["error"]["code"], -32004, "{again}");
        assert!(again["error"].to_string().contains("\"version\":2"), "the state as it is: {again}");
        assert_eq!(server.get("/epics/EP-001").json["version"], 2);
        // Every host counts its requests from the same number: another one's request 1 is another request.
        let second = ask_as(&mut bridge, json!(1), "tools/call", create);
        assert_eq!(json_of(&second["result"])["reference_id"], "EP-002", "{second}");

        assert_eq!(ask(&mut bridge, "resources/subscribe", uri.clone())["result"], json!({}));
        let changed = server.send("PATCH", "/epics/EP-001", &json!({"title": "Till"}));
        assert_eq!(changed.status, 200, "{}", changed.text);
        loop {
            let heard = bridge.receive();
            if heard["method"] == "notifications/resources/updated" {
                assert_eq!(heard["params"]["uri"], uri["uri"]);
                break;
            }
        }
    });
}

//@= spexus://REQ-142
//@= type=test
//@# 002 R13.4: a backend that is away is tried again, with growing pauses
#[test]
fn a_retried_write_is_stored_once() {
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

//@= spexus://REQ-057
//@= type=test
//@# 002 R4.3: there are four URI schemes
//@= spexus://REQ-069
//@= type=test
//@# 002 R5.6: parameters are filled in, and the backend is asked
//@= spexus://REQ-071
//@= type=test
//@# 002 R5.8: an empty result is an empty array with a message
//@= spexus://REQ-084
//@= type=test
//@# 002 R7.3: search_global finds what GET /api/v1/search finds
//@= spexus://REQ-085
//@= type=test
//@# 002 R7.4: search_requirements takes filters
//@= spexus://REQ-090
//@= type=test
//@# 002 R7.9: a search without results answers an empty list with a message
//@= spexus://REQ-088
//@= type=test
//@# 002 R7.7: reports count what is stored
//@= spexus://REQ-095
//@= type=test
//@# 002 R8.5: prompts analyze quality, suggest criteria and identify dependencies
//@= spexus://REQ-096
//@= type=test
//@# 002 R8.6: prompts generate stories, decompose epics and suggest tests
//@= spexus://REQ-100
//@= type=test
//@# 002 R8.10: context that cannot be loaded is an error with details
#[test]
fn every_kind_of_resource_search_and_prompt_works_through_the_bridge() {
    on_sqlite(&[], &[], |server, _| {
        let mut bridge = ready(server, &server.url, "2025-06-18");
        call(&mut bridge, "create_epic", json!({"title": "Checkout", "priority": 1}));
        call(
            &mut bridge,
            "create_user_story",
            json!({"epic_id": "EP-001", "title": "Pay by card", "priority": 2}),
        );
        let criterion = json!({"user_story_id": "US-001", "description": "Given a card, when it is declined, then say so"});
        call(&mut bridge, "create_acceptance_criteria", criterion);
        for title in ["Card numbers are masked", "Card numbers are checked"] {
            let requirement =
                json!({"user_story_id": "US-001", "title": title, "type_id": "Functional", "priority": 1});
            call(&mut bridge, "create_requirement", requirement);
        }
        let mut read = |uri: &str| {
            let answer = ask(&mut bridge, "resources/read", json!({ "uri": uri }));
            let text =
                answer["result"]["contents"][0]["text"].as_str().unwrap_or_else(|| panic!("{uri}: {answer}"));
            serde_json::from_str::<Value>(text).expect("JSON")
        };
        for (uri, reference) in [
            ("epic://EP-001", "EP-001"),
            ("user-story://US-001", "US-001"),
            ("requirement://REQ-001", "REQ-001"),
            ("acceptance-criteria://AC-001", "AC-001"),
        ] {
            assert_eq!(read(uri)["reference_id"], reference, "[002 R4.3] {uri}");
        }
        for (uri, n_found) in [
            ("epics://list?status=Backlog&priority=1", 1),
            ("user-stories://list?epic_id=EP-001&status=", 1),
            ("requirements://search?query=masked&type=Functional", 1),
        ] {
            assert_eq!(read(uri)["total_count"], n_found, "[002 R5.6] {uri}");
        }
        let nothing = read("epics://list?status=Done&priority=4");
        assert_eq!(nothing["data"], json!([]), "[002 R5.8]");
        assert!(nothing["message"].is_string(), "[002 R5.8]: {nothing}");

        let references = |found: &Value| -> Vec<Value> {
            found["data"].as_array().expect("a list").iter().map(|hit| hit["reference_id"].clone()).collect()
        };
        let found = call(&mut bridge, "search_global", json!({"query": "card"}));
        assert_eq!(references(&found), references(&server.get("/search?query=card").json), "[002 R7.3]");
        let filters =
            json!({"query": "card numbers", "type": "Functional", "priority": [1], "epic_id": "EP-001"});
        let found = call(&mut bridge, "search_requirements", filters);
        assert_eq!(references(&found).len(), 2, "[002 R7.4]: {found}");
        let found = call(&mut bridge, "search_global", json!({"query": "xylophone"}));
        assert_eq!(found["data"], json!([]), "[002 R7.9]");
        assert!(found["message"].is_string(), "[002 R7.9]: {found}");
        let report = call(&mut bridge, "status_report", json!({"epic_id": "EP-001"}));
        assert!(report.to_string().contains("Draft"), "[002 R7.7]: {report}");

        let listed = ask(&mut bridge, "prompts/list", json!({}));
        for (name, arguments) in [
            ("analyze_requirement_quality", json!({"requirement_id": "REQ-001"})),
            ("suggest_acceptance_criteria", json!({"user_story_id": "US-001"})),
            ("identify_dependencies", json!({"requirement_id": "REQ-001"})),
            ("generate_user_story", json!({"epic_id": "EP-001"})),
            ("decompose_epic", json!({"epic_id": "EP-001"})),
            ("suggest_test_scenarios", json!({"requirement_id": "REQ-001"})),
        ] {
            assert!(
                listed.to_string().contains(&format!("\"{name}\"")),
                "[002 R8.5] [002 R8.6] {name}: {listed}"
            );
            let filled = ask(&mut bridge, "prompts/get", json!({"name": name, "arguments": arguments}));
            assert!(
                filled["result"]["messages"][0]["content"]["text"].is_string(),
                "[002 R8.5] [002 R8.6] {name}: {filled}"
            );
        }
        let params = json!({"name": "decompose_epic", "arguments": {"epic_id": "EP-999"}});
        let answer = ask(&mut bridge, "prompts/get", params);
        let message = answer["error"]["message"].as_str().expect("[002 R8.10] an error");
        assert!(message.contains("EP-999"), "[002 R8.10]: {message}");
    });
}

//@= spexus://REQ-174
//@= type=test
//@# 002 R17.1: the guide has an example for Claude Desktop
//@= spexus://REQ-175
//@= type=test
//@# 002 R17.2: the guide says how to get a token
//@= spexus://REQ-178
//@= type=test
//@# 002 R17.5: the guide has scenarios for the prompts
//@= spexus://REQ-179
//@= type=test
//@# 002 R17.6: the guide has common tasks
//@= spexus://REQ-180
//@= type=test
//@# 002 R17.7: the guide has common errors and what to do
//@= spexus://REQ-176
//@= type=test
//@# 002 R17.3: the guide lists the URI schemes
//@= spexus://REQ-181
//@= type=test
//@# 002 R17.8: the guide is kept up to date
#[test]
fn the_guide_names_what_there_is() {
    let guide = include_str!("../../../../docs/guide/bridge.md");
    for name in ["claude_desktop_config.json", "\"mcpServers\"", "\"env\""] {
        assert!(guide.contains(name), "[002 R17.1] {name}");
    }
    for name in ["requirements-mcp-server init", "spexus token create", "MCP_PAT_TOKEN"] {
        assert!(guide.contains(name), "[002 R17.2] {name}");
    }
    for name in ["create_epic", "search_requirements", "decompose_epic"] {
        assert!(guide.contains(name), "[002 R17.5] [002 R17.6] {name}");
    }
    for code in -32007..=-32000 {
        assert!(guide.contains(&code.to_string()), "[002 R17.7] {code}");
    }
    on_sqlite(&[], &[], |server, _| {
        let mut bridge = ready(server, &server.url, "2025-06-18");
        let templates = ask(&mut bridge, "resources/templates/list", json!({}));
        for template in templates["result"]["resourceTemplates"].as_array().expect("templates") {
            let template = template["uriTemplate"].as_str().expect("text");
            assert!(guide.contains(template), "[002 R17.3] [002 R17.8] {template}");
        }
        for scheme in
            ["epic", "user-story", "requirement", "acceptance-criteria", "steering-document", "prompt"]
        {
            assert!(guide.contains(&format!("`{scheme}://{{id}}`")), "[002 R17.3] {scheme}");
        }
        let prompts = ask(&mut bridge, "prompts/list", json!({}));
        let prompts = prompts["result"]["prompts"].as_array().expect("prompts").clone();
        let names: Vec<&str> = prompts.iter().filter_map(|prompt| prompt["name"].as_str()).collect();
        let built_in = names.iter().filter(|name| name.contains('_'));
        for name in built_in {
            assert!(guide.contains(name), "[002 R17.5] [002 R17.8] {name}");
        }
    });
}

#[test]
fn the_host_is_shown_the_tools_that_were_chosen() {
    on_sqlite(&[], &[], |server, _| {
        let settings = [("MCP_PAT_TOKEN", server.token.as_str()), ("MCP_TOOLSETS", "comments, bulk")];
        let mut bridge = Serving::spawn(command(&server.url, &settings));
        bridge.handshake("2025-11-25");
        let listed = ask(&mut bridge, "tools/list", json!({})).to_string();
        assert!(listed.contains("\"bulk_update\"") && !listed.contains("\"create_epic\""), "{listed}");
        let told = ask(&mut bridge, "tools/call", json!({"name": "get_history", "arguments": {}}));
        let told = told["result"]["content"][0]["text"].as_str().unwrap_or_default();
        assert!(told.contains("in the tool set requirements") && told.contains("MCP_TOOLSETS="), "{told}");
    });
}

//@= spexus://REQ-081
//@= type=test
//@# 002 R6.10: arguments that do not fit are rejected before the backend is called
#[test]
fn tools_that_the_server_does_not_list_work_through_the_bridge() {
    on_sqlite(&[], &[], |server, _| {
        let mut bridge = ready(server, &server.url, "2025-11-25");
        let listed = ask(&mut bridge, "tools/list", json!({}))["result"]["tools"].take();
        assert_eq!(column(&listed, "name"), DAILY);
        assert!(!listed.to_string().contains("_meta"), "{listed}");
        call(&mut bridge, "list_types", json!({}));
        let wrong =
            ask(&mut bridge, "tools/call", json!({"name": "get_history", "arguments": {"depth": "x"}}));
        let told = wrong["result"]["content"][0]["text"].as_str().unwrap_or_default();
        assert!(told.contains("- reference: is required") && told.contains("- depth: unknown"), "{wrong}");
        let log = server.log_with("tool=list_types");
        assert!(!log.contains("tool=get_history"), "[002 R6.10] checked here, and not by the server: {log}");
    });
}

/// Of two servers, one only lets agents read, and one is asked with a token that may only read.
#[test]
fn who_may_only_read_is_told_so() {
    let epic = json!({"name": "create_epic", "arguments": {"title": "No", "priority": 1}});
    let refused = |server: &Backend, token: &str| {
        let mut bridge = Serving::spawn(command(&server.url, &[("MCP_PAT_TOKEN", token)]));
        let greeting = bridge.handshake("2025-11-25").to_string();
        let listed = ask(&mut bridge, "tools/list", json!({})).to_string();
        for told in [greeting, listed] {
            assert!(told.contains("get_entity") && !told.contains("create_epic"), "{told}");
        }
        let told = ask(&mut bridge, "tools/call", epic.clone());
        told["result"]["content"][0]["text"].as_str().expect("a reason").to_owned()
    };
    on_sqlite(&["--read-only"], &[], |server, _| {
        let told = refused(server, &server.token);
        assert_eq!(told, "create_epic changes things, and this server is read-only");
    });
    on_sqlite(&[], &[], |server, _| {
        let reader = server.create("/tokens", &json!({"name": "to read", "scopes": ["read"]}));
        let told = refused(server, reader["token"].as_str().expect("a token"));
        assert_eq!(told, "this needs the scope write, and the token has read");
    });
}
