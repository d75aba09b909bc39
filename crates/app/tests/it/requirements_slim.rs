//! What the servers for requirements answer an agent: what it needs, and no more. The project is that of `spexus serve --demo`.

use serde_json::{Value, json};

use crate::backend::{Backend, on_sqlite};
use crate::mcp_http::agent::Agent;
use crate::token_estimates::n_tokens;

/// The longest answers to usual calls, in tokens.
const ENTITY_TOKENS_MAX: usize = 140;
const RECEIPT_TOKENS_MAX: usize = 30;
const NINE_LISTED_TOKENS_MAX: usize = 420;

fn on_demo(test: impl Fn(&Backend)) {
    on_sqlite(&["--demo", "--toolsets", "all"], &[], |server, _| test(server));
}

#[test]
fn usual_answers_cost_few_tokens() {
    on_demo(|server| {
        let agent = Agent::stateless(server);
        let cost = |tool: &str, arguments: Value| {
            let answer = agent.call(tool, arguments).to_string();
            eprintln!("{tool}: {} tokens: {answer}", n_tokens(&answer));
            (n_tokens(&answer), answer)
        };
        for reference in ["EP-001", "US-001", "AC-001", "REQ-001", "REQ-005"] {
            let (tokens, answer) = cost("get_entity", json!({"reference": reference}));
            assert!(tokens <= ENTITY_TOKENS_MAX, "{tokens} tokens: {answer}");
        }
        let epic = json!({"title": "Customers get their money back", "priority": 2, "description": "Within a week."});
        let (tokens, answer) = cost("create_epic", epic);
        assert!(tokens <= RECEIPT_TOKENS_MAX, "{tokens} tokens: {answer}");
        let (tokens, answer) = cost("list_entities", json!({"kind": "requirement", "limit": 9}));
        assert_eq!(answer.matches("\"reference_id\"").count(), 9, "{answer}");
        assert!(tokens <= NINE_LISTED_TOKENS_MAX, "{tokens} tokens: {answer}");
    });
}

/// Who wrote something knows what it says. What the next call needs is told: a name or an id, and the version.
#[test]
fn a_write_answers_with_a_name_and_a_version() {
    on_demo(|server| {
        let agent = Agent::stateless(server);
        let (id, uuid) = (|answer: &Value| answer["id"].as_str().map(str::len), Some(36));
        let story = json!({"epic_id": "EP-001", "title": "Pay later", "priority": 2});
        let made = agent.call("create_user_story", story);
        assert_eq!(made, json!({"reference_id": made["reference_id"], "status": "Backlog", "version": 1}));
        let changed = json!({"requirement_id": "REQ-003", "status": "Active", "expected_version": 1});
        let changed = agent.call("update_requirement", changed);
        assert_eq!(changed, json!({"reference_id": "REQ-003", "status": "Active", "version": 2}));
        let criterion = json!({"user_story_id": "US-001", "description": "Nobody pays twice."});
        let criterion = agent.call("create_acceptance_criteria", criterion);
        assert_eq!(criterion, json!({"reference_id": criterion["reference_id"], "version": 1}));
        let comment = agent.call("add_comment", json!({"reference": "REQ-001", "content": "And then?"}));
        assert_eq!(
            (id(&comment), comment.as_object().map(serde_json::Map::len)),
            (uuid, Some(2)),
            "{comment}"
        );
        let settled = agent.call("resolve_comment", json!({"comment_id": comment["id"]}));
        assert_eq!(settled, json!({"id": comment["id"], "resolved": true, "version": 2}));
        let link = json!({"source_requirement_id": "REQ-001", "target_requirement_id": "REQ-004",
            "relationship_type_id": "relates_to"});
        let link = agent.call("create_relationship", link);
        assert_eq!((id(&link), link.as_object().map(serde_json::Map::len)), (uuid, Some(2)), "{link}");
        let gone = agent.call("delete_relationship", json!({"id": link["id"]}));
        assert_eq!(gone, json!({"id": link["id"], "version": 2, "deleted": true}));
        let gone = agent.call("delete_entity", json!({"reference": "EP-001", "force": true}));
        assert_eq!((&gone["deleted"], gone.get("references")), (&json!(true), None), "{gone}");
    });
}

/// UUIDs, microseconds, the project and who made something are in no answer that did not ask for them; and in those that did.
#[test]
fn details_come_when_they_are_asked_for() {
    on_demo(|server| {
        let agent = Agent::stateless(server);
        let reads = [
            ("get_entity", json!({"reference": "REQ-001"})),
            ("list_entities", json!({"kind": "user_story"})),
            ("search_global", json!({"query": "card", "entity_types": ["requirement"]})),
            ("status_report", json!({})),
            ("hierarchy_analysis", json!({})),
            ("impact_analysis", json!({"reference": "EP-001"})),
            ("get_history", json!({"reference": "REQ-001"})),
            ("list_steering_documents", json!({})),
            ("list_prompts", json!({})),
            ("get_active_prompt", json!({})),
        ];
        for (tool, arguments) in reads {
            let answer = agent.call(tool, arguments.clone()).to_string();
            assert!(!has_uuid(&answer), "{tool}: {answer}");
            assert!(!has_microseconds(&answer), "{tool}: {answer}");
            for name in ["project", "creator", "creator_id", "created_by"] {
                assert!(!answer.contains(&format!("\"{name}\":")), "{tool}: {name} in {answer}");
            }
        }
        for (tool, mut arguments) in [
            ("get_entity", json!({"reference": "REQ-001"})),
            ("list_entities", json!({"kind": "user_story"})),
            ("get_history", json!({"reference": "REQ-001"})),
            ("create_epic", json!({"title": "Returns", "priority": 3})),
        ] {
            arguments["include"] = json!("details");
            let answer = agent.call(tool, arguments).to_string();
            assert!(
                has_uuid(&answer) && has_microseconds(&answer) && answer.contains("\"project\":"),
                "{answer}"
            );
        }
        // Around an entity, the details are asked for together with the parts.
        let include = json!(["children", "details"]);
        let story = agent.call("get_entity", json!({"reference": "US-001", "include": include}));
        assert!(has_uuid(&story["children"].to_string()), "{story}");
        assert_eq!(server.get("/requirements/REQ-001").json["project"], "DEFAULT", "REST answers all of it");
    });
}

/// No answer is longer than its budget, 2,000 tokens if nobody says otherwise, unless one entity is read by itself.
#[test]
fn a_file_and_many_operations_are_cut_and_say_where_the_rest_is() {
    on_demo(|server| {
        let agent = Agent::stateless(server);
        for format in ["json", "csv", "markdown", "reqif"] {
            for max_tokens in [None, Some(500)] {
                // A table for people is short.
                let is_table = format == "csv";
                let (path, flags) = if is_table { ("&columns=all", " --columns all") } else { ("", "") };
                let mut arguments = json!({"format": format, "project": "DEFAULT"});
                if is_table {
                    arguments["columns"] = json!("all");
                }
                if let Some(max_tokens) = max_tokens {
                    arguments["max_tokens"] = json!(max_tokens);
                }
                let file = agent.call("export", arguments);
                let tokens = n_tokens(&file.to_string());
                assert!(tokens <= max_tokens.unwrap_or(2_000) && tokens > 250, "{format}: {tokens} tokens");
                let whole = server.get(&format!("/export?format={format}&project=DEFAULT{path}")).text;
                assert!(whole.starts_with(file["content"].as_str().expect("a text")), "{file}");
                assert_eq!(
                    file["more"],
                    format!(
                        "ask again with a higher max_tokens; or GET /api/v1/export?format={format}&project=DEFAULT{path}; \
                         or spexus export --format {format} --project DEFAULT{flags}"
                    )
                );
            }
            let file = agent.call("export", json!({"format": format, "max_tokens": 1_000_000}));
            assert_eq!(
                file["content"],
                server.get(&format!("/export?format={format}")).text,
                "the whole file"
            );
            assert!(file.get("more").is_none(), "{file}");
        }
        let epics: Vec<Value> = (0..500)
            .map(|number| json!({"operation": "create_epic", "arguments": {"title": format!("Epic {number}"), "priority": 1}}))
            .collect();
        let done = agent.call("bulk_update", json!({"operations": epics}));
        assert!(n_tokens(&done.to_string()) <= 2_000, "{done}");
        let n_told = done["results"].as_array().expect("results").len();
        assert_eq!((&done["failed"], &done["remaining"]), (&json!(0), &json!(500 - n_told)), "{done}");
        assert_eq!(done["more"], "all were done; list_entities with sort updated shows them");
        let mut operations =
            vec![json!({"operation": "get_entity", "arguments": {"reference": "EP-001"}}); 200];
        operations.push(json!({"operation": "get_entity", "arguments": {"reference": "EP-999"}}));
        let tried = agent.call("bulk_update", json!({"operations": operations, "dry_run": true}));
        assert!(n_tokens(&tried.to_string()) <= 2_000, "{tried}");
        assert!(
            tried["results"][0]["error"]["message"].as_str().is_some_and(|text| text.contains("EP-999")),
            "{tried}"
        );
    });
}

fn has_uuid(text: &str) -> bool {
    let is_uuid = |word: &str| {
        word.len() == 36
            && word.bytes().enumerate().all(|(place, byte)| match place {
                8 | 13 | 18 | 23 => byte == b'-',
                _ => byte.is_ascii_hexdigit(),
            })
    };
    text.split(|letter: char| !letter.is_ascii_hexdigit() && letter != '-').any(is_uuid)
}

fn has_microseconds(text: &str) -> bool {
    let digits = |rest: &str| rest.bytes().take_while(u8::is_ascii_digit).count();
    text.split(':').any(|part| {
        part.split_once('.').is_some_and(|(seconds, rest)| seconds.len() == 2 && digits(rest) > 3)
    })
}
