//! One conversation with everything in it, in each revision.

use serde_json::{Value, json};

use super::agent::{Agent, HANDSHAKES, STATELESS, initialize};
use crate::backend::{Backend, on_every_store, on_sqlite};

/// [002 R4.1, R4.2, R4.4, R4.7] [002 R5.1, R5.2, R5.6] [002 R6.1, R6.2, R6.7] [002 R7.5, R7.9] [002 R8.1, R8.2, R8.3, R8.7]
/// [002 R9.1, R9.5, R9.6, R9.7, R9.8, R9.9] [002 R10.1, R10.2, R10.3, R10.4, R10.6, R10.7, R10.8] [002 R11.4, R11.5]
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

/// [001 R1.1, R1.2, R1.3, R1.4, R1.5] [001 R2.1, R2.2, R2.3, R2.5] [001 R3.1, R3.2, R3.3, R3.4] [001 R4.1, R4.2, R4.3]
/// [002 R3.1, R3.2, R3.3, R3.4] [000 fields]
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

/// [001 R3.5, R4.4, R4.5] What is said of the tools is what is there: fewer tools, fewer words.
#[test]
fn instructions_follow_the_tools() {
    on_sqlite(&["--read-only"], &[], |backend, _| {
        let agent = Agent::handshake(backend, "2025-03-26");
        let instructions = agent.greeting["instructions"].as_str().expect("a string").to_owned();
        assert!(instructions.contains("search_global") && !instructions.contains("create_epic"));
    });
}

/// The active prompt is what agents are told, at once; without one, nothing. [000 instructions, cache]
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
