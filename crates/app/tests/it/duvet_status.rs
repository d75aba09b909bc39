//! The report page, `duvet check`, the summary and MCP give every requirement the same status.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::agent::{Agent, folder};

const CONFIG: &str = "'$schema' = 'https://awslabs.github.io/duvet/config/v0.4.0.json'\n\
    [[source]]\npattern = 'src/*.rs'\n[[specification]]\nsource = 'pot.md'\n";

/// Blanks of other scripts, and a last character alone in its line.
const POT: &str = "# Pot\n\nThe pot MUST brew coffee. It SHOULD be\u{a0}hot,\nand MAY\nsing. A lid MUST fit on\nx\n\n\
    The cup MUST be clean. The spoon MAY shine.\n";

/// Covers in parts, by several kinds and under several names of the specification.
const SOURCE: &str = "\
//= pot.md#pot
//= type=implication
//# The pot MUST

//= ./pot.md#pot
//= type=exception
//= reason=tea
//# brew coffee.

//= pot.md#pot
//# It SHOULD be

//= pot.md#pot
//# hot, and MAY sing.

//= pot.md#pot
//# A lid MUST fit on

//= pot.md#pot
//= type=todo
//# The cup MUST be clean.
";

#[test]
fn page_gate_summary_and_agents_are_told_the_same() {
    let folder = folder(&[(".duvet/config.toml", CONFIG), ("pot.md", POT), ("src/lib.rs", SOURCE)]);
    let (_, summary) = run(folder.path(), &["report", "--html", "page.html"]);
    let page = fs::read_to_string(folder.path().join("page.html")).expect("the page");
    let (checked, _) = run(folder.path(), &["check", "--format", "json"]);
    let checked: Value = serde_json::from_str(&checked).expect("JSON");
    let (junit, _) = run(folder.path(), &["check", "--format", "junit"]);

    let mut agent = Agent::start(folder, "2025-11-25", &[]);
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    let mut statuses = Vec::new();
    for requirement in agent.read("duvet:///requirements").as_array().expect("a list") {
        let identifier = requirement["identifier"].as_str().expect("an identifier");
        let told = agent.json("get_requirement_status", json!({"req_identifier": identifier}));
        let status = ["done", "needs tests", "in progress", "not started"]
            .into_iter()
            .find(|status| told["status"] == **status)
            .expect("a known status");
        *counts.entry(status).or_default() += 1;
        let skipped = format!("<skipped message=\"{status}\"/>");
        let case = junit.lines().find(|line| line.contains(requirement["text"].as_str().expect("a text")));
        assert!(
            case.is_some_and(|case| status == "done" || case.contains(&skipped)),
            "{requirement} {junit}"
        );
        statuses.push((identifier[..8].to_owned(), status, told["detail"].clone()));
    }
    let count = |status: &str| counts.get(status).copied().unwrap_or(0);
    assert_eq!(["done", "needs tests", "in progress", "not started"].map(count), [1, 1, 1, 2]);
    for (key, status) in [
        ("done", "done"),
        ("needs_tests", "needs tests"),
        ("in_progress", "in progress"),
        ("not_started", "not started"),
    ] {
        assert_eq!(checked["requirements"][key], count(status), "{checked}");
    }
    let row = summary.lines().find(|line| line.starts_with("pot-md ")).expect("a row of the summary");
    assert_eq!(row.split_whitespace().skip(1).collect::<Vec<_>>(), ["1", "1", "1", "2"]);

    let (_, rest) = page.split_once("id=\"data\">").expect("the page has data");
    let data: Value = serde_json::from_str(rest.split_once("</script>").expect("it ends").0).expect("JSON");
    let shown = data["specifications"][0]["requirements"].as_array().expect("requirements").iter();
    let names = ["done", "needs tests", "in progress", "not started"];
    let shown = shown.map(|one| {
        let rank = one["t"].as_u64().expect("a rank") as usize;
        (one["id"].as_str().expect("an identifier").to_owned(), names[rank], one["d"].clone())
    });
    assert_eq!(shown.collect::<Vec<_>>(), statuses);
}

fn run(root: &Path, arguments: &[&str]) -> (String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_duvet"));
    let output = command.args(arguments).current_dir(root).env("CI", "false").output().expect("duvet starts");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    (text(output.stdout), text(output.stderr))
}
