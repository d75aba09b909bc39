//! Reads lines from a pipe in bounded memory.

use std::{
    io::{self, Read},
    thread,
    time::Duration,
};

use mcp::MESSAGE_BYTES_MAX;

/// How much is read at a time.
const CHUNK_BYTES: usize = 64 * 1024;

/// The pause before reading a non-blocking pipe again.
const RETRY_TIME: Duration = Duration::from_millis(2);

/// A buffer that grew beyond this for one large message is freed after it.
const KEPT_BYTES_MAX: usize = 1024 * 1024;

/// Lines of at most [`MESSAGE_BYTES_MAX`] bytes; longer ones are discarded.
pub struct Lines<R> {
    input: R,
    storage: Vec<u8>,
    /// The unread part is `storage[start..end]`.
    start: usize,
    end: usize,
    /// There is no line break in `storage[start..searched]`.
    searched: usize,
    /// The rest of a line that was too long is being skipped.
    is_skipping: bool,
}

/// A line, or what happened to it.
#[derive(Debug, PartialEq, Eq)]
pub enum Line<'a> {
    /// A line, without its line break.
    Text(&'a [u8]),
    /// A line over the limit. It is reported once; the rest of it is skipped.
    TooLong,
}

impl<R: Read> Lines<R> {
    pub fn new(input: R) -> Self {
        Self { input, storage: Vec::new(), start: 0, end: 0, searched: 0, is_skipping: false }
    }

    /// Returns the next complete line. `None` means that more must be read first.
    pub fn next_read(&mut self) -> Option<Line<'_>> {
        loop {
            match memchr::memchr(b'\n', &self.storage[self.searched..self.end]) {
                Some(offset) => {
                    let (from, to) = (self.start, self.searched + offset);
                    self.start = to + 1;
                    self.searched = self.start;
                    if std::mem::take(&mut self.is_skipping) {
                        continue;
                    }
                    // A carriage return belongs to the line break.
                    let to = if self.storage[from..to].ends_with(b"\r") { to - 1 } else { to };
                    if to - from > MESSAGE_BYTES_MAX {
                        return Some(Line::TooLong);
                    }
                    return Some(Line::Text(&self.storage[from..to]));
                }
                None if self.is_skipping => {
                    self.forget();
                    return None;
                }
                None if self.end - self.start > MESSAGE_BYTES_MAX + 1 => {
                    self.forget();
                    self.is_skipping = true;
                    return Some(Line::TooLong);
                }
                None => {
                    self.searched = self.end;
                    return None;
                }
            }
        }
    }

    /// Reads more; `false` at the end of input.
    pub fn read_more(&mut self) -> io::Result<bool> {
        self.make_room();
        loop {
            match self.input.read(&mut self.storage[self.end..]) {
                Ok(n_bytes) => {
                    self.end += n_bytes;
                    return Ok(n_bytes > 0);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // Some hosts pass a non-blocking pipe.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => thread::sleep(RETRY_TIME),
                Err(error) => return Err(error),
            }
        }
    }

    /// Returns the text after the last line break, once the input has ended.
    pub fn rest(&self) -> &[u8] {
        if self.is_skipping { &[] } else { &self.storage[self.start..self.end] }
    }

    fn make_room(&mut self) {
        if self.start == self.end {
            self.forget();
            if self.storage.len() > KEPT_BYTES_MAX {
                self.storage = Vec::new();
            }
        } else if self.start > 0 {
            self.storage.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.searched -= self.start;
            self.start = 0;
        }
        if self.storage.len() - self.end < CHUNK_BYTES {
            let n_bytes = (self.storage.len() * 2).max(self.end + CHUNK_BYTES);
            self.storage.resize(n_bytes.min(MESSAGE_BYTES_MAX + 2 * CHUNK_BYTES), 0);
        }
    }

    fn forget(&mut self) {
        (self.start, self.end, self.searched) = (0, 0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns its bytes in pieces of one size, like a pipe.
    struct Pieces<'a>(&'a [u8], usize);

    impl Read for Pieces<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let n_bytes = self.1.min(self.0.len()).min(buffer.len());
            buffer[..n_bytes].copy_from_slice(&self.0[..n_bytes]);
            self.0 = &self.0[n_bytes..];
            Ok(n_bytes)
        }
    }

    fn read_all(bytes: &[u8], piece: usize) -> (Vec<String>, usize) {
        let mut lines = Lines::new(Pieces(bytes, piece));
        let (mut found, mut largest) = (Vec::new(), 0);
        loop {
            while let Some(line) = lines.next_read() {
                found.push(match line {
                    Line::TooLong => "too long".into(),
                    Line::Text(text) if text.len() > 20 => format!("{} bytes", text.len()),
                    Line::Text(text) => String::from_utf8_lossy(text).into_owned(),
                });
            }
            let more = lines.read_more().expect("memory can be read");
            largest = largest.max(lines.storage.capacity());
            if !more {
                found.push(format!("rest {}", String::from_utf8_lossy(lines.rest())));
                return (found, largest);
            }
        }
    }

    #[test]
    fn lines_come_out_whole_however_they_were_cut() {
        for piece in [1, 2, 3, 7, 1000] {
            let (lines, _) = read_all(b"one\n\ntwo\r\nthree\nlast", piece);
            assert_eq!(lines, ["one", "", "two", "three", "rest last"]);
        }
    }

    #[test]
    fn a_line_at_the_limit_is_read_and_one_above_it_is_not() {
        let mut bytes = vec![b'a'; MESSAGE_BYTES_MAX];
        bytes.extend(b"\n");
        bytes.extend(vec![b'b'; MESSAGE_BYTES_MAX + 1]);
        bytes.extend(b"\nnext\n");
        for piece in [4096, 65536, 1 << 20] {
            let (lines, _) = read_all(&bytes, piece);
            assert_eq!(lines, ["10485760 bytes", "too long", "next", "rest "]);
        }
    }

    #[test]
    fn a_line_of_any_length_takes_bounded_memory() {
        let mut bytes = vec![b'x'; 100 * 1024 * 1024];
        bytes.extend(b"\nnext\n");
        let (lines, largest) = read_all(&bytes, 65536);
        assert_eq!(lines, ["too long", "next", "rest "]);
        assert!(largest < 2 * MESSAGE_BYTES_MAX, "{largest} bytes were kept");
    }
}
