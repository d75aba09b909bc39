//! The requirements of configured specifications, as requirement files that were never written.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use crate::annotation::{Annotation, Kind, Notes, Places};
use crate::diagnostic::Diagnostic;
use crate::extract;
use crate::specification::Format;
use crate::target::TargetPath;
use crate::text::Span;

use super::documents::Documents;
use super::{Project, files, problems};

/// Requirement files by their paths, relative to the project.
#[derive(Debug, Default)]
pub struct Generated {
    root: PathBuf,
    files: BTreeMap<Arc<str>, GeneratedFile>,
}

/// A requirement file that was never written.
#[derive(Clone, Debug)]
pub struct GeneratedFile {
    /// Its text.
    pub text: String,
    /// The requirements in it.
    pub annotations: Vec<Annotation>,
}

impl Generated {
    /// Returns a file.
    pub fn file(&self, path: &str) -> Option<&GeneratedFile> {
        self.files.get(path).or_else(|| {
            let inside = Path::new(path).strip_prefix(&self.root).ok()?;
            self.files.get(inside.to_str()?)
        })
    }

    /// Lists the files.
    pub fn files(&self) -> impl Iterator<Item = (&Arc<str>, &GeneratedFile)> {
        self.files.iter()
    }

    /// Lists the paths that a glob matches: from the root if it is absolute, else relative to it.
    pub fn matching(&self, pattern: &str) -> impl Iterator<Item = Arc<str>> {
        let is_absolute = Path::new(pattern).is_absolute();
        let pattern = glob::Pattern::new(pattern.trim_start_matches("./")).ok();
        let options = glob::MatchOptions { require_literal_separator: true, ..glob::MatchOptions::new() };
        let paths = self.files.keys().map(move |path| match is_absolute {
            true => self.root.join(&**path).to_string_lossy().into(),
            false => path.clone(),
        });
        paths.filter(move |path| pattern.as_ref().is_some_and(|pattern| pattern.matches_with(path, options)))
    }
}

/// Finds the requirements of the specifications that the configuration names.
pub fn extract(project: &Project, documents: &mut Documents, diagnostics: &mut Vec<Diagnostic>) -> Generated {
    let mut generated = Generated { root: project.options.root.clone(), ..Generated::default() };
    let specifications = project.config.iter().flat_map(|config| &config.specifications);
    for source in specifications {
        let (target, specification) = match documents.open(&source.source, source.format) {
            Ok(found) => found,
            Err(problem) => {
                diagnostics.push(problems::configured(&problem, source));
                continue;
            }
        };
        let name = target.path.display(&project.options.root);
        let Some(folder) = configured_folder(project, &target.path) else {
            continue;
        };
        for section in &specification.sections {
            let requirements = extract::requirements(&specification, section);
            if requirements.is_empty() {
                continue;
            }
            let path = folder.join(format!("{}.toml", section.id));
            let path = files::tidy(&project.options.root, &path).to_string_lossy().into();
            let file = extract::write_toml(&name, &specification, section, &requirements);
            let target: Arc<str> = format!("{name}#{}", section.id).into();
            let target_start = "target = ".len();
            let target_span = Span::new(target_start, target_start + target.len() + 2);
            let annotations = requirements.iter().zip(&file.lines).map(|(requirement, line)| {
                let start = line_start(&file.text, *line);
                let quote_start = line_start(&file.text, *line + 2) + "quote = ".len();
                let comment: String = requirement.lines.iter().flat_map(|line| [*line, "\n"]).collect();
                Annotation {
                    line: *line,
                    kind: Kind::Spec,
                    level: requirement.level,
                    // The file does not say it either.
                    format: Format::Auto,
                    target: target.clone(),
                    quote: requirement.lines.join(" ").into(),
                    places: Places {
                        target: target_span,
                        text: Span::new(start, start + "[[spec]]".len()),
                        quote: Span::new(quote_start, quote_start + comment.len() + "'''\n'''".len()),
                    },
                    notes: Some(Box::new(Notes { comment, ..Notes::default() })),
                }
            });
            let annotations = annotations.collect();
            generated.files.insert(path, GeneratedFile { annotations, text: file.text });
        }
    }
    generated
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

fn line_start(text: &str, line: u32) -> usize {
    memchr::memchr_iter(b'\n', text.as_bytes()).nth(line as usize - 2).map_or(0, |end| end + 1)
}
