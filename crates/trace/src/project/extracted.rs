//! The requirements of configured specifications, as annotations whose specification, section and place are known.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use rayon::prelude::*;

use crate::annotation::{Annotation, AnnotationKind, KnownPlace, Notes};
use crate::diagnostic::Diagnostic;
use crate::extract::{ExtractedRequirement, render};
use crate::specification::{Format, Specification};
use crate::target::TargetPath;

use super::documents::Documents;
use super::{Project, files, problems};

/// Extracted requirements by the requirement files that `extract` would write, relative to the project. Reports name
/// these files, and globs may leave them out.
#[derive(Debug, Default)]
pub struct Extracted {
    root: PathBuf,
    files: BTreeMap<Arc<str>, ExtractedSection>,
}

/// The requirements of a section.
#[derive(Debug)]
pub struct ExtractedSection {
    /// The specification.
    pub specification: Arc<Specification>,
    /// The requirements, as annotations.
    pub annotations: Vec<Annotation>,
    /// The name of the specification.
    target: Arc<str>,
    section: u32,
    requirements: Arc<[ExtractedRequirement]>,
}

impl ExtractedSection {
    fn new(
        target: &Arc<str>,
        specification: &Arc<Specification>,
        index: u32,
        requirements: &Arc<[ExtractedRequirement]>,
    ) -> ExtractedSection {
        let section = &specification.sections[index as usize];
        let view = specification.view(index as usize);
        let text = &specification.text;
        let named: Arc<str> = format!("{target}#{}", section.id).into();
        let places = render::places(target, specification, section, requirements);
        let annotations = requirements.iter().zip(places).map(|(requirement, (line, places))| {
            let quote = requirement.quote(text);
            // A quote means the first occurrence of its text, which may be part of an earlier sentence.
            let spans = match view.first(&quote) {
                Some(range) => view.spans(range).collect(),
                None => requirement.spans.as_slice().into(),
            };
            let notes = Notes {
                comment: requirement.lines(text).flat_map(|line| [line, "\n"]).collect(),
                known: Some(KnownPlace { section: index, spans }),
                ..Notes::default()
            };
            Annotation {
                line,
                last_line: line,
                kind: AnnotationKind::Spec,
                level: requirement.level,
                // A requirement file does not say it either.
                format: Format::Auto,
                target: named.clone(),
                quote: quote.into(),
                places,
                notes: Some(Box::new(notes)),
            }
        });
        ExtractedSection {
            annotations: annotations.collect(),
            specification: specification.clone(),
            target: target.clone(),
            section: index,
            requirements: requirements.clone(),
        }
    }

    /// Returns the requirement file that `extract` would write.
    pub fn toml(&self) -> String {
        let section = &self.specification.sections[self.section as usize];
        render::toml(&self.target, &self.specification, section, &self.requirements)
    }
}

impl Extracted {
    /// Returns the requirements that stand in a file.
    pub fn file(&self, path: &str) -> Option<&ExtractedSection> {
        self.files.get(path).or_else(|| {
            let inside = Path::new(path).strip_prefix(&self.root).ok()?;
            self.files.get(inside.to_str()?)
        })
    }

    /// Lists the paths that a glob matches: from the root if it is absolute, else relative to it.
    pub fn matching(&self, pattern: &str) -> impl Iterator<Item = Arc<str>> {
        let is_absolute = Path::new(pattern).is_absolute();
        let pattern = pattern.trim_start_matches("./");
        let glob = glob::Pattern::new(pattern).ok();
        let options = glob::MatchOptions { require_literal_separator: true, ..glob::MatchOptions::new() };
        let (start, rest) = pattern.split_at(pattern.find(['*', '?', '[']).unwrap_or(pattern.len()));
        let start = start.to_owned();
        // What nearly every project asks for is quickly answered.
        let is_usual = rest == "**/*.toml" && start.ends_with('/');
        let paths = self.files.keys().map(move |path| match is_absolute {
            true => self.root.join(&**path).to_string_lossy().into(),
            false => path.clone(),
        });
        paths.filter(move |path| match &glob {
            Some(_) if !path.starts_with(&start) => false,
            Some(_) if is_usual => path.ends_with(".toml"),
            Some(glob) => glob.matches_with(path, options),
            None => false,
        })
    }
}

/// Finds the requirements of the specifications that the configuration names.
pub fn extract(project: &Project, documents: &mut Documents, diagnostics: &mut Vec<Diagnostic>) -> Extracted {
    let configured: Vec<_> = project.config.iter().flat_map(|config| &config.specifications).collect();
    documents.read_ahead(configured.iter().map(|source| (&*source.source, source.format)), true);
    let mut sections = Vec::new();
    for source in configured {
        let (target, specification, extraction) = match documents.extract(&source.source, source.format) {
            Ok(found) => found,
            Err(problem) => {
                diagnostics.push(problems::configured(&problem, source));
                continue;
            }
        };
        let name: Arc<str> = target.path.display(&project.options.root).into();
        let Some(folder) = configured_folder(project, &target.path) else {
            continue;
        };
        for (index, requirements) in extraction {
            let id = &specification.sections[*index as usize].id;
            let path = files::tidy(&project.options.root, &folder.join(format!("{id}.toml")));
            let path: Arc<str> = path.to_string_lossy().into();
            sections.push((path, name.clone(), specification.clone(), *index, requirements.clone()));
        }
    }
    let files =
        sections.par_iter().with_min_len(16).map(|(path, name, specification, index, requirements)| {
            (path.clone(), ExtractedSection::new(name, specification, *index, requirements))
        });
    // Of two with one path the later is meant.
    let files: Vec<(Arc<str>, ExtractedSection)> = files.collect();
    Extracted { root: project.options.root.clone(), files: files.into_iter().collect() }
}

/// Tells the folder for the requirements of a specification that the configuration names, relative to the root.
fn configured_folder(project: &Project, path: &TargetPath) -> Option<PathBuf> {
    let downloads = project.named_downloads();
    let requirements = downloads.with_file_name("requirements");
    let folder = folder(&requirements, Some(&downloads), &path.local(&downloads)?);
    Some(project.requirements.join(folder.strip_prefix(&requirements).unwrap_or(&folder)))
}

/// Tells the folder for the requirements of a specification that is read from a local file.
pub fn folder(requirements: &Path, downloads: Option<&Path>, local: &Path) -> PathBuf {
    // It may be kept beside its requirements.
    let mut folder = match local.strip_prefix(requirements) {
        Ok(path) => requirements.join(path),
        Err(_) => {
            let path = downloads.and_then(|downloads| local.strip_prefix(downloads).ok()).unwrap_or(local);
            let inside = path.components().filter(|part| matches!(part, Component::Normal(_)));
            requirements.join(inside.collect::<PathBuf>())
        }
    };
    folder.set_extension("");
    folder
}
