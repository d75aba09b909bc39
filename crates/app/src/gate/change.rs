//! What a change changes: the source files that differ, as texts before and after, and which of their lines.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use similar::DiffTag;

use super::CannotTell;
use super::patch;
use super::repository::{Files, Repository};
use crate::difference;

/// Larger files are not source code with citations.
const FILE_BYTES_MAX: u64 = 16 << 20;
/// Where more lines differ, all between the first and the last of them counts as changed.
const LINES_COMPARED_MAX: usize = 20_000;
/// Files that were removed and added are compared with each other, at most so many pairs.
const PAIRS_MAX: usize = 10_000;
/// Threads that read files.
const THREADS_MAX: usize = 8;

/// A file that a change changes.
#[derive(Debug)]
pub struct ChangedFile {
    /// Its path; the one that it had, if it was removed.
    pub path: Arc<str>,
    /// The path that it had before, if it was renamed.
    pub renamed_from: Option<Arc<str>>,
    /// Its text before, unless it is new.
    pub before: Option<Arc<str>>,
    /// Its text after, unless it was removed.
    pub after: Option<Arc<str>>,
    /// The lines that differ.
    pub hunks: Vec<Hunk>,
}

/// Lines that differ, from 1 on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hunk {
    /// Before; empty where lines were only added.
    pub before: Range<u32>,
    /// After; empty where lines were only removed.
    pub after: Range<u32>,
}

/// What a change changes.
#[derive(Debug, Default)]
pub struct Change {
    /// The source files, by path.
    pub files: Vec<ChangedFile>,
    /// What was left out, and why.
    pub notes: Vec<String>,
}

/// The content of a file; nothing if it is a link or no file; or why it cannot be read.
pub type FileRead = Result<Option<Vec<u8>>, String>;

/// Texts of both sides, before they are compared.
type Pairs = BTreeMap<String, (Option<Arc<str>>, Option<Arc<str>>)>;

impl ChangedFile {
    /// Whether some of the lines after the change are new, or lines were removed between them.
    pub fn has_changed(&self, lines: &std::ops::RangeInclusive<u32>) -> bool {
        self.hunks.iter().any(|hunk| touches(&hunk.after, lines))
    }

    /// The same before the change.
    pub fn had_changed(&self, lines: &std::ops::RangeInclusive<u32>) -> bool {
        self.hunks.iter().any(|hunk| touches(&hunk.before, lines))
    }

    /// The path that it had before.
    pub fn path_before(&self) -> &Arc<str> {
        self.renamed_from.as_ref().unwrap_or(&self.path)
    }
}

/// An empty range is between the line before its start and its start.
fn touches(hunk: &Range<u32>, lines: &std::ops::RangeInclusive<u32>) -> bool {
    match hunk.is_empty() {
        true => hunk.start > *lines.start() && hunk.start <= *lines.end(),
        false => hunk.start <= *lines.end() && hunk.end > *lines.start(),
    }
}

/// Compares the files of a commit with those on disk. `paths` are the source files that are there.
pub fn of_work_tree(
    repository: &Repository,
    root: &Path,
    before: &Files,
    paths: &[Arc<str>],
) -> Result<Change, CannotTell> {
    let mut change = Change::default();
    let mut pairs = Pairs::new();
    let there: BTreeSet<&str> = paths.iter().map(|path| &**path).collect();
    for (path, read) in read_all(root, paths) {
        let id = before.get(&*path);
        let bytes = match read {
            Ok(Some(bytes)) => bytes,
            Ok(None) => continue,
            Err(problem) => {
                change.notes.push(format!("{path} was left out: {problem}"));
                continue;
            }
        };
        if id.is_some_and(|id| repository.id_of(&bytes).as_ref() == Some(id)) {
            continue;
        }
        let old = id.map(|id| repository.content(&path, id)).transpose()?;
        change.add(&mut pairs, &path, old, Some(bytes));
    }
    for (path, id) in before.iter().filter(|(path, _)| !there.contains(path.as_str())) {
        if fs::symlink_metadata(root.join(path)).is_ok_and(|about| about.is_file()) {
            continue;
        }
        let old = repository.content(path, id)?;
        change.add(&mut pairs, path, Some(old), None);
    }
    change.compare(pairs, &HashMap::new());
    Ok(change)
}

/// Applies a diff to the files of a commit. What `is_source` leaves out is not looked at.
pub fn of_diff(
    repository: &Repository,
    before: &Files,
    diff: &str,
    is_source: &dyn Fn(&str) -> bool,
) -> Result<Change, CannotTell> {
    let refused = |bad: patch::BadDiff| CannotTell(bad.to_string());
    let mut change = Change::default();
    let mut pairs = Pairs::new();
    let mut renamed = HashMap::new();
    for patch in patch::read(diff).map_err(refused)? {
        let below = |path: &String| path.strip_prefix(repository.below.as_str()).map(str::to_owned);
        let (old_path, new_path) =
            (patch.before.as_ref().and_then(below), patch.after.as_ref().and_then(below));
        let is_wanted = |path: &&String| is_source(path);
        let (old_path, new_path) = (old_path.as_ref().filter(is_wanted), new_path.as_ref().filter(is_wanted));
        let Some(shown) = new_path.or(old_path) else { continue };
        if patch.is_binary {
            change.notes.push(format!("{shown} was left out: it is binary"));
            continue;
        }
        let old = match old_path {
            Some(path) => {
                let missing = || {
                    refused(patch.wrong(format!("{path} is not in the commit that the diff is applied to")))
                };
                Some(repository.content(path, before.get(path).ok_or_else(missing)?)?)
            }
            // It was no source before, or is new.
            None => None,
        };
        let Ok(text) = String::from_utf8(old.clone().unwrap_or_default()) else {
            change.notes.push(format!("{shown} was left out: it is not UTF-8 text"));
            continue;
        };
        let new = match new_path {
            Some(_) => Some(patch.apply(&text).map_err(refused)?.into_bytes()),
            None => None,
        };
        match (old_path, new_path) {
            (Some(old_path), Some(new_path)) if old_path != new_path => {
                renamed.insert(new_path.clone(), old_path.clone());
                change.add(&mut pairs, old_path, old, None);
                change.add(&mut pairs, new_path, None, new);
            }
            _ => change.add(&mut pairs, shown, old, new),
        }
    }
    change.compare(pairs, &renamed);
    Ok(change)
}

impl Change {
    fn add(&mut self, pairs: &mut Pairs, path: &str, before: Option<Vec<u8>>, after: Option<Vec<u8>>) {
        let text = |bytes: Vec<u8>| match bytes.contains(&0) {
            true => Err("it is binary"),
            false => String::from_utf8(bytes).map(Arc::<str>::from).map_err(|_| "it is not UTF-8 text"),
        };
        match (before.map(text).transpose(), after.map(text).transpose()) {
            (Ok(before), Ok(after)) => {
                let pair = pairs.entry(path.to_owned()).or_default();
                pair.0 = before.or(pair.0.take());
                pair.1 = after.or(pair.1.take());
            }
            // Whoever makes a file unreadable takes its citations away.
            (Ok(Some(before)), Err(problem)) => {
                self.notes.push(format!("{path} cannot be read after the change: {problem}"));
                pairs.insert(path.to_owned(), (Some(before), None));
            }
            (_, Err(problem)) | (Err(problem), _) => {
                self.notes.push(format!("{path} was left out: {problem}"))
            }
        }
    }

    fn compare(&mut self, mut pairs: Pairs, renamed: &HashMap<String, String>) {
        pairs.retain(|_, (before, after)| match (before, after) {
            (Some(before), Some(after)) => !before.lines().eq(after.lines()),
            _ => true,
        });
        let mut renamed = renamed.clone();
        for (after, before) in similar_files(&pairs) {
            renamed.entry(after).or_insert(before);
        }
        for (new, old) in &renamed {
            // Two files may come from one.
            if let Some((before, None)) = pairs.get(old).cloned()
                && let Some(pair) = pairs.get_mut(new)
            {
                pair.0 = before;
                pairs.remove(old);
            }
        }
        self.files = pairs
            .into_iter()
            .map(|(path, (before, after))| ChangedFile {
                hunks: hunks(before.as_deref().unwrap_or_default(), after.as_deref().unwrap_or_default()),
                renamed_from: renamed
                    .get(&path)
                    .filter(|_| before.is_some())
                    .map(|path| path.as_str().into()),
                path: path.into(),
                before,
                after,
            })
            .collect();
    }
}

/// Finds the files that were removed under one name and added under another: at least half of their lines are the same.
fn similar_files(pairs: &Pairs) -> Vec<(String, String)> {
    let lines = |text: &str| -> HashMap<String, usize> {
        let mut counts = HashMap::new();
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            *counts.entry(line.to_owned()).or_default() += 1;
        }
        counts
    };
    let removed: Vec<_> = pairs
        .iter()
        .filter_map(|(path, pair)| Some((path, lines(pair.0.as_ref().filter(|_| pair.1.is_none())?))))
        .collect();
    let added: Vec<_> = pairs
        .iter()
        .filter_map(|(path, pair)| Some((path, lines(pair.1.as_ref().filter(|_| pair.0.is_none())?))))
        .collect();
    if removed.len().saturating_mul(added.len()) > PAIRS_MAX {
        return Vec::new();
    }
    let mut alike = Vec::new();
    for (old, before) in &removed {
        for (new, after) in &added {
            let n_same: usize =
                before.iter().map(|(line, count)| count.min(after.get(line).unwrap_or(&0))).sum();
            let n_most = before.values().sum::<usize>().max(after.values().sum()).max(1);
            if n_same * 2 >= n_most && n_same > 0 {
                alike.push((n_same * 1_000 / n_most, (*new).clone(), (*old).clone()));
            }
        }
    }
    alike.sort_by(|one, other| other.cmp(one));
    let (mut taken, mut given) = (BTreeSet::new(), BTreeSet::new());
    let mut found = Vec::new();
    for (_, new, old) in alike {
        if !taken.contains(&old) && !given.contains(&new) {
            taken.insert(old.clone());
            given.insert(new.clone());
            found.push((new, old));
        }
    }
    found
}

/// Compares two texts line by line. How lines end does not count.
pub fn hunks(before: &str, after: &str) -> Vec<Hunk> {
    let (before, after): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let n_same = before.iter().zip(&after).take_while(|(old, new)| old == new).count();
    let (old, new) = (&before[n_same..], &after[n_same..]);
    let n_same_end = old.iter().rev().zip(new.iter().rev()).take_while(|(old, new)| old == new).count();
    let (old, new) = (&old[..old.len() - n_same_end], &new[..new.len() - n_same_end]);
    let range = |range: Range<usize>| (n_same + range.start) as u32 + 1..(n_same + range.end) as u32 + 1;
    if old.len() + new.len() > LINES_COMPARED_MAX {
        return vec![Hunk { before: range(0..old.len()), after: range(0..new.len()) }];
    }
    let found = difference::lines(old, new);
    let changed = found.iter().filter(|found| found.tag() != DiffTag::Equal);
    changed.map(|found| Hunk { before: range(found.old_range()), after: range(found.new_range()) }).collect()
}

/// Reads files on several threads. Nothing where a path leads through a link, which a commit does not have as a file.
fn read_all(root: &Path, paths: &[Arc<str>]) -> Vec<(Arc<str>, FileRead)> {
    let n_threads = thread::available_parallelism().map_or(1, usize::from).min(THREADS_MAX);
    let real_root = root.canonicalize().unwrap_or_else(|_| root.to_path_buf());
    let some = |paths: &[Arc<str>]| {
        let mut folders: HashMap<PathBuf, bool> = HashMap::new();
        let read = |path: &Arc<str>| {
            let folder = Path::new(&**path).parent().unwrap_or(Path::new(""));
            let is_plain = folders.entry(folder.to_path_buf()).or_insert_with(|| {
                root.join(folder).canonicalize().is_ok_and(|real| real == real_root.join(folder))
            });
            (path.clone(), if *is_plain { read_one(&root.join(&**path)) } else { Ok(None) })
        };
        paths.iter().map(read).collect::<Vec<_>>()
    };
    let at_once = paths.len().div_ceil(n_threads).max(64);
    thread::scope(|scope| {
        let started: Vec<_> = paths.chunks(at_once).map(|paths| scope.spawn(move || some(paths))).collect();
        started.into_iter().flat_map(|thread| thread.join().unwrap_or_default()).collect()
    })
}

/// Reads a file; nothing if it is a link or no file.
pub fn read_one(path: &Path) -> FileRead {
    let about = match fs::symlink_metadata(path) {
        Ok(about) => about,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.to_string()),
    };
    if !about.is_file() {
        return Ok(None);
    }
    if about.len() > FILE_BYTES_MAX {
        return Err(format!("it has more than {FILE_BYTES_MAX} bytes"));
    }
    fs::read(path).map(Some).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_differ_are_told_on_both_sides() {
        let found = |before, after| -> Vec<(Range<u32>, Range<u32>)> {
            hunks(before, after).into_iter().map(|hunk| (hunk.before, hunk.after)).collect()
        };
        assert_eq!(found("a\nb\nc\n", "a\nB\nc\n"), [(2..3, 2..3)]);
        assert_eq!(found("a\nc\n", "a\nb\nc\n"), [(2..2, 2..3)]);
        assert_eq!(found("a\nb\nc\n", "a\nc\n"), [(2..3, 2..2)]);
        assert_eq!(found("a\r\nb\r\n", "a\nb"), []);
        assert_eq!(found("", "a\n"), [(1..1, 1..2)]);
    }

    #[test]
    fn removing_a_line_touches_what_is_around_it_alone() {
        let removed = 5..5;
        assert!(touches(&removed, &(3..=6)));
        assert!(touches(&removed, &(4..=5)));
        assert!(!touches(&removed, &(5..=9)), "before its first line");
        assert!(!touches(&removed, &(1..=4)), "after its last line");
        assert!(touches(&(4..6), &(5..=9)));
        assert!(!touches(&(4..6), &(6..=9)));
    }

    #[test]
    fn a_renamed_file_is_found_by_its_lines() {
        let text = |text: &str| Some(Arc::<str>::from(text));
        let mut change = Change::default();
        let pairs = Pairs::from([
            ("old.rs".to_owned(), (text("one\ntwo\nthree\n"), None)),
            ("new.rs".to_owned(), (None, text("one\ntwo\nfour\n"))),
            ("other.rs".to_owned(), (None, text("five\n"))),
        ]);
        change.compare(pairs, &HashMap::new());
        let found: Vec<_> =
            change.files.iter().map(|file| (&*file.path, file.renamed_from.as_deref())).collect();
        assert_eq!(found, [("new.rs", Some("old.rs")), ("other.rs", None)]);
        assert_eq!(change.files[0].hunks, [Hunk { before: 3..4, after: 3..4 }]);
    }
}
