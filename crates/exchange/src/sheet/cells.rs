//! The cells of a table in CSV, with guessed separator and encoding.

use std::io::{self, Read};

use super::EachCells;
use super::guess::recognised;
use crate::csv::{each_row, unguarded};
use crate::reading::Gathering;

/// How much of a file is read to find its separator.
pub(super) const HEAD_MAX_BYTES: u64 = 256 << 10;
/// How many rows may precede the one with the names of the columns.
pub(super) const HEADER_ROWS_MAX: usize = 10;

/// Calls `take` with the rows of a table in CSV.
pub(super) fn read(input: &mut dyn Read, reading: &mut Gathering<'_>, each: EachCells<'_>) -> io::Result<()> {
    each_row(&mut decoded(input)?, &separator, reading, &mut |reading, place, row, is_sound| {
        let cells = row.iter().map(|cell| unguarded(&text(cell))).collect();
        each(reading, place, cells, is_sound)
    })
}

/// The cells of the first row.
pub(super) fn first_row(head: &[u8]) -> Vec<String> {
    rows(head, separator(head)).next().unwrap_or_default()
}

/// The most plausible separator of the first rows: the most known names of columns, then the most columns.
fn separator(head: &[u8]) -> u8 {
    let sense = |separator: &u8| {
        let rows = rows(head, *separator).take(HEADER_ROWS_MAX);
        rows.map(|row| (recognised(row.iter().map(String::as_str)), row.len())).max()
    };
    // Of equals the last is taken.
    *b"|\t;,".iter().max_by_key(|separator| sense(separator)).expect("there are four")
}

fn rows(head: &[u8], separator: u8) -> impl Iterator<Item = Vec<String>> {
    let reader =
        csv::ReaderBuilder::new().delimiter(separator).has_headers(false).flexible(true).from_reader(head);
    reader.into_byte_records().map_while(Result::ok).map(|row| row.iter().map(text).collect())
}

/// The text of a cell. If it is not UTF-8, it is Windows-1252.
fn text(cell: &[u8]) -> String {
    match std::str::from_utf8(cell) {
        Ok(text) => text.to_owned(),
        Err(_) => cell.iter().map(|byte| windows_1252(*byte)).collect(),
    }
}

/// A character of Windows-1252, which differs from Latin 1 in a few.
fn windows_1252(byte: u8) -> char {
    const FROM_80: &str = "€\u{81}‚ƒ„…†‡ˆ‰Š‹Œ\u{8d}Ž\u{8f}\u{90}‘’“”•–—˜™š›œ\u{9d}žŸ";
    match byte {
        0x80..=0x9f => FROM_80.chars().nth(usize::from(byte - 0x80)).unwrap_or('\u{fffd}'),
        _ => char::from(byte),
    }
}

/// A text file as UTF-8 without a byte order mark, if it is UTF-8 or UTF-16. Other encodings are unchanged.
pub fn decoded(input: &mut dyn Read) -> io::Result<Box<dyn Read + '_>> {
    let mut head = Vec::new();
    (&mut *input).take(4).read_to_end(&mut head)?;
    let (mark, order): (usize, Option<Order>) = match head.as_slice() {
        [0xef, 0xbb, 0xbf, ..] => (3, None),
        [0xff, 0xfe, ..] => (2, Some(u16::from_le_bytes)),
        [0xfe, 0xff, ..] => (2, Some(u16::from_be_bytes)),
        // Without a byte order mark: every other byte of a column's name is zero.
        [first, 0, second, 0] if *first > 0 && *second > 0 => (0, Some(u16::from_le_bytes)),
        [0, first, 0, second] if *first > 0 && *second > 0 => (0, Some(u16::from_be_bytes)),
        _ => (0, None),
    };
    let rest = io::Cursor::new(head[mark..].to_vec()).chain(input);
    Ok(match order {
        Some(order) => Box::new(Utf16 { input: rest, order, ready: Vec::new(), n_taken: 0, half: None }),
        None => Box::new(rest),
    })
}

type Order = fn([u8; 2]) -> u16;

/// How many bytes are read at once.
const PART_BYTES: u64 = 64 << 10;

/// UTF-16 as UTF-8. Invalid code units become the replacement character.
struct Utf16<R> {
    input: R,
    order: Order,
    ready: Vec<u8>,
    n_taken: usize,
    /// A byte without its second half, or the first half of a surrogate pair.
    half: Option<Vec<u8>>,
}

impl<R: Read> Read for Utf16<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.n_taken == self.ready.len() {
            self.fill()?;
        }
        let rest = &self.ready[self.n_taken..];
        let n_bytes = rest.len().min(out.len());
        out[..n_bytes].copy_from_slice(&rest[..n_bytes]);
        self.n_taken += n_bytes;
        Ok(n_bytes)
    }
}

impl<R: Read> Utf16<R> {
    fn fill(&mut self) -> io::Result<()> {
        let mut bytes = self.half.take().unwrap_or_default();
        let n_read = (&mut self.input).take(PART_BYTES).read_to_end(&mut bytes)?;
        let (pairs, rest) = bytes.as_chunks::<2>();
        let mut units: Vec<u16> = pairs.iter().map(|pair| (self.order)(*pair)).collect();
        if n_read > 0 {
            let mut kept = rest.to_vec();
            // The first half of a surrogate pair waits for the second one.
            if let (Some(0xd800..=0xdbff), Some(pair)) = (units.last(), pairs.last()) {
                kept = [pair, rest].concat();
                units.pop();
            }
            self.half = Some(kept).filter(|kept| !kept.is_empty());
        }
        let chars = char::decode_utf16(units).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER));
        self.ready = chars.collect::<String>().into_bytes();
        self.n_taken = 0;
        // The last read may have ended within a character.
        if self.ready.is_empty() && n_read > 0 { self.fill() } else { Ok(()) }
    }
}
