//! The program `spexus` on the command line: on the local store and on a server.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use crate::backend::{Backend, on_every_store, on_sqlite, send};

/// Runs `spexus` in a folder with its own data.
pub fn spexus(folder: &Path, arguments: &[&str], input: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_spexus"));
    command.args(arguments).current_dir(folder).env_clear().env("HOME", folder).env("XDG_DATA_HOME", folder);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it runs");
    child.stdin.take().expect("piped").write_all(input.as_bytes()).expect("it reads");
    child.wait_with_output().expect("it ends")
}

#[track_caller]
pub fn json_of(folder: &Path, arguments: &[&str]) -> Value {
    let output = spexus(folder, &[arguments, &["--json"]].concat(), "");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{arguments:?}: {text}{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{arguments:?}: {error}: {text}"))
}

#[track_caller]
pub fn refused(folder: &Path, arguments: &[&str], code: i32) -> String {
    let output = spexus(folder, arguments, "");
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(
        output.status.code(),
        Some(code),
        "{arguments:?}: {told}{}",
        String::from_utf8_lossy(&output.stdout)
    );
    told
}

#[test]
fn a_newcomer_begins_in_an_empty_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    let first = spexus(folder.path(), &["epic", "create", "--title", "Checkout", "--priority", "2"], "");
    let told = String::from_utf8_lossy(&first.stderr);
    assert!(first.status.success(), "{told}");
    assert!(told.contains("A new store is at") && told.contains("mcp_pat_"), "{told}");
    assert!(String::from_utf8_lossy(&first.stdout).contains("EP-001"));
    let list = spexus(folder.path(), &["epic", "list"], "");
    let text = String::from_utf8_lossy(&list.stdout).into_owned();
    assert!(text.starts_with("REFERENCE ID") && text.contains("EP-001        Checkout"), "{text}");
    assert!(list.stderr.is_empty(), "{}", String::from_utf8_lossy(&list.stderr));
    let shown = json_of(folder.path(), &["show", "ep-1"]);
    assert_eq!((&shown["title"], &shown["creator"]), (&json!("Checkout"), &json!("admin")));
    let history = json_of(folder.path(), &["history", "EP-001"]);
    assert_eq!(history["data"][0]["via"], "cli");
}

#[test]
fn exit_codes_and_messages_say_what_is_wrong() {
    let folder = tempfile::tempdir().expect("a folder");
    json_of(folder.path(), &["epic", "create", "--title", "One", "--priority", "1"]);
    let told = refused(folder.path(), &["show", "EP-9"], 1);
    assert_eq!(told.trim(), "there is no epic EP-009; the last one is EP-001");
    let told = refused(folder.path(), &["epic", "create", "--title", "x", "--priority", "9"], 2);
    assert_eq!(told.trim(), "priority: expected a whole number from 1 to 4, found 9");
    let told = refused(folder.path(), &["epic", "create"], 2);
    assert!(told.contains("<TITLE>"), "{told}");
    let told = refused(folder.path(), &["epic", "crate"], 2);
    assert!(told.contains("create"), "the nearest command is not named: {told}");
    let told = refused(folder.path(), &["epic", "list", "--database", "mysql://x"], 2);
    assert!(
        told.contains("--database (from the command line): expected sqlite:PATH or postgres://"),
        "{told}"
    );
    let told = refused(folder.path(), &["epic", "list", "--as", "nobody"], 1);
    assert_eq!(told.trim(), "there is no user nobody");
    let output = spexus(folder.path(), &["show", "EP-9", "--json"], "");
    let error: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(error["error"]["code"], "NOT_FOUND");
}

#[test]
fn settings_come_from_flags_the_environment_and_a_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |text: &str| std::fs::write(folder.path().join("spexus.toml"), text).expect("a file");
    write("database = \"sqlite:from-file.db\"\nlisten = \"127.0.0.1:9\"\nlog_level = \"warn\"\n");
    json_of(folder.path(), &["migrate", "--config", "spexus.toml"]);
    assert!(folder.path().join("from-file.db").exists());
    json_of(folder.path(), &["migrate", "--config", "spexus.toml", "--database", "sqlite:from-flag.db"]);
    assert!(folder.path().join("from-flag.db").exists());
    write("databse = \"x.db\"\nlisten = \"nowhere\"\nrate_limit = \"often\"\n");
    let told = refused(folder.path(), &["serve", "--config", "spexus.toml"], 2);
    for expected in [
        "databse (from spexus.toml): is not a setting; did you mean database?",
        "listen (from spexus.toml): expected an address and a port such as 127.0.0.1:8080, found \"nowhere\"",
        "rate_limit (from spexus.toml): expected a whole number, found \"often\"",
    ] {
        assert!(told.contains(expected), "{expected} is not in {told}");
    }
}

#[test]
fn users_and_tokens_are_made_on_the_store_directly() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    let arguments = [
        "user",
        "create",
        "ann",
        "--email",
        "ann@example.org",
        "--role",
        "User",
        "--password-stdin",
        "--json",
    ];
    let made = spexus(path, &arguments, "correct horse\n");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let token =
        json_of(path, &["token", "create", "ci", "--user", "ann", "--scope", "read", "--expires-in", "30d"]);
    assert!(token["token"].as_str().is_some_and(|secret| secret.starts_with("mcp_pat_")), "{token}");
    assert!(token["id"].is_string() && token["expires_at"].is_string(), "{token}");
    let listed = json_of(path, &["token", "list", "--user", "ann"]);
    assert_eq!(listed["data"][0]["name"], "ci");
    json_of(path, &["epic", "create", "--title", "Ann's", "--priority", "1", "--as", "ann"]);
    assert_eq!(json_of(path, &["show", "EP-001"])["creator"], "ann");
    let told = refused(path, &["user", "list", "--as", "ann"], 1);
    assert!(told.contains("needs the role Administrator"), "{told}");
    assert_eq!(json_of(path, &["user", "disable", "ann"])["disabled"], true);
    json_of(path, &["token", "revoke", token["id"].as_str().unwrap()]);
    assert_eq!(json_of(path, &["token", "list", "--user", "ann"])["total_count"], 0);
}

#[test]
fn texts_come_from_files_and_standard_input() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("text.md"), "# From a file\n").expect("a file");
    let made = json_of(
        folder.path(),
        &["epic", "create", "--title", "x", "--priority", "1", "--description-file", "text.md"],
    );
    assert_eq!(made["description"], "# From a file\n");
    let arguments = ["epic", "update", "EP-1", "--description-file", "-", "--json"];
    let changed = spexus(folder.path(), &arguments, "From a pipe");
    let changed: Value = serde_json::from_slice(&changed.stdout).expect("JSON");
    assert_eq!(changed["description"], "From a pipe");
}

#[test]
fn the_same_commands_work_on_a_server() {
    on_every_store(|backend: &Backend| {
        let folder = tempfile::tempdir().expect("a folder");
        let on = |arguments: &[&str]| {
            json_of(
                folder.path(),
                &[arguments, &["--server", &backend.url, "--token", &backend.token]].concat(),
            )
        };
        on(&["epic", "create", "--title", "Far away & near?", "--priority", "1"]);
        on(&["user-story", "create", "--epic-id", "EP-001", "--title", "Pay", "--priority", "2"]);
        assert_eq!(on(&["show", "EP-1"])["title"], "Far away & near?");
        assert_eq!(on(&["user-story", "list", "--epic-id", "EP-001"])["total_count"], 1);
        assert_eq!(on(&["list", "epic", "--status", "backlog,draft", "--priority", "1"])["total_count"], 1);
        let gone = on(&["delete", "EP-001", "--force"]);
        assert_eq!(gone["deleted"], true);
        assert_eq!(on(&["restore-entity", "EP-001"])["reference_id"], "EP-001");
        assert_eq!(on(&["history", "US-001"])["total_count"], 3);
        assert_eq!(on(&["doctor"])["ok"], true);
        let told = refused(folder.path(), &["epic", "list", "--server", &backend.url], 1);
        assert_eq!(
            told.trim(),
            format!(
                "a token is required; log in with spexus auth login --server {}, or give one with SPEXUS_TOKEN or --token",
                backend.url
            )
        );
        let told = refused(folder.path(), &["epic", "list", "--server", "http://127.0.0.1:1"], 1);
        assert!(told.contains("does not answer"), "{told}");
        assert!(!folder.path().join("spexus").exists(), "a local store was made");
    });
}

/// A server answers from memory what it has read before, and so must notice what others write.
#[test]
fn what_another_process_writes_is_read_at_once() {
    on_sqlite(&[], &[], |backend, folder| {
        let database = format!("sqlite:{}", folder.join("spexus.db").display());
        let here = |arguments: &[&str]| json_of(folder, &[arguments, &["--database", &database]].concat());
        let made = here(&["token", "create", "reader", "--scope", "read"]);
        let secret = made["token"].as_str().expect("a secret");
        let read = || {
            let request = backend.anonymous("GET", "/epics/EP-001");
            let answer = send(request.bearer_auth(secret));
            (answer.status, answer.json["title"].clone())
        };
        for round in 0..5 {
            let title = format!("Round {round}");
            if round == 0 {
                here(&["epic", "create", "--title", &title, "--priority", "1"]);
            } else {
                here(&["epic", "update", "EP-001", "--title", &title]);
            }
            for _ in 0..10 {
                assert_eq!(read(), (200, json!(title)));
            }
        }
        here(&["token", "revoke", made["id"].as_str().expect("an id")]);
        assert_eq!(read().0, 401);
    });
}

#[test]
fn doctor_migrate_and_completions_help() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    let none_yet = spexus(path, &["doctor"], "");
    assert!(String::from_utf8_lossy(&none_yet.stdout).contains("spexus serve makes it"));
    let told = refused(path, &["migrate", "--check", "--database", "sqlite:new.db"], 1);
    assert_eq!(told.trim(), "sqlite:new.db: there is no store yet; spexus migrate makes it");
    assert!(!path.join("new.db").exists(), "a check made a file");
    assert_eq!(spexus(path, &["migrate", "--database", "sqlite:new.db"], "").status.code(), Some(0));
    assert_eq!(
        spexus(path, &["migrate", "--check", "--database", "sqlite:new.db"], "").status.code(),
        Some(0)
    );
    let ill = spexus(path, &["doctor", "--database", "postgres://nobody@127.0.0.1:1/x"], "");
    assert_eq!(ill.status.code(), Some(1));
    std::fs::write(path.join("text.db"), "this is no database, whatever its name says, and long enough")
        .expect("a file");
    let ill = spexus(path, &["doctor", "--database", "sqlite:text.db"], "");
    assert!(
        String::from_utf8_lossy(&ill.stdout).contains("not a SQLite database"),
        "{}",
        String::from_utf8_lossy(&ill.stdout)
    );
    for shell in ["bash", "zsh", "fish"] {
        let completions = spexus(path, &["completions", shell], "");
        assert!(String::from_utf8_lossy(&completions.stdout).contains("requirement"), "{shell}");
    }
}

#[test]
fn a_store_that_was_named_must_be_there() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    let check = |database: &str, arguments: &[&str]| {
        let told = refused(path, &[arguments, &["--database", database]].concat(), 2);
        let expected =
            format!("there is no store; check the name, or create one: spexus migrate --database {database}");
        assert!(told.contains(&expected), "{told}");
    };
    check("sqlite:typo.db", &["epic", "list"]);
    check("sqlite:typo.db", &["epic", "create", "--title", "One", "--priority", "1"]);
    check("sqlite:folder/typo.db", &["search", "anything"]);
    let text = String::from_utf8_lossy(&spexus(path, &["doctor", "--database", "sqlite:typo.db"], "").stdout)
        .into_owned();
    assert!(text.contains("sqlite:typo.db is not there yet"), "{text}");
    let made: Vec<_> = std::fs::read_dir(path).expect("the folder").collect();
    assert!(made.is_empty(), "{made:?}");
    // A file that somebody else made is not a store either, and stays as it is.
    let foreign = rusqlite::Connection::open(path.join("foreign.db")).expect("a database");
    foreign.execute_batch("create table note (text text)").expect("a table");
    check("sqlite:foreign.db", &["epic", "list"]);
    let count = "select count(*) from sqlite_schema";
    assert_eq!(foreign.query_row(count, [], |row| row.get(0)), Ok(1));
    // Where stores are by default, one is created.
    json_of(path, &["epic", "create", "--title", "One", "--priority", "1"]);
    let Some(server) = private_postgres::Server::shared() else { return };
    let database = server.database();
    let told = refused(path, &["epic", "list", "--database", database.url()], 2);
    assert!(told.contains("there is no store"), "{told}");
    json_of(path, &["migrate", "--database", database.url()]);
    json_of(path, &["epic", "list", "--database", database.url()]);
}

#[test]
fn a_store_moves_by_backup_and_restore() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    let on =
        |database: &str, arguments: &[&str]| json_of(path, &[arguments, &["--database", database]].concat());
    on("sqlite:one.db", &["migrate"]);
    on("sqlite:one.db", &["epic", "create", "--title", "Moves along", "--priority", "1"]);
    on("sqlite:one.db", &["backup", "copy.db"]);
    assert!(refused(path, &["backup", "copy.db", "--database", "sqlite:one.db"], 1).contains("copy.db"));
    on("sqlite:two.db", &["restore", "copy.db"]);
    assert_eq!(on("sqlite:two.db", &["show", "EP-001"])["title"], "Moves along");
    let told = refused(path, &["restore", "copy.db", "--database", "sqlite:one.db"], 1);
    assert!(told.contains("not empty") && told.contains("--replace"), "{told}");
    let Some(server) = private_postgres::Server::shared() else { return };
    let database = server.database();
    on(database.url(), &["restore", "copy.db"]);
    assert_eq!(on(database.url(), &["show", "EP-001"])["title"], "Moves along");
    on(database.url(), &["backup", "back.db"]);
    on("sqlite:one.db", &["restore", "back.db", "--replace"]);
    assert_eq!(on("sqlite:one.db", &["epic", "list"])["total_count"], 1);
}

#[test]
fn files_are_imported_and_exported() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    std::fs::write(path.join("epics.csv"), "kind,title,priority\nepic,From a sheet,2\nepic,Another,3\n")
        .expect("a file");
    let tried = json_of(path, &["import", "epics.csv", "--dry-run"]);
    assert_eq!((&tried["created"], &tried["dry_run"]), (&json!(2), &json!(true)));
    assert_eq!(json_of(path, &["import", "epics.csv"])["created"], 2);
    let exported = spexus(path, &["export", "--format", "markdown"], "");
    assert!(
        String::from_utf8_lossy(&exported.stdout).contains("# From a sheet"),
        "{}",
        String::from_utf8_lossy(&exported.stdout)
    );
    let written = spexus(path, &["export", "--format", "json", "-o", "all.json"], "");
    assert!(written.status.success() && path.join("all.json").exists());
    std::fs::write(path.join("wrong.csv"), "kind,title,priority\nepic,,2\nepic,Fine,9\n").expect("a file");
    let told = refused(path, &["import", "wrong.csv"], 1);
    assert!(told.contains("title") && told.contains("priority"), "{told}");
    assert_eq!(json_of(path, &["epic", "list"])["total_count"], 2);
}

#[test]
fn a_table_of_another_tool_is_mapped_checked_and_imported_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    std::fs::write(
        path.join("list.csv"),
        "What;Prio;Nr\nLinks expire;High;A-1\nLinks work once;Low;A-2\n;High;A-3\n",
    )
    .expect("a file");
    let told = refused(path, &["import", "list.csv"], 1);
    assert!(told.contains("no column is the title") && told.contains("\"What\""), "{told}");
    let map = ["--map", "What=title,Prio=priority", "--scheme", "plan"];
    let tried = spexus(path, &[&["import", "list.csv", "--dry-run"], map.as_slice()].concat(), "");
    let shown = String::from_utf8_lossy(&tried.stdout).into_owned();
    assert_eq!(tried.status.code(), Some(1), "{shown}");
    for expected in ["row 2 (line 2)", "created", "wrong", "What: expected text, found nothing"] {
        assert!(shown.contains(expected), "{expected}: {shown}");
    }
    std::fs::write(path.join("list.tsv"), "What\tPrio\tNr\nLinks expire\tHigh\tA-1\n").expect("a file");
    let import = [&["import", "list.tsv"], map.as_slice()].concat();
    assert_eq!(json_of(path, &import)["created"], 3);
    assert_eq!(json_of(path, &import)["created"], 0);
    let item = String::from_utf8_lossy(&spexus(path, &["show", "REQ-1"], "").stdout).into_owned();
    assert!(item.contains("plan") && item.contains("A-1"), "{item}");
    assert_eq!(json_of(path, &["search", "A-1"])["data"][0]["reference_id"], "REQ-001");
    let reading = spexus(path, &["export", "--format", "markdown", "--for-reading"], "");
    assert!(String::from_utf8_lossy(&reading.stdout).contains("#### REQ-001 Links expire"));
    let table = spexus(path, &["export", "--format", "csv", "--columns", "title,priority"], "");
    assert!(String::from_utf8_lossy(&table.stdout).contains("requirement,Links expire,2"));
}
