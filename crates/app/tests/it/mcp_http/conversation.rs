//! One conversation with everything in it, in each revision.

use serde_json::{Value, json};

use super::agent::{Agent, HANDSHAKES, STATELESS, initialize};
use crate::backend::{Backend, on_every_store, on_sqlite};

//@= spexus://REQ-055
//@= type=test
//@# 002 R4.1: resources/list returns direct resources
//@= spexus://REQ-056
//@= type=test
//@# 002 R4.2: each resource has uri, name, description and mimeType
//@= spexus://REQ-058
//@= type=test
//@# 002 R4.4: resources/read takes a URI and asks the backend
//@= spexus://REQ-061
//@= type=test
//@# 002 R4.7: hierarchies have URIs
//@= spexus://REQ-064
//@= type=test
//@# 002 R5.1: resources/templates/list returns templates
//@= spexus://REQ-065
//@= type=test
//@# 002 R5.2: each template has uriTemplate, name, description and mimeType
//@= spexus://REQ-069
//@= type=test
//@# 002 R5.6: parameters are filled in, and the backend is asked
//@= spexus://REQ-072
//@= type=test
//@# 002 R6.1: tools/list returns all tools with schemas
//@= spexus://REQ-073
//@= type=test
//@# 002 R6.2: each tool has name, description and inputSchema
//@= spexus://REQ-078
//@= type=test
//@# 002 R6.7: a result has a content array
//@= spexus://REQ-086
//@= type=test
//@# 002 R7.5: results of a search are content
//@= spexus://REQ-090
//@= type=test
//@# 002 R7.9: a search without results answers an empty list with a message
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
//@= spexus://REQ-101
//@= type=test
//@# 002 R9.1: there is POST /api/v1/mcp
//@= spexus://REQ-105
//@= type=test
//@# 002 R9.5: a valid token acts for its owner
//@= spexus://REQ-106
//@= type=test
//@# 002 R9.6: the method decides what is done
//@= spexus://REQ-107
//@= type=test
//@# 002 R9.7: resources/read returns the entity
//@= spexus://REQ-108
//@= type=test
//@# 002 R9.8: tools/call does what the tool says
//@= spexus://REQ-109
//@= type=test
//@# 002 R9.9: prompts/get gathers context
//@= spexus://REQ-112
//@= type=test
//@# 002 R10.1: resources/read is routed
//@= spexus://REQ-113
//@= type=test
//@# 002 R10.2: tools/call is routed
//@= spexus://REQ-114
//@= type=test
//@# 002 R10.3: prompts/get is routed
//@= spexus://REQ-115
//@= type=test
//@# 002 R10.4: a routed request carries the user who asks
//@= spexus://REQ-117
//@= type=test
//@# 002 R10.6: URI schemes are understood
//@= spexus://REQ-118
//@= type=test
//@# 002 R10.7: tools are operations
//@= spexus://REQ-119
//@= type=test
//@# 002 R10.8: prompts load their entities
//@= spexus://REQ-125
//@= type=test
//@# 002 R11.4: answers carry jsonrpc and the same id
//@= spexus://REQ-126
//@= type=test
//@# 002 R11.5: success has a result
#[test]
fn every_method_answers_in_every_revision() {
    on_every_store(|backend| {
        for revision in HANDSHAKES.into_iter().chain([STATELESS]) {
            converse(backend, revision);
        }
    });
}

fn converse(backend: &Backend, revision: &'static str) {
    let agent = Agent::ready(backend, revision);
    if agent.is_stateless() {
        let discovered = agent.result("server/discover", json!({}));
        assert_eq!(discovered["supportedVersions"].as_array().map(Vec::len), Some(5), "{discovered}");
        check_capabilities(&discovered["capabilities"], true);
    } else {
        assert_eq!(agent.result("ping", json!({})), json!({}));
    }

    let tools = agent.result("tools/list", json!({}));
    let tools = tools["tools"].as_array().expect("tools");
    assert!(tools.iter().any(|tool| tool["name"] == "create_epic"), "{tools:?}");
    assert!(
        tools.iter().all(|tool| tool["inputSchema"]["type"] == "object" && !tool["description"].is_null())
    );

    let title = format!("Said in {revision}");
    let epic = agent.call("create_epic", json!({"title": title, "priority": 2}));
    let reference = epic["reference_id"].as_str().expect("a reference").to_owned();
    let story =
        agent.call("create_user_story", json!({"epic_id": reference, "title": "Speak", "priority": 1}));
    let found = agent.call("search_global", json!({"query": title}));
    assert!(found.to_string().contains(&reference), "{found}");
    let nothing = agent.call("search_global", json!({"query": "xyzzyplugh"}));
    assert!(nothing["message"].is_string(), "{nothing}");

    let listed = agent.result("resources/list", json!({}));
    let resources = listed["resources"].as_array().expect("resources");
    let uri = format!("epic://{reference}");
    let ours = resources.iter().find(|resource| resource["uri"] == uri.as_str()).expect("the epic is listed");
    assert!(["name", "description", "mimeType"].iter().all(|key| ours[key].is_string()), "{ours}");
    let templates = agent.result("resources/templates/list", json!({}));
    assert_eq!(templates["resourceTemplates"].as_array().map(Vec::len), Some(3), "{templates}");
    assert_eq!(read(&agent, &uri)["title"], title.as_str());
    let tree = read(&agent, &format!("{uri}/hierarchy"));
    assert!(tree.to_string().contains(story["reference_id"].as_str().expect("a reference")), "{tree}");
    let list = read(&agent, "epics://list?status=backlog&priority=2");
    assert!(list.to_string().contains(&reference), "{list}");

    let prompts = agent.result("prompts/list", json!({}));
    let prompts = prompts["prompts"].as_array().expect("prompts");
    let decompose = prompts.iter().find(|prompt| prompt["name"] == "decompose_epic").expect("it is listed");
    assert_eq!(decompose["arguments"][0]["required"], true, "{decompose}");
    let arguments = json!({"name": "decompose_epic", "arguments": {"epic_id": reference}});
    let prompt = agent.result("prompts/get", arguments);
    assert!(prompt["messages"].to_string().contains(&title), "{prompt}");
    let completion = json!({
        "ref": {"type": "ref/prompt", "name": "decompose_epic"},
        "argument": {"name": "epic_id", "value": &reference[..4]},
    });
    let completed = agent.result("completion/complete", completion);
    assert!(completed["completion"]["values"].to_string().contains(&reference), "{completed}");

    let refusals = [
        ("tools/call", json!({"name": "create_epic", "arguments": {"title": 5}})),
        ("tools/call", json!({"name": "create_epik", "arguments": {}})),
        ("resources/read", json!({"uri": "epic://EP-999"})),
        ("resources/read", json!({"uri": "nonsense"})),
        ("prompts/get", json!({"name": "decompose_epic"})),
        ("prompts/get", json!({"name": "nothing"})),
        ("no/such/method", json!({})),
    ];
    for (method, params) in refusals {
        let answer = agent.ask(method, params.clone());
        let is_error = answer.json.get("error").is_some() || answer.json["result"]["isError"] == true;
        assert!(is_error, "{revision} {method} {params}: {}", answer.text);
    }
}

//@= spexus://REQ-012
//@= type=test
//@# 001 R1.1: an initialize request gets a JSON-RPC 2.0 answer with all required fields
//@= spexus://REQ-013
//@= type=test
//@# 001 R1.2: a client that speaks 2025-03-26 is answered with this version
//@= spexus://REQ-014
//@= type=test
//@# 001 R1.3: serverInfo is "spexus mcp" with its title and version 1.0.0
//@= spexus://REQ-015
//@= type=test
//@# 001 R1.4: capabilities have prompts, resources and tools
//@= spexus://REQ-016
//@= type=test
//@# 001 R1.5: listChanged is true for all three
//@= spexus://REQ-017
//@= type=test
//@# 001 R2.1: every answer has jsonrpc 2.0
//@= spexus://REQ-018
//@= type=test
//@# 001 R2.2: the id of the request is returned unchanged
//@= spexus://REQ-019
//@= type=test
//@# 001 R2.3: the result object holds everything
//@= spexus://REQ-021
//@= type=test
//@# 001 R2.5: the answer is valid JSON
//@= spexus://REQ-022
//@= type=test
//@# 001 R3.1: instructions are a string
//@= spexus://REQ-023
//@= type=test
//@# 001 R3.2: instructions are comprehensive
//@= spexus://REQ-024
//@= type=test
//@# 001 R3.3: instructions guide to the tools
//@= spexus://REQ-025
//@= type=test
//@# 001 R3.4: instructions name the patterns of resources
//@= spexus://REQ-027
//@= type=test
//@# 001 R4.1: capabilities have the three sections
//@= spexus://REQ-028
//@= type=test
//@# 001 R4.2: listChanged is true for each
//@= spexus://REQ-029
//@= type=test
//@# 001 R4.3: resources can be subscribed to
//@= spexus://REQ-048
//@= type=test
//@# 002 R3.1: initialize is answered with capabilities
//@= spexus://REQ-049
//@= type=test
//@# 002 R3.2: resources have subscribe and listChanged
//@= spexus://REQ-050
//@= type=test
//@# 002 R3.3: tools are declared
//@= spexus://REQ-051
//@= type=test
//@# 002 R3.4: prompts are declared
//@= spexus://REQ-002
//@= type=test
//@# 000 fields: the answer has protocol version, capabilities, server info and instructions
#[test]
fn initialize_says_who_we_are_and_what_we_can_do() {
    on_every_store(|backend| {
        for revision in HANDSHAKES {
            let agent = Agent::new(backend, revision, &backend.token);
            let message = json!({"jsonrpc": "2.0", "id": "a b", "method": "initialize", "params": initialize(revision)});
            let answer = agent.exchange(&message, agent.request(&message));
            assert_eq!((&answer.json["jsonrpc"], &answer.json["id"]), (&json!("2.0"), &json!("a b")));
            let result = &answer.json["result"];
            assert_eq!(result["protocolVersion"], revision);
            let server = json!({
                "name": "spexus mcp",
                "title": "MCP server for requirements management system",
                "version": "1.0.0",
            });
            assert_eq!(result["serverInfo"], server, "{revision}");
            check_capabilities(&result["capabilities"], revision > "2024-11-05");
            let instructions = result["instructions"].as_str().expect("instructions are a string");
            for named in ["create_epic", "search_global", "epic://{id}", "requirements://search"] {
                assert!(instructions.contains(named), "{named} is explained: {instructions}");
            }
        }
    });
}

fn check_capabilities(capabilities: &Value, has_completions: bool) {
    let mut expected = json!({
        "prompts": {"listChanged": true},
        "resources": {"listChanged": true, "subscribe": true},
        "tools": {"listChanged": true},
    });
    if has_completions {
        expected["completions"] = json!({});
    }
    assert_eq!(*capabilities, expected);
}

/// What is said of the tools is what is there: fewer tools, fewer words.
//@= spexus://REQ-026
//@= type=test
//@# 001 R3.5: instructions change when the tools do
//@= spexus://REQ-030
//@= type=test
//@# 001 R4.4: capabilities are what the server can do
//@= spexus://REQ-031
//@= type=test
//@# 001 R4.5: what is declared is served
#[test]
fn instructions_follow_the_tools() {
    on_sqlite(&["--read-only"], &[], |backend, _| {
        let agent = Agent::handshake(backend, "2025-03-26");
        let instructions = agent.greeting["instructions"].as_str().expect("a string").to_owned();
        assert!(instructions.contains("search_global") && !instructions.contains("create_epic"));
    });
}

/// The active prompt is what agents are told, at once; without one, nothing.
//@= spexus://REQ-003
//@= type=test
//@# 000 instructions: instructions are description and content of the active prompt, and empty without one
//@= spexus://REQ-006
//@= type=test
//@# 000 cache: instructions follow the active prompt at once
#[test]
fn instructions_are_the_active_prompt() {
    on_every_store(|backend| {
        let told = || {
            let agent = Agent::handshake(backend, "2025-03-26");
            agent.greeting["instructions"].as_str().expect("a string").to_owned()
        };
        let body =
            json!({"name": "ours", "title": "Ours", "description": "House rules", "content": "Be brief."});
        let prompt = backend.create("/prompts", &body);
        let id = prompt["id"].as_str().expect("an id");
        let active = backend.send("PUT", &format!("/prompts/{id}/activate"), &json!({}));
        assert_eq!(active.status, 200, "{}", active.text);
        assert!(told().starts_with("House rules\n\nBe brief.\n\n"), "{}", told());
        let deleted = backend.send("DELETE", &format!("/prompts/{id}"), &json!({}));
        assert!(deleted.status < 300, "{}", deleted.text);
        assert_eq!(told(), "");
    });
}

#[track_caller]
fn read(agent: &Agent<'_>, uri: &str) -> Value {
    let result = agent.result("resources/read", json!({ "uri": uri }));
    let content = &result["contents"][0];
    assert_eq!((&content["uri"], &content["mimeType"]), (&json!(uri), &json!("application/json")));
    serde_json::from_str(content["text"].as_str().expect("a text")).expect("the text is JSON")
}
