//! Decodes bytes that should be text, and counts lines.

use std::io::{self, Read};

/// The message for bytes in another encoding.
pub(crate) const NOT_UTF8: &str = "expected UTF-8, found bytes of another encoding; save the file as UTF-8";

/// How many bytes identify a file type.
pub(crate) const HEAD_BYTES: u64 = 4;

/// The message for a file that is not text, with what to do instead.
pub(crate) fn why_not_text(bytes: &[u8]) -> Option<&'static str> {
    if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        return Some("expected UTF-8, found UTF-16; save the file as UTF-8");
    }
    if bytes.starts_with(b"PK\x03\x04") {
        return Some("expected text, found an archive; unpack a .reqifz, save a spreadsheet as CSV UTF-8");
    }
    None
}

/// The text of a file, or the line and the cause of the first invalid byte.
pub(crate) fn text(bytes: &[u8]) -> Result<&str, (u64, &'static str)> {
    std::str::from_utf8(bytes).map_err(|error| {
        let line = Lines::new(bytes).at(error.valid_up_to());
        (line, NOT_UTF8)
    })
}

/// Turns offsets into lines; cheap when they grow.
pub(crate) struct Lines<'a> {
    text: &'a [u8],
    offset: usize,
    line: u64,
}

impl<'a> Lines<'a> {
    pub fn new(text: &'a [u8]) -> Lines<'a> {
        Lines { text, offset: 0, line: 1 }
    }

    pub fn at(&mut self, offset: usize) -> u64 {
        let offset = offset.min(self.text.len());
        if offset < self.offset {
            (self.offset, self.line) = (0, 1);
        }
        let passed = &self.text[self.offset..offset];
        self.line += passed.iter().filter(|byte| **byte == b'\n').count() as u64;
        self.offset = offset;
        self.line
    }
}

/// How many bytes are read at once.
const PART_BYTES: usize = 64 << 10;

/// Reads text. The first byte that is not UTF-8 is an error of the kind [`io::ErrorKind::InvalidData`].
pub(crate) struct TextReader<'a> {
    input: &'a mut dyn Read,
    part: Vec<u8>,
    /// How much of the part was returned.
    n_taken: usize,
    /// How much of the part is UTF-8. The rest is the beginning of a character, or invalid.
    n_valid: usize,
    is_invalid: bool,
}

impl<'a> TextReader<'a> {
    pub fn new(input: &'a mut dyn Read) -> TextReader<'a> {
        TextReader { input, part: Vec::new(), n_taken: 0, n_valid: 0, is_invalid: false }
    }

    /// The next byte; none at the end.
    pub fn next(&mut self) -> io::Result<Option<u8>> {
        if self.n_taken == self.n_valid {
            self.fill()?;
        }
        let byte = self.part[..self.n_valid].get(self.n_taken).copied();
        self.n_taken += usize::from(byte.is_some());
        Ok(byte)
    }

    fn fill(&mut self) -> io::Result<()> {
        if self.is_invalid {
            return Err(io::ErrorKind::InvalidData.into());
        }
        self.part.drain(..self.n_valid);
        let n_left = self.part.len();
        let n_read = (&mut *self.input).take(PART_BYTES as u64).read_to_end(&mut self.part)?;
        (self.n_taken, self.n_valid) = (0, self.part.len());
        if let Err(error) = std::str::from_utf8(&self.part) {
            self.n_valid = error.valid_up_to();
            self.is_invalid = error.error_len().is_some() || n_read == 0 && n_left > 0;
        }
        if self.n_valid == 0 && self.is_invalid { self.fill() } else { Ok(()) }
    }
}
