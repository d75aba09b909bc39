//! Threat patterns from the outside: files in, answers out.

mod answer;
mod golden;
mod load;
mod quality;
mod render;
mod search;
mod validate;

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use threats::Library;

/// The twelve patterns of the original and what it prints for them.
pub static TMKB: LazyLock<Library> = LazyLock::new(|| {
    let (library, problems) = Library::load(files(&data("tmkb/patterns")));
    assert_eq!(problems, [], "the originals load unchanged");
    library
});

/// A file or folder below `tests/data`.
pub fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

/// Reads a file below `tests/data`.
pub fn read(name: &str) -> String {
    std::fs::read_to_string(data(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// A pattern file with these lines under `threat_pattern`, and what every pattern needs.
pub fn file(id: &str, lines: &str) -> String {
    format!("threat_pattern:\n  id: {id}\n{}", indented(lines))
}

fn indented(lines: &str) -> String {
    lines.lines().map(|line| format!("  {line}\n")).collect()
}

/// Reads every file below a folder.
pub fn files(folder: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("it can be listed").path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            let text = std::fs::read_to_string(&path).expect("it is text");
            found.push((path.display().to_string(), text));
        }
    }
    found
}
