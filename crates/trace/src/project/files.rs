//! Finds and reads files.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use crate::annotation;
use crate::comment::Style;
use crate::diagnostic::{Code, Diagnostic, Place};

use super::{Generated, Options, Project, walk};

/// A file, and how to read it. One file may be read in several ways.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Entry {
    /// Relative to the project, if it is in it.
    pub path: Arc<str>,
    /// How to read it.
    pub kind: Kind,
}

/// How to read a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// As source code.
    Source {
        /// The marks of annotations.
        style: Style,
        /// What annotations are that do not say so.
        default_kind: annotation::Kind,
        /// Where the file can be looked at.
        blob_link: Option<Arc<str>>,
    },
    /// As a requirement file.
    Requirements,
}

impl Entry {
    /// Whether it is a requirement file.
    pub fn is_requirements(&self) -> bool {
        self.kind == Kind::Requirements
    }

    /// Where the file can be looked at.
    pub fn blob_link(&self) -> Option<Arc<str>> {
        match &self.kind {
            Kind::Source { blob_link, .. } => blob_link.clone(),
            Kind::Requirements => None,
        }
    }
}

/// The files of a project, and the folders in which its globs look for them.
#[derive(Debug, Default)]
pub struct Listing {
    /// In no order that matters.
    pub entries: Vec<Entry>,
    /// Relative to the project.
    pub folders: BTreeSet<PathBuf>,
}

/// Lists the files of a project.
pub fn list(project: &Project, generated: &Generated, diagnostics: &mut Vec<Diagnostic>) -> Listing {
    let mut entries = BTreeSet::new();
    let mut folders = BTreeSet::new();
    let mut add = |pattern: &str, kind: Kind, extra: &mut dyn Iterator<Item = Arc<str>>| {
        let found = expand(&project.options, pattern, &mut folders, diagnostics);
        let found = found.into_iter().chain(extra);
        entries.extend(found.map(|path| Entry { path, kind: kind.clone() }));
    };
    for pattern in &project.options.source_patterns {
        let (style, pattern) = marks(pattern);
        let kind = Kind::Source { style, default_kind: annotation::Kind::default(), blob_link: None };
        add(pattern, kind, &mut std::iter::empty());
    }
    let config = project.config.as_ref();
    for source in config.iter().flat_map(|config| &config.sources) {
        let kind = Kind::Source {
            style: source.style.clone(),
            default_kind: source.default_kind,
            blob_link: source.blob_link.clone(),
        };
        add(&source.pattern, kind, &mut std::iter::empty());
    }
    let patterns = config.iter().flat_map(|config| &config.requirements);
    for pattern in patterns.chain(&project.options.requirement_patterns) {
        add(pattern, Kind::Requirements, &mut generated.matching(pattern));
    }
    Listing { entries: entries.into_iter().collect(), folders }
}

/// The globs of a project's files.
pub fn globs(project: &Project) -> Vec<&str> {
    let options = &project.options;
    let config = project.config.iter();
    let sources = config.clone().flat_map(|config| config.sources.iter().map(|source| &*source.pattern));
    let requirements = config.flat_map(|config| config.requirements.iter().map(String::as_str));
    let of_options = options.source_patterns.iter().map(|pattern| marks(pattern).1);
    let requirements = requirements.chain(options.requirement_patterns.iter().map(String::as_str));
    sources.chain(of_options).chain(requirements).collect()
}

/// Cuts `(META,CONTENT)glob` into its marks and the glob.
pub(super) fn marks(pattern: &str) -> (Style, &str) {
    let cut = pattern.strip_prefix('(').and_then(|rest| rest.split_once(')'));
    let Some((marks, glob)) = cut else {
        return (Style::default(), pattern);
    };
    let mut marks = marks.split(',').filter(|mark| !mark.is_empty()).map(Arc::from);
    let default = Style::default();
    let style = Style {
        meta: marks.next().unwrap_or(default.meta),
        content: marks.next().unwrap_or(default.content),
    };
    (style, glob)
}

/// Lists what a glob matches.
pub fn expand(
    options: &Options,
    pattern: &str,
    folders: &mut BTreeSet<PathBuf>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<Arc<str>> {
    if pattern.is_empty() {
        return Vec::new();
    }
    let root = &options.root;
    let walk = match walk::walk(root, pattern, options.is_confined.then_some(root)) {
        Ok(walk) => walk,
        Err(error) => {
            let message = format!("`{pattern}` is not a glob: {}", error.msg);
            diagnostics.push(Diagnostic::error(Code::Pattern, message));
            return Vec::new();
        }
    };
    for (path, failure) in walk.failures {
        let path = show(root, &path);
        let warning = |problem: &str| {
            let message = format!("{path} {problem}");
            Diagnostic::warning(Code::Unreadable, message).at(Place::file(path.clone(), ""))
        };
        diagnostics.push(match failure {
            walk::Failure::Unreadable(error) => Reading::Failed(error).diagnostic(&path, Code::Unreadable),
            walk::Failure::Outside => warning("is outside of the project, and is not read"),
            walk::Failure::TooMany => warning("and further links lead to too many folders, and are not read"),
        });
    }
    folders
        .extend(walk.folders.iter().map(|folder| folder.strip_prefix(root).unwrap_or(folder).to_path_buf()));
    // Files are shown as the pattern names them.
    let is_absolute = Path::new(pattern).is_absolute();
    let shown = |path: &PathBuf| if is_absolute { path.to_string_lossy().into() } else { show(root, path) };
    walk.found.iter().map(shown).collect()
}

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
    /// The system says so.
    Failed(io::Error),
    /// It is a folder.
    Folder,
    /// It is not a file at all, but a pipe or a device.
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
        /// Whether it looks like no text at all.
        is_binary: bool,
    },
}

/// Larger files are no source code.
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
    read_into(&mut bytes, path, size_max_bytes)?;
    String::from_utf8(bytes).map_err(|error| not_text(error.as_bytes(), error.utf8_error()))
}

/// Reads a file as text and hands it over. Many files share one buffer.
pub fn read_with<T>(path: &Path, run: impl FnOnce(&str) -> T) -> Result<T, Reading> {
    thread_local! {
        static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    }
    BUFFER.with_borrow_mut(|bytes| {
        bytes.clear();
        read_into(bytes, path, FILE_SIZE_MAX_BYTES)?;
        let text = std::str::from_utf8(bytes).map_err(|error| not_text(bytes, error));
        let done = text.map(run);
        // A large file shall not hold its memory for ever.
        if bytes.capacity() > BUFFER_SIZE_MAX_BYTES {
            *bytes = Vec::new();
        }
        done
    })
}

fn read_into(bytes: &mut Vec<u8>, path: &Path, size_max_bytes: u64) -> Result<(), Reading> {
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
    bytes.reserve(metadata.len() as usize + 1);
    // It may grow while it is read.
    (&mut file).take(size_max_bytes).read_to_end(bytes).map_err(Reading::Failed)?;
    Ok(())
}

fn not_text(bytes: &[u8], error: std::str::Utf8Error) -> Reading {
    Reading::NotText {
        line: memchr::memchr_iter(b'\n', &bytes[..error.valid_up_to()]).count() as u32 + 1,
        is_binary: memchr::memchr(0, bytes).is_some(),
    }
}

/// Opens a file without waiting for the other end of a pipe.
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
    /// Whether there is no such file.
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

/// What tells quickly whether a file changed.
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

/// Whether a path, however it gets there, ends inside of the root. What does not exist yet is judged by its folder.
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
