//! What the servers for requirements show an agent by default, and what it costs: over HTTP, and through the bridge.

use serde_json::{Value, json};

use crate::agent::{json_of, text};
use crate::backend::on_sqlite;
use crate::bridge;
use crate::bridge_backend::ask;
use crate::mcp_http::agent::Agent;
use crate::process::Serving;
use crate::token_estimates::n_tokens;

/// What agents pay before they have asked for anything.
const TOKENS_AT_START_MAX: usize = 1_700;
/// Of the instructions, what stands beside the text of the active prompt.
const GUIDE_TOKENS_MAX: usize = 300;

#[test]
fn the_tools_and_the_instructions_cost_few_tokens() {
    on_sqlite(&[], &[], |server, _| {
        let prompt = server.get("/prompts/active").json["content"].as_str().expect("a text").to_owned();
        let check = |who: &str, listed: &Value, greeting: &Value| {
            let instructions = greeting["instructions"].as_str().expect("instructions");
            let (tools, told) = (n_tokens(&listed.to_string()), n_tokens(instructions));
            eprintln!("{who}: {tools} + {told} tokens");
            assert!(tools + told <= TOKENS_AT_START_MAX, "{who}: {tools} + {told} tokens");
            assert!(tools > 800, "{who}: {tools} tokens are too few to be true");
            let guide = told - n_tokens(&prompt.replace("{{capabilities}}", ""));
            assert!(guide <= GUIDE_TOKENS_MAX, "{who}: {guide} tokens");
        };
        let agent = Agent::handshake(server, "2025-11-25");
        check("http", &agent.result("tools/list", json!({})), &agent.greeting);
        let mut bridge = Serving::spawn(bridge::command(&server.url, &[("MCP_PAT_TOKEN", &server.token)]));
        let greeting = bridge.handshake("2025-11-25");
        let listed = ask(&mut bridge, "tools/list", json!({}));
        check("bridge", &listed["result"], &greeting["result"]);
    });
}

/// The bridge knows of all arguments, also of those that are not listed.
#[test]
fn arguments_that_are_not_listed_are_accepted() {
    on_sqlite(&[], &[], |server, _| {
        server.create("/epics", &json!({"title": "Pay", "priority": 1}));
        let arguments = json!({"kind": "epic", "sort": "title", "createdFrom": "2026-01-01T00:00:00Z",
            "status": ["Backlog", "Draft"], "max_tokens": "500"});
        let agent = Agent::stateless(server);
        assert_eq!(agent.call("list_entities", arguments.clone())["total_count"], 1);
        let mut bridge = Serving::spawn(bridge::command(&server.url, &[("MCP_PAT_TOKEN", &server.token)]));
        bridge.handshake("2025-11-25");
        let listed = ask(&mut bridge, "tools/call", json!({"name": "list_entities", "arguments": arguments}));
        assert!(text(&listed["result"]).contains("\"total_count\":1"), "{listed}");
        let wrong = json!({"kind": "epic", "label": "x", "colour": "red"});
        let refused = ask(&mut bridge, "tools/call", json!({"name": "list_entities", "arguments": wrong}));
        assert!(text(&refused["result"]).contains("- colour: unknown"), "{refused}");
    });
}

/// The schemas of answers, and the answers that fit them, come only when they are asked for; errors never do.
//@= spexus://REQ-079
//@= type=test
//@# 002 R6.8: a failing tool is a JSON-RPC error with details
#[test]
fn structured_content_comes_where_output_schemas_were_asked_for() {
    on_sqlite(&["--toolsets", "all", "--demo"], &[], |server, _| {
        let agent = Agent::stateless(server);
        let ask_with = |method: &str, params: Value| {
            let message = agent.message(method, params);
            agent.exchange(&message, agent.request(&message).header("Spexus-Output-Schemas", "1")).json["result"].take()
        };
        let mut settings = vec![("MCP_PAT_TOKEN", server.token.as_str())];
        let mut plain = Serving::spawn(bridge::command(&server.url, &settings));
        settings.push(("MCP_OUTPUT_SCHEMAS", "true"));
        let mut described = Serving::spawn(bridge::command(&server.url, &settings));
        plain.handshake("2025-11-25");
        described.handshake("2025-11-25");

        let tools = ask_with("tools/list", json!({}))["tools"].take();
        assert_eq!(ask(&mut described, "tools/list", json!({}))["result"]["tools"], tools);
        for unasked in
            [agent.result("tools/list", json!({})), ask(&mut plain, "tools/list", json!({}))["result"].take()]
        {
            assert!(!unasked.to_string().contains("outputSchema"), "{unasked}");
        }
        for (tool, arguments) in [
            ("get_entity", json!({"reference": "REQ-001", "include": ["parents", "history", "comments"]})),
            ("get_entity", json!({"reference": "REQ-001", "include": ["details"]})),
            ("list_entities", json!({"kind": "requirement", "include": ["text"], "max_tokens": 200})),
            ("search_global", json!({"query": "card"})),
            ("create_epic", json!({"title": "Returns", "priority": 3})),
            ("add_comment", json!({"reference": "REQ-001", "content": "So?"})),
            ("get_history", json!({"reference": "REQ-001"})),
            ("status_report", json!({})),
        ] {
            let call = json!({"name": tool, "arguments": arguments});
            let described_tool = tools.as_array().expect("tools").iter().find(|known| known["name"] == tool);
            let schema = mcp::Schema::new(described_tool.expect("listed")["outputSchema"].clone());
            for result in [
                ask_with("tools/call", call.clone()),
                ask(&mut described, "tools/call", call.clone())["result"].take(),
            ] {
                assert_eq!(json_of(&result), result["structuredContent"], "{tool}: {result}");
                let problems = schema.check(&result["structuredContent"]);
                assert!(problems.is_empty(), "{tool}: {problems:?}: {result}");
            }
            for result in [
                agent.result("tools/call", call.clone()),
                ask(&mut plain, "tools/call", call)["result"].take(),
            ] {
                assert!(result.get("structuredContent").is_none(), "{tool}: {result}");
            }
        }
        let wrong = json!({"name": "get_entity", "arguments": {"reference": "REQ-404"}});
        for result in
            [ask_with("tools/call", wrong.clone()), ask(&mut described, "tools/call", wrong)["result"].take()]
        {
            assert!(result["isError"] == true && result.get("structuredContent").is_none(), "{result}");
            assert_eq!(result["_meta"]["spexus/error"]["code"], "RESOURCE_NOT_FOUND", "{result}");
        }
    });
}
