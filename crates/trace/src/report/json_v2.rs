//! The JSON report, version 2: everything has an id that is the same in every report, so reports can be merged.

use std::io::{self, Write};

use super::{Report, TargetReport};

pub mod document;
pub mod ids;
pub mod place;
mod read;
mod referring;

use document::{ById, Inline, Linked, ReportV2, Repository, SectionV2, Sources, SpecificationV2};
use place::Part;

pub use read::{locate, point_at, read};
pub use referring::in_order;

/// Writes the report.
pub fn write(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(out, &ReportV2::of(report)).map_err(io::Error::from)
}

impl<'a> ReportV2<'a> {
    /// Converts a report to version 2.
    pub fn of(report: &'a Report<'a>) -> ReportV2<'a> {
        let mut document = ReportV2 {
            version: document::VERSION.to_owned(),
            issue_links: report.issue_link.iter().cloned().collect(),
            repositories: repositories(report),
            sources: Sources::default(),
            annotations: document::Annotations::default(),
        };
        let files = add_files(report, &mut document.sources.linked);
        // By the position of a target.
        let mut texts = Vec::with_capacity(report.targets.len());
        for target in &report.targets {
            let id = ids::inline(&target.specification.text);
            add_text(target, &id, &mut document.sources.inline);
            add_specification(target, &id, &mut document.annotations.specification);
            add_sections(target, &id, &mut document.annotations.section);
            texts.push(id);
        }
        referring::add(report, &files, &texts, &mut document.annotations);
        document
    }
}

fn repositories(report: &Report<'_>) -> ById<Repository> {
    let links = report.files.iter().filter_map(|file| file.blob_link.as_deref());
    let links = links.chain(report.blob_link.as_deref());
    links.map(|link| (ids::repository(link), Repository { blob_link: link.to_owned() })).collect()
}

/// Adds the files with annotations. Returns their ids by position.
fn add_files(report: &Report<'_>, linked: &mut ById<Linked>) -> Vec<String> {
    let mut files = Vec::with_capacity(report.files.len());
    for file in &report.files {
        let blob_link = file.blob_link.as_deref().or(report.blob_link.as_deref());
        let repository = blob_link.map(ids::repository);
        let id = ids::linked(&file.path, repository.as_deref().unwrap_or_default());
        linked.insert(id.clone(), Linked { file_name: file.path.to_string(), repository });
        files.push(id);
    }
    files
}

/// Adds the text of a specification. The first of several files with the same text gives its name.
fn add_text<'a>(target: &'a TargetReport<'a>, id: &str, inline: &mut ById<Inline<'a>>) {
    inline.entry(id.to_owned()).or_insert_with(|| Inline {
        file_name: target.file_name.clone(),
        contents: (&*target.specification.text).into(),
    });
}

fn add_specification(target: &TargetReport<'_>, text: &str, specifications: &mut ById<SpecificationV2>) {
    let end = target.specification.text.len() as u32;
    specifications.entry(ids::specification(text, 0, end)).or_insert_with(|| SpecificationV2 {
        source: Part { src: text.to_owned(), start: 0, end: end.into() },
        title: target.specification.title.clone(),
        format: target.specification.format.to_string(),
        url: target.target.path.address(),
    });
}

fn add_sections(target: &TargetReport<'_>, text: &str, sections: &mut ById<SectionV2>) {
    for section in &target.specification.sections {
        let start = section.title_span.start;
        let end = section.spans().map(|span| span.end).max().unwrap_or(section.title_span.end);
        sections.entry(ids::section(text, start, end)).or_insert_with(|| SectionV2 {
            source: Part { src: text.to_owned(), start: start.into(), end: end.into() },
            short_name: section.id.clone(),
            long_name: Some(section.title.clone()),
        });
    }
}
