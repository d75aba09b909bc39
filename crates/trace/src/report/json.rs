//! The JSON report, byte for byte as other tools know it.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io::{self, Write};

use rayon::prelude::*;

use super::line::LineCursor;
use super::{Combination, Numbered, Report, TargetReport};
use crate::annotation::{AnnotationKind, Level};
use crate::overlap::Coverage;

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
/// How many parts are held in memory before they are written.
const PARTS_HELD_MAX: usize = 8;
/// How many annotations a part has.
const ANNOTATIONS_PER_PART: usize = 4_096;

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
    let by_name: Vec<_> = by_name.into_iter().collect();
    let coverages: Vec<Vec<(u32, Coverage)>> =
        report.targets.par_iter().map(TargetReport::coverage).collect();
    let in_parts = Parts { out, is_first: true };
    let out = in_parts.write(&by_name, |(name, target), part| {
        string(part, name);
        part.push(b':');
        specification(target, part);
    })?;
    out.write_all(b"},\"annotations\":[")?;
    let annotations: Vec<&[Numbered<'_>]> = report.annotations.chunks(ANNOTATIONS_PER_PART).collect();
    let out = Parts { out, is_first: true }.write(&annotations, |annotations, part| {
        for (index, numbered) in annotations.iter().enumerate() {
            if index > 0 {
                part.push(b',');
            }
            annotation(report, numbered, part);
        }
    })?;
    out.write_all(b"],\"statuses\":{")?;
    coverages_in_parts(out, &coverages)?;
    let mut rest = b"},\"refs\":[".to_vec();
    combinations(&mut rest);
    rest.extend_from_slice(b"]}");
    out.write_all(&rest)
}

fn coverages_in_parts(out: &mut dyn Write, coverages: &[Vec<(u32, Coverage)>]) -> io::Result<()> {
    let with_any: Vec<&Vec<(u32, Coverage)>> = coverages.iter().filter(|some| !some.is_empty()).collect();
    Parts { out, is_first: true }.write(&with_any, |coverages, part| {
        let mut members = Members::default();
        for (requirement, coverage) in coverages.iter() {
            members.comma(part);
            part.push(b'"');
            number(part, *requirement as usize);
            part.extend_from_slice(b"\":");
            status(coverage, part);
        }
    })?;
    Ok(())
}

/// Writes parts with commas in between, each made by itself on any core, a few at a time.
struct Parts<'o> {
    out: &'o mut dyn Write,
    is_first: bool,
}

impl<'o> Parts<'o> {
    fn write<T: Sync>(
        mut self,
        items: &[T],
        make: impl Fn(&T, &mut Vec<u8>) + Sync,
    ) -> io::Result<&'o mut dyn Write> {
        for some in items.chunks(PARTS_HELD_MAX) {
            let made: Vec<Vec<u8>> = some
                .par_iter()
                .map(|item| {
                    let mut part = Vec::new();
                    make(item, &mut part);
                    part
                })
                .collect();
            for part in made {
                if !std::mem::take(&mut self.is_first) {
                    self.out.write_all(b",")?;
                }
                self.out.write_all(&part)?;
            }
        }
        Ok(self.out)
    }
}

fn specification(target: &TargetReport<'_>, out: &mut Vec<u8>) {
    let specification = target.specification;
    let text = &specification.text;
    out.reserve(text.len() + text.len() / 4 + target.references.len() * 16);
    out.push(b'{');
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

    let mut cursor = LineCursor::new(specification, &target.references);
    let mut requirements: Vec<u32> = Vec::new();
    for (index, section) in specification.sections.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        out.extend_from_slice(b"{\"id\":");
        string(out, &section.id);
        out.extend_from_slice(b",\"title\":");
        string(out, &section.title);
        out.extend_from_slice(b",\"lines\":[");
        requirements.clear();
        for (index, span) in section.spans().enumerate() {
            if index > 0 {
                out.push(b',');
            }
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
    out.extend_from_slice(b"]}");
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

/// Numbers what references say together.
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
