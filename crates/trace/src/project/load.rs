//! Reads all of a project on all cores, and resolves it.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use foldhash::fast::RandomState;
use rayon::prelude::*;

use crate::diagnostic::{Code, Diagnostic, Place};
use crate::interner::Interner;
use crate::link::{Broken, Linker};
use crate::model::{Link, LinkedFile, Model, NamedTarget, ScannedFile, Setting};
use crate::specification::Format;

use super::documents::{Documents, LookupProblem};
use super::extracted::{self, Extracted};
use super::files::Stamp;
use super::listing::{FileKind, FilePlan, Listing};
use super::problems::FileTexts;
use super::{CONFIG_PATH, Phase, Project, Watch, scan};

/// A loaded project.
pub struct Loaded {
    /// Its model.
    pub model: Model,
    /// Its files, by path.
    pub files: Vec<FileState>,
    /// The folders in which globs search, relative to the root, some more than once.
    pub folders: Vec<PathBuf>,
    /// The requirements of configured specifications.
    pub extracted: Extracted,
}

/// A loaded file.
#[derive(Clone, Debug)]
pub struct FileState {
    /// What reveals a change, if needed.
    pub stamp: Option<Stamp>,
    /// The ways of reading it.
    pub kinds: Vec<Arc<FileKind>>,
    /// Its contents.
    pub scanned: ScannedFile,
}

/// Files by their paths, as they were read before.
pub type Files = HashMap<Arc<str>, FileState>;

/// Reads a project. Files that have not changed are not read again; a caller that
/// will follow the project passes an empty map at first.
pub fn load(
    project: &Project,
    documents: &mut Documents,
    known: Option<&Files>,
    watch: &mut Watch<'_>,
) -> Loaded {
    let mut general = Vec::new();
    let interner = Interner::default();
    let ((extracted, problems), (mut listing, scanned, more)) = rayon::join(
        || {
            let mut problems = Vec::new();
            (extracted::extract(project, documents, &mut problems), problems)
        },
        || {
            let mut problems = Vec::new();
            let mut listing = Listing::new(project, &mut problems);
            if project.options.is_confined {
                problems.extend(listing.confine(&project.options.root));
            }
            let sources: Vec<FilePlan> =
                listing.plans().into_iter().filter(|plan| !plan.is_requirements()).collect();
            let nothing = Extracted::default();
            let scanned: Vec<FileState> =
                sources.par_iter().map(|plan| read(project, plan, &nothing, &interner, known)).collect();
            (listing, scanned, problems)
        },
    );
    general.extend(problems);
    general.extend(more);
    if let Some(config) = &project.config {
        watch(Phase::Extracted, config.specifications.len());
    }
    listing.add_extracted(project, &extracted);
    let plans = listing.plans();
    watch(Phase::Found, plans.iter().map(|plan| plan.kinds.len()).sum());
    if known.is_some() {
        general.extend(emptiness(project, &plans));
    }

    // Sources were read above; both lists are in the order of paths.
    let mut scanned = scanned.into_iter().peekable();
    let states: Vec<Result<FileState, &FilePlan>> = plans
        .iter()
        .map(|plan| scanned.next_if(|state| state.scanned.path == plan.path).ok_or(plan))
        .collect();
    let states = states.into_par_iter().with_min_len(16);
    let states: Vec<FileState> = states
        .map(|state| state.unwrap_or_else(|plan| read(project, plan, &extracted, &interner, known)))
        .collect();
    drop(interner);
    watch(Phase::Read, states.iter().map(|state| state.scanned.annotations.len()).sum());

    let sources = plans.iter().filter(|plan| plan.is_source()).map(|plan| plan.path.clone()).collect();
    let texts = FileTexts::new(project, &extracted);
    let unmatched = std::mem::take(&mut listing.unmatched);
    let open = |documents: &mut Documents| open_configured(project, documents);
    let read = Read { states: &states, texts, general, sources, unmatched };
    let model = put_together(project, documents, read, &open, watch);
    Loaded { model, files: states, folders: listing.folders, extracted }
}

/// The loaded input, before it is resolved.
pub struct Read<'a> {
    /// Files, by path.
    pub states: &'a [FileState],
    /// Their texts, to show problems in them.
    pub texts: FileTexts<'a>,
    /// Problems of the project as a whole.
    pub general: Vec<Diagnostic>,
    /// The files of source code.
    pub sources: Vec<Arc<str>>,
    /// The globs of source code without matches.
    pub unmatched: Vec<String>,
}

/// Resolves the input into a model. `open` opens specifications in addition to the cited ones.
pub fn put_together(
    project: &Project,
    documents: &mut Documents,
    read: Read<'_>,
    open: &dyn Fn(&mut Documents),
    watch: &mut Watch<'_>,
) -> Model {
    let Read { states, mut texts, mut general, sources, unmatched } = read;
    let files: Vec<ScannedFile> = states
        .iter()
        .map(|state| state.scanned.clone())
        .filter(|scanned| !scanned.annotations.is_empty())
        .collect();
    let mut problems: BTreeMap<Arc<str>, Vec<Diagnostic>> = BTreeMap::new();
    for scanned in states.iter().map(|state| &state.scanned).filter(|scanned| !scanned.problems.is_empty()) {
        problems.entry(scanned.path.clone()).or_default().extend(scanned.problems.iter().cloned());
    }
    let (links, unresolved) = resolve(documents, &files, open, watch);
    for problem in &unresolved {
        let scanned = &files[problem.file];
        let diagnostic = problem.describe(&mut texts, scanned, documents);
        problems.entry(scanned.path.clone()).or_default().push(diagnostic);
    }
    let problems = problems.into_iter().map(|(path, mut problems)| {
        problems.sort_by(|first, second| first.order().cmp(&second.order()));
        (path, problems.into())
    });
    let linked = files
        .into_iter()
        .zip(links)
        .map(|(scanned, links)| Arc::new(LinkedFile { scanned, links: links.into_boxed_slice() }));
    let note = |note| Diagnostic::warning(Code::UnreachableStore, note);
    general.extend(documents.managed().notes().into_iter().map(note));
    let setting = Setting {
        project_key: project.options.managed.as_ref().map(|texts| texts.project().to_owned()),
        root: project.options.root.clone(),
        downloads: project.downloads.clone(),
        blob_link: project.config.as_ref().and_then(|config| config.report.blob_link.clone()),
        issue_link: project.config.as_ref().and_then(|config| config.report.issue_link.clone()),
        styles: project.styles(),
        sources,
        unmatched,
    };
    let targets = targets(project, documents);
    Model::new(setting, general, targets, linked.collect(), problems.collect())
}

/// Opens the specifications of the configuration, which are listed even without citations.
fn open_configured(project: &Project, documents: &mut Documents) {
    for source in project.config.iter().flat_map(|config| &config.specifications) {
        if let Ok((target, _)) = documents.open(&source.source, source.format) {
            let _ = documents.add(target, &source.source);
        }
    }
}

/// Reads a file, unless it was read before and has not changed.
pub fn read(
    project: &Project,
    plan: &FilePlan,
    extracted: &Extracted,
    interner: &Interner,
    known: Option<&Files>,
) -> FileState {
    let root = &project.options.root;
    let stamp = known.and_then(|_| Stamp::of(&root.join(&*plan.path)));
    let same = known.and_then(|known| known.get(&plan.path)).filter(|state| {
        // An unreadable file may have become readable, which its stamp does not show.
        let is_right = !plan.is_requirements() && state.scanned.problems.is_empty();
        is_right && stamp.is_some() && state.stamp == stamp && state.kinds == plan.kinds
    });
    match same {
        Some(state) => state.clone(),
        None => {
            let scanned = scan::scan(root, plan, extracted, interner);
            FileState { stamp, kinds: plan.kinds.clone(), scanned }
        }
    }
}

/// Why an annotation is not resolved, or needs a message.
pub enum Reason {
    /// Its specification could not be found.
    Specification(LookupProblem),
    /// Its specification, by index, does not contain what it cites.
    Broken(u32, Broken),
    /// There is a message about its citation of a managed requirement, by index.
    Managed(u32),
}

/// An annotation that is not resolved.
pub struct Unresolved {
    /// The index of its file.
    pub file: usize,
    annotation: usize,
    reason: Reason,
}

impl Unresolved {
    /// Describes the problem.
    pub fn describe(
        &self,
        texts: &mut FileTexts<'_>,
        scanned: &ScannedFile,
        documents: &Documents,
    ) -> Diagnostic {
        let path = &scanned.path;
        let style = matches!(self.reason, Reason::Managed(_)).then(|| texts.style(path)).unwrap_or_default();
        texts.describe(path, &scanned.annotations[self.annotation], |annotation, text| match &self.reason {
            Reason::Specification(problem) => {
                problem.diagnostic().at(Place::new(path, text, annotation.places.target, "named here"))
            }
            Reason::Broken(target, broken) => {
                let specification = &documents.found()[*target as usize].specification;
                broken.diagnostic(annotation, path, text, specification)
            }
            Reason::Managed(target) => {
                let specification = &documents.found()[*target as usize].specification;
                let managed = specification.managed.as_ref();
                let explained = managed.and_then(|managed| managed.explain(annotation, specification));
                let explained = explained.expect("it was explained before");
                explained.diagnostic(annotation, path, text, &style)
            }
        })
    }
}

/// Resolves the annotations of files. Also returns those that could not be resolved, and why.
fn resolve(
    documents: &mut Documents,
    files: &[ScannedFile],
    open: &dyn Fn(&mut Documents),
    watch: &mut Watch<'_>,
) -> (Vec<Vec<Link>>, Vec<Unresolved>) {
    let mut names: HashSet<(&str, Format), RandomState> = HashSet::default();
    for file in files.iter().filter(|file| file.origin.is_none()) {
        names.extend(file.annotations.iter().map(|annotation| (annotation.target_path(), annotation.format)));
    }
    documents.read_ahead(names.into_iter(), false);

    let mut unresolved = Vec::new();
    let mut targets: Vec<Vec<Option<u32>>> = Vec::with_capacity(files.len());
    for (number, file) in files.iter().enumerate() {
        let mut found: Vec<Option<u32>> = Vec::with_capacity(file.annotations.len());
        for (index, annotation) in file.annotations.iter().enumerate() {
            // Annotations of a file often name what the one before names.
            if let Some(before) = index.checked_sub(1).map(|before| &file.annotations[before])
                && Arc::ptr_eq(&before.target, &annotation.target)
                && (before.format, file.source_of(index - 1)) == (annotation.format, file.source_of(index))
                && let Some(target) = found[index - 1]
            {
                found.push(Some(target));
                continue;
            }
            let source = &file.sources[file.source_of(index) as usize];
            found.push(
                documents
                    .find(annotation, source)
                    .map_err(|problem| {
                        let reason = Reason::Specification(problem);
                        unresolved.push(Unresolved { file: number, annotation: index, reason });
                    })
                    .ok(),
            );
        }
        targets.push(found);
    }
    open(documents);
    watch(Phase::Opened, documents.found().len());

    let (links, broken) = link(documents, files, &targets);
    unresolved.extend(broken);
    let n_references = links.iter().flatten().filter_map(|link| link.found.as_ref());
    watch(Phase::Matched, n_references.map(|found| found.spans.len()).sum());
    (links, unresolved)
}

/// Resolves annotations whose specifications are known, by index.
pub fn link(
    documents: &Documents,
    files: &[ScannedFile],
    targets: &[Vec<Option<u32>>],
) -> (Vec<Vec<Link>>, Vec<Unresolved>) {
    let linker = Linker::new(documents.found().iter().map(|found| &found.specification).collect());
    let of_file = |number: usize| {
        let (file, targets) = (&files[number], &targets[number]);
        let mut links = Vec::with_capacity(targets.len());
        let mut unresolved = Vec::new();
        for (index, (annotation, target)) in file.annotations.iter().zip(targets).enumerate() {
            let found = target.and_then(|target| {
                let found = linker.link(annotation, target, file.origin.as_ref());
                let specification = &documents.found()[target as usize].specification;
                let mut note =
                    |reason| unresolved.push(Unresolved { file: number, annotation: index, reason });
                match (&specification.managed, &found) {
                    (None, Ok(_)) => {}
                    (None, Err(broken)) | (_, Err(broken @ (Broken::NoSection | Broken::UnknownSection))) => {
                        note(Reason::Broken(target, *broken));
                    }
                    (Some(managed), _) => {
                        if managed.explain(annotation, specification).is_some() {
                            note(Reason::Managed(target));
                        }
                    }
                }
                found.ok()
            });
            links.push(Link { target: *target, found });
        }
        (links, unresolved)
    };
    let linked: Vec<_> = (0..files.len()).into_par_iter().with_min_len(8).map(of_file).collect();
    let mut links = Vec::with_capacity(files.len());
    let mut unresolved = Vec::new();
    for (of_file, broken) in linked {
        links.push(of_file);
        unresolved.extend(broken);
    }
    (links, unresolved)
}

/// Describes the specifications that annotations and the configuration name.
fn targets(project: &Project, documents: &Documents) -> Vec<NamedTarget> {
    let specifications = project.config.iter().flat_map(|config| &config.specifications);
    let configured: HashSet<String> = specifications.map(|source| source.source.clone()).collect();
    let named = documents.found().iter().map(|found| {
        let name = found.target.path.display(&project.options.root);
        NamedTarget {
            is_configured: configured.contains(&name),
            name,
            local: found.local.clone(),
            target: found.target.clone(),
            specification: found.specification.clone(),
        }
    });
    named.collect()
}

/// Reports that there is nothing to do.
fn emptiness(project: &Project, plans: &[FilePlan]) -> Option<Diagnostic> {
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
    let has_source = plans.iter().any(FilePlan::is_source);
    if !config.sources.is_empty() && !has_source {
        let patterns: Vec<&str> = config.sources.iter().map(|source| source.pattern.as_str()).collect();
        let message = format!("no file matches {}", patterns.join(", "));
        return Some(Diagnostic::warning(Code::Pattern, message).at(config_path()));
    }
    None
}
