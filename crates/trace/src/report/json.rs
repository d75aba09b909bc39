//! The JSON report, byte for byte as Duvet writes it.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io::{self, Write};
use std::ops::Range;

use rayon::prelude::*;

use super::line::LineCursor;
use super::{Combination, Numbered, Report, TargetReport};
use crate::annotation::{AnnotationKind, Level};
use crate::link::CitedPiece;
use crate::overlap::Coverage;
use crate::specification::Section;

mod bytes;

use bytes::{Members, number, numbers, string};

/// The kinds in the order of their bits, lowest first.
const BITS: [AnnotationKind; 6] = [
    AnnotationKind::Todo,
    AnnotationKind::Exception,
    AnnotationKind::Test,
    AnnotationKind::Implication,
    AnnotationKind::Citation,
    AnnotationKind::Spec,
];
/// The size of a part in annotations and sections: about 100 KiB.
const ANNOTATIONS_PER_PART: usize = 512;
const SECTIONS_PER_PART: usize = 32;

/// Writes the report.
pub fn write(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut head = Vec::new();
    let mut members = Members::default();
    head.push(b'{');
    for (key, link) in [("blob_link", &report.blob_link), ("issue_link", &report.issue_link)] {
        if let Some(link) = link {
            members.key(&mut head, key);
            string(&mut head, link);
        }
    }
    members.key(&mut head, "specifications");
    head.push(b'{');
    out.write_all(&head)?;
    // Of two with one name the later is meant.
    let by_name: BTreeMap<&str, &TargetReport<'_>> =
        report.targets.iter().map(|target| (target.name, target)).collect();
    let by_name: Vec<&TargetReport<'_>> = by_name.into_values().collect();
    let cursors: Vec<LineCursor<'_>> =
        by_name.par_iter().map(|target| LineCursor::new(target.specification, &target.references)).collect();
    let specifications: Vec<_> = by_name
        .iter()
        .zip(&cursors)
        .flat_map(|(target, cursor)| SpecificationPart::all(target, cursor))
        .collect();
    let mut parts = Parts::new(out);
    parts.write(&specifications, SpecificationPart::write)?;
    parts.out.write_all(b"},\"annotations\":[")?;
    let annotations: Vec<&[Numbered<'_>]> = report.annotations.chunks(ANNOTATIONS_PER_PART).collect();
    parts.write(&annotations, |annotations, part| {
        for (index, numbered) in annotations.iter().enumerate() {
            if index > 0 {
                part.push(b',');
            }
            annotation(report, numbered, part);
        }
    })?;
    parts.out.write_all(b"],\"statuses\":{")?;
    let is_spec = |reference: &CitedPiece| reference.kind == AnnotationKind::Spec;
    let with_any = report.targets.iter().filter(|target| target.references.iter().any(is_spec));
    parts.write(&Vec::from_iter(with_any), |target, part| {
        let mut members = Members::default();
        for (requirement, coverage) in target.coverage() {
            members.comma(part);
            part.push(b'"');
            number(part, requirement as usize);
            part.extend_from_slice(b"\":");
            status(&coverage, part);
        }
    })?;
    let mut rest = b"},\"refs\":[".to_vec();
    combinations(&mut rest);
    rest.extend_from_slice(b"]}");
    out.write_all(&rest)
}

/// Writes parts with commas in between, each on any core, a few at a time.
struct Parts<'o> {
    out: &'o mut dyn Write,
    /// Each is used again for many parts.
    held: Vec<Vec<u8>>,
}

impl<'o> Parts<'o> {
    fn new(out: &'o mut dyn Write) -> Parts<'o> {
        Parts { out, held: vec![Vec::new(); 2 * rayon::current_num_threads()] }
    }

    fn write<T: Sync>(&mut self, items: &[T], make: impl Fn(&T, &mut Vec<u8>) + Sync) -> io::Result<()> {
        for (index, some) in items.chunks(self.held.len()).enumerate() {
            self.held.par_iter_mut().zip(some).for_each(|(part, item)| {
                part.clear();
                make(item, part);
            });
            for (number, part) in self.held.iter().take(some.len()).enumerate() {
                if index + number > 0 {
                    self.out.write_all(b",")?;
                }
                self.out.write_all(part)?;
            }
        }
        Ok(())
    }
}

/// Some sections of a specification. What stands before all of them is with the first, what stands after with the last.
struct SpecificationPart<'a> {
    target: &'a TargetReport<'a>,
    cursor: &'a LineCursor<'a>,
    sections: Range<usize>,
}

impl<'a> SpecificationPart<'a> {
    /// Splits a specification into parts: at least one.
    fn all(
        target: &'a TargetReport<'a>,
        cursor: &'a LineCursor<'a>,
    ) -> impl Iterator<Item = SpecificationPart<'a>> {
        let n_sections = target.specification.sections.len();
        let starts = (0..n_sections.max(1)).step_by(SECTIONS_PER_PART);
        starts.map(move |start| {
            let sections = start..n_sections.min(start + SECTIONS_PER_PART);
            SpecificationPart { target, cursor, sections }
        })
    }

    fn write(&self, out: &mut Vec<u8>) {
        let specification = self.target.specification;
        if self.sections.start == 0 {
            head(self.target, out);
        }
        let mut cursor = self.cursor.clone();
        let mut members = Members::default();
        for one in &specification.sections[self.sections.clone()] {
            members.comma(out);
            section(one, &specification.text, &mut cursor, out);
        }
        if self.sections.end == specification.sections.len() {
            out.extend_from_slice(b"]}");
        }
    }
}

/// Writes a specification up to its sections.
fn head(target: &TargetReport<'_>, out: &mut Vec<u8>) {
    let specification = target.specification;
    string(out, target.name);
    out.extend_from_slice(b":{");
    if let Some(title) = &specification.title {
        out.extend_from_slice(b"\"title\":");
        string(out, title);
        out.push(b',');
    }
    out.extend_from_slice(b"\"format\":\"");
    out.extend_from_slice(specification.format.name().as_bytes());
    out.extend_from_slice(b"\",\"requirements\":[");
    let pieces = target.references.chunk_by(|first, second| first.annotation == second.annotation);
    let specs = pieces.filter(|pieces| pieces[0].kind == AnnotationKind::Spec);
    numbers(out, specs.map(|pieces| pieces[0].annotation));
    out.extend_from_slice(b"],\"sections\":[");
}

fn section(section: &Section, text: &str, cursor: &mut LineCursor<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"id\":");
    string(out, &section.id);
    out.extend_from_slice(b",\"title\":");
    string(out, &section.title);
    out.extend_from_slice(b",\"lines\":[");
    let mut requirements: Vec<u32> = Vec::new();
    let mut lines = Members::default();
    for span in section.spans() {
        lines.comma(out);
        if span.is_empty() || !cursor.go(span) {
            string(out, span.of_text(text));
            continue;
        }
        out.push(b'[');
        let mut pieces = Members::default();
        let done: Result<(), Infallible> = cursor.each_piece(span, |piece, references| {
            pieces.comma(out);
            out.extend_from_slice(b"[[");
            numbers(out, references.iter().map(|reference| reference.annotation));
            out.extend_from_slice(b"],");
            number(out, combination(Combination::of(references.iter().copied())));
            out.push(b',');
            string(out, piece.of_text(text));
            out.push(b']');
            let specs = references.iter().filter(|reference| reference.kind == AnnotationKind::Spec);
            requirements.extend(specs.map(|reference| reference.annotation));
            Ok(())
        });
        let Ok(()) = done;
        out.push(b']');
    }
    out.push(b']');
    if !requirements.is_empty() {
        requirements.sort_unstable();
        requirements.dedup();
        out.extend_from_slice(b",\"requirements\":[");
        numbers(out, requirements.iter().copied());
        out.push(b']');
    }
    out.push(b'}');
}

fn annotation(report: &Report<'_>, numbered: &Numbered<'_>, out: &mut Vec<u8>) {
    let annotation = numbered.annotation;
    let file = report.files[numbered.file as usize];
    out.extend_from_slice(b"{\"source\":");
    string(out, &file.path);
    out.extend_from_slice(b",\"target_path\":");
    string(out, &numbered.target_path());
    if let Some(section) = annotation.target_section() {
        out.extend_from_slice(b",\"target_section\":");
        string(out, section);
    }
    if annotation.line > 0 {
        out.extend_from_slice(b",\"line\":");
        number(out, annotation.line as usize);
    }
    if annotation.kind != AnnotationKind::Citation {
        out.extend_from_slice(b",\"type\":\"");
        out.extend_from_slice(annotation.kind.upper_name().as_bytes());
        out.push(b'"');
    }
    if annotation.level != Level::Auto {
        out.extend_from_slice(b",\"level\":\"");
        out.extend_from_slice(annotation.level.name().as_bytes());
        out.push(b'"');
    }
    if let Some(notes) = &annotation.notes {
        let parts = [
            (&b",\"comment\":"[..], &notes.comment),
            (b",\"feature\":", &notes.feature),
            (b",\"tracking_issue\":", &notes.tracking_issue),
        ];
        for (key, value) in parts.into_iter().filter(|(_, value)| !value.is_empty()) {
            out.extend_from_slice(key);
            string(out, value);
        }
    }
    if let Some(link) = &file.blob_link {
        out.extend_from_slice(b",\"blob_link\":");
        string(out, link);
    }
    let mut tags = annotation.notes.iter().flat_map(|notes| &notes.tags).peekable();
    if tags.peek().is_some() {
        out.extend_from_slice(b",\"tags\":[");
        let mut members = Members::default();
        for tag in tags {
            members.comma(out);
            string(out, tag);
        }
        out.push(b']');
    }
    out.push(b'}');
}

fn status(coverage: &Coverage, out: &mut Vec<u8>) {
    let mut members = Members::default();
    out.push(b'{');
    for (key, value) in [
        ("spec", coverage.spec),
        ("incomplete", coverage.incomplete),
        ("citation", coverage.citation),
        ("implication", coverage.implication),
        ("test", coverage.test),
        ("exception", coverage.exception),
        ("todo", coverage.todo),
    ] {
        if value > 0 {
            members.key(out, key);
            number(out, value);
        }
    }
    if !coverage.related.is_empty() {
        members.key(out, "related");
        out.push(b'[');
        numbers(out, coverage.related.iter().copied());
        out.push(b']');
    }
    out.push(b'}');
}

/// Numbers the combinations of references.
fn combination(combination: Combination) -> usize {
    let bits = BITS.iter().enumerate().map(|(bit, kind)| usize::from(combination.has(*kind)) << bit);
    bits.sum::<usize>() + (combination.level as usize) * (1 << BITS.len())
}

/// Lists every combination in the order of its number.
fn combinations(out: &mut Vec<u8>) {
    let mut all = Members::default();
    for level in Level::ALL {
        for bits in 0..1 << BITS.len() {
            all.comma(out);
            out.push(b'{');
            let mut members = Members::default();
            for (bit, kind) in BITS.iter().enumerate().rev() {
                if bits & (1 << bit) != 0 {
                    members.key(out, &kind.upper_name().to_lowercase());
                    out.extend_from_slice(b"true");
                }
            }
            if level != Level::Auto {
                members.key(out, "level");
                string(out, level.name());
            }
            out.push(b'}');
        }
    }
}
