//! `duvet mcp` follows a project while it changes, and tells who wants to know.

use std::collections::BTreeSet;
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::agent::{Agent, CONFIG, KETTLE, PATH_OF_RFC, RFC, folder, json_of, stateless, usual, write};

const LID: &str = "//= docs/kettle.md#lid\n";

#[test]
fn files_are_followed_however_they_are_written() {
    let mut agent = Agent::new(&[("src/lib.rs", LID)]);
    agent.until_citations(&["src/lib.rs:1"]);
    agent.write("src/lib.rs", &format!("\n{LID}"));
    agent.until_citations(&["src/lib.rs:2"]);
    // Editors write another file and put it in the place of the first.
    agent.write("src/.lib.rs.swp", &format!("\n\n{LID}"));
    fs::rename(agent.path("src/.lib.rs.swp"), agent.path("src/lib.rs")).expect("renamed");
    agent.until_citations(&["src/lib.rs:3"]);
    agent.write("src/new.rs", LID);
    agent.until_citations(&["src/lib.rs:3", "src/new.rs:1"]);
    fs::remove_file(agent.path("src/lib.rs")).expect("removed");
    agent.until_citations(&["src/new.rs:1"]);
    fs::rename(agent.path("src/new.rs"), agent.path("src/other.rs")).expect("renamed");
    agent.until_citations(&["src/other.rs:1"]);
    fs::rename(agent.path("src/other.rs"), agent.path("src/other.txt")).expect("renamed");
    agent.until_citations(&[]);
}

#[test]
fn folders_are_followed_as_they_come_and_go() {
    let mut agent = Agent::new(&[("src/lib.rs", LID), ("elsewhere/deep/a.rs", LID)]);
    agent.until_citations(&["src/lib.rs:1"]);
    agent.write("src/x/y/new.rs", LID);
    agent.until_citations(&["src/lib.rs:1", "src/x/y/new.rs:1"]);
    fs::rename(agent.path("src/x"), agent.path("gone")).expect("renamed");
    agent.until_citations(&["src/lib.rs:1"]);
    fs::rename(agent.path("elsewhere"), agent.path("src/here")).expect("renamed");
    agent.until_citations(&["src/here/deep/a.rs:1", "src/lib.rs:1"]);
    // An empty folder first, its file later.
    fs::create_dir_all(agent.path("src/empty/inner")).expect("made");
    thread::sleep(Duration::from_millis(100));
    agent.write("src/empty/inner/b.rs", LID);
    agent.until_citations(&["src/empty/inner/b.rs:1", "src/here/deep/a.rs:1", "src/lib.rs:1"]);
    // Another folder of the same name is another folder.
    for n_lines in 1..4 {
        fs::remove_dir_all(agent.path("src")).expect("removed");
        agent.write("src/lib.rs", LID);
        agent.until_citations(&["src/lib.rs:1"]);
        agent.write("src/lib.rs", &format!("{}{LID}", "\n".repeat(n_lines)));
        agent.until_citations(&[&format!("src/lib.rs:{}", n_lines + 1)]);
    }
}

#[test]
fn specifications_and_requirement_files_are_followed() {
    let mut agent = Agent::new(&[("src/lib.rs", LID)]);
    let texts = |agent: &mut Agent| agent.read("/requirements").to_string();
    agent.write("docs/kettle.md", &format!("{KETTLE}\n## New\n\nIt MUST be new.\n"));
    agent.until("a new requirement", |agent| texts(agent).contains("It MUST be new."));
    agent.write(
        ".duvet/todos/lid.toml",
        "target = 'docs/kettle.md#lid'\n[[todo]]\nquote = 'The lid MUST close.'\n",
    );
    agent.until_citations(&[".duvet/todos/lid.toml:2", "src/lib.rs:1"]);
    fs::remove_file(agent.path("docs/kettle.md")).expect("removed");
    agent.until("no kettle", |agent| !texts(agent).contains("kettle"));
    assert_eq!(agent.json("list_invalid_citations", json!({}))[0]["error"], "URL not found");
    assert!(agent.problems().contains("specification not found: docs/kettle.md"));
    agent.write("docs/kettle.md", KETTLE);
    agent.until_citations(&[".duvet/todos/lid.toml:2", "src/lib.rs:1"]);
    assert_eq!(agent.problems(), "null");
}

#[test]
fn a_specification_that_is_fetched_later_is_read() {
    let mut agent = Agent::with(&[usual()[0], usual()[2], ("src/lib.rs", LID)]);
    assert!(
        agent
            .problems()
            .contains("put its text into .duvet/specifications/www.rfc-editor.org/rfc/rfc9999.txt")
    );
    agent.write(PATH_OF_RFC, RFC);
    agent.until("the RFC", |agent| agent.read("/specifications").as_array().map(Vec::len) == Some(2));
    assert_eq!(agent.problems(), "null");
}

#[test]
fn the_configuration_is_followed_and_its_mistakes_are_told_everywhere() {
    let mut agent = Agent::new(&[("src/lib.rs", LID), ("lib/a.rs", LID)]);
    agent.until_citations(&["src/lib.rs:1"]);
    agent.write(".duvet/config.toml", &CONFIG.replace("src/**", "lib/**"));
    agent.until_citations(&["lib/a.rs:1"]);
    agent.write(".duvet/config.toml", "[[source");
    agent.until("a mistake", |agent| agent.problems().contains(".duvet/config.toml:1:9"));
    for (tool, arguments) in [
        ("validate_citation", json!({"citation": "docs/kettle.md#lid"})),
        ("search_requirements", json!({"query": "x"})),
        ("list_uncited_requirements", json!({})),
        ("list_invalid_citations", json!({})),
        ("resolve_spec_id", json!({"url": "x"})),
        ("get_prioritized_requirements", json!({})),
    ] {
        let answer = agent.call(tool, arguments);
        let last = answer["content"].as_array().and_then(|blocks| blocks.last()).expect("a block");
        assert!(
            last["text"].as_str().is_some_and(|text| text.contains("config.toml:1:9")),
            "{tool}: {answer}"
        );
    }
    let discovered = agent.ask("server/discover", json!({"_meta": stateless()}));
    assert!(
        discovered["result"]["instructions"].as_str().is_some_and(|text| text.contains("config.toml:1:9"))
    );
    fs::remove_file(agent.path(".duvet/config.toml")).expect("removed");
    agent.until("no configuration", |agent| agent.problems().contains("duvet init"));
    fs::create_dir(agent.path(".duvet/config.toml")).expect("made");
    agent.until("a folder", |agent| agent.problems().contains("is a folder"));
    fs::remove_dir(agent.path(".duvet/config.toml")).expect("removed");
    agent.write(".duvet/config.toml", &CONFIG.replace("src/**", "nothing/**"));
    agent.until("a pattern", |agent| agent.problems().contains("no file matches nothing/**/*.rs"));
    agent.write(".duvet/config.toml", CONFIG);
    agent.until_citations(&["src/lib.rs:1"]);
    assert_eq!(agent.problems(), "null");
}

#[test]
fn a_broken_configuration_is_told_at_the_start() {
    let folder = folder(&[(".duvet/config.toml", "colour = 'red'\n")]);
    let mut serving = crate::process::Serving::duvet(folder.path(), &[]);
    let answer = serving.handshake("2025-11-25");
    let instructions = answer["result"]["instructions"].as_str().expect("a text");
    assert!(
        instructions.contains("### Something is wrong with this project\n- .duvet/config.toml:"),
        "{instructions}"
    );
}

#[test]
fn a_project_may_begin_in_an_empty_folder() {
    let mut agent = Agent::with(&[]);
    assert_eq!(agent.json("get_prioritized_requirements", json!({})), json!([]));
    assert!(agent.problems().contains("there is no .duvet/config.toml (`duvet init` writes one)"));
    for (path, text) in usual() {
        agent.write(path, text);
    }
    agent.write("src/lib.rs", LID);
    agent.until_citations(&["src/lib.rs:1"]);
    agent.until("no problems", |agent| agent.problems() == "null");
}

#[test]
fn the_whole_project_may_go_and_come_back() {
    let files: Vec<(&str, &str)> = usual().into_iter().chain([("src/lib.rs", LID)]).collect();
    let outer = folder(&[]);
    files.iter().for_each(|(path, text)| write(&outer.path().join("project"), path, text));
    let moved = outer.path().join("moved");
    let mut agent = Agent::start_in(outer, "project", "2025-11-25", &[]);
    agent.until_citations(&["src/lib.rs:1"]);
    fs::remove_dir_all(agent.root()).expect("removed");
    agent.until_citations(&[]);
    files.iter().for_each(|(path, text)| agent.write(path, text));
    agent.until_citations(&["src/lib.rs:1"]);
    fs::rename(agent.root(), &moved).expect("renamed");
    agent.until_citations(&[]);
    fs::rename(&moved, agent.root()).expect("renamed");
    agent.until_citations(&["src/lib.rs:1"]);
    agent.write("src/lib.rs", &format!("\n{LID}"));
    agent.until_citations(&["src/lib.rs:2"]);
}

#[test]
fn old_flags_are_followed_without_a_configuration() {
    let folder = folder(&[usual()[2], ("src/a.rs", "//? docs/kettle.md#lid\n")]);
    let mut agent = Agent::start(folder, "2025-11-25", &["--source-pattern", "(//?,//!)src/**/*.rs"]);
    agent.until_citations(&["src/a.rs:1"]);
    agent.write("src/b/c.rs", "//? docs/kettle.md#lid\n//! The lid MUST close.\n");
    agent.until_citations(&["src/a.rs:1", "src/b/c.rs:1"]);
    assert_eq!(agent.problems(), "null");
    assert_eq!(
        agent.json("validate_citation", json!({"citation": "//? docs/kettle.md#lid"})),
        json!({"valid": true, "warning": "only the target is given, which covers nothing; quote the requirement"})
    );
}

#[cfg(unix)]
#[test]
fn a_file_behind_a_link_is_followed() {
    let folder = folder(&[&usual()[..], &[("shared/a.rs", LID), ("src/own.rs", "")]].concat());
    std::os::unix::fs::symlink("../shared/a.rs", folder.path().join("src/a.rs")).expect("a link");
    let mut agent = Agent::start(folder, "2025-11-25", &[]);
    agent.until_citations(&["src/a.rs:1"]);
    thread::sleep(Duration::from_millis(200));
    agent.write("shared/a.rs", &format!("\n{LID}"));
    agent.until_citations(&["src/a.rs:2"]);
}

/// Who subscribed to a resource hears when it reads differently, by the name that it subscribed to.
#[test]
fn subscribers_hear_of_changes_by_handshake() {
    let mut agent = Agent::new(&[("src/lib.rs", LID)]);
    agent.until_citations(&["src/lib.rs:1"]);
    let lid = "/specifications/docs-kettle-md/sections/lid";
    let uris =
        [format!("duvet://{lid}/citations"), format!("{lid}/citations"), "duvet:///requirements".into()];
    for uri in &uris {
        assert_eq!(agent.ask("resources/subscribe", json!({"uri": uri}))["result"], json!({}));
    }
    // Under another name nobody would ever hear of it.
    let alias =
        agent.ask("resources/subscribe", json!({"uri": "/specifications/docs-kettle-md/sections/LID"}));
    assert_eq!(alias["error"]["code"], -32602, "{alias}");
    assert!(
        alias.to_string().contains(
            "change notifications are sent for duvet:///specifications/docs-kettle-md/sections/lid"
        )
    );
    assert_eq!(agent.ask("resources/subscribe", json!({"uri": "/x"}))["error"]["code"], -32002);

    agent.write("src/new.rs", LID);
    agent.until_citations(&["src/lib.rs:1", "src/new.rs:1"]);
    notes(&mut agent, [&uris[0], &uris[1]]);
    agent.write("src/lib.rs", &format!("\n{LID}"));
    agent.until_citations(&["src/lib.rs:2", "src/new.rs:1"]);
    notes(&mut agent, [&uris[0], &uris[1]]);
    // What concerns another section is not told.
    agent.write("src/other.rs", "//= docs/kettle.md#kettles\n");
    agent.until_citations(&["src/lib.rs:2", "src/new.rs:1", "src/other.rs:1"]);
    notes(&mut agent, []);
    agent.write("docs/kettle.md", &format!("{KETTLE}\n## New\n\nIt MUST be new.\n"));
    agent.until("a new section", |agent| agent.read("/requirements").to_string().contains("new"));
    notes(&mut agent, ["notifications/resources/list_changed", &uris[0], &uris[1], &uris[2]]);
    for uri in &uris {
        agent.ask("resources/unsubscribe", json!({"uri": uri}));
    }
    fs::remove_file(agent.path("src/new.rs")).expect("removed");
    agent.until_citations(&["src/lib.rs:2", "src/other.rs:1"]);
    notes(&mut agent, []);
}

/// 2026-07-28 has subscriptions that listen; each notification carries the id of its own.
#[test]
fn listeners_hear_of_changes_without_a_handshake() {
    let mut agent = Agent::start(folder(&[&usual()[..], &[("src/lib.rs", LID)]].concat()), "2026-07-28", &[]);
    agent.until_citations(&["src/lib.rs:1"]);
    let uri = "duvet:///specifications/docs-kettle-md/sections/lid/citations";
    let params = json!({
        "_meta": stateless(),
        "notifications": {"resourcesListChanged": true, "resourceSubscriptions": [uri]},
    });
    let listen = json!({"jsonrpc": "2.0", "id": "ear", "method": "subscriptions/listen", "params": params});
    agent.serving.send(&listen.to_string());
    let acknowledged = agent.serving.receive();
    assert_eq!(acknowledged["method"], "notifications/subscriptions/acknowledged");
    agent.write("src/new.rs", LID);
    agent.until_citations(&["src/lib.rs:1", "src/new.rs:1"]);
    agent.until("a note", |agent| {
        agent.ask("server/discover", json!({}));
        !agent.notes.is_empty()
    });
    let note = agent.notes.remove(0);
    assert_eq!(note["method"], "notifications/resources/updated");
    assert_eq!(note["params"]["uri"], uri);
    assert_eq!(note["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], "ear");
    agent.write("docs/kettle.md", &KETTLE.replace("# Kettles", "# Big Kettles"));
    agent.until("a list", |agent| {
        agent.ask("server/discover", json!({}));
        agent.notes.iter().any(|note| note["method"] == "notifications/resources/list_changed")
    });
}

/// However fast files change, an answer is of one moment: either all of a change or nothing of it.
#[test]
fn answers_are_consistent_while_files_change() {
    let mut agent = Agent::new(&[("src/lib.rs", LID)]);
    let root = agent.root().to_path_buf();
    let writing = thread::spawn(move || {
        for number in 0..200_usize {
            let text = format!("{}{LID}//# The lid MUST close.\n\n", "\n".repeat(number % 7)).repeat(2);
            match number % 4 {
                0 => write(&root, "src/lib.rs", &text),
                1 | 2 => {
                    write(&root, "src/new.tmp", &text);
                    fs::rename(root.join("src/new.tmp"), root.join("src/lib.rs")).expect("renamed");
                }
                _ => {
                    let _ = fs::remove_file(root.join("src/lib.rs"));
                    write(&root, "src/deep/er/new.rs", LID);
                    let _ = fs::remove_dir_all(root.join("src/deep"));
                }
            }
            thread::sleep(Duration::from_millis(number as u64 % 15));
        }
        write(&root, "src/lib.rs", LID);
    });
    let mut n_read = 0;
    while !writing.is_finished() {
        let citations = agent.read("/citations");
        let full_paths = crate::agent::column(&citations, "full_path");
        let n_here = full_paths.iter().filter(|path| path.contains("lib.rs")).count();
        // Two citations were always written together.
        assert!(n_here != 1 || citations.to_string().contains("/src/lib.rs:1"), "{citations}");
        for full_path in full_paths {
            // It may be gone by now; if it is not, it is a citation and nothing else.
            let answer = agent.ask("resources/read", json!({"uri": full_path}));
            if let Some(text) = answer["result"]["contents"][0]["text"].as_str() {
                let citation: Value = serde_json::from_str(text).expect("JSON");
                let comment = citation["comment_text"].as_str().expect("a text");
                assert!(comment.starts_with("//= docs/kettle.md#lid"), "{full_path}: {citation}");
                n_read += 1;
            }
            let id = full_path.rsplit_once("citations/").expect("the path of a citation").1;
            let context = agent.call("get_citation_context", json!({"citation_id": id, "context_lines": 0}));
            if context["isError"] == false {
                assert_eq!(json_of(&context)["context"], json!(["//= docs/kettle.md#lid"]));
                n_read += 1;
            }
        }
        let all = agent.json("get_prioritized_requirements", json!({"spec_id": "docs-kettle-md"}));
        assert_eq!(all.as_array().map(Vec::len), Some(4));
    }
    writing.join().expect("the writer does not panic");
    agent.until_citations(&["src/lib.rs:1"]);
    assert!(n_read > 0, "no citation was read while files changed");
}

/// An edit is in the next answer, however soon somebody asks: the question waits for it.
#[test]
#[cfg(target_os = "linux")]
fn the_answer_after_an_edit_is_current() {
    let mut agent = Agent::new(&[("src/lib.rs", LID)]);
    agent.until_citations(&["src/lib.rs:1"]);
    // A question waits for 20 ms and no longer, which a busy machine may need for something else.
    let check = |agent: &mut Agent, expected: &[&str]| {
        let start = Instant::now();
        let citations = agent.citations();
        let is_late = start.elapsed() >= Duration::from_millis(20);
        assert!(is_late || citations == expected, "{citations:?} after {:?}", start.elapsed());
        agent.until_citations(expected);
        !is_late
    };
    let mut n_soon = 0;
    for n_lines in 1..50 {
        let edited = format!("src/lib.rs:{}", n_lines + 1);
        agent.write("src/lib.rs", &format!("{}{LID}", "\n".repeat(n_lines)));
        n_soon += usize::from(check(&mut agent, &[&edited]));
        agent.write("src/new.rs", LID);
        n_soon += usize::from(check(&mut agent, &[&edited, "src/new.rs:1"]));
        fs::remove_file(agent.path("src/new.rs")).expect("removed");
        n_soon += usize::from(check(&mut agent, &[&edited]));
    }
    assert!(n_soon > 0, "every answer was late");
}

/// An edit is known soon where nobody waits for it.
#[test]
fn an_edit_is_known_at_once() {
    let mut agent = Agent::new(&[("src/lib.rs", LID)]);
    agent.until_citations(&["src/lib.rs:1"]);
    let mut times: Vec<Duration> = (1..20)
        .map(|n_lines| {
            agent.write("src/lib.rs", &format!("{}{LID}", "\n".repeat(n_lines)));
            agent.until_citations(&[&format!("src/lib.rs:{}", n_lines + 1)])
        })
        .collect();
    times.sort();
    eprintln!(
        "from an edit to its answer: {:?} (median), {:?} (most)",
        times[times.len() / 2],
        times[times.len() - 1]
    );
    assert!(times[times.len() / 2] < Duration::from_millis(500), "{times:?}");
}

/// Waits for so many notes; returns their URIs, or their methods where there is none.
#[track_caller]
fn notes<const N: usize>(agent: &mut Agent, expected: [&str; N]) {
    if N == 0 {
        thread::sleep(Duration::from_millis(100));
    }
    let names = |agent: &Agent| {
        let name = |note: &Value| {
            note["params"]["uri"].as_str().or(note["method"].as_str()).expect("a name").to_owned()
        };
        agent.notes.iter().map(name).collect::<BTreeSet<_>>()
    };
    agent.until(&format!("{expected:?}"), |agent| {
        agent.ask("ping", json!({}));
        names(agent).len() >= N
    });
    assert_eq!(names(agent), expected.iter().map(|name| (*name).to_owned()).collect());
    agent.notes.clear();
}
