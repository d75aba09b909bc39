//! Keeps a project in memory and follows what changes on disk.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::annotation::{Annotation, Kind};
use crate::diagnostic::Diagnostic;
use crate::link;
use crate::project::documents::Documents;
use crate::project::files::{self, Entry, Stamp};
use crate::project::generated::Generated;
use crate::project::problems::Texts;
use crate::project::walk::walk;
use crate::project::{CONFIG_PATH, Options};

use super::build::{file_of, read};
use super::citation::Citation;
use super::model::Model;

type Environment = dyn Fn(&str) -> Option<String> + Send + Sync;

/// A project in memory.
pub struct Index {
    pub(super) options: Options,
    pub(super) environment: Box<Environment>,
    pub(super) files: HashMap<Entry, FileState>,
    pub(super) documents: Option<Documents>,
    pub(super) generated: Generated,
    /// For each document that annotations name the position of its first section in the catalogue.
    pub(super) first_sections: Vec<u32>,
    /// Globs of files that matter.
    pub(super) patterns: Vec<glob::Pattern>,
    /// The folders in which globs look for files, relative to the root.
    pub(super) globbed: BTreeSet<PathBuf>,
    pub(super) links: Vec<PathBuf>,
    /// How often everything was looked at.
    pub(super) n_builds: u64,
    pub(super) model: Arc<Model>,
}

impl std::fmt::Debug for Index {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Index").field("options", &self.options).finish_non_exhaustive()
    }
}

/// A file as it was read.
#[derive(Clone, Debug)]
pub(super) struct FileState {
    pub stamp: Option<Stamp>,
    pub annotations: Arc<[Annotation]>,
    pub problems: Arc<[Diagnostic]>,
}

/// What a change on disk changed here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Whether specifications, sections or requirements came, went or changed.
    pub catalogue: bool,
    /// The sections whose citations changed, by position.
    pub sections: BTreeSet<u32>,
    /// The files whose citations changed.
    pub paths: BTreeSet<Arc<str>>,
    /// Whether something else is said of the project as a whole.
    pub general: bool,
}

impl Changes {
    /// Adds what changed afterwards.
    fn and(mut self, later: Changes) -> Changes {
        if later.catalogue {
            // Its sections are others.
            self.sections = BTreeSet::new();
        }
        self.catalogue |= later.catalogue;
        self.sections.extend(later.sections);
        self.paths.extend(later.paths);
        self.general |= later.general;
        self
    }
}

impl Index {
    /// Reads a project. Whatever is wrong with it is in the model.
    pub fn open(options: Options, environment: Box<Environment>) -> Index {
        let mut index = Index {
            options,
            environment,
            files: HashMap::new(),
            documents: None,
            generated: Generated::default(),
            first_sections: Vec::new(),
            patterns: Vec::new(),
            globbed: BTreeSet::new(),
            links: Vec::new(),
            n_builds: 0,
            model: Arc::default(),
        };
        index.reload();
        index
    }

    /// What is known now.
    pub fn model(&self) -> Arc<Model> {
        self.model.clone()
    }

    /// How often everything was looked at: as long as that is the same, so are the folders.
    pub fn n_builds(&self) -> u64 {
        self.n_builds
    }

    /// Whether a path, relative to the root, is that of a file that was read.
    pub fn has_file(&self, path: &Path) -> bool {
        self.files.keys().any(|entry| Path::new(&*entry.path) == path)
    }

    /// The root of the project.
    pub fn root(&self) -> &Path {
        &self.options.root
    }

    /// Follows changes of files and folders, which are given relative to the root. Those that do not matter change
    /// nothing.
    pub fn follow(&mut self, paths: &[PathBuf]) -> Changes {
        let mut changes = Changes::default();
        for path in paths {
            let shown: Arc<str> = path.to_string_lossy().into();
            let entries: Vec<Entry> =
                self.files.keys().filter(|entry| entry.path == shown).cloned().collect();
            let changed = match entries.as_slice() {
                [] if !self.matters(path) => continue,
                [entry] => self.rescan(entry),
                _ => None,
            };
            match changed {
                Some(changed) => changes = changes.and(changed),
                None => {
                    // An edit may leave size and time as they were.
                    self.files.retain(|entry, _| !paths.iter().any(|path| path == Path::new(&*entry.path)));
                    return changes.and(self.reload());
                }
            }
        }
        changes
    }

    /// Looks at every file for changes that nobody told of.
    pub fn refresh(&mut self) -> Changes {
        self.reload()
    }

    /// The folders whose changes matter, relative to the root: those of files, specifications and the configuration,
    /// those in which globs look for files, and those above them.
    pub fn folders(&self) -> BTreeSet<PathBuf> {
        let files = self.files.keys().map(|entry| Path::new(&*entry.path));
        let documents = self.documents.iter().flat_map(|documents| documents.locals());
        let named = files.chain(documents).chain([self.config_path()]).filter_map(Path::parent);
        let mut folders = BTreeSet::from([PathBuf::new()]);
        let globbed = self.globbed.iter().map(PathBuf::as_path);
        for folder in named.chain(globbed).filter(|folder| folder.is_relative()) {
            for folder in folder.ancestors() {
                if !folders.insert(folder.to_path_buf()) {
                    break;
                }
            }
        }
        folders
    }

    /// The files that are links, or in folders that are: changes of them may be told of under another name.
    pub fn links(&self) -> &[PathBuf] {
        &self.links
    }

    fn config_path(&self) -> &Path {
        self.options.config_path.as_deref().unwrap_or(Path::new(CONFIG_PATH))
    }

    /// Tells whether a change of what is no source file may change anything.
    fn matters(&mut self, path: &Path) -> bool {
        self.is_known(path)
            || self.patterns.iter().any(|pattern| pattern.matches_path(path))
            || self.has_arrived(path)
    }

    /// Tells whether something that was read, or was looked for, is here or below.
    fn is_known(&self, path: &Path) -> bool {
        let files = self.files.keys().map(|entry| Path::new(&*entry.path));
        let documents = self.documents.iter().flat_map(|documents| documents.locals());
        let mut known = files.chain(documents).chain([self.config_path()]);
        known.any(|known| known.starts_with(path))
    }

    /// Tells whether a folder has come in which there is something to read.
    fn has_arrived(&mut self, path: &Path) -> bool {
        let is_above =
            self.globbed.range(path.to_path_buf()..).next().is_some_and(|folder| folder.starts_with(path));
        let is_looked_into = is_above || path.parent().is_some_and(|parent| self.globbed.contains(parent));
        if !is_looked_into || !self.options.root.join(path).is_dir() {
            return false;
        }
        let everything = glob::Pattern::escape(&path.to_string_lossy()) + "/**/*";
        let inside = self.options.is_confined.then_some(&*self.options.root);
        let Ok(walk) = walk(&self.options.root, &everything, inside) else {
            return true;
        };
        let relative = |path: &PathBuf| path.strip_prefix(&self.options.root).unwrap_or(path).to_path_buf();
        self.globbed.extend(walk.folders.iter().map(relative));
        // It may be allowed to look into it now, or not any more.
        let mut places = self.model.general.iter().flat_map(|problem| &problem.places);
        if !walk.failures.is_empty() || places.any(|place| Path::new(&*place.path) == path) {
            return true;
        }
        let is_match = |path: PathBuf| self.patterns.iter().any(|pattern| pattern.matches_path(&path));
        walk.found.iter().map(relative).any(is_match)
    }

    /// Reads one source file again. `None` if more than its citations may have changed.
    fn rescan(&mut self, entry: &Entry) -> Option<Changes> {
        if entry.is_requirements() {
            return None;
        }
        let root = &self.options.root;
        let stamp = Stamp::of(&root.join(&*entry.path))?;
        // It may have become a link.
        if self.options.is_confined && !files::is_inside(root, Path::new(&*entry.path)) {
            return None;
        }
        let before = self.files.get(entry)?.clone();
        let after = read(root, entry, &self.generated, Some(stamp));
        let is_spec =
            |state: &FileState| state.annotations.iter().any(|annotation| annotation.kind == Kind::Spec);
        if is_spec(&before) || is_spec(&after) {
            return None;
        }
        if before.annotations == after.annotations && before.problems == after.problems {
            self.files.insert(entry.clone(), after);
            return Some(Changes::default());
        }
        let documents = self.documents.as_ref()?;
        let mut citations = Vec::new();
        let mut problems: Vec<Diagnostic> = after.problems.to_vec();
        let mut texts = Texts::new(root, &self.generated);
        for annotation in after.annotations.iter() {
            let found = documents.find_known(annotation)?;
            let specification = &documents.found()[found as usize].specification;
            match link::link(annotation, specification) {
                Ok((section, spans, likeness)) => citations.push(Arc::new(Citation {
                    path: entry.path.clone(),
                    annotation: annotation.clone(),
                    section: self.first_sections[found as usize] + section,
                    spans,
                    likeness,
                })),
                Err(reason) => {
                    problems.push(texts.describe(&entry.path, annotation, |annotation, text| {
                        reason.diagnostic(annotation, &file_of(entry), text, specification)
                    }));
                }
            }
        }
        problems.sort_by(|first, second| first.order().cmp(&second.order()));

        let old = self.model.files.get(&entry.path).cloned().unwrap_or_default();
        let sections: BTreeSet<u32> = old.iter().chain(&citations).map(|citation| citation.section).collect();
        let renewed = sections.iter().map(|section| {
            let kept = self.model.citations(*section).iter().filter(|citation| citation.path != entry.path);
            let new = citations.iter().filter(|citation| citation.section == *section);
            let mut all: Vec<Arc<Citation>> = kept.chain(new).cloned().collect();
            all.sort_by(|first, second| first.order(second));
            (*section, all.into())
        });
        let renewed = renewed.collect();
        self.model = Arc::new(self.model.with(renewed, &entry.path, citations.into(), problems.into()));
        self.files.insert(entry.clone(), after);
        Some(Changes { sections, paths: BTreeSet::from([entry.path.clone()]), ..Changes::default() })
    }

    /// Reads everything that changed and links everything again.
    fn reload(&mut self) -> Changes {
        let model = self.build();
        let before = std::mem::replace(&mut self.model, Arc::new(model));
        let mut changes = Changes {
            general: before.general != self.model.general || before.styles != self.model.styles,
            ..Changes::default()
        };
        let same = before.catalogue.requirements == self.model.catalogue.requirements
            && before.catalogue.is_like(&self.model.catalogue);
        if !same {
            return Changes { catalogue: true, ..changes };
        }
        for (section, citations) in self.model.citations.iter().enumerate() {
            if before.citations[section] != *citations {
                changes.sections.insert(section as u32);
            }
        }
        let differ = |path: &&Arc<str>| {
            before.files.get(*path) != self.model.files.get(*path)
                || before.problems.get(*path) != self.model.problems.get(*path)
        };
        changes.paths = before.paths().chain(self.model.paths()).filter(differ).cloned().collect();
        changes
    }
}
