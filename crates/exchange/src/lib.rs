//! Requirements as JSON, CSV, Markdown and ReqIF, and back.
//!
//! [`write`] turns a stream of records into bytes; [`read_each`] turns bytes into a stream of records, and reports
//! mistakes. Reading a written file gives the same records again, whatever characters their texts contain. This crate knows no
//! files,
//! clocks or databases: the importer checks whether references exist.

mod csv;
mod json;
mod kind;
mod markdown;
mod members;
mod prose;
mod reading;
mod record;
mod reqif;
mod sheet;
mod text;

use std::io::{self, Read as _};

use reading::Gathering;

pub use csv::{MARK as CSV_MARK, columns, write_columns, write_rows as write_csv_rows};
pub use kind::{FieldShape, Form, RecordKind, Shape};
pub use members::Members;
pub use prose::{is_prose, read_prose};
pub use reading::{FileProblem, PROBLEMS_MAX, Reading, TableNotes};
pub use record::{Field, Place, Record};
pub use sheet::{
    Known, Mapping, PreviewedColumn, TableFormat, TableOptions, TablePreview, Target, decoded, is_own_csv,
    own_workbook, plain_priority as priority, preview_table, read_table,
};

/// Writes records in the given order, without collecting them.
///
/// ReqIF is the exception, because its schema requires relationships and the outline at the end; these are kept in
/// memory. `time` is the time of the export (`2026-11-15T08:00:00Z`), for its header.
pub fn write(
    format: Format,
    time: &str,
    records: impl Iterator<Item = Record>,
    out: &mut impl io::Write,
) -> io::Result<()> {
    match format {
        Format::Json => json::write(records, out),
        Format::Csv => csv::write(records, out),
        Format::Markdown => markdown::write(records, out),
        Format::Reqif => reqif::write(time, records, out),
    }
}

/// Reads a whole file. Any bytes give records, problems, or both.
pub fn read(format: Format, bytes: &[u8]) -> Reading {
    let (mut records, mut unsound) = (Vec::new(), Vec::new());
    let reading = read_each(format, &mut &*bytes, &mut |record, is_sound| {
        if is_sound { &mut records } else { &mut unsound }.push(record);
        Ok(())
    });
    Reading { records, unsound, ..reading.expect("memory can be read") }
}

/// Reads a file of any size. `each` receives the records in the order of the file, with whether a record has no problems; the
/// rest of what [`read`] gives is returned. For JSON and CSV one record at a time is in memory, for the others the whole text.
pub fn read_each(
    format: Format,
    input: &mut dyn io::Read,
    each: &mut dyn FnMut(Record, bool) -> io::Result<()>,
) -> io::Result<Reading> {
    let mut reading = Gathering::new(each);
    let mut head = Vec::new();
    input.take(text::HEAD_BYTES).read_to_end(&mut head)?;
    if let Some(message) = text::why_not_text(&head) {
        reading.problem(&Place::line(1), None, message);
        return reading.finish();
    }
    let head = head.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&head);
    let mut input = head.chain(input);
    match format {
        // A cell in another encoding is a problem of its row, not of the file.
        Format::Csv => csv::read(&mut input, &mut reading)?,
        Format::Json => json::read(&mut input, &mut reading)?,
        Format::Markdown | Format::Reqif => {
            let mut bytes = Vec::new();
            input.read_to_end(&mut bytes)?;
            match (format, text::text(&bytes)) {
                (Format::Markdown, Ok(text)) => markdown::read(text, &mut reading),
                (_, Ok(text)) => reqif::read(text, &mut reading),
                (_, Err((line, message))) => reading.problem(&Place::line(line), None, message),
            }
        }
    }
    reading.finish()
}

/// The formats that can be written and read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// For programs, and for comparing two exports.
    Json,
    /// For spreadsheets.
    Csv,
    /// For editors and review.
    Markdown,
    /// For other requirements tools: ReqIF 1.2.
    Reqif,
}

impl Format {
    /// Every format.
    pub const ALL: [Format; 4] = [Format::Json, Format::Csv, Format::Markdown, Format::Reqif];

    /// The name of the format.
    pub fn name(self) -> &'static str {
        match self {
            Format::Json => "json",
            Format::Csv => "csv",
            Format::Markdown => "markdown",
            Format::Reqif => "reqif",
        }
    }

    /// Finds a format by its name or by the extension of a file (`md`).
    pub fn find(name: &str) -> Option<Format> {
        let name = name.to_ascii_lowercase();
        Format::ALL
            .into_iter()
            .find(|format| format.name() == name || (*format, &*name) == (Format::Markdown, "md"))
    }

    /// The media type over HTTP.
    pub fn media_type(self) -> &'static str {
        match self {
            Format::Json => "application/json",
            Format::Csv => "text/csv; charset=utf-8",
            Format::Markdown => "text/markdown; charset=utf-8",
            Format::Reqif => "application/xml",
        }
    }
}
