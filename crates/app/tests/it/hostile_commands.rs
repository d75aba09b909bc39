//! Projects that nobody should make, and every command on them: none hangs, none obeys what it reads, and each says
//! what is wrong.

#![cfg(unix)]

use std::fs;
use std::io::Read as _;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use crate::agent::{folder, write};
use crate::process::{PATIENCE, clean};

const CONFIG: &str = "'$schema' = 'https://awslabs.github.io/duvet/config/v0.4.0.json'\n\
    [[source]]\npattern = 'src/**/*.rs'\n[[specification]]\nsource = 'spec.md'\n\
    [report.html]\npath = 'report.html'\n";
const SPEC: &str = "# Pot\n\n## Lid\n\nThe lid MUST close.\n";
const CITED: &str = "//= spec.md#lid\n//# The lid MUST close.\n";

/// Every command that reads a project, in each of its forms.
const COMMANDS: [&[&str]; 13] = [
    &["report"],
    &["report", "--ci"],
    &["report", "--json", "out/a.json", "--json-v2", "out/b.json", "--html", "out/c.html", "--lcov", "out/d"],
    &["check"],
    &["check", "--require-citations", "--require-tests", "--deny", "warnings"],
    &["check", "--format", "json"],
    &["check", "--format", "sarif"],
    &["check", "--format", "junit"],
    &["query", "--check", "implementation,test,duplicates", "--verbose"],
    &["query", "--check", "coverage", "-r", "coverage/*.xml", "-f", "jacoco-xml"],
    &["extract", "-f", "markdown", "-o", "out", "spec.md"],
    &["lock"],
    &["init"],
];

#[test]
fn no_command_waits_for_what_is_not_a_file() {
    // Each is a path of a project, in place of the file that should be there.
    for path in [
        "src/lib.rs",
        "spec.md",
        ".duvet/config.toml",
        ".duvet/lock.toml",
        "snapshot.txt",
        ".duvet/requirements/a.toml",
        "coverage/a.xml",
    ] {
        for kind in ["/dev/zero", "/dev/stdin", "pipe"] {
            let folder = folder(&[
                (
                    ".duvet/config.toml",
                    &format!("{CONFIG}[report.snapshot]\nenabled = true\npath = 'snapshot.txt'\n"),
                ),
                ("spec.md", SPEC),
                ("src/lib.rs", CITED),
                ("src/other.rs", CITED),
                ("coverage/b.xml", "<report name=\"a\"></report>"),
            ]);
            let at = folder.path().join(path);
            let _ = fs::remove_file(&at);
            fs::create_dir_all(at.parent().expect("a folder")).expect("made");
            match kind {
                "pipe" => assert!(Command::new("mkfifo").arg(&at).status().expect("mkfifo runs").success()),
                target => symlink(target, &at).expect("a link"),
            }
            for arguments in [COMMANDS[0], COMMANDS[1], COMMANDS[3], COMMANDS[9], COMMANDS[10], COMMANDS[11]]
            {
                run(folder.path(), arguments);
            }
        }
    }
}

#[test]
fn links_in_circles_and_without_end_are_left() {
    let folder = folder(&[(".duvet/config.toml", CONFIG), ("spec.md", SPEC), ("src/lib.rs", CITED)]);
    for name in ["a", "b"] {
        symlink(".", folder.path().join("src").join(name)).expect("a link");
        symlink("..", folder.path().join("src").join(format!("{name}{name}"))).expect("a link");
    }
    symlink("loop.rs", folder.path().join("src/loop.rs")).expect("a link");
    // Two ways from each folder to the next: 2^30 paths, and no circle.
    for number in 0..30 {
        fs::create_dir_all(folder.path().join(format!("src/deep/{number}"))).expect("made");
        for name in ["a", "b"] {
            let link = folder.path().join(format!("src/deep/{number}/{name}"));
            symlink(format!("../{}", number + 1), link).expect("a link");
        }
    }
    for arguments in [&["report"][..], &["check"], &["query", "--check", "test"], &["lock"]] {
        run(folder.path(), arguments);
    }
}

#[test]
fn no_text_of_a_project_is_obeyed_by_the_terminal() {
    // Sets the title of the window; C1 controls and turned directions do harm, too.
    let evil = "\u{1b}]0;owned\u{7}\u{9b}31m\u{202e}";
    let spec = format!(
        "# Pot{evil}\n\n## Lid {{#l{evil}d}}\n\nThe {evil} lid MUST close.\n\n## B\n\nIt {evil} MUST be.\n"
    );
    let right = format!("//= spec.md#b\n//# It {evil} MUST be.\n");
    let wrong = format!(
        "//= spec.md#{evil}\n//# a\n\n//= spec.md#b\n//# {evil}\n\n//= {evil}.md#b\n\n//= type={evil}\n\n//= {evil}=a\n"
    );
    for source in [right.clone(), format!("{right}\n{wrong}")] {
        let folder = folder(&[(".duvet/config.toml", CONFIG), ("spec.md", &spec)]);
        write(folder.path(), &format!("src/a{evil}.rs"), &source);
        for arguments in COMMANDS {
            let (_, stdout, stderr) = run(folder.path(), arguments);
            let mut shown = stderr;
            // What is written for programs keeps what programs can read.
            match arguments.contains(&"--format") {
                true => assert!(!stdout.contains(['\u{1b}', '\u{7}']), "{arguments:?}: {stdout:?}"),
                false => shown += &stdout,
            }
            let is_bad = ["\u{1b}]", "\u{7}", "\u{9b}", "\u{202e}"].iter().any(|bad| shown.contains(bad));
            assert!(!is_bad, "{arguments:?}: {shown:?}");
        }
    }
}

#[test]
fn a_lock_can_be_read_whatever_sections_are_called() {
    let spec = "# Pot\n\n## Lid {#li\u{200b}d\"\\'}\n\nThe lid MUST close.\n\n## \u{200b}\n\nx\n";
    let folder =
        folder(&[(".duvet/config.toml", CONFIG), ("spec.md", spec), ("src/lib.rs", "//= spec.md#pot\n")]);
    assert_eq!(run(folder.path(), &["lock"]).0, 0);
    let (code, _, stderr) = run(folder.path(), &["check"]);
    assert_eq!(code, 0, "{stderr}");
    write(folder.path(), "spec.md", &spec.replace("close", "open"));
    let (code, _, stderr) = run(folder.path(), &["check"]);
    assert!(code == 1 && stderr.contains("spec.md changed in li"), "{stderr}");
    // What is extracted can be read again.
    let extract = ["extract", "-f", "markdown", "-o", ".duvet/requirements", "spec.md"];
    assert_eq!(run(folder.path(), &extract).0, 0);
    write(
        folder.path(),
        ".duvet/config.toml",
        &CONFIG.replace("[[specification]]\nsource = 'spec.md'\n", ""),
    );
    let (code, _, stderr) = run(folder.path(), &["report"]);
    assert_eq!(code, 0, "{stderr}");
}

#[test]
fn a_hundred_thousand_citations_are_reported() {
    let source = format!("{CITED}\n").repeat(100_000);
    let folder = folder(&[(".duvet/config.toml", CONFIG), ("spec.md", SPEC), ("src/lib.rs", &source)]);
    for arguments in [&["report"][..], &["check"], &["query", "--check", "implementation"]] {
        let (code, _, stderr) = run(folder.path(), arguments);
        assert_eq!(code, 0, "{arguments:?}: {stderr}");
    }
}

/// Runs a command with colours as on a terminal, and fails if it does not end.
#[track_caller]
fn run(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    let environment = [("CLICOLOR_FORCE", "1")];
    let mut command = clean(Command::new(env!("CARGO_BIN_EXE_duvet")), &environment);
    let mut child = command.args(arguments).current_dir(folder).spawn().expect("duvet runs");
    // Open until the end: somebody who reads it would wait.
    let input = child.stdin.take();
    let (stdout, stderr) = (child.stdout.take().expect("piped"), child.stderr.take().expect("piped"));
    let read = |mut from: Box<dyn std::io::Read + Send>| {
        thread::spawn(move || {
            let mut bytes = Vec::new();
            from.by_ref().take(50 << 20).read_to_end(&mut bytes).expect("the output can be read");
            String::from_utf8_lossy(&bytes).into_owned()
        })
    };
    let (stdout, stderr) = (read(Box::new(stdout)), read(Box::new(stderr)));
    let start = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().expect("the child can be waited for") {
            break status;
        }
        if start.elapsed() > 2 * PATIENCE {
            let _ = child.kill();
            panic!("{arguments:?} did not end");
        }
        thread::sleep(Duration::from_millis(2));
    };
    drop(input);
    (status.code().expect("an exit code"), stdout.join().expect("read"), stderr.join().expect("read"))
}
