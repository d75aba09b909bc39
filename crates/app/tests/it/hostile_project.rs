//! Projects that nobody should make: `duvet mcp` reads nothing outside, never hangs, and says what is wrong.

#![cfg(unix)]

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::agent::{Agent, CONFIG, folder, text, usual, write};
use crate::process::{Serving, clean};

const LID: &str = "//= docs/kettle.md#lid\n";
/// What must never be seen.
const SECRET: &str = "//= docs/kettle.md#lid\n//# hunter2\n\n//= hunter2.md#x\n\n//= hunter2=x\n";

#[test]
fn links_out_of_the_project_are_not_followed() {
    let outer = outside();
    let root = outer.path().join("project");
    let secret = outer.path().join("secret");
    fs::create_dir_all(root.join("src")).expect("made");
    symlink(secret.join("secret.rs"), root.join("src/file.rs")).expect("a link");
    symlink(&secret, root.join("src/folder")).expect("a link");
    symlink("../../secret", root.join("src/relative")).expect("a link");
    let mut serving = Serving::duvet(&root, &[]);
    let answer = serving.handshake("2025-11-25").to_string();
    for problem in ["src/file.rs is outside of the project", "src/folder is outside of the project"] {
        assert!(answer.contains(problem), "{answer}");
    }
    check_secret(serving, &["src/file.rs:1", "src/folder/secret.rs:1"]);
}

#[test]
fn patterns_and_specifications_outside_are_not_read() {
    let outer = outside();
    let root = outer.path().join("project");
    let secret = outer.path().join("secret");
    let config = format!(
        "{CONFIG}[[source]]\npattern = '../secret/*.rs'\n[[source]]\npattern = '{0}/**/*.rs'\n\
         [[source]]\npattern = 'src/*/../../../secret/*.rs'\n[[source]]\npattern = '/**/*.rs'\n\
         [[specification]]\nsource = '../secret/spec.md'\n[[specification]]\nsource = '{0}/spec.md'\n\
         [[specification]]\nsource = 'docs/link.md'\n[[requirement]]\npattern = '../secret/*.toml'\n",
        secret.display()
    );
    write(&root, ".duvet/config.toml", &config);
    write(
        &root,
        "src/deep/lib.rs",
        &format!("//= {}/spec.md#a\n\n//= ../secret/spec.md#a\n", secret.display()),
    );
    symlink(secret.join("spec.md"), root.join("docs/link.md")).expect("a link");
    let start = Instant::now();
    let mut serving = Serving::duvet(&root, &[]);
    let answer = serving.handshake("2025-11-25").to_string();
    assert!(answer.contains("is outside of the project"), "{answer}");
    // To look through the whole disk would take longer.
    assert!(start.elapsed() < Duration::from_secs(10));
    check_secret(serving, &["../secret/secret.rs:1"]);
}

#[test]
fn a_configuration_outside_is_not_read() {
    let outer = outside();
    let root = outer.path().join("project");
    fs::remove_file(root.join(".duvet/config.toml")).expect("removed");
    symlink("../../secret/secret.rs", root.join(".duvet/config.toml")).expect("a link");
    let mut serving = Serving::duvet(&root, &[]);
    let answer = serving.handshake("2025-11-25").to_string();
    assert!(answer.contains(".duvet/config.toml is outside of the project"), "{answer}");
    check_secret(serving, &[]);
}

#[test]
fn a_file_that_becomes_a_link_out_is_not_read() {
    let outer = outside();
    let root = outer.path().join("project");
    write(&root, "src/lib.rs", LID);
    let mut serving = Serving::duvet(&root, &[]);
    serving.handshake("2025-11-25");
    serving.request(1, "resources/read", json!({"uri": "/citations"}));
    symlink("../../secret/known.rs", root.join("src/link")).expect("a link");
    fs::rename(root.join("src/link"), root.join("src/lib.rs")).expect("renamed");
    thread::sleep(Duration::from_millis(300));
    check_secret(serving, &["src/lib.rs:1", "src/lib.rs:2"]);
}

#[test]
fn paths_that_leave_the_project_are_not_found() {
    let mut agent = Agent::new(&[("src/lib.rs", LID)]);
    let root = agent.root().display().to_string();
    for id in [
        "../../etc/passwd:1",
        "/etc/passwd:1",
        "docs/kettle.md:1",
        &format!("{root}/../src/lib.rs:1"),
        "src/../src/lib.rs:1",
        "src/lib.rs:99999999999",
        "src/lib.rs\0:1",
        ":",
        ":1",
    ] {
        let answer = agent.call("get_citation_context", json!({"citation_id": id}));
        assert_eq!(answer["isError"], true, "{id}: {answer}");
        assert!(text(&answer).starts_with("Citation not found"), "{id}: {answer}");
        let lid = "duvet:///specifications/docs-kettle-md/sections/lid/citations";
        for uri in [
            format!("{lid}/{id}"),
            format!("{lid}/{}", id.replace('/', "%2F").replace('.', "%2e")),
            format!("file:///{id}"),
            id.to_owned(),
        ] {
            let answer = agent.ask("resources/read", json!({"uri": uri}));
            assert_eq!(answer["error"]["code"], -32002, "{uri}: {answer}");
        }
    }
}

#[test]
fn links_in_circles_end() {
    let folder = folder(&[&usual()[..], &[("src/lib.rs", LID), ("lib/a.rs", LID)]].concat());
    for name in ["a", "b", "c"] {
        symlink(".", folder.path().join("src").join(name)).expect("a link");
        symlink("..", folder.path().join("lib").join(name)).expect("a link");
    }
    symlink("../lib", folder.path().join("src/lib")).expect("a link");
    symlink("../src", folder.path().join("lib/src")).expect("a link");
    symlink("loop", folder.path().join("src/loop")).expect("a link");
    let mut agent = Agent::start(folder, "2025-11-25", &[]);
    agent.until_citations(&["src/lib.rs:1", "src/lib/a.rs:1"]);
}

#[test]
fn links_without_end_are_cut() {
    let folder = folder(&[&usual()[..], &[("src/lib.rs", LID)]].concat());
    // Two ways from each folder to the next: 2^30 paths, and no circle.
    for number in 0..30 {
        fs::create_dir_all(folder.path().join(format!("deep/{number}"))).expect("made");
        for name in ["a", "b"] {
            let link = folder.path().join(format!("deep/{number}/{name}"));
            symlink(format!("../{}", number + 1), link).expect("a link");
        }
    }
    write(folder.path(), "deep/30/x.rs", LID);
    symlink("../deep/0", folder.path().join("src/deep")).expect("a link");
    let mut agent = Agent::start(folder, "2025-11-25", &[]);
    assert!(agent.problems().contains("links lead to too many folders"), "{}", agent.problems());
}

#[test]
fn pipes_folders_and_bytes_are_named_and_not_waited_for() {
    let folder = folder(&[&usual()[..], &[("src/lib.rs", LID), ("src/folder.rs/x", "")]].concat());
    let made = Command::new("mkfifo").arg(folder.path().join("src/pipe.rs")).status().expect("mkfifo runs");
    assert!(made.success());
    fs::write(folder.path().join("src/bytes.rs"), b"//= docs\xff#x\n").expect("written");
    fs::write(folder.path().join("src/zero.rs"), b"\0\0//= docs/kettle.md#lid\n").expect("written");
    symlink("nowhere.rs", folder.path().join("src/dangling.rs")).expect("a link");
    let mut agent = Agent::start(folder, "2025-11-25", &[]);
    assert_eq!(agent.citations(), ["src/lib.rs:1"]);
    let invalid = agent.json("list_invalid_citations", json!({})).to_string();
    for problem in
        ["src/pipe.rs is not a file", "src/folder.rs is a folder", "src/bytes.rs is not UTF-8 text"]
    {
        assert!(invalid.contains(problem), "{problem}: {invalid}");
    }
}

/// As an unprivileged user, since the superuser may read everything.
#[test]
fn what_may_not_be_read_is_named() {
    let is_privileged =
        fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0);
    let folder = folder(
        &[&usual()[..], &[("src/lib.rs", LID), ("src/closed/a.rs", LID), ("src/secret.rs", LID)]].concat(),
    );
    let mode = |path: &str, mode: u32| {
        fs::set_permissions(folder.path().join(path), fs::Permissions::from_mode(mode))
            .expect("permissions are set");
    };
    mode("", 0o755);
    mode("src/closed", 0o000);
    mode("src/secret.rs", 0o000);
    let mut command = clean(Command::new(copied(&folder)), &[]);
    command.arg("mcp").current_dir(folder.path());
    if is_privileged {
        command.uid(65534).gid(65534);
    }
    let mut serving = Serving::spawn(command);
    let answer = serving.handshake("2025-11-25").to_string();
    assert!(answer.contains("src/closed cannot be read: Permission denied"), "{answer}");
    let mut ask = |method: &str, params| serving.request(1, method, params).to_string();
    let invalid = ask("tools/call", json!({"name": "list_invalid_citations", "arguments": {}}));
    assert!(invalid.contains("src/secret.rs cannot be read: Permission denied"), "{invalid}");
    mode("src/closed", 0o755);
    mode("src/secret.rs", 0o644);
    let start = Instant::now();
    while !ask("resources/read", json!({"uri": "/citations"})).contains("src/closed/a.rs:1") {
        assert!(start.elapsed() < crate::process::PATIENCE);
        thread::sleep(Duration::from_millis(5));
    }
    let start = Instant::now();
    while !ask("resources/read", json!({"uri": "/citations"})).contains("src/secret.rs:1") {
        assert!(start.elapsed() < crate::process::PATIENCE);
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_hundred_thousand_citations_in_one_file_are_served() {
    let right = format!("{LID}//# The lid MUST close.\n\n").repeat(100_000);
    let wrong = "//= docs/kettle.md#lips\n\n//= colour=red\n\n".repeat(10_000);
    let mut agent = Agent::new(&[("src/right.rs", &right), ("src/wrong.rs", &wrong)]);
    assert_eq!(agent.n_citations(), 100_000);
    let invalid = agent.call("list_invalid_citations", json!({}));
    let rest: Value =
        serde_json::from_str(invalid["content"][1]["text"].as_str().expect("a note")).expect("JSON");
    assert!(rest["remaining"].as_u64() > Some(19_000), "{invalid}");
    agent.write("src/right.rs", &right[..right.len() / 2]);
    agent.until("half of them", |agent| agent.n_citations() == 50_000);
}

#[test]
fn huge_and_strange_arguments_are_answered_briefly() {
    let mut agent = Agent::new(&[("src/lib.rs", LID)]);
    for argument in [
        "word ".repeat(200_000),
        "x".repeat(2_000_000),
        "\u{130}\u{1f600}e\u{301}\u{202e}\u{feff}".repeat(50_000),
        "a\0b".to_owned(),
        "\"".repeat(100_000),
        format!("{LID}//# {}", "The lid MUST ".repeat(100_000)),
        LID.repeat(50_000),
        format!("https://{}#x", "a/".repeat(100_000)),
        "%".repeat(100_000),
        "\u{fffd}\u{ffff}\u{10ffff}".to_owned(),
    ] {
        for (tool, name) in [
            ("validate_citation", "citation"),
            ("search_requirements", "query"),
            ("get_requirement_status", "req_identifier"),
            ("get_citation_context", "citation_id"),
            ("resolve_spec_id", "url"),
            ("list_uncited_requirements", "spec_id"),
            ("list_uncited_requirements", "cursor"),
        ] {
            let answer = agent.call(tool, json!({name: argument})).to_string();
            assert!(answer.len() < 8_000, "{tool}: {} bytes", answer.len());
        }
        let answer =
            agent.ask("resources/read", json!({"uri": format!("duvet:///specifications/{argument}")}));
        assert_eq!(answer["error"]["code"], -32002);
    }
}

#[test]
fn names_of_any_kind_can_be_asked_for() {
    let names = [
        "src/ü%20#?&.rs",
        "src/a:1.rs",
        "src/requirements/citations/sections.rs",
        "src/ \u{1f600}\u{202e}.rs",
    ];
    let files: Vec<(&str, &str)> = names.iter().map(|name| (*name, LID)).collect();
    let mut agent = Agent::new(&files);
    let answer = agent.ask("resources/list", json!({"path": "/citations"}));
    let listed = answer["result"]["resources"].as_array().expect("resources").clone();
    assert_eq!(listed.len(), names.len());
    for resource in listed {
        for key in ["uri", "full_path"] {
            let citation = agent.read(resource[key].as_str().expect("a text"));
            assert_eq!(format!("{}:1", citation["file_path"].as_str().expect("a path")), resource["id"]);
        }
        assert_eq!(agent.ask("resources/subscribe", json!({"uri": resource["uri"]}))["result"], json!({}));
    }
    let specification = "# K\n\n## Requirements\n\nA MUST b.\n\n## Citations\n\nC MUST d.\n\n## A/B requirements {#a/requirements/b}\n\nE MUST f.\n";
    agent.write("docs/kettle.md", specification);
    agent.until("other sections", |agent| agent.read("/requirements").to_string().contains("E MUST f."));
    for full_path in crate::agent::column(&agent.read("/requirements"), "full_path") {
        agent.read(&full_path);
        agent.json("get_requirement_status", json!({"req_identifier": full_path}));
    }
}

/// A project beside a folder that is none of its business.
fn outside() -> TempDir {
    let outer = folder(&[
        ("secret/secret.rs", SECRET),
        ("secret/known.rs", "\n//= docs/kettle.md#lid\n//# hunter2\n"),
        ("secret/spec.md", "# A\n\nhunter2 MUST b.\n"),
        ("secret/a.toml", "target = 'docs/kettle.md#lid'\n[[todo]]\nquote = 'hunter2'\n"),
    ]);
    usual().iter().for_each(|(path, text)| write(&outer.path().join("project"), path, text));
    outer
}

/// Asks for everything; the secret must be in no answer.
#[track_caller]
fn check_secret(mut serving: Serving, ids: &[&str]) {
    let call = |name: &str, arguments| ("tools/call", json!({"name": name, "arguments": arguments}));
    let read = |uri: &str| ("resources/read", json!({"uri": uri}));
    let mut questions = vec![
        read("/citations"),
        read("/requirements"),
        read("/specifications"),
        call("list_invalid_citations", json!({})),
        call("list_uncited_requirements", json!({})),
        ("resources/list", json!({})),
    ];
    questions.extend(ids.iter().map(|id| call("get_citation_context", json!({"citation_id": id}))));
    for (method, params) in questions {
        let answer = serving.request(1, method, params).to_string();
        assert!(!answer.contains("hunter2"), "{answer}");
    }
    let (status, lines, log) = serving.end();
    assert!(status.success(), "{lines:?} {log}");
    assert!(!log.contains("hunter2"), "{log}");
}

/// A copy of the program where everybody may run it.
fn copied(folder: &TempDir) -> std::path::PathBuf {
    let copy = folder.path().join("duvet-copy");
    crate::process::copy_program(env!("CARGO_BIN_EXE_duvet"), &copy);
    fs::set_permissions(&copy, fs::Permissions::from_mode(0o755)).expect("permissions are set");
    copy
}
