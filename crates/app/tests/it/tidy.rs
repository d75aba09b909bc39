//! What must stay true of the source itself.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// What each crate may depend on, beside crates of others: the table of ARCHITECTURE.md.
const MAY_USE: [(&str, &[&str]); 4] = [
    ("mcp", &[]),
    ("threats", &[]),
    ("app", &["mcp", "threats"]),
    ("interop", &["mcp", "spexus", "threats"]),
];

/// Crates that only `app` may use: they run, wait, listen or draw.
const ONLY_APP: [&str; 6] = ["tokio", "axum", "clap", "tracing", "anstream", "signal-hook"];

#[test]
fn crates_know_only_what_the_architecture_lets_them() {
    let crates = root().join("crates");
    for entry in fs::read_dir(&crates).expect("the crates") {
        let name = entry.expect("readable").file_name().into_string().expect("UTF-8");
        let manifest = fs::read_to_string(crates.join(&name).join("Cargo.toml")).expect("a manifest");
        let Some((_, allowed)) = MAY_USE.iter().find(|(known, _)| *known == name) else {
            panic!("crate {name} is not in the table of the architecture");
        };
        let dependencies = manifest.split("[dev-dependencies]").next().unwrap_or_default();
        for line in dependencies.lines().filter(|line| line.contains("workspace = true")) {
            let used = line.split(['.', ' ']).next().unwrap_or_default();
            let is_ours = ["mcp", "threats", "spexus", "trace", "store", "ops"].contains(&used);
            assert!(!is_ours || allowed.contains(&used), "{name} must not use {used}");
            assert!(name == "app" || !ONLY_APP.contains(&used), "{name} must not use {used}");
        }
    }
}

#[test]
fn pure_crates_touch_neither_files_nor_the_environment() {
    for name in ["mcp", "threats"] {
        for path in files(&root().join("crates").join(name).join("src"), "rs") {
            let text = fs::read_to_string(&path).expect("a source file");
            for forbidden in
                ["std::fs", "std::env", "std::net", "std::process", "Instant::now", "println!", "async fn"]
            {
                assert!(!text.contains(forbidden), "{} uses {forbidden}", path.display());
            }
        }
    }
}

#[test]
fn every_source_file_opens_with_what_it_is_for() {
    for folder in ["crates", "bench"] {
        for path in files(&root().join(folder), "rs") {
            let text = fs::read_to_string(&path).expect("a source file");
            assert!(text.starts_with("//!"), "{} does not say what it is for", path.display());
        }
    }
}

#[test]
fn links_between_documents_lead_somewhere() {
    for path in files(&root(), "md") {
        let text = fs::read_to_string(&path).expect("a document");
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let file = target.split('#').next().unwrap_or_default();
            if file.is_empty() || file.contains("://") {
                continue;
            }
            let linked = path.parent().expect("a folder").join(file);
            assert!(linked.exists(), "{} links to {target}, which is not there", path.display());
        }
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace")
}

/// The files below a folder that belong to the project.
fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        if path.is_dir() {
            if name != "target" && name != "node_modules" && !name.starts_with('.') {
                found.extend(files(&path, extension));
            }
        } else if path.extension().is_some_and(|found| found == extension) {
            found.push(path);
        }
    }
    found
}
