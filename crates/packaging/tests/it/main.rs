//! The man page of every command, completions, and the software bill of materials.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::ArgAction;
use serde_json::Value;

#[test]
fn every_command_has_a_page_that_names_its_flags() {
    let folder = written();
    let mut pages = files(&folder.path().join("man"));
    for mut command in spexus::command_lines() {
        command.build();
        check(&command, &mut pages);
    }
    assert!(pages.is_empty(), "pages of no command: {:?}", pages.keys());
    let is_help = |name: &Path| name.to_string_lossy().split(['-', '.']).any(|word| word == "help");
    assert!(!files(&folder.path().join("man")).keys().any(|name| is_help(name)));
}

/// Takes the pages of a command and of those below it.
fn check(command: &clap::Command, pages: &mut BTreeMap<PathBuf, String>) {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name());
    let found = pages.remove(&PathBuf::from(format!("{name}.1")));
    // A dash that is meant as one is written so.
    let page = found.unwrap_or_else(|| panic!("{name} has no page")).replace("\\-", "-");
    assert!(page.contains(".SH NAME") && page.contains(".SH SYNOPSIS"), "{name}: {page}");
    let shown = command.get_arguments().filter(|argument| !argument.is_hide_set());
    for flag in shown.filter(|argument| !matches!(argument.get_action(), ArgAction::Version)) {
        if let Some(long) = flag.get_long() {
            assert!(page.contains(&format!("--{long}")), "{name}: --{long} is not in its page");
        }
    }
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        check(below, pages);
    }
}

#[test]
fn each_shell_has_completions_of_every_program() {
    let folder = written();
    let found = files(&folder.path().join("completions"));
    for command in spexus::command_lines() {
        let name = command.get_name();
        for path in [format!("bash/{name}.bash"), format!("fish/{name}.fish"), format!("zsh/_{name}")] {
            let script = found.get(Path::new(&path)).unwrap_or_else(|| panic!("{path} is missing"));
            assert!(script.contains("completions"), "{path} does not know the command completions");
        }
        let script = folder.path().join(format!("completions/bash/{name}.bash"));
        assert!(Command::new("bash").arg("-n").arg(script).status().expect("bash runs").success());
    }
}

#[test]
fn what_is_written_twice_is_the_same() {
    let folder = written();
    let first = files(folder.path());
    fs::write(folder.path().join("man/spexus-gone.1"), "of a command that is gone").expect("a file");
    write(folder.path());
    assert_eq!(files(folder.path()), first);
}

#[test]
fn without_a_folder_usage_is_told() {
    let output = Command::new(env!("CARGO_BIN_EXE_packaging")).output().expect("it runs");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("packaging FOLDER"));
}

#[test]
fn the_bill_of_materials_has_a_licence_and_a_checksum_for_everything_of_others() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/sbom");
    // An archive of the sources has no commit to take the time from.
    let output = Command::new(script).env("SOURCE_DATE_EPOCH", "1700000000").output().expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let bill: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(bill["metadata"]["timestamp"], "2023-11-14T22:13:20Z");
    let product = bill["metadata"]["component"]["bom-ref"].as_str().expect("a reference");
    let (mut known, mut names) = (BTreeSet::from([product]), BTreeSet::new());
    for component in bill["components"].as_array().expect("components") {
        let reference = component["bom-ref"].as_str().expect("a reference");
        assert!(known.insert(reference), "{reference} is there twice");
        names.insert(component["name"].as_str().expect("a name"));
        assert!(component["licenses"][0]["expression"].is_string(), "{reference} has no licence");
        let is_checked = component["hashes"][0]["content"].as_str().is_some_and(|sum| sum.len() == 64);
        assert_eq!(is_checked, reference.starts_with("pkg:cargo/"), "{reference}");
    }
    for (name, is_in) in [
        ("libsqlite3-sys", true),
        ("htmx.org", true),
        ("store", true),
        ("clap_mangen", false),
        ("rmcp", false),
        ("cc", false),
    ] {
        assert_eq!(names.contains(name), is_in, "{name}");
    }
    for node in bill["dependencies"].as_array().expect("dependencies") {
        let below = node["dependsOn"].as_array().expect("a list").iter().filter_map(Value::as_str);
        for reference in below.chain(node["ref"].as_str()) {
            assert!(known.contains(reference), "{reference} is no component");
        }
    }
}

fn written() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    write(folder.path());
    folder
}

fn write(folder: &Path) {
    let status = Command::new(env!("CARGO_BIN_EXE_packaging")).arg(folder).status().expect("it runs");
    assert!(status.success());
}

/// All files below a folder, by their paths in it.
fn files(folder: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("readable").path();
        if path.is_dir() {
            let name = PathBuf::from(path.file_name().expect("a name"));
            found.extend(files(&path).into_iter().map(|(below, text)| (name.join(below), text)));
        } else {
            let name = PathBuf::from(path.file_name().expect("a name"));
            found.insert(name, fs::read_to_string(&path).expect("UTF-8"));
        }
    }
    found
}
