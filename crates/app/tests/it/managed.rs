//! Managed requirements cited in code: written by an agent, checked live and offline, pulled from a store or a server.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use spexus::managed::ProjectFile;
use tempfile::TempDir;

use crate::agent::{Agent, column, folder, text, write};
use crate::backend::{Backend, on_sqlite};
use crate::gate::git;
use crate::process::clean;
use crate::web::Visitor;

const PROJECT: &str = "project = 'DEFAULT'\n[[source]]\npattern = 'src/**/*.rs'\n";
const TEXT: &str = "A link MUST stop working after an hour. It SHOULD be sent once.";
const CITED: &str = "//= spexus://REQ-001\n//# A link MUST stop working after an hour.\nfn stop() {}\n\n\
                     //= spexus://REQ-001\n//# It SHOULD be sent once.\nfn send() {}\n";

/// A session in a project whose store has one requirement.
fn agent(files: &[(&str, &str)]) -> Agent {
    let mut agent = Agent::spexus(folder(files), "2025-11-25", &[]);
    describe(&mut agent);
    agent
}

/// Makes the requirement that code cites.
fn describe(agent: &mut Agent) {
    agent.json("create_epic", json!({"title": "Sign in", "priority": 2}));
    agent.json("create_user_story", json!({"epic_id": "EP-001", "title": "By link", "priority": 2}));
    agent.json(
        "create_requirement",
        json!({
            "user_story_id": "US-001", "title": "Links expire", "type_id": "Functional", "priority": 1,
            "description": TEXT,
        }),
    );
}

fn edit(agent: &mut Agent, text: &str) {
    agent.json("update_requirement", json!({"requirement_id": "REQ-001", "description": text}));
}

/// Runs a program in a folder, with the store that `spexus mcp` has there.
pub fn run(
    folder: &Path,
    program: &str,
    arguments: &[&str],
    settings: &[(&str, &str)],
) -> (i32, String, String) {
    let program = match program {
        "duvet" => env!("CARGO_BIN_EXE_duvet"),
        _ => env!("CARGO_BIN_EXE_spexus"),
    };
    let home = folder.display().to_string();
    let data = format!("{home}/data");
    let mut command =
        clean(Command::new(program), &[("HOME", home.as_str()), ("XDG_DATA_HOME", data.as_str())]);
    command.envs(settings.iter().copied());
    let output =
        command.args(arguments).current_dir(folder).stdin(Stdio::null()).output().expect("the program runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("output is UTF-8");
    (output.status.code().unwrap_or(-1), text(output.stdout), text(output.stderr))
}

#[test]
fn an_agent_implements_a_stored_requirement_with_a_checked_citation() {
    let mut agent = agent(&[(".spexus/project.toml", PROJECT), ("src/a.rs", "")]);
    let told = text(&agent.call("get", json!({"reference": "REQ-001"}))).to_owned();
    let citation = "//= spexus://REQ-001\n//# A link MUST stop working after an hour.";
    assert!(told.contains(citation), "{told}");
    let checked = agent.call("check_citation", json!({"citation": citation, "file": "src/a.rs"}));
    let checked = text(&checked).to_owned();
    assert!(checked.starts_with("valid\ncovers 100 % of: A link MUST stop"), "{checked}");
    agent.write("src/a.rs", &format!("{citation}\nfn stop() {{}}\n"));
    agent.until("the citation is known", |agent| {
        let told = agent.call("get", json!({"reference": "REQ-001"}));
        text(&told).contains("needs tests, at src/a.rs:1")
    });
    // What is in the store is listed once, and can still be changed.
    let open = agent.call("next", json!({}));
    assert_eq!(text(&open).matches("Links expire").count(), 1, "{open}");
    let changed = agent.call("update", json!({"reference": "REQ-001", "priority": 2}));
    assert_ne!(changed["isError"], true, "{changed}");
    let wrong = agent.call("check_citation", json!({"citation": "//= REQ-001\n//# x"}));
    assert!(text(&wrong).contains("//= spexus://REQ-001"), "{wrong}");
}

#[test]
fn an_edit_of_a_sentence_makes_its_citations_stale_within_a_second() {
    let mut agent = agent(&[(".spexus/project.toml", PROJECT), ("src/a.rs", CITED)]);
    let invalid = |agent: &mut Agent| agent.json("list_invalid_citations", json!({}));
    agent.until("the project is read", |agent| agent.citations().len() == 2);
    assert_eq!(invalid(&mut agent), json!([]));
    edit(&mut agent, "A link MUST stop working after two hours. It SHOULD be sent once.");
    let asked = Instant::now();
    let found = invalid(&mut agent);
    assert!(asked.elapsed() < Duration::from_secs(1), "{:?}", asked.elapsed());
    assert_eq!(
        column(&found, "comment_text"),
        ["//= spexus://REQ-001\n//# A link MUST stop working after an hour."]
    );
    assert_eq!(found[0]["difference"], "A link MUST stop working after [-an hour.-]{+two hours.+}");
    assert_eq!(found[0]["lines"], "//= spexus://REQ-001\n//# A link MUST stop working after two hours.");
    let report = agent.call("report", json!({}));
    assert!(text(&report).contains("REQ-001 changed in version 2"), "{report}");
    // Another process changes it, and nobody asks before it is known.
    let root = agent.root().to_path_buf();
    let (code, ..) = run(&root, "spexus", &["requirement", "update", "REQ-001", "--description", TEXT], &[]);
    assert_eq!(code, 0);
    let took = agent.until("the old text is back", |agent| invalid(agent) == json!([]));
    assert!(took < Duration::from_secs(1), "{took:?}");
    agent.json("update_requirement", json!({"requirement_id": "REQ-001", "status": "Obsolete"}));
    assert_eq!(column(&invalid(&mut agent), "error"), ["REQ-001 is obsolete", "REQ-001 is obsolete"]);
}

#[test]
fn the_thread_of_a_session_is_of_the_files_as_they_are() {
    let files = [(".spexus/project.toml", PROJECT), ("src/lib.rs", CITED)];
    let mut agent = Agent::spexus(folder(&files), "2025-11-25", &["--toolsets", "daily,thread"]);
    describe(&mut agent);
    let places = |agent: &mut Agent| {
        let thread = agent.json("get_thread", json!({"from": "REQ-001"}));
        let units = thread["data"][0]["units"].as_array().cloned().unwrap_or_default();
        units
            .iter()
            .map(|unit| unit["code"][0]["place"].as_str().unwrap_or("-").to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(places(&mut agent), ["src/lib.rs:1", "src/lib.rs:5"], "without a push");
    agent.write("src/lib.rs", &format!("// moved\n{}", CITED.split("\n\n").next().unwrap_or_default()));
    let start = Instant::now();
    while places(&mut agent) != ["src/lib.rs:2", "-"] {
        assert!(start.elapsed() < Duration::from_secs(5), "{:?}", places(&mut agent));
    }
}

#[test]
fn citations_are_checked_offline_after_a_pull() {
    let mut agent = agent(&[(".spexus/project.toml", PROJECT), ("src/a.rs", CITED)]);
    let root = agent.root().to_path_buf();
    let (code, _, told) = run(&root, "duvet", &["check"], &[]);
    assert!(code == 1 && told.contains("unreachable-store") && told.contains("`spexus pull`"), "{told}");
    assert_eq!(run(&root, "spexus", &["pull", "--check"], &[]).0, 1);
    assert!(!root.join(".duvet").exists(), "a check writes nothing");
    let (code, _, told) = run(&root, "spexus", &["pull"], &[]);
    assert_eq!(code, 0, "{told}");
    let pulled = fs::read_to_string(root.join(".duvet/specifications/DEFAULT/REQ-001.txt")).expect("a file");
    assert_eq!(pulled, format!("# REQ-001 Links expire {{#text}}\n\n{TEXT}\n"));
    assert_eq!(run(&root, "spexus", &["pull", "--check"], &[]).0, 0);
    let (code, line, told) = run(&root, "duvet", &["check"], &[]);
    assert_eq!((code, line.starts_with("2 requirements: 0 done, 2 need tests")), (0, true), "{line}{told}");

    edit(&mut agent, "A link MUST stop working after two hours. It SHOULD be sent once.");
    assert_eq!(run(&root, "duvet", &["check"], &[]).0, 0, "elsewhere it is known after the next pull");
    assert_eq!(run(&root, "spexus", &["pull", "--check"], &[]).0, 1);
    assert_eq!(run(&root, "spexus", &["pull"], &[]).0, 0);
    for format in ["text", "json", "sarif", "junit"] {
        let (code, out, told) = run(&root, "duvet", &["check", "--format", format], &[]);
        let shown = format!("{out}{told}").replace("\\n", "\n");
        assert_eq!(code, 1, "{shown}");
        for part in
            ["stale-citation", "//= spexus://REQ-001", "//# A link MUST stop working after two hours."]
        {
            assert!(shown.contains(part), "{part} is not in {shown}");
        }
    }
    let (code, ..) = run(&root, "duvet", &["report"], &[]);
    assert_eq!(code, 1, "what is stale fails a report");

    // A file that was edited by hand is not believed.
    write(&root, ".duvet/specifications/DEFAULT/REQ-001.txt", &format!("# x {{#text}}\n\n{TEXT}\n"));
    let (code, _, told) = run(&root, "duvet", &["check"], &[]);
    assert!(code == 1 && told.contains("is not as it was pulled"), "{told}");
    write(&root, ".spexus/pulled.json", "{");
    let (code, _, told) = run(&root, "duvet", &["check"], &[]);
    assert!(code == 1 && told.contains("`spexus pull` writes it anew"), "{told}");
    assert_eq!(run(&root, "spexus", &["pull"], &[]).0, 0);
}

#[test]
fn a_pull_removes_what_nothing_cites_any_more() {
    let agent = agent(&[(".spexus/project.toml", PROJECT), ("src/lib.rs", CITED)]);
    let pull = |arguments: &[&str]| {
        let (exit, _, told) = run(agent.root(), "spexus", &[&["pull"], arguments].concat(), &[]);
        (exit, told)
    };
    assert_eq!(pull(&[]).0, 0);
    let text = agent.path(".duvet/specifications/DEFAULT/REQ-001.txt");
    assert!(text.is_file());
    agent.write("src/lib.rs", "fn stop() {}\n");
    let (exit, told) = pull(&["--check"]);
    assert_eq!(exit, 1);
    assert!(told.contains(".duvet/specifications/DEFAULT/REQ-001.txt is not needed any more"), "{told}");
    let (exit, told) = pull(&[]);
    assert_eq!(exit, 0);
    assert!(told.contains("removed .duvet/specifications/DEFAULT/REQ-001.txt"), "{told}");
    assert!(!text.exists());
    // Whatever somebody else has written there stays.
    agent.write("src/lib.rs", CITED);
    assert_eq!(pull(&[]).0, 0);
    agent.write(".duvet/specifications/DEFAULT/REQ-001.txt", "Changed by hand.\n");
    agent.write("src/lib.rs", "fn stop() {}\n");
    assert_eq!(pull(&[]).0, 0);
    assert!(text.is_file());
}

#[test]
fn duvet_mcp_follows_what_is_pulled() {
    let mut agent = agent(&[(".spexus/project.toml", PROJECT), ("src/a.rs", CITED)]);
    let root = agent.root().to_path_buf();
    assert_eq!(run(&root, "spexus", &["pull"], &[]).0, 0);
    let mut serving = crate::process::Serving::duvet(&root, &[]);
    serving.handshake("2025-11-25");
    let mut n_asked = 0;
    let mut invalid = || {
        n_asked += 1;
        let params = json!({"name": "list_invalid_citations", "arguments": {}});
        let request = json!({"jsonrpc": "2.0", "id": n_asked, "method": "tools/call", "params": params});
        serving.send(&request.to_string());
        // In between it may tell what has changed.
        let answer = std::iter::repeat_with(|| serving.receive()).find(|answer| answer["id"] == n_asked);
        serde_json::from_str::<Value>(text(&answer.expect("an answer")["result"])).expect("JSON")
    };
    assert_eq!(invalid(), json!([]));
    edit(&mut agent, "A link MUST stop working after two hours. It SHOULD be sent once.");
    assert_eq!(invalid(), json!([]));
    assert_eq!(run(&root, "spexus", &["pull"], &[]).0, 0);
    let start = Instant::now();
    while invalid().as_array().expect("a list").len() != 1 {
        assert!(start.elapsed() < Duration::from_secs(5), "the pull is never seen");
    }
}

#[test]
fn a_citation_is_in_the_same_state_on_every_surface() {
    let code = "//= spexus://REQ-001\n//# It SHOULD be sent once.\nfn current() {}\n\n\
                //= spexus://REQ-001\n//# A link MUST stop working after an hour.\nfn stale() {}\n\n\
                //= spexus://REQ-001@1\nfn suspect() {}\n\n\
                //= spexus://REQ-001\n//# A link MUST sing.\nfn broken() {}\n\n\
                //= spexus://REQ-002\n//# A link MUST be short.\nfn gone() {}\n";
    let expected = [(5, "stale"), (9, "suspect"), (12, "broken"), (16, "gone")];
    let mut agent = agent(&[(".spexus/project.toml", PROJECT), ("src/a.rs", "")]);
    let root = agent.root().to_path_buf();
    git(&root, &["init", "--quiet", "--initial-branch=main"]);
    git(&root, &["add", ".spexus", "src"]);
    git(&root, &["commit", "--quiet", "--message", "Nothing is cited"]);
    agent.json(
        "create_requirement",
        json!({
            "user_story_id": "US-001", "title": "Short", "type_id": "Functional", "priority": 1,
            "description": "A link MUST be short.",
        }),
    );
    edit(&mut agent, "A link MUST stop working after two hours. It SHOULD be sent once.");
    agent.json("update_requirement", json!({"requirement_id": "REQ-002", "status": "Obsolete"}));
    agent.write("src/a.rs", code);
    agent.until("the citations are read", |agent| {
        agent.json("list_invalid_citations", json!({})).as_array().is_some_and(|found| found.len() == 4)
    });

    let json = |program: &str, arguments: &[&str]| -> Value {
        let (_, out, told) = run(&root, program, arguments, &[]);
        serde_json::from_str(&out).unwrap_or_else(|error| panic!("{arguments:?}: {error}: {out}{told}"))
    };
    // A citation is named by its first line, whichever of its lines a surface is about.
    let first =
        |line: u64| [16, 12, 9, 5, 1].into_iter().find(|first| *first <= line).expect("a line of a citation");
    let line_of = |place: &Value| {
        let line =
            place.as_str().and_then(|place| place.strip_prefix("src/a.rs:")).expect("a place in the file");
        line.parse().expect("a line")
    };
    let state_of = |message: &str| match message {
        _ if message.contains("this quote is from version") => "stale",
        _ if message.contains("this citation pins version 1") => "suspect",
        _ if message.contains("does not say this, and never did") => "broken",
        _ if message.contains("REQ-002 is obsolete") => "gone",
        _ => panic!("{message} is about no state"),
    };
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let check = |surface: &str, mut found: Vec<(u64, String)>| {
        found.sort();
        found.dedup();
        let expected = expected.map(|(line, state)| (line, state.to_owned()));
        assert_eq!(found, expected, "{surface}");
    };
    let rows = |list: &Value, key: &str| list[key].as_array().cloned().unwrap_or_default();

    assert_eq!(run(&root, "spexus", &["pull"], &[]).0, 0);
    let checked = json("duvet", &["check", "--format", "json"]);
    let codes = rows(&checked, "problems").into_iter().map(|problem| {
        let state = text(&problem["code"]).split('-').next().unwrap_or_default().to_owned();
        let message = text(&problem["message"]);
        assert_eq!(state, state_of(&message), "{problem}");
        (first(problem["places"][0]["line"].as_u64().expect("a line")), state)
    });
    check("duvet check", codes.collect());

    let gate = json("spexus", &["check", "--base", "HEAD", "--format", "json"]);
    let wrong =
        rows(&gate, "findings").into_iter().filter(|finding| text(&finding["rule"]).ends_with("-citation"));
    let wrong = wrong.map(|finding| {
        (first(finding["line"].as_u64().expect("a line")), state_of(&text(&finding["message"])).to_owned())
    });
    check("spexus check", wrong.collect());

    let listed = json("spexus", &["stale-citation", "list", "--json"]);
    let stale = rows(&listed, "data").into_iter().map(|row| (line_of(&row["place"]), text(&row["state"])));
    check("stale-citation list", stale.collect());

    let thread = json("spexus", &["thread", "EP-001", "--json"]);
    let mut marked = Vec::new();
    for item in rows(&thread, "data") {
        let code = rows(&item, "units").into_iter().flat_map(|unit| rows(&unit, "code"));
        let places = code.chain(rows(&item, "outdated"));
        let places = places.filter(|place| !place["state"].is_null());
        marked.extend(places.map(|place| (line_of(&place["place"]), text(&place["state"]))));
    }
    check("spexus thread", marked);

    let invalid = |list: &Value| -> Vec<(u64, String)> {
        let rows = list.as_array().expect("a list").iter();
        rows.map(|row| {
            (row["line_number"].as_u64().expect("a line"), state_of(&text(&row["error"])).to_owned())
        })
        .collect()
    };
    check("spexus mcp", invalid(&agent.json("list_invalid_citations", json!({}))));
    let mut duvet = crate::process::Serving::duvet(&root, &[]);
    duvet.handshake("2025-11-25");
    let answer = duvet.ask(1, "tools/call", json!({"name": "list_invalid_citations", "arguments": {}}));
    let answer: Value = serde_json::from_str(crate::agent::text(&answer["result"])).expect("JSON");
    check("duvet mcp", invalid(&answer));
}

#[test]
fn a_citation_is_written_in_the_style_of_its_file() {
    let config = "'$schema' = 'https://awslabs.github.io/duvet/config/v0.4.0.json'\n[[source]]\npattern = 'src/**/*.rs'\n\
                  [[source]]\npattern = 'tests/*.py'\ntype = 'test'\ncomment-style = { meta = '#=', content = '##' }\n";
    let agent = agent(&[
        (".spexus/project.toml", "project = 'DEFAULT'\n"),
        (".duvet/config.toml", config),
        ("src/a.rs", "mod a {\n    fn stop() {}\n}\n"),
        ("tests/a.py", "def test(): pass\n"),
    ]);
    let root = agent.root();
    let (code, out, told) =
        run(root, "spexus", &["cite", "REQ-001", "--file", "tests/a.py", "--unit", "2"], &[]);
    assert_eq!(
        (code, out.as_str()),
        (0, "#= spexus://DEFAULT/REQ-001#text\n## It SHOULD be sent once.\n"),
        "{told}"
    );
    let (_, out, told) =
        run(root, "spexus", &["cite", "REQ-001", "--file", "src/a_test.rs", "--unit", "2"], &[]);
    let expected = "//= spexus://DEFAULT/REQ-001#text\n//= type=test\n//# It SHOULD be sent once.\n";
    assert_eq!(out, expected, "by its name a file of tests: {told}");
    let insert =
        ["cite", "req-1", "--file", "src/a.rs", "--unit", "1", "--type", "test", "--line", "2", "--write"];
    let (code, _, told) = run(root, "spexus", &insert, &[]);
    assert_eq!(code, 0, "{told}");
    let written = fs::read_to_string(root.join("src/a.rs")).expect("a file");
    let expected = "mod a {\n    //= spexus://DEFAULT/REQ-001#text\n    //= type=test\n    \
                    //# A link MUST stop working after an hour.\n    fn stop() {}\n}\n";
    assert_eq!(written, expected);
    let refused = |arguments: &[&str], expected: &str| {
        let (code, _, told) = run(root, "spexus", arguments, &[]);
        assert!(code == 2 && told.contains(expected), "{arguments:?}: {code} {told}");
    };
    refused(&["cite", "REQ-001", "--file", "src/a.rs", "--line", "1", "--write"], "say which with --unit");
    refused(&["cite", "REQ-001", "--file", "src/a.rs", "--unit", "3"], "it has 2, and not 3");
    refused(
        &["cite", "REQ-001", "--file", "src/a.rs", "--unit", "1", "--line", "99", "--write"],
        "has 6 lines",
    );
    refused(&["cite", "REQ-009", "--file", "src/a.rs"], "the last one is REQ-001");
    refused(&["cite", "EP-001", "--file", "src/a.rs"], "only requirements (REQ)");
    refused(&["cite", "REQ-001", "--file", "../a.rs"], "outside of the project");
}

#[test]
fn a_citation_is_a_comment_in_the_language_of_its_file() {
    let sources = "project = 'DEFAULT'\n[[source]]\npattern = 'src/*.py'\n[[source]]\npattern = 'all/*'\n";
    let python = "def stop():\n    pass\n";
    let agent = agent(&[(".spexus/project.toml", sources), ("src/a.py", python), ("all/b.py", python)]);
    let cite = |file: &str| {
        run(
            agent.root(),
            "spexus",
            &["cite", "REQ-001", "--file", file, "--unit", "2", "--line", "2", "--write"],
            &[],
        )
    };
    let (code, _, told) = cite("src/a.py");
    assert_eq!(code, 0, "{told}");
    let written = fs::read_to_string(agent.path("src/a.py")).expect("a file");
    assert_eq!(written, "def stop():\n    #= spexus://REQ-001\n    ## It SHOULD be sent once.\n    pass\n");
    let (code, _, told) = run(agent.root(), "spexus", &["pull"], &[]);
    assert!(code == 0 && told.contains("1 cited requirement"), "it is read as it was written: {told}");
    // A glob for several languages has one style.
    let (code, _, told) = cite("all/b.py");
    assert!(code == 2 && told.contains("`//=` is not a comment in all/b.py; name such files"), "{told}");
    assert_eq!(fs::read_to_string(agent.path("all/b.py")).expect("a file"), python, "nothing was broken");
}

#[test]
fn a_server_is_asked_with_its_own_token_alone() {
    on_sqlite(&[], &[], |backend, _| {
        for (path, body) in [
            ("/epics", json!({"title": "Sign in", "priority": 2})),
            ("/user-stories", json!({"epic_id": "EP-001", "title": "By link", "priority": 2})),
            (
                "/requirements",
                json!({
                    "user_story_id": "US-001", "title": "Links expire", "type_id": "Functional", "priority": 1,
                    "description": TEXT,
                }),
            ),
        ] {
            assert_eq!(backend.send("POST", path, &body).status, 201);
        }
        let project = |server: &str| {
            folder(&[
                (".spexus/project.toml", format!("server = '{server}'\n{PROJECT}").as_str()),
                ("src/a.rs", CITED),
            ])
        };
        let own = project(&backend.url);
        let settings = [("SPEXUS_SERVER", backend.url.as_str()), ("SPEXUS_TOKEN", backend.token.as_str())];
        let (code, _, told) = run(own.path(), "spexus", &["pull"], &settings);
        assert_eq!(code, 0, "{told}");
        assert_eq!(run(own.path(), "duvet", &["check"], &[]).0, 0);

        // Nobody has named this server but the repository.
        let (code, _, told) = run(own.path(), "spexus", &["pull"], &[]);
        assert!(code == 2 && told.contains("not known here") && told.contains("--server"), "{told}");
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        listener.set_nonblocking(true).expect("a listener");
        let other = project(&format!("http://{}", listener.local_addr().expect("an address")));
        let (code, _, told) = run(other.path(), "spexus", &["pull"], &settings);
        assert!(code == 2 && told.contains("it is not sent elsewhere"), "{told}");
        assert!(listener.accept().is_err(), "nothing was sent there");
    });
}

#[test]
fn the_browser_shows_cited_requirements_of_its_own_project_alone() {
    let hidden = "//= spexus://HID-REQ-001\n//# It MUST hide.\nfn hide() {}\n";
    let project = folder(&[(".spexus/project.toml", PROJECT), ("src/a.rs", CITED), ("src/b.rs", hidden)]);
    let root = project.path();
    let database = format!("sqlite:{}", root.join("server.db").display());
    let backend = Backend::start(&database, &["--trace", &format!("DEFAULT={}", root.display())]);
    let requirement = |story: &str, text: &str| json!({"user_story_id": story, "title": "Title", "type_id": "Functional", "priority": 1, "description": text});
    for (path, body) in [
        ("/projects", json!({"key": "HID", "name": "Hidden"})),
        ("/epics", json!({"title": "Sign in", "priority": 2})),
        ("/epics", json!({"title": "Hide", "priority": 2, "project": "HID"})),
        ("/user-stories", json!({"epic_id": "EP-001", "title": "By link", "priority": 2})),
        ("/user-stories", json!({"epic_id": "HID-EP-001", "title": "By link", "priority": 2})),
        ("/requirements", requirement("US-001", TEXT)),
        ("/requirements", requirement("HID-US-001", "It MUST hide.")),
    ] {
        let answer = backend.send("POST", path, &body);
        assert_eq!(answer.status, 201, "{}", answer.text);
    }
    let settings = [("SPEXUS_SERVER", backend.url.as_str()), ("SPEXUS_TOKEN", backend.token.as_str())];
    let (code, _, told) = run(root, "spexus", &["pull"], &settings);
    assert_eq!(code, 0, "{told}");
    let visitor = Visitor::administrator(&backend);
    let start = Instant::now();
    while !visitor.get("/p/DEFAULT/trace").text.contains("/p/DEFAULT/trace/REQ-001") {
        assert!(start.elapsed() < Duration::from_secs(20), "{}", visitor.get("/p/DEFAULT/trace").text);
        std::thread::sleep(Duration::from_millis(20));
    }
    let page = visitor.get("/p/DEFAULT/trace/REQ-001").text;
    assert!(
        page.contains("A link MUST stop working after an hour.") && page.contains("src/a.rs:1"),
        "{page}"
    );
    let hidden = visitor.get("/p/DEFAULT/trace/HID-REQ-001");
    assert!(hidden.status == 404 && !hidden.text.contains("It MUST hide"), "{}", hidden.text);
}

#[test]
fn a_store_that_cannot_be_reached_leaves_the_last_pull() {
    let agent = agent(&[(".spexus/project.toml", PROJECT), ("src/a.rs", CITED)]);
    let root = agent.root().to_path_buf();
    assert_eq!(run(&root, "spexus", &["pull"], &[]).0, 0);
    let away = [("SPEXUS_SERVER", "http://127.0.0.1:9"), ("SPEXUS_TOKEN", "spx_none")];
    let (code, _, told) = run(&root, "spexus", &["pull"], &away);
    assert!(code == 2 && told.contains("what was pulled before stays"), "{code} {told}");
    assert_eq!(run(&root, "duvet", &["check"], &[]).0, 0);
    let (code, out, told) =
        run(&root, "spexus", &["cite", "REQ-001", "--file", "src/a.rs", "--unit", "2"], &away);
    assert!(code == 0 && out.contains("It SHOULD be sent once."), "{told}");
    assert!(told.contains("what was pulled last is used"), "{told}");

    write(&root, "broken.db", "this is no database");
    let broken = [("SPEXUS_DATABASE", "sqlite:broken.db")];
    let (code, _, told) = run(&root, "spexus", &["pull"], &broken);
    assert!(code == 2 && told.contains("what was pulled before stays"), "{code} {told}");
    let (code, out, told) =
        run(&root, "spexus", &["cite", "REQ-001", "--file", "src/a.rs", "--unit", "2"], &broken);
    assert!(code == 0 && out.contains("It SHOULD be sent once."), "{told}");
    let mut serving = {
        let home = root.display().to_string();
        let mut command = clean(Command::new(env!("CARGO_BIN_EXE_spexus")), &[("HOME", home.as_str())]);
        command.args(["mcp", "--database", "sqlite:broken.db"]).current_dir(&root);
        crate::process::Serving::spawn(command)
    };
    serving.handshake("2025-11-25");
    let params = json!({"name": "list_invalid_citations", "arguments": {}});
    let answer = serving.request(1, "tools/call", params);
    assert_eq!(text(&answer["result"]), "[]", "{answer}");
    assert!(answer.to_string().contains("what was pulled last is used"), "{answer}");
    let citation = "//= spexus://REQ-001\n//# It SHOULD be sent once.";
    let params = json!({"name": "check_citation", "arguments": {"citation": citation}});
    let answer = serving.request(2, "tools/call", params);
    let told = text(&answer["result"]);
    assert!(told.starts_with("valid") && told.contains("what was pulled last is used"), "{told}");
}

#[test]
fn a_project_file_that_is_wrong_or_hostile_is_refused() {
    let long = format!("project = '{}'", "A".repeat(70_000));
    let many = format!("project = 'SHOP'\nreports = [{}]", "'a',".repeat(101));
    for (file, expected) in [
        ("", "missing field `project`"),
        ("project = 'shop'", "expected the key of a project such as SHOP, found \"shop\""),
        ("project = 'REQ'", "expected the key of a project"),
        ("projet = 'SHOP'", "did you mean `project`?"),
        ("project = 'SHOP'\n[policy]\nclose = 'proven'", "did you mean `closes`?"),
        ("project = 'SHOP'\n[policy]\ncloses = 'passd'", "did you mean \"passed\"?"),
        ("project = 'SHOP'\n[policy]\ntrust = 'root'", "expected one of local, token, oidc, found \"root\""),
        ("project = 'SHOP'\nreports = ['/etc/*.xml']", "leads out of the repository"),
        ("project = 'SHOP'\nreports = ['../*.xml']", "leads out of the repository"),
        ("project = 'SHOP'\nreports = ['a/../../b.xml']", "leads out of the repository"),
        ("project = 'SHOP'\nreports = ['~/b.xml']", "leads out of the repository"),
        ("project = 'SHOP'\nreports = ['C:\\b.xml']", "leads out of the repository"),
        ("project = 'SHOP'\n[[source]]\npattern = '/home/**'", "leads out of the repository"),
        ("project = 'SHOP'\n[[source]]\npattern = '(x,y)/home/**'", "leads out of the repository"),
        (
            "project = 'SHOP'\n[[source]]\npattern = 'a'\ncomment-style = { meta = 'x)/', content = 'y' }",
            "a mark cannot have",
        ),
        ("project = 'SHOP'\nserver = 'file:///etc/passwd'", "expected an address such as https://"),
        (
            "project = 'SHOP'\nserver = 'https://user:pass@example.org'",
            "expected an address such as https://",
        ),
        ("project = 'SHOP'\nserver = 'https://example.org/?x'", "expected an address such as https://"),
        ("project = 'SHOP'\nserver = 'example.org'", "expected an address such as https://"),
        ("project = 'SHOP'\nrepository = \"a\\u0000b\"", "expected a line of at most"),
        ("project = 'SHOP'\ntests = { a = '' }", "expected a line of at most"),
        ("project = 'SHOP'\nproject = 'LIB'", "duplicate key"),
        ("project = ", "expected"),
        (&long, "more than 65536 bytes"),
        (&many, "`reports` has 101 entries; 100 are allowed"),
    ] {
        let problems = ProjectFile::parse(file).expect_err(file);
        let shown: Vec<String> = problems
            .iter()
            .map(|problem| format!("{} {}", problem.message, problem.help.join(" ")))
            .collect();
        assert!(shown.join("\n").contains(expected), "{file}: {shown:?}");
    }
}

#[test]
fn a_terminal_does_not_obey_what_a_repository_says() {
    let project = "project = 'DEFAULT'\n\"\\u001b]0;mine\\u0007\" = 1\n";
    let folder = folder(&[(".spexus/project.toml", project), ("src/a.rs", CITED)]);
    for arguments in
        [&["pull"][..], &["push"], &["cite", "REQ-001", "--file", "src/a.rs"], &["thread", "REQ-001"]]
    {
        let (_, out, told) = run(folder.path(), "spexus", arguments, &[]);
        assert!(told.contains("unknown field `\u{fffd}]0;mine\u{fffd}`"), "{arguments:?}: {told}");
        assert!(!(out + &told).contains(['\u{1b}', '\u{7}']), "{arguments:?}");
    }
}

#[test]
fn a_terminal_does_not_obey_the_names_of_files_and_tests() {
    let obeyed = "\u{1b}]0;mine\u{7}";
    let test = format!(
        "it('{obeyed}', () => {{\n  //= spexus://REQ-001\n  //= type=test\n  //# It SHOULD be sent once.\n}});\n"
    );
    let project = PROJECT.replace(".rs", ".js");
    let agent = agent(&[(".spexus/project.toml", &project), (&format!("src/{obeyed}.js"), &test)]);
    let (_, out, told) = run(agent.root(), "spexus", &["thread", "REQ-001"], &[]);
    assert!(out.contains("test  src/]0;mine.js:2  ]0;mine"), "{out}{told}");
    assert!(!(out + &told).contains(['\u{1b}', '\u{7}']));
}

#[test]
fn a_wrong_project_file_stops_commands_and_is_told_to_agents() {
    let folder = folder(&[(".spexus/project.toml", "projet = 'X'\n"), ("src/a.rs", CITED)]);
    let (code, _, told) = run(folder.path(), "duvet", &["check"], &[]);
    assert!(code == 1 && told.contains("did you mean `project`?"), "{told}");
    let (code, _, told) = run(folder.path(), "spexus", &["pull"], &[]);
    assert!(code == 2 && told.contains("unknown field `projet`"), "{told}");
    let mut agent = Agent::start(folder, "2025-11-25", &[]);
    let answer = agent.call("list_invalid_citations", json!({}));
    assert!(answer.to_string().contains("unknown field `projet`"), "{answer}");
}

#[test]
fn agents_are_told_that_citations_are_of_a_server_and_tools_of_the_local_store() {
    let file = format!("server = 'https://spexus.example.org'\n{PROJECT}");
    let mut agent = agent(&[(".spexus/project.toml", file.as_str()), ("src/a.rs", CITED)]);
    let answer = agent.call("list_invalid_citations", json!({}));
    for part in ["`spexus pull` got from https://spexus.example.org last", "those of the local store"] {
        assert!(answer.to_string().contains(part), "{part}: {answer}");
    }
}

#[cfg(unix)]
#[test]
fn a_pull_writes_nothing_outside_of_the_project() {
    let agent = agent(&[(".spexus/project.toml", PROJECT), ("src/a.rs", CITED)]);
    let outside: TempDir = folder(&[("victim.json", "mine")]);
    let root = agent.root();
    std::os::unix::fs::symlink(outside.path(), root.join(".duvet")).expect("a link");
    let (code, _, told) = run(root, "spexus", &["pull"], &[]);
    assert!(code == 2 && told.contains("outside of the project"), "{code} {told}");
    fs::remove_file(root.join(".duvet")).expect("it can be removed");
    std::os::unix::fs::symlink(outside.path().join("victim.json"), root.join(".spexus/pulled.json"))
        .expect("a link");
    let (code, _, told) = run(root, "spexus", &["pull"], &[]);
    assert!(code == 2 && told.contains("is a link"), "{code} {told}");
    let files: Vec<_> = fs::read_dir(outside.path()).expect("a folder").collect();
    assert_eq!(files.len(), 1);
    assert_eq!(fs::read_to_string(outside.path().join("victim.json")).expect("a file"), "mine");
}
