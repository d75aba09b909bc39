//! Wrong calls, as models write them that have not read the schemas. Each is either understood, or its error message is enough to
//! correct it: a mechanical reader changes only what the message says. The share of calls that succeed must not fall.

use std::cell::RefCell;

use serde_json::{Map, Value, json};

use crate::agent::{Agent, folder, text};
use crate::backend::Backend;
use crate::requirements_tools::{fill, filled};
use crate::seed_003::SOURCES;

/// The tool that is meant, the tool that is called, and the arguments; with a tab in between. Those behind the empty line were written
/// by somebody who knew only the names of the tools: 62 % were repaired when they were first tried.
const CALLS: &str = include_str!("wrong_calls.txt");
/// The same for `duvet mcp`.
const TRACE_CALLS: &str = include_str!("wrong_calls_trace.txt");
/// How often the reader tries again.
const ATTEMPTS_MAX: usize = 4;
/// At least so many in a hundred are understood at once or repaired by the text of the message alone.
const REPAIRED_MIN_PERCENT: usize = 96;

/// What the tools for daily work do for others.
const DAILY: &[(&str, &str)] = &[
    ("get", "get_entity get_history hierarchy_analysis impact_analysis"),
    ("find", "list_entities search_global search_requirements"),
    ("create", "create_epic create_user_story create_acceptance_criteria create_requirement"),
    ("update", "update_epic update_user_story update_acceptance_criteria update_requirement"),
    ("relate", "create_relationship"),
    ("comment", "add_comment"),
    ("delete", "delete_entity"),
    ("report", "status_report hierarchy_analysis"),
];

#[test]
fn wrong_calls_are_understood_or_repaired_by_the_message() {
    check(&|| spare(filled(&["--toolsets", "requirements,trace,threats"])), |meant, tool| tool == meant);
}

/// The same for a server and its default tools, through the bridge.
#[test]
fn wrong_calls_of_the_tools_that_a_server_lists_are_repaired() {
    // A server for each part; they end with the test.
    let servers = RefCell::new(Vec::new());
    let make = || {
        let folder = folder(&[]);
        let backend = Backend::start(&format!("sqlite:{}", folder.path().join("spexus.db").display()), &[]);
        let mut agent = Agent::bridge(folder, &backend, "2025-11-25");
        servers.borrow_mut().push(backend);
        fill(&mut agent);
        spare(agent)
    };
    check(&make, |meant, tool| tool == meant);
}

#[test]
fn wrong_calls_lead_to_the_tools_for_daily_work() {
    check(&|| spare(filled(&[])), |meant, tool| {
        let does =
            |(daily, others): &(&str, &str)| *daily == tool && others.split(' ').any(|other| other == meant);
        tool == meant || DAILY.iter().any(does)
    });
}

fn check(agent: &dyn Fn() -> Agent, is_meant: impl Fn(&str, &str) -> bool) {
    let (mut n_calls, mut n_repaired, mut failed) = (0, 0, Vec::new());
    for part in CALLS.split("\n\n") {
        let mut agent = agent();
        for line in part.lines() {
            let mut parts = line.split('\t');
            let [meant, called, arguments] = [(); 3].map(|()| parts.next().expect("three parts"));
            let arguments: Map<String, Value> = serde_json::from_str(arguments).expect("arguments");
            n_calls += 1;
            match repair(&mut agent, called, arguments) {
                Ok(tool) => {
                    assert!(is_meant(meant, &tool), "{line}: {tool} was called");
                    n_repaired += 1;
                }
                Err(message) => failed.push(format!("{line}\n    {message}")),
            }
        }
    }
    assert!(n_calls >= 200, "{n_calls} calls");
    let percent = 100 * n_repaired / n_calls;
    assert!(percent >= REPAIRED_MIN_PERCENT, "{percent} % of {n_calls}:\n{}", failed.join("\n"));
}

/// The same for `duvet mcp`: all of them are repaired.
#[test]
fn wrong_calls_of_trace_tools_are_understood_or_repaired_by_the_message() {
    let mut agent = Agent::new(SOURCES);
    let mut failed = Vec::new();
    for line in TRACE_CALLS.lines() {
        let mut parts = line.split('\t');
        let [meant, called, arguments] = [(); 3].map(|()| parts.next().expect("three parts"));
        let arguments: Map<String, Value> = serde_json::from_str(arguments).expect("arguments");
        match repair(&mut agent, called, arguments) {
            Ok(tool) => assert_eq!(tool, meant, "{line}: another tool was called"),
            Err(message) => failed.push(format!("{line}\n    {message}")),
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// Somebody who asks about a small project, with epics and requirements to spare.
fn spare(mut agent: Agent) -> Agent {
    for number in 2..10 {
        agent.json("create_epic", json!({"title": format!("Spare {number}"), "priority": 4}));
    }
    for number in 4..13 {
        let title = format!("Spare {number}");
        let arguments = json!({"user_story_id": "US-002", "title": title, "type_id": "Data", "priority": 4});
        agent.json("create_requirement", arguments);
    }
    agent
}

/// Calls a tool, and does what the message says until the call works. Returns the tool that worked, or the last message.
fn repair(agent: &mut Agent, tool: &str, arguments: Map<String, Value>) -> Result<String, String> {
    let (mut tool, mut arguments) = (tool.to_owned(), arguments);
    let mut message = String::new();
    for _ in 0..ATTEMPTS_MAX {
        let call = json!({"name": tool, "arguments": arguments});
        let answer = agent.ask("tools/call", call);
        message = match &answer["error"]["message"] {
            Value::String(message) => message.clone(),
            _ if answer["result"]["isError"] == true => text(&answer["result"]).to_owned(),
            _ => return Ok(as_shown(&tool)),
        };
        let before = (tool.clone(), arguments.clone());
        if let Some(advice) = message.strip_prefix("Unknown tool: ") {
            follow(advice, &mut tool, &mut arguments);
        } else {
            message.lines().for_each(|line| correct(line, &mut arguments));
        }
        if before == (tool.clone(), arguments.clone()) {
            break;
        }
    }
    Err(message)
}

/// The name of a tool without a host's prefix, in the server's spelling.
fn as_shown(name: &str) -> String {
    nearest::plain(name.rsplit("__").next().unwrap_or(name))
}

/// Reads "…; did you mean NAME?", "…; use NAME", "…; use NAME with {…}" and "…; use NAME, such as {…}".
fn follow(advice: &str, tool: &mut String, arguments: &mut Map<String, Value>) {
    if let Some((_, rest)) = advice.split_once("did you mean ") {
        *tool = rest.trim_end_matches('?').to_owned();
    } else if let Some((_, rest)) = advice.split_once("; use ") {
        let (rest, more) = rest.split_once(" with ").unwrap_or((rest, ""));
        if let Ok(Value::Object(more)) = serde_json::from_str(more) {
            arguments.extend(more);
        }
        let (name, example) = rest.split_once(", such as ").unwrap_or((rest, ""));
        *tool = name.to_owned();
        // An example says what is missing, where nothing was given.
        if let (true, Ok(Value::Object(example))) = (arguments.is_empty(), serde_json::from_str(example)) {
            *arguments = example;
        }
    }
}

/// Reads "- FIELD: PROBLEM".
fn correct(line: &str, arguments: &mut Map<String, Value>) {
    let line = line.trim_start_matches("- ");
    let Some((field, problem)) = line.split_once(": ") else { return };
    let quoted = |text: &str| text.split('"').nth(1).map(str::to_owned);
    if let Some((_, right)) = problem.split_once("did you mean ") {
        let right =
            quoted(right).unwrap_or_else(|| right.split(['?', ' ']).next().unwrap_or_default().to_owned());
        match problem.starts_with("unknown") {
            true => {
                if let Some(value) = arguments.shift_remove(field) {
                    arguments.insert(right, value);
                }
            }
            false => drop(arguments.insert(field.to_owned(), json!(right))),
        }
    } else if problem.starts_with("unknown") {
        arguments.shift_remove(field);
    } else if problem.starts_with("is required") || problem.starts_with("expected") {
        arguments.insert(field.to_owned(), example_of(problem));
    }
}

/// A value that fits what a message describes: the first that it names.
fn example_of(problem: &str) -> Value {
    let after = |mark: &str| problem.split_once(mark).map(|(_, rest)| rest);
    if let Some(number) =
        after("an integer from ").and_then(|rest| rest.split(' ').next()?.parse::<i64>().ok())
    {
        return json!(number);
    }
    let named = after("such as `").and_then(|rest| rest.split('`').next());
    let choice = after("one of \"").and_then(|rest| rest.split('"').next());
    json!(named.or(choice).unwrap_or("something"))
}
