//! An open folder: changes of its path do not matter, and its entries are reached
//! without following links.

use std::ffi::OsStr;
use std::fs::{File, Permissions};
use std::io;
use std::path::Path;

/// The entry of a folder.
pub enum Entry {
    /// A file, and its permissions.
    File(Permissions),
    /// Another folder.
    Folder,
    /// A link to whatever.
    Link,
    /// A pipe, a socket or a device.
    Special,
}

#[cfg(unix)]
pub use unix::Folder;

#[cfg(unix)]
mod unix {
    use std::os::fd::OwnedFd;
    use std::os::unix::fs::PermissionsExt as _;

    use nix::errno::Errno;
    use nix::fcntl::{AtFlags, OFlag, openat, renameat};
    use nix::sys::stat::{Mode, SFlag, fstatat, mkdirat};
    use nix::unistd::{UnlinkatFlags, unlinkat};

    use super::*;

    /// An open folder.
    pub struct Folder(OwnedFd);

    impl Folder {
        /// Opens a folder by a trusted path, following links.
        pub fn open(path: &Path) -> io::Result<Folder> {
            Ok(Folder(File::open(path)?.into()))
        }

        /// Looks up a name.
        pub fn entry(&self, name: &OsStr) -> io::Result<Option<Entry>> {
            let found = match fstatat(&self.0, name, AtFlags::AT_SYMLINK_NOFOLLOW) {
                Ok(found) => found,
                Err(Errno::ENOENT) => return Ok(None),
                Err(error) => return Err(error.into()),
            };
            let kind = SFlag::from_bits_truncate(found.st_mode) & SFlag::S_IFMT;
            Ok(Some(match kind {
                SFlag::S_IFREG => Entry::File(Permissions::from_mode(found.st_mode & 0o777)),
                SFlag::S_IFDIR => Entry::Folder,
                SFlag::S_IFLNK => Entry::Link,
                _ => Entry::Special,
            }))
        }

        /// Opens a folder in it.
        pub fn enter(&self, name: &OsStr) -> io::Result<Folder> {
            Ok(Folder(self.open_at(name, OFlag::O_RDONLY | OFlag::O_DIRECTORY)?))
        }

        /// Makes a folder in it.
        pub fn make(&self, name: &OsStr) -> io::Result<Folder> {
            match mkdirat(&self.0, name, Mode::from_bits_truncate(0o777)) {
                // Another process was faster.
                Ok(()) | Err(Errno::EEXIST) => self.enter(name),
                Err(error) => Err(error.into()),
            }
        }

        /// Creates a new file in it.
        pub fn create(&self, name: &OsStr) -> io::Result<File> {
            Ok(self.open_at(name, OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL)?.into())
        }

        /// Opens a pipe or a device in it.
        pub fn special(&self, name: &OsStr) -> io::Result<File> {
            Ok(self.open_at(name, OFlag::O_WRONLY | OFlag::O_NOCTTY)?.into())
        }

        /// Renames a file, replacing an existing one.
        pub fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
            Ok(renameat(&self.0, from, &self.0, to)?)
        }

        /// Removes a file, if it is there.
        pub fn remove(&self, name: &OsStr) {
            let _ = unlinkat(&self.0, name, UnlinkatFlags::NoRemoveDir);
        }

        fn open_at(&self, name: &OsStr, flags: OFlag) -> io::Result<OwnedFd> {
            let flags = flags | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
            Ok(openat(&self.0, name, flags, Mode::from_bits_truncate(0o666))?)
        }
    }
}

#[cfg(not(unix))]
pub use other::Folder;

/// Without handles of folders, links are checked by path. A process that can change the folder during a write could
/// insert one; a repository that is only checked out cannot.
#[cfg(not(unix))]
mod other {
    use std::fs;
    use std::path::PathBuf;

    use super::*;

    /// A folder by its path.
    pub struct Folder(PathBuf);

    impl Folder {
        /// Opens a folder by a trusted path, following links.
        pub fn open(path: &Path) -> io::Result<Folder> {
            Ok(Folder(path.to_path_buf()))
        }

        /// Looks up a name.
        pub fn entry(&self, name: &OsStr) -> io::Result<Option<Entry>> {
            let found = match self.0.join(name).symlink_metadata() {
                Ok(found) => found,
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                Err(error) => return Err(error),
            };
            let kind = found.file_type();
            Ok(Some(if kind.is_symlink() {
                Entry::Link
            } else if kind.is_dir() {
                Entry::Folder
            } else if kind.is_file() {
                Entry::File(found.permissions())
            } else {
                Entry::Special
            }))
        }

        /// Opens a folder in it.
        pub fn enter(&self, name: &OsStr) -> io::Result<Folder> {
            Ok(Folder(self.0.join(name)))
        }

        /// Makes a folder in it.
        pub fn make(&self, name: &OsStr) -> io::Result<Folder> {
            fs::create_dir(self.0.join(name))?;
            self.enter(name)
        }

        /// Creates a new file in it.
        pub fn create(&self, name: &OsStr) -> io::Result<File> {
            File::create_new(self.0.join(name))
        }

        /// Opens a pipe or a device in it.
        pub fn special(&self, name: &OsStr) -> io::Result<File> {
            File::options().write(true).open(self.0.join(name))
        }

        /// Renames a file, replacing an existing one.
        pub fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
            fs::rename(self.0.join(from), self.0.join(to))
        }

        /// Removes a file, if it is there.
        pub fn remove(&self, name: &OsStr) {
            let _ = fs::remove_file(self.0.join(name));
        }
    }
}
