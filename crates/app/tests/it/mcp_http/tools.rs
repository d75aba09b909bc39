//! What agents are shown, and calls that are sent twice.

use serde_json::{Value, json};

use super::agent::{Agent, STATELESS};
use super::refusals::check;
use crate::backend::{Answer, on_every_store, on_sqlite};

#[test]
fn the_same_key_writes_once() {
    on_every_store(|backend| {
        let agent = Agent::stateless(backend);
        let call = |title: &str, key: &str| -> Answer {
            let arguments = json!({"title": title, "priority": 1});
            let message = agent.message("tools/call", json!({"name": "create_epic", "arguments": arguments}));
            agent.exchange(&message, agent.request(&message).header("idempotency-key", key))
        };
        let first = call("Pay", "key-1");
        let again = call("Pay", "key-1");
        assert_eq!(first.json["result"]["structuredContent"], again.json["result"]["structuredContent"]);
        assert_ne!(first.json["id"], again.json["id"], "each answer has its own id");
        assert_eq!(call("Pay", "key-2").json["result"]["isError"], false);
        let other = call("Ship", "key-1");
        assert_eq!(other.json["result"]["isError"], true, "{}", other.text);
        let code = &other.json["result"]["structuredContent"]["error"];
        assert_eq!(code, "IDEMPOTENCY_KEY_REUSED", "{}", other.text);
        assert_eq!(backend.get("/epics").json["total_count"], 2);
    });
}

#[test]
fn a_request_chooses_its_tool_sets() {
    on_sqlite(&["--toolsets", "requirements,comments"], &[], |backend, _| {
        let agent = Agent::stateless(backend);
        let with = |sets: &str| {
            let message = agent.message("tools/list", json!({}));
            agent.exchange(&message, agent.request(&message).header("x-mcp-toolsets", sets))
        };
        let shown = names(&agent.result("tools/list", json!({})));
        assert!(
            shown.contains(&"create_epic".into()) && !shown.contains(&"list_steering_documents".into()),
            "{shown:?}"
        );
        let chosen = names(&with("Steering, prompts").json["result"]);
        assert!(
            !chosen.is_empty()
                && chosen.iter().all(|name| name.contains("steering") || name.contains("prompt")),
            "{chosen:?}"
        );
        for sets in ["nonsense", "", "requirements;comments"] {
            check(&with(sets), 400, -32602, "INVALID_PARAMS");
        }
        // A tool that is not shown cannot be called.
        let message = agent.message(
            "tools/call",
            json!({"name": "create_epic", "arguments": {"title": "No", "priority": 1}}),
        );
        let hidden = agent.exchange(&message, agent.request(&message).header("x-mcp-toolsets", "prompts"));
        assert_eq!(hidden.json["error"]["code"], -32602, "{}", hidden.text);
        assert_eq!(backend.get("/epics").json["total_count"], 0);
    });
}

#[test]
fn a_read_only_server_shows_and_runs_nothing_that_writes() {
    on_sqlite(&["--read-only"], &[], |backend, _| {
        backend.create("/epics", &json!({"title": "Pay", "priority": 1}));
        for revision in ["2025-06-18", STATELESS] {
            let agent = Agent::ready(backend, revision);
            let tools = agent.result("tools/list", json!({}));
            let tools = tools["tools"].as_array().expect("tools");
            assert!(
                tools.len() > 5 && tools.iter().all(|tool| tool["annotations"]["readOnlyHint"] == true),
                "{tools:?}"
            );
            agent.call("get_entity", json!({"reference": "EP-001"}));
            let refused = agent.ask(
                "tools/call",
                json!({"name": "create_epic", "arguments": {"title": "No", "priority": 1}}),
            );
            assert_eq!(refused.json["error"]["code"], -32602, "{}", refused.text);
        }
        assert_eq!(backend.get("/epics").json["total_count"], 1);
    });
}

/// [002 R6.5, R6.6, R7.1, R7.2, R7.6] [002 R8.5, R8.6] [002 R4.3, R5.3, R5.4, R5.5]
#[test]
fn all_that_was_promised_is_listed() {
    on_sqlite(&[], &[], |backend, _| {
        let agent = Agent::handshake(backend, "2025-06-18");
        let tools = names(&agent.result("tools/list", json!({})));
        for tool in [
            "create_epic",
            "update_epic",
            "create_user_story",
            "update_user_story",
            "create_acceptance_criteria",
            "update_acceptance_criteria",
            "create_requirement",
            "update_requirement",
            "create_relationship",
            "delete_relationship",
            "delete_entity",
            "get_entity",
            "list_entities",
            "search_global",
            "search_requirements",
            "status_report",
            "hierarchy_analysis",
            "impact_analysis",
            "get_history",
            "add_comment",
            "list_types",
        ] {
            assert!(tools.contains(&tool.to_owned()), "{tool} is not among {tools:?}");
        }
        let prompts = agent.result("prompts/list", json!({}));
        for prompt in [
            "analyze_requirement_quality",
            "suggest_acceptance_criteria",
            "identify_dependencies",
            "generate_user_story",
            "decompose_epic",
            "suggest_test_scenarios",
        ] {
            assert!(prompts["prompts"].to_string().contains(prompt), "{prompt} is not in {prompts}");
        }
        let templates = agent.result("resources/templates/list", json!({}));
        let templates: Vec<&str> = templates["resourceTemplates"]
            .as_array()
            .expect("templates")
            .iter()
            .filter_map(|template| template["uriTemplate"].as_str())
            .collect();
        assert_eq!(
            templates,
            [
                "epics://list?status={status}&priority={priority}",
                "user-stories://list?epic_id={epic_id}&status={status}",
                "requirements://search?query={query}&type={type}",
            ]
        );
    });
}

/// [002 R15.6] Resources come in pages, each once.
#[test]
fn resources_are_listed_in_pages() {
    on_every_store(|backend| {
        for number in 0..105 {
            backend.create("/epics", &json!({"title": format!("Epic {number}"), "priority": 1}));
        }
        let agent = Agent::stateless(backend);
        let (mut seen, mut cursor) = (Vec::new(), Value::Null);
        loop {
            let params = if cursor.is_null() { json!({}) } else { json!({ "cursor": cursor }) };
            let page = agent.result("resources/list", params);
            let uris = page["resources"].as_array().expect("resources").iter();
            seen.extend(uris.map(|resource| resource["uri"].as_str().expect("a URI").to_owned()));
            cursor = page["nextCursor"].clone();
            if cursor.is_null() {
                break;
            }
        }
        let epics: std::collections::BTreeSet<_> =
            seen.iter().filter(|uri| uri.starts_with("epic://")).collect();
        assert_eq!((epics.len(), seen.iter().filter(|uri| uri.starts_with("epic://")).count()), (105, 105));
        let bad = agent.ask("resources/list", json!({"cursor": "nonsense"}));
        assert_eq!(bad.json["error"]["code"], -32602, "{}", bad.text);
    });
}

fn names(result: &Value) -> Vec<String> {
    let tools = result["tools"].as_array().expect("tools").iter();
    tools.map(|tool| tool["name"].as_str().expect("a name").to_owned()).collect()
}
