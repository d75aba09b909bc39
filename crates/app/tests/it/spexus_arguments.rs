//! What the command line is given, and what it makes of it: servers, null, JSON from files, and the codes it ends with.

use std::collections::HashSet;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::backend::{Backend, on_every_store, on_sqlite};
use crate::spexus_cli::{json_of, refused, spexus};

const AWAY: &str = "http://127.0.0.1:1";

#[test]
fn what_works_on_the_local_store_alone_refuses_a_server() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    json_of(path, &["epic", "create", "--title", "One", "--priority", "1"]);
    json_of(path, &["backup", "one.db"]);
    json_of(path, &["epic", "create", "--title", "Two", "--priority", "1"]);
    for arguments in [
        &["restore", "one.db", "--replace"][..],
        &["backup", "two.db"],
        &["migrate"],
        &["migrate", "--check"],
        &["serve", "--listen", "127.0.0.1:0"],
        &["mcp"],
    ] {
        let told = refused(path, &[arguments, &["--server", AWAY]].concat(), 2);
        assert!(
            told.contains("--server") && told.contains("works on the local store"),
            "{arguments:?}: {told}"
        );
    }
    assert!(!path.join("two.db").exists());
    assert_eq!(json_of(path, &["epic", "list"])["total_count"], 2, "the local store was replaced");
}

#[test]
fn a_server_from_the_environment_or_a_file_is_refused_where_it_would_mislead() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    json_of(path, &["epic", "create", "--title", "One", "--priority", "1"]);
    json_of(path, &["backup", "one.db"]);
    for arguments in [&["restore", "one.db", "--replace"][..], &["backup", "two.db"], &["migrate"]] {
        let told = with_server(path, arguments);
        assert!(told.contains("SPEXUS_SERVER (from the environment): this command works on"), "{told}");
    }
    std::fs::write(path.join("spexus.toml"), format!("server = \"{AWAY}\"\n")).expect("a file");
    let told = refused(path, &["backup", "two.db", "--config", "spexus.toml"], 2);
    assert!(told.contains("server (from spexus.toml): this command works on"), "{told}");
    assert!(!path.join("two.db").exists());
}

/// Runs a command that must be refused, with a server in the environment.
#[track_caller]
fn with_server(folder: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_spexus"));
    command.args(arguments).current_dir(folder).env_clear();
    command.env("HOME", folder).env("XDG_DATA_HOME", folder).env("SPEXUS_SERVER", AWAY);
    let output = command.output().expect("it runs");
    assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn on_a_server_the_token_says_who_acts() {
    let folder = tempfile::tempdir().expect("a folder");
    let told = refused(folder.path(), &["epic", "list", "--server", AWAY, "--as", "bob"], 2);
    assert!(told.contains("--as (from the command line): on a server the token says who acts"), "{told}");
}

#[test]
fn a_token_is_for_a_server_and_somebody_is_for_the_local_store() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    for arguments in [&["epic", "list"][..], &["serve"], &["mcp"], &["migrate"], &["backup", "one.db"]] {
        let told = refused(path, &[arguments, &["--token", "mcp_pat_x"]].concat(), 2);
        assert!(told.contains("--token (from the command line): a token is for a server"), "{told}");
    }
    for arguments in [&["serve"][..], &["migrate"], &["backup", "one.db"]] {
        let told = refused(path, &[arguments, &["--as", "ann"]].concat(), 2);
        assert!(
            told.contains("--as (from the command line): this command works on the whole store"),
            "{told}"
        );
    }
    for (token, found) in [("mcp_pat_x\n", "a line break"), ("mcp pat", "a blank"), ("mcp_pat_…", "'…'")]
    {
        let told = refused(path, &["epic", "list", "--server", AWAY, "--token", token], 2);
        assert!(told.contains(&format!("the token (SPEXUS_TOKEN or --token) holds {found}")), "{told}");
    }
}

#[test]
fn what_a_server_refuses_is_told_with_what_to_do() {
    on_sqlite(&[], &[], |backend, _| {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path();
        let told = refused(path, &["epic", "list", "--server", &backend.url], 1);
        assert!(told.contains("give one with SPEXUS_TOKEN or --token"), "{told}");
        let on = ["--server", &backend.url, "--token", &backend.token];
        let missing = spexus(path, &[&["show", "EP-9", "--json"], &on[..]].concat(), "");
        let error: Value = serde_json::from_slice(&missing.stdout).expect("JSON");
        assert_eq!(error["error"]["code"], "NOT_FOUND");
        assert!(error["error"]["request_id"].is_string(), "{error}");
        let secure = backend.url.replace("http://", "https://");
        let told = refused(path, &["epic", "list", "--server", &secure, "--token", "x"], 1);
        assert!(told.contains(&format!("it may speak http: try {}", backend.url)), "{told}");
        let doctor = spexus(path, &["doctor", "--server", &backend.url, "--token", "mcp_pat_old"], "");
        let text = String::from_utf8_lossy(&doctor.stdout);
        assert!(text.contains("a new one is made on the server's machine"), "{text}");
    });
}

#[test]
fn null_clears_a_field_that_may_be_empty() {
    let folder = tempfile::tempdir().expect("a folder");
    clears(&|arguments| json_of(folder.path(), arguments));
    let told = refused(folder.path(), &["epic", "list", "--assignee", "null"], 2);
    assert!(told.contains("there is no user"), "a filter went away: {told}");
    let help = spexus(folder.path(), &["epic", "update", "--help"], "");
    assert!(String::from_utf8_lossy(&help.stdout).contains("The value null clears a field"));
    on_every_store(|backend: &Backend| {
        let on = ["--server", &backend.url, "--token", &backend.token];
        clears(&|arguments| json_of(folder.path(), &[arguments, &on].concat()));
    });
}

#[track_caller]
fn clears(run: &dyn Fn(&[&str]) -> Value) {
    let made = ["epic", "create", "--title", "One", "--priority", "1", "--description", "Some text"];
    run(&[&made[..], &["--assignee-id", "admin"]].concat());
    let changed = run(&["epic", "update", "EP-1", "--description", "null"]);
    assert_eq!((&changed["description"], &changed["assignee"]), (&Value::Null, &json!("admin")));
    let changed = run(&["epic", "update", "EP-1", "--description", "\"null\"", "--assignee-id", "null"]);
    assert_eq!((&changed["description"], &changed["assignee"]), (&json!("null"), &Value::Null));
    // A title cannot be empty, so there is nothing to clear.
    assert_eq!(run(&["epic", "update", "EP-1", "--title", "null"])["title"], "null");
}

#[test]
fn refused_content_is_not_wrong_usage() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    let write = |name: &str, text: &str| std::fs::write(path.join(name), text).expect("a file");
    write("bad.csv", "kind,title,priority\nepic,,2\nepic,Fine,9\n");
    let told = refused(path, &["import", "bad.csv"], 1);
    assert!(told.contains("title") && told.contains("priority"), "{told}");
    let tried = spexus(path, &["import", "bad.csv", "--dry-run"], "");
    let text = String::from_utf8_lossy(&tried.stdout).into_owned();
    assert_eq!(tried.status.code(), Some(1), "{text}");
    assert!(text.contains("title") && text.contains("priority"), "{text}");
    refused(path, &["import", "bad.csv", "--format", "xls"], 2);
    refused(path, &["import", "none.csv"], 2);
    write("good.csv", "kind,title,priority\nepic,Fine,2\n");
    json_of(path, &["import", "good.csv", "--dry-run"]);
}

#[test]
fn help_offers_what_a_command_takes() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    let help = |words: &[&str]| {
        let output = spexus(path, &[words, &["--help"]].concat(), "");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let disable = help(&["user", "disable"]);
    assert!(disable.starts_with("Disable a user.") && disable.contains("--expected-version"), "{disable}");
    assert!(!disable.contains("--role") && !disable.contains("--password"), "{disable}");
    refused(path, &["user", "disable", "admin", "--role", "User"], 2);
    let epics = help(&["epic", "list"]);
    assert!(epics.contains("--status") && !epics.contains("--user-story-id"), "{epics}");
    refused(path, &["epic", "list", "--type", "x"], 2);
    let told = refused(path, &["list", "epic", "--type", "x"], 2);
    assert!(told.contains("type: is not a filter for an epic"), "{told}");
    let criterion = help(&["acceptance-criteria", "create"]);
    assert!(criterion.contains("<DESCRIPTION|--description-file <FILE>>"), "{criterion}");
    let comment = help(&["comment", "add"]);
    assert!(comment.contains("add [OPTIONS] <REFERENCE> <CONTENT|--content-file <FILE>>"), "{comment}");
    assert!(help(&["token", "create"]).contains("[alias: --scope]"));
    let groups: HashSet<&str> = ops::OPERATIONS
        .iter()
        .flat_map(|entry| entry.commands)
        .filter_map(|command| command.words.split_once(' ').map(|(group, _)| group))
        .collect();
    for group in groups {
        let text = help(&[group]);
        assert!(!text.starts_with("Usage") && !text.trim_start().starts_with("Usage"), "{group}: {text}");
    }
}

#[test]
fn comments_come_from_files_and_standard_input() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    json_of(path, &["epic", "create", "--title", "One", "--priority", "1"]);
    std::fs::write(path.join("text.md"), "From a file").expect("a file");
    json_of(path, &["comment", "add", "EP-1", "Typed"]);
    json_of(path, &["comment", "add", "EP-1", "--content-file", "text.md"]);
    let piped = spexus(path, &["comment", "add", "EP-1", "--content-file", "-"], "From a pipe");
    assert!(piped.status.success(), "{}", String::from_utf8_lossy(&piped.stderr));
    let comments = json_of(path, &["comment", "list", "EP-1"]);
    let texts: Vec<&Value> =
        comments["data"].as_array().expect("a list").iter().map(|comment| &comment["content"]).collect();
    assert_eq!(texts, ["Typed", "From a file", "From a pipe"]);
    refused(path, &["comment", "add", "EP-1"], 2);
    refused(path, &["comment", "add", "EP-1", "Typed", "--content-file", "text.md"], 2);
}

#[test]
fn tokens_are_known_by_their_names() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    json_of(path, &["user", "create", "ann", "--email", "ann@example.org", "--role", "User"]);
    json_of(path, &["token", "create", "ci", "--user", "ann"]);
    json_of(path, &["token", "create", "ci"]);
    let names = |arguments: &[&str]| {
        let listed = json_of(path, &[&["token", "list"], arguments].concat());
        let tokens = listed["data"].as_array().expect("a list").iter();
        let names = tokens
            .map(|token| format!("{} {}", token["user"].as_str().unwrap(), token["name"].as_str().unwrap()));
        names.filter(|name| name.ends_with("ci")).collect::<Vec<_>>()
    };
    assert_eq!(names(&["--all"]), ["admin ci", "ann ci"]);
    let told = refused(path, &["token", "list", "--all", "--as", "ann"], 1);
    assert!(told.contains("only administrators"), "{told}");
    refused(path, &["token", "list", "--all", "--user", "ann"], 2);
    let told = refused(path, &["token", "revoke", "cj", "--user", "ann"], 1);
    assert_eq!(told.trim(), "ann has no token \"cj\"; expected the id of a token or the name of one");
    assert_eq!(json_of(path, &["token", "show", "ci", "--user", "ann"])["user"], "ann");
    json_of(path, &["token", "revoke", "ci", "--user", "ann"]);
    assert_eq!(names(&["--all"]), ["admin ci"]);
    assert_eq!(json_of(path, &["token", "update", "ci", "--name", "other"])["name"], "other");
    json_of(path, &["token", "revoke", "other"]);
    assert!(names(&["--all"]).is_empty());
    on_every_store(|backend: &Backend| {
        let on = |arguments: &[&str]| {
            json_of(path, &[arguments, &["--server", &backend.url, "--token", &backend.token]].concat())
        };
        on(&["token", "create", "ci/2 of 3"]);
        let n_tokens = on(&["token", "list", "--all"])["total_count"].as_i64();
        on(&["token", "revoke", "ci/2 of 3", "--user", "admin"]);
        let left = on(&["token", "list", "--all"])["total_count"].as_i64();
        assert_eq!(left.map(|left| left + 1), n_tokens);
    });
}

#[test]
fn what_was_deleted_comes_back_with_the_command_that_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    json_of(path, &["epic", "create", "--title", "One", "--priority", "1"]);
    json_of(path, &["epic", "delete", "EP-1"]);
    let told = refused(path, &["show", "EP-1"], 1);
    assert!(told.contains("spexus epic restore EP-001 brings it back"), "{told}");
    assert_eq!(json_of(path, &["epic", "restore", "EP-001"])["title"], "One");
    assert_eq!(json_of(path, &["epic", "history", "EP-001"])["total_count"], 3);
}

const OPERATIONS: &str = r#"[
    {"operation": "create_epic", "arguments": {"title": "Fine", "priority": 1}},
    {"operation": "create_epic", "arguments": {"title": "Wrong", "priority": 9}}
]"#;

#[test]
fn lists_of_operations_come_from_files_and_say_why_they_fail() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    std::fs::write(path.join("operations.json"), OPERATIONS).expect("a file");
    for (given, input) in [("@operations.json", ""), ("-", OPERATIONS), (OPERATIONS, "")] {
        let tried = spexus(path, &["bulk", "--operations", given, "--dry-run"], input);
        let text = String::from_utf8_lossy(&tried.stdout).into_owned();
        assert_eq!(tried.status.code(), Some(1), "{given}: {text}");
        let reason = "operations[1]: priority: expected a whole number from 1 to 4, found 9";
        assert!(text.contains(reason), "{given}: {text}");
    }
    let told = refused(path, &["bulk", "--operations", "@operations.json"], 1);
    assert!(told.contains("operations[1]: priority"), "{told}");
    let told = refused(path, &["bulk", "--operations", "operations.json"], 2);
    assert!(told.contains("--operations (from the command line): expected JSON, @FILE or -"), "{told}");
    assert!(told.contains("did you mean the file, @operations.json?"), "{told}");
    let told = refused(path, &["bulk", "--operations", "@none.json"], 2);
    assert!(told.contains("none.json"), "{told}");
    let good = r#"[{"operation": "create_epic", "arguments": {"title": "Fine", "priority": 1}}]"#;
    std::fs::write(path.join("good.json"), good).expect("a file");
    assert_eq!(json_of(path, &["bulk", "--operations", "@good.json", "--dry-run"])["failed"], 0);
    assert_eq!(
        json_of(path, &["bulk", "--operations", "@good.json"])["results"][0]["answer"]["title"],
        "Fine"
    );
    let help = spexus(path, &["bulk", "--help"], "");
    assert!(String::from_utf8_lossy(&help.stdout).contains("As JSON; @FILE reads it from a file"));
}
