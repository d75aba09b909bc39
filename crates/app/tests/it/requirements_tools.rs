//! Requirements for agents: the tools of `spexus mcp`, what they take and what they refuse, as a host meets them.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use spexus::combined::manual::examples;
use spexus::requirements::{SETS, ToolOptions, Tools};

use crate::agent::{Agent, column, folder, text};
use crate::backend::{on_sqlite, send};

/// All sets of requirements, without the other parts.
pub const ALL: &[&str] = &["--toolsets", "requirements,comments,steering,prompts,bulk,views,thread,work"];

/// Somebody who asks about an empty store.
pub fn agent(arguments: &[&str]) -> Agent {
    Agent::spexus(folder(&[]), "2025-11-25", arguments)
}

/// A small project: an epic, two stories, two criteria, three requirements of which one depends on another.
pub fn filled(arguments: &[&str]) -> Agent {
    let mut agent = agent(arguments);
    fill(&mut agent);
    agent
}

/// Makes that project.
pub fn fill(agent: &mut Agent) {
    for (tool, arguments) in [
        ("create_epic", json!({"title": "Checkout", "priority": 1, "description": "Customers pay."})),
        ("create_user_story", json!({"epic_id": "EP-001", "title": "Pay with a saved card", "priority": 2})),
        ("create_user_story", json!({"epic_id": "ep-1", "title": "Get the money back", "priority": 3})),
        (
            "create_acceptance_criteria",
            json!({"user_story_id": "US-001", "description": "Only four digits are shown."}),
        ),
        (
            "create_acceptance_criteria",
            json!({"user_story_id": "US-001", "description": "A wrong code is refused."}),
        ),
        (
            "create_requirement",
            json!({"user_story_id": "US-001", "title": "Mask card numbers", "type_id": "functional", "priority": 1,
                "acceptance_criteria_id": "AC-001", "description": "The page shows no more than the last four digits."}),
        ),
        (
            "create_requirement",
            json!({"user_story_id": "US-001", "title": "Keep card tokens", "type_id": "Data", "priority": 2}),
        ),
        (
            "create_requirement",
            json!({"user_story_id": "US-002", "title": "Refund within a week", "type_id": "Business Rule", "priority": 4}),
        ),
        (
            "create_relationship",
            json!({"source_requirement_id": "REQ-001", "target_requirement_id": "REQ-002", "relationship_type_id": "depends_on"}),
        ),
    ] {
        agent.json(tool, arguments);
    }
}

/// Tools, what each must be given, and what it may be given: the table of the specification, with the fields that came later.
const TABLE: &[(&str, &str, &str)] = &[
    ("create_epic", "title priority", "description assignee_id project"),
    ("update_epic", "epic_id", "title description priority status assignee_id expected_version"),
    ("create_user_story", "epic_id title priority", "description assignee_id"),
    (
        "update_user_story",
        "user_story_id",
        "title description priority status assignee_id epic_id expected_version",
    ),
    ("create_acceptance_criteria", "user_story_id description", ""),
    ("update_acceptance_criteria", "acceptance_criteria_id description", "expected_version"),
    (
        "create_requirement",
        "user_story_id title type_id priority",
        "description rationale labels acceptance_criteria_id assignee_id",
    ),
    (
        "update_requirement",
        "requirement_id",
        "title description rationale labels priority status type_id acceptance_criteria_id user_story_id assignee_id \
         expected_version",
    ),
    ("create_relationship", "source_requirement_id target_requirement_id relationship_type_id", ""),
    ("delete_relationship", "id", ""),
    ("delete_entity", "reference", "dry_run force"),
    ("get_entity", "reference", "max_tokens"),
    (
        "list_entities",
        "kind",
        "project epic_id user_story_id acceptance_criteria_id steering_document_id status priority type label assignee creator \
         mine since created_from created_to updated_from updated_to include_deleted sort limit max_tokens cursor",
    ),
    ("search_global", "query", "entity_types project limit offset max_tokens cursor"),
    (
        "search_requirements",
        "query",
        "type status priority epic_id user_story_id limit offset max_tokens cursor",
    ),
    ("status_report", "", "epic_id group_by"),
    ("hierarchy_analysis", "", "epic_id limit max_tokens cursor"),
    ("impact_analysis", "reference", "depth max_tokens cursor"),
    ("get_history", "reference", "limit max_tokens cursor"),
    ("add_comment", "reference content", "parent quote"),
    ("list_types", "", ""),
];

//@= spexus://REQ-072
//@= type=test
//@# 002 R6.1: tools/list returns all tools with schemas
//@= spexus://REQ-073
//@= type=test
//@# 002 R6.2: each tool has name, description and inputSchema
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
#[test]
fn the_default_tools_are_those_of_the_table_with_its_arguments() {
    let mut agent = agent(&["--toolsets", "requirements"]);
    let listed = agent.ask("tools/list", json!({}))["result"]["tools"].clone();
    let mut names = column(&listed, "name");
    names.sort();
    let mut expected: Vec<&str> = TABLE.iter().map(|(name, ..)| *name).collect();
    expected.sort();
    assert_eq!(names, expected);
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<BTreeSet<String>>();
    let accepted =
        Tools::new(&ToolOptions { sets: vec!["requirements".to_owned()], ..ToolOptions::default() });
    for (name, required, optional) in TABLE {
        let accepted = accepted.list().iter().find(|tool| tool.name == *name).expect("served");
        let accepted = accepted.input_schema.as_json();
        assert_eq!(properties(accepted), &words(required) | &words(&format!("{optional} include")), "{name}");
        assert_eq!(required_of(accepted), words(required), "{name}");
        assert_eq!(
            (&accepted["type"], &accepted["additionalProperties"]),
            (&json!("object"), &json!(false)),
            "{name}"
        );
        let tool =
            listed.as_array().expect("a list").iter().find(|tool| tool["name"] == *name).expect("listed");
        let shown = &tool["inputSchema"];
        assert!(properties(shown).is_subset(&properties(accepted)), "{tool}");
        assert_eq!(required_of(shown), words(required), "{name}");
        assert!(tool["description"].as_str().is_some_and(|text| text.len() > 10), "{tool}");
        assert!(tool.get("title").is_none(), "a title that repeats the name only costs: {tool}");
        let hints = &tool["annotations"];
        let is_reading = ["get_", "list_", "search_", "status_", "hierarchy_", "impact_"]
            .iter()
            .any(|verb| name.starts_with(verb));
        let (is_update, is_delete) = (name.starts_with("update_"), name.starts_with("delete_"));
        let expected = match (is_reading, is_update, is_delete) {
            (true, ..) => json!({"readOnlyHint": true}),
            (_, true, _) => json!({"destructiveHint": false, "idempotentHint": true}),
            (.., true) => json!({"idempotentHint": true}),
            _ => json!({"destructiveHint": false}),
        };
        assert_eq!(*hints, expected, "{name}: hints that differ from the protocol's defaults");
    }
}

fn properties(schema: &Value) -> BTreeSet<String> {
    schema["properties"].as_object().expect("properties").keys().cloned().collect()
}

fn required_of(schema: &Value) -> BTreeSet<String> {
    let required = schema["required"].as_array().map(Vec::as_slice).unwrap_or_default();
    required.iter().map(|name| name.as_str().expect("a name").to_owned()).collect()
}

#[test]
fn further_sets_are_complete_in_themselves() {
    for (set, expected) in [
        ("comments", "list_comments update_comment delete_comment resolve_comment"),
        (
            "steering",
            "create_steering_document update_steering_document link_steering_document unlink_steering_document \
             list_steering_documents get_steering_document",
        ),
        (
            "prompts",
            "create_prompt update_prompt list_prompts get_active_prompt activate_prompt delete_prompt",
        ),
        ("bulk", "list_suspect_links get_matrix bulk_update export import list_imports undo_import"),
        ("views", "list_views save_view delete_view"),
        (
            "thread",
            "get_thread list_stale_citations propose_threats decide_threat list_threats list_repositories \
             add_manual_evidence pin_baseline list_baselines compare_baselines",
        ),
        ("work", "next_work list_work list_open_work renew_work finish_work release_work"),
    ] {
        let mut agent = agent(&["--toolsets", set]);
        let listed = agent.ask("tools/list", json!({}))["result"]["tools"].clone();
        assert_eq!(column(&listed, "name").join(" "), expected);
    }
    let options = ToolOptions { sets: SETS.map(str::to_owned).to_vec(), ..ToolOptions::default() };
    for tool in Tools::new(&options).list() {
        assert!(tool.input_schema.unsupported_keywords().is_empty(), "{}", tool.name);
    }
}

/// Stands for the id of a comment in examples.
const COMMENT: &str = "019a8b5e-2f00-7000-8000-00000000c0de";
/// Stands for the id of a relationship in examples.
const RELATIONSHIP: &str = "019a8b5e-2f00-7000-8000-000000000bad";
/// Stands for the id of an import in examples.
const IMPORT: &str = "019a8b5e-2f00-7000-8000-00000000f11e";
/// Stands for the id of a saved view in examples.
const VIEW: &str = "019a8b5e-2f00-7000-8000-0000000000ed";

/// The examples of the manual, run one after the other, deletions last.
//@= spexus://REQ-074
//@= type=test
//@# 002 R6.3: arguments are checked against the schema
//@= spexus://REQ-078
//@= type=test
//@# 002 R6.7: a result has a content array
//@= spexus://REQ-086
//@= type=test
//@# 002 R7.5: results of a search are content
#[test]
fn every_tool_of_the_manual_works_as_its_example_says() {
    let mut agent = agent(&[ALL, &["--output-schemas"]].concat());
    let listed = agent.ask("tools/list", json!({}))["result"]["tools"].clone();
    let mut unseen: BTreeSet<String> = column(&listed, "name").into_iter().collect();
    let (mut comment, mut relationship, mut view) = (String::new(), String::new(), String::new());
    let mut calls: Vec<(&str, &str)> = examples().collect();
    calls.sort_by_key(|(tool, _)| tool.starts_with("delete_"));
    for (tool, example) in calls {
        let Some(described) = listed.as_array().expect("a list").iter().find(|known| known["name"] == tool)
        else {
            continue;
        };
        if tool == "create_relationship" {
            let arguments =
                json!({"user_story_id": "US-001", "title": "Keep tokens", "type_id": "Data", "priority": 2});
            agent.json("create_requirement", arguments);
        }
        let mut import = String::new();
        if tool == "undo_import" {
            let arguments = json!({"format": "csv", "content": "kind,title\nepic,Returns\n"});
            import = agent.json("import", arguments)["import_id"].as_str().expect("an id").to_owned();
        }
        let ids = [(COMMENT, &comment), (RELATIONSHIP, &relationship), (IMPORT, &import), (VIEW, &view)];
        let example = ids.into_iter().fold(example.to_owned(), |text, (from, to)| text.replace(from, to));
        let result = agent.call(tool, serde_json::from_str(&example).expect("an example is JSON"));
        assert_eq!(result["isError"], false, "{tool}: {result}");
        let structured = &result["structuredContent"];
        assert_eq!(serde_json::from_str::<Value>(text(&result)).expect("JSON"), *structured, "{tool}");
        assert_eq!(text(&result), structured.to_string(), "{tool}: the text is not compact");
        assert_eq!(described["outputSchema"]["type"], "object", "{tool}");
        let problems = mcp::Schema::new(described["outputSchema"].clone()).check(structured);
        assert!(problems.is_empty(), "{tool}: {problems:?}: {structured}");
        match tool {
            "create_relationship" => relationship = structured["id"].as_str().expect("an id").to_owned(),
            "save_view" => view = structured["id"].as_str().expect("an id").to_owned(),
            "add_comment" => comment = structured["id"].as_str().expect("an id").to_owned(),
            _ => {}
        }
        unseen.remove(tool);
    }
    assert!(unseen.is_empty(), "no example calls {unseen:?}");
}

/// Each tool with something wrong, and what it says about it.
//@= spexus://REQ-089
//@= type=test
//@# 002 R7.8: a malformed query is a validation error
//@= spexus://REQ-168
//@= type=test
//@# 002 R16.4: tests cover schemas
#[test]
fn every_tool_says_what_is_wrong_with_an_argument() {
    let mut agent = filled(ALL);
    let nobody = "019a8b5e-2f00-7000-8000-000000000000";
    let cases = [
        ("create_epic", json!({"title": "x"}), "priority"),
        ("create_epic", json!({"title": "x", "priority": 9}), "priority: expected"),
        ("create_epic", json!({"title": "", "priority": 1}), "title: expected 1 to 500 characters"),
        ("create_epic", json!({"title": "x", "priority": 1, "titel": "y"}), "did you mean \"title\"?"),
        (
            "update_epic",
            json!({"epic_id": "EP-001", "status": "Dnoe"}),
            "status: expected one of Backlog, Draft",
        ),
        ("update_epic", json!({"epic_id": "EP-001", "title": "x", "expected_version": 7}), "version"),
        (
            "create_user_story",
            json!({"epic_id": "US-001", "title": "x", "priority": 1}),
            "epic_id: expected an epic",
        ),
        (
            "update_user_story",
            json!({"user_story_id": "US-999", "title": "x"}),
            "there is no user story US-999",
        ),
        ("create_acceptance_criteria", json!({"user_story_id": "US-001", "description": " "}), "description"),
        (
            "update_acceptance_criteria",
            json!({"acceptance_criteria_id": "AC-009", "description": "x"}),
            "AC-009",
        ),
        (
            "create_requirement",
            json!({"user_story_id": "US-001", "title": "x", "type_id": "Wish", "priority": 1}),
            "type_id: expected one of",
        ),
        (
            "update_requirement",
            json!({"requirement_id": "REQ-001", "acceptance_criteria_id": 5}),
            "acceptance_criteria_id",
        ),
        (
            "create_relationship",
            json!({"source_requirement_id": "REQ-002", "target_requirement_id": "REQ-001", "relationship_type_id": "depends_on"}),
            "cycle",
        ),
        ("delete_relationship", json!({"id": nobody}), "there is no relationship"),
        ("delete_entity", json!({"reference": "EP-001"}), "force"),
        ("get_entity", json!({"reference": "REQ-077"}), "there is no requirement REQ-077"),
        ("get_entity", json!({"reference": "REQ-001", "include": ["everything"]}), "include[0]"),
        ("list_entities", json!({"kind": "epics of old"}), "kind"),
        ("list_entities", json!({"kind": "epic", "cursor": "p7"}), "cursor: not a cursor of this list"),
        ("list_entities", json!({"kind": "epic", "max_tokens": 10}), "max_tokens"),
        ("search_global", json!({"query": "  "}), "query"),
        ("search_global", json!({"query": "x".repeat(1001)}), "query"),
        ("search_requirements", json!({"query": "a\u{0}b"}), "query"),
        ("search_requirements", json!({"query": "card", "priority": "soon"}), "priority"),
        ("status_report", json!({"group_by": "mood"}), "group_by"),
        ("hierarchy_analysis", json!({"epic_id": "EP-404"}), "there is no epic EP-404"),
        ("impact_analysis", json!({"reference": "REQ-001", "depth": 99}), "depth"),
        ("get_history", json!({"reference": "nothing"}), "reference"),
        (
            "add_comment",
            json!({"reference": "REQ-001", "content": "x", "quote": "not there"}),
            "quote: is not in",
        ),
        ("list_types", json!({"all": true}), "all"),
        ("list_comments", json!({"author": "nobody"}), "author: there is no user"),
        ("update_comment", json!({"comment_id": nobody, "content": "x"}), "there is no comment"),
        ("resolve_comment", json!({}), "comment_id"),
        ("delete_comment", json!({"comment_id": nobody}), "there is no comment"),
        ("create_steering_document", json!({"description": "x"}), "title"),
        (
            "update_steering_document",
            json!({"steering_document_id": "EP-001", "title": "x"}),
            "steering_document_id",
        ),
        (
            "link_steering_document",
            json!({"epic_id": "EP-001", "steering_document_id": "STD-404"}),
            "STD-404",
        ),
        ("unlink_steering_document", json!({"epic_id": "EP-001"}), "steering_document_id"),
        ("list_steering_documents", json!({"project": "NONE"}), "project"),
        ("get_steering_document", json!({"steering_document_id": "REQ-001"}), "REQ-001 is a requirement"),
        ("create_prompt", json!({"name": "spexus", "title": "x", "content": "x"}), "name"),
        ("update_prompt", json!({"prompt_id": "PROMPT-404"}), "PROMPT-404"),
        ("list_prompts", json!({"limit": 0}), "limit"),
        ("get_active_prompt", json!({"which": 1}), "which"),
        ("activate_prompt", json!({"prompt_id": "PROMPT-404"}), "PROMPT-404"),
        ("delete_prompt", json!({"prompt_id": 3}), "prompt_id"),
        ("bulk_update", json!({"operations": [{"operation": "create_epci"}]}), "did you mean create_epic?"),
        ("export", json!({"format": "pdf"}), "format"),
        (
            "get_matrix",
            json!({"project": "DEFAULT", "against": "code"}),
            "against: expected one of \"criteria\", \"relations\"",
        ),
        ("list_suspect_links", json!({"details": "all"}), "details"),
        ("import", json!({"format": "csv"}), "content"),
        ("list_imports", json!({"limit": 0}), "limit"),
        ("undo_import", json!({"import_id": nobody}), "there is no import"),
        ("list_views", json!({"project": "NONE"}), "project"),
        (
            "save_view",
            json!({"project": "DEFAULT", "kind": "epic", "name": "x", "query": "staus=Draft"}),
            "query",
        ),
        ("delete_view", json!({"view_id": nobody}), "there is no view"),
        ("get_thread", json!({"from": "REQ-077"}), "there is no requirement REQ-077"),
        ("list_stale_citations", json!({"project": "NONE"}), "project"),
        ("propose_threats", json!({"reference": "REQ-077"}), "there is no requirement REQ-077"),
        (
            "decide_threat",
            json!({"reference": "REQ-001", "pattern": "TMKB-AUTHZ-01", "decision": "applies"}),
            "did you mean TMKB-AUTHZ-0",
        ),
        ("list_threats", json!({"project": "NONE"}), "project"),
        ("list_repositories", json!({"project": "NONE"}), "project"),
        ("add_manual_evidence", json!({"reference": "EP-001", "what": "x"}), "EP-001 is an epic"),
        ("pin_baseline", json!({"name": ""}), "name"),
        ("list_baselines", json!({"project": "NONE"}), "project"),
        ("compare_baselines", json!({"from": "never"}), "from"),
        ("next_work", json!({"paths": ["/etc"]}), "paths.0: expected a path inside the repository"),
        ("list_work", json!({"project": "NONE"}), "project"),
        ("list_open_work", json!({"under": "AC-001"}), "expected an epic, a user story or a requirement"),
        ("renew_work", json!({"lease": "REQ-001"}), "expected a lease such as REQ-012.3"),
        ("finish_work", json!({"lease": "REQ-001.7"}), "nobody has ever taken it"),
        ("release_work", json!({"lease": "EP-001.1"}), "EP-001 is an epic"),
    ];
    let listed = agent.ask("tools/list", json!({}))["result"]["tools"].clone();
    let unseen: BTreeSet<String> = column(&listed, "name").into_iter().collect();
    let seen: BTreeSet<String> = cases.iter().map(|(tool, ..)| (*tool).to_owned()).collect();
    assert_eq!(seen, unseen);
    for (tool, arguments, expected) in cases {
        let told = agent.refused(tool, arguments);
        assert!(told.contains(expected), "{tool}: {told}");
    }
    let answer = agent.ask("tools/call", json!({"name": "create_epci", "arguments": {}}));
    assert_eq!(
        (&answer["error"]["code"], &answer["error"]["data"]["nearest"]),
        (&json!(-32602), &json!("create_epic"))
    );
}

/// Over HTTP a failing tool is a JSON-RPC error up to 2025-06-18, and later a result that carries the same.
//@= spexus://REQ-079
//@= type=test
//@# 002 R6.8: a failing tool is a JSON-RPC error with details
//@= spexus://REQ-080
//@= type=test
//@# 002 R6.9: validation errors of the backend are mapped
//@= spexus://REQ-081
//@= type=test
//@# 002 R6.10: arguments that do not fit are rejected before the backend is called
#[test]
fn a_failing_tool_is_an_error_with_details_where_the_revision_wants_it() {
    on_sqlite(&[], &[], |backend, _| {
        let cases = [
            ("create_epic", json!({"title": "x"}), -32602, "INVALID_ARGUMENTS", "priority"),
            (
                "create_epic",
                json!({"title": "x", "priority": 1, "colour": 2}),
                -32602,
                "INVALID_ARGUMENTS",
                "colour",
            ),
            ("create_epic", json!({"title": " ", "priority": 1}), -32602, "INVALID_ARGUMENTS", "title"),
            ("get_entity", json!({"reference": "EP-404"}), -32002, "RESOURCE_NOT_FOUND", "reference"),
            (
                "update_epic",
                json!({"epic_id": "EP-001", "title": "y", "expected_version": 9}),
                -32004,
                "CONFLICT",
                "expected_version",
            ),
        ];
        backend.create("/epics", &json!({"title": "One", "priority": 1}));
        for (tool, arguments, code, name, field) in cases {
            let call = |revision: &str| {
                let params = json!({"name": tool, "arguments": arguments});
                let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
                let request = backend.request("POST", "/mcp").header("MCP-Protocol-Version", revision);
                let request = request.header("content-type", "application/json").body(body.to_string());
                send(request).json
            };
            let error = call("2025-06-18")["error"].clone();
            assert_eq!(
                (&error["code"], &error["data"]["code"]),
                (&json!(code), &json!(name)),
                "{tool}: {error}"
            );
            let named = error["data"]["errors"][0]["field"].as_str().unwrap_or_default();
            assert_eq!(named, field, "{tool}: {error}");
            let result = call("2025-11-25")["result"].clone();
            assert_eq!(
                (&result["isError"], &result["_meta"]["spexus/error"]["code"]),
                (&json!(true), &json!(name)),
                "{result}"
            );
            assert_eq!(text(&result), error["message"].as_str().expect("a message"));
        }
        assert_eq!(backend.get("/epics").json["total_count"], 1, "a refused call has written");
    });
}

//@= spexus://REQ-174
//@= type=test
//@# 002 R17.1: the guide has an example for Claude Desktop
//@= spexus://REQ-176
//@= type=test
//@# 002 R17.3: the guide lists the URI schemes
//@= spexus://REQ-177
//@= type=test
//@# 002 R17.4: the guide has an example for every tool
//@= spexus://REQ-178
//@= type=test
//@# 002 R17.5: the guide has scenarios for the prompts
//@= spexus://REQ-179
//@= type=test
//@# 002 R17.6: the guide has common tasks
//@= spexus://REQ-180
//@= type=test
//@# 002 R17.7: the guide has common errors and what to do
//@= spexus://REQ-181
//@= type=test
//@# 002 R17.8: the guide is kept up to date
#[test]
fn the_guide_and_the_reference_name_everything() {
    let read = |path: &str| {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        std::fs::read_to_string(root.join(path)).expect("a document")
    };
    let (guide, reference) = (read("docs/guide/agents.md"), read("docs/reference/tools.md"));
    for host in ["Claude Desktop", "Claude Code", "Cursor", "VS Code", "Codex", "claude_desktop_config.json"]
    {
        assert!(guide.contains(host), "{host}");
    }
    for block in guide.split("```json\n").skip(1) {
        let block = block.split("```").next().unwrap_or_default();
        let settings: Value = serde_json::from_str(block).unwrap_or_else(|error| panic!("{error}: {block}"));
        let servers = settings.get("mcpServers").or(settings.get("servers")).expect("servers");
        assert!(servers["spexus"]["command"].is_string(), "{block}");
    }
    let mut agent = agent(ALL);
    for prompt in column(&agent.ask("prompts/list", json!({}))["result"]["prompts"], "name") {
        assert!(prompt == "spexus" || guide.contains(&format!("| `{prompt}` |")), "{prompt}");
    }
    for template in column(
        &agent.ask("resources/templates/list", json!({}))["result"]["resourceTemplates"],
        "uriTemplate",
    ) {
        assert!(guide.contains(&template), "{template}");
    }
    let schemes = ["epic", "user-story", "requirement", "acceptance-criteria", "steering-document", "prompt"];
    let further = [
        "epic://{id}/hierarchy",
        "user-story://{id}/requirements",
        "user-story://{id}/acceptance-criteria",
        "requirement://{id}/relationships",
        "duvet:///specifications",
    ];
    for uri in schemes.map(|scheme| format!("{scheme}://{{id}}")).iter().map(String::as_str).chain(further) {
        assert!(guide.contains(uri), "{uri}");
    }
    for part in ["## Some things to ask an agent", "## When something is wrong"] {
        assert!(guide.contains(part), "{part}");
    }
    let tools = agent.ask("tools/list", json!({}))["result"]["tools"].clone();
    for tool in tools.as_array().expect("a list") {
        let name = tool["name"].as_str().expect("a name");
        assert!(reference.contains(&format!("\n## {name}\n")), "{name}");
        assert!(
            reference.contains(&format!("{{\"name\": \"{name}\", \"arguments\": ")),
            "{name} has no example"
        );
    }
    for tool in
        Tools::new(&ToolOptions { sets: SETS.map(str::to_owned).to_vec(), ..ToolOptions::default() }).list()
    {
        let schema = tool.input_schema.as_json().to_string();
        assert!(reference.contains(&schema), "the schema of {} is old", tool.name);
    }
}

#[test]
fn all_invalid_arguments_are_reported_at_once() {
    let mut agent = agent(&[]);
    let told = agent.refused("create_user_story", json!({"title": 5, "priority": "somewhat"}));
    assert!(told.contains("epic_id") && told.contains("title") && told.contains("priority"), "{told}");
}
