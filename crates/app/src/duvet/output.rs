//! Writes files: the only module of `duvet` that does.
//!
//! The repository that `duvet` runs in may be hostile: its configuration names paths, and it may have links anywhere.
//! So a file in the project is written under a temporary name in its folder and then renamed, and no link is followed on
//! the way. Only a path that the user typed may lead out of the project, unless the user allows more.

use std::fs::{self, File};
use std::hash::{BuildHasher as _, RandomState};
use std::io::{self, BufWriter, Write};
use std::path::{Component, Path, PathBuf};

use super::arguments::WriteArguments;
use super::{Failure, progress};

mod folder;

use folder::{Entry, Folder};

/// How many temporary names are tried; they are random, so the first is nearly always free.
const NAMES_MAX: u32 = 16;
const BUFFER_BYTES: usize = 1 << 16;

/// The origin of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChosenBy {
    /// The user, on the command line or in the environment.
    User,
    /// The configuration of the project, or a document.
    Project,
}

/// Where files may be written.
#[derive(Clone, Debug)]
pub struct Outputs {
    root: PathBuf,
    is_outside_allowed: bool,
}

impl Outputs {
    /// Allows to write in a project.
    pub fn new(root: &Path, arguments: &WriteArguments) -> Outputs {
        Outputs { root: root.to_path_buf(), is_outside_allowed: arguments.write_outside }
    }

    /// Allows writing in a project, and nowhere else.
    pub fn confined(root: &Path) -> Outputs {
        Outputs { root: root.to_path_buf(), is_outside_allowed: false }
    }

    /// Allows writing in a folder that the user chose: as a part of the project if it is in it, otherwise by itself.
    pub fn inside(&self, folder: &Path) -> Outputs {
        match relative(&self.root, folder) {
            Some(_) => self.clone(),
            None => Outputs { root: self.root.join(folder), ..self.clone() },
        }
    }

    /// Writes a file and reports it.
    pub fn write(
        &self,
        path: &Path,
        by: ChosenBy,
        writer: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), Failure> {
        self.replace(path, by, writer).map_err(Failure::new)?;
        progress("Wrote", &path.display().to_string());
        Ok(())
    }

    /// Writes a file atomically, replacing an existing one.
    pub fn replace(
        &self,
        path: &Path,
        by: ChosenBy,
        writer: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), String> {
        let written = match relative(&self.root, path) {
            _ if self.is_outside_allowed => write_anywhere(&self.root.join(path), writer),
            Some(inside) => write_inside(&self.root, &inside, by, writer),
            None if by == ChosenBy::User => write_anywhere(&self.root.join(path), writer),
            None => Err(forbidden("is outside of the project")),
        };
        written.map_err(|error| format!("{}: {error}", path.display()))
    }

    /// Removes a file of the project, if there is one; never through a link.
    pub fn remove(&self, path: &Path) -> Result<(), String> {
        let problem = |error: io::Error| format!("{}: {error}", path.display());
        let inside =
            relative(&self.root, path).ok_or_else(|| problem(forbidden("is outside of the project")))?;
        remove_inside(&self.root, &inside).map_err(problem)
    }

    /// Writes a file unless something exists at its path. Returns whether it was written.
    pub fn create(&self, path: &Path, text: &str) -> Result<bool, String> {
        let is_there = self.root.join(path).symlink_metadata().is_ok();
        if !is_there {
            self.replace(path, ChosenBy::Project, |out| out.write_all(text.as_bytes()))?;
        }
        Ok(!is_there)
    }
}

fn forbidden(problem: &str) -> io::Error {
    io::Error::other(format!("{problem}; pass `--write-outside` to allow it"))
}

/// Returns a path relative to the root if it stays in it, judged by its names alone.
fn relative(root: &Path, path: &Path) -> Option<PathBuf> {
    let mut inside = PathBuf::new();
    for part in root.join(path).strip_prefix(root).ok()?.components() {
        match part {
            Component::Normal(name) => inside.push(name),
            Component::CurDir => {}
            Component::ParentDir if inside.pop() => {}
            _ => return None,
        }
    }
    inside.file_name().is_some().then_some(inside)
}

fn remove_inside(root: &Path, inside: &Path) -> io::Result<()> {
    let mut folder = Folder::open(root)?;
    for part in inside.parent().unwrap_or(Path::new("")) {
        folder = match folder.entry(part)? {
            Some(Entry::Folder) => folder.enter(part)?,
            _ => return Ok(()),
        };
    }
    let name = inside.file_name().unwrap_or_default();
    if let Some(Entry::File(_)) = folder.entry(name)? {
        folder.remove(name);
    }
    Ok(())
}

/// Writes a file in a folder without following a link anywhere below it.
fn write_inside(
    root: &Path,
    inside: &Path,
    by: ChosenBy,
    writer: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    fs::create_dir_all(root)?;
    let mut folder = Folder::open(root)?;
    for part in inside.parent().unwrap_or(Path::new("")) {
        folder = match folder.entry(part)? {
            None => folder.make(part)?,
            Some(Entry::Folder) => folder.enter(part)?,
            Some(Entry::Link) => return Err(forbidden(&format!("{} is a link", part.to_string_lossy()))),
            Some(_) => return Err(io::Error::other(format!("{} is not a folder", part.to_string_lossy()))),
        };
    }
    let name = inside.file_name().unwrap_or_default();
    let permissions = match folder.entry(name)? {
        None => None,
        Some(Entry::File(permissions)) => Some(permissions),
        Some(Entry::Link) => return Err(forbidden("is a link")),
        Some(Entry::Folder) => return Err(io::Error::other("is a folder")),
        // A pipe is meant to be written to; repositories have none.
        Some(Entry::Special) if by == ChosenBy::User => return write_to(folder.special(name)?, writer),
        Some(Entry::Special) => return Err(io::Error::other("is not a file")),
    };
    let (draft, file) = new_file(|draft| folder.create(draft.as_ref()))?;
    let written = permissions
        .map_or(Ok(()), |permissions| file.set_permissions(permissions))
        .and_then(|()| write_to(file, writer))
        .and_then(|()| folder.rename(draft.as_ref(), name));
    if written.is_err() {
        folder.remove(draft.as_ref());
    }
    written
}

/// Writes a file at the user's path, following links.
fn write_anywhere(path: &Path, writer: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let existing = match File::options().write(true).open(path) {
        Ok(file) => Some(file),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    let metadata = existing.as_ref().map(File::metadata).transpose()?;
    // Pipes and devices are written to, not replaced.
    if let (Some(file), false) = (existing, metadata.as_ref().is_none_or(fs::Metadata::is_file)) {
        return write_to(file, writer);
    }
    // The target of a link is changed, not the link.
    let path = match fs::canonicalize(path) {
        Ok(path) => path,
        Err(_) if path.is_symlink() => return write_to(File::create(path)?, writer),
        Err(_) => path.to_owned(),
    };
    let created = new_file(|draft| File::create_new(path.with_file_name(draft)));
    let (draft, file) = match created {
        Ok((draft, file)) => (path.with_file_name(draft), file),
        // The folder may be read-only.
        Err(error) if metadata.is_some() && is_fixed(&error) => {
            return write_to(File::create(&path)?, writer);
        }
        Err(error) => return Err(error),
    };
    let permissions = metadata.map(|metadata| metadata.permissions());
    let is_there = permissions.is_some();
    let written = permissions
        .map_or(Ok(()), |permissions| file.set_permissions(permissions))
        .and_then(|()| write_to(file, writer));
    let renamed = written.and_then(|()| match fs::rename(&draft, &path) {
        // The file may be a mount point.
        Err(error) if is_there && is_fixed(&error) => {
            fs::copy(&draft, &path).and_then(|_| fs::remove_file(&draft))
        }
        renamed => renamed,
    });
    if renamed.is_err() {
        let _ = fs::remove_file(&draft);
    }
    renamed
}

/// Whether a file cannot be replaced although it may be written to.
fn is_fixed(error: &io::Error) -> bool {
    let kinds =
        [io::ErrorKind::PermissionDenied, io::ErrorKind::ReadOnlyFilesystem, io::ErrorKind::ResourceBusy];
    kinds.contains(&error.kind())
}

fn write_to(file: File, writer: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(BUFFER_BYTES, file);
    writer(&mut out)?;
    out.flush()
}

/// Creates a file under an unguessable name.
fn new_file(create: impl Fn(&str) -> io::Result<File>) -> io::Result<(String, File)> {
    let mut taken = io::Error::other("no new name is free");
    for _ in 0..NAMES_MAX {
        let name = format!(".duvet-{:016x}.tmp", RandomState::new().hash_one(std::process::id()));
        match create(&name) {
            Ok(file) => return Ok((name, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => taken = error,
            Err(error) => return Err(error),
        }
    }
    Err(taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_leave_the_root_are_not_inside() {
        let inside = |path: &str| relative(Path::new("/a/b"), Path::new(path));
        for (path, expected) in
            [("c", "c"), ("./c/d", "c/d"), ("c/../d", "d"), ("/a/b/c", "c"), ("/a/b/./c/../d", "d")]
        {
            assert_eq!(inside(path).as_deref(), Some(Path::new(expected)), "{path}");
        }
        for path in ["..", "../c", "c/../../d", "/a/c", "/a/bc", "/a/b/../c", "", ".", "c/..", "/a/b"] {
            assert_eq!(inside(path), None, "{path}");
        }
    }
}
