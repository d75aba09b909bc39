//! What `duvet mcp` costs an agent, and whether its answers are enough to go on.

use std::fmt::Write as _;

use mcp::Schema;
use serde_json::{Value, json};

use crate::agent::{Agent, column, folder, text, usual, write};
use crate::process::Serving;
use crate::seed_003::SOURCES;
use crate::token_estimates::n_tokens;

/// The list of tools and the instructions of a project with many specifications are short, although the instructions hold
/// the prompt of the original.
#[test]
fn tools_and_instructions_cost_few_tokens() {
    let folder = many_specifications();
    let mut serving = Serving::duvet(folder.path(), &[]);
    let instructions = serving.handshake("2025-11-25")["result"]["instructions"].clone();
    let instructions = instructions.as_str().expect("a text");
    let tools = serving.request(1, "tools/list", json!({}))["result"].to_string();
    let prompt = include_str!("../data/seed_003_system_prompt.md");
    let generated = instructions.strip_prefix(prompt).expect("the prompt comes first");
    let (n_tools, n_prompt, n_generated) = (n_tokens(&tools), n_tokens(prompt), n_tokens(generated));
    assert!(n_tools + n_tokens(instructions) <= 1_250, "{n_tools} + {n_prompt} + {n_generated}");
    // The most unfinished come first; `rfc9000` would be the first by name.
    assert!(
        generated.contains("Open: `rfc9024` (Streams and Flow Control of Pots, Part …) 48, `rfc9023` ("),
        "{generated}"
    );
    assert!(generated.contains(" more specifications.\n"), "{generated}");
}

/// What is not shown is accepted all the same.
#[test]
fn arguments_that_are_not_listed_are_accepted() {
    let mut agent = Agent::new(&[]);
    let listed = agent.ask("tools/list", json!({}))["result"]["tools"].clone();
    let uncited =
        listed.as_array().expect("a list").iter().find(|tool| tool["name"] == "list_uncited_requirements");
    let shown =
        uncited.expect("the tool")["inputSchema"]["properties"].as_object().expect("arguments").clone();
    assert_eq!(Vec::from_iter(shown.keys()), ["spec_id", "cursor"]);
    let arguments = json!({"limit": 1, "max_tokens": 500, "include_todo": true});
    assert_eq!(column(&agent.json("list_uncited_requirements", arguments), "text").len(), 1);
    let problem = agent.refused("list_uncited_requirements", json!({"includ_todo": true}));
    assert!(problem.contains("did you mean \"include_todo\"?"), "{problem}");
}

const BREW: &str = "https://www.rfc-editor.org/rfc/rfc9999#section-2.1";

/// The rows of every list say what to build and what to write: the sentence, its section, its target and a short id.
#[test]
fn a_row_is_enough_to_write_a_citation() {
    let mut agent = Agent::new(SOURCES);
    for (tool, arguments) in [
        ("search_requirements", json!({"query": "leak"})),
        ("list_uncited_requirements", json!({"spec_id": "RFC 9999"})),
        ("get_prioritized_requirements", json!({"spec_id": BREW})),
    ] {
        for row in agent.json(tool, arguments).as_array().expect("a list") {
            let text = |key: &str| row[key].as_str().unwrap_or_else(|| panic!("no {key}: {row}"));
            let citation = format!("//= {}\n//# {}", text("target"), text("text"));
            let answer = agent.json("validate_citation", json!({"citation": citation}));
            assert_eq!((&answer["valid"], &answer["share"]), (&json!(true), &json!(1.0)), "{citation}");
            assert!(["Brewing", "Delivery"].contains(&text("section")), "{row}");
            let status = agent.json("get_requirement_status", json!({"req_identifier": text("short_id")}));
            assert_eq!(status["full_path"], row["full_path"]);
        }
    }
}

/// Whatever names a requirement finds it, and the answer has all that is known of it.
#[test]
fn a_requirement_is_found_by_whatever_names_it() {
    let mut agent = Agent::new(SOURCES);
    let found = agent.json("search_requirements", json!({"query": "brew", "spec_id": "rfc9999"}));
    let one = |key: &str| found[0][key].as_str().expect("a text").to_owned();
    let absolute = agent.path("src/brew.rs").display().to_string();
    for name in [
        one("short_id"),
        one("short_id").to_uppercase(),
        one("full_path"),
        format!("duvet://{}", one("full_path")),
        "src/brew.rs:2".into(),
        "./src/brew.rs:2".into(),
        format!("{absolute}:2"),
    ] {
        let answer = agent.json("get_requirement_status", json!({"req_identifier": name}));
        assert_eq!(
            answer,
            json!({
                "status": "needs tests",
                "detail": "Missing test",
                "level": "MUST",
                "text": "A pot MUST brew coffee.",
                "section": "Brewing",
                "target": BREW,
                "short_id": one("short_id"),
                "full_path": one("full_path"),
                "citations": [{"id": "src/brew.rs:2", "type": "implementation"}],
            }),
            "{name}"
        );
    }
    // A line nearby is understood, and the answer says so.
    let near = agent.json("get_requirement_status", json!({"req_identifier": "src/brew.rs:5"}));
    assert_eq!(near["note"], "no citation begins at line 5; the nearest is src/brew.rs:2");
    assert_eq!(near["short_id"], one("short_id"));
    // A target names the only requirement of its section, or all of them.
    let only = agent.json("get_requirement_status", json!({"req_identifier": "RFC 9999 section 2.2"}));
    assert_eq!(only["text"], "A pot MUST pour, and it MUST stop when the cup is full.");
    // Nothing cites it; the code of its neighbours is the place to look at.
    assert_eq!((&only["citations"], &only["nearby"]), (&json!([]), &json!(["src/brew.rs:2"])));
    assert_eq!((&only["status"], &only["detail"]), (&json!("not started"), &json!("not started")));
    let several = agent.json("get_requirement_status", json!({"req_identifier": BREW}));
    assert_eq!((&several["match_count"], &several["status"]), (&json!(4), &json!("not started")));
    assert_eq!(column(&several["matches"], "text")[2], "A pot MAY sing.");
}

/// The message offers what was meant as text to paste.
#[test]
fn a_requirement_that_is_not_found_leads_to_the_nearest() {
    let mut agent = Agent::new(SOURCES);
    for (name, advice) in [
        ("rfc9999", format!("this is a specification; name a section or requirement, such as \"{BREW}\"")),
        ("rfc9999#section-2.11", format!("did you mean \"{BREW}\"?")),
        (
            "rfc9999#section-1",
            "the section https://www.rfc-editor.org/rfc/rfc9999#section-1 has no requirements".into(),
        ),
        ("src/brew.rs:100", "did you mean \"src/brew.rs:2\"?".into()),
        ("src/brw.rs:2", "did you mean \"src/brew.rs:2\"?".into()),
        ("src/a b.rs:1", "src/a b.rs:1 quotes no requirement; did you mean \"docs/kettle.md#lid\"?".into()),
    ] {
        let problem = agent.refused("get_requirement_status", json!({"req_identifier": name}));
        assert_eq!(problem, format!("Requirement not found\nreq_identifier: {advice}"), "{name}");
    }
    let problem = agent.refused("get_requirement_status", json!({"req_identifier": "pot must sing"}));
    assert!(problem.ends_with("\"? A pot MAY sing.") || problem == "Requirement not found", "{problem}");
    let problem = agent.refused("get_requirement_status", json!({"req_identifier": "sing"}));
    assert!(problem.ends_with("\"? A pot MAY sing."), "{problem}");
}

/// Everything that can be read as a resource can be reached by a tool: specifications, sections and their texts.
#[test]
fn specifications_and_sections_are_read_by_a_tool() {
    let mut agent = Agent::new(SOURCES);
    let all = agent.json("resolve_spec_id", json!({}));
    assert_eq!(
        all,
        json!({"specifications": [
            {"spec_id": "rfc9999", "title": "A Protocol for Pots", "requirements": 5, "open": 5},
            {"spec_id": "docs-kettle-md", "title": "Kettles", "requirements": 4, "open": 4},
        ]})
    );
    let absolute = agent.path("docs/kettle.md").display().to_string();
    for name in [
        "docs-kettle-md",
        "docs/kettle.md",
        "./docs/kettle.md",
        &absolute,
        "duvet:///specifications/docs-kettle-md",
    ] {
        assert_eq!(
            agent.json("resolve_spec_id", json!({"url": name}))["spec_id"],
            "docs-kettle-md",
            "{name}"
        );
    }
    for name in ["RFC 9999", "rfc9999", "RFC9999", "https://www.rfc-editor.org/rfc/rfc9999"] {
        let answer = agent.json("resolve_spec_id", json!({"url": name}));
        assert_eq!(
            answer,
            json!({
                "spec_id": "rfc9999",
                "title": "A Protocol for Pots",
                "url": "https://www.rfc-editor.org/rfc/rfc9999",
                "requirements": {"done": 0, "needs tests": 1, "in progress": 0, "not started": 4},
                "sections": [
                    {"id": "section-1", "title": "Introduction"},
                    {"id": "section-2", "title": "Pots"},
                    {"id": "section-2.1", "title": "Brewing", "requirements": 4, "open": 4},
                    {"id": "section-2.2", "title": "Delivery", "requirements": 1, "open": 1},
                ],
            }),
            "{name}"
        );
    }
    for name in ["rfc9999#section-2.2", "RFC 9999 section 2.2", "https://www.rfc-editor.org/rfc/rfc9999#2.2"]
    {
        let answer = agent.json("resolve_spec_id", json!({"url": name}));
        let short_id = answer["requirements"][0]["short_id"].clone();
        assert_eq!(
            answer,
            json!({
                "spec_id": "rfc9999",
                "section_id": "section-2.2",
                "title": "Delivery",
                "target": BREW.replace("2.1", "2.2"),
                "content": "   A pot MUST pour, and it MUST\n   stop when the cup is full.",
                "requirements": [{
                    "short_id": short_id,
                    "level": "MUST",
                    "status": "not started",
                    "text": "A pot MUST pour, and it MUST stop when the cup is full.",
                }],
            }),
            "{name}"
        );
    }
    let answer = agent.json("resolve_spec_id", json!({"url": "rfc9999#section-2.11"}));
    assert_eq!((&answer["spec_id"], &answer["error"]), (&json!("rfc9999"), &json!("Section not found")));
    assert_eq!((&answer["nearest"], column(&answer["sections"], "id").len()), (&json!([BREW]), 4));
    let answer = agent.json("resolve_spec_id", json!({"url": "A Protokol for Pots"}));
    assert_eq!(answer["nearest"], json!(["rfc9999"]));
    assert_eq!(column(&answer["specifications"], "spec_id"), ["rfc9999", "docs-kettle-md"]);
}

/// A long section is read in parts that together are the whole.
#[test]
fn a_long_section_is_read_in_parts() {
    let lines: Vec<String> = (0..300).map(|number| format!("Line {number}: the kettle MUST sing.")).collect();
    let mut agent = Agent::with(&[
        usual()[0],
        usual()[1],
        ("docs/kettle.md", &format!("# Song\n\n{}\n", lines.join("\n"))),
    ]);
    let mut arguments = json!({"url": "docs/kettle.md#song"});
    let (mut content, mut texts, mut n_parts) = (Vec::new(), Vec::new(), 0);
    loop {
        let answer = agent.json("resolve_spec_id", arguments.clone());
        assert!(n_tokens(&answer.to_string()) <= 2_000, "{answer}");
        content.extend(answer["content"].as_str().filter(|part| !part.is_empty()).map(str::to_owned));
        texts.extend(column(&answer["requirements"], "text"));
        n_parts += 1;
        let Some(cursor) = answer.get("nextCursor") else { break };
        arguments["cursor"] = cursor.clone();
    }
    assert_eq!((content.join("\n"), n_parts > 2), (lines.join("\n"), true));
    assert_eq!(texts, lines);
}

/// An agent that has tools alone goes from what is next to a citation that counts, in few calls and tokens.
#[test]
fn the_way_from_what_is_next_to_a_checked_citation_is_short() {
    let folder = many_specifications();
    let source = "//= https://www.rfc-editor.org/rfc/rfc9024#section-1\n//# A sender MUST NOT send data on stream 1 after it was closed.\nfn send() {}\n";
    write(folder.path(), "src/streams.rs", source);
    let mut agent = Agent::start(folder, "2025-11-25", &[]);
    let mut n_total = 0;
    let mut call = |agent: &mut Agent, tool: &str, arguments: Value| -> Value {
        let answer = agent.call(tool, arguments);
        n_total += n_tokens(&answer["content"].to_string());
        serde_json::from_str(text(&answer)).expect("JSON")
    };
    let next = call(&mut agent, "get_prioritized_requirements", json!({"spec_id": "rfc9024", "limit": 5}));
    assert_eq!((&next[0]["status"], &next[0]["level"]), (&json!("not_started"), &json!("MUST")));
    let one = json!({"req_identifier": next[0]["short_id"]});
    let found = call(&mut agent, "get_requirement_status", one.clone());
    assert_eq!((&found["citations"], &found["nearby"]), (&json!([]), &json!(["src/streams.rs:1"])));
    let code = call(&mut agent, "get_citation_context", json!({"citation_id": found["nearby"][0]}));
    assert!(code["context"].to_string().contains("fn send()"), "{code}");
    let lines = format!("//= {}\n//# {}", found["target"].as_str().unwrap(), found["text"].as_str().unwrap());
    let checked = call(&mut agent, "validate_citation", json!({"citation": lines}));
    assert_eq!((&checked["valid"], &checked["share"]), (&json!(true), &json!(1.0)));
    assert!(n_total <= 2_000, "{n_total}");
    agent.write("src/more.rs", &format!("{lines}\nfn stop() {{}}\n"));
    agent.until("the citation counts", |agent| {
        agent.json("get_requirement_status", one.clone())["status"] == "needs tests"
    });
}

/// With output schemas every answer is also a value that fits its schema, in every revision that has them; errors are text.
#[test]
fn answers_fit_their_schemas_where_those_are_asked_for() {
    let wrong =
        ("src/wrong.rs", "//= docs/kettle.md#lids\n\n//= docs/kettle.md#lid\n//# The lid MUST cloze it.\n");
    let calls = [
        ("validate_citation", json!({"citation": "//= docs/kettle.md#lid\n//# The lid MUST close."})),
        (
            "validate_citation",
            json!({"citation": format!("//= {BREW}\n//# A pot SHOULD keep it hot. A pot MAY")}),
        ),
        ("validate_citation", json!({"citation": "//= docs/kettle.md#lids"})),
        ("search_requirements", json!({"query": "pot"})),
        ("search_requirements", json!({"query": "pot", "limit": 1})),
        ("search_requirements", json!({"query": "submarine"})),
        ("get_requirement_status", json!({"req_identifier": "rfc9999#2.2"})),
        ("get_requirement_status", json!({"req_identifier": "src/brew.rs:4"})),
        ("get_requirement_status", json!({"req_identifier": "rfc9999#2.1", "max_tokens": 300})),
        ("list_uncited_requirements", json!({})),
        ("list_uncited_requirements", json!({"max_tokens": 200})),
        ("list_invalid_citations", json!({})),
        ("get_citation_context", json!({"citation_id": "src/brew.rs:3"})),
        ("resolve_spec_id", json!({})),
        ("resolve_spec_id", json!({"url": "rfc9999"})),
        ("resolve_spec_id", json!({"url": "rfc9999#2.1"})),
        ("resolve_spec_id", json!({"url": "rfc9999#9"})),
        ("resolve_spec_id", json!({"url": "nothing"})),
        ("get_prioritized_requirements", json!({"limit": 3})),
    ];
    for revision in ["2025-06-18", "2025-11-25", "2026-07-28"] {
        let files = [&usual()[..], SOURCES, &[wrong]].concat();
        let mut agent = Agent::start(folder(&files), revision, &["--output-schemas"]);
        let tools = agent.ask("tools/list", json!({}))["result"]["tools"].clone();
        for (tool, arguments) in &calls {
            let described = tools.as_array().expect("tools").iter().find(|one| one["name"] == *tool);
            let answer = agent.call(tool, arguments.clone());
            check_structured(described.expect("the tool"), &answer);
        }
        let refused = agent.call("get_requirement_status", json!({"req_identifier": "0123456789"}));
        assert_eq!((&refused["isError"], refused.get("structuredContent")), (&json!(true), None));
    }
    let mut agent =
        Agent::spexus(folder(&usual()), "2025-11-25", &["--toolsets", "threats", "--output-schemas"]);
    let tools = agent.ask("tools/list", json!({}))["result"]["tools"].clone();
    for verbosity in ["agent", "human"] {
        for context in ["tenant isolation in a list endpoint", "center a div"] {
            let answer = agent.call("tmkb_query", json!({"context": context, "verbosity": verbosity}));
            check_structured(&tools[0], &answer);
        }
    }
}

/// An answer as a value says the same as its first text, and fits the schema of the tool.
#[track_caller]
fn check_structured(tool: &Value, answer: &Value) {
    assert_eq!(answer["isError"], false, "{answer}");
    let value = &answer["structuredContent"];
    let said: Value = serde_json::from_str(text(answer)).expect("JSON");
    assert_eq!(if said.is_array() { &value["result"] } else { value }, &said, "{answer}");
    let schema = Schema::new(tool["outputSchema"].clone());
    assert_eq!((schema.check(value), schema.unsupported_keywords()), (vec![], vec![]), "{answer}");
    for name in value.as_object().expect("an object").keys() {
        assert!(tool["outputSchema"]["properties"].get(name).is_some(), "the schema has no {name}: {answer}");
    }
}

/// A project with 26 specifications. The later ones have more requirements.
pub fn many_specifications() -> tempfile::TempDir {
    let folder = folder(&usual());
    let mut config = usual()[0].1.to_owned();
    for number in 0..24 {
        let name = format!("rfc{}", 9001 + number);
        let _ = write!(config, "[[specification]]\nsource = 'https://www.rfc-editor.org/rfc/{name}'\n");
        let mut text = format!(
            "Pot Working Group                                              A. Author\n\
             Request for Comments: {}                                    April 2026\n\n\n\
             \u{20}           Streams and Flow Control of Pots, Part {number}\n\n",
            9001 + number
        );
        for section in 1..=number + 1 {
            let _ = write!(
                text,
                "{section}.  Streams of Kind {section}\n\n   A sender MUST NOT send data on stream {section} after it was closed.  A \
                 receiver\n   SHOULD ignore frames for stream {section} that arrive late.\n\n"
            );
        }
        write(folder.path(), &format!(".duvet/specifications/www.rfc-editor.org/rfc/{name}.txt"), &text);
    }
    write(folder.path(), ".duvet/config.toml", &config);
    write(folder.path(), "src/lib.rs", "//= https://www.rfc-editor.org/rfc/rfc9999#section-2.1\n");
    folder
}
