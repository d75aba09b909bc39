//! Excel workbooks. A workbook is an untrusted archive, so it is unpacked once within limits before it is read.

use std::io::{self, Cursor, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};

use calamine::{Data, DataRef, Reader as _, SheetVisible, Xlsx};
use zip::ZipArchive;

use super::EachCells;
use crate::csv::COLUMNS_MAX;
use crate::reading::Gathering;
use crate::record::Place;

/// The maximal size of a sheet when unpacked; its cells are read one by one.
const SHEET_MAX_BYTES: u64 = 256 << 20;
/// The maximal total size of everything else, which is kept in memory.
const REST_MAX_BYTES: u64 = 64 << 20;
/// The maximal number of files in a workbook.
const PARTS_MAX: usize = 10_000;
/// The maximal number of cells. A row without any is free.
const CELLS_MAX: usize = 5_000_000;
/// The attribute with the number of strings in a workbook, for which the reader allocates memory.
const COUNT: &[u8] = b"uniqueCount";

/// Calls `take` with the rows of the first visible sheet.
pub(super) fn read(input: &mut dyn Read, reading: &mut Gathering<'_>, each: EachCells<'_>) -> io::Result<()> {
    let mut bytes = Vec::new();
    input.read_to_end(&mut bytes)?;
    if let Err(message) = check(&bytes) {
        reading.problem(&Place::default(), None, message);
        return Ok(());
    }
    // The reader is third-party code, and the workbook may be anything.
    let read = catch_unwind(AssertUnwindSafe(|| read_sheet(bytes, reading, each)));
    let message = match read {
        Ok(Ok(())) => return Ok(()),
        Ok(Err(message)) => message,
        Err(_) => "expected a workbook (.xlsx), found one that cannot be read".to_owned(),
    };
    reading.is_incomplete = true;
    reading.problem(&Place::default(), None, message);
    Ok(())
}

fn read_sheet(bytes: Vec<u8>, reading: &mut Gathering<'_>, each: EachCells<'_>) -> Result<(), String> {
    let unreadable =
        |error: calamine::XlsxError| format!("expected a workbook (.xlsx), found a mistake in it: {error}");
    let mut workbook: Xlsx<Cursor<Vec<u8>>> = Xlsx::new(Cursor::new(bytes)).map_err(unreadable)?;
    let shown = workbook.sheets_metadata().iter().filter(|sheet| sheet.visible == SheetVisible::Visible);
    let mut shown = shown.map(|sheet| sheet.name.clone()).collect::<Vec<_>>().into_iter();
    let Some(name) = shown.next() else {
        return Err("expected a sheet, found none that is shown".to_owned());
    };
    for other in shown {
        reading.note(
            &Place::default(),
            None,
            format!("the sheet {other:?} was left out: the first one is read"),
        );
    }
    let mut cells = workbook.worksheet_cells_reader(&name).map_err(unreadable)?;
    let (mut row, mut number) = (Vec::new(), None);
    for _ in 0..CELLS_MAX {
        let Some(cell) = cells.next_cell().map_err(unreadable)? else {
            hand_on(&mut row, number, reading, each);
            return Ok(());
        };
        let (at, column) = cell.get_position();
        if number.is_some_and(|number| at < number) || column as usize >= COLUMNS_MAX {
            if column as usize >= COLUMNS_MAX && *cell.get_value() == DataRef::Empty {
                continue;
            }
            return Err(match column as usize >= COLUMNS_MAX {
                true => format!("row {}: expected at most {COLUMNS_MAX} columns, found more", at + 1),
                false => format!("row {}: expected rows in order, found one from above", at + 1),
            });
        }
        if number != Some(at) {
            if number.is_some() && !hand_on(&mut row, number, reading, each) {
                return Ok(());
            }
            number = Some(at);
        }
        if row.len() <= column as usize {
            row.resize(column as usize + 1, String::new());
        }
        row[column as usize] = text(cell.get_value());
    }
    Err(format!("expected at most {CELLS_MAX} cells, found more; import the sheet in parts"))
}

/// Passes on a row, numbered as in Excel.
fn hand_on(
    row: &mut Vec<String>,
    number: Option<u32>,
    reading: &mut Gathering<'_>,
    each: EachCells<'_>,
) -> bool {
    let Some(number) = number else { return true };
    let place = Place { item: Some(format!("row {}", u64::from(number) + 1)), line: None };
    each(reading, place, std::mem::take(row), true)
}

/// The displayed text of a cell.
fn text(value: &DataRef<'_>) -> String {
    match value {
        DataRef::Empty => String::new(),
        DataRef::String(text) => text.clone(),
        DataRef::SharedString(text) => (*text).to_owned(),
        // A whole number is not written with a point.
        DataRef::Float(number) if number.fract() == 0.0 && number.abs() < 1e15 => format!("{number:.0}"),
        DataRef::DateTime(time) if time.is_datetime() => {
            let (year, month, day, hour, minute, second, _) = time.to_ymd_hms_milli();
            match (hour, minute, second) {
                (0, 0, 0) => format!("{year:04}-{month:02}-{day:02}"),
                _ => format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}"),
            }
        }
        other => Data::from(other.clone()).to_string(),
    }
}

/// Unpacks a workbook without storing anything, and reports exceeded limits.
fn check(bytes: &[u8]) -> Result<(), String> {
    let broken =
        |error: &dyn std::fmt::Display| format!("expected a workbook (.xlsx), found no archive: {error}");
    let mut archive = ZipArchive::new(Cursor::new(bytes)).map_err(|error| broken(&error))?;
    if archive.len() > PARTS_MAX {
        return Err(format!("expected at most {PARTS_MAX} files in the workbook, found {}", archive.len()));
    }
    let (mut n_sheets, mut n_rest) = (0, 0);
    for index in 0..archive.len() {
        let part = archive.by_index(index).map_err(|error| broken(&error))?;
        let name = part.name().map(|name| name.to_ascii_lowercase()).map_err(|error| broken(&error))?;
        let is_sheet = name.contains("worksheets/") && name.ends_with(".xml");
        let (total, bytes_max) =
            if is_sheet { (&mut n_sheets, SHEET_MAX_BYTES) } else { (&mut n_rest, REST_MAX_BYTES) };
        *total += unpacked(part, bytes_max - *total, name.ends_with(".xml") || name.ends_with(".rels"))
            .map_err(|cause| match cause {
                Some(cause) => format!("expected a workbook (.xlsx), found a mistake in {name}: {cause}"),
                None => {
                    format!("the workbook unpacks to more than {} MiB; save it as CSV UTF-8", bytes_max >> 20)
                }
            })?;
    }
    Ok(())
}

/// The size of a part in bytes. The error has no cause if the part is too large.
fn unpacked(mut part: impl Read, bytes_max: u64, is_xml: bool) -> Result<u64, Option<String>> {
    let mut buffer = vec![0; 64 << 10];
    let (mut n_bytes, mut n_kept) = (0_u64, 0);
    loop {
        let n_read = part.read(&mut buffer[n_kept..]).map_err(|error| Some(error.to_string()))?;
        if n_read == 0 {
            return Ok(n_bytes);
        }
        n_bytes += n_read as u64;
        if n_bytes > bytes_max {
            return Err(None);
        }
        let read = &buffer[..n_kept + n_read];
        if is_xml && read[n_kept..].contains(&0) {
            return Err(Some("expected UTF-8".to_owned()));
        }
        if is_xml && says_too_many(read) {
            return Err(Some("it says that it has more strings than it can have".to_owned()));
        }
        // The attribute may cross the border between two reads.
        let n_tail = read.len().min(TAIL_BYTES);
        let start = read.len() - n_tail;
        buffer.copy_within(start..start + n_tail, 0);
        n_kept = n_tail;
    }
}

/// Longer than the attribute and any number.
const TAIL_BYTES: usize = 64;
/// No workbook within the limits has more strings.
const STRING_DIGITS_MAX: usize = 7;

/// The position of the attribute's rarest letter.
const RARE: usize = 3;

/// Whether bytes of XML declare more strings than the limits allow.
fn says_too_many(bytes: &[u8]) -> bool {
    // Searching for a letter that is rare in XML is faster than for the word.
    let rare = |byte: &u8| *byte == COUNT[RARE];
    let mut start = 0;
    while let Some(at) = bytes[start..].iter().position(rare).map(|at| start + at) {
        start = at + 1;
        let Some(rest) = bytes[at.saturating_sub(RARE)..].strip_prefix(COUNT) else { continue };
        let number = rest.iter().skip_while(|byte| !byte.is_ascii_digit() && !matches!(byte, b'<' | b'>'));
        let number = number.skip_while(|byte| **byte == b'0');
        if number.take_while(|byte| byte.is_ascii_digit()).count() > STRING_DIGITS_MAX {
            return true;
        }
    }
    false
}

/// A workbook as CSV, if its first sheet is one of our exports: it has a column `kind`.
pub fn own_workbook(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut ignore = |_, _| Ok(());
    let mut reading = Gathering::new(&mut ignore);
    let (mut is_ours, mut n_rows) = (None, 0);
    let mut table = csv::WriterBuilder::new().flexible(true).from_writer(Vec::new());
    read(&mut &*bytes, &mut reading, &mut |_, place, cells, _| {
        let is_own = *is_ours.get_or_insert_with(|| super::is_ours(cells.iter().map(String::as_str)));
        // Rows are counted as in the workbook, blank ones too.
        let number: u64 =
            place.item.as_deref().and_then(|item| item.strip_prefix("row ")?.parse().ok()).unwrap_or(0);
        while is_own && n_rows + 1 < number && table.write_record([""]).is_ok() {
            n_rows += 1;
        }
        n_rows += 1;
        is_own && table.write_record(&cells).is_ok()
    })
    .ok()?;
    table
        .into_inner()
        .ok()
        .filter(|_| is_ours == Some(true) && reading.finish().is_ok_and(|read| read.problems.is_empty()))
}
