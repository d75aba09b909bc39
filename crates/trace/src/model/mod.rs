//! An immutable state of a project, so that an answer never mixes
//! two states.
//!
//! A model has files with annotations and the text each cites, with names as in Duvet, and on top of them the view by
//! meaning: all names of a document are one specification, white space and list markers do not count, cells of tables are
//! requirements, and requirements have a status.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use rayon::prelude::*;

use crate::annotation::AnnotationKind;
use crate::comment::{Style, StyleUse};
use crate::diagnostic::Diagnostic;
use crate::meaning;
use crate::overlap::{Cover, Covers};

mod catalogue;
mod citation;
mod file;
mod identity;
mod managed;
mod nearby;
mod reference;
mod search;
mod short_id;
mod state;
mod validate;
mod verdict;
mod warnings;

pub use catalogue::{Catalogue, NamedTarget, RequirementEntry, SectionEntry, SpecificationEntry};
pub use citation::Citation;
pub use file::{Link, LinkedFile, ScannedFile, SourceFile};
pub use identity::{percent_decode, percent_encode};
pub use managed::ManagedCitation;
pub use reference::Named;
pub use state::{IMPLEMENTED, Label, TESTED, TraceProgress, TraceState, TraceStatus};
pub use validate::OpenSpecification;
pub use verdict::{CitationVerdict, Quoted, QuotedUnit, lines};

/// An immutable state of a project.
#[derive(Debug, Default)]
pub struct Model {
    /// The part that does not depend on annotations.
    pub setting: Arc<Setting>,
    /// Problems of the project as a whole.
    pub general: Arc<[Diagnostic]>,
    /// The specifications by their names in annotations and the configuration.
    pub targets: Arc<[NamedTarget]>,
    /// The specifications by meaning.
    pub catalogue: Arc<Catalogue>,
    /// For each target the position of its first section in the catalogue.
    first_sections: Arc<[u32]>,
    /// The files with annotations, by path.
    files: Vec<Arc<LinkedFile>>,
    /// For each section its citations, by file and line.
    citations: Vec<Arc<[Citation]>>,
    /// For each section the states of its requirements.
    states: Vec<Arc<[TraceState]>>,
    /// For each file its problems.
    problems: BTreeMap<Arc<str>, Arc<[Diagnostic]>>,
    priorities: OnceLock<Vec<u32>>,
    uncited: [OnceLock<Vec<u32>>; 2],
}

/// The options and the configuration.
#[derive(Debug, Default)]
pub struct Setting {
    /// The folder that paths are relative to.
    pub root: PathBuf,
    /// Where specifications are kept, relative to the root.
    pub downloads: PathBuf,
    /// The base URL of files.
    pub blob_link: Option<String>,
    /// The base URL of issues.
    pub issue_link: Option<String>,
    /// The key of the project of managed requirements without one.
    pub project_key: Option<String>,
    /// The allowed comment styles.
    pub styles: Vec<StyleUse>,
    /// All files of source code, with or without annotations.
    pub sources: Vec<Arc<str>>,
    /// The globs of source code without matches.
    pub unmatched: Vec<String>,
}

/// For each file what is wrong in it.
pub type Problems = BTreeMap<Arc<str>, Arc<[Diagnostic]>>;

/// A changed file: its path, its contents if any, and its problems.
pub type ChangedFile = (Arc<str>, Option<Arc<LinkedFile>>, Arc<[Diagnostic]>);

impl Model {
    /// Builds the model. Files must be sorted by path.
    pub fn new(
        setting: Setting,
        general: Vec<Diagnostic>,
        targets: Vec<NamedTarget>,
        files: Vec<Arc<LinkedFile>>,
        problems: Problems,
    ) -> Model {
        let (mut catalogue, first_sections) = Catalogue::new(&setting.root, &targets);
        let mut requirements = Vec::new();
        let mut n_citations = vec![0; catalogue.sections.len()];
        for link in files.iter().flat_map(|file| &file.links) {
            if let (Some(target), Some(found)) = (link.target, &link.found) {
                n_citations[(first_sections[target as usize] + found.section) as usize] += 1;
            }
        }
        let mut by_section: Vec<Vec<Citation>> = n_citations.into_iter().map(Vec::with_capacity).collect();
        for file in &files {
            for (index, (annotation, link)) in file.annotations().enumerate() {
                let (Some(target), Some(found)) = (link.target, &link.found) else {
                    continue;
                };
                let section = first_sections[target as usize] + found.section;
                if annotation.kind != AnnotationKind::Spec {
                    if file.is_cited(index) {
                        by_section[section as usize].push(Citation::new(file, index, section));
                    }
                } else if !annotation.quote.is_empty() {
                    let specification = &targets[target as usize].specification;
                    let own = &specification.sections[found.section as usize];
                    let meant = meaning::requirements(specification, own, &found.spans, annotation.level);
                    let entry = |(spans, level)| RequirementEntry { section, spans, level };
                    requirements.extend(meant.into_iter().map(entry));
                }
            }
        }
        for (named, section) in targets.iter().zip(&first_sections) {
            let units = named.specification.managed.iter().flat_map(|managed| &managed.units);
            requirements.extend(units.map(|(spans, level)| RequirementEntry {
                section: *section,
                spans: spans.clone(),
                level: *level,
            }));
        }
        catalogue.add_requirements(requirements);
        let citations: Vec<Arc<[Citation]>> = by_section.into_iter().map(Arc::from).collect();
        let states = citations.par_iter().enumerate().with_min_len(64);
        let states =
            states.map(|(section, citations)| states_of(&catalogue, section as u32, citations)).collect();
        Model {
            setting: Arc::new(setting),
            general: general.into(),
            targets: targets.into(),
            catalogue: Arc::new(catalogue),
            first_sections: first_sections.into(),
            files,
            citations,
            states,
            problems,
            ..Model::default()
        }
    }

    /// A project that could not be loaded, with its problems.
    pub fn broken(general: Vec<Diagnostic>) -> Model {
        Model { general: general.into(), ..Model::default() }
    }

    /// The same project after changes of some files, with unchanged requirements. Also returns the sections whose
    /// citations changed.
    pub fn with(&self, changed: Vec<ChangedFile>) -> (Model, BTreeSet<u32>) {
        let mut model = Model {
            setting: self.setting.clone(),
            general: self.general.clone(),
            targets: self.targets.clone(),
            catalogue: self.catalogue.clone(),
            first_sections: self.first_sections.clone(),
            files: self.files.clone(),
            citations: self.citations.clone(),
            states: self.states.clone(),
            problems: self.problems.clone(),
            ..Model::default()
        };
        let mut paths: BTreeSet<Arc<str>> = BTreeSet::new();
        let mut new: BTreeMap<u32, Vec<Citation>> = BTreeMap::new();
        for (path, file, problems) in changed {
            let position = model.position(&path);
            if let Ok(position) = position {
                for (section, _) in model.cited(&model.files[position]) {
                    new.entry(section).or_default();
                }
            }
            if let Some(file) = &file {
                for (section, index) in model.cited(file) {
                    new.entry(section).or_default().push(Citation::new(file, index, section));
                }
            }
            match (position, file) {
                (Ok(position), Some(file)) => model.files[position] = file,
                (Ok(position), None) => drop(model.files.remove(position)),
                (Err(position), Some(file)) => model.files.insert(position, file),
                (Err(_), None) => {}
            }
            match problems.is_empty() {
                true => model.problems.remove(&path),
                false => model.problems.insert(path.clone(), problems),
            };
            paths.insert(path);
        }
        let sections = new.keys().copied().collect();
        for (section, new) in new {
            let kept = self.citations(section).iter().filter(|citation| !paths.contains(citation.path()));
            let mut citations: Vec<Citation> = kept.cloned().chain(new).collect();
            citations.sort_by(Citation::order);
            model.states[section as usize] = states_of(&model.catalogue, section, &citations);
            model.citations[section as usize] = citations.into();
        }
        (model, sections)
    }

    /// Lists the citations of a file: the section of each and its index.
    fn cited(&self, file: &LinkedFile) -> Vec<(u32, usize)> {
        let cited = file.annotations().enumerate().filter_map(|(index, (annotation, link))| {
            let (target, found) = link.target.zip(link.found.as_ref())?;
            let is_citation = annotation.kind != AnnotationKind::Spec && file.is_cited(index);
            is_citation.then(|| (self.first_sections[target as usize] + found.section, index))
        });
        cited.collect()
    }

    /// The citations of a file, by line.
    pub fn citations_in(&self, file: &Arc<LinkedFile>) -> impl Iterator<Item = Citation> {
        let cited = self.cited(file).into_iter();
        cited.map(move |(section, index)| Citation::new(file, index, section))
    }

    fn position(&self, path: &str) -> Result<usize, usize> {
        let path = Path::new(path);
        self.files.binary_search_by(|file| Path::new(&**file.path()).cmp(path))
    }

    /// The files with annotations, by path.
    pub fn files(&self) -> &[Arc<LinkedFile>] {
        &self.files
    }

    /// A file with annotations.
    pub fn file(&self, path: &str) -> Option<&Arc<LinkedFile>> {
        self.position(path).ok().map(|position| &self.files[position])
    }

    /// A requirement by its number.
    pub fn requirement(&self, number: u32) -> &RequirementEntry {
        &self.catalogue.requirements[number as usize]
    }

    /// The state of a requirement.
    pub fn state(&self, number: u32) -> &TraceState {
        let section = self.requirement(number).section as usize;
        let first = self.catalogue.sections[section].first_requirement;
        &self.states[section][(number - first) as usize]
    }

    /// The citations of a section, by file and line.
    pub fn citations(&self, section: u32) -> &[Citation] {
        &self.citations[section as usize]
    }

    /// The citations that touch a requirement.
    pub fn citations_of(&self, number: u32) -> impl Iterator<Item = &Citation> {
        let citations = self.citations(self.requirement(number).section);
        self.state(number).citations.iter().map(|index| &citations[*index as usize])
    }

    /// The requirements that a citation touches.
    pub fn requirements_of(&self, citation: &Citation) -> impl Iterator<Item = u32> {
        let section = citation.section as usize;
        let position = self.citations[section].binary_search_by(|other| other.order(citation)).ok();
        let first = self.catalogue.sections[section].first_requirement;
        let touches = move |state: &TraceState| {
            position.is_some_and(|at| state.citations.binary_search(&(at as u32)).is_ok())
        };
        let touched = self.states[section].iter().enumerate().filter(move |(_, state)| touches(state));
        touched.map(move |(index, _)| first + index as u32)
    }

    /// All citations, by file and line. Files are in the order of their names, as lists of files usually are.
    pub fn all_citations(&self) -> impl Iterator<Item = Citation> {
        let mut files: Vec<&Arc<LinkedFile>> = self.files.iter().collect();
        files.sort_by_key(|file| file.path());
        files.into_iter().flat_map(|file| self.citations_in(file))
    }

    /// The marks that annotations may have, in order.
    pub fn styles(&self) -> BTreeSet<&Style> {
        self.setting.styles.iter().map(|used| &used.style).collect()
    }

    /// The comment styles of the project, and the files that each is for.
    pub fn styles_used(&self) -> &[StyleUse] {
        &self.setting.styles
    }

    /// What is wrong in files, by file and line.
    pub fn problems(&self) -> impl Iterator<Item = &Diagnostic> {
        self.problems.values().flat_map(|problems| problems.iter())
    }

    /// What is wrong in one file.
    pub fn problems_in(&self, path: &str) -> &[Diagnostic] {
        self.problems.get(path).map_or(&[], |problems| problems)
    }

    /// All that is wrong, by file and line.
    pub fn diagnostics(&self) -> Vec<Diagnostic> {
        let mut all: Vec<Diagnostic> = self.general.iter().chain(self.problems()).cloned().collect();
        all.sort_by(|first, second| first.order().cmp(&second.order()));
        all
    }

    /// Whether any problem makes a report fail.
    pub fn has_errors(&self) -> bool {
        self.general.iter().chain(self.problems()).any(Diagnostic::is_error)
    }

    /// Whether another model says the same of a file.
    pub fn has_same(&self, other: &Model, path: &str) -> bool {
        let citations = |model: &Model| -> Vec<Citation> {
            model.file(path).into_iter().flat_map(|file| model.citations_in(file)).collect()
        };
        self.problems_in(path) == other.problems_in(path) && citations(self) == citations(other)
    }

    /// The files that have annotations or problems.
    pub fn paths(&self) -> impl Iterator<Item = &Arc<str>> {
        self.files.iter().map(|file| file.path()).chain(self.problems.keys())
    }

    /// Finds requirements by words, best first.
    pub fn search(&self, query: &str) -> Vec<u32> {
        self.catalogue.search(query)
    }

    /// All requirements, by priority.
    pub fn priorities(&self) -> &[u32] {
        self.priorities.get_or_init(|| {
            let mut numbers: Vec<u32> = (0..self.catalogue.requirements.len() as u32).collect();
            numbers.sort_by_cached_key(|number| {
                let state = self.state(*number);
                let level = std::cmp::Reverse(self.requirement(*number).level);
                (level, state.progress, std::cmp::Reverse(state.n_todos), *number)
            });
            numbers
        })
    }

    /// The requirements without citations, in the order of documents; optionally with those that only todos cite.
    pub fn uncited(&self, with_todos: bool) -> &[u32] {
        self.uncited[usize::from(with_todos)].get_or_init(|| {
            let is_uncited = |number: &u32| {
                let state = self.state(*number);
                let n_others = state.citations.len() - state.n_todos as usize;
                n_others == 0 && (with_todos || state.n_todos == 0)
            };
            (0..self.catalogue.requirements.len() as u32).filter(is_uncited).collect()
        })
    }

    /// The number of requirements in each state, from not started to done.
    pub fn counts(&self) -> [usize; 4] {
        self.count(0..self.catalogue.requirements.len() as u32)
    }

    /// The same for some requirements.
    pub fn count(&self, numbers: impl Iterator<Item = u32>) -> [usize; 4] {
        let mut counts = [0; 4];
        numbers.for_each(|number| counts[self.state(number).status as usize] += 1);
        counts
    }
}

/// Computes the states of the requirements of a section.
fn states_of(catalogue: &Catalogue, section: u32, citations: &[Citation]) -> Arc<[TraceState]> {
    let requirements = &catalogue.requirements[catalogue.sections[section as usize].requirements()];
    if requirements.is_empty() {
        return Arc::default();
    }
    let (specification, _) = catalogue.document(section);
    let mut covers = Vec::with_capacity(citations.len() * 2);
    for (by, citation) in citations.iter().enumerate() {
        let (by, kind) = (by as u32, citation.kind());
        covers.extend(citation.found().spans.iter().map(|span| Cover { span: *span, by, kind }));
    }
    let covers = Covers::new(covers);
    let kind_of = |by: u32| citations[by as usize].kind();
    let state = |requirement: &RequirementEntry| {
        TraceState::of(covers.over(&requirement.spans), &specification.document.text, kind_of)
    };
    requirements.iter().map(state).collect()
}
