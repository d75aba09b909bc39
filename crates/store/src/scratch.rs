//! A buffer for bytes that may not fit into memory: beyond some size in an unnamed temporary file.

use std::fs::File;
use std::io::{self, Read, Seek as _, SeekFrom, Write as _};

/// How many bytes stay in memory: those that were added last.
const MEMORY_MAX_BYTES: usize = 256 << 10;
/// How much is read at once, sequentially and at random.
const ORDERED_BYTES: usize = 64 << 10;
const RANDOM_BYTES: usize = 4 << 10;

/// A growing buffer.
#[derive(Debug, Default)]
pub struct Scratch {
    file: Option<File>,
    /// The number of bytes in the file.
    n_filed: u64,
    /// The bytes after them.
    tail: Vec<u8>,
    /// The cached part of the file, and its position.
    window: Vec<u8>,
    window_start: u64,
}

impl Scratch {
    /// How many bytes there are.
    pub fn n_bytes(&self) -> u64 {
        self.n_filed + self.tail.len() as u64
    }

    /// Whether so many more bytes fit into memory, so that adding them is fast.
    pub fn has_room(&self, n_more: usize) -> bool {
        self.tail.len() + n_more <= MEMORY_MAX_BYTES
    }

    /// Adds bytes, and returns their position.
    pub fn add(&mut self, bytes: &[u8]) -> io::Result<u64> {
        let place = self.n_bytes();
        if !self.has_room(bytes.len()) {
            self.write_tail()?;
        }
        self.tail.extend_from_slice(bytes);
        Ok(place)
    }

    fn write_tail(&mut self) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(tempfile::tempfile()?),
        };
        file.seek(SeekFrom::Start(self.n_filed))?;
        file.write_all(&self.tail)?;
        self.n_filed += self.tail.len() as u64;
        self.tail.clear();
        Ok(())
    }

    /// Reads the bytes at a position. Too few bytes are an error.
    pub fn read(&mut self, mut place: u64, mut out: &mut [u8]) -> io::Result<()> {
        while !out.is_empty() {
            let n_read = self.read_some(place, out)?;
            if n_read == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            (place, out) = (place + n_read as u64, &mut out[n_read..]);
        }
        Ok(())
    }

    /// Reads some of the bytes at a position, and returns how many; none at the end.
    fn read_some(&mut self, place: u64, out: &mut [u8]) -> io::Result<usize> {
        let from = if place >= self.n_filed {
            self.tail.get((place - self.n_filed) as usize..).unwrap_or_default()
        } else {
            self.fill_window(place, out.len())?;
            &self.window[(place - self.window_start) as usize..]
        };
        let n_bytes = from.len().min(out.len());
        out[..n_bytes].copy_from_slice(&from[..n_bytes]);
        Ok(n_bytes)
    }

    /// Reads the part of the file at a position, unless it is cached.
    fn fill_window(&mut self, place: u64, n_wanted: usize) -> io::Result<()> {
        let end = self.window_start + self.window.len() as u64;
        if (self.window_start..end).contains(&place) {
            return Ok(());
        }
        let Some(file) = &mut self.file else { return Err(io::ErrorKind::UnexpectedEof.into()) };
        let is_ordered = place >= end && place - end < ORDERED_BYTES as u64;
        let n_bytes = n_wanted.max(if is_ordered { ORDERED_BYTES } else { RANDOM_BYTES }) as u64;
        file.seek(SeekFrom::Start(place))?;
        self.window.clear();
        self.window_start = place;
        file.take(n_bytes.min(self.n_filed - place)).read_to_end(&mut self.window)?;
        Ok(())
    }

    /// All bytes from the first on.
    pub fn into_reader(self) -> impl Read + Send + 'static {
        Reader { scratch: self, place: 0 }
    }
}

struct Reader {
    scratch: Scratch,
    place: u64,
}

impl Read for Reader {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let n_read = self.scratch.read_some(self.place, out)?;
        self.place += n_read as u64;
        Ok(n_read)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::{MEMORY_MAX_BYTES, Scratch};

    #[test]
    fn bytes_are_found_again_in_memory_and_in_the_file() {
        let mut scratch = Scratch::default();
        let part = |number: u32| number.to_le_bytes().repeat(1 + number as usize % 5_000);
        let mut places = Vec::new();
        let mut all = Vec::new();
        for number in 0..2_000 {
            places.push(scratch.add(&part(number)).expect("a temporary file"));
            all.extend(part(number));
        }
        assert!(scratch.n_bytes() > 7 * MEMORY_MAX_BYTES as u64);
        for number in [1_999, 0, 1, 2, 1_998, 1_000, 1_001, 999, 1_200] {
            let mut found = vec![0; part(number).len()];
            scratch.read(places[number as usize], &mut found).expect("a temporary file");
            assert!(found == part(number), "{number}");
        }
        assert!(scratch.read(scratch.n_bytes() - 1, &mut [0; 2]).is_err());
        let mut found = Vec::new();
        scratch.into_reader().read_to_end(&mut found).expect("a temporary file");
        assert!(found == all);
    }
}
