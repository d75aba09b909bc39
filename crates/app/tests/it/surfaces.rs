//! Every operation is reachable and documented on every surface, and the documents are current.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use expect_test::expect_file;
use serde_json::Value;

#[test]
fn the_manual_and_the_openapi_file_are_current() {
    let folder = root().join("docs/reference");
    expect_file![folder.join("operations.md")].assert_eq(&spexus::spexus::manual::operations());
    expect_file![folder.join("tools.md")].assert_eq(&spexus::combined::manual::tools());
    let description = serde_json::to_string_pretty(&spexus::spexus::http::openapi::document()).expect("JSON");
    expect_file![folder.join("openapi.json")].assert_eq(&(description + "\n"));
}

#[test]
fn every_operation_is_on_every_surface() {
    let description = spexus::spexus::http::openapi::document();
    let manual = spexus::spexus::manual::operations();
    let mut ids = HashSet::new();
    for path in description["paths"].as_object().expect("paths").values() {
        for method in path.as_object().expect("methods").values() {
            let id = method["operationId"].as_str().expect("an id").to_owned();
            assert!(ids.insert(id.clone()), "{id} is there twice");
        }
    }
    for entry in ops::OPERATIONS {
        let name = entry.name;
        assert!(!entry.routes.is_empty(), "{name} has no route");
        assert!(!entry.commands.is_empty(), "{name} has no command");
        assert!(ids.contains(name), "{name} is not in the OpenAPI file");
        assert!(manual.contains(&format!("## {name}\n")), "{name} is not in the manual");
        assert!(entry.summary().len() > 10, "{name} is not documented");
        let schema = entry.input_schema();
        assert_eq!(schema["additionalProperties"], false, "{name} takes unknown arguments");
        for (argument, about) in schema["properties"].as_object().into_iter().flatten() {
            assert!(
                about["description"].as_str().is_some_and(|text| !text.is_empty()),
                "{name}: {argument} is not documented"
            );
        }
        for positional in entry.positional {
            assert!(schema["properties"].get(*positional).is_some(), "{name}: {positional} is no argument");
        }
        for route in entry.routes {
            for parameter in route.parameters() {
                assert!(schema["properties"].get(parameter).is_some(), "{name}: {parameter} is no argument");
            }
        }
    }
}

/// What changes or removes one thing can be guarded by its version.
#[test]
fn whatever_has_a_version_can_be_guarded() {
    // Links, sessions and baselines have no version, nobody else changes one's own password, and these settle what is so or not.
    const UNGUARDED: [&str; 6] = [
        "link_steering_document",
        "unlink_steering_document",
        "clear_suspect_link",
        "revoke_session",
        "revoke_other_sessions",
        "delete_baseline",
    ];
    for entry in ops::OPERATIONS {
        let changes = |route: &ops::Route| {
            matches!(route.method, ops::Method::Patch | ops::Method::Put | ops::Method::Delete)
                || route.path.ends_with("/restore")
        };
        let is_guarded = entry.input_schema()["properties"].get("expected_version").is_some();
        if entry.routes.iter().any(changes) {
            assert_eq!(is_guarded, !UNGUARDED.contains(&entry.name), "{}", entry.name);
        }
    }
}

#[test]
fn every_command_explains_itself() {
    for entry in ops::OPERATIONS {
        for command in entry.commands {
            let mut process = Command::new(env!("CARGO_BIN_EXE_spexus"));
            let output = process.args(command.words.split(' ')).arg("--help").output().expect("it runs");
            let text = String::from_utf8_lossy(&output.stdout);
            assert!(
                output.status.success(),
                "{}: {}",
                command.words,
                String::from_utf8_lossy(&output.stderr)
            );
            let first = command.summary.map_or_else(|| entry.summary(), str::to_owned);
            let first = first.split_whitespace().take(3).collect::<Vec<_>>().join(" ");
            assert!(
                text.split_whitespace().collect::<Vec<_>>().join(" ").starts_with(&first),
                "{}: {text}",
                command.words
            );
        }
    }
}

#[test]
fn names_of_operations_commands_and_routes_are_unique() {
    let mut seen = HashSet::new();
    for entry in ops::OPERATIONS {
        assert!(seen.insert(entry.name.to_owned()), "{} is there twice", entry.name);
        for command in entry.commands {
            assert!(seen.insert(format!("spexus {}", command.words)), "{} is there twice", command.words);
        }
        for route in entry.routes {
            let shape: Vec<&str> =
                route.path.split('/').map(|part| if part.starts_with('{') { "{}" } else { part }).collect();
            assert!(
                seen.insert(format!("{} {}", route.method.name(), shape.join("/"))),
                "{} is there twice",
                route.path
            );
        }
    }
}

/// Adding an operation touches one file and its line in the list: no transport knows one by name but where it must.
#[test]
fn transports_know_few_operations_by_name() {
    const BY_NAME: [&str; 5] = ["login", "logout", "import", "export", "who_am_i"];
    let folder = root().join("crates/app/src/spexus");
    let mut text = String::new();
    gather(&folder, &mut text);
    for entry in ops::OPERATIONS.iter().filter(|entry| !BY_NAME.contains(&entry.name)) {
        assert!(!text.contains(&format!("\"{}\"", entry.name)), "{} is named in a transport", entry.name);
    }
}

fn gather(folder: &Path, text: &mut String) {
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            gather(&path, text);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            text.push_str(&fs::read_to_string(&path).expect("source"));
        }
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace")
}

#[test]
fn the_openapi_file_has_no_dangling_references() {
    let description = spexus::spexus::http::openapi::document();
    fn check(value: &Value, whole: &Value) {
        match value {
            Value::Object(object) => {
                if let Some(Value::String(reference)) = object.get("$ref") {
                    let pointer = reference.trim_start_matches('#');
                    assert!(whole.pointer(pointer).is_some(), "{reference} leads nowhere");
                }
                object.values().for_each(|value| check(value, whole));
            }
            Value::Array(values) => values.iter().for_each(|value| check(value, whole)),
            _ => {}
        }
    }
    check(&description, &description);
}
