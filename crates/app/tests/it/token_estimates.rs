//! Compares estimates of tokens with the real tokenizer, on answers of the real programs.
//!
//! The costs of the estimate were chosen on other texts (`crates/tokens/tests/it/calibration.rs`). These answers are held out:
//! when a limit fails here, extend the calibration set and choose the costs on that.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::agent::{Agent, column, folder, json_of};
use crate::backend::Backend;
use crate::bridge;
use crate::bridge_backend::ask;
use crate::process::Serving;

/// Counts tokens as `o200k_base` does.
pub fn n_tokens(text: &str) -> usize {
    bpe_openai::o200k_base().count(text)
}

/// How many answers may be counted too low, how far, and how much higher the average may be.
const UNDER_PERCENT_MAX: f64 = 1.0;
const UNDER_BY_PERCENT_MAX: f64 = 3.0;
const OVER_PERCENT_MAX: f64 = 20.0;

#[test]
fn estimates_of_real_answers_are_an_upper_bound() {
    let mut report = String::new();
    let mut all = Vec::new();
    for (server, answers) in
        [("tmkb", threats()), ("duvet", traces()), ("spexus", requirements()), ("bridge", bridged())]
    {
        let ratios: Vec<(f64, String)> = answers
            .into_iter()
            .map(|(text, asked)| (tokens::count(&text) as f64 / n_tokens(&text) as f64, asked))
            .collect();
        report += &line(server, &ratios);
        all.extend(ratios);
    }
    report += &line("all", &all);
    eprintln!("{report}");
    assert!(all.len() > 300, "{} answers are too few", all.len());
    let under: Vec<&(f64, String)> = all.iter().filter(|(ratio, _)| *ratio < 1.0).collect();
    assert!(under.len() as f64 * 100.0 <= all.len() as f64 * UNDER_PERCENT_MAX, "{report}{under:?}");
    let far = under.iter().find(|(ratio, _)| (1.0 - ratio) * 100.0 > UNDER_BY_PERCENT_MAX);
    assert_eq!(far, None, "{report}");
    assert!((mean(&all) - 1.0) * 100.0 <= OVER_PERCENT_MAX, "{report}");
}

fn line(server: &str, ratios: &[(f64, String)]) -> String {
    let lowest = ratios.iter().map(|(ratio, _)| *ratio).fold(f64::INFINITY, f64::min);
    let highest = ratios.iter().map(|(ratio, _)| *ratio).fold(0.0, f64::max);
    let n_under = ratios.iter().filter(|(ratio, _)| *ratio < 1.0).count();
    format!(
        "{server}: {} answers, {n_under} under, lowest {lowest:.3}, mean {:.3}, highest {highest:.3}\n",
        ratios.len(),
        mean(ratios)
    )
}

fn mean(ratios: &[(f64, String)]) -> f64 {
    ratios.iter().map(|(ratio, _)| ratio).sum::<f64>() / ratios.len() as f64
}

/// Texts that an agent reads, each once, and what it asked for them.
type Answers = BTreeMap<String, String>;

/// Keeps the texts of the answer to a request.
fn keep(answers: &mut Answers, asked: String, answer: &Value) {
    let result = &answer["result"];
    let blocks = [&result["content"], &result["contents"]].into_iter().filter_map(Value::as_array).flatten();
    let texts: Vec<&str> = blocks.filter_map(|block| block["text"].as_str()).collect();
    if texts.is_empty() {
        answers.insert(result.to_string(), asked);
        return;
    }
    for text in texts {
        answers.insert(text.to_owned(), asked.clone());
    }
}

/// Advice about everything that the patterns are triggered by, short and long.
fn threats() -> Answers {
    let mut answers = Answers::new();
    let mut serving = Serving::ready("2025-11-25");
    keep(&mut answers, "tools/list".into(), &serving.request(1, "tools/list", json!({})));
    let library = threats::Library::builtin(&["all"]).expect("patterns");
    for pattern in library.patterns() {
        for (at, keyword) in pattern.triggers.keywords.iter().enumerate().take(12) {
            let verbosity = if at == 0 { "human" } else { "agent" };
            let arguments = json!({"context": keyword, "verbosity": verbosity});
            let asked = arguments.to_string();
            keep(&mut answers, asked, &serving.query(arguments));
        }
    }
    for arguments in
        [json!({"context": "center a div"}), json!({}), json!({"context": "x", "language": "cobol"})]
    {
        keep(&mut answers, arguments.to_string(), &serving.query(arguments));
    }
    answers
}

const CONFIG: &str = "'$schema' = 'https://awslabs.github.io/duvet/config/v0.4.0.json'\n[[source]]\npattern = 'src/**/*.rs'\n[[specification]]\nsource = 'docs/infusion.md'\n";
const SPECIFICATION: &str = include_str!("../data/infusion.md");
const SOURCE: &str = include_str!("../data/pump.rs");

/// Every tool and resource of `duvet mcp`, for every citation and requirement of a project.
fn traces() -> Answers {
    let mut answers = Answers::new();
    let files =
        [(".duvet/config.toml", CONFIG), ("docs/infusion.md", SPECIFICATION), ("src/pump.rs", SOURCE)];
    let mut agent = Agent::with(&files);
    let mut ask = |method: &str, params: Value| {
        let asked = format!("{method} {params}");
        let answer = agent.ask(method, params);
        keep(&mut answers, asked, &answer);
        answer
    };
    for method in ["tools/list", "resources/list", "resources/templates/list"] {
        ask(method, json!({}));
    }
    let mut read = |uri: &str| {
        let answer = ask("resources/read", json!({"uri": uri}));
        serde_json::from_str::<Value>(answer["result"]["contents"][0]["text"].as_str().expect("a text"))
            .expect("JSON")
    };
    let citations = column(&read("duvet:///citations"), "id");
    let requirements = read("/requirements");
    let paths = column(&requirements, "full_path");
    assert!(citations.len() >= 5 && paths.len() >= 12, "{citations:?} {paths:?}");
    paths.iter().for_each(|path| drop(read(path)));
    let mut call =
        |tool: &str, arguments: Value| drop(ask("tools/call", json!({"name": tool, "arguments": arguments})));
    for tool in ["list_uncited_requirements", "list_invalid_citations", "get_prioritized_requirements"] {
        for arguments in [json!({}), json!({"limit": 1}), json!({"limit": 3}), json!({"max_tokens": 200})] {
            call(tool, arguments);
        }
    }
    for query in ["alarm", "pump", "громкость", "\"second person\"", "submarine", "firmware OR calibration"]
    {
        call("search_requirements", json!({"query": query}));
        call("search_requirements", json!({"query": query, "limit": 1}));
    }
    for id in &citations {
        for n_lines in [0, 2, 5, 30] {
            call("get_citation_context", json!({"citation_id": id, "context_lines": n_lines}));
        }
    }
    for path in &paths {
        call("get_requirement_status", json!({"req_identifier": path}));
    }
    for quote in
        ["The rate MUST be between 0.1 and 999.9 ml/h.", "The rate MUST be large.", "Насос MUST молчать."]
    {
        for section in ["2-dosage", "3-тревога", "9-nothing"] {
            let citation = format!("//= docs/infusion.md#{section}\n//# {quote}");
            call("validate_citation", json!({"citation": citation}));
        }
    }
    for name in ["infusion", "docs/infusion.md", "rfc2119"] {
        call("resolve_spec_id", json!({"name": name}));
    }
    answers
}

const TOOLSETS: [&str; 7] = ["requirements", "comments", "steering", "prompts", "bulk", "trace", "threats"];
const OPERATIONS: &str = include_str!("../data/hospital.json");

/// Lists, entities, searches, reports and resources of a store with texts in several languages, and code.
fn requirements() -> Answers {
    let mut answers = Answers::new();
    for set in TOOLSETS {
        let mut agent = Agent::spexus(folder(&[]), "2025-11-25", &["--toolsets", set]);
        keep(&mut answers, set.to_owned(), &agent.ask("tools/list", json!({})));
    }
    let sets = ["--toolsets", "requirements,comments,steering,prompts,bulk,views"];
    let mut agent = Agent::spexus(folder(&[]), "2025-11-25", &sets);
    let operations: Value = serde_json::from_str(OPERATIONS).expect("JSON");
    let made = agent.json("bulk_update", json!({"operations": operations}));
    keep(&mut answers, "bulk_update".into(), &json!({"result": made}));
    let mut ask = |method: &str, params: Value| {
        let asked = format!("{method} {params}");
        let answer = agent.ask(method, params);
        keep(&mut answers, asked, &answer);
        answer
    };
    for method in ["resources/list", "resources/templates/list", "prompts/list"] {
        ask(method, json!({}));
    }
    let mut call =
        |tool: &str, arguments: Value| ask("tools/call", json!({"name": tool, "arguments": arguments}));
    for kind in ["epic", "user_story", "acceptance_criteria", "requirement", "steering_document"] {
        for limits in
            [json!({}), json!({"limit": 1}), json!({"limit": 2, "sort": "title"}), json!({"max_tokens": 300})]
        {
            let mut arguments = limits;
            arguments["kind"] = json!(kind);
            // The pages of a list are answers of their own.
            for _ in 0..6 {
                let answer = call("list_entities", arguments.clone());
                let page = json_of(&answer["result"]);
                let Some(cursor) = page.get("nextCursor") else { break };
                arguments["cursor"] = cursor.clone();
            }
        }
    }
    let numbered = |name: &'static str, n: usize| (1..=n).map(move |number| format!("{name}-{number:03}"));
    let references =
        numbered("EP", 3).chain(numbered("US", 5)).chain(numbered("AC", 4)).chain(numbered("REQ", 10));
    let references: Vec<String> = references.collect();
    for reference in &references {
        for include in
            [json!([]), json!(["parents", "children"]), json!(["relationships", "comments", "history"])]
        {
            call("get_entity", json!({"reference": reference, "include": include}));
        }
        call("get_history", json!({"reference": reference}));
        call("impact_analysis", json!({"reference": reference}));
        call("list_comments", json!({"reference": reference}));
    }
    for query in [
        "slot",
        "пациент",
        "врач OR доза",
        "alarm -nurse",
        "\"two taps\"",
        "患者",
        "HL7",
        "Gerät",
        "submarine",
    ] {
        for limits in [json!({}), json!({"limit": 1}), json!({"max_tokens": 250})] {
            let mut arguments = limits;
            arguments["query"] = json!(query);
            call("search_global", arguments.clone());
            call("search_requirements", arguments);
        }
    }
    for arguments in
        [json!({}), json!({"epic_id": "EP-001"}), json!({"epic_id": "EP-002"}), json!({"epic_id": "EP-404"})]
    {
        call("status_report", arguments.clone());
        call("hierarchy_analysis", arguments);
    }
    for (tool, arguments) in [
        ("get_entity", json!({"reference": "REQ-404"})),
        ("get_entity", json!({})),
        ("create_epic", json!({"title": "", "priority": 9})),
        ("list_prompts", json!({})),
    ] {
        call(tool, arguments);
    }
    for reference in &references {
        let kind = match &reference[..2] {
            "EP" => "epic",
            "US" => "user-story",
            "AC" => "acceptance-criteria",
            _ => "requirement",
        };
        ask("resources/read", json!({"uri": format!("{kind}://{reference}")}));
    }
    answers
}

/// What the bridge passes on from a server: answers to changes, lists, errors.
fn bridged() -> Answers {
    let mut answers = Answers::new();
    let folder = folder(&[]);
    let backend = Backend::start(&format!("sqlite:{}", folder.path().join("spexus.db").display()), &[]);
    let mut serving = Serving::spawn(bridge::command(&backend.url, &[("MCP_PAT_TOKEN", &backend.token)]));
    keep(&mut answers, "initialize".into(), &serving.handshake("2025-11-25"));
    keep(&mut answers, "tools/list".into(), &ask(&mut serving, "tools/list", json!({})));
    let mut calls: Vec<Value> = serde_json::from_str(OPERATIONS).expect("JSON");
    calls.extend(
        ["epic", "user_story", "acceptance_criteria", "requirement"]
            .map(|kind| json!({"operation": "list_entities", "arguments": {"kind": kind}})),
    );
    calls.push(json!({"operation": "status_report", "arguments": {}}));
    for call in calls {
        let params = json!({"name": call["operation"], "arguments": call["arguments"]});
        keep(&mut answers, params.to_string(), &ask(&mut serving, "tools/call", params));
    }
    answers
}
