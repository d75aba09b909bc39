//! What the command line writes and reads at its edges: a full disk, a closed pipe, passwords, and the code it ends with.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use crate::spexus_cli::{json_of, refused, spexus};

/// What can be printed, and what is done although the answer is lost.
const PRINTING: &[&[&str]] = &[
    &["epic", "list"],
    &["show", "EP-001"],
    &["search", "one", "--json"],
    &["export", "--format", "json"],
    &["backup", "one.db"],
    &["doctor"],
    &["doctor", "--json"],
    &["migrate"],
    &["completions", "bash"],
    &["--help"],
    &["epic", "create", "--help"],
    &["token", "create", "lost"],
];

#[test]
#[cfg(target_os = "linux")]
fn what_cannot_be_printed_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    json_of(path, &["epic", "create", "--title", "One", "--priority", "1"]);
    for arguments in PRINTING {
        let full = File::options().write(true).open("/dev/full").expect("a full disk");
        let output = printing(path, arguments, full.into());
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {told}");
        assert!(told.contains("standard output cannot be written: No space left"), "{arguments:?}: {told}");
        assert_eq!(
            told.contains("the change was made, but its output could not be written"),
            arguments[0] == "token",
            "{told}"
        );
    }
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    json_of(path, &["epic", "create", "--title", "One", "--priority", "1"]);
    for arguments in PRINTING {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let output = printing(path, arguments, writer.into());
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), &*told), (Some(0), ""), "{arguments:?}");
    }
}

fn printing(folder: &Path, arguments: &[&str], to: Stdio) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_spexus"));
    command.args(arguments).current_dir(folder).env_clear().env("HOME", folder).env("XDG_DATA_HOME", folder);
    command.stdin(Stdio::null()).stdout(to).stderr(Stdio::piped());
    command.spawn().and_then(|child| child.wait_with_output()).expect("it runs")
}

#[test]
fn a_server_on_every_address_asks_for_the_one_that_others_use() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    for (arguments, is_asked) in [(&[][..], true), (&["--public-url", "https://spexus.example.org"], false)] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_spexus"));
        command.args(["serve", "--listen", "0.0.0.0:0"]).args(arguments).current_dir(path).env_clear();
        command.env("HOME", path).env("XDG_DATA_HOME", path).stdin(Stdio::null());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it runs");
        let mut said = String::new();
        let mut lines = BufReader::new(child.stdout.take().expect("piped"));
        while !said.contains("Stop it with Ctrl-C") {
            assert_ne!(lines.read_line(&mut said).expect("a line"), 0, "{said}");
        }
        child.kill().and_then(|()| child.wait()).expect("it ends");
        assert_eq!(said.contains("--public-url"), is_asked, "{said}");
    }
}

#[test]
fn each_password_is_a_line_of_standard_input() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    let ann = ["user", "create", "ann", "--email", "ann@example.org", "--role", "User", "--password-stdin"];
    let made = spexus(path, &ann, "correct horse\nand more\n");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let both = ["auth", "change-password", "--current-password-stdin", "--new-password-stdin", "--as", "ann"];
    for (input, code, expected) in [
        ("correct horse\nbattery staple\n", 0, ""),
        ("correct horse\nbattery staple\n", 2, "current_password: is not the present password"),
        ("battery staple\n", 2, "--new-password-stdin: expected a line on standard input, which has ended"),
    ] {
        let changed = spexus(path, &both, input);
        let told = String::from_utf8_lossy(&changed.stderr);
        assert_eq!(changed.status.code(), Some(code), "{told}");
        assert!(told.contains(expected), "{told}");
    }
}

/// `script` gives the command a terminal, and hands on what is typed.
#[test]
#[cfg(target_os = "linux")]
fn a_password_that_is_typed_is_not_shown() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    json_of(path, &["epic", "list"]);
    let line = format!(
        "{} user create ann --email ann@example.org --role User --password-stdin",
        env!("CARGO_BIN_EXE_spexus")
    );
    let mut command = Command::new("script");
    command.args(["--quiet", "--return", "--echo", "always", "--command", &line, "/dev/null"]);
    command.current_dir(path).env("HOME", path).env("XDG_DATA_HOME", path);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let Ok(mut child) = command.spawn() else { return };
    let (mut typed, mut screen) = (child.stdin.take().expect("piped"), child.stdout.take().expect("piped"));
    let mut shown = Vec::new();
    while !shown.ends_with(b"Password: ") {
        let mut byte = [0];
        screen.read_exact(&mut byte).expect("a question");
        shown.extend(byte);
    }
    // It is asked before the terminal is told to be silent.
    std::thread::sleep(Duration::from_secs(2));
    typed.write_all(b"correct horse\n").expect("it reads");
    screen.read_to_end(&mut shown).expect("it ends");
    let shown = String::from_utf8_lossy(&shown);
    assert!(child.wait().expect("it ends").success(), "{shown}");
    assert!(shown.contains("ann@example.org") && !shown.contains("horse"), "{shown}");
    assert_eq!(json_of(path, &["user", "show", "ann"])["role"], "User");
}

#[test]
fn arguments_that_make_no_sense_and_files_that_cannot_be_read_are_wrong_usage() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    json_of(path, &["epic", "list"]);
    std::fs::write(path.join("text.db"), "This is no database, but a text that is long enough.")
        .expect("a file");
    for (arguments, expected) in [
        (
            &["epic", "list", "--priority", "hihg"][..],
            "priority: expected critical, high, medium, low, or 1 to 4, found \"hihg\"; did you mean high?",
        ),
        (&["token", "create", "x", "--scope", "foo"], "scopes[0]: expected one of read"),
        (&["restore", "none.db"], "none.db: No such file"),
        (&["restore", "EP-001"], "spexus epic restore EP-001"),
        (&["restore", "text.db"], "text.db: the file is not a SQLite database"),
        (&["backup", "-"], "give the name of one"),
        (&["epic", "list", "--database", "sqlite:text.db"], "not a SQLite database"),
        (&["migrate", "--database", "sqlite:text.db"], "not a SQLite database"),
        (&["migrate", "--check", "--database", "sqlite:text.db"], "not a SQLite database"),
        (&["backup", "copy.db", "--database", "sqlite:text.db"], "not a SQLite database"),
    ] {
        let told = refused(path, arguments, 2);
        assert!(told.contains(expected), "{arguments:?}: {told}");
    }
    refused(
        path,
        &["bulk", "--operations", r#"[{"operation": "create_epic", "arguments": {"priority": 9}}]"#],
        1,
    );
}
