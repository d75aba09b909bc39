//! The commit and the ref of a checkout, and whether files differ from it, read from its files: running `git` would run programs
//! that the repository's configuration names.

use std::fs;
use std::path::{Path, PathBuf};

use gix_hash::ObjectId;
use gix_object::FindExt as _;

/// Larger files are not what they should be.
const SIZE_MAX_BYTES: u64 = 16 << 20;
/// How many names may lead to other names.
const STEPS_MAX: usize = 5;

/// What is checked out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckedOut {
    /// The commit.
    pub commit: Option<String>,
    /// The ref, unless a commit is checked out by itself.
    pub ref_name: Option<String>,
}

/// Tells what is checked out in a folder, or in one above it. Nothing where there is no repository.
pub fn checked_out(root: &Path) -> CheckedOut {
    root.ancestors().find_map(folders).map(|folders| folders.read()).unwrap_or_default()
}

/// Whether one of some files below a folder is not as it is in a commit. None where that cannot be read, as in a clone without
/// its objects.
pub fn differs<'a>(root: &Path, commit: &str, mut paths: impl Iterator<Item = &'a str>) -> Option<bool> {
    let (above, folders) = root.ancestors().find_map(|above| Some((above, folders(above)?)))?;
    let below = root.strip_prefix(above).ok()?;
    let commit = ObjectId::from_hex(commit.as_bytes()).ok()?;
    let objects = gix_odb::at(folders.shared.join("objects"), commit.kind()).ok()?;
    let mut commit_bytes = Vec::new();
    let tree = objects.find_commit(&commit, &mut commit_bytes).ok()?.tree();
    let mut tree_bytes = Vec::new();
    let tree = objects.find_tree_iter(&tree, &mut tree_bytes).ok()?;
    let is_same = |path: &str| -> Option<bool> {
        let entry = tree.lookup_entry_by_path(&objects, &mut Vec::new(), below.join(path)).ok()?;
        let content = fs::read(root.join(path)).ok()?;
        let id = gix_object::compute_hash(commit.kind(), gix_object::Kind::Blob, &content).ok()?;
        Some(entry.is_some_and(|entry| entry.oid == id))
    };
    paths.try_fold(false, |differs, path| Some(differs || !is_same(path)?))
}

/// Where a repository keeps what it knows: its own folder, and the one that its work trees share.
pub struct GitFolders {
    own: PathBuf,
    shared: PathBuf,
}

/// Finds them in a folder; nothing if it is not the root of a repository.
pub fn folders(folder: &Path) -> Option<GitFolders> {
    let path = folder.join(".git");
    if path.is_dir() {
        return Some(GitFolders { own: path.clone(), shared: path });
    }
    let own = text(&path)?.strip_prefix("gitdir:")?.trim().to_owned();
    let own = folder.join(own);
    let shared = text(&own.join("commondir")).map_or_else(|| own.clone(), |shared| own.join(shared.trim()));
    Some(GitFolders { own, shared })
}

impl GitFolders {
    fn read(&self) -> CheckedOut {
        let Some(head) = text(&self.own.join("HEAD")) else { return CheckedOut::default() };
        match head.trim().strip_prefix("ref:") {
            Some(name) => {
                let name = name.trim().to_owned();
                CheckedOut { commit: self.resolve(&name), ref_name: Some(name) }
            }
            None => CheckedOut { commit: commit(head.trim()), ref_name: None },
        }
    }

    /// Where the objects are.
    pub fn objects(&self) -> PathBuf {
        self.shared.join("objects")
    }

    /// One of the files that all work trees share.
    pub fn text(&self, name: &str) -> Option<String> {
        text(&self.shared.join(name))
    }

    /// The commit that is checked out.
    pub fn head(&self) -> Option<String> {
        self.read().commit
    }

    /// The commit that a ref names, by its whole name.
    pub fn resolve(&self, name: &str) -> Option<String> {
        let mut name = name.to_owned();
        for _ in 0..STEPS_MAX {
            if !name.starts_with("refs/") || name.split('/').any(|part| matches!(part, "" | "." | "..")) {
                return None;
            }
            let loose = [&self.own, &self.shared].into_iter().find_map(|folder| text(&folder.join(&name)));
            match loose {
                Some(found) => match found.trim().strip_prefix("ref:") {
                    Some(next) => name = next.trim().to_owned(),
                    None => return commit(found.trim()),
                },
                None => {
                    let packed = text(&self.shared.join("packed-refs"))?;
                    let found = packed.lines().find_map(|line| {
                        line.split_once(' ')
                            .filter(|(_, packed)| *packed == name)
                            .map(|(id, _)| id.to_owned())
                    })?;
                    return commit(&found);
                }
            }
        }
        None
    }
}

fn commit(text: &str) -> Option<String> {
    let is_id = matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_id.then(|| text.to_ascii_lowercase())
}

fn text(path: &Path) -> Option<String> {
    let is_small =
        fs::metadata(path).ok().is_some_and(|about| about.is_file() && about.len() <= SIZE_MAX_BYTES);
    if is_small { fs::read_to_string(path).ok() } else { None }
}
