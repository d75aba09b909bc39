//! What people read in the terminal: lists with the columns that matter, and the doctor.

use std::path::Path;
use std::process::{Command, Stdio};

use expect_test::expect;

use crate::spexus_cli::{json_of, refused, spexus};

#[test]
fn a_history_says_what_changed_and_through_which_surface() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    json_of(path, &["epic", "create", "--title", "One", "--priority", "1"]);
    json_of(path, &["epic", "update", "EP-001", "--title", "Two", "--priority", "3"]);
    let text = printed(path, &["history", "EP-001"]);
    let newest: Vec<&str> = text.lines().take(3).collect();
    assert!(newest[0].starts_with("version 2") && newest[0].contains("admin via cli"), "{text}");
    assert_eq!(newest[1..], ["  title     [-One-]{+Two+}", "  priority  critical → medium"]);
}

#[test]
fn users_are_listed_with_who_is_kept_out() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    json_of(path, &["user", "create", "ann", "--email", "ann@example.org", "--role", "User"]);
    json_of(path, &["user", "disable", "ann"]);
    let text = printed(path, &["user", "list"]);
    assert!(text.lines().next().is_some_and(|head| head.contains("DISABLED")), "{text}");
    let row = |name: &str| text.lines().find(|line| line.starts_with(name)).expect("a row");
    assert!(row("ann").contains("true") && row("admin").contains("false"), "{text}");
}

#[test]
fn tokens_are_listed_with_owner_and_end() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    json_of(path, &["user", "create", "ann", "--email", "ann@example.org", "--role", "User"]);
    let made = printed(path, &["token", "create", "lasting", "--user", "ann", "--scopes", "read,comment"]);
    assert!(made.contains("\nscopes      read, comment\nexpires_at  never\n"), "{made}");
    let text = printed(path, &["token", "list", "--user", "ann"]);
    let row =
        |text: &str, name: &str| text.lines().find(|line| line.contains(name)).expect("a row").to_owned();
    assert!(row(&text, "lasting").contains("never"), "{text}");
    assert!(row(&text, "lasting").contains(" ann "), "{text}");
    let brief = json_of(path, &["token", "create", "brief", "--user", "ann", "--expires-in", "30d"]);
    let end = brief["expires_at"].as_str().expect("an end");
    let text = printed(path, &["token", "list", "--user", "ann"]);
    assert!(row(&text, "brief").contains(end), "{text}");
}

#[test]
fn columns_stand_below_each_other_in_any_script_and_cells_are_cut_between_characters() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    let family = "👩‍👩‍👧‍👦";
    for title in ["Plain", "要件管理", "Ёлка", &family.repeat(9)] {
        json_of(path, &["epic", "create", "--title", title, "--priority", "1"]);
    }
    expect![[r#"
        REFERENCE ID  TITLE              STATUS   PRIORITY  ASSIGNEE  VERSION  CREATED AT
        EP-001        Plain              Backlog  critical  admin     1
        EP-002        要件管理           Backlog  critical  admin     1
        EP-003        Ёлка               Backlog  critical  admin     1
        EP-004        👩‍👩‍👧‍👦👩‍👩‍👧‍👦👩‍👩‍👧‍👦👩‍👩‍👧‍👦👩‍👩‍👧‍👦👩‍👩‍👧‍👦👩‍👩‍👧‍👦👩‍👩‍👧‍👦…  Backlog  critical  admin     1
    "#]]
    .assert_eq(&without_times(&printed(path, &["epic", "list", "--sort", "number"])));
}

fn without_times(text: &str) -> String {
    text.lines()
        .map(|line| line.split("  20").next().unwrap_or_default().trim_end().to_owned() + "\n")
        .collect()
}

/// `script` gives the command a terminal.
#[test]
#[cfg(target_os = "linux")]
fn a_table_fits_the_terminal_and_is_whole_in_a_pipe() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    let title = "A title that is rather long for a narrow terminal";
    json_of(path, &["epic", "create", "--title", title, "--priority", "1"]);
    assert!(printed(path, &["epic", "list"]).contains(title));
    let line = format!("stty rows 24 cols 90; {} epic list", env!("CARGO_BIN_EXE_spexus"));
    let mut command = Command::new("script");
    command.args(["--quiet", "--return", "--command", &line, "/dev/null"]);
    command.current_dir(path).env("HOME", path).env("XDG_DATA_HOME", path).stdin(Stdio::null());
    let Ok(output) = command.output() else { return };
    let text = String::from_utf8_lossy(&output.stdout);
    let widest = text.lines().map(|line| line.trim_end().chars().count()).max();
    assert!(widest.is_some_and(|widest| (80..=90).contains(&widest)), "{text}");
    // What matters least makes room for the title.
    assert!(text.contains("A title that is rather long for a nar…") && text.contains("EP-001"), "{text}");
    assert!(!text.contains("CREATED AT") && text.contains("ASSIGNEE"), "{text}");
}

#[test]
fn lists_have_the_columns_that_matter() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    json_of(path, &["epic", "create", "--title", "One", "--priority", "1"]);
    json_of(path, &["user-story", "create", "--title", "Two", "--priority", "1", "--epic-id", "EP-1"]);
    let criterion = ["acceptance-criteria", "create", "--user-story-id", "US-1", "--description"];
    json_of(path, &[&criterion[..], &["A receipt is sent"]].concat());
    json_of(path, &["comment", "add", "EP-1", "A remark"]);
    let heads = |arguments: &[&str]| printed(path, arguments).lines().next().unwrap_or_default().to_owned();
    for (arguments, expected) in [
        (&["acceptance-criteria", "list"][..], &["DESCRIPTION", "USER STORY"][..]),
        (&["list", "acceptance_criteria"], &["DESCRIPTION", "USER STORY"]),
        (&["audit"], &["EVENT", "ENTITY KIND", "REFERENCE ID", "NAME"]),
        (&["prompt", "list"], &["ACTIVE"]),
        (&["comment", "list"], &["ENTITY", "CONTENT", "RESOLVED"]),
        (&["relationship-type", "list"], &["INVERSE NAME"]),
        (&["token", "list"], &["PREFIX", "USER", "LAST USED AT"]),
    ] {
        let head = heads(arguments);
        assert!(expected.iter().all(|name| head.contains(name)), "{arguments:?}: {head}");
    }
    assert!(!heads(&["token", "list"]).contains("VERSION"));
    let models = printed(path, &["status-model", "list"]);
    assert!(models.contains("Backlog, Draft, In Progress, Done, Cancelled"), "{models}");
    let found = printed(path, &["search", "remark"]);
    assert!(found.contains("EP-001        comment") && !found.contains("reference_id"), "{found}");
}

#[test]
fn what_is_within_an_answer_is_no_json() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    json_of(path, &["epic", "create", "--title", "One", "--priority", "1"]);
    json_of(path, &["user-story", "create", "--title", "Two", "--priority", "1", "--epic-id", "EP-1"]);
    std::fs::write(path.join("epics.csv"), "kind,title,priority\nepic,From a sheet,2\n").expect("a file");
    let operations = r#"[{"operation": "create_epic", "arguments": {"title": "Fine", "priority": 1}}]"#;
    for (arguments, expected) in [
        (&["report", "hierarchy"][..], "stories without criteria: 1\n  REFERENCE ID"),
        (&["delete", "EP-1", "--dry-run"], "with_it       user stories 1, "),
        (&["impact", "EP-1"], "counts         user story 1\n"),
        (&["bulk", "--operations", operations], "EP-002 Fine (Backlog, critical)\n"),
        (&["import", "epics.csv"], "left_out       0\nrows\n"),
        (&["auth", "me"], "role      Administrator"),
    ] {
        let text = printed(path, arguments);
        assert!(text.contains(expected) && !text.contains(['{', '"']), "{arguments:?}: {text}");
    }
}

#[test]
fn a_doctor_says_which_versions_there_are() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    json_of(path, &["epic", "list"]);
    let text = printed(path, &["doctor"]);
    for expected in [concat!("spexus ", env!("CARGO_PKG_VERSION")), "SQLite 3.", "migrations are there"] {
        assert!(text.contains(expected), "{expected} is not in {text}");
    }
    let Some(server) = private_postgres::Server::shared() else { return };
    let database = server.database();
    json_of(path, &["migrate", "--database", database.url()]);
    json_of(path, &["epic", "list", "--database", database.url()]);
    let text = printed(path, &["doctor", "--database", database.url()]);
    assert!(text.contains("PostgreSQL 1"), "{text}");
}

#[test]
fn a_doctor_looks_at_no_other_store_than_the_one_that_was_meant() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    json_of(path, &["epic", "list"]);
    let output = spexus(path, &["doctor", "--database", "mysql://x"], "");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("expected sqlite:PATH or postgres://") && !text.contains("SQLite"), "{text}");
    assert!(refused(path, &["doctor", "--config", "none.toml"], 1).is_empty());
}

#[test]
fn a_doctor_tells_a_file_that_is_no_store_from_one_that_cannot_be_made() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    std::fs::write(path.join("text.db"), "This is no database.").expect("a file");
    for (database, expected) in [
        ("sqlite:text.db", "name the store's file with --database"),
        ("sqlite:text.db/below/one.db", "name a file in a folder that you may write to"),
        ("sqlite:/proc/none/one.db", "name a file in a folder that you may write to"),
    ] {
        let output = spexus(path, &["doctor", "--database", database], "");
        let text = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(1), "{text}");
        assert!(text.contains(expected), "{database}: {text}");
    }
    let told = refused(path, &["user", "create", "ann", "--email", "a@b.c", "--role", "Chief"], 2);
    assert_eq!(
        told.lines().last(),
        Some("role: expected one of Commenter, User, Administrator, found \"Chief\"")
    );
}

#[track_caller]
fn printed(folder: &Path, arguments: &[&str]) -> String {
    let output = spexus(folder, arguments, "");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {told}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}
