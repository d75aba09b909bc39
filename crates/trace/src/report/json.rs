//! The JSON report, byte for byte as other tools know it.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use super::{Report, Status, TargetReport, of_line, pieces};
use crate::annotation::{Kind, Level};
use crate::coverage::Coverage;

/// The kinds in the order of their bits, lowest first.
const BITS: [Kind; 6] =
    [Kind::Todo, Kind::Exception, Kind::Test, Kind::Implication, Kind::Citation, Kind::Spec];

/// Writes the report.
pub fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let comma = Comma::default();
    out.write_all(b"{")?;
    for (key, link) in [("blob_link", &report.blob_link), ("issue_link", &report.issue_link)] {
        if let Some(link) = link {
            write!(out, "{comma}\"{key}\":")?;
            string(out, link)?;
        }
    }
    write!(out, "{comma}\"specifications\":{{")?;
    // Of two with one name the later is meant.
    let by_name: BTreeMap<&str, &TargetReport> =
        report.targets.iter().map(|target| (target.name.as_str(), target)).collect();
    let names = Comma::default();
    for (name, target) in by_name {
        write!(out, "{names}")?;
        string(out, name)?;
        out.write_all(b":")?;
        specification(target, out)?;
    }
    out.write_all(b"},\"annotations\":[")?;
    annotations(report, out)?;
    out.write_all(b"],\"statuses\":{")?;
    let statuses = Comma::default();
    for (number, coverage) in report.targets.iter().flat_map(|target| &target.coverage) {
        write!(out, "{statuses}\"{number}\":")?;
        status(coverage, out)?;
    }
    out.write_all(b"},\"refs\":[")?;
    combinations(out)?;
    out.write_all(b"]}")
}

fn specification(target: &TargetReport, out: &mut dyn Write) -> io::Result<()> {
    let specification = &target.specification;
    out.write_all(b"{")?;
    if let Some(title) = &specification.title {
        out.write_all(b"\"title\":")?;
        string(out, title)?;
        out.write_all(b",")?;
    }
    write!(out, "\"format\":\"{}\",\"requirements\":[", specification.format)?;
    numbers(out, target.coverage.keys().copied())?;
    out.write_all(b"],\"sections\":[")?;

    let by_line = target.by_line();
    let sections = Comma::default();
    for section in &specification.sections {
        write!(out, "{sections}{{\"id\":")?;
        string(out, &section.id)?;
        out.write_all(b",\"title\":")?;
        string(out, &section.title)?;
        out.write_all(b",\"lines\":[")?;
        let mut requirements = BTreeSet::new();
        let lines = Comma::default();
        for span in section.spans() {
            let text = span.of_text(&specification.text);
            let (number, _) = specification.lines.lines(span);
            write!(out, "{lines}")?;
            let references = of_line(target, &by_line, number);
            if text.is_empty() || references.clone().next().is_none() {
                string(out, text)?;
                continue;
            }
            out.write_all(b"[")?;
            let parts = Comma::default();
            for (piece, references) in pieces(span, references) {
                write!(out, "{parts}[[")?;
                numbers(out, references.iter().map(|reference| reference.annotation))?;
                write!(out, "],{},", combination(Status::of(&references)))?;
                string(out, piece.of_text(&specification.text))?;
                out.write_all(b"]")?;
                let specs = references.iter().filter(|reference| reference.kind == Kind::Spec);
                requirements.extend(specs.map(|reference| reference.annotation));
            }
            out.write_all(b"]")?;
        }
        out.write_all(b"]")?;
        if !requirements.is_empty() {
            out.write_all(b",\"requirements\":[")?;
            numbers(out, requirements.into_iter())?;
            out.write_all(b"]")?;
        }
        out.write_all(b"}")?;
    }
    out.write_all(b"]}")
}

fn annotations(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let comma = Comma::default();
    for numbered in &report.annotations {
        let annotation = &numbered.annotation;
        let file = &report.files[numbered.file as usize];
        write!(out, "{comma}{{\"source\":")?;
        string(out, &file.path)?;
        out.write_all(b",\"target_path\":")?;
        string(out, &numbered.target_path)?;
        if let Some(section) = annotation.target_section() {
            out.write_all(b",\"target_section\":")?;
            string(out, section)?;
        }
        if annotation.line > 0 {
            write!(out, ",\"line\":{}", annotation.line)?;
        }
        if annotation.kind != Kind::Citation {
            write!(out, ",\"type\":\"{}\"", annotation.kind.upper_name())?;
        }
        if annotation.level != Level::Auto {
            write!(out, ",\"level\":\"{}\"", annotation.level)?;
        }
        if let Some(notes) = &annotation.notes {
            let parts = [
                ("comment", &notes.comment),
                ("feature", &notes.feature),
                ("tracking_issue", &notes.tracking_issue),
            ];
            for (key, value) in parts.into_iter().filter(|(_, value)| !value.is_empty()) {
                write!(out, ",\"{key}\":")?;
                string(out, value)?;
            }
        }
        if let Some(link) = &file.blob_link {
            out.write_all(b",\"blob_link\":")?;
            string(out, link)?;
        }
        let tags = annotation.notes.iter().flat_map(|notes| &notes.tags);
        if tags.clone().next().is_some() {
            out.write_all(b",\"tags\":[")?;
            let comma = Comma::default();
            for tag in tags {
                write!(out, "{comma}")?;
                string(out, tag)?;
            }
            out.write_all(b"]")?;
        }
        out.write_all(b"}")?;
    }
    Ok(())
}

fn status(coverage: &Coverage, out: &mut dyn Write) -> io::Result<()> {
    let comma = Comma::default();
    out.write_all(b"{")?;
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
            write!(out, "{comma}\"{key}\":{value}")?;
        }
    }
    if !coverage.related.is_empty() {
        write!(out, "{comma}\"related\":[")?;
        numbers(out, coverage.related.iter().copied())?;
        out.write_all(b"]")?;
    }
    out.write_all(b"}")
}

/// Numbers what references say together.
fn combination(status: Status) -> usize {
    let bits = BITS.iter().enumerate().map(|(bit, kind)| usize::from(status.has(*kind)) << bit);
    bits.sum::<usize>() + (status.level as usize) * (1 << BITS.len())
}

/// Lists every combination in the order of its number.
fn combinations(out: &mut dyn Write) -> io::Result<()> {
    let comma = Comma::default();
    for level in Level::ALL {
        for bits in 0..1 << BITS.len() {
            write!(out, "{comma}{{")?;
            let members = Comma::default();
            for (bit, kind) in BITS.iter().enumerate().rev() {
                if bits & (1 << bit) != 0 {
                    write!(out, "{members}\"{}\":true", kind.upper_name().to_lowercase())?;
                }
            }
            if level != Level::Auto {
                write!(out, "{members}\"level\":\"{level}\"")?;
            }
            out.write_all(b"}")?;
        }
    }
    Ok(())
}

fn numbers(out: &mut dyn Write, numbers: impl Iterator<Item = u32>) -> io::Result<()> {
    let comma = Comma::default();
    for number in numbers {
        write!(out, "{comma}{number}")?;
    }
    Ok(())
}

fn string(out: &mut dyn Write, text: &str) -> io::Result<()> {
    serde_json::to_writer(out, text).map_err(io::Error::from)
}

/// Nothing the first time it is written, a comma from then on.
#[derive(Default)]
struct Comma(std::cell::Cell<bool>);

impl std::fmt::Display for Comma {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.0.replace(true) { f.write_str(",") } else { Ok(()) }
    }
}
