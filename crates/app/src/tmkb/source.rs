//! The source of patterns: the built-in packs, or a folder.

use std::{
    collections::HashSet,
    fs::{self, File},
    io::{self, Read},
    path::{Path, PathBuf},
};

use threats::{Library, PatternProblem, Query, library::PACKS_DEFAULT, load::FILE_SIZE_MAX_BYTES};

use super::arguments::Arguments;

/// A folder with more files is probably not a folder of patterns.
const FILES_MAX: usize = 10_000;

/// Folders below folders are read to this depth.
const DEPTH_MAX: usize = 16;

/// The maximal total size of all files.
const TOTAL_BYTES_MAX: usize = 64 * 1024 * 1024;

/// The source of patterns.
#[derive(Clone, Debug)]
pub struct Source {
    /// A folder of pattern files.
    folder: Option<PathBuf>,
    /// Built-in packs by name, in addition to the folder if there is one.
    packs: Vec<String>,
}

impl Source {
    /// Reads the command line, or else the environment. An unknown pack is an error at once.
    pub fn from_arguments(arguments: &Arguments) -> Result<Self, String> {
        let (folder, packs) = (arguments.patterns.clone(), arguments.packs.clone());
        if folder.is_none() && packs.is_empty() {
            return Ok(Self::from_environment());
        }
        let known = threats::library::packs();
        match packs.iter().find(|pack| *pack != "all" && !known.contains(&pack.as_str())) {
            Some(unknown) => {
                Err(format!("--packs: expected all or some of {}, found \"{unknown}\"", known.join(", ")))
            }
            None => Ok(Self { folder, packs }),
        }
    }

    /// Reads the environment, or uses the default packs.
    pub fn from_environment() -> Self {
        match std::env::var_os("TMKB_PATTERNS").filter(|folder| !folder.is_empty()) {
            Some(folder) => Self { folder: Some(folder.into()), packs: Vec::new() },
            None => {
                Self { folder: None, packs: PACKS_DEFAULT.iter().map(|pack| (*pack).to_owned()).collect() }
            }
        }
    }

    /// Whether patterns come from files, which may change.
    pub fn has_folder(&self) -> bool {
        self.folder.is_some()
    }

    /// Loads the patterns. Each unusable file of a folder is a problem; only a folder that
    /// cannot be read at all is a failure.
    pub fn load(&self) -> Result<(Library, Vec<PatternProblem>), String> {
        let packs: Vec<&str> = self.packs.iter().map(String::as_str).collect();
        match &self.folder {
            None => {
                let library = Library::builtin(&packs).map_err(|error| error.to_string())?;
                Ok((library, Vec::new()))
            }
            Some(folder) => {
                let (library, mut problems) = load_folder(folder)?;
                let (library, replaced) = library.with_packs(&packs).map_err(|error| error.to_string())?;
                problems.extend(replaced);
                Ok((library, problems))
            }
        }
    }

    /// Loads the valid patterns: those that fail validation become problems, too.
    pub fn load_valid(&self) -> Result<(Library, Vec<PatternProblem>), String> {
        let (library, mut problems) = self.load()?;
        if self.folder.is_none() {
            return Ok((library, problems));
        }
        let (library, invalid) = library.without_invalid();
        problems.extend(invalid);
        problems.sort_by(|first, second| first.file.cmp(&second.file));
        Ok((library, problems))
    }

    /// Loads one file, and what [`Source::load`] loads, for its references. The problems are the file's.
    pub fn load_file(&self, path: &Path) -> Result<(Library, Vec<PatternProblem>, Option<String>), String> {
        let name = path.display().to_string();
        let text = read_text(path).map_err(|error| format!("cannot read the file {name}: {error}"))?;
        let pattern = match threats::load::parse(&name, &text) {
            Ok(pattern) => pattern,
            Err(problem) => return Ok((Library::load([(name, text)]).0, vec![problem], None)),
        };
        let packs: Vec<&str> = self.packs.iter().map(String::as_str).collect();
        let mut sources = vec![(String::new(), text)];
        if let Some(folder) = &self.folder {
            sources.extend(read_folder(folder)?.1);
        }
        // The empty name sorts first, so that of two patterns with one id the file's is kept.
        let (library, _) = Library::load(sources);
        let (library, _) = library.with_packs(&packs).map_err(|error| error.to_string())?;
        Ok((library, Vec::new(), Some(pattern.id)))
    }
}

fn load_folder(folder: &Path) -> Result<(Library, Vec<PatternProblem>), String> {
    let (mut problems, sources) = read_folder(folder)?;
    let (library, unusable) = Library::load(sources);
    problems.extend(unusable);
    problems.sort_by(|first, second| first.file.cmp(&second.file));
    Ok((library, problems))
}

/// Files as pairs of name and text.
type Files = Vec<(String, String)>;

/// Reads the files of a folder.
fn read_folder(folder: &Path) -> Result<(Vec<PatternProblem>, Files), String> {
    let cannot = |error: io::Error| {
        format!(
            "patterns (-p, --patterns or TMKB_PATTERNS): cannot read the folder {}: {error}",
            folder.display()
        )
    };
    if !fs::metadata(folder).map_err(cannot)?.is_dir() {
        return Err(cannot(io::Error::new(io::ErrorKind::NotADirectory, "not a folder")));
    }
    let mut found = Found::default();
    fs::read_dir(folder).map_err(cannot)?;
    found.collect(folder, 0);
    let mut sources = Vec::new();
    let mut n_bytes = 0;
    for path in found.files {
        let name = path.display().to_string();
        if n_bytes > TOTAL_BYTES_MAX {
            let message =
                format!("the files before this one have {TOTAL_BYTES_MAX} bytes; the rest is left out");
            found.problems.push(problem(name, message));
            break;
        }
        match read_text(&path) {
            Ok(text) => {
                n_bytes += text.len();
                sources.push((name, text));
            }
            Err(message) => found.problems.push(problem(name, message)),
        }
    }
    Ok((found.problems, sources))
}

#[derive(Default)]
struct Found {
    /// Links may form cycles; each folder is read once.
    folders: HashSet<PathBuf>,
    files: Vec<PathBuf>,
    is_full: bool,
    problems: Vec<PatternProblem>,
}

impl Found {
    fn collect(&mut self, folder: &Path, depth: usize) {
        if depth > DEPTH_MAX {
            return self.problem(folder, format!("more than {DEPTH_MAX} folders deep; it is left out"));
        }
        match fs::canonicalize(folder) {
            Ok(real) => {
                if !self.folders.insert(real) {
                    return;
                }
            }
            Err(error) => return self.problem(folder, error.to_string()),
        }
        let entries = match fs::read_dir(folder).and_then(Iterator::collect::<io::Result<Vec<_>>>) {
            Ok(entries) => entries,
            Err(error) => return self.problem(folder, error.to_string()),
        };
        let mut paths: Vec<PathBuf> = entries.iter().map(fs::DirEntry::path).collect();
        // The order of a folder is undefined; which files are left out must not depend on it.
        paths.sort();
        for path in paths {
            if self.is_full {
                return;
            }
            let is_pattern =
                path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml");
            if path.is_dir() {
                self.collect(&path, depth + 1);
            } else if is_pattern && self.files.len() == FILES_MAX {
                self.is_full = true;
                self.problem(folder, format!("more than {FILES_MAX} pattern files; the rest is left out"));
            } else if is_pattern {
                self.files.push(path);
            }
        }
    }

    fn problem(&mut self, path: &Path, message: String) {
        self.problems.push(problem(path.display().to_string(), message));
    }
}

/// Reads a file, unless it cannot be a pattern: a device, or gigabytes.
fn read_text(path: &Path) -> Result<String, String> {
    let file = open(path).map_err(|error| error.to_string())?;
    // Checked on the open file: the path may lead elsewhere a moment later.
    let metadata = file.metadata().map_err(|error| error.to_string())?;
    if !metadata.is_file() {
        return Err("not a file".into());
    }
    let mut bytes = Vec::new();
    let limit = FILE_SIZE_MAX_BYTES as u64 + 1;
    file.take(limit).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() > FILE_SIZE_MAX_BYTES {
        return Err(format!("expected at most {FILE_SIZE_MAX_BYTES} bytes, found {}", metadata.len()));
    }
    String::from_utf8(bytes).map_err(|error| {
        format!("expected UTF-8, found another byte at offset {}", error.utf8_error().valid_up_to())
    })
}

/// Opens a file without blocking, which a pipe without a writer would do.
fn open(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NONBLOCK | libc::O_NOCTTY);
    options.read(true).open(path)
}

fn problem(file: String, message: String) -> PatternProblem {
    PatternProblem { file, line: None, column: None, message }
}

/// Rejects unknown categories, and misspelt languages and frameworks. Other languages and frameworks are
/// accepted: patterns that generalize are answered for them.
pub fn check_filters(library: &Library, query: &Query<'_>) -> Result<(), String> {
    let mut categories: Vec<String> =
        library.patterns().iter().map(|pattern| pattern.category.to_lowercase()).collect();
    categories.sort();
    categories.dedup();
    let filters = [
        ("--language", query.language, library.languages()),
        ("--framework", query.framework, library.frameworks()),
        ("--category", query.category, categories),
    ];
    let mut problems = Vec::new();
    for (flag, value, known) in filters {
        let Some(value) = value.filter(|value| !value.is_empty()) else { continue };
        if !known.contains(&value.to_lowercase()) {
            let nearest = nearest::nearest(value, known.iter().map(String::as_str));
            if nearest.is_none() && flag != "--category" {
                continue;
            }
            let suggestion = nearest.map(|nearest| format!("; did you mean {nearest}?")).unwrap_or_default();
            problems
                .push(format!("{flag}: expected one of {}, found \"{value}\"{suggestion}", known.join(", ")));
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(problems.join("\n")) }
}
