//! The server of seed 003, sentence by sentence: its resources. Each test cites the part that it proves.

use serde_json::{Value, json};

use crate::agent::{Agent, column};
use crate::seed_003::{BREW, SOURCES};

/// Specifications by path and by URI, as a list and one by one.
//@= spexus://REQ-184
//@= type=test
//@# 003 §3.1: specifications are read by path and by URI, as a list and one by one
#[test]
fn specifications_are_listed_and_read() {
    let mut agent = Agent::new(SOURCES);
    let kettle = json!({"id": "docs-kettle-md", "name": "Kettles", "url": "docs/kettle.md", "description": "All about kettles."});
    let rfc = json!({"id": "rfc9999", "name": "RFC 9999", "url": "https://www.rfc-editor.org/rfc/rfc9999", "description": "A Protocol for Pots"});
    let all = json!([kettle, rfc]);
    check_list(&mut agent, "/specifications", &all);
    check_item(&mut agent, "/specifications/rfc9999", &rfc);
    check_item(&mut agent, "/specifications/docs-kettle-md", &kettle);
    check_missing(&mut agent, "/specifications/rfc1");
}

/// Sections, and every name that people have for one.
//@= spexus://REQ-185
//@= type=test
//@# 003 §3.2: sections are read by every name that people have for one
#[test]
fn sections_are_listed_and_read_by_any_of_their_names() {
    let mut agent = Agent::new(SOURCES);
    let sections = json!([
        {"id": "section-1", "title": "Introduction"},
        {"id": "section-2", "title": "Pots"},
        {"id": "section-2.1", "title": "Brewing"},
        {"id": "section-2.2", "title": "Delivery"},
    ]);
    check_list(&mut agent, "/specifications/rfc9999/sections", &sections);
    let delivery = json!({"id": "section-2.2", "title": "Delivery", "content": "   A pot MUST pour, and it MUST\n   stop when the cup is full."});
    for name in ["section-2.2", "2.2", "#2.2", "appendix-2.2", "SECTION-2.2", "section%2D2.2"] {
        let mut found = agent.read(&format!("/specifications/rfc9999/sections/{name}"));
        found["content"] = json!(found["content"].as_str().map(|content| content.trim_matches('\n')));
        assert_eq!(found, delivery, "{name}");
    }
    for name in ["3-1-error-handling", "3.1", "31-error-handling", "3-1-Error-Handling", "section-3.1"] {
        let found = agent.read(&format!("duvet:///specifications/docs-kettle-md/sections/{name}"));
        assert_eq!(found["id"], "3-1-error-handling", "{name}");
    }
    check_missing(&mut agent, "/specifications/rfc9999/sections/9.9");
}

/// Requirements with hashes of their texts, and their status.
//@= spexus://REQ-186
//@= type=test
//@# 003 §3.3: requirements are read with hashes of their texts and their status
#[test]
fn requirements_are_listed_and_read() {
    let mut agent = Agent::new(SOURCES);
    let section = "/specifications/rfc9999/sections/section-2.1/requirements";
    let listed = agent.read(section);
    assert_eq!(listed[0], json!({"identifier": BREW, "text": "A pot MUST brew coffee."}));
    let texts =
        ["A pot MUST brew coffee.", "A pot SHOULD keep it hot.", "A pot MAY sing.", "A pot MUST NOT leak."];
    assert_eq!(column(&listed, "text"), texts);
    check_list(&mut agent, section, &listed);
    // A few characters are enough, and capitals do not matter.
    for name in [BREW.to_owned(), BREW[..8].to_owned(), BREW[..12].to_uppercase()] {
        let found = agent.read(&format!("{section}/{name}"));
        assert_eq!(found["identifier"], BREW);
        assert_eq!(found["text"], "A pot MUST brew coffee.");
        assert_eq!(found["status"], "needs tests");
    }
    check_missing(&mut agent, &format!("{section}/{}", &BREW[..7]));
    check_missing(&mut agent, &format!("/specifications/rfc9999/sections/section-2.2/requirements/{BREW}"));
}

/// Citations by `path:line`, raw and percent-encoded, with the code around them.
//@= spexus://REQ-187
//@= type=test
//@# 003 §3.4: citations are read by path and line, with the code around them
#[test]
fn citations_are_listed_and_read() {
    let mut agent = Agent::new(SOURCES);
    let citations = format!("/specifications/rfc9999/sections/section-2.1/requirements/{BREW}/citations");
    check_list(&mut agent, &citations, &json!([{"id": "src/brew.rs:2"}]));
    for id in ["src/brew.rs:2", "src%2Fbrew.rs%3A2"] {
        let citation = agent.read(&format!("{citations}/{id}"));
        assert_eq!(citation["file_path"], "src/brew.rs");
        assert_eq!(citation["line_number"], 2);
        let comment = "//= https://www.rfc-editor.org/rfc/rfc9999#section-2.1\n//# A pot MUST brew coffee.";
        assert_eq!(citation["comment_text"], comment);
        assert_eq!(agent.json("validate_citation", json!({"citation": comment}))["valid"], true);
        assert_eq!(citation["context_lines"][0], "fn main() {");
        assert_eq!(citation["context_lines"][4], "}");
    }
    check_missing(&mut agent, &format!("{citations}/src/brew.rs:3"));
    // One that quotes no requirement lives under its section.
    let section = "/specifications/docs-kettle-md/sections/lid/citations";
    check_list(&mut agent, section, &json!([{"id": "src/a b.rs:1"}]));
    for id in ["src/a b.rs:1", "src/a%20b.rs:1", "src%2Fa%20b.rs:1"] {
        assert_eq!(agent.read(&format!("{section}/{id}"))["comment_text"], "//= docs/kettle.md#lid", "{id}");
    }
}

/// All requirements and all citations of the project, with paths that can be read.
//@= spexus://REQ-188
//@= type=test
//@# 003 §3.5: all requirements and all citations of the project can be read at once
#[test]
fn virtual_resources_list_everything() {
    let mut agent = Agent::new(SOURCES);
    for (path, n_items) in [("/requirements", 9), ("/citations", 2)] {
        let items = agent.read(path);
        assert_eq!(items.as_array().map(Vec::len), Some(n_items), "{items}");
        check_list(&mut agent, path, &items);
        for full_path in column(&items, "full_path") {
            agent.read(&full_path);
            agent.read(&format!("duvet://{full_path}"));
        }
    }
    assert_eq!(agent.citations(), ["src/a b.rs:1", "src/brew.rs:2"]);
}

/// What the protocol itself knows: all that can be listed at once, templates, and completions for them.
//@= spexus://REQ-183
//@= type=test
//@# 003 §3: all resources are listed, with templates and completions
#[test]
fn resources_can_be_found_without_knowing_paths() {
    let mut agent = Agent::new(SOURCES);
    let answer = agent.ask("resources/list", json!({}));
    for uri in column(&answer["result"]["resources"], "uri") {
        agent.read(&uri);
    }
    let answer = agent.ask("resources/templates/list", json!({}));
    let templates = column(&answer["result"]["resourceTemplates"], "uriTemplate");
    assert_eq!(templates.len(), 9);
    let reference = json!({"type": "ref/resource", "uri": templates[4]});
    let mut complete = |name: &str, value: &str, arguments: Value| {
        let params = json!({"ref": reference, "argument": {"name": name, "value": value}, "context": {"arguments": arguments}});
        agent.ask("completion/complete", params)["result"]["completion"]["values"].clone()
    };
    assert_eq!(complete("spec_id", "rfc", json!({})), json!(["rfc9999"]));
    assert_eq!(
        complete("section_id", "2.", json!({"spec_id": "rfc9999"})),
        json!(["section-2.1", "section-2.2"])
    );
    let section = json!({"spec_id": "rfc9999", "section_id": "section-2.1"});
    assert_eq!(complete("req_identifier", &BREW[..3], section), json!([BREW]));
    assert_eq!(complete("citation_id", "brew", json!({})), json!(["src/brew.rs:2"]));
}

/// Reads a collection by both spellings of its URI and lists it by its path.
#[track_caller]
fn check_list(agent: &mut Agent, path: &str, expected: &Value) {
    check_item(agent, path, expected);
    let answer = agent.ask("resources/list", json!({"path": path}));
    let listed = answer["result"]["resources"].as_array().unwrap_or_else(|| panic!("{answer}")).clone();
    assert_eq!(listed.len(), expected.as_array().map_or(0, Vec::len));
    for (resource, item) in listed.iter().zip(expected.as_array().expect("a list")) {
        for (key, value) in item.as_object().expect("an object") {
            assert_eq!(&resource[key], value, "{resource}");
        }
        agent.read(resource["uri"].as_str().expect("a URI"));
    }
}

/// Reads a resource by both spellings of its URI, and gets it by its path.
#[track_caller]
fn check_item(agent: &mut Agent, path: &str, expected: &Value) {
    assert_eq!(&agent.read(path), expected, "{path}");
    assert_eq!(&agent.read(&format!("duvet://{path}")), expected, "{path}");
    for params in [json!({"path": path}), json!({"uri": path})] {
        let answer = agent.ask("resources/get", params);
        let text = answer["result"]["contents"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"));
        assert_eq!(serde_json::from_str::<Value>(text).expect("JSON"), *expected, "{path}");
    }
}

/// What is not there leads to what was meant.
#[test]
fn the_error_for_a_missing_resource_names_the_nearest() {
    let mut agent = Agent::new(SOURCES);
    for (uri, meant) in [
        ("duvet:///specifications/rfc999", "duvet:///specifications/rfc9999"),
        (
            "/specifications/rfc9999/sections/section-2.11",
            "duvet:///specifications/rfc9999/sections/section-2.1",
        ),
        ("duvet:///requirement", "duvet:///requirements"),
    ] {
        let answer = agent.ask("resources/read", json!({"uri": uri}));
        let message = format!("Resource not found: {uri}; did you mean {meant}?");
        assert_eq!(answer["error"]["message"], message);
    }
}

#[track_caller]
fn check_missing(agent: &mut Agent, path: &str) {
    let answer = agent.ask("resources/read", json!({"uri": path}));
    assert_eq!(answer["error"]["code"], -32002, "{path}: {answer}");
    assert_eq!(answer["error"]["data"]["uri"], path);
}
