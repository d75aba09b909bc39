//! Wrong calls, as models write them that have not read the schemas. Each is either understood, or its error message is enough to
//! correct it: a mechanical reader changes only what the message says. The share of calls that succeed must not fall.

use serde_json::{Map, Value, json};

use crate::agent::{Agent, text};
use crate::requirements_tools::filled;

/// The tool that is meant, the tool that is called, and the arguments; with a tab in between. Those behind the empty line were written
/// by somebody who knew only the names of the tools: 62 % were repaired when they were first tried.
const CALLS: &str = include_str!("wrong_calls.txt");
/// How often the reader tries again.
const ATTEMPTS_MAX: usize = 4;
/// At least so many in a hundred are understood at once or repaired by the text of the message alone.
const REPAIRED_MIN_PERCENT: usize = 96;

#[test]
fn wrong_calls_are_understood_or_repaired_by_the_message() {
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
                    assert_eq!(tool, meant, "{line}: another tool was called");
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

/// Somebody who asks about a small project, with epics and requirements to spare.
fn agent() -> Agent {
    let mut agent = filled(&[]);
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
