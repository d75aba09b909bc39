//! The commands that the guide shows, also those in its workflow files: each exists with its options.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::process::clean;

const PROGRAMS: [(&str, &str); 3] = [
    ("spexus ", env!("CARGO_BIN_EXE_spexus")),
    ("duvet ", env!("CARGO_BIN_EXE_duvet")),
    ("tmkb ", env!("CARGO_BIN_EXE_tmkb")),
];
/// How a line of a script or of a workflow file may begin.
const BEGINNINGS: [&str; 4] = ["- run: ", "run: ", "- ", "$ "];

#[test]
fn every_command_of_the_guide_exists() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide");
    let pages = fs::read_dir(folder).expect("the guide").flatten().map(|entry| entry.path());
    let pages: Vec<PathBuf> = pages.filter(|path| path.extension().is_some_and(|end| end == "md")).collect();
    let mut shown = Vec::new();
    for page in &pages {
        let text = fs::read_to_string(page).expect("a page");
        shown.extend(commands(&text).into_iter().map(|command| (page.clone(), command)));
    }
    assert!(shown.len() > 60, "{} commands were found", shown.len());
    assert!(
        shown.iter().any(|(page, command)| page.ends_with("gate.md") && command.contains("--format sarif"))
    );
    let wrong = Mutex::new(Vec::new());
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some((page, command)) = shown.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Some(problem) = problem(command) {
                        let mut wrong = wrong.lock().expect("no panic");
                        wrong.push(format!("{}: {command}: {problem}", page.display()));
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().expect("no panic");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What a program says against a command, which is not run: help is asked for after its arguments.
fn problem(command: &str) -> Option<String> {
    let (name, program) = PROGRAMS.into_iter().find(|(name, _)| command.starts_with(name))?;
    let arguments = words(&command[name.len()..]);
    let mut asked = clean(Command::new(program), &[]);
    let told = asked.args(arguments).arg("--help").stdin(Stdio::null()).output().expect("it runs");
    let problem = String::from_utf8_lossy(&told.stderr);
    (!told.status.success()).then(|| problem.lines().next().unwrap_or_default().to_owned())
}

/// The commands in the code blocks of a page.
fn commands(page: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut is_code = false;
    let joined = page.replace("\\\n", " ");
    for line in joined.lines() {
        let line = line.trim();
        if line.starts_with("```") {
            is_code = !is_code;
            continue;
        }
        let line = BEGINNINGS.into_iter().find_map(|beginning| line.strip_prefix(beginning)).unwrap_or(line);
        if is_code && PROGRAMS.iter().any(|(name, _)| line.starts_with(name)) {
            found.push(line.to_owned());
        }
    }
    found
}

/// The words of a command up to where the shell would begin another one, or a comment.
fn words(command: &str) -> Vec<String> {
    // What a page says about a command stands apart from it.
    let command = command.split("   ").next().unwrap_or_default();
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for character in command.chars() {
        match (quote, character) {
            (Some(open), _) if open == character => quote = None,
            (None, '"' | '\'') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (None, '|' | ';' | '>' | '<' | '&') => break,
            (None, '#') if word.is_none() => break,
            (None, ' ') => words.extend(word.take()),
            _ => word.get_or_insert_default().push(character),
        }
    }
    words.extend(word);
    words
}

#[test]
fn words_of_a_command_are_those_of_the_shell() {
    for (command, expected) in [
        (
            "check --base \"$base\" --format sarif > spexus.sarif || true",
            &["check", "--base", "$base", "--format", "sarif"][..],
        ),
        ("push                # the reports", &["push"]),
        ("baseline pin \"Release 1.2\"", &["baseline", "pin", "Release 1.2"]),
        ("push # all", &["push"]),
        ("thread a#b", &["thread", "a#b"]),
    ] {
        assert_eq!(words(command), expected, "{command}");
    }
}
