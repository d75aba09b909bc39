//! Lists the matches of a glob like the `glob` crate, except for links: cyclic ones are not followed,
//! nor, if nothing outside may be read, those that lead there.

use std::io;
use std::path::{Path, PathBuf};

use glob::{Pattern, PatternError};

/// The result of a glob.
#[derive(Debug, Default)]
pub struct Walk {
    /// Its matches, sorted.
    pub found: Vec<PathBuf>,
    /// The folders that were searched, or would have been if they existed; some more than once.
    pub folders: Vec<PathBuf>,
    /// Unreadable folders.
    pub failures: Vec<(PathBuf, Failure)>,
}

/// Why a folder was not searched.
#[derive(Debug)]
pub enum Failure {
    /// An error of the system.
    Unreadable(io::Error),
    /// It is outside of the project.
    Outside,
    /// Links lead to too many folders.
    TooMany,
}

/// Two links in each of forty folders lead to more paths than can be listed.
const LINKS_MAX: usize = 10_000;

/// Lists the matches of a glob, relative to a folder. With `inside`, nothing outside of it is read.
pub fn walk(base: &Path, pattern: &str, inside: Option<&Path>) -> Result<Walk, PatternError> {
    // Errors have their position in the whole glob.
    Pattern::new(pattern)?;
    let mut start = base.to_path_buf();
    let mut parts = Vec::new();
    let mut names = Path::new(pattern).components().peekable();
    while let Some(name) = names.next() {
        let part = Part::new(&name.as_os_str().to_string_lossy())?;
        match part {
            Part::Plain(plain) if parts.is_empty() && names.peek().is_some() => start.push(plain),
            Part::Folders if matches!(parts.last(), Some(Part::Folders)) => {}
            part => parts.push(part),
        }
    }
    let mut walker = Walker { walk: Walk::default(), inside, n_links: 0 };
    let is_allowed = inside.is_none_or(|inside| super::files::is_inside(inside, &start));
    if is_allowed {
        walker.descend(&start, &parts, &mut Vec::new());
    } else {
        walker.walk.failures.push((start, Failure::Outside));
    }
    if pattern.ends_with('/') {
        walker.walk.found.retain(|path| path.is_dir());
    }
    walker.walk.found.sort();
    walker.walk.found.dedup();
    Ok(walker.walk)
}

/// A part of a glob between slashes.
enum Part {
    /// `**`
    Folders,
    /// A name.
    Plain(String),
    /// A name with wildcards.
    Wild(Pattern),
}

impl Part {
    fn new(text: &str) -> Result<Part, PatternError> {
        Ok(match text {
            "**" => Part::Folders,
            _ if text.contains(['*', '?', '[']) => Part::Wild(Pattern::new(text)?),
            _ => Part::Plain(text.to_owned()),
        })
    }

    fn matches(&self, name: &str) -> bool {
        match self {
            Part::Folders => true,
            Part::Plain(plain) => plain == name,
            Part::Wild(pattern) => pattern.matches(name),
        }
    }
}

struct Walker<'a> {
    walk: Walk,
    inside: Option<&'a Path>,
    n_links: usize,
}

impl Walker<'_> {
    /// Matches the entries of a folder. `linked` are the real folders of the links on the path to it.
    fn descend(&mut self, folder: &Path, parts: &[Part], linked: &mut Vec<PathBuf>) {
        let Some((part, rest)) = parts.split_first() else { return };
        self.walk.folders.push(folder.to_path_buf());
        if let Part::Plain(name) = part {
            let path = folder.join(name);
            if rest.is_empty() {
                if path.exists() {
                    self.walk.found.push(path);
                }
            } else if path.is_dir() {
                self.enter(folder, &path, path.is_symlink(), rest, linked);
            }
            return;
        }
        let is_recursive = matches!(part, Part::Folders);
        let (next, after) = match rest.split_first() {
            Some((next, after)) if is_recursive => (Some(next), after),
            None if is_recursive => (None, rest),
            _ => (Some(part), rest),
        };
        for Entry { name, is_folder, is_link } in self.list(folder) {
            let is_match = next.is_some_and(|next| next.matches(&name));
            if !(is_match || is_recursive && is_folder) {
                continue;
            }
            let path = folder.join(&name);
            if is_match && !after.is_empty() && is_folder {
                self.enter(folder, &path, is_link, after, linked);
            }
            if is_recursive && is_folder {
                if next.is_none() {
                    self.walk.found.push(path.clone());
                }
                self.enter(folder, &path, is_link, parts, linked);
            }
            if is_match && after.is_empty() {
                self.walk.found.push(path);
            }
        }
    }

    /// Descends into a folder unless it is a link that leads outside, in a cycle, or to too many folders.
    fn enter(
        &mut self,
        from: &Path,
        folder: &Path,
        is_link: bool,
        parts: &[Part],
        linked: &mut Vec<PathBuf>,
    ) {
        if !is_link && !folder.ends_with("..") {
            return self.descend(folder, parts, linked);
        }
        let (Ok(real_from), Ok(real)) = (from.canonicalize(), folder.canonicalize()) else { return };
        if self.inside.is_some_and(|inside| !super::files::is_inside(inside, &real)) {
            self.walk.failures.push((folder.to_path_buf(), Failure::Outside));
            return;
        }
        let is_circle = |above: &PathBuf| above.starts_with(&real);
        if is_link && (is_circle(&real_from) || linked.iter().any(is_circle)) {
            return;
        }
        self.n_links += 1;
        if self.n_links == LINKS_MAX {
            self.walk.failures.push((folder.to_path_buf(), Failure::TooMany));
        }
        if self.n_links < LINKS_MAX {
            linked.push(real_from);
            self.descend(folder, parts, linked);
            linked.pop();
        }
    }

    /// Lists the entries of a folder, by name: sorting all paths at the end then has nearly nothing to do.
    fn list(&mut self, folder: &Path) -> Vec<Entry> {
        let entries = match folder.read_dir() {
            Ok(entries) => entries,
            Err(error) => {
                let is_gone = matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory);
                if !is_gone {
                    self.walk.failures.push((folder.to_path_buf(), Failure::Unreadable(error)));
                }
                return Vec::new();
            }
        };
        let entry = |entry: io::Result<std::fs::DirEntry>| {
            let entry = entry.ok()?;
            let kind = entry.file_type().ok()?;
            let is_link = kind.is_symlink();
            let is_folder = if is_link { entry.path().is_dir() } else { kind.is_dir() };
            Some(Entry { name: entry.file_name().into_string().ok()?, is_folder, is_link })
        };
        let mut entries: Vec<Entry> = entries.filter_map(entry).collect();
        entries.sort_unstable_by(|first, second| first.name.cmp(&second.name));
        entries
    }
}

/// What is in a folder.
struct Entry {
    name: String,
    /// Whether it is a folder, or a link to one.
    is_folder: bool,
    is_link: bool,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn it_finds_what_the_glob_crate_finds() {
        let folder = tempfile::tempdir().unwrap();
        for path in [
            "a.rs",
            "src/a.rs",
            "src/b.txt",
            "src/x/a.rs",
            "src/x/y/a.rs",
            "src/x/y/.hidden.rs",
            "src/[1]/b.rs",
            "lib/a.rs",
        ] {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        for pattern in [
            "a.rs",
            "*.rs",
            "*",
            "**",
            "**/*",
            "**/*.rs",
            "src",
            "src/*",
            "src/**",
            "src/**/*.rs",
            "src/**/y/*.rs",
            "src/**/**/*.rs",
            "*/x/**/a.rs",
            "**/x/*",
            "**/y/**",
            "src/*/",
            "src/?/*.rs",
            "src/[[]1]/*",
            "./src/*.rs",
            "src/x/../*.rs",
            "nothing/**/*.rs",
            "src/a.rs/*",
            "{src,lib}/*.rs",
        ] {
            let expected: BTreeSet<PathBuf> = glob::glob(folder.path().join(pattern).to_str().unwrap())
                .unwrap()
                .map(Result::unwrap)
                .collect();
            let found = walk(folder.path(), pattern, None).unwrap();
            assert_eq!(found.found, Vec::from_iter(expected), "{pattern}");
            assert!(found.failures.is_empty(), "{pattern}");
        }
        assert!(walk(folder.path(), "src/***", None).is_err());
        assert!(walk(folder.path(), "src/[", None).is_err());
    }
}
