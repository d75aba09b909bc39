//! What must stay true of the source itself.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Crates that only `app` may use: they run, wait, listen or draw.
const ONLY_APP: [&str; 6] = ["tokio", "axum", "clap", "tracing", "anstream", "signal-hook"];

#[test]
fn crates_know_only_what_the_architecture_lets_them() {
    let architecture = fs::read_to_string(root().join("ARCHITECTURE.md")).expect("the architecture");
    let crates = root().join("crates");
    let names: Vec<String> = fs::read_dir(&crates)
        .expect("the crates")
        .map(|entry| entry.expect("readable").file_name().into_string().expect("UTF-8"))
        .collect();
    for name in &names {
        let row = architecture.lines().find(|line| line.starts_with(&format!("| `crates/{name}` |")));
        let may_use = row.and_then(|row| row.split('|').nth(3)).unwrap_or_else(|| {
            panic!("ARCHITECTURE.md has no row that says what {name} may use");
        });
        let manifest = fs::read_to_string(crates.join(name).join("Cargo.toml")).expect("a manifest");
        for used in dependencies(&manifest) {
            let folder = if used == "spexus" { "app" } else { used };
            let is_ours = names.iter().any(|other| other == folder);
            let may = may_use.contains("all of them") || may_use.contains(&format!("`{folder}`"));
            assert!(!is_ours || may, "{name} must not use {used}");
            assert!(name == "app" || !ONLY_APP.contains(&used), "{name} must not use {used}");
        }
    }
}

/// The names in `[dependencies]`, however they are written.
fn dependencies(manifest: &str) -> impl Iterator<Item = &str> {
    let section = manifest.split("\n[dependencies]\n").nth(1).unwrap_or_default();
    let section = section.split("\n[").next().unwrap_or_default();
    section.lines().filter_map(|line| line.split(['.', ' ', '=']).next()).filter(|name| !name.is_empty())
}

#[test]
fn pure_crates_touch_neither_files_nor_the_environment() {
    for name in ["exchange", "mcp", "ops", "threats", "trace", "words"] {
        for path in files(&root().join("crates").join(name).join("src"), "rs") {
            // The one part of tracing that reads a project from disk.
            if path.components().any(|part| part.as_os_str() == "project") || path.ends_with("project.rs") {
                continue;
            }
            let text = fs::read_to_string(&path).expect("a source file");
            for module in ["fs", "env", "net", "process", "thread"] {
                let is_imported = text.lines().any(|line| line.trim() == format!("{module},"));
                let is_used = is_imported || is_word(&text, &format!("{module}::"));
                assert!(
                    !is_used && !is_word(&text, &format!("std::{module}")),
                    "{} uses {module}",
                    path.display()
                );
            }
            for forbidden in ["Instant::now", "SystemTime", "println!", "async fn"] {
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

/// Finds a name where it is not the end of a longer one.
fn is_word(text: &str, name: &str) -> bool {
    let starts_word =
        |at: usize| !text[..at].ends_with(|before: char| before.is_alphanumeric() || before == '_');
    text.match_indices(name).any(|(at, _)| starts_word(at))
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
