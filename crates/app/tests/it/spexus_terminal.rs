//! What people read in the terminal: lists with the columns that matter, and the doctor.

use std::path::Path;

use expect_test::expect;

use crate::spexus_cli::{json_of, refused, spexus};

#[test]
fn a_history_says_what_changed_and_through_which_surface() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    json_of(path, &["epic", "create", "--title", "One", "--priority", "1"]);
    json_of(path, &["epic", "update", "EP-001", "--title", "Two", "--priority", "3"]);
    let text = printed(path, &["history", "EP-001"]);
    let (head, newest) = (text.lines().next().expect("a head"), text.lines().nth(1).expect("a row"));
    assert!(head.contains("VIA") && head.contains("CHANGES"), "{text}");
    assert!(newest.contains("cli") && newest.contains("title") && newest.contains("priority"), "{text}");
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
        REFERENCE ID  TITLE              KIND  STATUS   PRIORITY  ASSIGNEE  VERSION  CREATED AT
        EP-001        Plain              epic  Backlog  1         admin     1
        EP-002        要件管理           epic  Backlog  1         admin     1
        EP-003        Ёлка               epic  Backlog  1         admin     1
        EP-004        👩‍👩‍👧‍👦👩‍👩‍👧‍👦👩‍👩‍👧‍👦👩‍👩‍👧‍👦👩‍👩‍👧‍👦👩‍👩‍👧‍👦👩‍👩‍👧‍👦👩‍👩‍👧‍👦…  epic  Backlog  1         admin     1
    "#]]
    .assert_eq(&without_times(&printed(path, &["epic", "list", "--sort", "number"])));
}

fn without_times(text: &str) -> String {
    text.lines()
        .map(|line| line.split("  20").next().unwrap_or_default().trim_end().to_owned() + "\n")
        .collect()
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

#[track_caller]
fn printed(folder: &Path, arguments: &[&str]) -> String {
    let output = spexus(folder, arguments, "");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {told}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}
