//! Clients and projects that ask much of `duvet mcp`: long arguments, long lists, large resources, changes that nobody
//! asked to hear of, batches.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::agent::{Agent, folder, usual};

const LID: &str = "//= docs/kettle.md#lid\n";

#[test]
fn a_citation_longer_than_any_is_refused() {
    let mut agent = Agent::new(&[("src/lib.rs", LID)]);
    let citation = |n_characters: usize| format!("{LID}//# {}", "a".repeat(n_characters - LID.len() - 4));
    let answer = agent.json("validate_citation", json!({"citation": citation(20_000)}));
    assert_eq!(answer["error"], "Requirement not found");
    let problem = agent.refused("validate_citation", json!({"citation": citation(20_001)}));
    assert!(problem.contains("20000 characters"), "{problem}");
    for (tool, argument) in [
        ("get_requirement_status", "req_identifier"),
        ("get_citation_context", "citation_id"),
        ("resolve_spec_id", "url"),
    ] {
        let problem = agent.refused(tool, json!({argument: "a".repeat(10_001)}));
        assert!(problem.contains("10000 characters"), "{tool}: {problem}");
    }
}

/// A page costs what is on it: to make the whole list anew for each would take minutes.
#[test]
fn a_list_of_thirty_thousand_sections_is_paged_through() {
    let spec = format!("# Kettles\n\n{}", "## Equal\n\nx\n\n".repeat(30_000));
    let mut agent = Agent::with(&[usual()[0], usual()[1], ("docs/kettle.md", &spec), ("src/lib.rs", LID)]);
    agent.until("the sections", |agent| !agent.problems().contains("docs/kettle.md"));
    for (path, n_expected) in [(None, 30_001 + 4 + 2 + 3), (Some("/specifications/docs-kettle-md"), 30_001)] {
        let start = Instant::now();
        let mut found = BTreeSet::new();
        let mut params = json!({});
        let (mut n_listed, mut n_pages) = (0, 0);
        if let Some(path) = path {
            params["path"] = json!(path);
        }
        loop {
            let answer = agent.ask("resources/list", params.clone());
            let page = answer["result"]["resources"].as_array().unwrap_or_else(|| panic!("{answer}"));
            n_listed += page.len();
            n_pages += 1;
            found.extend(page.iter().map(|resource| resource["uri"].to_string()));
            match &answer["result"]["nextCursor"] {
                Value::String(cursor) => params["cursor"] = json!(cursor),
                _ => break,
            }
        }
        assert_eq!((n_listed, found.len()), (n_expected, n_expected));
        assert_eq!(n_pages, n_expected.div_ceil(100));
        assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    }
}

#[test]
fn who_reads_everything_does_not_keep_others_waiting() {
    let source = format!("{LID}//# The lid MUST close.\n\n").repeat(50_000);
    let mut agent = Agent::new(&[("src/lib.rs", &source)]);
    assert_eq!(agent.n_citations(), 50_000);
    let request = |id: &str, method: &str, params: Value| {
        json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
    };
    agent.serving.send(&request("all", "resources/read", json!({"uri": "/citations"})));
    agent.serving.send(&request("ping", "ping", json!({})));
    let ids = [agent.serving.receive()["id"].clone(), agent.serving.receive()["id"].clone()];
    assert_eq!(ids, ["ping", "all"]);
}

#[test]
fn only_changes_that_somebody_asked_for_are_told() {
    let mut agent = Agent::new(&[("src/lib.rs", LID)]);
    agent.until_citations(&["src/lib.rs:1"]);
    assert_eq!(agent.ask("resources/subscribe", json!({"uri": "/citations"}))["result"], json!({}));
    for n_lines in 1..20 {
        agent.write("src/lib.rs", &format!("{}{LID}", "\n".repeat(n_lines)));
        agent.until_citations(&[&format!("src/lib.rs:{}", n_lines + 1)]);
    }
    let uris: BTreeSet<String> = agent.notes.iter().map(|note| note["params"]["uri"].to_string()).collect();
    assert_eq!(Vec::from_iter(uris), ["\"/citations\""]);
    assert_eq!(agent.ask("resources/unsubscribe", json!({"uri": "/citations"}))["result"], json!({}));
    agent.notes.clear();
    agent.write("src/lib.rs", LID);
    agent.until_citations(&["src/lib.rs:1"]);
    assert_eq!(agent.notes, [json!(null); 0]);
}

#[test]
fn a_batch_larger_than_what_may_be_in_flight_is_answered_in_full() {
    let folder = folder(&[&usual()[..], &[("src/lib.rs", LID)]].concat());
    let mut agent = Agent::start(folder, "2025-03-26", &[]);
    agent.until_citations(&["src/lib.rs:1"]);
    let call = |id: usize| {
        let params = json!({"name": "get_citation_context", "arguments": {"citation_id": "src/lib.rs:1"}});
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
    };
    let batch: Vec<Value> = (1_000..2_000).map(call).collect();
    agent.serving.send(&json!(batch).to_string());
    let answers = agent.serving.receive();
    let answers = answers.as_array().expect("a batch");
    let ids: BTreeSet<u64> = answers.iter().filter_map(|answer| answer["id"].as_u64()).collect();
    assert_eq!(ids, BTreeSet::from_iter(1_000..2_000));
    assert!(answers.iter().all(|answer| answer["result"]["isError"] != true));
}
