//! The snapshot: coverage as text that can be compared line by line.

use std::io::{self, Write};

use super::line::LineCursor;
use super::{Combination, Report, TargetReport};
use crate::annotation::{AnnotationKind, Level};
use crate::text::Span;

/// Writes the snapshot.
pub fn write(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    for (index, target) in report.targets.iter().enumerate() {
        if index > 0 {
            writeln!(out)?;
        }
        specification(target, out)?;
    }
    Ok(())
}

fn specification(target: &TargetReport<'_>, out: &mut dyn Write) -> io::Result<()> {
    let specification = target.specification;
    let mut lines = LineCursor::new(specification, &target.references);
    let mut n_sections = 0;
    for section in &specification.sections {
        let mut is_started = false;
        for span in section.spans() {
            if !lines.go(span) {
                continue;
            }
            if !is_started {
                match &specification.title {
                    _ if n_sections > 0 => writeln!(out)?,
                    Some(title) => writeln!(out, "SPECIFICATION: [{title}]({})", target.name)?,
                    None => writeln!(out, "SPECIFICATION: {}", target.name)?,
                }
                writeln!(out, "  SECTION: [{}](#{})", section.title, section.id)?;
                is_started = true;
                n_sections += 1;
            }
            line(span, &specification.text, &mut lines, out)?;
        }
    }
    Ok(())
}

/// Writes the annotated parts of a line; adjacent parts with the same annotations are one part.
fn line(line: Span, text: &str, lines: &mut LineCursor<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut part = Part { status: Combination::default(), span: Span { start: line.start, end: line.start } };
    lines.each_piece(line, |piece, references| -> io::Result<()> {
        let status = Combination::of(references.iter().copied());
        if part.label() == (Part { status, span: piece }).label() {
            part.span.end = piece.end;
            return Ok(());
        }
        let is_indent = part.span.start == line.start && part.span.of_text(text).trim_end().is_empty();
        part.write(text, out)?;
        // White space at the start of a line belongs to the next part.
        let start = if is_indent && !part.span.is_empty() { part.span.start } else { piece.start };
        part = Part { status, span: Span { start, end: piece.end } };
        Ok(())
    })?;
    part.write(text, out)
}

struct Part {
    status: Combination,
    span: Span,
}

impl Part {
    fn label(&self) -> String {
        let mut parts = Vec::new();
        if self.status.level != Level::Auto {
            parts.push(format!("!{}", self.status.level));
        }
        let kinds = [
            AnnotationKind::Citation,
            AnnotationKind::Implication,
            AnnotationKind::Test,
            AnnotationKind::Exception,
            AnnotationKind::Todo,
        ];
        let kinds = kinds.into_iter().filter(|kind| self.status.has(*kind));
        parts.extend(kinds.map(|kind| kind.name().to_owned()));
        parts.join(",")
    }

    fn write(&self, text: &str, out: &mut dyn Write) -> io::Result<()> {
        let text = self.span.of_text(text).trim_end();
        let label = self.label();
        if text.is_empty() || label.is_empty() {
            return Ok(());
        }
        writeln!(out, "    TEXT[{label}]: {text}")
    }
}
