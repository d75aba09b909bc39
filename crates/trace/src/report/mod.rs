//! Reports: what a project looks like as a whole, in the forms that tools and people read.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use crate::annotation::{Annotation, Kind, Level};
use crate::coverage::Coverage;
use crate::link::Reference;
use crate::specification::Specification;
use crate::target::Target;
use crate::text::Span;

pub mod gate;
pub mod json;
pub mod json_v2;
pub mod merge;
pub mod snapshot;

/// Everything that reports are made of.
#[derive(Debug, Default)]
pub struct Report {
    /// The root of the project: paths below it are shown relative to it.
    pub root: PathBuf,
    /// All annotations; their positions are their numbers.
    pub annotations: Vec<Numbered>,
    /// The files they stand in.
    pub files: Vec<SourceFile>,
    /// The specifications that annotations speak of, each as it is named there, in order.
    pub targets: Vec<TargetReport>,
    /// Where files can be looked at.
    pub blob_link: Option<String>,
    /// Where issues can be looked at.
    pub issue_link: Option<String>,
}

/// An annotation with its file.
#[derive(Clone, Debug)]
pub struct Numbered {
    /// The annotation.
    pub annotation: Annotation,
    /// The index of its file.
    pub file: u32,
    /// The specification that it names, as a path that was found, or the URL.
    pub target_path: Arc<str>,
}

/// A file with annotations.
#[derive(Clone, Debug)]
pub struct SourceFile {
    /// Relative to the project.
    pub path: Arc<str>,
    /// Where it can be looked at.
    pub blob_link: Option<Arc<str>>,
    /// Whether it is a requirement file.
    pub is_requirements: bool,
}

/// What annotations say of one specification.
#[derive(Debug)]
pub struct TargetReport {
    /// How they name it.
    pub target: Target,
    /// The same for people.
    pub name: String,
    /// The file that it was read from, relative to the project.
    pub file_name: String,
    /// The specification.
    pub specification: Arc<Specification>,
    /// By annotation, then by place.
    pub references: Vec<Reference>,
    /// For each requirement how much of it is covered.
    pub coverage: BTreeMap<u32, Coverage>,
}

impl TargetReport {
    /// Sorts references by the lines that they touch: pairs of line and index, in order.
    fn by_line(&self) -> Vec<(u32, u32)> {
        let mut by_line = Vec::with_capacity(self.references.len());
        for (index, reference) in self.references.iter().enumerate() {
            let (first, last) = self.specification.lines.lines(reference.span);
            by_line.extend((first..=last).map(|line| (line, index as u32)));
        }
        by_line.sort_unstable();
        by_line
    }
}

/// Returns the references of a line.
fn of_line<'a>(
    target: &'a TargetReport,
    by_line: &[(u32, u32)],
    line: u32,
) -> impl Iterator<Item = &'a Reference> + Clone {
    let start = by_line.partition_point(|(number, _)| *number < line);
    let end = start + by_line[start..].partition_point(|(number, _)| *number == line);
    let indexes: Vec<u32> = by_line[start..end].iter().map(|(_, index)| *index).collect();
    indexes.into_iter().map(|index| &target.references[index as usize])
}

/// Cuts a line where references to it start or end, and tells which of them each piece has.
fn pieces<'a>(
    line: Span,
    references: impl Iterator<Item = &'a Reference> + Clone,
) -> impl Iterator<Item = (Span, Vec<&'a Reference>)> {
    let mut start = line.start;
    std::iter::from_fn(move || {
        if start >= line.end {
            return None;
        }
        let mut end = line.end;
        let mut current = Vec::new();
        for reference in references.clone() {
            if reference.span.start > start {
                end = end.min(reference.span.start);
            } else if start < reference.span.end {
                end = end.min(reference.span.end);
                current.push(reference);
            }
        }
        let piece = Span { start, end };
        start = end;
        Some((piece, current))
    })
}

/// What references say together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Status {
    kinds: [bool; 6],
    level: Level,
}

impl Status {
    fn of(references: &[&Reference]) -> Status {
        let mut status = Status::default();
        for reference in references {
            status.kinds[reference.kind as usize] = true;
            status.level = status.level.max(reference.level);
        }
        status
    }

    fn has(&self, kind: Kind) -> bool {
        self.kinds[kind as usize]
    }
}
