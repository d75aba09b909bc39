//! Every demand of the documents that describe the server for agents has a test that names it. The table of them in
//! `docs/reference/shall.md` is made from the tests, so that it cannot say what is not so.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use expect_test::expect_file;

const DEMANDS: &str = include_str!("shall.txt");

#[test]
fn every_demand_has_a_test() {
    let proofs = proofs();
    let mut table = String::from(
        "# Demands and their tests\n\nMade from the tests by a test: each names what it proves, such as `[002 R6.5]`. The numbers are those of \
         the documents\nthat the server for agents (000, 001) and its bridge (002) are built to.\n\n| demand | what | tests |\n|---|---|---|\n",
    );
    let mut missing = Vec::new();
    for (id, what) in demands() {
        let tests: BTreeSet<&String> = proofs.get(id).into_iter().flatten().collect();
        if tests.is_empty() {
            missing.push(id);
        }
        let tests: Vec<String> = tests.into_iter().map(|test| format!("`{test}`")).collect();
        let _ = writeln!(table, "| {id} | {what} | {} |", tests.join("<br>"));
    }
    assert!(missing.is_empty(), "no test names {}", missing.join(", "));
    expect_file![root().join("docs/reference/shall.md")].assert_eq(&table);
}

#[test]
fn no_test_names_a_demand_that_is_not_there() {
    let known: BTreeSet<&str> = demands().map(|(id, _)| id).collect();
    let seeds = ["000", "001", "002"];
    for (id, tests) in proofs() {
        let is_ours = seeds.iter().any(|seed| id.starts_with(seed));
        assert!(!is_ours || known.contains(id.as_str()), "{id} in {tests:?}");
    }
}

fn demands() -> impl Iterator<Item = (&'static str, &'static str)> {
    let lines = DEMANDS.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.split_once(": ").expect("a number, a colon and words"))
}

/// The tests that name each demand.
fn proofs() -> BTreeMap<String, Vec<String>> {
    let mut proofs: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for file in sources() {
        let text = std::fs::read_to_string(&file).expect("a source file");
        let lines: Vec<&str> = text.lines().collect();
        let module = file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        for (index, line) in lines.iter().enumerate() {
            for id in named(line) {
                if let Some(test) = test_at(&lines, index) {
                    proofs.entry(id).or_default().push(format!("{module}::{test}"));
                }
            }
        }
    }
    proofs
}

/// The demands that a line names: `[002 R6.5]`, `[002 R8.5, R8.6]`, `[000 cache]`.
fn named(line: &str) -> Vec<String> {
    let mut found = Vec::new();
    for part in line.split('[').skip(1) {
        let Some((seed, names)) = part.split(']').next().and_then(|inside| inside.split_once(' ')) else {
            continue;
        };
        if seed.len() != 3 || !seed.bytes().all(|byte| byte.is_ascii_digit()) {
            continue;
        }
        for name in names.split(',').map(str::trim) {
            match name.split_once(['–', '-']).filter(|_| name.starts_with('R')) {
                Some((first, last)) => found.extend(range(seed, first, last)),
                None => found.push(format!("{seed} {name}")),
            }
        }
    }
    found
}

/// `R8.5` to `8.6`.
fn range(seed: &str, first: &str, last: &str) -> Vec<String> {
    let number = |text: &str| -> Option<(u32, u32)> {
        let (requirement, criterion) = text.trim_start_matches('R').split_once('.')?;
        Some((requirement.parse().ok()?, criterion.parse().ok()?))
    };
    let (Some((requirement, first)), Some((_, last))) = (number(first), number(last)) else {
        return Vec::new();
    };
    (first..=last).map(|criterion| format!("{seed} R{requirement}.{criterion}")).collect()
}

/// The function that a line stands in, or above as a comment.
fn test_at(lines: &[&str], index: usize) -> Option<String> {
    let is_comment = |line: &&str| line.trim_start().starts_with("//") || line.trim_start().starts_with('#');
    let below = lines[index..].iter().find(|line| !is_comment(line));
    let own = below.filter(|_| is_comment(&lines[index])).and_then(|line| function(line));
    own.or_else(|| lines[..=index].iter().rev().find_map(|line| function(line)))
}

fn function(line: &str) -> Option<String> {
    let line = line.trim_start();
    let rest = ["fn ", "pub fn ", "async fn "].iter().find_map(|start| line.strip_prefix(start))?;
    Some(rest.split(['(', '<']).next().unwrap_or_default().to_owned())
}

/// The sources of all tests.
fn sources() -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![root().join("crates")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder").flatten() {
            let path = entry.path();
            let name = entry.file_name();
            if path.is_dir() && name != "target" && name != "node_modules" {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") && name != "shall.rs" {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the workspace")
}
