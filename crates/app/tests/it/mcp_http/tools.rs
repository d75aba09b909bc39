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
        assert_eq!(first.json["result"]["content"], again.json["result"]["content"]);
        assert_ne!(first.json["id"], again.json["id"], "each answer has its own id");
        assert_eq!(call("Pay", "key-2").json["result"]["isError"], false);
        let other = call("Ship", "key-1");
        assert_eq!(other.json["result"]["isError"], true, "{}", other.text);
        let code = &other.json["result"]["_meta"]["spexus/error"]["error"];
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
        // A tool of another set cannot be called.
        let message = agent.message(
            "tools/call",
            json!({"name": "create_epic", "arguments": {"title": "No", "priority": 1}}),
        );
        let hidden = agent.exchange(&message, agent.request(&message).header("x-mcp-toolsets", "prompts"));
        let told = hidden.json["result"]["content"][0]["text"].as_str().unwrap_or_default();
        assert!(
            told.starts_with(
                "create_epic is in the tool set requirements, which was not chosen. To choose it: "
            ) && told.contains("X-MCP-Toolsets: prompts,requirements"),
            "{}",
            hidden.text
        );
        assert_eq!(backend.get("/epics").json["total_count"], 0);
        let (all, some) =
            (names(&with("all").json["result"]).len(), names(&with("requirements").json["result"]).len());
        assert!(all > some && some > names(&with("daily").json["result"]).len(), "{all} {some}");
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
            let told = match revision {
                STATELESS => &refused.json["result"]["content"][0]["text"],
                _ => &refused.json["error"]["message"],
            };
            assert_eq!(told, "create_epic changes things, and this server is read-only", "{}", refused.text);
        }
        assert_eq!(backend.get("/epics").json["total_count"], 1);
    });
}

/// The tools that are listed by default: those of the specification, and four more.
pub const DAILY: [&str; 15] = [
    "create_epic",
    "update_epic",
    "create_user_story",
    "update_user_story",
    "create_requirement",
    "update_requirement",
    "get_entity",
    "list_entities",
    "delete_entity",
    "add_comment",
    "create_relationship",
    "status_report",
    "hierarchy_analysis",
    "search_global",
    "search_requirements",
];

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
//@= spexus://REQ-095
//@= type=test
//@# 002 R8.5: prompts analyze quality, suggest criteria and identify dependencies
//@= spexus://REQ-096
//@= type=test
//@# 002 R8.6: prompts generate stories, decompose epics and suggest tests
//@= spexus://REQ-057
//@= type=test
//@# 002 R4.3: there are four URI schemes
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
fn every_required_tool_is_listed() {
    on_sqlite(&[], &[], |backend, _| {
        let agent = Agent::handshake(backend, "2025-06-18");
        let tools = names(&agent.result("tools/list", json!({})));
        assert_eq!(tools, DAILY);
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

/// Resources come in pages, each once, whatever is made or deleted between two pages.
//@= spexus://REQ-161
//@= type=test
//@# 002 R15.6: resources/list has pages
#[test]
fn resources_are_listed_in_pages() {
    on_every_store(|backend| {
        backend.create("/projects", &json!({"key": "ABC", "name": "Another"}));
        for number in 0..105 {
            let project = if number % 5 == 0 { "ABC" } else { "DEFAULT" };
            backend.create(
                "/epics",
                &json!({"title": format!("Epic {number}"), "priority": 1, "project": project}),
            );
        }
        backend.create("/user-stories", &json!({"epic_id": "EP-001", "title": "Story", "priority": 1}));
        let agent = Agent::stateless(backend);
        let first = agent.result("resources/list", json!({}));
        let told = uris(&first);
        assert_eq!(told.len(), 100);

        // What was told last, something before it, and something that was not told yet.
        let last = told[99].trim_start_matches("epic://");
        for reference in [last, "EP-002", "ABC-EP-021"] {
            let gone = backend.send("DELETE", &format!("/epics/{reference}"), &json!({}));
            assert_eq!(gone.status, 200, "{}", gone.text);
        }
        backend.create("/epics", &json!({"title": "New", "priority": 1, "project": "ABC"}));
        let second = agent.result("resources/list", json!({ "cursor": first["nextCursor"] }));
        let rest = [
            "epic://ABC-EP-017",
            "epic://ABC-EP-018",
            "epic://ABC-EP-019",
            "epic://ABC-EP-020",
            "epic://ABC-EP-022",
            "user-story://US-001",
            "prompt://PROMPT-001",
        ];
        assert_eq!(uris(&second), rest);
        assert!(second.get("nextCursor").is_none(), "{second}");
    });
}

/// Whatever was never given as a cursor is refused, and neither begins anew nor ends the list.
#[test]
fn a_forged_cursor_is_refused() {
    on_every_store(|backend| {
        let epic = backend.create("/epics", &json!({"title": "Pay", "priority": 1}));
        let id = epic["id"].as_str().expect("an id");
        let comment = backend.create("/epics/EP-001/comments", &json!({"content": "Why?"}));
        let agent = Agent::stateless(backend);
        let whole = uris(&agent.result("resources/list", json!({})));
        assert_eq!(uris(&agent.result("resources/list", json!({ "cursor": id }))), whole[1..]);
        let upper = id.to_uppercase();
        let long = "0".repeat(5_000);
        for cursor in [
            "",
            " ",
            "nonsense",
            "0..0",
            "\0",
            "EP-001",
            "018f0000-0000-7000-8000-000000000000",
            comment["id"].as_str().expect("an id"),
            &upper,
            &long,
        ] {
            let answer = agent.ask("resources/list", json!({ "cursor": cursor }));
            assert_eq!(answer.json["error"]["code"], -32602, "{cursor}: {}", answer.text);
            assert!(answer.message().starts_with("cursor: "), "{}", answer.text);
        }
    });
}

/// Snippets are for pages over REST and for agents here: text as it was written, with what was found between stars.
#[test]
fn snippets_are_plain_text() {
    on_every_store(|backend| {
        backend.create("/epics", &json!({"title": "Pay", "priority": 1}));
        backend.create("/user-stories", &json!({"epic_id": "EP-001", "title": "Pay by card", "priority": 1}));
        let text = "Сумма < 10 & \"валюта\" не пуста: показать <b>ошибку</b> &amp; требования";
        let requirement = json!({"user_story_id": "US-001", "title": "Check", "priority": 1,
            "type_id": "Functional", "description": text});
        backend.create("/requirements", &requirement);
        let marked = "Сумма < 10 & \"валюта\" не пуста: показать <b>**ошибку**</b> &amp; **требования**";

        let agent = Agent::stateless(backend);
        for tool in ["search_global", "search_requirements"] {
            let found = agent.call(tool, json!({"query": "ошибка требование"}));
            assert_eq!(found["data"][0]["snippet"], marked, "{tool}: {found}");
            // Where only the title has it, that is shown before the text, which is still text.
            let found = agent.call(tool, json!({"query": "check"}));
            assert_eq!(found["data"][0]["snippet"], format!("**Check** — {text}"), "{tool}: {found}");
        }
        let uri = "requirements://search?query=%D0%BE%D1%88%D0%B8%D0%B1%D0%BA%D0%B0%20%D1%82%D1%80%D0%B5%D0%B1%D0%BE%D0%B2%D0%B0%D0%BD%D0%B8%D0%B5";
        let read = agent.result("resources/read", json!({ "uri": uri }));
        let read: Value =
            serde_json::from_str(read["contents"][0]["text"].as_str().expect("a text")).expect("JSON");
        assert_eq!(read["data"][0]["snippet"], marked, "{read}");
        let html = backend.get("/search?query=ошибка%20требование").json["data"][0]["snippet"].clone();
        let expected = "Сумма &lt; 10 &amp; &quot;валюта&quot; не пуста: показать &lt;b&gt;<mark>ошибку</mark>&lt;/b&gt; \
                        &amp;amp; <mark>требования</mark>";
        assert_eq!(html, expected);
    });
}

/// Not every tool that can be called is listed.
#[test]
fn the_other_tools_of_the_default_set_can_be_called() {
    on_sqlite(&[], &[], |backend, _| {
        backend.create("/epics", &json!({"title": "Pay", "priority": 1}));
        let agent = Agent::stateless(backend);
        let listed = names(&agent.result("tools/list", json!({})));
        for (tool, arguments) in [
            ("list_types", json!({})),
            ("get_history", json!({"reference": "EP-001"})),
            ("impact_analysis", json!({"reference": "EP-001"})),
        ] {
            assert!(!listed.contains(&tool.to_owned()), "{listed:?}");
            agent.call(tool, arguments);
        }
        let wrong = agent.ask("tools/call", json!({"name": "get_history", "arguments": {"depth": 1}}));
        assert!(wrong.text.contains("- reference: is required"), "{}", wrong.text);
        // Who calls a tool by another name is told one that can be called, listed or not.
        let told = agent.ask("tools/call", json!({"name": "get_changelog", "arguments": {}}));
        assert!(told.message().contains("use get_history"), "{}", told.text);
    });
}

fn uris(page: &Value) -> Vec<String> {
    let resources = page["resources"].as_array().expect("resources").iter();
    resources.map(|resource| resource["uri"].as_str().expect("a URI").to_owned()).collect()
}

fn names(result: &Value) -> Vec<String> {
    let tools = result["tools"].as_array().expect("tools").iter();
    tools.map(|tool| tool["name"].as_str().expect("a name").to_owned()).collect()
}
