//! Files and folders of work, and whether those of two leases overlap.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::input::{Text, shortened};

/// How many paths a lease may have.
pub const PATHS_MAX: usize = 50;

/// A path as an argument.
pub type PathText = Text<1, 500>;

/// A file or a folder, and its repository; any repository if none was given.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct WorkPath {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    repository: Option<String>,
    /// From the root of the repository, with `/`; empty for the root itself.
    path: String,
}

impl WorkPath {
    /// A file of a repository.
    pub fn file(repository: &str, path: &str) -> WorkPath {
        WorkPath { repository: Some(repository.to_owned()), path: path.to_owned() }
    }

    /// The path, for people.
    pub fn shown(&self) -> &str {
        if self.path.is_empty() { "." } else { &self.path }
    }

    /// Whether one is the other, or below it.
    pub fn meets(&self, other: &WorkPath) -> bool {
        self.contains(other) || other.contains(self)
    }

    /// Whether something is the file, or below the folder.
    pub fn contains(&self, other: &WorkPath) -> bool {
        let is_elsewhere = |(own, theirs): (&String, &String)| own != theirs;
        if self.repository.as_ref().zip(other.repository.as_ref()).is_some_and(is_elsewhere) {
            return false;
        }
        let rest = other.path.strip_prefix(self.path.as_str());
        rest.is_some_and(|rest| self.path.is_empty() || rest.is_empty() || rest.starts_with('/'))
    }
}

/// Parses the given paths.
pub fn read(field: &str, given: &[PathText], repository: Option<&str>) -> Result<Vec<WorkPath>> {
    if given.len() > PATHS_MAX {
        let message = format!("expected at most {PATHS_MAX} paths, found {}", given.len());
        return Err(Error::field(field, message));
    }
    let mut paths = Vec::with_capacity(given.len());
    for (index, text) in given.iter().enumerate() {
        let path = clean(text.as_str()).ok_or_else(|| {
            let found = shortened(text.as_str());
            let message =
                format!("expected a path inside the repository, such as src/kettle.rs, found {found:?}");
            Error::field(&format!("{field}.{index}"), message)
        })?;
        paths.push(WorkPath { repository: repository.map(str::to_owned), path });
    }
    Ok(joined(paths, Vec::new()))
}

fn clean(text: &str) -> Option<String> {
    let text = text.trim();
    let is_absolute = text.starts_with('/') || text.contains('\\') || text.get(1..2) == Some(":");
    if text.is_empty() || is_absolute {
        return None;
    }
    let parts: Vec<&str> = text.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    (!parts.contains(&"..")).then(|| parts.join("/"))
}

/// The union of both.
pub fn joined(mut some: Vec<WorkPath>, more: Vec<WorkPath>) -> Vec<WorkPath> {
    some.extend(more);
    some.sort();
    some.dedup();
    some
}

/// The paths of a lease, from its row.
pub fn from_row(json: &str) -> Vec<WorkPath> {
    serde_json::from_str(json).unwrap_or_default()
}

/// The paths of a lease, for its row.
pub fn to_row(paths: &[WorkPath]) -> String {
    serde_json::to_string(paths).unwrap_or_default()
}

/// A path of the first that overlaps with one of the second.
pub fn meeting<'a>(some: &'a [WorkPath], others: &[WorkPath]) -> Option<&'a WorkPath> {
    some.iter().find(|path| others.iter().any(|other| path.meets(other)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(texts: &[&str]) -> Result<Vec<WorkPath>> {
        let texts: Vec<PathText> =
            texts.iter().map(|text| Text::new((*text).to_owned()).expect("a text")).collect();
        read("paths", &texts, None)
    }

    #[test]
    fn folders_meet_what_is_below_them_and_nothing_beside_them() {
        let meets = |one: &str, other: &str| {
            let [one, other] = [one, other].map(|text| paths(&[text]).expect("a path").remove(0));
            assert_eq!(one.meets(&other), other.meets(&one));
            one.meets(&other)
        };
        assert!(meets("src", "src/kettle.rs") && meets("./src/", "src") && meets(".", "tests/a.rs"));
        assert!(!meets("src", "src2/kettle.rs") && !meets("src/a.rs", "src/b.rs"));
        let elsewhere = |path: &str| WorkPath::file("example.org/pot", path);
        assert!(!WorkPath::file("example.org/kettle", "src").meets(&elsewhere("src/a.rs")));
        assert!(paths(&["src"]).expect("a path")[0].meets(&elsewhere("src/a.rs")));
    }

    #[test]
    fn paths_stay_inside_the_repository() {
        for bad in ["/etc/passwd", "../other", "src/../../x", "C:/x", "src\\kettle.rs", " / "] {
            let error = paths(&["src", bad]).expect_err(bad);
            assert!(error.message.starts_with("paths.1: expected a path inside the repository"), "{error}");
        }
        assert!(paths(&["a"; PATHS_MAX + 1]).is_err());
    }
}
