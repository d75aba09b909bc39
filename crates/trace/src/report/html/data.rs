//! The data of the page. Names are short because they repeat thousands of times.

use std::collections::HashMap;

use serde::Serialize;

use super::Page;
use super::section::{Cutter, SectionData};
use crate::annotation::Kind;
use crate::diagnostic::Place;
use crate::report::document::Document;
use crate::report::requirement::Requirement;

/// Everything.
#[derive(Serialize)]
pub struct Data<'a> {
    title: &'a str,
    blob_link: Option<&'a str>,
    issue_link: Option<&'a str>,
    styles: Vec<StyleData<'a>>,
    problems: Vec<ProblemData<'a>>,
    /// Path, and where it can be looked at if not where the others are.
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

/// An annotation that is no requirement.
#[derive(Serialize)]
struct AnnotationData<'a> {
    /// The index of the file.
    f: u32,
    /// The line.
    l: u32,
    /// The type.
    k: &'static str,
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
    /// How annotations name it.
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

/// How many digits of an identifier are told.
const IDENTIFIER_LENGTH: usize = 8;

impl<'a> Data<'a> {
    /// Collects what the page shows.
    pub fn new(page: &'a Page<'a>, documents: &'a [Document]) -> Data<'a> {
        let report = page.report;
        let mut numbers = HashMap::new();
        let mut annotations = Vec::new();
        for (number, numbered) in report.annotations.iter().enumerate() {
            let annotation = &numbered.annotation;
            if annotation.kind == Kind::Spec {
                continue;
            }
            numbers.insert(number as u32, annotations.len() as u32);
            let notes = annotation.notes.as_deref();
            annotations.push(AnnotationData {
                f: numbered.file,
                l: annotation.line,
                k: annotation.kind.name(),
                reason: annotation.comment(),
                feature: notes.map_or("", |notes| &notes.feature),
                issue: notes.map_or("", |notes| &notes.tracking_issue),
                tags: notes.iter().flat_map(|notes| &notes.tags).map(String::as_str).collect(),
            });
        }
        Data {
            title: &page.title,
            blob_link: report.blob_link.as_deref(),
            issue_link: report.issue_link.as_deref(),
            styles: page
                .styles
                .iter()
                .map(|used| StyleData {
                    meta: &used.style.meta,
                    content: &used.style.content,
                    kind: used.default_kind.name(),
                    patterns: &used.patterns,
                })
                .collect(),
            problems: page
                .diagnostics
                .iter()
                .map(|problem| ProblemData {
                    is_error: problem.is_error(),
                    code: problem.code.name(),
                    message: &problem.message,
                    places: problem.places.iter().map(place).collect(),
                    help: &problem.help,
                })
                .collect(),
            files: report.files.iter().map(|file| (&*file.path, file.blob_link.as_deref())).collect(),
            annotations,
            specifications: documents.iter().map(|document| specification(document, &numbers)).collect(),
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

fn specification<'a>(document: &'a Document, numbers: &HashMap<u32, u32>) -> SpecificationData<'a> {
    let specification = &document.target.specification;
    let renumber =
        |related: &[u32]| related.iter().filter_map(|number| numbers.get(number).copied()).collect();
    let requirements = document.requirements.iter().map(|requirement| RequirementData {
        id: requirement.identifier(specification)[..IDENTIFIER_LENGTH].to_owned(),
        s: requirement.section,
        l: requirement.level.name(),
        t: requirement.status.rank(),
        d: requirement.label().name(),
        p: (percent(requirement, requirement.implemented), percent(requirement, requirement.tested)),
        a: renumber(&requirement.coverage.related),
    });
    let cutter = Cutter::new(document, numbers);
    SpecificationData {
        id: &document.id,
        name: &document.name,
        target: &document.target.name,
        path: document.path.to_string_lossy().into_owned(),
        is_markdown: specification.format == crate::Format::Markdown,
        requirements: requirements.collect(),
        sections: specification.sections.iter().map(|section| cutter.section(section)).collect(),
    }
}

/// Only all of it is 100 %.
fn percent(requirement: &Requirement, count: usize) -> u8 {
    (count * 100 / requirement.coverage.spec.max(1)).min(100) as u8
}
