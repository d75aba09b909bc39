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
            model: Arc::default(),
        };
        index.reload();
        index
    }

    /// What is known now.
    pub fn model(&self) -> Arc<Model> {
        self.model.clone()
    }

    /// The root of the project.
    pub fn root(&self) -> &Path {
        &self.options.root
    }

    /// Follows changes of files, which are given relative to the root. Those that do not matter change nothing.
    pub fn follow(&mut self, paths: &[PathBuf]) -> Changes {
        let mut changes = Changes::default();
        for path in paths {
            let shown: Arc<str> = path.to_string_lossy().into();
            let entries: Vec<Entry> =
                self.files.keys().filter(|entry| entry.path == shown).cloned().collect();
            let [entry] = entries.as_slice() else {
                if !entries.is_empty() || self.matters(path) {
                    return self.reload();
                }
                continue;
            };
            match self.rescan(entry) {
                Some(changed) => {
                    changes.sections.extend(changed.sections);
                    changes.paths.extend(changed.paths);
                }
                None => return self.reload(),
            }
        }
        changes
    }

    /// Looks at every file for changes that nobody told of.
    pub fn refresh(&mut self) -> Changes {
        self.reload()
    }

    /// The folders whose changes matter, relative to the root: those of files, specifications and the configuration,
    /// those above them, and those where globs begin.
    pub fn folders(&self) -> BTreeSet<PathBuf> {
        let config = self.options.config_path.as_deref().unwrap_or(Path::new(CONFIG_PATH));
        let files = self.files.keys().map(|entry| Path::new(&*entry.path));
        let documents = self.documents.iter().flat_map(|documents| documents.locals());
        let mut folders = BTreeSet::from([PathBuf::new()]);
        for path in files.chain(documents).chain([config]).filter(|path| path.is_relative()) {
            for folder in path.ancestors().skip(1) {
                if !folders.insert(folder.to_path_buf()) {
                    break;
                }
            }
        }
        for pattern in &self.patterns {
            let plain = pattern.as_str().split('/').take_while(|part| !part.contains(['*', '?', '[']));
            let folder: PathBuf = plain.collect();
            folders.extend(folder.ancestors().map(Path::to_path_buf));
        }
        folders
    }

    fn matters(&self, path: &Path) -> bool {
        let config = self.options.config_path.as_deref().unwrap_or(Path::new(CONFIG_PATH));
        let is_document =
            self.documents.as_ref().is_some_and(|documents| documents.locals().any(|local| local == path));
        path == config
            || is_document
            || config.starts_with(path)
            || self.patterns.iter().any(|pattern| pattern.matches_path(path))
    }

    /// Reads one source file again. `None` if more than its citations may have changed.
    fn rescan(&mut self, entry: &Entry) -> Option<Changes> {
        if entry.is_requirements() {
            return None;
        }
        let stamp = Stamp::of(&self.options.root.join(&*entry.path))?;
        let before = self.files.get(entry)?.clone();
        let after = read(&self.options.root, entry, &self.generated, Some(stamp));
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
                    let file = file_of(entry);
                    let text = files::read(&self.options.root.join(&*entry.path)).unwrap_or_default();
                    problems.push(reason.diagnostic(annotation, &file, &text, specification));
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
        Some(Changes { catalogue: false, sections, paths: BTreeSet::from([entry.path.clone()]) })
    }

    /// Reads everything that changed and links everything again.
    fn reload(&mut self) -> Changes {
        let model = self.build();
        let before = std::mem::replace(&mut self.model, Arc::new(model));
        let mut changes = Changes::default();
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
