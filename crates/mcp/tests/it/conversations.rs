//! Every file of `tests/conversations` is played and compared with what it says.

use std::{fs, path::Path};

use crate::conversation::{play, split};

//@= spexus://REQ-165
//@= type=test
//@# 002 R16.1: tests cover all messages
#[test]
fn conversations_go_as_they_are_written() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conversations");
    let is_updating = std::env::var_os("UPDATE_EXPECT").is_some();
    let mut n_played = 0;
    let mut wrong = Vec::new();
    for entry in fs::read_dir(&folder).expect("the folder is part of the crate") {
        let path = entry.expect("a readable folder").path();
        let file = fs::read_to_string(&path).expect("a readable file");
        let mut played = file.split_once("## ").map_or("", |(head, _)| head).to_owned();
        for (title, lines) in split(&file) {
            n_played += 1;
            played += &format!("## {title}\n{}", play(&lines));
        }
        if is_updating {
            fs::write(&path, &played).expect("a writable file");
        } else if played != file {
            wrong.push(format!("{}\n{}", path.display(), difference(&file, &played)));
        }
    }
    assert!(n_played > 0, "no conversation was found");
    assert!(wrong.is_empty(), "{}\n(UPDATE_EXPECT=1 rewrites the files)", wrong.join("\n"));
}

/// The first line that differs.
fn difference(expected: &str, found: &str) -> String {
    let (mut expected, mut found) = (expected.lines(), found.lines());
    loop {
        match (expected.next(), found.next()) {
            (None, None) => return "the files differ in their line breaks".into(),
            (expected, found) if expected == found => {}
            (expected, found) => {
                let shown = |line: Option<&str>| line.unwrap_or("the end").to_owned();
                return format!("expected {}\n   found {}", shown(expected), shown(found));
            }
        }
    }
}
