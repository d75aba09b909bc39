//! Keeps a project in memory and follows what changes on disk.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rayon::prelude::*;

use crate::annotation::{Annotation, Kind};
use crate::diagnostic::{Code, Diagnostic, Place};
use crate::link::{self, Link};
use crate::project::documents::Documents;
use crate::project::files::{self, Entry, Stamp};
use crate::project::generated::{self, Generated};
use crate::project::{CONFIG_PATH, Options, Project, annotations};
use crate::report::SourceFile;
use crate::specification::Format;
use crate::text::Span;

use super::catalogue::{Catalogue, Document, Requirement};
use super::citation::Citation;
use super::model::{self, Model};

type Environment = dyn Fn(&str) -> Option<String> + Send + Sync;

/// A project in memory.
pub struct Index {
    options: Options,
    environment: Box<Environment>,
    files: HashMap<Entry, FileState>,
    documents: Option<Documents>,
    generated: Generated,
    /// For each document that annotations name the position of its first section in the catalogue.
    first_sections: Vec<u32>,
    /// Globs of files that matter.
    patterns: Vec<glob::Pattern>,
    model: Arc<Model>,
}

impl std::fmt::Debug for Index {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Index").field("options", &self.options).finish_non_exhaustive()
    }
}

/// A file as it was read.
#[derive(Clone, Debug)]
struct FileState {
    stamp: Option<Stamp>,
    annotations: Arc<[Annotation]>,
    problems: Arc<[Diagnostic]>,
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
                Link::Found(section, spans, likeness) => citations.push(Arc::new(Citation {
                    path: entry.path.clone(),
                    annotation: annotation.clone(),
                    section: self.first_sections[found as usize] + section,
                    spans: spans.into(),
                    likeness,
                })),
                Link::Broken(reason) => {
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

    fn build(&mut self) -> Model {
        let project = match Project::open(self.options.clone(), &*self.environment) {
            Ok(project) => project,
            Err(problems) => {
                self.patterns = Vec::new();
                self.documents = None;
                self.first_sections = Vec::new();
                return Model { general: problems.into(), ..Model::default() };
            }
        };
        let mut general = Vec::new();
        let mut documents = Documents::new(&project, None);
        let generated = generated::extract(&project, &mut documents, &mut general);
        let entries = files::entries(&project, &generated, &mut general);
        let entries = if self.options.is_confined {
            let (entries, outside) = inside(&self.options.root, entries);
            general.extend(outside);
            entries
        } else {
            entries
        };
        if let Some(problem) = emptiness(&project, &entries) {
            general.push(problem);
        }
        let states: Vec<FileState> = entries
            .par_iter()
            .map(|entry| {
                let stamp = Stamp::of(&self.options.root.join(&*entry.path));
                let known = self.files.get(entry).filter(|state| stamp.is_some() && state.stamp == stamp);
                match known.filter(|_| !entry.is_requirements()) {
                    Some(state) => state.clone(),
                    None => read(&self.options.root, entry, &generated, stamp),
                }
            })
            .collect();
        self.files = entries.iter().cloned().zip(states).collect();
        let model = self.assemble(&project, &entries, &generated, &mut documents, general);
        self.patterns = patterns(&project);
        self.documents = Some(documents);
        self.generated = generated;
        model
    }

    fn assemble(
        &mut self,
        project: &Project,
        entries: &[Entry],
        generated: &Generated,
        documents: &mut Documents,
        general: Vec<Diagnostic>,
    ) -> Model {
        let mut problems: BTreeMap<Arc<str>, Vec<Diagnostic>> = BTreeMap::new();
        let mut resolved: Vec<(&Entry, &Annotation, u32)> = Vec::new();
        for entry in entries {
            let state = &self.files[entry];
            if !state.problems.is_empty() {
                problems.entry(entry.path.clone()).or_default().extend(state.problems.iter().cloned());
            }
            let file = file_of(entry);
            for annotation in state.annotations.iter() {
                match documents.find(annotation, &file) {
                    Ok((found, _)) => resolved.push((entry, annotation, found)),
                    Err(problem) => {
                        let place = text_of(&self.options.root, generated, &entry.path).map_or_else(
                            || Place {
                                line: annotation.line,
                                column: 1,
                                ..Place::file(entry.path.clone(), "")
                            },
                            |text| Place::new(&entry.path, &text, annotation.places.target, "named here"),
                        );
                        let text = text_of(&self.options.root, generated, &entry.path).unwrap_or_default();
                        let problem = problem.diagnostic().at(place).of_annotation(annotation.line, &text);
                        problems.entry(entry.path.clone()).or_default().push(problem);
                    }
                }
            }
        }
        // A specification that nobody cites is there all the same.
        for source in project.config.iter().flat_map(|config| &config.specifications) {
            if let Ok((target, _)) = documents.open(&source.source, source.format) {
                let _ = documents.add(target, &source.source);
            }
        }
        let found = documents.found();
        let links: Vec<Link> = resolved
            .par_iter()
            .with_min_len(64)
            .map(|(_, annotation, found_at)| link::link(annotation, &found[*found_at as usize].specification))
            .collect();

        let (merged, owners) = merge(project, documents);
        let mut requirements: Vec<BTreeMap<(u32, Box<[Span]>), Requirement>> =
            vec![BTreeMap::new(); merged.len()];
        for ((entry, annotation, found_at), link) in resolved.iter().zip(&links) {
            if let (Kind::Spec, Link::Found(section, spans, _)) = (annotation.kind, link)
                && !annotation.quote.is_empty()
            {
                let known = &mut requirements[owners[*found_at as usize]];
                let source = generated.file(&entry.path).is_none();
                let source = source.then(|| format!("{}:{}", entry.path, annotation.line));
                let new = Requirement::new(annotation, spans.clone().into(), source);
                known
                    .entry((*section, spans.clone().into()))
                    .and_modify(|known| known.level = known.level.max(new.level))
                    .or_insert(new);
            }
        }
        let merged = merged.into_iter().zip(requirements).map(|(mut document, requirements)| {
            document.requirements =
                requirements.into_iter().map(|((section, _), requirement)| (section, requirement)).collect();
            document
        });
        let (catalogue, firsts) = Catalogue::new(merged.collect());
        self.first_sections = owners.iter().map(|owner| firsts[*owner]).collect();

        let mut by_section: Vec<Vec<Arc<Citation>>> = vec![Vec::new(); catalogue.sections.len()];
        let mut by_file: BTreeMap<Arc<str>, Vec<Arc<Citation>>> = BTreeMap::new();
        for ((entry, annotation, found_at), link) in resolved.into_iter().zip(links) {
            match link {
                Link::Found(..) if annotation.kind == Kind::Spec => {}
                Link::Found(section, spans, likeness) => {
                    let section = self.first_sections[found_at as usize] + section;
                    let citation = Arc::new(Citation {
                        path: entry.path.clone(),
                        annotation: annotation.clone(),
                        section,
                        spans: spans.into(),
                        likeness,
                    });
                    by_section[section as usize].push(citation.clone());
                    by_file.entry(entry.path.clone()).or_default().push(citation);
                }
                Link::Broken(reason) => {
                    let text = text_of(&self.options.root, generated, &entry.path).unwrap_or_default();
                    let specification = &found[found_at as usize].specification;
                    let problem = reason.diagnostic(annotation, &file_of(entry), &text, specification);
                    problems.entry(entry.path.clone()).or_default().push(problem);
                }
            }
        }
        let sort =
            |citations: &mut Vec<Arc<Citation>>| citations.sort_by(|first, second| first.order(second));
        by_section.par_iter_mut().for_each(sort);
        by_file.values_mut().for_each(sort);
        let citations: Vec<Arc<[Arc<Citation>]>> = by_section.into_iter().map(Arc::from).collect();
        let states = citations
            .par_iter()
            .enumerate()
            .map(|(section, citations)| model::states(&catalogue, section as u32, citations))
            .collect();
        let sources = project.config.iter().flat_map(|config| &config.sources);
        let mut styles: Vec<_> = sources.map(|source| source.style.clone()).collect();
        styles.sort();
        styles.dedup();
        Model {
            catalogue: Arc::new(catalogue),
            citations,
            states,
            files: by_file.into_iter().map(|(path, citations)| (path, citations.into())).collect(),
            problems: problems
                .into_iter()
                .map(|(path, mut problems)| {
                    problems.sort_by(|first, second| first.order().cmp(&second.order()));
                    (path, problems.into())
                })
                .collect(),
            general: general.into(),
            styles: styles.into(),
            ..Model::default()
        }
    }
}

fn file_of(entry: &Entry) -> SourceFile {
    SourceFile {
        path: entry.path.clone(),
        blob_link: entry.blob_link(),
        is_requirements: entry.is_requirements(),
    }
}

fn read(root: &Path, entry: &Entry, generated: &Generated, stamp: Option<Stamp>) -> FileState {
    let (annotations, problems) = annotations(root, entry, generated);
    FileState { stamp, annotations: annotations.into(), problems: problems.into() }
}

fn text_of(root: &Path, generated: &Generated, path: &Arc<str>) -> Option<String> {
    match generated.file(path) {
        Some(file) => Some(file.text.clone()),
        None => files::read(&root.join(&**path)).ok(),
    }
}

/// Keeps the files that are inside of the project, wherever links lead.
fn inside(root: &Path, entries: Vec<Entry>) -> (Vec<Entry>, Vec<Diagnostic>) {
    let mut folders: HashMap<PathBuf, bool> = HashMap::new();
    let mut outside = Vec::new();
    let kept = entries.into_iter().filter(|entry| {
        let path = Path::new(&*entry.path);
        let folder = path.parent().unwrap_or(Path::new("")).to_path_buf();
        let is_link = root.join(path).is_symlink();
        let is_inside = *folders.entry(folder).or_insert_with_key(|folder| files::is_inside(root, folder))
            && (!is_link || files::is_inside(root, path));
        if !is_inside {
            let message = format!("{} is outside of the project, and is not read", entry.path);
            outside.push(
                Diagnostic::warning(Code::Unreadable, message).at(Place::file(entry.path.clone(), "outside")),
            );
        }
        is_inside
    });
    let kept = kept.collect();
    (kept, outside)
}

/// Says so if there is nothing to do.
fn emptiness(project: &Project, entries: &[Entry]) -> Option<Diagnostic> {
    let Some(config) = &project.config else {
        let message = format!("there is no {CONFIG_PATH}");
        return Some(Diagnostic::warning(Code::Empty, message).help("`duvet init` writes one"));
    };
    let config_path = || Place::file(CONFIG_PATH, "");
    if config.sources.is_empty() && config.specifications.is_empty() {
        let message = "the configuration names no sources and no specifications";
        return Some(Diagnostic::warning(Code::Empty, message).at(config_path()));
    }
    let has_source = entries.iter().any(|entry| !entry.is_requirements());
    if !config.sources.is_empty() && !has_source {
        let patterns: Vec<&str> = config.sources.iter().map(|source| source.pattern.as_str()).collect();
        let message = format!("no file matches {}", patterns.join(", "));
        return Some(Diagnostic::warning(Code::Pattern, message).at(config_path()));
    }
    None
}

/// The globs of files that matter.
fn patterns(project: &Project) -> Vec<glob::Pattern> {
    let config = project.config.iter();
    let sources = config.clone().flat_map(|config| config.sources.iter().map(|source| &source.pattern));
    let requirements = config.flat_map(|config| &config.requirements);
    let patterns = sources.chain(requirements).map(|pattern| pattern.trim_start_matches("./"));
    patterns.filter_map(|pattern| glob::Pattern::new(pattern).ok()).collect()
}

/// Puts all spellings of one document together. Also returns for each spelling which document it is.
fn merge(project: &Project, documents: &Documents) -> (Vec<Document>, Vec<usize>) {
    let mut merged: Vec<Document> = Vec::new();
    let mut by_file: HashMap<(&Path, Format), usize> = HashMap::new();
    let mut by_text: HashMap<(String, &str), usize> = HashMap::new();
    let mut owners = Vec::new();
    for found in documents.found() {
        let shown = found.target.path.display(&project.options.root);
        let id = super::identity::specification_id(&found.target.path, &shown);
        let key = (found.local.as_path(), found.specification.format);
        let known = by_file.get(&key).or_else(|| by_text.get(&(id.clone(), &*found.specification.text)));
        let owner = match known {
            Some(owner) => *owner,
            None => {
                merged.push(Document {
                    path: found.target.path.clone(),
                    shown: shown.clone(),
                    spellings: Vec::new(),
                    specification: found.specification.clone(),
                    requirements: Vec::new(),
                });
                merged.len() - 1
            }
        };
        by_file.insert(key, owner);
        by_text.insert((id, &found.specification.text), owner);
        let spellings = &mut merged[owner].spellings;
        if !spellings.contains(&shown) {
            spellings.push(shown);
        }
        owners.push(owner);
    }
    (merged, owners)
}
