//! Finds and reads specifications, each once however it is named.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use foldhash::fast::RandomState;

use crate::annotation::Annotation;
use crate::report::SourceFile;
use crate::specification::{Format, Specification};
use crate::target::{Target, TargetPath};

use super::{Project, files};

/// Fetches the document at an address, keeps it at a path relative to the project, and returns it, or says why not.
pub type Fetch = dyn Fn(&str, &Path) -> Result<String, String> + Send + Sync;

/// Why a specification could not be had.
#[derive(Clone, Debug)]
pub enum Problem {
    /// The URL cannot be understood.
    Url(String),
    /// There is no such file.
    Missing {
        /// As it was named.
        name: String,
        /// Where a copy would be looked for, and what fetching it said.
        copy: Option<(String, Option<String>)>,
    },
    /// The file cannot be read.
    Unreadable(String),
}

/// The index of a specification, and the path that was found, or the URL as it was named.
pub type Named = (u32, Arc<str>);

/// A specification that was found.
#[derive(Clone, Debug)]
pub struct Found {
    /// The file that it is read from, relative to the project.
    pub local: PathBuf,
    /// What it is.
    pub target: Target,
    /// The specification.
    pub specification: Arc<Specification>,
}

/// The specifications that were asked for so far.
pub struct Documents {
    root: PathBuf,
    downloads: PathBuf,
    fetch: Option<Arc<Fetch>>,
    is_confined: bool,
    texts: HashMap<PathBuf, Result<Arc<str>, Problem>>,
    parsed: HashMap<(PathBuf, Format), Arc<Specification>>,
    found: Vec<Found>,
    by_target: HashMap<Target, u32>,
    /// By what annotations call them, for each format.
    by_name: [HashMap<String, Result<Named, Problem>, RandomState>; 3],
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
            by_name: Default::default(),
        }
    }

    /// Those that annotations name.
    pub fn found(&self) -> &[Found] {
        &self.found
    }

    /// Opens a specification that the configuration names.
    pub fn open(&mut self, name: &str, format: Format) -> Result<(Target, Arc<Specification>), Problem> {
        let path = TargetPath::parse(name).map_err(|error| Problem::Url(error.to_string()))?;
        let specification = self.parse(&path, format, name)?;
        Ok((Target { path, format }, specification))
    }

    /// Finds the specification that an annotation in a file names.
    pub fn find(&mut self, annotation: &Annotation, file: &SourceFile) -> Result<Named, Problem> {
        // A requirement file may mean a file beside itself.
        let name = match file.is_requirements {
            true => Cow::Owned(format!("{}\0{}", annotation.target_path(), file.path)),
            false => Cow::Borrowed(annotation.target_path()),
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
        known.as_ref().ok().map(|(index, _)| *index)
    }

    /// Lists the files that specifications are read from, or would be.
    pub fn locals(&self) -> impl Iterator<Item = &Path> {
        self.texts.keys().map(PathBuf::as_path)
    }

    fn look(&mut self, annotation: &Annotation, file: Option<&str>) -> Result<Named, Problem> {
        let name = annotation.target_path();
        let path = if name.starts_with('/') {
            TargetPath::Path(name.into())
        } else if name.contains("://") {
            TargetPath::parse(name).map_err(|error| Problem::Url(error.to_string()))?
        } else {
            let missing = Problem::Missing { name: name.to_owned(), copy: None };
            TargetPath::Path(self.nearby(Path::new(name), file).ok_or(missing)?)
        };
        let shown = match &path {
            TargetPath::Url(_) => name.into(),
            TargetPath::Path(path) => path.to_string_lossy().into(),
        };
        let target = Target { path, format: annotation.format };
        self.add(target, name).map(|index| (index, shown))
    }

    /// Counts a specification among those that were found. Returns its index.
    pub fn add(&mut self, target: Target, name: &str) -> Result<u32, Problem> {
        if let Some(known) = self.by_target.get(&target) {
            return Ok(*known);
        }
        let specification = self.parse(&target.path, target.format, name)?;
        let index = self.found.len() as u32;
        self.by_target.insert(target.clone(), index);
        let local = target.path.local(&self.downloads).unwrap_or_default();
        self.found.push(Found { local, target, specification });
        Ok(index)
    }

    /// Looks for a file in the root, then around the file that names it, then in the folders above.
    fn nearby(&self, name: &Path, file: Option<&str>) -> Option<PathBuf> {
        if files::is_file(&self.root, name) {
            return Some(name.to_owned());
        }
        let start = file.map_or(&*self.root, Path::new);
        let around = start.ancestors().map(|folder| folder.join(name));
        around.into_iter().find(|path| files::is_file(&self.root, path))
    }

    fn parse(
        &mut self,
        path: &TargetPath,
        format: Format,
        name: &str,
    ) -> Result<Arc<Specification>, Problem> {
        let missing = |copy| Problem::Missing { name: name.to_owned(), copy };
        let local = path.local(&self.downloads).ok_or_else(|| missing(None))?;
        let text = match self.texts.get(&local) {
            Some(text) => text.clone()?,
            None => {
                let text = self.read(path, &local, name);
                self.texts.insert(local.clone(), text.clone());
                text?
            }
        };
        let shown = local.to_string_lossy().into_owned();
        let key = (local, format.detect(&text, &shown));
        if let Some(specification) = self.parsed.get(&key) {
            return Ok(specification.clone());
        }
        let specification = Arc::new(Specification::parse(text, &shown, key.1));
        self.parsed.insert(key, specification.clone());
        Ok(specification)
    }

    fn read(&self, path: &TargetPath, local: &Path, name: &str) -> Result<Arc<str>, Problem> {
        if self.is_confined && !files::is_inside(&self.root, local) {
            let shown = files::show(&self.root, local);
            return Err(Problem::Unreadable(format!("{shown} is outside of the project")));
        }
        match files::read(&self.root.join(local)) {
            Ok(text) => Ok(text.into()),
            Err(reading) if reading.is_missing() => {
                let shown = files::show(&self.root, local).to_string();
                let copy = match (path.address(), &self.fetch) {
                    (None, _) => None,
                    (Some(_), None) => Some((shown, None)),
                    (Some(address), Some(fetch)) => match fetch(&address, local) {
                        Ok(text) => return Ok(text.into()),
                        Err(reason) => Some((shown, Some(reason))),
                    },
                };
                Err(Problem::Missing { name: name.to_owned(), copy })
            }
            Err(reading) => {
                let shown = files::show(&self.root, local);
                let diagnostic = reading.diagnostic(&shown, crate::Code::Unreadable);
                Err(Problem::Unreadable(diagnostic.message))
            }
        }
    }
}
