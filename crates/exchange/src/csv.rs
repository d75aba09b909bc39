//! CSV: one table for all kinds, a column for every field. Made for spreadsheets, so it begins with a byte
//! order mark (without it Excel reads anything but English wrongly), and no cell is taken for a formula.

use std::borrow::Cow;
use std::io::{self, Read, Write};

use csv::{ByteRecord, ReaderBuilder};

use crate::kind::{Kind, plain_name};
use crate::reading::{Draft, Given, Reading, Value, nearest, shown};
use crate::record::{Field, Place, Record};

/// The widest table that is looked at; every column is compared with all others.
const COLUMNS_MAX: usize = 1_000;
/// Stands behind the file when it is read; a quote that is never closed swallows it.
const END: &[u8] = b"\n\x01end of file\x01";

pub fn write(records: impl Iterator<Item = Record>, out: &mut impl Write) -> io::Result<()> {
    out.write_all("\u{feff}".as_bytes())?;
    let mut table = csv::Writer::from_writer(out);
    let columns = columns();
    table.write_record(&columns)?;
    for record in records {
        for column in &columns {
            match record.field(column) {
                _ if *column == "kind" => table.write_field(record.kind.name())?,
                Some(Field::Text(text)) => table.write_field(guarded(text))?,
                Some(field) => table.write_field(field.to_string())?,
                None => table.write_field("")?,
            }
        }
        table.write_record(None::<&[u8]>)?;
    }
    table.flush()
}

pub fn read(bytes: &[u8], reading: &mut Reading) {
    let separator = separator(bytes);
    let mut reader = ReaderBuilder::new()
        .delimiter(separator)
        .has_headers(false)
        .flexible(true)
        .from_reader(bytes.chain(END));
    let mut rows = reader.byte_records().map_while(Result::ok).enumerate().peekable();
    let header = match rows.next() {
        Some((_, header)) if rows.peek().is_some() => header,
        _ => return reading.problem(&Place::item("row 1", 1), None, "expected column names, found nothing"),
    };
    let Some(columns) = read_header(&header, reading) else {
        return;
    };
    while let Some((index, row)) = rows.next() {
        let line = row.position().map_or(1, |position| position.line());
        let place = Place::item(format!("row {}", index + 1), line);
        if rows.peek().is_none() {
            if row.as_slice() != &END[1..] {
                reading.problem(&place, None, "a quote (\") opens here or later and is never closed");
            }
            return;
        }
        read_row(&columns, &row, place, reading);
    }
}

/// What each column holds; `None` where it was not understood.
fn read_header(header: &ByteRecord, reading: &mut Reading) -> Option<Vec<Option<&'static str>>> {
    let place = Place::item("row 1", 1);
    if header.len() > COLUMNS_MAX {
        let message = format!("expected at most {COLUMNS_MAX} columns, found {}", header.len());
        reading.problem(&place, None, message);
        return None;
    }
    let known = columns();
    let mut found: Vec<Option<&'static str>> = Vec::new();
    for cell in header {
        let name = String::from_utf8_lossy(cell);
        let column = known.iter().copied().find(|column| *column == plain_name(&name));
        let message = match (column, nearest(&name, known.iter().copied())) {
            (Some(column), _) if found.contains(&Some(column)) => "this column stands here twice".to_owned(),
            // A nameless column is what spreadsheets leave behind; a value in it is a problem of its row.
            (None, _) if name.trim().is_empty() => String::new(),
            (Some(_), _) => String::new(),
            (None, Some(right)) => format!("unknown column; did you mean `{right}`?"),
            (None, None) => format!("unknown column; the columns are {}", known.join(", ")),
        };
        if !message.is_empty() {
            reading.problem(&place, Some(&name), message);
        }
        found.push(column);
    }
    if !found.contains(&Some("kind")) {
        let message =
            "expected this column, found none: it says of each row what it is, such as `requirement`";
        reading.problem(&place, Some("kind"), message);
        return None;
    }
    Some(found)
}

fn read_row(columns: &[Option<&'static str>], row: &ByteRecord, place: Place, reading: &mut Reading) {
    // Spreadsheets write rows of nothing but separators.
    if row.iter().all(|cell| cell.is_empty()) {
        return;
    }
    let mut draft = Draft::new(place, "");
    for (index, cell) in row.iter().enumerate().filter(|(_, cell)| !cell.is_empty()) {
        let text = String::from_utf8_lossy(cell);
        match columns.get(index) {
            Some(Some("kind")) => draft.kind = text.into_owned(),
            Some(Some(name)) => {
                let value = match text {
                    Cow::Borrowed(text) => Value::Spelled(unguarded(text)),
                    // Bytes that are not UTF-8 had to be replaced.
                    Cow::Owned(text) => Value::Other(format!(
                        "another encoding in {}; save the table as CSV UTF-8",
                        shown(&text)
                    )),
                };
                draft.values.push(Given { name: (*name).to_owned(), value, line: None });
            }
            // The header has said so, once.
            Some(None) => {}
            None => {
                let message = format!("expected {} cells, found one more: {}", columns.len(), shown(&text));
                reading.problem(&draft.place, None, message);
                draft.is_sound = false;
            }
        }
    }
    reading.check(draft);
}

/// What people look for first stands on the left.
fn columns() -> Vec<&'static str> {
    let mut columns = vec!["kind", "reference_id", "epic", "user_story"];
    for kind in [Kind::Requirement].into_iter().chain(Kind::all()) {
        for field in kind.shape().fields() {
            if !columns.contains(&field.name) {
                columns.push(field.name);
            }
        }
    }
    columns
}

/// The separator that makes the most sense of the first row.
fn separator(bytes: &[u8]) -> u8 {
    let known = columns();
    let n_known = |separator: &u8| {
        let mut reader = ReaderBuilder::new().delimiter(*separator).has_headers(false).from_reader(bytes);
        let header = reader.byte_records().next().and_then(Result::ok).unwrap_or_default();
        header.iter().filter(|cell| known.contains(&&*plain_name(&String::from_utf8_lossy(cell)))).count()
    };
    // The last of equals is taken.
    *b"\t;,".iter().max_by_key(|separator| n_known(separator)).expect("there are three")
}

/// A text as a cell: `'` stands before what a spreadsheet would calculate, and alone for an empty text.
fn guarded(text: &str) -> String {
    if text.is_empty() {
        return "'".to_owned();
    }
    let mut cell = String::with_capacity(text.len() + 1);
    for piece in pieces(text) {
        if is_guarded(piece, cell.is_empty()) {
            cell.push('\'');
        }
        cell.push_str(piece);
    }
    cell
}

fn unguarded(cell: &str) -> String {
    if cell == "'" {
        return String::new();
    }
    let mut text = String::with_capacity(cell.len());
    let mut is_first = true;
    for piece in pieces(cell) {
        match piece.strip_prefix('\'') {
            Some(rest) if is_guarded(rest, is_first) => text.push_str(rest),
            _ => text.push_str(piece),
        }
        is_first = false;
    }
    text
}

/// Where a spreadsheet may see a cell begin: at the start, and if it was told another separator, after line
/// breaks, tabs and semicolons too.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(['\n', '\r', '\t', ';'])
}

/// Whether `'` has to stand before a piece. Any number of `'` does not change the answer; that is why adding
/// one can be undone.
fn is_guarded(piece: &str, is_first: bool) -> bool {
    let rest = piece.trim_start_matches('\'');
    let calculates = rest.starts_with(['=', '+', '-', '@', '＝', '＋', '－', '＠']);
    match is_first {
        true => calculates || rest.is_empty() || rest.starts_with(['\t', '\r', '\n']),
        // A list in Markdown begins its lines like this too, and only calls do harm.
        false => calculates && rest.contains(['(', '|', '!']),
    }
}
