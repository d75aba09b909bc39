//! Coverage of specifications as lcov files, one for each, so that editors and services can show it.
//!
//! A specification is the source file, its sections are the functions, and each line that annotations speak of has
//! two branches: whether it is cited, and whether it is tested.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::Path;

use super::TargetReport;
use super::gate::Gate;
use crate::annotation::AnnotationKind;

/// The name of the file for one of the specifications of a report.
pub fn file_name(index: usize) -> String {
    format!("compliance.{index}.lcov")
}

/// Writes the file for one of the specifications of a report. The gate says what a covered line needs.
pub fn write(target: &TargetReport<'_>, downloads: &Path, gate: Gate, out: &mut dyn Write) -> io::Result<()> {
    let specification = target.specification;
    let local = target.target.path.local(downloads).unwrap_or_default();
    writeln!(out, "TN:Compliance\nSF:{}", local.display())?;
    let title = |section: u32| {
        let section = &specification.sections[section as usize];
        (specification.lines.line(section.title_span.start), one_line(&section.title))
    };
    for section in 0..specification.sections.len() as u32 {
        let (line, title) = title(section);
        writeln!(out, "FN:{line},{title}")?;
    }
    writeln!(out, "FNF:{}", specification.sections.len())?;

    let mut all = BTreeSet::new();
    let mut hits = [BTreeSet::new(), BTreeSet::new()];
    for reference in &target.references {
        let line = specification.lines.line(reference.span.start);
        let (title_line, title) = title(reference.section);
        all.insert(line);
        let is_hit = match reference.kind {
            AnnotationKind::Citation => [true, false],
            AnnotationKind::Test => [false, true],
            AnnotationKind::Implication | AnnotationKind::Exception => [true, true],
            AnnotationKind::Spec | AnnotationKind::Todo => [false, false],
        };
        for (branch, (is_hit, lines)) in is_hit.into_iter().zip(&mut hits).enumerate() {
            if is_hit {
                lines.insert(line);
            }
            // The title counts with the first hit of its section.
            let is_title_hit = is_hit && lines.insert(title_line);
            let (count, title_count) = (u8::from(is_hit), u8::from(is_title_hit));
            writeln!(out, "BRDA:{line},{branch},0,{count}")?;
            writeln!(out, "FNDA:{title_count},{title}")?;
            writeln!(out, "BRDA:{title_line},{branch},0,{title_count}")?;
        }
    }

    for line in &all {
        writeln!(out, "DA:{line},0")?;
    }
    let [cited, tested] = &hits;
    for line in cited | tested {
        let is_covered = match (gate.citations, gate.tests) {
            (true, true) => cited.contains(&line) && tested.contains(&line),
            (true, false) => cited.contains(&line),
            (false, true) => tested.contains(&line),
            (false, false) => true,
        };
        writeln!(out, "DA:{line},{}", u8::from(is_covered))?;
    }
    writeln!(out, "end_of_record")
}

/// A record is a line, whatever a title looks like.
fn one_line(title: &str) -> String {
    title.split(['\n', '\r']).map(str::trim).collect::<Vec<_>>().join(" ")
}
