//! Projects that try to write elsewhere: through links, absolute paths and `..`, with every command that writes.

#![cfg(unix)]

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::agent::{folder, write};
use crate::process::clean;

const CONFIG: &str = "'$schema' = 'https://awslabs.github.io/duvet/config/v0.4.0.json'\n\
    [[source]]\npattern = 'src/*.rs'\n[[specification]]\nsource = 'spec.md'\n";
const NO_PAGE: &str = "[report.html]\nenabled = false\n";

#[test]
fn a_specification_is_never_kept_through_a_link() {
    let server = serve("# Pot\n\n## Lid\n\nThe lid MUST close.\n");
    let kept = ".duvet/specifications/127.0.0.1/p.txt";
    for (link, target) in [
        (".duvet/specifications/127.0.0.1/p.txt.new", "victim/file"),
        (".duvet/specifications/127.0.0.1/p.txt", "victim/missing"),
        (".duvet/specifications/127.0.0.1", "victim"),
        (".duvet/specifications", "victim"),
    ] {
        let project = Project::new(&format!("{CONFIG}{NO_PAGE}"));
        project.write("src/lib.rs", &format!("//= {server}/p#lid\n//# The lid MUST close.\n"));
        project.link(link, target);
        let (code, log) = project.run(&["report", "--allow-private-host", "127.0.0.1"]);
        match link {
            // Nobody ever used that name.
            ".duvet/specifications/127.0.0.1/p.txt.new" => {
                assert_eq!(code, 0, "{log}");
                assert!(
                    fs::read_to_string(project.root().join(kept)).expect("kept").contains("The lid MUST")
                );
            }
            _ => assert!(code == 1 && log.contains("is a link; pass `--write-outside`"), "{link}: {log}"),
        }
        project.check_victim(link);
    }
}

#[test]
fn reports_that_a_configuration_names_stay_in_the_project() {
    for report in ["html", "json", "snapshot"] {
        for (path, problem) in [
            ("VICTIM/file", "is outside of the project"),
            ("VICTIM/new/file", "is outside of the project"),
            ("../victim/file", "is outside of the project"),
            ("src/../../victim/file", "is outside of the project"),
            ("linked-file", "is a link"),
            ("dangling", "is a link"),
            ("linked-folder/file", "linked-folder is a link"),
            ("linked-folder/new/file", "linked-folder is a link"),
            ("src/../linked-folder/file", "linked-folder is a link"),
            ("src", "is a folder"),
            ("src/lib.rs/x", "lib.rs is not a folder"),
        ] {
            let project = Project::new("");
            let path = path.replace("VICTIM", &project.victim().display().to_string());
            let page = if report == "html" { "" } else { NO_PAGE };
            let table = format!("{page}[report.{report}]\nenabled = true\npath = '{path}'\n");
            project.write(".duvet/config.toml", &format!("{CONFIG}{table}"));
            project.link("linked-file", "victim/file");
            project.link("linked-folder", "victim");
            project.link("dangling", "victim/missing");
            let (code, log) = project.run(&["report"]);
            assert!(code == 1 && log.contains(problem), "{report} {path}: {log}");
            project.check_victim(&format!("{report} {path}"));
            assert!(log.contains("--write-outside") || path.starts_with("src"), "{log}");
            if path.starts_with("src") {
                continue;
            }
            let (code, log) = project.run(&["report", "--write-outside"]);
            assert_eq!(code, 0, "{report} {path}: {log}");
            assert_ne!(project.victims(), project.before, "{report} {path}");
        }
    }
}

#[test]
fn reports_inside_of_the_project_are_replaced_whole() {
    let project = Project::new("");
    let path = project.root().join("out/./x/../report.html");
    let table = format!("[report.html]\npath = '{}'\n", path.display());
    project.write(".duvet/config.toml", &format!("{CONFIG}{table}"));
    for _ in 0..2 {
        let (code, log) = project.run(&["report"]);
        assert_eq!(code, 0, "{log}");
        let names: Vec<_> = fs::read_dir(project.root().join("out")).expect("a folder").flatten().collect();
        assert_eq!(names.len(), 1, "no draft is left: {names:?}");
    }
    assert!(fs::read_to_string(project.root().join("out/report.html")).expect("written").contains("<html"));
}

#[test]
fn a_path_of_the_user_may_lead_out_but_not_through_a_link_of_the_project() {
    for flag in ["--json", "--json-v2", "--html", "--lcov"] {
        let project = Project::new(&format!("{CONFIG}{NO_PAGE}"));
        project.link("linked-file", "victim/file");
        project.link("linked-folder", "victim");
        let inside = if flag == "--lcov" { "linked-folder" } else { "linked-file" };
        for path in [inside, "linked-folder/file"] {
            let (code, log) = project.run(&["report", flag, path]);
            assert!(code == 1 && log.contains("is a link; pass `--write-outside`"), "{flag} {path}: {log}");
            project.check_victim(flag);
        }
        let (code, log) = project.run(&["report", flag, "../elsewhere"]);
        assert_eq!(code, 0, "{log}");
        assert!(project.outer.path().join("elsewhere").exists());
        let named = project.outer.path().join("absolute");
        assert_eq!(project.run(&["report", flag, &named.display().to_string()]).0, 0);
        assert!(named.exists());
    }
    let project = Project::new(&format!("{CONFIG}{NO_PAGE}"));
    let (code, stdout, log) = project.output(&["report", "--json", "/dev/stdout"]);
    assert!(code == 0 && stdout.starts_with('{'), "{log}");
}

#[test]
fn the_other_commands_write_through_no_link_either() {
    // Each link, what it stands for, and the command that would write there.
    let merge = ["merge", "--input", "in.json", "--output", "out/x.json"];
    let cases: [(&str, &str, &[&str]); 9] = [
        (".duvet/lock.toml", "victim/file", &["lock"]),
        (".duvet/lock.toml", "victim/missing", &["lock"]),
        ("out/spec", "victim", &["extract", "-o", "out", "-f", "markdown", "spec.md"]),
        ("out/spec/lid.toml", "victim/file", &["extract", "-o", "out", "-f", "markdown", "spec.md"]),
        ("out", "victim", &["extract", "-o", "out", "-f", "markdown", "spec.md"]),
        ("out/spec/lid.toml", "victim/missing", &["extract", "-o", "out", "-f", "markdown", "spec.md"]),
        ("out", "victim", &merge),
        ("out/x.json", "victim/file", &merge),
        ("out/x.json", "victim/missing", &merge),
    ];
    for (link, target, arguments) in cases {
        let project = Project::new(&format!("{CONFIG}{NO_PAGE}"));
        project.write("in.json", r#"{"version": "2.0", "sources": {}, "annotations": {}}"#);
        project.link(link, target);
        let (code, log) = project.run(arguments);
        assert!(code == 1 && log.contains("is a link; pass `--write-outside`"), "{arguments:?}: {log}");
        project.check_victim(link);
        let (code, log) = project.run(&[arguments, &["--write-outside"]].concat());
        assert_eq!(code, 0, "{arguments:?}: {log}");
        assert_ne!(project.victims(), project.before, "{arguments:?}");
    }
    // A folder that the user names outside may not have links below it that a document leads through.
    let project = Project::new(&format!("{CONFIG}{NO_PAGE}"));
    fs::create_dir(project.outer.path().join("out")).expect("made");
    symlink("../victim", project.outer.path().join("out/spec")).expect("a link");
    let extract = ["extract", "-o", "../out", "-f", "markdown", "spec.md"];
    let (code, log) = project.run(&extract);
    assert!(code == 1 && log.contains("spec is a link"), "{log}");
    project.check_victim("extract -o");
    fs::remove_file(project.outer.path().join("out/spec")).expect("removed");
    assert_eq!(project.run(&extract).0, 0);
    assert!(project.outer.path().join("out/spec/lid.toml").is_file());
}

#[test]
fn starting_a_project_writes_through_no_link() {
    for (link, target) in
        [(".duvet", "victim"), (".duvet/config.toml", "victim/missing"), (".duvet/.gitignore", "victim/file")]
    {
        let outer = folder(&[("victim/file", "precious"), ("project/Cargo.toml", "")]);
        let project = Project::of(outer);
        project.link(link, target);
        let (_, log) = project.run(&["init"]);
        assert!(log.contains("is a link") || log.contains("Kept"), "{log}");
        project.check_victim(link);
    }
}

/// A project beside a folder that is none of its business.
struct Project {
    outer: TempDir,
    before: BTreeMap<PathBuf, String>,
}

impl Project {
    fn new(config: &str) -> Project {
        Project::of(folder(&[
            ("victim/file", "precious"),
            ("project/.duvet/config.toml", config),
            ("project/spec.md", "# Pot\n\n## Lid\n\nThe lid MUST close.\n"),
            ("project/src/lib.rs", "//= spec.md#lid\n//# The lid MUST close.\n"),
        ]))
    }

    fn of(outer: TempDir) -> Project {
        let before = files(&outer.path().join("victim"));
        Project { before, outer }
    }

    fn root(&self) -> PathBuf {
        self.outer.path().join("project")
    }

    fn victim(&self) -> PathBuf {
        self.outer.path().join("victim")
    }

    fn write(&self, path: &str, text: &str) {
        write(&self.root(), path, text);
    }

    fn link(&self, path: &str, target: &str) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        symlink(self.outer.path().join(target), path).expect("a link");
    }

    fn run(&self, arguments: &[&str]) -> (i32, String) {
        let (code, _, log) = self.output(arguments);
        (code, log)
    }

    fn output(&self, arguments: &[&str]) -> (i32, String, String) {
        let mut command = clean(Command::new(env!("CARGO_BIN_EXE_duvet")), &[]);
        command.args(arguments).current_dir(self.root()).stdin(Stdio::null());
        let output = command.output().expect("duvet runs");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
        (output.status.code().unwrap_or(-1), text(output.stdout), text(output.stderr))
    }

    fn victims(&self) -> BTreeMap<PathBuf, String> {
        files(&self.victim())
    }

    #[track_caller]
    fn check_victim(&self, what: &str) {
        assert_eq!(self.victims(), self.before, "{what}");
    }
}

/// Every file below a folder, and what is in it.
fn files(folder: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        match entry.path() {
            path if path.is_dir() => found.extend(files(&path)),
            path => drop(found.insert(path.clone(), fs::read_to_string(&path).expect("text"))),
        }
    }
    found
}

/// Answers every request with a document.
fn serve(document: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.read(&mut [0; 4096]);
            let size = document.len();
            let _ = write!(stream, "HTTP/1.1 200 OK\r\ncontent-length: {size}\r\n\r\n{document}");
        }
    });
    format!("http://{address}")
}
