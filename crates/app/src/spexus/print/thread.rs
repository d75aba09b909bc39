//! The thread as a tree: requirements, their units with a mark for the verdict, and what cites them.

use serde_json::{Map, Value};

use super::table::cell;

/// How many characters of a commit are shown.
const COMMIT_CHARS: usize = 10;

/// Whether an answer is a thread.
pub fn is_thread(object: &Map<String, Value>) -> bool {
    object.contains_key("heads") && object.contains_key("verified") && object.contains_key("data")
}

/// The lines of a thread.
pub fn lines(thread: &Map<String, Value>) -> Vec<String> {
    let mut lines = Vec::new();
    chain(&mut lines, &Value::Object(thread.clone()));
    if let Some(about) = thread.get("about") {
        let indent = "  ".repeat(list(thread.get("chain")).len());
        lines.push(format!("{indent}{}  {}", text(about, "reference_id"), cell(about.get("title"))));
    }
    for threat in list(thread.get("threats")) {
        lines.push(format!("! {}", threat_line(threat)));
    }
    let mut above: &[Value] = &[];
    for item in list(thread.get("data")) {
        // Neighbours of one story stand below it together.
        if list(item.get("chain")) != above {
            above = list(item.get("chain"));
            chain(&mut lines, item);
        }
        item_lines(&mut lines, item);
    }
    let number = |name: &str| thread.get(name).and_then(Value::as_i64).unwrap_or_default();
    let (total, last) = (number("total_count"), number("offset") + list(thread.get("data")).len() as i64);
    if total > 1 {
        lines.push(format!(
            "{total} requirements and criteria, {} cited, {} verified",
            number("cited"),
            number("verified")
        ));
    }
    if total > last && last > 0 {
        lines.push(format!("{last} of {total}; --offset {last} shows more"));
    }
    for head in list(thread.get("heads")) {
        let dirty = if head["dirty"] == true { ", changed since" } else { "" };
        let when = match head["live"] == true {
            true => "as it is here now".to_owned(),
            false => format!("pushed {}", text(head, "pushed_at")),
        };
        lines.push(format!(
            "{} {}{}{dirty}, {when}",
            text(head, "repository"),
            text(head, "ref"),
            commit(head)
        ));
    }
    if let Some(note) = thread.get("note").and_then(Value::as_str) {
        lines.push(note.to_owned());
    }
    lines
}

/// The lines of a requirement or criterion: its heading, its units, and what cites them.
pub fn item_lines(lines: &mut Vec<String>, item: &Value) {
    let units = list(item.get("units"));
    let n_closed = units.iter().filter(|unit| unit["closed"] == true).count();
    let state = match (units.is_empty(), item["verified"] == true) {
        (_, true) => "verified".to_owned(),
        (true, false) => "not verified".to_owned(),
        (false, false) => format!("{n_closed} of {} closed", units.len()),
    };
    let status = item["status"].as_str().map(|status| format!("  [{status}]")).unwrap_or_default();
    lines.push(format!("{}  {}{status}  {state}", text(item, "reference_id"), cell(item.get("title"))));
    let (outdated, threats) = (list(item.get("outdated")), list(item.get("threats")));
    for (index, unit) in units.iter().enumerate() {
        let is_last = index + 1 == units.len() && outdated.is_empty() && threats.is_empty();
        let (branch, below) = if is_last { ("└", " ") } else { ("├", "│") };
        let verdict = text(unit, "verdict").replace('_', " ");
        let mark = mark(&verdict, unit["closed"] == true);
        let asked = if unit["asked"] == true { "  ← here" } else { "" };
        lines.push(format!("{branch} {mark} {verdict:<9}  {}{asked}", text(unit, "text")));
        for code in list(unit.get("code")) {
            let kind = code["kind"].as_str().unwrap_or("code");
            lines.push(format!("{below}     {kind}  {}", place(code)));
        }
        for test in list(unit.get("tests")) {
            let linked = if test["kind"] == "verifies" { ", linked by its report" } else { "" };
            lines.push(format!("{below}     test  {}{}{linked}", place(test), run(test)));
        }
        for tried in list(unit.get("manual")) {
            let (outcome, who) = (text(tried, "outcome"), text(tried, "actor"));
            lines.push(format!("{below}     tried by {who}: {outcome}, {}", cell(tried.get("what"))));
        }
        if let Some(more) = left_out(unit) {
            lines.push(format!("{below}     {more}"));
        }
        if let Some(why) = unit["why_open"].as_str() {
            lines.push(format!("{below}     open: {why}"));
        }
    }
    for (index, cited) in outdated.iter().enumerate() {
        let branch = if index + 1 == outdated.len() && threats.is_empty() { "└" } else { "├" };
        let version = match cited["quoted_version"].as_i64() {
            Some(version) => format!(", quotes version {version}"),
            None => String::new(),
        };
        lines.push(format!("{branch} ! {:<9}  {}{version}", text(cited, "state"), where_it_is(cited)));
    }
    for (index, threat) in threats.iter().enumerate() {
        let branch = if index + 1 == threats.len() { "└" } else { "├" };
        let mark = if threat["state"] == "closed" { '✓' } else { '!' };
        lines.push(format!("{branch} {mark} {}", threat_line(threat)));
    }
    lines.extend(left_out(item).map(|more| format!("  {more}")));
}

/// A threat: how it stands, what it is, and why it is open.
fn threat_line(threat: &Value) -> String {
    let threatens = threat["threatens"].as_str().map(|to| format!(" to {to}")).unwrap_or_default();
    let until = threat["decision"]["review_by"].as_str().and_then(|until| until.split('T').next());
    let rest = match (threat["why_open"].as_str(), until) {
        (Some(why), _) => format!("  ({why})"),
        (None, Some(day)) => format!("  (until {day})"),
        (None, None) => String::new(),
    };
    let (state, pattern, name) = (text(threat, "state"), text(threat, "pattern"), text(threat, "name"));
    format!("{state:<9}  threat{threatens}: {pattern}  {name}{rest}")
}

/// How much the answer has no room for.
fn left_out(of: &Value) -> Option<String> {
    of["left_out"].as_i64().map(|count| format!("and {count} more; --max-tokens shows more or fewer"))
}

/// What is above, each a step further in.
fn chain(lines: &mut Vec<String>, of: &Value) {
    for (depth, above) in list(of.get("chain")).iter().enumerate() {
        let indent = "  ".repeat(depth);
        lines.push(format!("{indent}{}  {}", text(above, "reference_id"), cell(above.get("title"))));
    }
}

/// A mark that says by its shape what the verdict is.
fn mark(verdict: &str, is_closed: bool) -> char {
    match verdict {
        _ if is_closed => '✓',
        "failed" => '✗',
        "flaky" => '~',
        "old" => '↻',
        "passed" | "witnessed" | "proven" => '◐',
        _ => '○',
    }
}

fn place(cited: &Value) -> String {
    let state = cited["state"].as_str().map(|state| format!("  ({state})")).unwrap_or_default();
    where_it_is(cited) + &state
}

fn where_it_is(cited: &Value) -> String {
    let repository = cited["repository"].as_str().map(|name| format!("{name} ")).unwrap_or_default();
    let symbol = cited["symbol"].as_str().map(|name| format!("  {name}")).unwrap_or_default();
    format!("{repository}{}{symbol}", text(cited, "place"))
}

fn run(test: &Value) -> String {
    let Some(outcome) = test["outcome"].as_str() else { return "  not run".to_owned() };
    let run = &test["run"];
    let attempts = test["attempts"].as_i64().map(|n| format!(" in {n} attempts")).unwrap_or_default();
    let old = if test["verdict"] == "old" { ", but changed since" } else { "" };
    let outcome = outcome.replace('_', " ");
    format!("  {outcome}{attempts}{old}, {}{}, {}", text(run, "tool"), commit(run), text(run, "trust"))
}

fn commit(of: &Value) -> String {
    let short = |commit: &str| format!(" {}", commit.chars().take(COMMIT_CHARS).collect::<String>());
    of["commit"].as_str().map(short).unwrap_or_default()
}

fn text<'a>(of: &'a Value, name: &str) -> &'a str {
    of[name].as_str().unwrap_or_default()
}

fn list(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}
