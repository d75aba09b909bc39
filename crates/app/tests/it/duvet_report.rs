//! `duvet report`: which files it writes, and when.

use std::fs;
use std::path::Path;
use std::process::Command;

use expect_test::{Expect, expect};

const SPECIFICATION: &str = "# Kettle\n\n## Boiling\n\nThe kettle MUST boil.\n";
const GOOD: &str = "//= kettle.md#boiling\n//# The kettle MUST boil.\n";
const WRONG: &str = "//= kettle.md#boling\n//# The kettle MUST boil.\n";
const CONFIG: &str =
    "[[source]]\npattern = '*.rs'\n[[specification]]\nsource = 'kettle.md'\n[report.json]\nenabled = true\n";

#[test]
fn the_page_is_written_unless_it_is_switched_off() {
    check(
        CONFIG,
        GOOD,
        &[],
        &[],
        &expect![[r#"
        exit 0
        .duvet/reports/report.html
        .duvet/reports/report.json"#]],
    );
    check(
        &format!("{CONFIG}[report.html]\nenabled = false\n"),
        GOOD,
        &[],
        &[],
        &expect![[r#"
        exit 0
        .duvet/reports/report.json"#]],
    );
    let more = [("DUVET_INTERNAL_CI_HTML", "c/d.html")];
    check(
        &format!("{CONFIG}[report.html]\npath = 'a.html'\n"),
        GOOD,
        &["--html", "b/c.html"],
        &more,
        &expect![[r#"
        exit 0
        .duvet/reports/report.json
        a.html
        b/c.html
        c/d.html"#]],
    );
}

#[test]
fn a_project_with_errors_still_gets_its_page() {
    check(
        CONFIG,
        WRONG,
        &["--lcov", "lcov"],
        &[],
        &expect![[r#"
        exit 1
        .duvet/reports/report.html"#]],
    );
}

#[test]
fn each_specification_has_an_lcov_file() {
    let source = format!("{GOOD}\n//= other.md#boiling\n//# The kettle MUST boil.\n");
    check(
        CONFIG,
        &source,
        &["--lcov", "lcov"],
        &[],
        &expect![[r#"
        exit 0
        .duvet/reports/report.html
        .duvet/reports/report.json
        lcov/compliance.0.lcov
        lcov/compliance.1.lcov"#]],
    );
}

#[track_caller]
fn check(config: &str, source: &str, arguments: &[&str], environment: &[(&str, &str)], expected: &Expect) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let root = folder.path();
    fs::create_dir(root.join(".duvet")).expect("a folder can be made");
    let config = format!("'$schema' = '{}'\n{config}", trace::config::SCHEMA);
    let files = [
        (".duvet/config.toml", config.as_str()),
        ("kettle.md", SPECIFICATION),
        ("other.md", SPECIFICATION),
        ("lib.rs", source),
    ];
    for (path, text) in files {
        fs::write(root.join(path), text).expect("a file can be written");
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_duvet"));
    command.arg("report").args(arguments).current_dir(root).env("CI", "false");
    for name in ["DUVET_INTERNAL_CI_HTML", "DUVET_INTERNAL_CI_JSON", "DUVET_INTERNAL_CI_SNAPSHOT"] {
        command.env_remove(name);
    }
    let output = command.envs(environment.iter().copied()).output().expect("duvet starts");
    let mut found = vec![format!("exit {}", output.status.code().unwrap_or(-1))];
    let mut written = Vec::new();
    list(root, root, &mut written);
    written.retain(|path| files.iter().all(|(known, _)| path != known));
    written.sort();
    found.append(&mut written);
    expected.assert_eq(&found.join("\n"));
}

/// Lists the files below a folder.
fn list(root: &Path, folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).expect("a folder can be read") {
        let path = entry.expect("an entry can be read").path();
        match path.is_dir() {
            true => list(root, &path, found),
            false => found.push(path.strip_prefix(root).unwrap_or(&path).display().to_string()),
        }
    }
}
