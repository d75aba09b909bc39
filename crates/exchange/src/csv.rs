//! CSV: one table for all kinds, a column for every field. For spreadsheets it begins with a byte
//! order mark (without it Excel reads non-English text wrongly), and cells cannot be taken for formulas.

use std::borrow::Cow;
use std::io::{self, Read, Write};

use csv::{ByteRecord, ReaderBuilder};

use crate::kind::{RecordKind, plain_name};
use crate::reading::{Draft, Gathering, Given, RECORD_MAX_BYTES, Value, shown};
use crate::record::{Field, Place, Record};

/// The start of a file for spreadsheets: the byte order mark.
pub const MARK: &str = "\u{feff}";
/// The widest accepted table, because every column is compared with all others.
pub(crate) const COLUMNS_MAX: usize = 1_000;
/// How much of a file is read to find its separator.
const HEAD_MAX_BYTES: u64 = 256 << 10;
/// How many bytes of read rows are dropped at once.
const WINDOW_BYTES: usize = 64 << 10;
/// Appended to the file when it is read; an unclosed quote swallows it.
const END: &[u8] = b"\n\x01end of file\x01";

pub fn write(records: impl Iterator<Item = Record>, out: &mut impl Write) -> io::Result<()> {
    write_columns(&columns(), records, out)
}

/// Writes a selection of the columns.
pub fn write_columns(
    columns: &[&'static str],
    records: impl Iterator<Item = Record>,
    out: &mut impl Write,
) -> io::Result<()> {
    out.write_all(MARK.as_bytes())?;
    let mut table = csv::Writer::from_writer(out);
    table.write_record(columns)?;
    for record in records {
        for column in columns {
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

/// Writes rows of another kind of table, with the same protection of cells.
pub fn write_rows(rows: impl Iterator<Item = Vec<String>>, out: impl Write) -> io::Result<()> {
    let mut table = csv::Writer::from_writer(out);
    for row in rows {
        let cells = row.iter().map(|cell| if cell.is_empty() { String::new() } else { guarded(cell) });
        table.write_record(cells)?;
    }
    table.flush()
}

pub fn read(input: &mut dyn Read, reading: &mut Gathering<'_>) -> io::Result<()> {
    let mut columns = None;
    each_row(input, &separator, reading, &mut |reading, place, row, is_sound| {
        let Some(columns) = &columns else {
            columns = read_header(row, &place, reading);
            return columns.is_some();
        };
        read_row(columns, row, Draft { is_sound, ..Draft::new(place, "") }, reading);
        true
    })
}

/// Takes a row, its place, and whether it was read without mistakes. Returns whether to continue.
pub(crate) type EachRow<'e> = &'e mut dyn FnMut(&mut Gathering<'_>, Place, &ByteRecord, bool) -> bool;

/// Calls `take` with the rows of a table. The first row has the names of the columns.
pub(crate) fn each_row(
    input: &mut dyn Read,
    separator: &dyn Fn(&[u8]) -> u8,
    reading: &mut Gathering<'_>,
    each: EachRow<'_>,
) -> io::Result<()> {
    let mut head = Vec::new();
    input.take(HEAD_MAX_BYTES).read_to_end(&mut head)?;
    let separator = separator(&head);
    let mut table = ReaderBuilder::new()
        .delimiter(separator)
        .has_headers(false)
        .flexible(true)
        .from_reader(Window::new(head.chain(input).chain(END)));
    let mut sheet = Sheet { offset: 0, row: 0, line: 1 };
    let (mut row, mut next) = (ByteRecord::new(), ByteRecord::new());
    if !table.read_byte_record(&mut row)? || !table.read_byte_record(&mut next)? {
        reading.problem(&Place::item("row 1", 1), None, "expected column names, found nothing");
        return Ok(());
    }
    let place = sheet.place(&row, table.get_ref());
    let mut goes_on = each(reading, place, &row, true);
    while goes_on && !reading.has_failed() {
        std::mem::swap(&mut row, &mut next);
        let has_next = table.read_byte_record(&mut next)?;
        let place = sheet.place(&row, table.get_ref());
        if !has_next {
            if row.as_slice() != &END[1..] {
                reading.is_incomplete = true;
                reading.problem(&place, None, "a quote (\") opens here or later and is never closed");
            }
            break;
        }
        let behind = sheet.text_behind_a_quote(table.get_ref(), start(&next), separator);
        if let Some(offset) = behind {
            let place = Place { line: Some(sheet.line_at(table.get_ref(), offset)), ..place.clone() };
            let message = "expected the end of the cell after its closing quote (\"), found more; write a quote within a \
                           cell twice";
            reading.problem(&place, None, message);
        }
        goes_on = each(reading, place, &row, behind.is_none());
        table.get_mut().forget(sheet.offset);
    }
    Ok(())
}

/// The bytes of a file from the current row on, as far as they were read.
struct Window<R> {
    input: R,
    bytes: Vec<u8>,
    /// The offset of the bytes in the file.
    start: usize,
    /// How many of the bytes are no longer needed.
    n_forgotten: usize,
}

impl<R: Read> Window<R> {
    fn new(input: R) -> Window<R> {
        Window { input, bytes: Vec::new(), start: 0, n_forgotten: 0 }
    }

    fn from(&self, offset: usize) -> &[u8] {
        self.bytes.get(offset.saturating_sub(self.start)..).unwrap_or_default()
    }

    fn between(&self, start: usize, end: usize) -> &[u8] {
        let bytes = self.from(start);
        &bytes[..(end.saturating_sub(start)).min(bytes.len())]
    }

    /// Keeps one byte before an offset, to see whether a row begins within CRLF.
    fn forget(&mut self, offset: usize) {
        self.n_forgotten = offset.saturating_sub(1).saturating_sub(self.start);
        if self.n_forgotten >= WINDOW_BYTES {
            self.bytes.drain(..self.n_forgotten);
            self.start += std::mem::take(&mut self.n_forgotten);
        }
    }
}

impl<R: Read> Read for Window<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        // An unclosed quote would take the rest of the file.
        if self.bytes.len() - self.n_forgotten > RECORD_MAX_BYTES {
            return Ok(0);
        }
        let n_read = self.input.read(out)?;
        self.bytes.extend_from_slice(&out[..n_read]);
        Ok(n_read)
    }
}

/// Lines as an editor counts them. The reader skips blank rows, and begins a row
/// before the second half of CRLF.
struct Sheet {
    /// The start of the current row.
    offset: usize,
    row: usize,
    /// The line of the offset.
    line: u64,
}

impl Sheet {
    /// Moves to a row, and returns its place.
    fn place<R: Read>(&mut self, row: &ByteRecord, window: &Window<R>) -> Place {
        let mut end = start(row);
        if end > 0 && window.from(end - 1).starts_with(b"\r\n") {
            end += 1;
        }
        let blank = window.from(end).iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
        self.row += 1 + n_breaks(window, end, end + blank);
        self.line = self.line_at(window, end + blank);
        self.offset = end + blank;
        Place::item(format!("row {}", self.row), self.line)
    }

    /// The line of an offset in the current row.
    fn line_at<R: Read>(&self, window: &Window<R>, offset: usize) -> u64 {
        self.line + n_breaks(window, self.offset, offset) as u64
    }

    /// The place in the current row where a cell continues after its closing quote, which readers treat differently. White space
    /// there is harmless.
    fn text_behind_a_quote<R: Read>(&self, window: &Window<R>, end: usize, separator: u8) -> Option<usize> {
        let mut cell = Cell::Begins;
        for (index, byte) in window.between(self.offset, end).iter().enumerate() {
            cell = match (cell, *byte) {
                (Cell::Begins, b'"') | (Cell::Closed, b'"') => Cell::Quoted,
                (Cell::Quoted, b'"') => Cell::Closed,
                (Cell::Quoted, _) => Cell::Quoted,
                (_, byte) if byte == separator || byte == b'\r' || byte == b'\n' => Cell::Begins,
                (Cell::Closed | Cell::Behind, b' ' | b'\t') => Cell::Behind,
                (Cell::Closed | Cell::Behind, _) => return Some(self.offset + index),
                (Cell::Begins | Cell::Plain, _) => Cell::Plain,
            };
        }
        None
    }
}

/// The number of line ends between two offsets.
fn n_breaks<R: Read>(window: &Window<R>, start: usize, end: usize) -> usize {
    let bytes = window.from(start);
    let ends_line = |index: &usize| match bytes[*index] {
        b'\n' => true,
        b'\r' => bytes.get(*index + 1) != Some(&b'\n'),
        _ => false,
    };
    (0..end.saturating_sub(start).min(bytes.len())).filter(ends_line).count()
}

/// The state of a byte within a cell.
#[derive(Clone, Copy)]
enum Cell {
    Begins,
    Plain,
    Quoted,
    /// After a closing quote, unless another follows.
    Closed,
    /// After white space behind the closing quote.
    Behind,
}

/// The position of the reader before a row.
fn start(row: &ByteRecord) -> usize {
    row.position().map_or(0, |position| position.byte() as usize)
}

/// The meaning of a column.
#[derive(Clone, Copy, PartialEq)]
enum Column {
    Known(&'static str),
    /// Unknown; reported once for the header.
    Unknown,
    /// A column without a name, as spreadsheets leave behind: fine while it is empty.
    Nameless,
}

fn read_header(header: &ByteRecord, place: &Place, reading: &mut Gathering<'_>) -> Option<Vec<Column>> {
    if header.len() > COLUMNS_MAX {
        let message = format!("expected at most {COLUMNS_MAX} columns, found {}", header.len());
        reading.problem(place, None, message);
        return None;
    }
    let known = columns();
    let mut found: Vec<Column> = Vec::new();
    for cell in header {
        let name = String::from_utf8_lossy(cell);
        let column = match known.iter().copied().find(|column| *column == plain_name(&name)) {
            Some(name) => Column::Known(name),
            None if name.trim().is_empty() => Column::Nameless,
            None => Column::Unknown,
        };
        let message = match (column, nearest::nearest(&name, known.iter().copied())) {
            (Column::Known(_), _) if found.contains(&column) => "duplicate column".to_owned(),
            (Column::Known(_) | Column::Nameless, _) => String::new(),
            (Column::Unknown, Some(right)) => format!("unknown column; did you mean `{right}`?"),
            (Column::Unknown, None) => format!("unknown column; the columns are {}", known.join(", ")),
        };
        if !message.is_empty() {
            reading.problem(place, Some(&name), message);
        }
        found.push(column);
    }
    if !found.contains(&Column::Known("kind")) {
        let message =
            "expected this column, found none: it says of each row what it is, such as `requirement`";
        reading.problem(place, Some("kind"), message);
        return None;
    }
    Some(found)
}

fn read_row(columns: &[Column], row: &ByteRecord, mut draft: Draft, reading: &mut Gathering<'_>) {
    // Spreadsheets write rows of separators only.
    if row.iter().all(|cell| cell.is_empty()) {
        return;
    }
    for (index, cell) in row.iter().enumerate().filter(|(_, cell)| !cell.is_empty()) {
        let text = String::from_utf8_lossy(cell);
        match columns.get(index) {
            Some(Column::Known("kind")) => draft.kind = text.into_owned(),
            Some(Column::Known(name)) => {
                let value = match text {
                    Cow::Borrowed(text) => Value::Spelled(unguarded(text)),
                    // Bytes that are not UTF-8 were replaced.
                    Cow::Owned(text) => Value::Other(format!(
                        "another encoding in {}; save the table as CSV UTF-8",
                        shown(&text)
                    )),
                };
                draft.values.push(Given { name: (*name).to_owned(), value, line: None });
            }
            Some(Column::Unknown) => reading.lose(&text),
            Some(Column::Nameless) if text.trim().is_empty() => {}
            Some(Column::Nameless) => {
                let column = format!("column {}", index + 1);
                let message =
                    format!("expected nothing below a column without a name, found {}", shown(&text));
                reading.problem(&draft.place, Some(&column), message);
                reading.lose(&text);
                draft.is_sound = false;
            }
            None => {
                let message = format!("expected {} cells, found one more: {}", columns.len(), shown(&text));
                reading.problem(&draft.place, None, message);
                reading.lose(&text);
                draft.is_sound = false;
            }
        }
    }
    reading.check(draft);
}

/// The most important columns come first.
pub fn columns() -> Vec<&'static str> {
    let mut columns = vec!["kind", "reference_id", "epic", "user_story"];
    for kind in [RecordKind::Requirement].into_iter().chain(RecordKind::all()) {
        for field in kind.shape().fields() {
            if !columns.contains(&field.name) {
                columns.push(field.name);
            }
        }
    }
    columns
}

/// The separator with which the first row has the most known names.
fn separator(bytes: &[u8]) -> u8 {
    let known = columns();
    let n_known = |separator: &u8| {
        let mut reader = ReaderBuilder::new().delimiter(*separator).has_headers(false).from_reader(bytes);
        let header = reader.byte_records().next().and_then(Result::ok).unwrap_or_default();
        header.iter().filter(|cell| known.contains(&&*plain_name(&String::from_utf8_lossy(cell)))).count()
    };
    // Of equals the last is taken.
    *b"\t;,".iter().max_by_key(|separator| n_known(separator)).expect("there are three")
}

/// A text as a cell: `'` precedes what a spreadsheet would calculate, and alone is an empty text.
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

pub(crate) fn unguarded(cell: &str) -> String {
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

/// Where a spreadsheet may see the start of a cell: at the start, and with another separator also after line
/// breaks, tabs and semicolons.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(['\n', '\r', '\t', ';'])
}

/// Whether a piece needs a `'` before it. Any number of `'` does not change the answer, so adding
/// one can be undone.
fn is_guarded(piece: &str, is_first: bool) -> bool {
    let rest = piece.trim_start_matches('\'');
    let calculates = rest.starts_with(['=', '+', '-', '@', '＝', '＋', '－', '＠']);
    match is_first {
        true => calculates || rest.is_empty() || rest.starts_with(['\t', '\r', '\n']),
        // Lists in Markdown start their lines like this, too, and only calls are dangerous.
        false => calculates && rest.contains(['(', '|', '!']),
    }
}
