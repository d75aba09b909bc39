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
    for name in ["evidence", "exchange", "mcp", "nearest", "ops", "threats", "tokens", "trace", "words"] {
        for path in files(&root().join("crates").join(name).join("src"), "rs") {
            // The one part of tracing that reads a project from disk.
            if path.components().any(|part| part.as_os_str() == "project") || path.ends_with("project.rs") {
                continue;
            }
            let text = fs::read_to_string(&path).expect("a source file");
            for module in ["fs", "env", "net", "process", "thread"] {
                let is_imported = text.lines().any(|line| line.trim() == format!("{module},"));
                // The product has a thread of its own, from requirements to runs.
                let is_own = module == "thread"
                    && ["crate::thread", "store::thread", "mod thread;"].iter().any(|own| text.contains(own));
                let is_used = is_imported || !is_own && is_word(&text, &format!("{module}::"));
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
fn one_module_of_duvet_writes_files() {
    for path in files(&root().join("crates/app/src/duvet"), "rs") {
        if path.components().any(|part| part.as_os_str() == "output") || path.ends_with("output.rs") {
            continue;
        }
        let text = fs::read_to_string(&path).expect("a source file");
        for writing in ["fs::write", "File::create", "File::options", "OpenOptions", "create_dir", "rename("]
        {
            assert!(!text.contains(writing), "{} uses {writing}; `output.rs` writes files", path.display());
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
        for target in links(&text).filter(|target| !target.contains("://")) {
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let linked =
                if file.is_empty() { path.clone() } else { path.parent().expect("a folder").join(file) };
            assert!(linked.exists(), "{} links to {target}, but that file does not exist", path.display());
            if !anchor.is_empty() {
                let linked = fs::read_to_string(&linked).expect("a document");
                let anchors = anchors(&linked);
                assert!(
                    anchors.iter().any(|own| own == anchor),
                    "{} links to {target}, which has no such heading, only {anchors:?}",
                    path.display()
                );
            }
        }
    }
}

#[test]
fn the_index_of_the_guide_links_to_every_page() {
    let guide = root().join("docs/guide");
    let index = fs::read_to_string(guide.join("README.md")).expect("the index");
    for path in files(&guide, "md") {
        let name = path.file_name().expect("a name").to_string_lossy();
        let is_linked = links(&index).any(|target| target.split('#').next() == Some(&*name));
        assert!(is_linked || name == "README.md", "docs/guide/README.md has no link to {name}");
    }
}

#[test]
fn every_page_of_the_guide_starts_with_what_its_reader_can_do_afterwards() {
    for path in files(&root().join("docs/guide"), "md") {
        let text = fs::read_to_string(&path).expect("a page");
        let first = text.lines().skip(1).find(|line| !line.is_empty()).unwrap_or_default();
        let is_index = path.ends_with("README.md");
        assert!(
            is_index || first.starts_with("After this page "),
            "{}: expected \"After this page …\", found {first:?}",
            path.display()
        );
    }
}

/// The targets of the links and pictures in a document.
fn links(text: &str) -> impl Iterator<Item = &str> {
    text.split("](").skip(1).filter_map(|rest| rest.split(')').next())
}

/// The anchors of the headings in a document, as code hosts make them.
fn anchors(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut is_code = false;
    for line in text.lines() {
        is_code ^= line.trim_start().starts_with("```");
        let heading = line.trim_start_matches('#');
        if is_code || heading == line || !heading.starts_with(' ') {
            continue;
        }
        let anchor: String = heading
            .trim()
            .to_lowercase()
            .chars()
            .filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c))
            .map(|c| if c == ' ' { '-' } else { c })
            .collect();
        // The second heading with the same text gets the suffix `-1`.
        let same = found.iter().filter(|own| **own == anchor).count();
        found.push(if same == 0 { anchor } else { format!("{anchor}-{same}") });
    }
    found
}

/// What a surface knows of an operation is a constant of the operation. A name in a string would be a second place.
#[test]
fn surfaces_spell_no_name_of_an_operation() {
    let tools = ops::OPERATIONS.iter().flat_map(|entry| entry.tools).filter_map(|tool| tool.name);
    let names: Vec<&str> =
        ops::OPERATIONS.iter().chain([ops::known::BROWSE]).map(|entry| entry.name).chain(tools).collect();
    assert_eq!(strings(r##"let a = ["b\"", r#"c"d"#, '"']; // "e""##), ["b\\\"", "c\"d"]);
    for path in files(&root().join("crates/app/src"), "rs") {
        // Traceability has a tool of this name of its own, which searches specifications.
        let is_trace = path.parent().is_some_and(|folder| folder.ends_with("duvet/server"));
        let may_say = if is_trace { "search_requirements" } else { "" };
        let text = fs::read_to_string(&path).expect("a source file");
        let text = text.split("#[cfg(test)]").next().unwrap_or_default();
        for literal in strings(text) {
            let mut words = literal.split(|c: char| !c.is_alphanumeric() && c != '_');
            // A name of one word may be meant as a word.
            let found = words.find(|word| {
                *word != may_say && names.contains(word) && (word.contains('_') || *word == literal)
            });
            assert_eq!(found, None, "{} names an operation: {literal:?}", path.display());
        }
    }
}

/// The string literals of some source, as they are written.
fn strings(source: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = source;
    while let Some(at) = rest.find(['"', '/', '\'']) {
        let (before, after) = (&rest[..at], &rest[at + 1..]);
        let hashes = before.len() - before.trim_end_matches('#').len();
        let is_raw = before.trim_end_matches('#').ends_with('r');
        rest = match &rest[at..=at] {
            "/" if after.starts_with('/') => after.split_once('\n').map_or("", |(_, next)| next),
            "\"" => {
                let end = if is_raw {
                    after.find(&format!("\"{}", "#".repeat(hashes)))
                } else {
                    let mut is_escaped = false;
                    after.find(|c| {
                        let ends = c == '"' && !is_escaped;
                        is_escaped = c == '\\' && !is_escaped;
                        ends
                    })
                };
                let end = end.expect("a string ends");
                found.push(&after[..end]);
                &after[end + 1..]
            }
            "'" if after.starts_with("\"'") => &after[2..],
            _ => after,
        };
    }
    found
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
