//! The data of the page. Names are short because they repeat thousands of times.

use std::collections::HashMap;
use std::sync::Arc;

use serde::Serialize;

use super::section::{Cutter, SectionData};
use super::{Page, source};
use crate::annotation::AnnotationKind;
use crate::diagnostic::{Diagnostic, Place};
use crate::model::{Citation, LinkedFile, Model, SpecificationEntry, TraceState};
use crate::specification::Format;

/// The data of the page.
#[derive(Serialize)]
pub struct Data<'a> {
    title: &'a str,
    blob_link: Option<&'a str>,
    issue_link: Option<&'a str>,
    styles: Vec<StyleData<'a>>,
    problems: Vec<ProblemData<'a>>,
    /// Path, and URL if it differs from the base.
    files: Vec<(&'a str, Option<&'a str>)>,
    annotations: Vec<AnnotationData<'a>>,
    specifications: Vec<SpecificationData<'a>>,
}

#[derive(Serialize)]
struct StyleData<'a> {
    meta: &'a str,
    content: &'a str,
    kind: &'static str,
    patterns: &'a [String],
}

#[derive(Serialize)]
struct ProblemData<'a> {
    is_error: bool,
    code: &'static str,
    message: &'a str,
    places: Vec<PlaceData<'a>>,
    help: &'a [String],
}

#[derive(Serialize)]
struct PlaceData<'a> {
    path: &'a str,
    line: u32,
    column: u32,
    width: u32,
    excerpt: &'a str,
    label: &'a str,
}

/// An annotation that is not a requirement.
#[derive(Serialize)]
struct AnnotationData<'a> {
    /// The index of the file.
    f: u32,
    /// The line.
    l: u32,
    /// The type.
    k: &'static str,
    /// Its lines in the file, and the code below.
    #[serde(skip_serializing_if = "String::is_empty")]
    c: String,
    #[serde(skip_serializing_if = "str::is_empty")]
    reason: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    feature: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    issue: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tags: Vec<&'a str>,
}

#[derive(Serialize)]
struct SpecificationData<'a> {
    id: &'a str,
    name: &'a str,
    /// The title of an RFC or draft, whose name is its number.
    #[serde(skip_serializing_if = "str::is_empty")]
    about: &'a str,
    /// Its name in annotations.
    target: &'a str,
    path: String,
    is_markdown: bool,
    requirements: Vec<RequirementData>,
    sections: Vec<SectionData<'a>>,
}

#[derive(Serialize)]
struct RequirementData {
    /// The start of its identifier.
    id: String,
    /// The index of its section.
    s: u32,
    /// The level.
    l: &'static str,
    /// The state, as a digit.
    t: usize,
    /// The label.
    d: &'static str,
    /// The percentages that are implemented and tested.
    p: (u8, u8),
    /// The annotations that cover any of it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    a: Vec<u32>,
}

/// How many digits of an identifier are shown.
const IDENTIFIER_LENGTH: usize = 8;

/// The numbers of annotations in the page.
#[derive(Default)]
pub struct Numbers {
    /// For each file, by its address in memory, the numbers of its annotations.
    by_file: HashMap<*const LinkedFile, Vec<u32>>,
}

impl Numbers {
    /// Numbers all annotations, one file after the other.
    pub fn of_all(model: &Model) -> Numbers {
        let mut next = 0;
        let number = |file: &Arc<LinkedFile>| {
            let first = next;
            next += file.links.len() as u32;
            (Arc::as_ptr(file), (first..next).collect())
        };
        Numbers { by_file: model.files().iter().map(number).collect() }
    }

    /// The number of a citation.
    pub fn of(&self, citation: &Citation) -> u32 {
        self.by_file[&Arc::as_ptr(citation.file())][citation.index()]
    }
}

impl<'a> Data<'a> {
    /// Collects the data of the page.
    pub fn new(page: &'a Page<'a>, diagnostics: &'a [Diagnostic]) -> Data<'a> {
        let model = page.model;
        let mut numbers = Numbers::default();
        let mut annotations = Vec::new();
        let mut files = Vec::new();
        let mut excerpts = source::excerpts(page).into_iter();
        for file in model.files() {
            let mut excerpts = excerpts.next().unwrap_or_default().into_iter();
            let first_file = files.len() as u32;
            files.extend(file.scanned.sources.iter().map(|one| (&*one.path, one.blob_link.as_deref())));
            let mut of_file = Vec::with_capacity(file.links.len());
            for (index, annotation) in file.scanned.annotations.iter().enumerate() {
                of_file.push(annotations.len() as u32);
                let excerpt = excerpts.next().unwrap_or_default();
                if annotation.kind == AnnotationKind::Spec {
                    continue;
                }
                let notes = annotation.notes.as_deref();
                annotations.push(AnnotationData {
                    f: first_file + file.scanned.source_of(index),
                    l: annotation.line,
                    k: annotation.kind.name(),
                    c: excerpt,
                    reason: annotation.comment(),
                    feature: notes.map_or("", |notes| &notes.feature),
                    issue: notes.map_or("", |notes| &notes.tracking_issue),
                    tags: notes.iter().flat_map(|notes| &notes.tags).map(String::as_str).collect(),
                });
            }
            numbers.by_file.insert(Arc::as_ptr(file), of_file);
        }
        let style = |used: &'a crate::comment::StyleUse| StyleData {
            meta: &used.style.meta,
            content: &used.style.content,
            kind: used.default_kind.name(),
            patterns: &used.patterns,
        };
        let problem = |problem: &'a Diagnostic| ProblemData {
            is_error: problem.is_error(),
            code: problem.code.name(),
            message: &problem.message,
            places: problem.places.iter().map(place).collect(),
            help: &problem.help,
        };
        let specifications = model.catalogue.specifications.iter();
        Data {
            title: &page.title,
            blob_link: page.blob_link,
            issue_link: page.issue_link,
            styles: model.setting.styles.iter().map(style).collect(),
            problems: diagnostics.iter().map(problem).collect(),
            files,
            annotations,
            specifications: specifications.map(|one| specification(model, one, &numbers)).collect(),
        }
    }
}

fn place(place: &Place) -> PlaceData<'_> {
    PlaceData {
        path: &place.path,
        line: place.line,
        column: place.column,
        width: place.width,
        excerpt: &place.excerpt,
        label: &place.label,
    }
}

fn specification<'a>(
    model: &'a Model,
    entry: &'a SpecificationEntry,
    numbers: &Numbers,
) -> SpecificationData<'a> {
    let requirements = model.catalogue.requirements_of(entry).map(|number| {
        let state = model.state(number);
        let mut related: Vec<u32> = model.citations_of(number).map(|citation| numbers.of(citation)).collect();
        related.sort_unstable();
        let requirement = model.requirement(number);
        RequirementData {
            id: model.catalogue.identifier(number)[..IDENTIFIER_LENGTH].to_owned(),
            s: requirement.section - entry.first_section,
            l: requirement.level.name(),
            t: state.status.rank(),
            d: state.label.name(),
            p: (percent(state, state.n_implemented), percent(state, state.n_tested)),
            a: related,
        }
    });
    let requirements = requirements.collect();
    let references = super::section::references(model, entry, numbers);
    let mut cutter = Cutter::new(&entry.document, &references);
    SpecificationData {
        id: &entry.id,
        name: &entry.name,
        about: entry.title.as_deref().filter(|title| *title != entry.name).unwrap_or_default(),
        target: &entry.target,
        path: entry.path.to_string_lossy().into_owned(),
        is_markdown: entry.document.format == Format::Markdown,
        requirements,
        sections: entry.document.sections.iter().map(|section| cutter.section(section)).collect(),
    }
}

/// Only complete coverage is 100 %.
pub(super) fn percent(state: &TraceState, count: usize) -> u8 {
    (count * 100 / state.size.max(1)).min(100) as u8
}
