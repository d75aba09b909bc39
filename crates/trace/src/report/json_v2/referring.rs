//! Converts annotations to version 2: requirements with what covers them, and citations.

use std::collections::{BTreeMap, HashMap};

use super::document::{Annotations, ById, Cite, RequirementV2, Type};
use super::ids;
use super::place::{Location, Piece, Pieces};
use crate::annotation::{AnnotationKind, Level, Notes};
use crate::overlap::{Cover, Covers};
use crate::report::{Report, TargetReport};
use crate::text::Span;

/// Adds all annotations. Files and targets have their ids by position.
pub fn add(report: &Report<'_>, files: &[String], texts: &[String], annotations: &mut Annotations) {
    // Two targets may have one name, and differ in format: what covers one covers the other.
    let mut covering: BTreeMap<&str, Covering> = BTreeMap::new();
    for (target, text) in report.targets.iter().zip(texts) {
        let covering = covering.entry(target.name).or_default();
        add_cites(report, target, files, text, &mut annotations.cite, covering);
        covering.covers.extend(target.covers());
    }
    for covering in covering.values_mut() {
        covering.ordered = Covers::new(std::mem::take(&mut covering.covers));
    }
    for (target, text) in report.targets.iter().zip(texts) {
        let covering = &covering[target.name];
        add_requirements(report, target, files, text, &mut annotations.requirement, covering);
    }
}

fn add_cites(
    report: &Report<'_>,
    target: &TargetReport<'_>,
    files: &[String],
    text: &str,
    cites: &mut ById<Cite>,
    covering: &mut Covering,
) {
    for references in target.references.chunk_by(|first, second| first.annotation == second.annotation) {
        let numbered = &report.annotations[references[0].annotation as usize];
        let annotation = numbered.annotation;
        let Some(r#type) = Type::of(annotation.kind) else {
            continue;
        };
        let file = &files[numbered.file as usize];
        let id = ids::cite(file, annotation.line, text);
        covering.ids.insert(references[0].annotation, id.clone());
        // One file may be read in several ways; the first to find something in a line says what it is.
        let cite = cites.entry(id).or_insert_with(|| {
            let note = |of: fn(&Notes) -> &String| {
                annotation.notes.as_deref().map(of).filter(|note| !note.is_empty()).cloned()
            };
            Cite {
                source: location(file, annotation.line),
                target: Pieces { src: text.to_owned(), ranges: Vec::new() },
                r#type,
                level: annotation.level,
                comment: note(|notes| &notes.comment),
                feature: note(|notes| &notes.feature),
                tracking_issue: note(|notes| &notes.tracking_issue),
                tags: annotation.notes.iter().flat_map(|notes| &notes.tags).cloned().collect(),
            }
        });
        cite.target.ranges.extend(references.iter().map(|reference| Piece::from(reference.span)));
        in_order(&mut cite.target.ranges);
    }
}

fn add_requirements(
    report: &Report<'_>,
    target: &TargetReport<'_>,
    files: &[String],
    text: &str,
    requirements: &mut ById<RequirementV2>,
    covering: &Covering,
) {
    let mut by_line: BTreeMap<(&str, u32), (Level, Vec<Span>)> = BTreeMap::new();
    for reference in target.references.iter().filter(|reference| reference.kind == AnnotationKind::Spec) {
        let numbered = &report.annotations[reference.annotation as usize];
        let key = (&*files[numbered.file as usize], numbered.annotation.line);
        by_line.entry(key).or_insert((reference.level, Vec::new())).1.push(reference.span);
    }
    for ((file, line), (level, mut spans)) in by_line {
        in_order(&mut spans);
        let id = ids::requirement(text, &spans, file, line);
        let requirement = RequirementV2 {
            source: location(file, line),
            origin: Pieces { src: text.to_owned(), ranges: spans.iter().copied().map(Piece::from).collect() },
            level,
            coverage: covering.of(&spans),
        };
        requirements.insert(id, requirement);
    }
}

fn location(file: &str, line: u32) -> Location {
    Location { src: file.to_owned(), line: (line > 0).then_some(line.into()) }
}

/// What the cites of a specification cover.
#[derive(Default)]
struct Covering {
    covers: Vec<Cover>,
    ordered: Covers,
    /// For each annotation its id.
    ids: HashMap<u32, String>,
}

impl Covering {
    /// Tells which parts of a requirement each cite covers.
    fn of(&self, requirement: &[Span]) -> ById<Vec<Piece>> {
        let mut coverage: ById<Vec<Piece>> = BTreeMap::new();
        self.ordered.each(requirement, |shared, cover| {
            coverage.entry(self.ids[&cover.by].clone()).or_default().push(shared.into());
        });
        coverage.values_mut().for_each(in_order);
        coverage
    }
}

/// Sorts, and removes duplicates.
pub fn in_order<T: Ord>(list: &mut Vec<T>) {
    list.sort_unstable();
    list.dedup();
}
