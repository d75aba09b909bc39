//! Finds and reads specifications, each once under all of its names.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use foldhash::fast::RandomState;
use rayon::prelude::*;

use crate::annotation::Annotation;
use crate::extract::{self, ExtractedRequirement};
use crate::managed::{self, NameError};
use crate::model::SourceFile;
use crate::specification::{Format, Specification};
use crate::target::{Target, TargetPath};

use super::files::Stamp;
use super::managed::ManagedDocuments;
use super::{Project, files};

/// Fetches the document at a URL, stores it at a path relative to the project, and returns it, or the reason why not.
pub type Fetch = dyn Fn(&str, &Path) -> Result<String, String> + Send + Sync;

/// Why a specification could not be found.
#[derive(Clone, Debug)]
pub enum LookupProblem {
    /// The URL cannot be parsed.
    Url(String),
    /// The file does not exist.
    Missing {
        /// Its name.
        name: String,
        /// The path of its local copy, and the result of fetching it.
        copy: Option<(String, Option<String>)>,
    },
    /// The file cannot be read.
    Unreadable(String),
    /// The target is an invalid name of a managed requirement.
    Name(NameError),
    /// The managed requirement does not exist.
    UnknownRequirement {
        /// Its reference.
        name: String,
        /// The target that was probably meant.
        nearest: Option<String>,
    },
    /// The text of a managed requirement is unavailable.
    Unreachable {
        /// Its reference.
        name: String,
        /// Why.
        reason: String,
    },
}

/// A specification that annotations name.
#[derive(Clone, Debug)]
pub struct FoundSpecification {
    /// The file that it is read from, relative to the project.
    pub local: PathBuf,
    /// Its kind.
    pub target: Target,
    /// The specification.
    pub specification: Arc<Specification>,
}

/// The requirements of each section that has any, by the index of the section.
pub type Extraction = Vec<(u32, Arc<[ExtractedRequirement]>)>;

/// A parsed document.
#[derive(Clone, Debug)]
struct Parsed {
    specification: Arc<Specification>,
    extraction: Arc<OnceLock<Extraction>>,
}

impl Parsed {
    fn new(text: &Arc<str>, shown: &str, format: Format) -> Parsed {
        let specification = Arc::new(Specification::parse(text.clone(), shown, format));
        Parsed { specification, extraction: Arc::default() }
    }

    fn extraction(&self) -> &Extraction {
        self.extraction.get_or_init(|| {
            let sections = self.specification.sections.iter().zip(0..);
            let requirements =
                sections.map(|(section, index)| (index, extract::requirements(&self.specification, section)));
            let requirements = requirements.filter(|(_, requirements)| !requirements.is_empty());
            requirements.map(|(index, requirements)| (index, requirements.into())).collect()
        })
    }
}

/// The text of a file, with what reveals a change.
type StampedText = (Option<Stamp>, Result<Arc<str>, LookupProblem>);

/// The specifications requested so far.
pub struct Documents {
    root: PathBuf,
    downloads: PathBuf,
    fetch: Option<Arc<Fetch>>,
    is_confined: bool,
    texts: HashMap<PathBuf, StampedText>,
    parsed: HashMap<(PathBuf, Format), Parsed>,
    found: Vec<FoundSpecification>,
    by_target: HashMap<Target, u32>,
    /// Files that were not found.
    missing: BTreeSet<PathBuf>,
    managed: ManagedDocuments,
    /// By name in annotations, for each format.
    by_name: [HashMap<String, Result<u32, LookupProblem>, RandomState>; 3],
}

impl std::fmt::Debug for Documents {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Documents").field("parsed", &self.parsed.keys()).finish_non_exhaustive()
    }
}

impl Documents {
    /// Starts without any of a project's specifications.
    pub fn new(project: &Project, fetch: Option<Arc<Fetch>>) -> Documents {
        Documents {
            root: project.options.root.clone(),
            downloads: project.downloads.clone(),
            is_confined: project.options.is_confined,
            fetch,
            texts: HashMap::new(),
            parsed: HashMap::new(),
            found: Vec::new(),
            by_target: HashMap::new(),
            missing: BTreeSet::new(),
            managed: ManagedDocuments::new(project),
            by_name: Default::default(),
        }
    }

    /// Starts with what was read before and has not changed. Files that are known to have changed are given.
    pub fn renew(self, project: &Project, changed: &BTreeSet<PathBuf>) -> Documents {
        let mut documents = Documents::new(project, self.fetch);
        documents.texts = self.texts;
        documents.parsed = self.parsed;
        let (root, is_confined) = (&documents.root, documents.is_confined);
        documents.texts.retain(|local, (stamp, text)| {
            let is_allowed = || !is_confined || files::is_inside(root, local);
            text.is_ok()
                && stamp.is_some()
                && !changed.contains(&files::tidy(root, local))
                && is_allowed()
                && *stamp == Stamp::of(&root.join(local))
        });
        documents.parsed.retain(|(local, _), _| documents.texts.contains_key(local));
        documents
    }

    /// Those that annotations name.
    pub fn found(&self) -> &[FoundSpecification] {
        &self.found
    }

    /// Opens a specification that the configuration names.
    pub fn open(
        &mut self,
        name: &str,
        format: Format,
    ) -> Result<(Target, Arc<Specification>), LookupProblem> {
        let path = TargetPath::parse(name).map_err(|error| LookupProblem::Url(error.to_string()))?;
        let parsed = self.parse(&path, format, name)?;
        Ok((Target { path, format }, parsed.specification))
    }

    /// Opens a specification that the configuration names, and extracts its requirements.
    pub fn extract(
        &mut self,
        name: &str,
        format: Format,
    ) -> Result<(Target, Arc<Specification>, &Extraction), LookupProblem> {
        let (target, specification) = self.open(name, format)?;
        let local = target.path.local(&self.downloads).unwrap_or_default();
        let parsed = &self.parsed[&(local, specification.format)];
        Ok((target, specification, parsed.extraction()))
    }

    /// Reads existing specifications on all cores. Optionally extracts their requirements.
    pub fn read_ahead<'n>(&mut self, names: impl Iterator<Item = (&'n str, Format)>, is_extracting: bool) {
        let mut wanted: BTreeSet<(PathBuf, Format)> = BTreeSet::new();
        let mut managed = Vec::new();
        for (name, format) in names {
            if self.managed.is_one(name) {
                managed.push(name);
                continue;
            }
            let local = TargetPath::parse(name).ok().and_then(|path| path.local(&self.downloads));
            wanted.extend(local.map(|local| (local, format)));
        }
        self.managed.look_up(&managed);
        let read = |(local, format): (PathBuf, Format)| {
            let (stamp, text) = match self.texts.get(&local) {
                Some((stamp, text)) => (*stamp, text.clone().ok()?),
                None => {
                    let (stamp, text) = self.read_local(&local);
                    (stamp, text.ok()?)
                }
            };
            let shown = local.to_string_lossy();
            let format = format.detect(&text, &shown);
            let known = self.parsed.get(&(local.clone(), format)).cloned();
            let parsed = known.unwrap_or_else(|| Parsed::new(&text, &shown, format));
            if is_extracting {
                parsed.extraction();
            }
            Some((local, (stamp, Ok(text)), format, parsed))
        };
        let read: Vec<_> = wanted.into_par_iter().filter_map(read).collect();
        for (local, text, format, parsed) in read {
            self.texts.insert(local.clone(), text);
            self.parsed.insert((local, format), parsed);
        }
    }

    /// Finds the specification that an annotation in a file names. Returns its index.
    pub fn find(&mut self, annotation: &Annotation, file: &SourceFile) -> Result<u32, LookupProblem> {
        let name = annotation.target_path();
        // A requirement file may name a file relative to itself.
        let name = match file.is_requirements && !name.contains("://") {
            true => Cow::Owned(format!("{name}\0{}", file.path)),
            false => Cow::Borrowed(name),
        };
        if let Some(found) = self.by_name[annotation.format as usize].get(&*name) {
            return found.clone();
        }
        let found = self.look(annotation, file.is_requirements.then_some(&*file.path));
        self.by_name[annotation.format as usize].insert(name.into_owned(), found.clone());
        found
    }

    /// Finds a specification that an annotation in source code named before.
    pub fn find_known(&self, annotation: &Annotation) -> Option<u32> {
        let known = self.by_name[annotation.format as usize].get(annotation.target_path())?;
        known.as_ref().ok().copied()
    }

    /// Lists the files that specifications are read from, or would be.
    pub fn locals(&self) -> impl Iterator<Item = &Path> {
        self.texts.keys().chain(&self.missing).map(PathBuf::as_path)
    }

    fn look(&mut self, annotation: &Annotation, file: Option<&str>) -> Result<u32, LookupProblem> {
        let name = annotation.target_path();
        if let Some(found) = self.managed.find(name) {
            return found.map(|(target, specification)| self.add_parsed(target, specification));
        }
        let path = if name.starts_with('/') {
            TargetPath::Path(name.into())
        } else if name.contains("://") {
            TargetPath::parse(name).map_err(|error| LookupProblem::Url(error.to_string()))?
        } else {
            let missing = LookupProblem::Missing { name: name.to_owned(), copy: None };
            TargetPath::Path(self.nearby(Path::new(name), file).ok_or(missing)?)
        };
        self.add(Target { path, format: annotation.format }, name)
    }

    /// Counts a specification among those that were found. Returns its index.
    pub fn add(&mut self, target: Target, name: &str) -> Result<u32, LookupProblem> {
        if let Some(known) = self.by_target.get(&target) {
            return Ok(*known);
        }
        let specification = self.parse(&target.path, target.format, name)?.specification;
        Ok(self.add_parsed(target, specification))
    }

    fn add_parsed(&mut self, target: Target, specification: Arc<Specification>) -> u32 {
        if let Some(known) = self.by_target.get(&target) {
            return *known;
        }
        let index = self.found.len() as u32;
        self.by_target.insert(target.clone(), index);
        let kept = match specification.managed {
            Some(_) => Path::new(managed::FOLDER),
            None => &self.downloads,
        };
        let local = target.path.local(kept).unwrap_or_default();
        self.found.push(FoundSpecification { local, target, specification });
        index
    }

    /// Requested managed requirements.
    pub fn managed(&self) -> &ManagedDocuments {
        &self.managed
    }

    /// Searches a file in the root, then around the file that names it, then in the parent folders.
    fn nearby(&mut self, name: &Path, file: Option<&str>) -> Option<PathBuf> {
        let start = file.map_or(&*self.root, Path::new);
        let around = start.ancestors().map(|folder| folder.join(name));
        for path in std::iter::once(name.to_owned()).chain(around) {
            if files::is_file(&self.root, &path) {
                return Some(path);
            }
            if path.is_relative() {
                self.missing.insert(path);
            }
        }
        None
    }

    fn parse(&mut self, path: &TargetPath, format: Format, name: &str) -> Result<Parsed, LookupProblem> {
        let missing = |copy| LookupProblem::Missing { name: name.to_owned(), copy };
        let local = path.local(&self.downloads).ok_or_else(|| missing(None))?;
        let text = match self.texts.get(&local) {
            Some((_, text)) => text.clone()?,
            None => {
                let (stamp, text) = self.read(path, &local, name);
                self.texts.insert(local.clone(), (stamp, text.clone()));
                text?
            }
        };
        let shown = local.to_string_lossy().into_owned();
        let key = (local, format.detect(&text, &shown));
        let format = key.1;
        Ok(self.parsed.entry(key).or_insert_with(|| Parsed::new(&text, &shown, format)).clone())
    }

    /// Reads a file, or explains why it cannot be read, without the path.
    fn read_local(&self, local: &Path) -> (Option<Stamp>, Result<Arc<str>, Option<LookupProblem>>) {
        let unreadable = |message: String| Err(Some(LookupProblem::Unreadable(message)));
        if self.is_confined && !files::is_inside(&self.root, local) {
            return (
                None,
                unreadable(format!("{} is outside of the project", files::show(&self.root, local))),
            );
        }
        let path = self.root.join(local);
        let stamp = Stamp::of(&path);
        let text = match files::read_with(&path, |text| Arc::<str>::from(text)) {
            Ok(text) => Ok(text),
            Err(reading) if reading.is_missing() => Err(None),
            Err(reading) => {
                let shown = files::show(&self.root, local);
                unreadable(reading.diagnostic(&shown, crate::Code::Unreadable).message)
            }
        };
        (stamp, text)
    }

    fn read(&self, path: &TargetPath, local: &Path, name: &str) -> StampedText {
        let (stamp, text) = self.read_local(local);
        let problem = match text {
            Ok(text) => return (stamp, Ok(text)),
            Err(Some(problem)) => return (stamp, Err(problem)),
            Err(None) => {
                let shown = files::show(&self.root, local).to_string();
                let copy = match (path.address(), &self.fetch) {
                    (None, _) => None,
                    (Some(_), None) => Some((shown, None)),
                    (Some(address), Some(fetch)) => match fetch(&address, local) {
                        Ok(text) => return (None, Ok(text.into())),
                        Err(reason) => Some((shown, Some(reason))),
                    },
                };
                LookupProblem::Missing { name: name.to_owned(), copy }
            }
        };
        (stamp, Err(problem))
    }
}
