//! Tables of other tools: Jira, Linear, GitHub, Azure DevOps, and lists in Excel. Columns are
//! recognised by name or mapped by the caller, values by name, and rows are placed below epics and stories.

mod cells;
mod guess;
mod place;
mod rows;
mod values;
mod xlsx;

use std::io::{self, Read};

use crate::kind::RecordKind;
use crate::reading::{Gathering, Reading, TableNotes};
use crate::record::{Place, Record};

pub use self::cells::decoded;
use self::guess::{Columns, is_ours};
pub use self::guess::{Mapping, Target};
use self::rows::Rows;
pub use self::values::plain_priority;
pub use self::xlsx::own_workbook;

/// The formats of tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableFormat {
    /// Text with commas, semicolons, tabs or bars between cells.
    Csv,
    /// An Excel workbook, of which the first visible sheet is read.
    Xlsx,
}

/// How a table is read.
#[derive(Clone, Debug, Default)]
pub struct TableOptions {
    /// The meaning of columns. Columns that it does not name are guessed.
    pub mapping: Mapping,
    /// The name of the tool that assigned the external ids. Guessed if absent.
    pub scheme: Option<String>,
}

/// Returns the kind of entity stored under each external id, if any.
pub type Known<'k> = &'k mut dyn FnMut(&str, &[String]) -> io::Result<Vec<Option<RecordKind>>>;

/// Reads a table. All rows are in memory until the end, because a row may belong to a later one.
pub fn read_table(
    format: TableFormat,
    input: &mut dyn Read,
    options: &TableOptions,
    known: Known<'_>,
    each: &mut dyn FnMut(Record, bool) -> io::Result<()>,
) -> io::Result<Reading> {
    let mut reading = Gathering::new(each);
    let mut rows = Rows::new(&options.mapping, true);
    read_cells(format, input, &mut reading, &mut |reading, place, cells, is_sound| {
        rows.add(reading, place, cells, is_sound)
    })?;
    let Some((columns, items)) = rows.finish(&mut reading) else { return reading.finish() };
    let scheme = options.scheme.clone().unwrap_or_else(|| columns.scheme().to_owned());
    reading.table = Some(TableNotes { scheme: scheme.clone(), columns: columns.used() });
    place::file(items, &scheme, known, &mut reading)?;
    reading.finish()
}

/// A preview of a table and the guessed meaning of its columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TablePreview {
    /// The columns.
    pub columns: Vec<PreviewedColumn>,
    /// The tool that it probably comes from.
    pub scheme: String,
    /// The number of rows below the names of the columns.
    pub n_rows: usize,
    /// Whether it has a column `kind` and is one of our exports, which needs no mapping.
    pub is_ours: bool,
    /// Why it could not be read completely.
    pub problems: Vec<crate::FileProblem>,
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreviewedColumn {
    /// Its name.
    pub name: String,
    /// Its guessed meaning, if any.
    pub target: Option<Target>,
    /// The first values in it.
    pub samples: Vec<String>,
}

/// How many rows a preview shows.
const SAMPLES: usize = 5;
/// How much of a value it shows.
const SAMPLE_MAX_CHARS: usize = 200;

/// Previews a table without reading it as records.
pub fn preview_table(
    format: TableFormat,
    input: &mut dyn Read,
    mapping: &Mapping,
) -> io::Result<TablePreview> {
    let mut ignore = |_, _| Ok(());
    let mut reading = Gathering::new(&mut ignore);
    let mut rows = Rows::new(mapping, false);
    let mut samples: Vec<Vec<String>> = Vec::new();
    let mut n_rows = 0;
    read_cells(format, input, &mut reading, &mut |reading, place, cells, _| {
        if !rows.has_header() {
            return rows.add(reading, place, cells, true);
        }
        if cells.iter().any(|cell| !cell.trim().is_empty()) {
            n_rows += 1;
            if samples.len() < SAMPLES {
                samples.push(cells);
            }
        }
        true
    })?;
    let found = rows.finish(&mut reading);
    let (columns, items): (Columns, _) = found.unwrap_or_default();
    let n_waiting = items.len();
    let waiting: Vec<Vec<String>> = items.into_iter().take(SAMPLES).map(|item| item.cells).collect();
    let samples: Vec<Vec<String>> = waiting.into_iter().chain(samples).take(SAMPLES).collect();
    let names: Vec<&str> = columns.names().collect();
    let previewed = columns.targets().enumerate().map(|(index, target)| PreviewedColumn {
        name: names[index].to_owned(),
        target,
        samples: samples
            .iter()
            .map(|row| {
                row.get(index).map(|cell| words::cut(cell, SAMPLE_MAX_CHARS).to_owned()).unwrap_or_default()
            })
            .collect(),
    });
    Ok(TablePreview {
        columns: previewed.collect(),
        scheme: columns.scheme().to_owned(),
        n_rows: n_rows + n_waiting,
        is_ours: is_ours(names.iter().copied()),
        problems: reading.finish()?.problems,
    })
}

/// Whether a table in CSV is one of our exports: it has a column `kind`. Returns the bytes that were read.
pub fn is_own_csv(input: &mut dyn Read) -> io::Result<(bool, Vec<u8>)> {
    let mut head = Vec::new();
    input.take(cells::HEAD_MAX_BYTES).read_to_end(&mut head)?;
    let names = cells::first_row(&head);
    Ok((is_ours(names.iter().map(String::as_str)), head))
}

/// Takes the cells of a row, its place, and whether it was read without mistakes. Returns whether to continue.
type EachCells<'e> = &'e mut dyn FnMut(&mut Gathering<'_>, Place, Vec<String>, bool) -> bool;

fn read_cells(
    format: TableFormat,
    input: &mut dyn Read,
    reading: &mut Gathering<'_>,
    each: EachCells<'_>,
) -> io::Result<()> {
    match format {
        TableFormat::Csv => cells::read(input, reading, each),
        TableFormat::Xlsx => xlsx::read(input, reading, each),
    }
}
