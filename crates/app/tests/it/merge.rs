//! `duvet report --json-v2` and `duvet merge`, with real files.

use std::{fs, path::Path, process::Command};

use serde_json::Value;

const CONFIG: &str = "'$schema' = 'https://awslabs.github.io/duvet/config/v0.4.0.json'\n\
                      [[source]]\npattern = 'src/*.rs'\n[[specification]]\nsource = 'pot.md'\n";

#[test]
fn reports_of_two_projects_become_one() {
    let folder = tempfile::tempdir().expect("a folder");
    for (project, comment) in [("pot", "//# A pot MUST brew."), ("cup", "//= type=test\n//# MUST brew.")] {
        let root = folder.path().join(project);
        write(&root.join(".duvet/config.toml"), CONFIG);
        write(&root.join("pot.md"), "# Pot\n\nA pot MUST brew.\n");
        write(&root.join("src/lib.rs"), &format!("//= pot.md#pot\n{comment}\n"));
        let link = format!("https://{project}.example");
        let (code, log) = duvet(&root, &["report", "--json-v2", "../new/of.json", "--blob-link", &link]);
        assert_eq!(code, 0, "{log}");
        fs::rename(folder.path().join("new/of.json"), folder.path().join(project).join("report.json"))
            .expect("the report is there");
    }
    let merge = ["merge", "--input", "pot/report.json", "--input", "cup/report.json", "--output", "a/b.json"];
    let (code, log) = duvet(folder.path(), &merge);
    assert_eq!(code, 0, "{log}");
    let text = fs::read_to_string(folder.path().join("a/b.json")).expect("the merged report");
    let merged: Value = serde_json::from_str(&text).expect("JSON");
    let cites = &merged["annotations"]["https://awslabs.github.io/duvet/v2/annotations.json#cite"];
    let mut types: Vec<&Value> =
        cites.as_object().expect("cites").values().map(|cite| &cite["type"]).collect();
    types.sort_by_key(|kind| kind.to_string());
    assert_eq!(types, ["CITATION", "TEST"]);
    assert_eq!(merged["repositories"].as_object().expect("repositories").len(), 2);
}

#[test]
fn the_environment_may_ask_for_the_report() {
    let folder = tempfile::tempdir().expect("a folder");
    write(&folder.path().join(".duvet/config.toml"), CONFIG);
    write(&folder.path().join("pot.md"), "# Pot\n\nA pot MUST brew.\n");
    let path = folder.path().join("v2.json");
    let done = command(folder.path()).arg("report").env("DUVET_INTERNAL_CI_JSON_V2", &path).output();
    assert!(done.expect("duvet runs").status.success());
    let report: Value = serde_json::from_slice(&fs::read(path).expect("the report")).expect("JSON");
    assert_eq!(report["version"], "2.0");
}

#[test]
fn a_bad_input_leaves_the_output_as_it_was() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    write(&at("good.json"), r#"{"version": "2.0", "sources": {}, "annotations": {}}"#);
    write(&at("bad.json"), "{\n  \"version\": \"2.0\",\n  \"sources\": []\n}");
    write(&at("old.json"), "precious");
    fs::write(at("bytes.json"), b"{\n\"\xff\"}").expect("a file");
    let merge = |input: &str| {
        duvet(folder.path(), &["merge", "--input", "good.json", "--input", input, "--output", "old.json"])
    };
    for (input, expected) in [
        ("bad.json", "bad.json:3:14"),
        ("missing.json", "missing.json: "),
        ("bytes.json", "bytes.json: is not UTF-8 text from line 2 on"),
    ] {
        let (code, log) = merge(input);
        assert_eq!(code, 1, "{log}");
        assert!(log.contains(expected), "{log}");
        assert_eq!(fs::read_to_string(at("old.json")).expect("still there"), "precious");
    }
    assert_eq!(merge("good.json").0, 0);
    let mut names: Vec<_> = fs::read_dir(folder.path()).expect("the folder").flatten().collect();
    names.retain(|entry| entry.file_name().to_string_lossy().contains("tmp"));
    assert!(names.is_empty(), "{names:?}");
    assert!(fs::read_to_string(at("old.json")).expect("written").starts_with("{\n  \"version\": \"2.0\""));
}

#[test]
fn an_input_may_be_the_output() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("report.json");
    write(&path, r#"{"version": "2.0", "issue_links": ["a"], "sources": {}, "annotations": {}}"#);
    let (code, log) = duvet(folder.path(), &["merge", "--input", "report.json", "--output", "report.json"]);
    assert_eq!(code, 0, "{log}");
    assert!(fs::read_to_string(path).expect("written").contains("\"issue_links\": [\n    \"a\"\n  ]"));
}

#[cfg(unix)]
#[test]
fn pipes_and_permissions_stay_what_they_are_and_links_if_allowed() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    write(&at("in.json"), r#"{"version": "2.0", "sources": {}, "annotations": {}}"#);
    write(&at("real.json"), "old");
    fs::set_permissions(at("real.json"), fs::Permissions::from_mode(0o640)).expect("permissions");
    symlink("real.json", at("link.json")).expect("a link");
    assert!(Command::new("mkfifo").arg(at("pipe")).status().expect("mkfifo runs").success());
    let pipe = at("pipe");
    let reader = std::thread::spawn(move || fs::read_to_string(pipe).expect("what was written"));
    let merge = ["merge", "--input", "in.json", "--output"];
    let (code, log) = duvet(folder.path(), &[&merge[..], &["link.json"]].concat());
    assert!(code == 1 && log.contains("link.json: is a link; pass `--write-outside` to allow it"), "{log}");
    for more in [&["link.json", "--write-outside"][..], &["pipe"]] {
        let (code, log) = duvet(folder.path(), &[&merge[..], more].concat());
        assert_eq!(code, 0, "{log}");
    }
    assert!(at("link.json").is_symlink());
    assert!(fs::read_to_string(at("real.json")).expect("written").starts_with('{'));
    let mode = fs::metadata(at("real.json")).expect("metadata").permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
    assert!(reader.join().expect("a reader").starts_with('{'));
    assert!(!fs::metadata(at("pipe")).expect("metadata").is_file());
}

#[test]
fn wrong_usage_is_told_from_wrong_reports() {
    let folder = tempfile::tempdir().expect("a folder");
    assert_eq!(duvet(folder.path(), &["merge", "--output", "x.json"]).0, 2);
    assert_eq!(duvet(folder.path(), &["merge", "--input", "x.json"]).0, 2);
    assert_eq!(duvet(folder.path(), &["merge", "--input", "x.json", "--output", "y.json"]).0, 1);
}

fn duvet(folder: &Path, arguments: &[&str]) -> (i32, String) {
    let output = command(folder).args(arguments).output().expect("duvet runs");
    (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&output.stderr).into_owned())
}

fn command(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_duvet"));
    let measuring = std::env::vars_os().filter(|(name, _)| name == "LLVM_PROFILE_FILE");
    command.env_clear().envs(measuring).current_dir(folder);
    command
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::write(path, text).expect("a file");
}
