//! Commits, trees and texts of a repository, read from its files: running `git` would run programs that the repository's
//! configuration names. What is missing is an error, because a check that does not know must not pass.

use std::cmp::Reverse;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BinaryHeap, HashMap, HashSet};
use std::path::Path;

use gix_hash::ObjectId;
use gix_object::{Exists as _, FindExt as _, Kind};

use super::CannotTell;
use crate::managed::{GitFolders, git_folders};

/// Commits that are looked at for a merge base.
const COMMITS_MAX: usize = 2_000_000;
/// Trees within trees.
const DEPTH_MAX: usize = 128;
/// Entries of all trees of a commit.
const ENTRIES_MAX: usize = 4_000_000;
/// Tags that name tags.
const TAGS_MAX: usize = 5;
/// Steps after a name: `main~3^2`.
const STEPS_MAX: usize = 10_000;

/// The files of a commit: the object of each by its path.
pub type Files = BTreeMap<String, ObjectId>;

/// The repository around a project.
pub struct Repository {
    folders: GitFolders,
    objects: gix_odb::Handle,
    kind: gix_hash::Kind,
    /// Where the project is in it, with a slash at the end; nothing if it is its root.
    pub below: String,
    /// The commits whose parents a shallow clone does not have.
    shallow: HashSet<ObjectId>,
}

struct Commit {
    parents: Vec<ObjectId>,
    seconds: i64,
}

impl Repository {
    /// Opens the repository around a folder.
    pub fn open(root: &Path) -> Result<Repository, CannotTell> {
        let root = root.canonicalize().map_err(|error| CannotTell(format!("{}: {error}", root.display())))?;
        let found = root.ancestors().find_map(|above| Some((above.to_path_buf(), git_folders(above)?)));
        let Some((top, folders)) = found else {
            return Err(CannotTell(format!(
                "{} is in no Git repository, so that there is nothing to compare it with; `--diff -` reads a diff, which also needs one",
                root.display()
            )));
        };
        let config = folders.text("config").unwrap_or_default().to_lowercase();
        let says = |key: &str, value: &str| {
            let pair = |line: &str| {
                line.split_once('=').map(|(key, value)| (key.trim().to_owned(), value.trim().to_owned()))
            };
            config.lines().filter_map(pair).any(|(found, said)| found == key && said == value)
        };
        if says("refstorage", "reftable") {
            let message = "the repository keeps its refs as a reftable, which cannot be read; `git refs migrate --ref-format=files` changes that";
            return Err(CannotTell(message.to_owned()));
        }
        let kind = if says("objectformat", "sha256") { gix_hash::Kind::Sha256 } else { gix_hash::Kind::Sha1 };
        let objects = gix_odb::at(folders.objects(), kind)
            .map_err(|error| CannotTell(format!("the objects of the repository cannot be read: {error}")))?;
        let below = root.strip_prefix(&top).unwrap_or(Path::new("")).to_string_lossy().replace('\\', "/");
        let below = if below.is_empty() { below } else { below + "/" };
        let shallow = folders.text("shallow").unwrap_or_default();
        let shallow =
            shallow.lines().filter_map(|line| ObjectId::from_hex(line.trim().as_bytes()).ok()).collect();
        Ok(Repository { folders, objects, kind, below, shallow })
    }

    /// The commit that is checked out.
    pub fn head(&self) -> Result<ObjectId, CannotTell> {
        let commit = self.folders.head().and_then(|commit| ObjectId::from_hex(commit.as_bytes()).ok());
        commit.ok_or_else(|| {
            CannotTell(
                "the repository has no commit yet, so that there is nothing to compare with".to_owned(),
            )
        })
    }

    /// The first of some names that there is, with its commit.
    pub fn first_of(&self, names: &[&str]) -> Option<(String, ObjectId)> {
        names.iter().find_map(|name| Some(((*name).to_owned(), self.named(name)?)))
    }

    /// Finds the commit that a name means: a ref, the beginning of an id, `HEAD`, with steps such as `~2` and `^` after it.
    pub fn resolve(&self, name: &str) -> Result<ObjectId, CannotTell> {
        let end = name.find(['~', '^']).unwrap_or(name.len());
        let (start, mut steps) = name.split_at(end);
        let unknown = || {
            let advice = match self.shallow.is_empty() {
                true => "; fetch it first",
                false => "; this is a shallow clone: fetch it first, as with `fetch-depth: 0`",
            };
            CannotTell(format!("there is no commit {name:?} to compare with{advice}"))
        };
        let mut commit = self.named(start).ok_or_else(unknown)?;
        for _ in 0..STEPS_MAX {
            let Some(mark) = steps.chars().next() else { return Ok(commit) };
            let digits = steps[1..].bytes().take_while(u8::is_ascii_digit).count();
            let number = match &steps[1..1 + digits] {
                "" => 1,
                digits => {
                    digits.parse::<usize>().ok().filter(|number| *number <= STEPS_MAX).ok_or_else(unknown)?
                }
            };
            steps = &steps[1 + digits..];
            match mark {
                '~' => {
                    for _ in 0..number {
                        commit = *self.commit(commit)?.parents.first().ok_or_else(unknown)?;
                    }
                }
                _ if number == 0 => {}
                _ => commit = *self.commit(commit)?.parents.get(number - 1).ok_or_else(unknown)?,
            }
        }
        Err(unknown())
    }

    fn named(&self, name: &str) -> Option<ObjectId> {
        let found = match name {
            "HEAD" | "@" => self.folders.head(),
            _ if name.starts_with("refs/") => self.folders.resolve(name),
            _ => ["refs/tags/", "refs/heads/", "refs/remotes/"]
                .iter()
                .find_map(|folder| self.folders.resolve(&format!("{folder}{name}")))
                .or_else(|| self.folders.resolve(&format!("refs/remotes/{name}/HEAD"))),
        };
        let id = match found {
            Some(found) => ObjectId::from_hex(found.as_bytes()).ok()?,
            None => self.abbreviated(name)?,
        };
        self.peeled(id)
    }

    fn abbreviated(&self, name: &str) -> Option<ObjectId> {
        let is_id = name.len() >= 7 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_id || name.len() > self.kind.len_in_hex() {
            return None;
        }
        if name.len() == self.kind.len_in_hex() {
            let id = ObjectId::from_hex(name.as_bytes()).ok()?;
            return self.objects.exists(&id).then_some(id);
        }
        let prefix = gix_hash::Prefix::from_hex(name).ok()?;
        self.objects.lookup_prefix(prefix, None).ok()??.ok()
    }

    /// The commit that a tag names.
    fn peeled(&self, mut id: ObjectId) -> Option<ObjectId> {
        for _ in 0..TAGS_MAX {
            let mut bytes = Vec::new();
            let found = self.objects.find(&id, &mut bytes).ok()?;
            match found.kind {
                Kind::Commit => return Some(id),
                Kind::Tag => id = self.objects.find_tag(&id, &mut Vec::new()).ok()?.target(),
                _ => return None,
            }
        }
        None
    }

    /// The newest commit that two have in common.
    pub fn merge_base(&self, one: ObjectId, other: ObjectId) -> Result<ObjectId, CannotTell> {
        if one == other {
            return Ok(one);
        }
        const ONE: u8 = 1;
        const OTHER: u8 = 2;
        const BOTH: u8 = ONE | OTHER;
        // Its ancestors are common, too, but not the newest.
        const STALE: u8 = 4;
        let mut flags: HashMap<ObjectId, u8> = HashMap::from([(one, ONE), (other, OTHER)]);
        let mut queue: BinaryHeap<(i64, Reverse<ObjectId>)> = BinaryHeap::new();
        let mut known: HashMap<ObjectId, Commit> = HashMap::new();
        for id in [one, other] {
            let commit = self.commit(id)?;
            queue.push((commit.seconds, Reverse(id)));
            known.insert(id, commit);
        }
        let (mut common, mut is_cut) = (Vec::new(), false);
        while queue.iter().any(|(_, Reverse(id))| flags[id] & STALE == 0) {
            let Some((seconds, Reverse(id))) = queue.pop() else { break };
            let mut own = flags[&id];
            if own & BOTH == BOTH && own & STALE == 0 {
                common.push((seconds, id));
                // A commit that is common itself passes on that its ancestors are not the newest.
                own |= STALE;
            }
            is_cut |= self.shallow.contains(&id);
            for parent in known[&id].parents.clone() {
                let before = flags.get(&parent).copied().unwrap_or_default();
                let after = before | own;
                if after == before {
                    continue;
                }
                if known.len() > COMMITS_MAX {
                    return Err(CannotTell(format!("no common commit among {COMMITS_MAX}")));
                }
                let seconds = match known.entry(parent) {
                    Entry::Occupied(found) => found.get().seconds,
                    Entry::Vacant(place) => place.insert(self.commit(parent)?).seconds,
                };
                flags.insert(parent, after);
                queue.push((seconds, Reverse(parent)));
            }
        }
        // Where clocks were wrong, one was found before it turned out to be an ancestor of another.
        common.retain(|(_, id)| flags[id] & STALE == 0);
        common.into_iter().max().map(|(_, id)| id).ok_or_else(|| {
            CannotTell(match is_cut || !self.shallow.is_empty() {
                true => format!(
                    "this is a shallow clone, which does not have the commit that {} and {} have in common; fetch the whole history \
                     (`git fetch --unshallow`, or `fetch-depth: 0` in the checkout of the CI)",
                    short(one),
                    short(other)
                ),
                false => format!("{} and {} have no commit in common", short(one), short(other)),
            })
        })
    }

    fn commit(&self, id: ObjectId) -> Result<Commit, CannotTell> {
        let mut bytes = Vec::new();
        let commit = self.objects.find_commit(&id, &mut bytes).map_err(|error| {
            let advice = if self.shallow.is_empty() {
                ""
            } else {
                "; this is a shallow clone: fetch the whole history"
            };
            CannotTell(format!("the commit {} cannot be read: {error}{advice}", short(id)))
        })?;
        let seconds = commit.time().map(|time| time.seconds).unwrap_or_default();
        let parents = if self.shallow.contains(&id) { Vec::new() } else { commit.parents().collect() };
        Ok(Commit { parents, seconds })
    }

    /// Lists the wanted files of a commit below the project. Links and other repositories are not files.
    pub fn files(&self, commit: ObjectId, is_wanted: &dyn Fn(&str) -> bool) -> Result<Files, CannotTell> {
        let mut bytes = Vec::new();
        let unreadable = |error: &dyn std::fmt::Display| {
            CannotTell(format!("the files of {} cannot be read: {error}", short(commit)))
        };
        let mut id =
            self.objects.find_commit(&commit, &mut bytes).map_err(|error| unreadable(&error))?.tree();
        for name in self.below.split('/').filter(|name| !name.is_empty()) {
            let tree = self.objects.find_tree_iter(&id, &mut bytes).map_err(|error| unreadable(&error))?;
            let found =
                tree.filter_map(Result::ok).find(|entry| entry.filename == name && entry.mode.is_tree());
            match found.map(|entry| entry.oid.to_owned()) {
                Some(found) => id = found,
                None => return Ok(Files::new()),
            }
        }
        let mut files = Files::new();
        let mut n_entries = 0;
        let mut open: Vec<(String, ObjectId, usize)> = vec![(String::new(), id, 0)];
        while let Some((folder, id, depth)) = open.pop() {
            let tree = self.objects.find_tree_iter(&id, &mut bytes).map_err(|error| unreadable(&error))?;
            for entry in tree {
                let entry = entry.map_err(|error| unreadable(&error))?;
                n_entries += 1;
                if n_entries > ENTRIES_MAX || depth > DEPTH_MAX {
                    return Err(unreadable(&format!(
                        "more than {ENTRIES_MAX} files, or {DEPTH_MAX} folders in each other"
                    )));
                }
                // A path that is not UTF-8 is matched by no glob.
                let Ok(name) = std::str::from_utf8(entry.filename) else { continue };
                let path = format!("{folder}{name}");
                if entry.mode.is_tree() {
                    open.push((path + "/", entry.oid.to_owned(), depth + 1));
                } else if entry.mode.is_blob() && is_wanted(&path) {
                    files.insert(path, entry.oid.to_owned());
                }
            }
        }
        Ok(files)
    }

    /// The content of a file.
    pub fn content(&self, path: &str, id: &ObjectId) -> Result<Vec<u8>, CannotTell> {
        let mut bytes = Vec::new();
        match self.objects.find_blob(id, &mut bytes) {
            Ok(_) => Ok(bytes),
            Err(error) => Err(CannotTell(format!(
                "{path} as it was cannot be read: {error}; a clone without its objects has to fetch them first"
            ))),
        }
    }

    /// The id that a content has.
    pub fn id_of(&self, content: &[u8]) -> Option<ObjectId> {
        gix_object::compute_hash(self.kind, Kind::Blob, content).ok()
    }
}

/// An id as people write it.
pub fn short(id: ObjectId) -> String {
    id.to_hex_with_len(10).to_string()
}
