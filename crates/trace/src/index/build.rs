//! Reads all of a project and puts it together.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rayon::prelude::*;

use crate::annotation::{Annotation, Kind};
use crate::diagnostic::{Code, Diagnostic, Place};
use crate::link::{self, Linker};
use crate::project::documents::{self, Documents};
use crate::project::files::{self, Entry, Kind as FileKind, Listing, Stamp};
use crate::project::generated::{self, Generated};
use crate::project::problems::Texts;
use crate::project::{CONFIG_PATH, Project, annotations};
use crate::report::SourceFile;
use crate::specification::Format;
use crate::target::clean;
use crate::text::Span;

use super::catalogue::{Catalogue, Document, Requirement};
use super::citation::Citation;
use super::model::{self, Model};

use super::follow::{FileState, Index};

/// The requirements of a document, by section and place.
type Requirements = BTreeMap<(u32, Arc<[Span]>), Requirement>;

impl Index {
    /// Reads what changed since the last time, and links everything.
    pub(super) fn build(&mut self) -> Model {
        self.n_builds += 1;
        let project = match Project::open(self.options.clone(), &*self.environment) {
            Ok(project) => project,
            Err(problems) => {
                self.patterns = Vec::new();
                self.globbed = BTreeSet::new();
                self.links = Vec::new();
                self.files = HashMap::new();
                self.documents = None;
                self.first_sections = Vec::new();
                return Model { general: problems.into(), ..Model::default() };
            }
        };
        let mut general = Vec::new();
        let mut documents = Documents::new(&project, None);
        let generated = generated::extract(&project, &mut documents, &mut general);
        let Listing { entries, folders } = files::list(&project, &generated, &mut general);
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
                // What was forbidden may be allowed now, which no stamp tells.
                match known.filter(|state| !entry.is_requirements() && state.problems.is_empty()) {
                    Some(state) => state.clone(),
                    None => read(&self.options.root, entry, &generated, stamp),
                }
            })
            .collect();
        self.files = entries.iter().cloned().zip(states).collect();
        let model = self.assemble(&project, &entries, &generated, &mut documents, general);
        self.patterns = patterns(&project);
        self.globbed = folders;
        self.links = links(&self.options.root, &entries);
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
        let mut texts = Texts::new(&self.options.root, generated);
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
                        let problem = texts.describe(&entry.path, annotation, |annotation, text| {
                            let target = annotation.places.target;
                            problem.diagnostic().at(Place::new(&entry.path, text, target, "named here"))
                        });
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
        let links = link_all(&resolved, found);

        let (merged, owners) = merge(project, documents);
        let mut requirements: Vec<Requirements> = vec![BTreeMap::new(); merged.len()];
        for ((entry, annotation, found_at), link) in resolved.iter().zip(&links) {
            if let (Kind::Spec, Ok((section, spans, _))) = (annotation.kind, link)
                && !annotation.quote.is_empty()
            {
                let known = &mut requirements[owners[*found_at as usize]];
                let source = generated.file(&entry.path).is_none();
                let source = source.then(|| format!("{}:{}", entry.path, annotation.line));
                let new = Requirement::new(annotation, spans.clone(), source);
                known
                    .entry((*section, spans.clone()))
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
                Ok(_) if annotation.kind == Kind::Spec => {}
                Ok((section, spans, likeness)) => {
                    let section = self.first_sections[found_at as usize] + section;
                    let citation = Arc::new(Citation {
                        path: entry.path.clone(),
                        annotation: annotation.clone(),
                        section,
                        spans,
                        likeness,
                    });
                    by_section[section as usize].push(citation.clone());
                    by_file.entry(entry.path.clone()).or_default().push(citation);
                }
                Err(reason) => {
                    let specification = &found[found_at as usize].specification;
                    let problem = texts.describe(&entry.path, annotation, |annotation, text| {
                        reason.diagnostic(annotation, &file_of(entry), text, specification)
                    });
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
        let configured = project.config.iter().flat_map(|config| &config.sources);
        let configured = configured.map(|source| &source.style);
        let used = entries.iter().filter_map(|entry| match &entry.kind {
            FileKind::Source { style, .. } => Some(style),
            FileKind::Requirements => None,
        });
        let mut styles: Vec<_> = configured.chain(used).cloned().collect();
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

/// Links annotations, those of one specification after the other, specifications on all cores.
fn link_all(
    resolved: &[(&Entry, &Annotation, u32)],
    found: &[documents::Found],
) -> Vec<Result<link::Found, link::Broken>> {
    let mut by_target: Vec<Vec<u32>> = vec![Vec::new(); found.len()];
    for (number, (_, _, found_at)) in resolved.iter().enumerate() {
        by_target[*found_at as usize].push(number as u32);
    }
    let linked = by_target.into_par_iter().zip(found).map(|(numbers, found)| {
        let mut linker = Linker::new(&found.specification);
        let link = |number: u32| (number, linker.link(resolved[number as usize].1));
        numbers.into_iter().map(link).collect::<Vec<_>>()
    });
    let mut linked: Vec<_> = linked.collect::<Vec<_>>().into_iter().flatten().collect();
    linked.sort_unstable_by_key(|(number, _)| *number);
    linked.into_iter().map(|(_, link)| link).collect()
}

/// The file of an entry, as documents want it.
pub(super) fn file_of(entry: &Entry) -> SourceFile {
    SourceFile {
        path: entry.path.clone(),
        blob_link: entry.blob_link(),
        is_requirements: entry.is_requirements(),
    }
}

/// Reads a file.
pub(super) fn read(root: &Path, entry: &Entry, generated: &Generated, stamp: Option<Stamp>) -> FileState {
    let (annotations, problems) = annotations(root, entry, generated);
    FileState { stamp, annotations: annotations.into(), problems: problems.into() }
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

/// Lists the files that are links, or in folders that are.
fn links(root: &Path, entries: &[Entry]) -> Vec<PathBuf> {
    let mut folders: HashMap<&Path, bool> = HashMap::new();
    let mut links = Vec::new();
    for path in entries.iter().map(|entry| Path::new(&*entry.path)) {
        let is_link = |path: &Path| root.join(path).is_symlink();
        let mut above = path.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty());
        if above.any(|folder| *folders.entry(folder).or_insert_with(|| is_link(folder))) || is_link(path) {
            links.push(path.to_path_buf());
        }
    }
    links
}

/// Says so if there is nothing to do.
fn emptiness(project: &Project, entries: &[Entry]) -> Option<Diagnostic> {
    let Some(config) = &project.config else {
        if !project.options.source_patterns.is_empty() {
            return None;
        }
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
    let globs = files::globs(project).into_iter().map(|pattern| pattern.trim_start_matches("./"));
    globs.filter_map(|pattern| glob::Pattern::new(pattern).ok()).collect()
}

/// Puts all spellings of one document together. Also returns for each spelling which document it is.
fn merge(project: &Project, documents: &Documents) -> (Vec<Document>, Vec<usize>) {
    let mut merged: Vec<Document> = Vec::new();
    let mut by_file: HashMap<(PathBuf, Format), usize> = HashMap::new();
    let mut by_text: HashMap<(String, &str), usize> = HashMap::new();
    let mut owners = Vec::new();
    for found in documents.found() {
        let shown = found.target.path.display(&project.options.root);
        let id = super::identity::specification_id(&found.target.path, &shown);
        let key = (clean(&found.local), found.specification.format);
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
