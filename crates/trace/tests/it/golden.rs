//! Small projects of our own with the reports that Duvet 0.4.3 made of them: JSON and snapshot byte for byte, lcov by
//! content.
//!
//! `golden/NAME/project.toml` is the project; the reports are beside it. A report that Duvet panics on is left out.
//! `DUVET=/path/to/duvet cargo test -p trace golden -- --ignored` makes all of them anew.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use serde::Deserialize;
use tempfile::TempDir;
use trace::managed::{ManagedKind, ManagedText, ManagedTexts, body, render};
use trace::project::{Options, Project};
use trace::report::gate::Gate;
use trace::report::{Report, json, json_v2, lcov, snapshot};

use crate::managed::{in_memory, managed};

#[test]
fn a_markdown_specification_with_annotations_of_every_kind() {
    check("kettle");
}

#[test]
fn an_rfc_under_several_of_its_names() {
    check("protocol");
}

#[test]
fn requirement_files_written_by_hand() {
    check("files");
}

#[test]
fn characters_that_are_escaped_and_other_scripts() {
    check("letters");
}

#[test]
fn texts_that_are_there_twice_or_end_with_a_single_character() {
    check("corners");
}

#[test]
fn flags_of_older_versions_without_a_configuration() {
    check("old-flags");
}

#[test]
fn managed_requirements_in_the_form_that_duvet_reads() {
    check("managed");
    // The same reports are made where versions of these requirements are known.
    let case = Case::read("managed");
    let texts = case.file.iter().filter_map(|file| {
        let reference = Path::new(&file.path).file_stem()?.to_str()?;
        let kind = ManagedKind::of(reference)?;
        let text = ManagedText {
            title: if kind == ManagedKind::Requirement {
                "Links *expire* {soon}".into()
            } else {
                String::new()
            },
            ..managed(reference, body(&file.contents))
        };
        assert_eq!(render(&text), file.contents, "{reference} is as `spexus pull` writes it");
        Some(text)
    });
    check_with("managed", Some(in_memory(&texts.collect::<Vec<_>>())));
}

/// A project and the arguments it is reported with.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    #[serde(default)]
    arguments: Vec<String>,
    file: Vec<CaseFile>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CaseFile {
    path: String,
    contents: String,
}

impl Case {
    fn read(name: &str) -> Case {
        let text = fs::read_to_string(folder().join(name).join("project.toml")).expect("the case is there");
        toml::from_str(&text).expect("the case is TOML")
    }

    /// Writes the project into a folder of its own.
    fn write(&self) -> TempDir {
        let root = tempfile::tempdir().expect("a temporary folder");
        for file in &self.file {
            let path = root.path().join(&file.path);
            fs::create_dir_all(path.parent().expect("a file is in a folder")).expect("a folder can be made");
            fs::write(path, &file.contents).expect("a file can be written");
        }
        root
    }

    fn options(&self, root: PathBuf) -> Options {
        let mut options = Options { root, ..Options::default() };
        for pair in self.arguments.chunks(2) {
            let [flag, value] = pair else { panic!("{pair:?} is not a flag with a value") };
            match flag.as_str() {
                "--source-pattern" => options.source_patterns.push(value.clone()),
                "--spec-pattern" => options.requirement_patterns.push(value.clone()),
                "--spec-path" => options.specification_path = Some(value.into()),
                other => panic!("unknown argument {other}"),
            }
        }
        options
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

#[track_caller]
fn check(name: &str) {
    check_with(name, None);
}

#[track_caller]
fn check_with(name: &str, managed: Option<Arc<dyn ManagedTexts>>) {
    let case = Case::read(name);
    let root = case.write();
    let root = root.path().canonicalize().expect("the folder is there");
    let options = Options { managed, ..case.options(root.clone()) };
    let project = Project::open(options, &|_| None).expect("the configuration is right");
    let model = project.load(None, &mut |_, _| {});
    assert!(!model.has_errors(), "{:#?}", model.diagnostics());
    let report = &Report::of(&model);

    compare(name, "report.json", |out| json::write(report, out));
    compare(name, "report-v2.json", |out| json_v2::write(report, out));
    compare(name, "snapshot.txt", |out| snapshot::write(report, out));
    if let Ok(expected) = fs::read_to_string(folder().join(name).join("lcov.txt")) {
        assert_eq!(sorted(&lcov(&project, report, &root)), sorted(&expected), "{name}: lcov");
    }
}

#[track_caller]
fn compare(name: &str, file: &str, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) {
    let expected = match fs::read_to_string(folder().join(name).join(file)) {
        Ok(expected) => expected,
        Err(_) if file == "report-v2.json" => return,
        Err(error) => panic!("{name}/{file}: {error}"),
    };
    let mut out = Vec::new();
    write(&mut out).expect("memory can be written");
    let found = String::from_utf8(out).expect("reports are text");
    let at = found.bytes().zip(expected.bytes()).take_while(|(found, expected)| found == expected).count();
    let around = |text: &str| {
        String::from_utf8_lossy(&text.as_bytes()[at.saturating_sub(80)..(at + 120).min(text.len())])
            .into_owned()
    };
    assert!(
        found == expected,
        "{name}/{file} differs at byte {at}:\nours  …{}\nDuvet …{}",
        around(&found),
        around(&expected)
    );
}

/// The lcov files, one after the other, without the root of the project.
fn lcov(project: &Project, report: &Report<'_>, root: &Path) -> String {
    let downloads = match project.config {
        Some(_) => root.join(&project.downloads),
        None => project.downloads.clone(),
    };
    let gate = Gate { citations: true, tests: true };
    let mut out = Vec::new();
    for target in &report.targets {
        lcov::write(target, &downloads, gate, &mut out).expect("memory can be written");
    }
    without_root(&String::from_utf8(out).expect("lcov is text"), root)
}

fn without_root(text: &str, root: &Path) -> String {
    text.replace(&*root.to_string_lossy(), "ROOT")
}

/// The records of each file in no order.
fn sorted(lcov: &str) -> Vec<Vec<&str>> {
    let files = lcov.split("end_of_record");
    let sorted = files.map(|file| {
        let mut lines: Vec<&str> = file.lines().collect();
        lines.sort_unstable();
        lines
    });
    sorted.collect()
}

#[test]
#[ignore = "needs the Duvet that DUVET names"]
fn the_golden_reports_are_made_anew() {
    let program = std::env::var_os("DUVET").expect("DUVET names the program");
    for entry in fs::read_dir(folder()).expect("the folder is there") {
        let name = entry.expect("an entry can be read").file_name();
        make(&program, &name.to_string_lossy());
    }
}

fn make(program: &OsString, name: &str) {
    let case = Case::read(name);
    let out = folder().join(name);
    for (file, flag) in [
        ("report.json", "--json"),
        ("report-v2.json", "--json-v2"),
        ("snapshot.txt", ""),
        ("lcov.txt", "--lcov"),
    ] {
        let root = case.write();
        let root = root.path().canonicalize().expect("the folder is there");
        let reports = tempfile::tempdir().expect("a temporary folder");
        let written = reports.path().join("report");
        let mut command = Command::new(program);
        command.arg("report").args(&case.arguments).current_dir(&root).env("CI", "false");
        match flag {
            "" => command.env("DUVET_INTERNAL_CI_SNAPSHOT", &written),
            flag => command.arg(flag).arg(&written),
        };
        let output = command.output().expect("Duvet starts");
        let path = out.join(file);
        let _ = fs::remove_file(&path);
        if !output.status.success() {
            eprintln!("{name}: Duvet makes no {file}: {}", String::from_utf8_lossy(&output.stderr));
            continue;
        }
        if file != "lcov.txt" {
            fs::copy(&written, &path).expect("a report can be copied");
            continue;
        }
        let read = |index| fs::read_to_string(written.join(lcov::file_name(index))).ok();
        let texts: String = (0..).map_while(read).collect();
        fs::write(&path, without_root(&texts, &root)).expect("a report can be written");
    }
}
