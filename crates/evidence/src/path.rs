//! Paths in reports, made relative to the repository.

use crate::refusal::{Read, Wrong};

/// Longer paths are not paths.
const PATH_BYTES_MAX: usize = 4_096;

/// The origin of a report.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// The name of the report in messages, such as its path.
    pub name: &'a str,
    /// The absolute path of the repository on the machine that wrote the report; empty if unknown.
    pub root: &'a str,
    /// The folder in which the tool ran, relative to the repository; empty for the repository itself.
    pub folder: &'a str,
}

/// A path of a report.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// Relative to the repository.
    Inside(String),
    /// Absolute, and not in the repository: a library or the language's own files.
    Outside,
}

impl Source<'_> {
    /// Makes a path relative to the repository. A relative path that leads out of it is an error.
    pub(crate) fn locate(&self, path: &str) -> Result<Found, String> {
        self.locate_in(self.folder, path)
    }

    /// The same for a path that is relative to another folder.
    pub(crate) fn locate_in(&self, folder: &str, path: &str) -> Result<Found, String> {
        let path = path.strip_prefix("file://").unwrap_or(path);
        if path.len() > PATH_BYTES_MAX {
            return Err(format!("a path is longer than {PATH_BYTES_MAX} bytes"));
        }
        if path.contains(char::is_control) {
            return Err(format!("the path {path:?} has control characters"));
        }
        let slashed = path.replace('\\', "/");
        if slashed.is_empty() {
            return Err("a path is empty".to_owned());
        }
        let is_absolute = slashed.starts_with('/') || slashed.get(1..3) == Some(":/");
        if !is_absolute {
            return normal(&format!("{folder}/{slashed}"))
                .map(Found::Inside)
                .ok_or_else(|| format!("the path {path} leads out of the repository"));
        }
        let root = self.root.replace('\\', "/");
        let root = root.trim_end_matches('/');
        let inside = slashed.strip_prefix(root).and_then(|rest| rest.strip_prefix('/'));
        match inside.filter(|_| !root.is_empty()) {
            Some(rest) => normal(rest)
                .map(Found::Inside)
                .ok_or_else(|| format!("the path {path} leads out of the repository")),
            None => Ok(Found::Outside),
        }
    }

    /// The file of a test, which must be in the repository.
    pub(crate) fn test_file(&self, path: &str) -> Result<String, String> {
        match self.locate(path)? {
            Found::Inside(path) => Ok(path),
            Found::Outside if self.root.is_empty() => {
                Err(format!("the path {path} is absolute, and the root of the repository is not known"))
            }
            Found::Outside => Err(format!("the path {path} is not in the repository {}", self.root)),
        }
    }
}

/// Coverage reports name files of libraries, too, which are left out. If all files are outside, the report is about another folder.
#[derive(Default)]
pub(crate) struct Outsiders {
    first: Option<String>,
    has_insider: bool,
}

impl Outsiders {
    pub fn keep(&mut self, path: &str, found: Found) -> Option<String> {
        match found {
            Found::Inside(path) => {
                self.has_insider = true;
                Some(path)
            }
            Found::Outside => {
                self.first.get_or_insert_with(|| path.to_owned());
                None
            }
        }
    }

    pub fn check(self, source: &Source<'_>, bytes: &[u8]) -> Read<()> {
        match self.first {
            Some(path) if !self.has_insider => {
                let root = if source.root.is_empty() { "whose root is not known" } else { source.root };
                let reason = format!("no file is in the repository {root}; the first is {path}");
                Err(Wrong::where_found(bytes, &path, reason))
            }
            _ => Ok(()),
        }
    }
}

/// Resolves `.` and `..`; none if the path leads out or to nothing.
fn normal(path: &str) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    (!parts.is_empty()).then(|| parts.join("/"))
}
