//! Reads the annotations of files, each file once for all its ways of reading.

use std::path::Path;
use std::sync::Arc;

use crate::annotation::Annotation;
use crate::comment;
use crate::diagnostic::{Code, Diagnostic};
use crate::interner::Interner;
use crate::model::{ScannedFile, SourceFile};
use crate::requirement_file;
use crate::specification::Specification;

use super::extracted::Extracted;
use super::files;
use super::listing::{FileKind, FilePlan};

/// Reads a file in all its ways.
pub fn scan(root: &Path, plan: &FilePlan, extracted: &Extracted, interner: &Interner) -> ScannedFile {
    let section = plan.is_requirements().then(|| extracted.file(&plan.path)).flatten();
    let mut found: Vec<(Vec<Annotation>, &FileKind)> = Vec::with_capacity(plan.kinds.len());
    let mut problems: Vec<Diagnostic> = Vec::new();
    // Extracted requirements replace the file.
    let is_replaced = |kind: &FileKind| section.is_some() && *kind == FileKind::Requirements;
    if plan.kinds.iter().any(|kind| !is_replaced(kind)) {
        let read = files::read_with(&root.join(&*plan.path), |text| {
            for kind in plan.kinds.iter().filter(|kind| !is_replaced(kind)) {
                let (annotations, more) = annotations(plan, kind, text, interner);
                found.push((annotations, kind));
                problems.extend(more);
            }
        });
        if let Err(reading) = read {
            problems.push(reading.diagnostic(&plan.path, Code::Unreadable));
        }
    }
    if let Some(section) = section {
        found.push((section.annotations.clone(), &FileKind::Requirements));
    }
    scanned(plan, found, problems, section.map(|section| section.specification.clone()))
}

/// Reads a text in all its ways.
pub fn scan_text(plan: &FilePlan, text: &str, interner: &Interner) -> ScannedFile {
    let mut problems: Vec<Diagnostic> = Vec::new();
    let found = plan.kinds.iter().map(|kind| {
        let (annotations, more) = annotations(plan, kind, text, interner);
        problems.extend(more);
        (annotations, &**kind)
    });
    let found = found.collect();
    scanned(plan, found, problems, None)
}

fn annotations(
    plan: &FilePlan,
    kind: &FileKind,
    text: &str,
    interner: &Interner,
) -> (Vec<Annotation>, Vec<Diagnostic>) {
    match kind {
        FileKind::Source { style, default_kind, .. } => {
            comment::scan(&plan.path, text, style, *default_kind, interner)
        }
        FileKind::Requirements => requirement_file::read(&plan.path, text, interner),
    }
}

fn scanned(
    plan: &FilePlan,
    mut found: Vec<(Vec<Annotation>, &FileKind)>,
    problems: Vec<Diagnostic>,
    origin: Option<Arc<Specification>>,
) -> ScannedFile {
    found.retain(|(annotations, _)| !annotations.is_empty());
    let sources: Vec<SourceFile> = found.iter().map(|(_, kind)| source_file(&plan.path, kind)).collect();
    let (annotations, source_of) = merge(found.into_iter().map(|(annotations, _)| annotations), &sources);
    ScannedFile {
        path: plan.path.clone(),
        sources: sources.into(),
        annotations: Arc::new(annotations),
        source_of: Arc::new(source_of),
        problems: problems.into(),
        origin,
    }
}

fn source_file(path: &Arc<str>, kind: &FileKind) -> SourceFile {
    let (blob_link, is_requirements) = match kind {
        FileKind::Source { blob_link, .. } => (blob_link.clone(), false),
        FileKind::Requirements => (None, true),
    };
    SourceFile { path: path.clone(), blob_link, is_requirements }
}

/// Sorts the annotations of a file in the order of reports, and removes duplicates.
fn merge(
    mut found: impl ExactSizeIterator<Item = Vec<Annotation>>,
    sources: &[SourceFile],
) -> (Vec<Annotation>, Vec<u32>) {
    if found.len() <= 1 {
        let mut annotations = found.next().unwrap_or_default();
        if !annotations.is_sorted_by(|first, second| first.order(second).is_le()) {
            annotations.sort_by(Annotation::order);
        }
        annotations.shrink_to_fit();
        return (annotations, Vec::new());
    }
    let numbered = found.zip(0..).flat_map(|(annotations, source)| {
        annotations.into_iter().map(move |annotation| (annotation, source))
    });
    let mut all: Vec<(Annotation, u32)> = numbered.collect();
    let link = |source: u32| &sources[source as usize].blob_link;
    all.sort_by(|(first, source), (second, other)| {
        first.order(second).then_with(|| link(*source).cmp(link(*other)))
    });
    all.dedup_by(|(second, other), (first, source)| first == second && link(*source) == link(*other));
    all.into_iter().unzip()
}
