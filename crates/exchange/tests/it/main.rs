//! The four formats: what they look like, that nothing is lost, and what is said about mistakes.

mod exact;
mod foreign;
mod looks;
mod mistakes;
mod tables;

use exchange::{Format, Reading, Record, read, write};

/// When every export of these tests was made.
const TIME: &str = "2026-11-15T08:00:00Z";

fn written(format: Format, records: Vec<Record>) -> Vec<u8> {
    let mut out = Vec::new();
    write(format, TIME, records.into_iter(), &mut out).expect("a vector takes everything");
    out
}

/// Records, problems and notes as a person would list them.
fn told(reading: &Reading) -> String {
    let mut lines = Vec::new();
    for record in &reading.records {
        let fields = record.fields().map(|(shape, field)| format!("{}={:?}", shape.name, field.to_string()));
        lines.push(format!("{} {}", record.kind.name(), fields.collect::<Vec<_>>().join(" ")));
    }
    lines.extend(reading.problems.iter().map(|problem| format!("problem: {problem}")));
    lines.extend(reading.notes.iter().map(|note| format!("note: {note}")));
    lines.into_iter().map(|line| line + "\n").collect()
}

fn told_of(format: Format, text: &str) -> String {
    told(&read(format, text.as_bytes()))
}
