//! The tools that `spexus mcp` shows first: what they cost, what they answer, and the way from an open requirement to a citation.

use std::fs;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use spexus::combined::manual::daily_examples;
use tempfile::TempDir;

use crate::agent::{Agent, folder, stateless, text, usual};
use crate::process::{PATIENCE, Serving};
use crate::requirements_tools;
use crate::token_estimates::n_tokens;

const POT: &str = "//= docs/kettle.md#lid\n//# The lid MUST close.\nfn close() {}\n\nfn brew() {}\n";

fn project() -> TempDir {
    folder(&[&usual()[..], &[("src/pot.rs", POT)]].concat())
}

fn said(agent: &mut Agent, tool: &str, arguments: Value) -> String {
    let result = agent.call(tool, arguments);
    assert_ne!(result["isError"], true, "{tool}: {result}");
    assert_eq!(result.get("structuredContent"), None, "{tool}: nobody asked for it");
    text(&result).to_owned()
}

#[test]
fn the_way_from_an_open_requirement_to_its_citation_is_four_calls() {
    let agent = Agent::spexus(project(), "2025-11-25", &[]);
    let cost = walk(agent);
    assert!(cost <= 2_500, "{cost} tokens");
}

/// The same in a project of one's own: `SPEXUS_TRY_PROJECT` is a folder with a `.duvet/config.toml`.
#[test]
#[ignore = "needs the project that SPEXUS_TRY_PROJECT names"]
fn the_same_way_in_another_project() {
    let root = PathBuf::from(std::env::var("SPEXUS_TRY_PROJECT").expect("SPEXUS_TRY_PROJECT"));
    let agent = Agent::spexus_at(&root, "2025-11-25");
    let cost = walk(agent);
    eprintln!("{cost} tokens");
    assert!(cost <= 2_500, "{cost} tokens");
}

/// Asks what is next, reads it, looks at the code, writes the citation and checks it. Returns what all of it cost, with the tools
/// and the instructions.
fn walk(mut agent: Agent) -> usize {
    let listed = agent.ask("tools/list", json!({}))["result"].to_string();
    let discovered = agent.ask("server/discover", json!({ "_meta": stateless() }));
    let told = discovered["result"]["instructions"].as_str().expect("instructions");
    let mut cost = n_tokens(&listed) + n_tokens(told);
    let mut call = |tool: &str, arguments: Value| {
        cost += n_tokens(&arguments.to_string());
        let answer = said(&mut agent, tool, arguments);
        cost += n_tokens(&answer);
        answer
    };
    let next = call("next", json!({}));
    let line = next.lines().find(|line| line.contains("MUST")).expect("something is open");
    let id = line.split_whitespace().next().expect("a short id");
    let requirement = call("get", json!({ "reference": id }));
    let marked = |line: &&str| line.starts_with("//");
    let citation = requirement.lines().filter(marked).collect::<Vec<_>>().join("\n");
    let place = requirement
        .lines()
        .find_map(|line| line.strip_prefix("cited at ").or(line.strip_prefix("code nearby: ")))
        .and_then(|places| places.split([',', ' ']).next())
        .unwrap_or_else(|| panic!("no code: {requirement}"));
    let code = call("get", json!({ "reference": place }));
    assert!(code.lines().any(|line| line.contains("fn ") || line.contains("//")), "{code}");
    let verdict = call(
        "check_citation",
        json!({ "citation": citation, "file": place.rsplit_once(':').map(|(path, _)| path) }),
    );
    assert!(verdict.starts_with("valid\n") && verdict.contains(&format!("100 % of {id}")), "{verdict}");
    cost
}

#[test]
fn what_is_cited_is_no_longer_open() {
    let mut agent = Agent::spexus(project(), "2025-11-25", &[]);
    let open = said(&mut agent, "find", json!({"status": "not started", "under": "docs/kettle.md"}));
    assert_eq!(open.lines().count(), 5, "{open}");
    let requirement = said(&mut agent, "find", json!({"query": "switch itself off", "kind": "spec"}));
    let id = requirement
        .lines()
        .nth(1)
        .and_then(|line| line.split_whitespace().next())
        .expect("a short id")
        .to_owned();
    let lines = said(&mut agent, "get", json!({ "reference": id }));
    let citation: String =
        lines.lines().filter(|line| line.starts_with("//")).map(|line| format!("{line}\n")).collect();
    fs::write(agent.path("src/off.rs"), format!("{citation}fn off() {{}}\n")).expect("a file");
    // On a busy machine the file may be read a moment later.
    let start = Instant::now();
    let now = loop {
        let now = said(&mut agent, "get", json!({ "reference": id }));
        if now.starts_with(&format!("{id} MUST needs tests")) {
            break now;
        }
        assert!(start.elapsed() < PATIENCE, "{now}");
        thread::sleep(Duration::from_millis(20));
    };
    assert!(now.contains("cited at src/off.rs:1") && now.contains("//= type=test"), "{now}");
    let code = said(&mut agent, "get", json!({"reference": "./src/off.rs:3"}));
    assert!(code.contains(&format!("cites {id}")) && code.contains("3 fn off() {}"), "{code}");
}

#[test]
fn tools_and_instructions_cost_less_than_1300_tokens() {
    let specifications: Vec<(String, String)> = (0..30)
        .map(|number| {
            let text = format!("# Part {number}\n\nA part MUST fit.\n\n# More\n\nA part SHOULD shine.\n");
            (format!("docs/a-rather-long-name-of-a-part-{number}.md"), text)
        })
        .collect();
    let mut config = "'$schema' = 'https://awslabs.github.io/duvet/config/v0.4.0.json'\n".to_owned();
    config += "[[source]]\npattern = 'src/**/*.rs'\n";
    for (path, _) in &specifications {
        config += &format!("[[specification]]\nsource = '{path}'\n");
    }
    let mut files: Vec<(&str, &str)> = vec![(".duvet/config.toml", &config)];
    files.extend(specifications.iter().map(|(path, text)| (path.as_str(), text.as_str())));
    let folder = folder(&files);
    let mut serving = Serving::spexus(folder.path(), &[]);
    let told = serving.handshake("2025-11-25")["result"]["instructions"].clone();
    let told = n_tokens(told.as_str().expect("instructions"));
    let listed = n_tokens(&serving.request(1, "tools/list", json!({}))["result"].to_string());
    assert!(told <= 300, "{told} tokens of instructions");
    assert!(told + listed <= 1_300, "{told} and {listed} tokens");
    assert!(listed > 500, "{listed} tokens are too few to be true");
}

#[test]
fn answers_are_short() {
    let mut agent = requirements_tools::filled(&[]);
    let entity = said(&mut agent, "get", json!({"reference": "REQ-001"}));
    assert!(entity.contains("The page shows no more than the last four digits."), "{entity}");
    assert!(n_tokens(&entity) <= 140, "{entity}");
    let made = said(&mut agent, "create", json!({"kind": "epic", "title": "Returns", "priority": "high"}));
    assert_eq!(made, "EP-002 v1 Backlog");
    for number in 4..10 {
        let title = format!("Answer within {number} seconds");
        let arguments =
            json!({"kind": "requirement", "parent": "US-002", "title": title, "type": "Data", "priority": 4});
        said(&mut agent, "create", arguments);
    }
    let listed = said(&mut agent, "find", json!({"kind": "requirement"}));
    assert_eq!(
        (listed.lines().count(), listed.lines().next()),
        (9, Some("REQ-001 Draft P1 Mask card numbers"))
    );
    assert!(n_tokens(&listed) <= 420, "{listed}");
}

/// Tools that are not listed can be called, and cost no more than those that are.
#[test]
fn lists_of_other_tools_are_lines_too() {
    let requirements: String = (0..14)
        .map(|number| format!("A kettle of size {number} MUST switch itself off when its water boils.\n\n"))
        .collect();
    let text = format!("# Kettles\n\n## Boiling water in kettles of all sizes\n\n{requirements}");
    let files = [&usual()[..2], &[("docs/kettle.md", text.as_str()), ("src/pot.rs", POT)]].concat();
    let mut agent = Agent::spexus(folder(&files), "2025-11-25", &[]);
    let arguments = json!({"spec_id": "docs/kettle.md"});
    let uncited = said(&mut agent, "list_uncited_requirements", arguments.clone());
    assert_eq!(uncited.lines().count(), 15, "{uncited}");
    assert!(n_tokens(&uncited) <= 750, "{} tokens: {uncited}", n_tokens(&uncited));
    let first =
        said(&mut agent, "get_prioritized_requirements", json!({"spec_id": "docs/kettle.md", "limit": 1}));
    assert!(first.contains("MUST not started: A kettle of size 0"), "{first}");
    assert!(first.ends_with("13 more: cursor p1"), "{first}");
    let mut listed = Agent::spexus(folder(&files), "2025-11-25", &["--toolsets", "trace"]);
    let rows = listed.json("list_uncited_requirements", arguments);
    assert!(rows[0]["identifier"].is_string() && rows[0]["short_id"].is_string(), "{rows}");
}

#[test]
fn everything_daily_can_be_done_with_the_examples() {
    let mut agent = requirements_tools::filled(&[]);
    let mut n_called = 0;
    for (tool, example) in daily_examples() {
        // There is no project here.
        if tool != "check_citation" {
            if tool == "finish" {
                let taken = said(&mut agent, "next", json!({"take": true, "under": "REQ-002"}));
                assert!(taken.starts_with("REQ-002.1 is your lease until "), "{taken}");
            }
            said(&mut agent, &tool, serde_json::from_str(example).expect("JSON"));
            n_called += 1;
        }
    }
    assert_eq!(n_called, 11);
    let comments =
        said(&mut agent, "get", json!({"reference": "REQ-001", "include": ["comments", "relationships"]}));
    assert!(comments.contains("admin: Also on the receipt?"), "{comments}");
    assert!(comments.contains("REQ-002 relates_to REQ-001"), "{comments}");
    let removed = json!({"reference": "REQ-002", "to": "REQ-001", "type": "relates_to", "remove": true});
    assert_eq!(said(&mut agent, "relate", removed.clone()), "removed REQ-002 relates_to REQ-001");
    assert!(agent.refused("relate", removed).contains("there is no relationship"));
    let gone = said(&mut agent, "delete", json!({"reference": "US-002", "dry_run": true, "force": true}));
    assert!(gone.starts_with("would delete US-002 with"), "{gone}");
    assert_eq!(said(&mut agent, "next", json!({"under": "US-001", "limit": 1})).lines().count(), 2);
    let update = json!({"reference": "REQ-002", "parent": "US-002", "expected_version": 1});
    assert_eq!(said(&mut agent, "update", update), "REQ-002 v2 Draft");
}

#[test]
fn lists_go_on_after_a_cursor() {
    let mut agent = Agent::spexus(project(), "2025-11-25", &[]);
    said(&mut agent, "create", json!({"kind": "epic", "title": "Kitchen", "priority": 1}));
    said(
        &mut agent,
        "create",
        json!({"kind": "user_story", "parent": "EP-001", "title": "Coffee", "priority": 1}),
    );
    for title in ["Brew coffee", "Order beans"] {
        let arguments = json!({"kind": "requirement", "parent": "US-001", "title": title, "type": "Functional", "priority": 1});
        said(&mut agent, "create", arguments);
    }
    let whole = said(&mut agent, "next", json!({"limit": 100}));
    let rows = |text: &str| -> Vec<String> {
        let is_row = |line: &&str| line.starts_with("  ") || line.starts_with("REQ-");
        text.lines().filter(is_row).map(str::to_owned).collect()
    };
    assert!(rows(&whole).len() > 6, "{whole}");
    let (mut seen, mut arguments) = (Vec::new(), json!({"limit": 3}));
    loop {
        let page = said(&mut agent, "next", arguments.clone());
        seen.extend(rows(&page));
        match page.lines().find_map(|line| line.split_once(" more: cursor ")) {
            Some((_, cursor)) => arguments["cursor"] = json!(cursor),
            None => break,
        }
    }
    assert_eq!(seen, rows(&whole));
}

#[test]
fn errors_say_what_to_do_next() {
    let mut agent = Agent::spexus(project(), "2025-11-25", &[]);
    for (tool, arguments, expected) in [
        ("get", json!({"reference": "docs/kettle.md#lit"}), "did you mean docs/kettle.md#lid?"),
        ("get", json!({"reference": "src/pot.rs:900"}), "did you mean src/pot.rs:1?"),
        ("get", json!({"reference": "REQ-001"}), "there is no requirement"),
        ("get", json!({"reference": "tea"}), "expected a reference such as REQ-027, a short id"),
        ("find", json!({"under": "tea"}), "under: nothing is called tea"),
        (
            "create",
            json!({"kind": "epic", "title": "x"}),
            "priority: is required (an integer from 1 to 4). 1 critical",
        ),
        ("create", json!({"kind": "requirement", "title": "x"}), "parent: is required: the user story"),
        ("update", json!({"reference": "docs/kettle.md#lid", "status": "Done"}), "is changed in its file"),
        ("next", json!({"cursor": "x"}), "cursor: not a cursor"),
        ("next", json!({"take": true, "limit": 3}), "limit: cannot be combined with take, which leases one"),
        ("next", json!({"paths": ["src"]}), "paths: only allowed with take"),
        ("next", json!({"take": true, "under": "docs/kettle.md#lid"}), "which is not leased"),
        (
            "finish",
            json!({"lease": "REQ-001.1", "instead": "release", "base": "main"}),
            "base: cannot be combined with instead",
        ),
        ("finish", json!({"lease": "REQ-1"}), "expected a lease such as REQ-012.3"),
    ] {
        let message = agent.refused(tool, arguments.clone());
        assert!(message.contains(expected), "{tool} {arguments}: {message}");
    }
    let mut reader = Agent::spexus(project(), "2025-11-25", &["--read-only"]);
    let message = reader.refused("delete", json!({"reference": "REQ-001"}));
    assert_eq!(message, "delete writes, and this server was started with --read-only");
    let message = reader.refused("next", json!({"take": true}));
    assert_eq!(message, "next with take writes, and this server was started with --read-only");
}
