//! `spexus mcp`: one session with requirements, traceability and threats.

use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use spexus::combined::manual::examples;
use tempfile::TempDir;

use crate::agent::{Agent, column, folder, stateless, text, usual};
use crate::backend::Backend;
use crate::process::{PATIENCE, Serving};

const POT: &str = "//= docs/kettle.md#lid\n//# The lid MUST close.\nfn close() {}\n";

/// A project with two specifications, one citation, and a store with one requirement.
fn project() -> TempDir {
    folder(&[&usual()[..], &[("src/pot.rs", POT)]].concat())
}

fn filled(arguments: &[&str]) -> Agent {
    let mut agent = Agent::spexus(project(), "2025-11-25", arguments);
    agent.json("create_epic", json!({"title": "Kitchen", "priority": 2}));
    agent.json(
        "create_user_story",
        json!({"epic_id": "EP-001", "title": "Coffee in the morning", "priority": 2}),
    );
    for title in ["Brew coffee before eight", "Order coffee beans"] {
        let arguments =
            json!({"user_story_id": "US-001", "title": title, "type_id": "Functional", "priority": 1});
        agent.json("create_requirement", arguments);
    }
    agent
}

#[test]
fn one_session_has_all_parts() {
    let project = project();
    let mut serving = Serving::spexus(project.path(), &[]);
    let result = serving.handshake("2025-06-18")["result"].clone();
    assert_eq!(
        (&result["serverInfo"]["name"], &result["protocolVersion"]),
        (&json!("spexus"), &json!("2025-06-18"))
    );
    let capabilities = json!({
        "prompts": {"listChanged": true}, "resources": {"listChanged": true, "subscribe": true},
        "tools": {"listChanged": false}, "completions": {},
    });
    assert_eq!(result["capabilities"], capabilities);
    let told = result["instructions"].as_str().expect("instructions");
    for part in ["REQ-027", "`next`", "`threats`", "In the store: 0 epics", "docs-kettle-md 4"] {
        assert!(told.contains(part), "{part} is not told:\n{told}");
    }
    let listed = serving.request(1, "tools/list", json!({}))["result"]["tools"].clone();
    let expected = [
        "next",
        "finish",
        "get",
        "find",
        "create",
        "update",
        "relate",
        "comment",
        "delete",
        "report",
        "check_citation",
        "threats",
    ];
    assert_eq!(column(&listed, "name"), expected);
}

#[test]
fn all_tools_are_listed_for_those_who_want_them() {
    let project = project();
    let names = |sets: &str| {
        let mut serving = Serving::spexus(project.path(), &["--toolsets", sets]);
        serving.handshake("2025-06-18");
        column(&serving.request(1, "tools/list", json!({}))["result"]["tools"], "name")
    };
    let usual = names("requirements,trace,threats");
    for name in ["create_epic", "search_requirements", "validate_citation", "tmkb_query"] {
        assert_eq!(usual.iter().filter(|known| *known == name).count(), 1, "{name}: {usual:?}");
    }
    assert_eq!(usual.len(), 21 + 7 + 1);
    let all = names("all");
    let has = |name: &str| all.iter().any(|known| known == name);
    assert!(usual.iter().all(|name| has(name)) && has("next") && has("bulk_update"), "{all:?}");
}

#[test]
fn long_calls_tell_how_far_they_are() {
    for revision in ["2025-11-25", "2026-07-28"] {
        let mut agent = Agent::spexus(folder(&[]), revision, &["--toolsets", "requirements,bulk"]);
        let step = json!({"operation": "create_epic", "arguments": {"title": "Kitchen", "priority": 2}});
        let arguments = json!({"operations": vec![step; 300]});
        agent.call("bulk_update", arguments.clone());
        let is_progress = |note: &&Value| note["method"] == "notifications/progress";
        assert_eq!(agent.notes.iter().find(is_progress), None, "nobody asked");
        let params = json!({"name": "bulk_update", "arguments": arguments, "_meta": {"progressToken": "p"}});
        let answer = agent.ask("tools/call", params);
        assert_eq!(answer["result"]["isError"], false, "{answer}");
        let told: Vec<&Value> = agent.notes.iter().filter(is_progress).map(|note| &note["params"]).collect();
        assert!(told.len() > 1 && told.iter().all(|told| told["progressToken"] == "p"), "{told:?}");
        assert_eq!((&told[0]["progress"], &told[0]["total"]), (&json!(1.0), &json!(300.0)), "{told:?}");
        assert_eq!(told[told.len() - 1]["progress"], 300.0, "{told:?}");
    }
}

#[test]
fn versions_are_negotiated() {
    let folder = folder(&[]);
    for (asked, expected) in
        [("2024-11-05", "2024-11-05"), ("2031-01-01", "2025-11-25"), ("2026-07-28", "2025-11-25")]
    {
        let mut serving = Serving::spexus(folder.path(), &[]);
        assert_eq!(serving.handshake(asked)["result"]["protocolVersion"], expected);
        let (status, ..) = serving.end();
        assert!(status.success());
    }
}

/// Some hosts start a server only to ask what it is, and close it at once.
#[test]
fn a_probe_is_answered_and_ends_well() {
    let folder = folder(&[]);
    let mut serving = Serving::spexus(folder.path(), &[]);
    let found = serving.request(1, "server/discover", json!({"_meta": stateless()}));
    assert!(found["result"]["supportedVersions"].as_array().is_some_and(|known| known.len() == 5), "{found}");
    assert!(serving.end().0.success());
    let serving = Serving::spexus(folder.path(), &[]);
    assert!(serving.end().0.success());
}

#[test]
fn tool_errors_are_results_in_every_revision() {
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"] {
        let mut agent = Agent::spexus(project(), revision, &[]);
        for (tool, arguments) in [
            ("get_entity", json!({"reference": "EP-404"})),
            ("get_entity", json!({})),
            ("get_requirement_status", json!({"req_identifier": "nothing"})),
            ("tmkb_query", json!({})),
        ] {
            assert!(!agent.refused(tool, arguments).is_empty());
        }
        let answer = agent.ask("tools/call", json!({"name": "nothing", "arguments": {}}));
        assert_eq!(answer["error"]["code"], -32602);
    }
}

#[test]
fn threats_are_answered_for_a_language_that_no_pattern_has() {
    let mut agent = Agent::spexus(project(), "2025-11-25", &["--toolsets", "threats"]);
    let answer = agent.json("tmkb_query", json!({"context": "bulk delete endpoint", "language": "rust"}));
    assert_eq!(answer["patterns"][0]["written_for"], "Python/Flask", "{answer}");
    assert!(answer.get("code_pattern").is_none(), "{answer}");
    let answer = agent.json("tmkb_query", json!({"context": "prevent SQL injection in a report"}));
    assert_eq!(
        answer["note"],
        "covers authorization (24 patterns, Python/Flask); nothing here is about SQL injection"
    );
}

#[test]
fn threats_in_full_keep_to_a_budget() {
    let mut agent = Agent::spexus(project(), "2025-11-25", &["--toolsets", "threats"]);
    let mut arguments = json!({"context": "tenant isolation in a list endpoint", "verbosity": "human"});
    let short = agent.json("tmkb_query", arguments.clone());
    assert!(crate::token_estimates::n_tokens(&short.to_string()) <= 2_000, "{short}");
    let note = short["note"].as_str().expect("a note");
    let n_tokens = note.split(' ').find_map(|word| word.parse::<u64>().ok()).expect("a number");
    arguments["max_tokens"] = json!(n_tokens);
    let whole = agent.json("tmkb_query", arguments.clone());
    assert_eq!((&whole["patterns_included"], whole.get("note")), (&json!(3), None), "{whole}");
    arguments["max_tokens"] = json!(100);
    let problem = agent.refused("tmkb_query", arguments);
    assert!(problem.contains("max_tokens: expected an integer from 200"), "{problem}");
}

#[test]
fn the_tools_of_the_other_parts_work_as_the_manual_says() {
    let mut agent = Agent::spexus(project(), "2025-11-25", &["--toolsets", "trace,threats"]);
    let listed = agent.ask("tools/list", json!({}))["result"]["tools"].clone();
    let names = column(&listed, "name");
    assert_eq!(names.len(), 9, "{names:?}");
    let mut n_called = 0;
    for (tool, example) in examples().filter(|(tool, _)| names.iter().any(|name| name == tool)) {
        let mut arguments: Value = serde_json::from_str(example).expect("JSON");
        if tool == "search_requirements" {
            arguments = json!({"query": "lid"});
        }
        let result = agent.call(tool, arguments);
        assert_ne!(result["isError"], true, "{tool}: {result}");
        n_called += 1;
    }
    assert_eq!(n_called, 9);
    let answer = agent
        .json("validate_citation", json!({"citation": "//= docs/kettle.md#lid\n//# The lid MUST close."}));
    assert_eq!((&answer["valid"], &answer["share"]), (&json!(true), &json!(1.0)));
    let answer = agent.ask("prompts/list", json!({}));
    assert_eq!(answer["error"]["code"], -32601, "nobody chose requirements: {answer}");
    assert!(!agent.path("data").exists(), "a store was made that nobody asked for");
}

#[test]
fn requirements_of_both_kinds_are_found_and_marked() {
    let mut agent = filled(&["--output-schemas", "--toolsets", "requirements,trace"]);
    let found = agent.json("search_requirements", json!({"query": "coffee"}));
    assert_eq!(found["total_count"], 4, "{found}");
    assert_eq!(column(&found["data"], "origin"), ["managed", "spec", "managed", "spec"]);
    let mut ids: Vec<&str> = found["data"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|hit| hit["reference_id"].as_str())
        .collect();
    ids.sort();
    assert_eq!(ids, ["REQ-001", "REQ-002"]);
    let texts: Vec<&str> =
        found["data"].as_array().expect("a list").iter().filter_map(|hit| hit["text"].as_str()).collect();
    assert_eq!(texts, ["A pot MUST brew coffee.", "A pot MUST brew coffee."]);

    let mut seen = Vec::new();
    let mut arguments = json!({"query": "coffee", "limit": 1});
    loop {
        let page = agent.json("search_requirements", arguments.clone());
        seen.extend(page["data"].as_array().expect("a list").iter().cloned());
        match page.get("nextCursor") {
            Some(cursor) => arguments["cursor"] = cursor.clone(),
            None => break,
        }
    }
    assert_eq!(json!(seen), found["data"]);

    for (arguments, expected) in [
        (json!({"query": "coffee", "priority": 1}), vec!["managed", "managed"]),
        (json!({"query": "coffee", "spec_id": "docs/kettle.md"}), vec!["spec"]),
        (json!({"query": "beans"}), vec!["managed"]),
        (json!({"query": "leak"}), vec!["spec"]),
    ] {
        assert_eq!(
            column(&agent.json("search_requirements", arguments.clone())["data"], "origin"),
            expected,
            "{arguments}"
        );
    }
    let nothing = agent.json("search_requirements", json!({"query": "submarine"}));
    assert_eq!(nothing["data"], json!([]));
    assert!(nothing["message"].is_string(), "{nothing}");
    for (arguments, expected) in [
        (json!({"query": " "}), "query"),
        (json!({"query": "x", "spec_id": "nothing"}), "spec_id: there is no specification"),
        (json!({"query": "x", "spec_id": "docs/kettle.md", "type": "Data"}), "spec_id: "),
    ] {
        assert!(agent.refused("search_requirements", arguments).contains(expected));
    }
    let listed = agent.ask("tools/list", json!({}))["result"]["tools"].clone();
    let tool = listed
        .as_array()
        .expect("a list")
        .iter()
        .find(|tool| tool["name"] == "search_requirements")
        .expect("listed");
    let problems = mcp::Schema::new(tool["outputSchema"].clone()).check(&found);
    assert!(problems.is_empty(), "{problems:?}");
}

#[test]
fn without_a_project_there_is_no_traceability_and_the_agent_is_told_why() {
    let folder = folder(&[]);
    for arguments in [&[][..], &["--toolsets", "requirements,trace"]] {
        let mut serving = Serving::spexus(folder.path(), arguments);
        let told = serving.handshake("2025-11-25")["result"]["instructions"].to_string();
        assert!(told.contains("duvet init"), "{told}");
        let listed = serving.request(1, "tools/list", json!({}))["result"]["tools"].clone();
        assert!(!column(&listed, "name").contains(&"validate_citation".to_owned()));
        let (status, _, log) = serving.end();
        assert!(status.success() && log.contains("no traceability"), "{log}");
    }
}

#[test]
fn a_reader_is_offered_nothing_that_writes() {
    let mut agent = Agent::spexus(
        project(),
        "2025-11-25",
        &["--read-only", "--toolsets", "requirements,comments,steering,prompts,bulk,views"],
    );
    let listed = agent.ask("tools/list", json!({}))["result"]["tools"].clone();
    for tool in listed.as_array().expect("a list") {
        assert_eq!(tool["annotations"]["readOnlyHint"], true, "{tool}");
    }
    assert!(column(&listed, "name").contains(&"export".to_owned()));
    let answer =
        agent.ask("tools/call", json!({"name": "create_epic", "arguments": {"title": "x", "priority": 1}}));
    assert!(answer["result"].to_string().contains("this server is read-only"), "{answer}");
}

#[test]
fn wrong_usage_is_told_before_anything_is_read() {
    let folder = folder(&[]);
    for (arguments, expected) in [
        (&["--toolsets", "requirements,treats"][..], "threats"),
        (&["--database", "mysql://x"], "expected sqlite:PATH"),
        (&["--server", "http://localhost:1"], "requirements-mcp-server"),
    ] {
        let (status, lines, log) = Serving::spexus(folder.path(), arguments).end();
        assert_eq!((status.code(), lines.len()), (Some(2), 0), "{arguments:?}: {log}");
        assert!(log.contains(expected), "{arguments:?}: {log}");
    }
}

#[test]
fn the_history_says_who_it_was_and_through_what() {
    let mut agent = Agent::spexus(folder(&[]), "2025-11-25", &[]);
    agent.json("create_epic", json!({"title": "One", "priority": 1}));
    let history = agent.json("get_history", json!({"reference": "EP-001"}));
    assert_eq!((&history["data"][0]["via"], &history["data"][0]["actor"]), (&json!("mcp"), &json!("admin")));
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_spexus"));
        let output =
            command.args(arguments).env("XDG_DATA_HOME", agent.path("data")).output().expect("it runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    run(&["user", "create", "carol", "--email", "carol@example.org", "--role", "Commenter"]);
    let mut serving = Serving::spexus(agent.root(), &["--as", "carol"]);
    serving.handshake("2025-11-25");
    let call = |name: &str, arguments: Value| json!({"name": name, "arguments": arguments});
    let answer = serving.request(
        1,
        "tools/call",
        call("add_comment", json!({"reference": "EP-001", "content": "Fine.", "include": ["details"]})),
    );
    assert!(text(&answer["result"]).contains("\"author\":\"carol\""), "{answer}");
    let answer =
        serving.request(2, "tools/call", call("create_epic", json!({"title": "Mine", "priority": 1})));
    assert_eq!(answer["result"]["isError"], true);
    assert!(text(&answer["result"]).contains("needs the role User"), "{answer}");
    let mut nobody = Serving::spexus(agent.root(), &["--as", "nobody"]);
    nobody.handshake("2025-11-25");
    let answer = nobody.request(1, "tools/call", call("list_types", json!({})));
    assert!(text(&answer["result"]).contains("there is no user nobody"), "{answer}");
}

/// MCP clients often write a server's log to a file, so a password or token must not appear in it.
#[test]
fn a_new_store_is_told_of_and_has_no_secrets() {
    let folder = folder(&[]);
    let mut serving = Serving::spexus(folder.path(), &[]);
    serving.handshake("2025-11-25");
    serving.request(1, "resources/list", json!({}));
    let (status, _, log) = serving.end();
    assert!(status.success());
    assert!(
        log.contains("a new store is at") && !log.contains("mcp_pat_") && !log.contains("password"),
        "{log}"
    );
    let store = rusqlite::Connection::open(folder.path().join("data/spexus/spexus.db")).expect("a store");
    let found = store.query_row(
        "select username, password_hash is null, (select count(*) from token) from user_account",
        [],
        |row| Ok((row.get::<_, String>(0)?, row.get::<_, bool>(1)?, row.get::<_, i64>(2)?)),
    );
    assert_eq!(found.expect("one user"), ("admin".to_owned(), true, 0));
}

#[test]
fn a_store_that_cannot_be_opened_does_not_keep_the_other_parts_from_working() {
    let project = project();
    std::fs::create_dir_all(project.path().join("no.db")).expect("a folder");
    let mut agent = Agent::spexus(project, "2025-11-25", &["--database", "sqlite:no.db"]);
    let told = agent.refused("list_types", json!({}));
    assert!(told.contains("no.db"), "{told}");
    let resolved = agent.json("resolve_spec_id", json!({"url": "docs/kettle.md"}));
    assert_eq!(resolved["spec_id"], "docs-kettle-md");
    agent.json("tmkb_query", json!({"context": "multi-tenant endpoint"}));
}

#[test]
fn a_store_that_was_named_and_is_not_there_is_not_created() {
    let mut agent = Agent::spexus(project(), "2025-11-25", &["--database", "sqlite:typo.db"]);
    let told = agent.refused("list_types", json!({}));
    assert!(told.contains("sqlite:typo.db: there is no store"), "{told}");
    assert!(!agent.path("typo.db").exists());
}

#[test]
fn resources_templates_and_completions_of_all_parts_are_under_one_roof() {
    let mut agent = filled(&[]);
    let listed = agent.ask("resources/list", json!({}))["result"].clone();
    let uris = column(&listed["resources"], "uri");
    for uri in ["epic://EP-001", "requirement://REQ-002", "duvet:///specifications", "duvet:///requirements"]
    {
        assert!(uris.contains(&uri.to_owned()), "{uri}: {uris:?}");
    }
    assert!(listed.get("nextCursor").is_none());
    assert_eq!(agent.read("epic://EP-001")["title"], "Kitchen");
    assert!(agent.read("duvet:///requirements").as_array().is_some_and(|all| all.len() > 5));
    let templates = agent.ask("resources/templates/list", json!({}))["result"]["resourceTemplates"].clone();
    let templates = column(&templates, "uriTemplate");
    assert!(templates.len() > 5 && templates[0].starts_with("epics://"), "{templates:?}");
    let mut complete = |uri: &str, name: &str, value: &str| {
        let params =
            json!({"ref": {"type": "ref/resource", "uri": uri}, "argument": {"name": name, "value": value}});
        agent.ask("completion/complete", params)["result"]["completion"]["values"].clone()
    };
    assert_eq!(complete("duvet:///specifications/{spec_id}", "spec_id", "docs"), json!(["docs-kettle-md"]));
    assert_eq!(
        complete("user-stories://list?epic_id={epic_id}&status={status}", "epic_id", "ep"),
        json!(["EP-001"])
    );
    let answer = agent.ask("resources/list", json!({"path": "/specifications"}));
    assert_eq!(answer["result"]["resources"].as_array().map(Vec::len), Some(2), "{answer}");
}

#[test]
fn many_resources_of_both_parts_come_in_pages() {
    let mut agent = Agent::spexus(project(), "2025-11-25", &["--toolsets", "bulk,trace"]);
    let create = |number| json!({"operation": "create_epic", "arguments": {"title": format!("Epic {number}"), "priority": 1}});
    agent.json("bulk_update", json!({"operations": (0..197).map(create).collect::<Vec<_>>()}));
    let mut uris = Vec::new();
    let mut params = json!({});
    let mut n_pages = 0;
    loop {
        let page = agent.ask("resources/list", params.clone())["result"].clone();
        let found = column(&page["resources"], "uri");
        assert!(!found.is_empty() && found.len() <= 100, "{}", found.len());
        uris.extend(found);
        n_pages += 1;
        let Some(cursor) = page.get("nextCursor") else { break };
        params = json!({"cursor": cursor});
    }
    let n_uris = uris.len();
    uris.sort();
    uris.dedup();
    assert_eq!((n_pages, uris.len()), (3, n_uris));
    assert_eq!(uris.iter().filter(|uri| uri.starts_with("epic:")).count(), 197);
    assert!(uris.contains(&"duvet:///citations".to_owned()));
}

/// The search of agents is the search of REST.
//@= spexus://REQ-084
//@= type=test
//@# 002 R7.3: search_global finds what GET /api/v1/search finds
#[test]
fn agents_find_what_rest_finds() {
    let mut agent = filled(&[]);
    let database = format!("sqlite:{}", agent.path("data/spexus/spexus.db").display());
    let output = Command::new(env!("CARGO_BIN_EXE_spexus"))
        .args(["token", "create", "test", "--user", "admin", "--json", "--database", &database])
        .output()
        .expect("it runs");
    let token: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let mut backend = Backend::start(&database, &[]);
    backend.token = token["token"].as_str().expect("a token").to_owned();
    for query in ["coffee", "brew", "\"coffee in the morning\"", "coffee -beans", "REQ-2", "submarine"] {
        let found = agent.json("search_global", json!({"query": query}));
        let encoded: String = query.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let rest = backend.get(&format!("/search?query={encoded}")).json;
        assert_eq!(column(&found["data"], "reference_id"), column(&rest["data"], "reference_id"), "{query}");
        assert_eq!(
            (&found["total_count"], &found["message"]),
            (&rest["total_count"], &rest["message"]),
            "{query}"
        );
    }
}

/// What other processes write reaches whoever subscribed, and whoever was promised to hear of lists.
#[test]
fn changes_of_others_are_told() {
    let mut agent = filled(&[]);
    let run = |agent: &Agent, arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_spexus"));
        let output =
            command.args(arguments).env("XDG_DATA_HOME", agent.path("data")).output().expect("it runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    for uri in ["epic://ep-1", "requirement://REQ-001", "epics://list?status=Done", "duvet:///citations"] {
        let answer = agent.ask("resources/subscribe", json!({"uri": uri}));
        assert_eq!(answer["result"], json!({}), "{uri}: {answer}");
    }
    let answer = agent.ask("resources/subscribe", json!({"uri": "epic://EP-404"}));
    assert_eq!(answer["error"]["code"], -32002, "{answer}");
    // What this session itself has written comes first.
    let updated = |uri: &str| json!({"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": uri}});
    let listed = json!({"jsonrpc": "2.0", "method": "notifications/resources/list_changed"});
    agent.json(
        "update_requirement",
        json!({"requirement_id": "REQ-001", "title": "Brew coffee before seven"}),
    );
    wait_for(&mut agent, &updated("requirement://REQ-001"));
    agent.notes.clear();
    run(&agent, &["epic", "update", "EP-001", "--title", "The kitchen"]);
    wait_for(&mut agent, &updated("epic://ep-1"));
    wait_for(&mut agent, &updated("epics://list?status=Done"));
    assert!(
        !agent.notes.contains(&listed) && !agent.notes.contains(&updated("requirement://REQ-001")),
        "{:?}",
        agent.notes
    );
    run(&agent, &["epic", "create", "--title", "Cellar", "--priority", "4"]);
    wait_for(&mut agent, &listed);
    let prompts = json!({"jsonrpc": "2.0", "method": "notifications/prompts/list_changed"});
    run(&agent, &["prompt", "create", "--name", "more", "--title", "More", "--content", "More."]);
    wait_for(&mut agent, &prompts);
    agent.write("src/more.rs", POT);
    wait_for(&mut agent, &updated("duvet:///citations"));
    agent.notes.clear();
    agent.ask("resources/unsubscribe", json!({"uri": "epic://ep-1"}));
    run(&agent, &["epic", "update", "EP-001", "--title", "Kitchen"]);
    wait_for(&mut agent, &updated("epics://list?status=Done"));
    assert!(!agent.notes.contains(&updated("epic://ep-1")), "{:?}", agent.notes);
    // When the store is replaced, everything may read differently.
    let copy = agent.path("copy.db").display().to_string();
    run(&agent, &["backup", &copy]);
    agent.notes.clear();
    run(&agent, &["restore", &copy, "--replace"]);
    for note in [listed, prompts, updated("requirement://REQ-001"), updated("epics://list?status=Done")] {
        wait_for(&mut agent, &note);
    }
}

/// Asks for nothing in particular until something was told.
#[track_caller]
fn wait_for(agent: &mut Agent, note: &Value) {
    let start = Instant::now();
    while !agent.notes.contains(note) {
        assert!(start.elapsed() < PATIENCE, "{note} was not told, but {:?}", agent.notes);
        agent.ask("ping", json!({}));
        thread::sleep(Duration::from_millis(10));
    }
}

/// A server and several sessions share one file.
#[test]
fn a_server_and_sessions_work_on_one_store() {
    let mut agent = filled(&[]);
    let database = format!("sqlite:{}", agent.path("data/spexus/spexus.db").display());
    let _backend = Backend::start(&database, &[]);
    let root = agent.root().to_path_buf();
    let workers: Vec<_> = (0..3)
        .map(|worker| {
            let root = root.clone();
            thread::spawn(move || {
                let mut serving = Serving::spexus(&root, &["--toolsets", "requirements"]);
                serving.handshake("2025-06-18");
                for number in 0..20 {
                    let arguments = json!({"title": format!("Epic {worker} {number}"), "priority": 3});
                    serving.send(
                        &json!({"jsonrpc": "2.0", "id": number, "method": "tools/call",
                        "params": {"name": "create_epic", "arguments": arguments}})
                        .to_string(),
                    );
                    let answer = loop {
                        let message = serving.receive();
                        if message["id"] == number {
                            break message;
                        }
                    };
                    assert_eq!(answer["result"]["isError"], false, "{answer}");
                }
                assert!(serving.end().0.success());
            })
        })
        .collect();
    workers.into_iter().for_each(|worker| worker.join().expect("it works"));
    let page = agent.json("list_entities", json!({"kind": "epic", "limit": 1}));
    assert_eq!(page["total_count"], 61, "{page}");
}
