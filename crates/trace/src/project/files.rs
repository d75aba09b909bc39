//! Reads files, normalizes paths, and detects changes.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use crate::diagnostic::{Code, Diagnostic, Place};

/// Writes a path without detours (`.`, `a/..`), relative to the root if it is below it.
pub fn tidy(root: &Path, path: &Path) -> PathBuf {
    let mut tidy = PathBuf::new();
    for part in path.strip_prefix(root).unwrap_or(path).components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if matches!(tidy.components().next_back(), Some(Component::Normal(_))) => {
                tidy.pop();
            }
            part => tidy.push(part),
        }
    }
    tidy
}

/// Shows a path relative to the project.
pub fn show(root: &Path, path: &Path) -> Arc<str> {
    let relative = path.strip_prefix(root).unwrap_or(path);
    relative.to_string_lossy().into()
}

/// Why a file could not be read.
#[derive(Debug)]
pub enum Reading {
    /// An error of the system.
    Failed(io::Error),
    /// It is a folder.
    Folder,
    /// It is a pipe or a device.
    Special,
    /// It is too large.
    Large {
        /// How large it is.
        size_bytes: u64,
        /// How large it may be.
        size_max_bytes: u64,
    },
    /// It is not UTF-8 from some line on.
    NotText {
        /// The line, from 1 on.
        line: u32,
        /// Whether it looks binary.
        is_binary: bool,
    },
}

/// Larger files are not source code.
const FILE_SIZE_MAX_BYTES: u64 = 100 << 20;
/// How much of a buffer is kept for the next file.
const BUFFER_SIZE_MAX_BYTES: usize = 1 << 20;

/// Reads a file as text.
pub fn read(path: &Path) -> Result<String, Reading> {
    read_up_to(path, FILE_SIZE_MAX_BYTES)
}

/// Reads a file as text of at most some size.
pub fn read_up_to(path: &Path, size_max_bytes: u64) -> Result<String, Reading> {
    let mut bytes = Vec::new();
    let size = read_into(&mut bytes, path, size_max_bytes)?;
    bytes.truncate(size);
    String::from_utf8(bytes).map_err(|error| not_text(error.as_bytes(), error.utf8_error()))
}

/// Reads a file as text and passes it to a callback. Many files share one buffer.
pub fn read_with<T>(path: &Path, run: impl FnOnce(&str) -> T) -> Result<T, Reading> {
    thread_local! {
        static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    }
    BUFFER.with_borrow_mut(|bytes| {
        // Room for nearly every file at once: what is not used of it costs nothing, growing would copy.
        bytes.reserve(BUFFER_SIZE_MAX_BYTES - bytes.len().min(BUFFER_SIZE_MAX_BYTES));
        let size = read_into(bytes, path, FILE_SIZE_MAX_BYTES)?;
        let text = std::str::from_utf8(&bytes[..size]).map_err(|error| not_text(&bytes[..size], error));
        let done = text.map(run);
        // A large file must not keep its memory forever.
        if bytes.capacity() > BUFFER_SIZE_MAX_BYTES {
            *bytes = Vec::new();
        }
        done
    })
}

/// Reads a file into the start of a buffer, which keeps its length where that is enough. Returns how much was read.
fn read_into(bytes: &mut Vec<u8>, path: &Path, size_max_bytes: u64) -> Result<usize, Reading> {
    let mut file = open(path).map_err(Reading::Failed)?;
    let metadata = file.metadata().map_err(Reading::Failed)?;
    if metadata.is_dir() {
        return Err(Reading::Folder);
    }
    if !metadata.is_file() {
        return Err(Reading::Special);
    }
    if metadata.len() > size_max_bytes {
        return Err(Reading::Large { size_bytes: metadata.len(), size_max_bytes });
    }
    let size = metadata.len() as usize;
    if size == 0 {
        // Some systems show files without a size that have something in them.
        bytes.clear();
        return (&mut file).take(size_max_bytes).read_to_end(bytes).map_err(Reading::Failed);
    }
    // What is written while it is read belongs to the next reading.
    if bytes.len() < size {
        bytes.resize(size, 0);
    }
    let mut n_read = 0;
    while n_read < size {
        match file.read(&mut bytes[n_read..size]) {
            Ok(0) => break,
            Ok(n_more) => n_read += n_more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(Reading::Failed(error)),
        }
    }
    Ok(n_read)
}

fn not_text(bytes: &[u8], error: std::str::Utf8Error) -> Reading {
    Reading::NotText {
        line: memchr::memchr_iter(b'\n', &bytes[..error.valid_up_to()]).count() as u32 + 1,
        is_binary: memchr::memchr(0, bytes).is_some(),
    }
}

/// Opens a file without blocking on a pipe.
#[cfg(unix)]
fn open(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt as _;
    match File::options().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path) {
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => File::open(path),
        opened => opened,
    }
}

#[cfg(not(unix))]
fn open(path: &Path) -> io::Result<File> {
    File::open(path)
}

impl Reading {
    /// Whether the file does not exist.
    pub fn is_missing(&self) -> bool {
        let missing = [io::ErrorKind::NotFound, io::ErrorKind::NotADirectory];
        matches!(self, Reading::Failed(error) if missing.contains(&error.kind()))
    }

    /// Describes it.
    pub fn diagnostic(&self, path: &Arc<str>, code: Code) -> Diagnostic {
        let place = Place::file(path.clone(), "");
        let (message, place, help) = match self {
            Reading::Failed(error) => (format!("cannot be read: {error}"), place, None),
            Reading::Folder => (
                "is a folder".to_owned(),
                place,
                Some("a pattern such as `src/**/*.rs` matches the files in it alone"),
            ),
            Reading::Special => ("is not a file".to_owned(), place, None),
            Reading::Large { size_bytes, size_max_bytes } => (
                format!("is {} MiB large; the most is {} MiB", size_bytes >> 20, size_max_bytes >> 20),
                place,
                Some("leave it out of the pattern"),
            ),
            Reading::NotText { line, is_binary } => (
                "is not UTF-8 text".to_owned(),
                Place { line: *line, column: 1, ..place },
                Some(if *is_binary { "leave it out of the pattern" } else { "save it as UTF-8" }),
            ),
        };
        let diagnostic = Diagnostic::error(code, format!("{path} {message}")).at(place);
        match help {
            Some(help) => diagnostic.help(help),
            None => diagnostic,
        }
    }
}

/// What reveals quickly whether a file has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    size: u64,
    modified: Option<SystemTime>,
}

impl Stamp {
    /// Looks at a file.
    pub fn of(path: &Path) -> Option<Stamp> {
        let metadata = std::fs::metadata(path).ok()?;
        Some(Stamp { size: metadata.len(), modified: metadata.modified().ok() })
    }
}

/// Whether a path ends inside of the root after resolving links. A missing file is judged by its folder.
pub fn is_inside(root: &Path, path: &Path) -> bool {
    let Ok(root) = root.canonicalize() else {
        return false;
    };
    let path = root.join(path);
    path.ancestors().find_map(|path| path.canonicalize().ok()).is_some_and(|path| path.starts_with(&root))
}

/// Whether there is a file at a path.
pub fn is_file(root: &Path, path: &Path) -> bool {
    root.join(path).is_file()
}
