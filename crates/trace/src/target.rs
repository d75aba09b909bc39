//! The target of an annotation: a specification by path or URL.

use std::cmp::Ordering;
use std::path::{Component, Path, PathBuf};

use url::Url;

use crate::specification::Format;

/// A specification, as annotations name it. Reports list them in this order.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Target {
    /// Its location.
    pub path: TargetPath,
    /// The requested format.
    pub format: Format,
}

/// The location of a specification.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum TargetPath {
    /// On the web, with a copy in the project.
    Url(Url),
    /// In a file, relative to the project's root.
    Path(PathBuf),
}

impl PartialOrd for TargetPath {
    fn partial_cmp(&self, other: &TargetPath) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for TargetPath {
    fn cmp(&self, other: &TargetPath) -> Ordering {
        match (self, other) {
            (TargetPath::Url(first), TargetPath::Url(second)) => first.cmp(second),
            (TargetPath::Url(_), TargetPath::Path(_)) => Ordering::Less,
            (TargetPath::Path(_), TargetPath::Url(_)) => Ordering::Greater,
            (TargetPath::Path(first), TargetPath::Path(second)) => first.cmp(second),
        }
    }
}

/// The canonical URL, because the same document has many.
const RFC_EDITOR: &str = "https://www.rfc-editor.org/rfc/rfc";
const RFC_MIRRORS: &[&str] =
    &["www.rfc-editor.org/rfc/rfc", "tools.ietf.org/rfc/rfc", "datatracker.ietf.org/doc/html/rfc"];

impl TargetPath {
    /// Parses a path or URL.
    pub fn parse(text: &str) -> Result<TargetPath, url::ParseError> {
        if text.contains("://") {
            return Url::parse(text).map(TargetPath::Url);
        }
        Ok(TargetPath::Path(PathBuf::from(text)))
    }

    /// Shows it as reports do: a path relative to the project's root.
    pub fn display(&self, root: &Path) -> String {
        match self {
            TargetPath::Url(url) => url.to_string(),
            TargetPath::Path(path) => path.strip_prefix(root).unwrap_or(path).display().to_string(),
        }
    }

    /// Returns the file that the specification is read from. URLs without a host have none.
    pub fn local(&self, downloads: &Path) -> Option<PathBuf> {
        let url = match self {
            TargetPath::Path(path) => return Some(path.clone()),
            TargetPath::Url(url) => url,
        };
        let canonical = canonical_url(url.as_str()).and_then(|url| Url::parse(&url).ok());
        let url = canonical.as_ref().unwrap_or(url);
        let mut path = downloads.join(url.host_str()?);
        // A segment such as `%2e%2e` is a name, not the way out; `..` itself is gone since the URL was read.
        path.extend(url.path_segments()?);
        path.set_extension("txt");
        Some(path)
    }

    /// Returns the URL from which the specification is fetched.
    pub fn address(&self) -> Option<String> {
        match self {
            TargetPath::Url(url) => Some(canonical_url(url.as_str()).unwrap_or_else(|| url.to_string())),
            TargetPath::Path(_) => None,
        }
    }
}

impl TargetPath {
    /// Returns the URL for people: for an RFC its page, whatever URL an annotation has.
    pub fn page(&self) -> Option<String> {
        let url = match self {
            TargetPath::Url(url) => url,
            TargetPath::Path(_) => return None,
        };
        let canonical = canonical_url(url.as_str());
        Some(canonical.map_or_else(|| url.to_string(), |url| url.trim_end_matches(".txt").to_owned()))
    }
}

/// Removes `.` and resolves `..`, as far as possible from the path alone.
pub fn clean(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if clean.file_name().is_some() => {
                clean.pop();
            }
            part => clean.push(part),
        }
    }
    clean
}

/// Rewrites URLs of RFCs to that of their plain text.
fn canonical_url(url: &str) -> Option<String> {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"))?;
    let number = RFC_MIRRORS.iter().find_map(|mirror| rest.strip_prefix(mirror))?;
    let mut number = number.trim_end_matches('/');
    for extension in [".txt", ".html", ".xml", ".pdf"] {
        number = number.trim_end_matches(extension);
    }
    Some(format!("{RFC_EDITOR}{number}.txt"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_address_of_an_rfc_is_one_file() {
        for url in [
            "https://www.rfc-editor.org/rfc/rfc9000.txt",
            "http://www.rfc-editor.org/rfc/rfc9000",
            "https://datatracker.ietf.org/doc/html/rfc9000.html",
            "https://tools.ietf.org/rfc/rfc9000/",
            "https://tools.ietf.org/rfc/rfc9000.pdf",
        ] {
            check(url, "d/www.rfc-editor.org/rfc/rfc9000.txt");
        }
        check("https://tools.ietf.org/html/rfc9000", "d/tools.ietf.org/html/rfc9000.txt");
        check("https://example.com/a/b.html?x=1", "d/example.com/a/b.txt");
        // As paths go: a host alone looks like a file with an extension.
        check("https://example.com", "d/example.txt");
        check("https://example.com/../../x", "d/example.com/x.txt");
    }

    #[track_caller]
    fn check(url: &str, expected: &str) {
        let target = TargetPath::parse(url).unwrap();
        assert_eq!(target.local(Path::new("d")).unwrap().to_str(), Some(expected));
    }
}
