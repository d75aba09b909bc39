//! A project on disk: finds, reads, resolves and follows what its configuration names.
//!
//! The only part of this crate that accesses the disk, and it only reads. Requirements of configured specifications
//! are extracted in memory; they replace the files of an earlier `extract`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::annotation::Annotation;
use crate::config::Config;
use crate::diagnostic::{Code, Diagnostic, Place};
use crate::managed::ManagedTexts;
use crate::model::{Model, SourceFile};
use crate::specification::Specification;

mod documents;
mod extracted;
pub(crate) mod files;
mod index;
pub(crate) mod listing;
mod load;
mod managed;
mod problems;
mod scan;
mod stray;
mod styles;
mod texts;
mod walk;

pub use documents::{Documents, Fetch};
pub use extracted::folder as requirement_folder;
pub use files::Reading;
pub use index::{Changes, Index};
pub use stray::strays;
pub use texts::{Sources, Texts};

/// Options for loading a project.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The folder that paths are relative to.
    pub root: PathBuf,
    /// The configuration, if it is not at the default path.
    pub config_path: Option<PathBuf>,
    /// Globs of source code, optionally with marks: `(META,CONTENT)glob`.
    pub source_patterns: Vec<String>,
    /// Globs of files that are never read as source code, such as test reports, which quote source code.
    pub excluded_patterns: Vec<String>,
    /// Globs of requirement files.
    pub requirement_patterns: Vec<String>,
    /// Where specifications are kept if there is no configuration.
    pub specification_path: Option<PathBuf>,
    /// Whether files outside of the root must not be read.
    pub is_confined: bool,
    /// The source of managed requirements.
    pub managed: Option<Arc<dyn ManagedTexts>>,
}

/// The default path of a configuration.
pub const CONFIG_PATH: &str = ".duvet/config.toml";

/// A project whose configuration was read.
#[derive(Debug)]
pub struct Project {
    /// The options.
    pub options: Options,
    /// The configuration, if there is one.
    pub config: Option<Config>,
    /// Where specifications are kept, relative to the root.
    pub downloads: PathBuf,
    /// Where extracted requirements would be kept, relative to the root.
    pub requirements: PathBuf,
}

/// A step of loading a project. The observer is called when it is done, with the amount of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Requirements were extracted from configured specifications.
    Extracted,
    /// Files were found.
    Found,
    /// Annotations were read.
    Read,
    /// Specifications were opened.
    Opened,
    /// Annotations were resolved to the text they cite.
    Matched,
}

/// Receives phases.
pub type Watch<'a> = dyn FnMut(Phase, usize) + 'a;

impl Project {
    /// Reads the configuration.
    pub fn open(
        options: Options,
        environment: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Project, Vec<Diagnostic>> {
        let path = options.config_path.clone().unwrap_or_else(|| CONFIG_PATH.into());
        let is_named = options.config_path.is_some();
        let shown: Arc<str> = path.display().to_string().into();
        if options.is_confined && !is_named && !files::is_inside(&options.root, &path) {
            let message = format!("{shown} is outside of the project");
            let problem = Diagnostic::error(Code::Configuration, message).at(Place::file(shown, ""));
            return Err(vec![problem.help("pass `--config-path` to allow it")]);
        }
        let config = match files::read(&options.root.join(&path)) {
            Ok(text) => Some(Config::parse(&shown, &text, environment)?),
            Err(reading) if reading.is_missing() && !is_named => None,
            Err(reading) => return Err(vec![reading.diagnostic(&shown, Code::Configuration)]),
        };
        let folder = files::tidy(&options.root, path.parent().unwrap_or(Path::new("")));
        let downloads = match (&config, &options.specification_path) {
            (Some(_), _) => folder.join("specifications"),
            (None, Some(path)) => path.join("specs"),
            (None, None) => "specs".into(),
        };
        Ok(Project { config, downloads, requirements: folder.join("requirements"), options })
    }

    /// Where specifications are kept, as the configuration was named. It starts with the root if it was not named at
    /// all, so that a specification beside it that is named by a relative path counts as kept elsewhere. The paths
    /// of extracted requirements depend on it.
    pub fn named_downloads(&self) -> PathBuf {
        match (&self.config, &self.options.config_path) {
            (None, _) => self.downloads.clone(),
            (Some(_), None) => self.options.root.join(&self.downloads),
            (Some(_), Some(path)) => path.with_file_name("specifications"),
        }
    }

    /// Reads and resolves everything. Missing specifications are fetched.
    pub fn load(&self, fetch: Option<Arc<Fetch>>, watch: &mut Watch<'_>) -> Model {
        let mut documents = Documents::new(self, fetch);
        load::load(self, &mut documents, None, watch).model
    }
}

/// Makes this thread one of those that share the work, in place of one that would have to be started and woken. For
/// programs that load projects on this thread alone: where there is one core, no other thread serves the rest.
pub fn work_on_this_thread() {
    // Whoever has worked before has its threads already.
    let _ = rayon::ThreadPoolBuilder::new().use_current_thread().build_global();
}

/// Opens the specification that a comment names, as loading the project would, without fetching.
pub fn open_named(
    options: &Options,
    environment: &dyn Fn(&str) -> Option<String>,
    annotation: &Annotation,
) -> Result<Arc<Specification>, Diagnostic> {
    let project = Project::open(options.clone(), environment).map_err(|mut problems| problems.remove(0))?;
    let mut documents = Documents::new(&project, None);
    let source = SourceFile { path: "".into(), blob_link: None, is_requirements: false };
    let index = documents.find(annotation, &source).map_err(|problem| problem.diagnostic())?;
    Ok(documents.found()[index as usize].specification.clone())
}

/// Lists the files inside of the root that a glob matches, after resolving links.
pub fn matching(root: &Path, pattern: &str) -> Result<Vec<PathBuf>, String> {
    let walk = walk::walk(root, pattern, Some(root)).map_err(|error| error.msg.to_owned())?;
    let is_inside = |path: &PathBuf| path.is_file() && files::is_inside(root, path);
    Ok(walk.found.into_iter().filter(is_inside).collect())
}

/// Reads a file of a project as text, if it is inside of the root after resolving links.
pub fn read_inside(root: &Path, path: &Path) -> Result<String, String> {
    read_if_there(root, path)?.ok_or_else(|| format!("there is no {}", path.display()))
}

/// The same for a file that may be missing.
pub fn read_if_there(root: &Path, path: &Path) -> Result<Option<String>, String> {
    if !files::is_inside(root, path) {
        return Err("it is outside of the project".to_owned());
    }
    match files::read(&root.join(path)) {
        Ok(text) => Ok(Some(text)),
        Err(reading) if reading.is_missing() => Ok(None),
        Err(reading) => {
            let shown = path.to_string_lossy().into();
            Err(reading.diagnostic(&shown, Code::Unreadable).message)
        }
    }
}
