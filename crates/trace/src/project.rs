//! A project on disk: what its configuration names is found, read and linked.
//!
//! The only part of this crate that touches the disk, and it only reads. Requirements of configured specifications
//! are found in memory; they take the place of the files in which an earlier `extract` left them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rayon::prelude::*;

use crate::annotation::Annotation;
use crate::comment;
use crate::config::Config;
use crate::coverage;
use crate::diagnostic::{Code, Diagnostic, Place};
use crate::link::{Linker, Reference};
use crate::report::{Numbered, Report, SourceFile, TargetReport};
use crate::requirement_file;
use crate::target::TargetPath;

pub(crate) mod documents;
pub(crate) mod files;
pub(crate) mod generated;
mod measured;
pub(crate) mod problems;
mod styles;
pub(crate) mod walk;

pub use documents::{Documents, Fetch};
pub use files::{Entry, Reading};
pub use generated::{Generated, folder as requirement_folder};
pub use measured::measure;

/// Which project.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The folder that paths are relative to.
    pub root: PathBuf,
    /// The configuration, if it is not the usual one.
    pub config_path: Option<PathBuf>,
    /// Globs of source code, maybe with marks: `(META,CONTENT)glob`.
    pub source_patterns: Vec<String>,
    /// Globs of requirement files.
    pub requirement_patterns: Vec<String>,
    /// Where specifications are kept if there is no configuration.
    pub specification_path: Option<PathBuf>,
    /// Whether nothing outside of the root may be read.
    pub is_confined: bool,
}

/// The usual place of a configuration.
pub const CONFIG_PATH: &str = ".duvet/config.toml";

/// A project whose configuration was read.
#[derive(Debug)]
pub struct Project {
    /// What was asked for.
    pub options: Options,
    /// The configuration, if there is one.
    pub config: Option<Config>,
    /// Where specifications are kept, relative to the root.
    pub downloads: PathBuf,
    /// Where extracted requirements would be kept, relative to the root.
    pub requirements: PathBuf,
}

/// A step of loading a project. Whoever watches is told when it is done, and how much it did.
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
    /// Annotations were matched with the text they speak of.
    Matched,
}

/// Is told of phases.
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
            return Err(vec![problem.help("name it with `--config-path` if it shall be read")]);
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

    /// Reads everything, and links it. Specifications that are not there are fetched.
    pub fn load(&self, fetch: Option<Arc<Fetch>>, watch: &mut Watch<'_>) -> Loaded {
        let root = &self.options.root;
        let mut documents = Documents::new(self, fetch);
        let mut diagnostics = Vec::new();
        let generated = generated::extract(self, &mut documents, &mut diagnostics);
        if let Some(config) = &self.config {
            watch(Phase::Extracted, config.specifications.len());
        }

        let entries = files::list(self, &generated, &mut diagnostics).entries;
        watch(Phase::Found, entries.len());
        let sources = entries.iter().filter(|entry| !entry.is_requirements());
        let sources = sources.map(|entry| entry.path.clone()).collect();
        let scanned: Vec<(Vec<Annotation>, Vec<Diagnostic>)> =
            entries.par_iter().map(|entry| annotations(root, entry, &generated)).collect();
        let mut annotated: Vec<(Entry, Vec<Annotation>)> = Vec::with_capacity(entries.len());
        for (entry, (annotations, problems)) in entries.into_iter().zip(scanned) {
            diagnostics.extend(problems);
            if !annotations.is_empty() {
                annotated.push((entry, annotations));
            }
        }
        let mut report = number(annotated);
        report.root = root.clone();
        if let Some(config) = &self.config {
            report.blob_link = config.report.blob_link.clone();
            report.issue_link = config.report.issue_link.clone();
        }
        watch(Phase::Read, report.annotations.len());

        let mut missing = problems::Missing::default();
        let mut found: Vec<Option<u32>> = Vec::with_capacity(report.annotations.len());
        for (number, numbered) in report.annotations.iter_mut().enumerate() {
            let file = &report.files[numbered.file as usize];
            found.push(match documents.find(&numbered.annotation, file) {
                Ok((index, shown)) => {
                    numbered.target_path = shown;
                    Some(index)
                }
                Err(problem) => {
                    missing.add(number, problem);
                    None
                }
            });
        }
        diagnostics.extend(missing.describe(&report, root, &generated));
        watch(Phase::Opened, documents.found().len());

        let n_references = self.link(&mut report, &found, &documents, &generated, &mut diagnostics);
        watch(Phase::Matched, n_references);
        diagnostics.sort_by(|first, second| first.order().cmp(&second.order()));
        Loaded { report, diagnostics, generated, sources }
    }

    fn link(
        &self,
        report: &mut Report,
        found: &[Option<u32>],
        documents: &Documents,
        generated: &Generated,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> usize {
        let mut by_target: Vec<Vec<u32>> = vec![Vec::new(); documents.found().len()];
        for (number, found) in found.iter().enumerate() {
            if let Some(found) = found {
                by_target[*found as usize].push(number as u32);
            }
        }
        let annotations = &report.annotations;
        let linked = by_target.into_par_iter().zip(documents.found()).map(|(numbers, found)| {
            let mut linker = Linker::new(&found.specification);
            let mut references = Vec::with_capacity(numbers.len() * 2);
            let mut broken = Vec::new();
            for number in numbers {
                let annotation = &annotations[number as usize].annotation;
                match linker.link(annotation) {
                    Ok((section, spans, _)) => references.extend(spans.iter().map(|span| Reference {
                        annotation: number,
                        kind: annotation.kind,
                        level: annotation.level,
                        section,
                        span: *span,
                    })),
                    Err(reason) => broken.push((number as usize, reason)),
                }
            }
            references.shrink_to_fit();
            (references, broken)
        });
        let mut references: Vec<Vec<Reference>> = Vec::new();
        let mut broken = problems::Broken::default();
        for (found, (linked, reasons)) in documents.found().iter().zip(linked.collect::<Vec<_>>()) {
            references.push(linked);
            reasons.into_iter().for_each(|(number, reason)| broken.add(number, reason, &found.specification));
        }
        diagnostics.extend(broken.describe(report, &self.options.root, generated));

        let n_references = references.iter().map(Vec::len).sum();
        let targets =
            documents.found().iter().zip(references).filter(|(_, references)| !references.is_empty());
        let mut targets: Vec<TargetReport> = targets
            .map(|(found, references)| TargetReport {
                target: found.target.clone(),
                name: found.target.path.display(&self.options.root),
                file_name: self.file_name(&found.target.path),
                specification: found.specification.clone(),
                references,
                coverage: BTreeMap::new(),
            })
            .collect();
        targets.sort_by(|first, second| first.target.cmp(&second.target));
        targets.par_iter_mut().for_each(|target| target.coverage = coverage::measure(&target.references));
        report.targets = targets;
        n_references
    }

    fn file_name(&self, path: &TargetPath) -> String {
        let local = path.local(&self.downloads).unwrap_or_default();
        files::show(&self.options.root, &local).to_string()
    }
}

/// A project with everything in it.
#[derive(Debug)]
pub struct Loaded {
    /// What reports are made of.
    pub report: Report,
    /// What is wrong.
    pub diagnostics: Vec<Diagnostic>,
    /// The requirements of configured specifications.
    pub generated: Generated,
    /// The files of source code, whether they have annotations or not.
    pub sources: Vec<Arc<str>>,
}

impl Loaded {
    /// Whether anything is wrong that makes a report fail.
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(Diagnostic::is_error)
    }
}

/// Reads the annotations of a file.
pub(crate) fn annotations(
    root: &Path,
    entry: &Entry,
    generated: &Generated,
) -> (Vec<Annotation>, Vec<Diagnostic>) {
    if entry.is_requirements()
        && let Some(file) = generated.file(&entry.path)
    {
        return (file.annotations.clone(), Vec::new());
    }
    let read = files::read_with(&root.join(&*entry.path), |text| match &entry.kind {
        files::Kind::Source { style, default_kind, .. } => {
            comment::scan(&entry.path, text, style, *default_kind)
        }
        files::Kind::Requirements => requirement_file::read(&entry.path, text),
    });
    read.unwrap_or_else(|reading| (Vec::new(), vec![reading.diagnostic(&entry.path, Code::Unreadable)]))
}

/// Numbers annotations by file and place. The same one found twice is one.
fn number(mut annotated: Vec<(Entry, Vec<Annotation>)>) -> Report {
    annotated.sort_by(|(first, _), (second, _)| {
        (Path::new(&*first.path), &first.kind).cmp(&(Path::new(&*second.path), &second.kind))
    });
    let mut report = Report::default();
    for group in annotated.chunk_by_mut(|(first, _), (second, _)| first.path == second.path) {
        let mut numbered: Vec<Numbered> = Vec::new();
        let is_single = group.len() == 1;
        for (entry, annotations) in group {
            let file = report.files.len() as u32;
            report.files.push(SourceFile {
                path: entry.path.clone(),
                blob_link: entry.blob_link(),
                is_requirements: entry.is_requirements(),
            });
            numbered.extend(std::mem::take(annotations).into_iter().map(|annotation| Numbered {
                annotation,
                file,
                target_path: "".into(),
            }));
        }
        let link = |of: &Numbered| report.files[of.file as usize].blob_link.clone();
        numbered.sort_by(|first, second| {
            let order = first.annotation.order(&second.annotation);
            order.then_with(|| link(first).cmp(&link(second)))
        });
        if !is_single {
            numbered.dedup_by(|second, first| {
                first.annotation == second.annotation && link(first) == link(second)
            });
        }
        report.annotations.append(&mut numbered);
    }
    report
}

/// Reads a file of a project as text, if it is inside of the root wherever links lead.
pub fn read_inside(root: &Path, path: &Path) -> Result<String, String> {
    if !files::is_inside(root, path) {
        return Err("it is outside of the project".to_owned());
    }
    let shown = path.to_string_lossy().into();
    files::read(&root.join(path)).map_err(|reading| reading.diagnostic(&shown, Code::Unreadable).message)
}
