//! Lists the files of a project, and the ways of reading each.

use std::cmp::Ordering;
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use glob::{MatchOptions, Pattern, PatternError};

use crate::annotation::AnnotationKind;
use crate::comment::Style;
use crate::diagnostic::{Code, Diagnostic, Place};

use super::extracted::Extracted;
use super::files::{Reading, is_inside, show};
use super::{Options, Project, walk};

/// A file, and the ways of reading it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilePlan {
    /// Relative to the project, if it is in it.
    pub path: Arc<str>,
    /// In order.
    pub kinds: Vec<Arc<FileKind>>,
}

impl FilePlan {
    /// Whether it is read as a requirement file.
    pub fn is_requirements(&self) -> bool {
        self.kinds.iter().any(|kind| **kind == FileKind::Requirements)
    }

    /// Whether it is read as source code.
    pub fn is_source(&self) -> bool {
        self.kinds.iter().any(|kind| **kind != FileKind::Requirements)
    }
}

/// A way of reading a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FileKind {
    /// As source code.
    Source {
        /// The marks of annotations.
        style: Style,
        /// The default type of annotations.
        default_kind: AnnotationKind,
        /// The URL of the file.
        blob_link: Option<Arc<str>>,
    },
    /// As a requirement file.
    Requirements,
}

/// The files of a project, and the folders in which its globs search.
#[derive(Debug, Default)]
pub struct Listing {
    /// Each path that a glob matches with a way of reading it. Sorted into plans when all are known.
    entries: Vec<(Arc<str>, Arc<FileKind>)>,
    /// Relative to the project, some more than once.
    pub folders: Vec<PathBuf>,
    /// The globs of source code without matches.
    pub unmatched: Vec<String>,
}

impl Listing {
    /// Lists the files of a project that are on disk.
    pub fn new(project: &Project, diagnostics: &mut Vec<Diagnostic>) -> Listing {
        let mut listing = Listing::default();
        let mut add = |pattern: &str, kind: FileKind| {
            let found = expand(&project.options, pattern, &mut listing.folders, diagnostics);
            if found.is_empty() && kind != FileKind::Requirements {
                listing.unmatched.push(pattern.to_owned());
            }
            let kind = Arc::new(kind);
            listing.entries.extend(found.into_iter().map(|path| (path, kind.clone())));
        };
        for (pattern, kind) in sources(project) {
            add(pattern, kind);
        }
        for pattern in requirement_globs(project) {
            add(pattern, FileKind::Requirements);
        }
        listing.exclude(&project.options.excluded_patterns, diagnostics);
        listing
    }

    /// Leaves out source code that a glob excludes.
    fn exclude(&mut self, patterns: &[String], diagnostics: &mut Vec<Diagnostic>) {
        let mut excluded = Vec::with_capacity(patterns.len());
        for pattern in patterns {
            match Pattern::new(pattern.trim_start_matches("./")) {
                Ok(pattern) => excluded.push(pattern),
                Err(error) => diagnostics.push(not_a_glob(pattern, &error)),
            }
        }
        // A `*` matches no `/`, as in the globs that list files.
        let options = MatchOptions { require_literal_separator: true, ..MatchOptions::new() };
        self.entries.retain(|(path, kind)| {
            **kind == FileKind::Requirements
                || !excluded.iter().any(|pattern| pattern.matches_with(path, options))
        });
    }

    /// Leaves out the files that are outside of the project after resolving links, with a warning.
    pub fn confine(&mut self, root: &Path) -> Vec<Diagnostic> {
        let mut folders: HashMap<PathBuf, bool> = HashMap::new();
        let mut outside: BTreeSet<Arc<str>> = BTreeSet::new();
        self.entries.retain(|(shown, _)| {
            let path = Path::new(&**shown);
            let folder = path.parent().unwrap_or(Path::new("")).to_path_buf();
            let is_link = root.join(path).is_symlink();
            let is_kept = *folders.entry(folder).or_insert_with_key(|folder| is_inside(root, folder))
                && (!is_link || is_inside(root, path));
            if !is_kept {
                outside.insert(shown.clone());
            }
            is_kept
        });
        let warning = |path: Arc<str>| {
            let message = format!("{path} is outside of the project, and is not read");
            Diagnostic::warning(Code::Unreadable, message).at(Place::file(path, "outside"))
        };
        outside.into_iter().map(warning).collect()
    }

    /// Adds the requirement files that `extract` would write, if globs match them.
    pub fn add_extracted(&mut self, project: &Project, extracted: &Extracted) {
        let kind = Arc::new(FileKind::Requirements);
        for pattern in requirement_globs(project) {
            let matching = extracted.matching(pattern);
            self.entries.extend(matching.map(|path| (path, kind.clone())));
        }
    }

    /// Determines how to read each file, by path.
    pub fn plans(&mut self) -> Vec<FilePlan> {
        self.entries.sort_by(|(first, kind), (second, other)| {
            let order =
                if first == second { Ordering::Equal } else { Path::new(&**first).cmp(Path::new(&**second)) };
            order.then_with(|| kind.cmp(other))
        });
        self.entries.dedup();
        let groups = self.entries.chunk_by(|(first, _), (second, _)| first == second);
        let plan = |group: &[(Arc<str>, Arc<FileKind>)]| FilePlan {
            path: group[0].0.clone(),
            kinds: group.iter().map(|(_, kind)| kind.clone()).collect(),
        };
        groups.map(plan).collect()
    }
}

/// The globs of a project's source code, with the way of reading their files.
pub fn sources(project: &Project) -> impl Iterator<Item = (&str, FileKind)> {
    let of_options = project.options.source_patterns.iter().map(|pattern| {
        let (style, pattern) = marks(pattern);
        (pattern, FileKind::Source { style, default_kind: AnnotationKind::default(), blob_link: None })
    });
    let configured = project.config.iter().flat_map(|config| &config.sources).map(|source| {
        let kind = FileKind::Source {
            style: source.style.clone(),
            default_kind: source.default_kind,
            blob_link: source.blob_link.clone(),
        };
        (&*source.pattern, kind)
    });
    of_options.chain(configured)
}

fn requirement_globs(project: &Project) -> impl Iterator<Item = &str> {
    let configured = project.config.iter().flat_map(|config| &config.requirements);
    configured.chain(&project.options.requirement_patterns).map(String::as_str)
}

/// The globs of a project's files.
pub fn globs(project: &Project) -> Vec<&str> {
    let configured = project.config.iter().flat_map(|config| &config.sources);
    let sources = configured.map(|source| &*source.pattern);
    let of_options = project.options.source_patterns.iter().map(|pattern| marks(pattern).1);
    sources.chain(of_options).chain(requirement_globs(project)).collect()
}

/// Splits `(META,CONTENT)glob` into its marks and the glob.
pub fn marks(pattern: &str) -> (Style, &str) {
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

fn not_a_glob(pattern: &str, error: &PatternError) -> Diagnostic {
    Diagnostic::error(Code::Pattern, format!("`{pattern}` is not a glob: {}", error.msg))
}

/// Lists what a glob matches.
pub fn expand(
    options: &Options,
    pattern: &str,
    folders: &mut Vec<PathBuf>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<Arc<str>> {
    if pattern.is_empty() {
        return Vec::new();
    }
    let root = &options.root;
    let walk = match walk::walk(root, pattern, options.is_confined.then_some(root)) {
        Ok(walk) => walk,
        Err(error) => {
            diagnostics.push(not_a_glob(pattern, &error));
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
