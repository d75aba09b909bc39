//! Terminal sessions as data: what somebody types, and what is printed. `UPDATE_EXPECT=1` writes the files anew.
//!
//! Lines with `$` are run by a shell in a folder and a home of their own; below each is what it printed on both streams, and its exit
//! status in brackets unless that is 0. Comments begin with `#:`. Ids, times, secrets and
//! folders have marks in their place. A file that begins with `#: server` has
//! a server at `$SERVER`, whose administrator's token is in `$TOKEN`.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::backend::Backend;

/// Where the sessions are.
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/sessions");

macro_rules! sessions {
    ($($name:ident)*) => {
        $(#[test] fn $name() { play(stringify!($name)); })*

        #[test]
        fn every_session_is_played() {
            let mut known = [$(concat!(stringify!($name), ".txt")),*].map(str::to_owned);
            let mut found: Vec<String> = fs::read_dir(FOLDER)
                .expect("the sessions can be listed")
                .map(|file| file.expect("a file").file_name().to_string_lossy().into_owned())
                .collect();
            known.sort();
            found.sort();
            assert_eq!(found, known);
        }
    };
}

sessions! { first_day edit conflict links several login agent }

fn play(name: &str) {
    let path = Path::new(FOLDER).join(format!("{name}.txt"));
    let expected = fs::read_to_string(&path).expect("the session can be read");
    let folder = tempfile::tempdir().expect("a folder");
    let work = folder.path().join("work");
    fs::create_dir(&work).expect("a folder");
    let backend = expected
        .starts_with("#: server")
        .then(|| Backend::start(&format!("sqlite:{}", folder.path().join("server.db").display()), &[]));
    let mut found = String::new();
    for line in expected.lines() {
        if let Some(typed) = line.strip_prefix("$ ") {
            found.push_str(&format!("{line}\n"));
            found.push_str(&printed(typed, folder.path(), &work, backend.as_ref()));
        } else if line.starts_with("#:") {
            found.push_str(&format!("{line}\n"));
        }
    }
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(&path, &found).expect("the session can be written");
    } else {
        assert!(found == expected, "{name}:\n{}", difference(&expected, &found));
    }
}

/// What a line prints, with marks in place of what differs from run to run.
fn printed(typed: &str, folder: &Path, work: &Path, backend: Option<&Backend>) -> String {
    let programs = Path::new(env!("CARGO_BIN_EXE_spexus")).parent().expect("a folder");
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap_or_default());
    let mut command = Command::new("sh");
    command.args(["-c", &format!("exec 2>&1; {typed}")]).current_dir(work).stdin(Stdio::null());
    command.env_clear().env("HOME", folder).env("PATH", path);
    if let Some(backend) = backend {
        command.env("SERVER", &backend.url).env("TOKEN", &backend.token);
    }
    let output = command.output().expect("a shell");
    let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
    if let Some(backend) = backend {
        text = text.replace(&backend.url, "http://server");
    }
    text = text
        .replace(&folder.display().to_string(), "~")
        .replace(&programs.display().to_string(), "<programs>");
    let mut marked: String = text.lines().map(|line| format!("{}\n", marked(line).trim_end())).collect();
    if let Some(code) = output.status.code().filter(|code| *code != 0) {
        marked.push_str(&format!("[{code}]\n"));
    }
    marked
}

/// A line with marks in place of ids, times, secrets and names of temporary files.
fn marked(line: &str) -> String {
    let words: Vec<String> = line.split(' ').map(word).collect();
    words.join(" ").replace("<day> <minute> UTC", "<time>")
}

fn word(word: &str) -> String {
    let core = word.trim_matches(|c: char| matches!(c, '(' | ')' | ',' | '.' | ';' | '"'));
    let shape: String = core.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    let is_id = core.len() == 36 && core.split('-').map(str::len).eq([8, 4, 4, 4, 12]);
    let mark = match shape.as_str() {
        _ if is_id => "<id>",
        "0000-00-00" => "<day>",
        "00:00" => "<minute>",
        _ if shape.starts_with("0000-00-00T00:00") => "<time>",
        _ if core.starts_with("mcp_pat_") => "<token>",
        _ if core.contains("spexus-edit-") => "<draft>",
        _ => return word.to_owned(),
    };
    word.replace(core, mark)
}

/// The first lines that differ.
fn difference(expected: &str, found: &str) -> String {
    let both = expected.lines().zip(found.lines()).position(|(expected, found)| expected != found);
    let first = both.unwrap_or_else(|| expected.lines().count().min(found.lines().count()));
    let from = |text: &str| text.lines().skip(first).take(12).collect::<Vec<_>>().join("\n");
    format!("line {}, expected:\n{}\n\nfound:\n{}\n", first + 1, from(expected), from(found))
}
