//! Reports: a model in the formats that tools and people read.
//!
//! [`Report`] is the literal view, equal to Duvet's byte for byte: each name of a specification is separate,
//! and bytes are counted as Duvet does. The page and the summary are views by meaning, straight from the model.

use std::borrow::Cow;
use std::sync::Arc;

use crate::annotation::{Annotation, AnnotationKind, Level};
use crate::link::{self, CitedPiece};
use crate::model::{Model, NamedTarget, SourceFile};
use crate::overlap::{Cover, Coverage, Covers};
use crate::specification::Specification;
use crate::target::{Target, TargetPath};
use crate::text::Span;

pub mod gate;
pub mod html;
pub mod json;
pub mod json_v2;
pub mod lcov;
mod line;
pub mod merge;
pub mod snapshot;

/// The literal view of a model.
#[derive(Debug)]
pub struct Report<'a> {
    /// The model.
    pub model: &'a Model,
    /// All annotations; their positions are their numbers.
    pub annotations: Vec<Numbered<'a>>,
    /// Their files.
    pub files: Vec<&'a SourceFile>,
    /// The specifications that annotations cite, each as it is named there, in order.
    pub targets: Vec<TargetReport<'a>>,
    /// The base URL of files.
    pub blob_link: Option<String>,
    /// The base URL of issues.
    pub issue_link: Option<String>,
}

/// An annotation with its file.
#[derive(Clone, Copy, Debug)]
pub struct Numbered<'a> {
    /// The annotation.
    pub annotation: &'a Annotation,
    /// The index of its file.
    pub file: u32,
    target: Option<&'a NamedTarget>,
}

impl<'a> Numbered<'a> {
    fn is_managed(&self) -> bool {
        self.target.is_some_and(|named| named.specification.managed.is_some())
    }

    /// The specification that it names: the path that was found, or the URL as written.
    pub fn target_path(&self) -> Cow<'a, str> {
        match self.target.map(|named| &named.target.path) {
            None => "".into(),
            // A managed requirement has many names, but one in the report.
            Some(TargetPath::Url(url)) if self.is_managed() => url.as_str().into(),
            Some(TargetPath::Url(_)) => self.annotation.target_path().into(),
            Some(TargetPath::Path(path)) => path.to_string_lossy(),
        }
    }
}

/// The references to one specification.
#[derive(Debug)]
pub struct TargetReport<'a> {
    /// Its name in annotations.
    pub target: &'a Target,
    /// The same for people.
    pub name: &'a str,
    /// The file that it was read from, relative to the project.
    pub file_name: String,
    /// The specification.
    pub specification: &'a Arc<Specification>,
    /// By annotation, then by place.
    pub references: Vec<CitedPiece>,
}

impl<'a> Report<'a> {
    /// Numbers the annotations of a model by file and place, and collects their references.
    pub fn of(model: &'a Model) -> Report<'a> {
        let n_annotations = model.files().iter().map(|file| file.links.len()).sum();
        let mut annotations: Vec<Numbered<'a>> = Vec::with_capacity(n_annotations);
        let mut files: Vec<&SourceFile> = Vec::with_capacity(model.files().len());
        let mut n_references = vec![0; model.targets.len()];
        for link in model.files().iter().flat_map(|file| &file.links) {
            if let (Some(target), Some(found)) = (link.target, &link.found) {
                n_references[target as usize] += found.spans.len();
            }
        }
        let mut references: Vec<Vec<CitedPiece>> = n_references.into_iter().map(Vec::with_capacity).collect();
        for file in model.files() {
            let first_file = files.len() as u32;
            files.extend(file.scanned.sources.iter());
            for (index, (annotation, link)) in file.annotations().enumerate() {
                let number = annotations.len() as u32;
                let target = link.target.map(|target| &model.targets[target as usize]);
                annotations.push(Numbered {
                    annotation,
                    file: first_file + file.scanned.source_of(index),
                    target,
                });
                let managed = target.filter(|named| named.specification.managed.is_some());
                let managed = managed.map(|named| link::literal(annotation, &named.specification).ok());
                let found = managed.as_ref().unwrap_or(&link.found);
                let (Some(target), Some(found)) = (link.target, found) else {
                    continue;
                };
                references[target as usize].extend(found.spans.iter().map(|span| CitedPiece {
                    annotation: number,
                    kind: annotation.kind,
                    level: annotation.level,
                    section: found.section,
                    span: literal(*span, annotation),
                }));
            }
        }
        let named = model.targets.iter().zip(references).filter(|(_, references)| !references.is_empty());
        let root = &model.setting.root;
        let mut targets: Vec<TargetReport<'a>> = named
            .map(|(named, references)| TargetReport {
                target: &named.target,
                name: &named.name,
                file_name: named.local.strip_prefix(root).unwrap_or(&named.local).to_string_lossy().into(),
                specification: &named.specification,
                references,
            })
            .collect();
        targets.sort_by(|first, second| first.target.cmp(second.target));
        Report {
            model,
            annotations,
            files,
            targets,
            blob_link: model.setting.blob_link.clone(),
            issue_link: model.setting.issue_link.clone(),
        }
    }
}

/// Like Duvet, ignores a single byte of a quote that is alone in its line.
fn literal(span: Span, annotation: &Annotation) -> Span {
    let is_lost = span.len() == 1 && !annotation.quote.is_empty();
    if is_lost { Span { end: span.start, ..span } } else { span }
}

impl TargetReport<'_> {
    /// Measures the coverage of each requirement. Requirements are given by number, in order.
    pub fn coverage(&self) -> Vec<(u32, Coverage)> {
        let covers = Covers::new(self.covers().collect());
        let requirements = self.references.chunk_by(|first, second| first.annotation == second.annotation);
        let requirements = requirements.filter(|pieces| pieces[0].kind == AnnotationKind::Spec);
        let mut spans = Vec::new();
        let measure = |pieces: &[CitedPiece]| {
            spans.clear();
            spans.extend(pieces.iter().map(|piece| piece.span));
            (pieces[0].annotation, Coverage::literal(covers.over(&spans)))
        };
        requirements.map(measure).collect()
    }

    /// Lists what covers requirements.
    fn covers(&self) -> impl Iterator<Item = Cover> {
        let others = self.references.iter().filter(|reference| reference.kind != AnnotationKind::Spec);
        others.map(|reference| Cover { span: reference.span, by: reference.annotation, kind: reference.kind })
    }
}

/// What references say together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Combination {
    kinds: [bool; 6],
    level: Level,
}

impl Combination {
    fn of<'a>(references: impl IntoIterator<Item = &'a CitedPiece>) -> Combination {
        let mut combination = Combination::default();
        for reference in references {
            combination.kinds[reference.kind as usize] = true;
            combination.level = combination.level.max(reference.level);
        }
        combination
    }

    fn has(&self, kind: AnnotationKind) -> bool {
        self.kinds[kind as usize]
    }
}
