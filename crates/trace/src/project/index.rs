//! Keeps a project in memory and follows what changes on disk.

use std::collections::{BTreeSet, HashMap};
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rayon::prelude::*;

use crate::diagnostic::Diagnostic;
use crate::interner::Interner;
use crate::model::{ChangedFile, LinkedFile, Model};

use super::documents::Documents;
use super::extracted::Extracted;
use super::files;
use super::listing::{self, FilePlan};
use super::load::{self, FileState, Files, Loaded};
use super::problems::FileTexts;
use super::walk::walk;
use super::{CONFIG_PATH, Options, Project};

type Environment = dyn Fn(&str) -> Option<String> + Send + Sync;

/// A project in memory.
pub struct Index {
    options: Options,
    environment: Box<Environment>,
    project: Option<Project>,
    files: Files,
    documents: Option<Documents>,
    extracted: Extracted,
    /// Everything that was read or searched, relative to the root.
    known: BTreeSet<PathBuf>,
    /// For each target the number of annotations that name it.
    n_uses: Vec<usize>,
    /// The relevant globs.
    patterns: Vec<glob::Pattern>,
    /// The folders in which globs look for files, relative to the root.
    globbed: BTreeSet<PathBuf>,
    links: Vec<PathBuf>,
    /// The number of full reloads.
    n_builds: u64,
    /// The edition of the managed requirements.
    edition: u64,
    model: Arc<Model>,
}

impl std::fmt::Debug for Index {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Index").field("options", &self.options).finish_non_exhaustive()
    }
}

/// The effect of a change on disk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Whether specifications, sections or requirements came, went or changed.
    pub catalogue: bool,
    /// The sections whose citations changed, by position.
    pub sections: BTreeSet<u32>,
    /// The files whose citations changed.
    pub paths: BTreeSet<Arc<str>>,
    /// Whether the problems of the project as a whole changed.
    pub general: bool,
}

impl Index {
    /// Reads a project. Its problems are in the model.
    pub fn open(options: Options, environment: Box<Environment>) -> Index {
        let mut index = Index {
            options,
            environment,
            project: None,
            files: Files::default(),
            documents: None,
            extracted: Extracted::default(),
            known: BTreeSet::new(),
            n_uses: Vec::new(),
            patterns: Vec::new(),
            globbed: BTreeSet::new(),
            links: Vec::new(),
            n_builds: 0,
            edition: 0,
            model: Arc::default(),
        };
        index.reload(&BTreeSet::new());
        index
    }

    /// The current state.
    pub fn model(&self) -> Arc<Model> {
        self.model.clone()
    }

    /// The configured project at the last full reload; none if the configuration is invalid.
    pub fn project(&self) -> Option<&Project> {
        self.project.as_ref()
    }

    /// The number of full reloads: while it is the same, so are the folders.
    pub fn n_builds(&self) -> u64 {
        self.n_builds
    }

    /// Whether a path, relative to the root, is a file that was read.
    pub fn has_file(&self, path: &Path) -> bool {
        self.files.contains_key(&*path.to_string_lossy())
    }

    /// The root of the project.
    pub fn root(&self) -> &Path {
        &self.options.root
    }

    /// Follows changes of files and folders, given relative to the root. Irrelevant ones have
    /// no effect. Everything is reloaded at most once.
    pub fn follow(&mut self, paths: &[PathBuf]) -> Changes {
        let paths: BTreeSet<PathBuf> = paths.iter().cloned().collect();
        let mut edited = Vec::new();
        let mut is_more = false;
        for path in &paths {
            match self.files.get(&*path.to_string_lossy()) {
                Some(state) => {
                    edited.push(FilePlan { path: state.scanned.path.clone(), kinds: state.kinds.clone() });
                }
                // Looking at a folder remembers it, so that each is looked at.
                None => is_more |= self.matters(path),
            }
        }
        let changes = if is_more { None } else { self.read_again(&edited) };
        changes.unwrap_or_else(|| self.reload(&paths))
    }

    /// The edition of managed requirements in the model.
    pub fn edition(&self) -> u64 {
        self.edition
    }

    /// Follows changes of managed requirements. Uncited ones have no effect.
    pub fn follow_managed(&mut self) -> Changes {
        let now = self.options.managed.as_ref().map_or(0, |texts| texts.edition());
        if now == self.edition {
            return Changes::default();
        }
        let has_changed = self.documents.as_ref().is_none_or(|documents| documents.managed().has_changed());
        self.edition = now;
        if has_changed { self.reload(&BTreeSet::new()) } else { Changes::default() }
    }

    /// Checks every file for changes without a notification.
    pub fn refresh(&mut self) -> Changes {
        self.reload(&BTreeSet::new())
    }

    /// The folders whose changes matter, relative to the root: those of files, specifications and the configuration,
    /// those in which globs look for files, and those above them.
    pub fn folders(&self) -> BTreeSet<PathBuf> {
        let mut folders = BTreeSet::from([PathBuf::new()]);
        let named = self.known.iter().filter_map(|path| path.parent());
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

    /// Files that are links, or in linked folders: their changes may be reported under another name.
    pub fn links(&self) -> &[PathBuf] {
        &self.links
    }

    fn config_path(&self) -> &Path {
        self.options.config_path.as_deref().unwrap_or(Path::new(CONFIG_PATH))
    }

    /// Returns whether a change of an unknown path may matter.
    fn matters(&mut self, path: &Path) -> bool {
        // Whatever is below a path follows it in order.
        let next = self.known.range::<Path, _>((Bound::Included(path), Bound::Unbounded)).next();
        let is_known = next.is_some_and(|known| known.starts_with(path));
        let is_match = || self.patterns.iter().any(|pattern| pattern.matches_path(path));
        is_known || is_match() || self.has_arrived(path)
    }

    /// Returns whether a new folder contains relevant files.
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
        // Its permissions may have changed.
        let mut places = self.model.general.iter().flat_map(|problem| &problem.places);
        if !walk.failures.is_empty() || places.any(|place| Path::new(&*place.path) == path) {
            return true;
        }
        let is_match = |path: PathBuf| self.patterns.iter().any(|pattern| pattern.matches_path(&path));
        walk.found.iter().map(relative).any(is_match)
    }

    /// Reads source files again of which only citations changed. `None` if more may have changed.
    fn read_again(&mut self, edited: &[FilePlan]) -> Option<Changes> {
        if edited.iter().any(FilePlan::is_requirements) {
            return None;
        }
        let project = self.project.as_ref()?;
        let documents = self.documents.as_ref()?;
        let root = &self.options.root;
        let (nothing, interner) = (Files::default(), Interner::default());
        let read = |plan: &FilePlan| {
            let path = Path::new(&*plan.path);
            // It may have become a link.
            let is_new_link = root.join(path).is_symlink() && !self.links.iter().any(|link| link == path);
            if is_new_link || self.options.is_confined && !files::is_inside(root, path) {
                return None;
            }
            let after = load::read(project, plan, &self.extracted, &interner, Some(&nothing));
            after.stamp.is_some().then_some(after)
        };
        let states: Option<Vec<FileState>> = edited.par_iter().map(read).collect();
        let states = states?;

        let mut n_uses = self.n_uses.clone();
        let mut changed: Vec<FileState> = Vec::new();
        let mut targets: Vec<Vec<Option<u32>>> = Vec::new();
        for after in &states {
            let before = &self.files[&after.scanned.path].scanned;
            if before.annotations == after.scanned.annotations && before.problems == after.scanned.problems {
                continue;
            }
            if before.has_requirements() || after.scanned.has_requirements() {
                return None;
            }
            for annotation in before.annotations.iter() {
                n_uses[documents.find_known(annotation)? as usize] -= 1;
            }
            let found = after.scanned.annotations.iter().map(|annotation| documents.find_known(annotation));
            let found: Option<Vec<u32>> = found.collect();
            let found = found?;
            found.iter().for_each(|target| n_uses[*target as usize] += 1);
            targets.push(found.into_iter().map(Some).collect());
            changed.push(after.clone());
        }
        // A specification that nobody named before, or nobody names any more, changes the catalogue.
        if n_uses.iter().zip(&self.n_uses).any(|(after, before)| (*after == 0) != (*before == 0)) {
            return None;
        }

        let scanned: Vec<_> = changed.iter().map(|state| state.scanned.clone()).collect();
        let (links, unresolved) = load::link(documents, &scanned, &targets);
        let mut problems: Vec<Vec<Diagnostic>> =
            scanned.iter().map(|scanned| scanned.problems.to_vec()).collect();
        let mut texts = FileTexts::new(project, &self.extracted);
        for problem in unresolved {
            let described = problem.describe(&mut texts, &scanned[problem.file], documents);
            problems[problem.file].push(described);
        }
        let paths = scanned.iter().map(|scanned| scanned.path.clone()).collect();
        let changed_files =
            scanned.into_iter().zip(links).zip(problems).map(|((scanned, links), mut problems)| {
                problems.sort_by(|first, second| first.order().cmp(&second.order()));
                let path = scanned.path.clone();
                let is_empty = scanned.annotations.is_empty();
                let linked = LinkedFile { scanned, links: links.into_boxed_slice() };
                (path, (!is_empty).then(|| Arc::new(linked)), problems.into())
            });
        let changed_files: Vec<ChangedFile> = changed_files.collect();
        self.files.extend(states.into_iter().map(|state| (state.scanned.path.clone(), state)));
        self.n_uses = n_uses;
        if changed_files.is_empty() {
            return Some(Changes::default());
        }
        let (model, sections) = self.model.with(changed_files);
        self.model = Arc::new(model);
        Some(Changes { sections, paths, ..Changes::default() })
    }

    /// Reads everything that changed and resolves everything again. Files that are known to have changed are given:
    /// an edit may leave size and time as they were.
    fn reload(&mut self, changed: &BTreeSet<PathBuf>) -> Changes {
        let model = self.build(changed);
        let before = std::mem::replace(&mut self.model, Arc::new(model));
        let mut changes = Changes {
            general: before.general != self.model.general
                || before.setting.styles != self.model.setting.styles,
            ..Changes::default()
        };
        if !before.catalogue.is_like(&self.model.catalogue) {
            return Changes { catalogue: true, ..changes };
        }
        for section in 0..self.model.catalogue.sections.len() as u32 {
            if before.citations(section) != self.model.citations(section) {
                changes.sections.insert(section);
            }
        }
        let differ = |path: &&Arc<str>| !before.has_same(&self.model, path);
        changes.paths = before.paths().chain(self.model.paths()).filter(differ).cloned().collect();
        changes
    }

    fn build(&mut self, changed: &BTreeSet<PathBuf>) -> Model {
        self.n_builds += 1;
        // Before anything is looked up, so that a change meanwhile is seen next time.
        self.edition = self.options.managed.as_ref().map_or(0, |texts| texts.edition());
        let files = std::mem::take(&mut self.files);
        let documents = self.documents.take();
        self.known = BTreeSet::from([self.config_path().to_path_buf()]);
        self.n_uses = Vec::new();
        self.patterns = Vec::new();
        self.globbed = BTreeSet::new();
        self.links = Vec::new();
        self.extracted = Extracted::default();
        let project = match Project::open(self.options.clone(), &*self.environment) {
            Ok(project) => project,
            Err(problems) => {
                self.project = None;
                return Model::broken(problems);
            }
        };
        let mut documents = match documents {
            Some(documents) => documents.renew(&project, changed),
            None => Documents::new(&project, None),
        };
        let mut files = files;
        files.retain(|path, _| !changed.contains(Path::new(&**path)));
        let Loaded { model, files, folders, extracted } =
            load::load(&project, &mut documents, Some(&files), &mut |_, _| {});
        self.n_uses = vec![0; documents.found().len()];
        for file in model.files() {
            let targets = file.links.iter().filter_map(|link| link.target);
            targets.for_each(|target| self.n_uses[target as usize] += 1);
        }
        self.known.extend(files.iter().map(|state| PathBuf::from(&*state.scanned.path)));
        let locals = documents.locals().map(|local| files::tidy(&self.options.root, local));
        self.known.extend(locals);
        self.known.extend(documents.managed().files());
        self.patterns = patterns(&project);
        self.globbed = folders.into_iter().collect();
        self.links = links(&self.options.root, &files);
        self.files = files.into_iter().map(|state| (state.scanned.path.clone(), state)).collect();
        self.documents = Some(documents);
        self.extracted = extracted;
        self.project = Some(project);
        model
    }
}

/// Lists the files that are links, or in folders that are.
fn links(root: &Path, files: &[FileState]) -> Vec<PathBuf> {
    let mut folders: HashMap<&Path, bool> = HashMap::new();
    let mut links = Vec::new();
    for path in files.iter().map(|state| Path::new(&*state.scanned.path)) {
        let is_link = |path: &Path| root.join(path).is_symlink();
        let mut above = path.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty());
        if above.any(|folder| *folders.entry(folder).or_insert_with(|| is_link(folder))) || is_link(path) {
            links.push(path.to_path_buf());
        }
    }
    links
}

/// The globs of files that matter.
fn patterns(project: &Project) -> Vec<glob::Pattern> {
    let globs = listing::globs(project).into_iter().map(|pattern| pattern.trim_start_matches("./"));
    globs.filter_map(|pattern| glob::Pattern::new(pattern).ok()).collect()
}
